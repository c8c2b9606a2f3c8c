//! The gatekeeper of a session whose gate is away, and the parts of it that need no session.

use super::after::RanAs;
use super::ask::{limit, new_ask};
use super::front::why_not_alone;
use super::*;
use portcullis_core::{AskTimeout, Behavior, CallOutcome, Edited, Moment, NewAsk, OnTimeout};
use portcullis_core::{Label, SessionAbout, SessionId, Source, Text, policy::Decision as Ruled};
use serde_json::{Value, json};
use std::future::ready;
use std::path::Path;
use std::sync::Arc;

pub(super) fn request(command: &str) -> ToolRequest {
    ToolRequest {
        tool: "Bash".to_owned(),
        input: json!({"command": command}),
        tool_use_id: Some("toolu_1".to_owned()),
        agent: None,
        folder: None,
        mode: None,
        suggestions: vec![
            json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm run *"}], "behavior": "allow", "destination": "localSettings"}),
            json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
        ],
        flags: ClientFlags::default(),
        capabilities: Capabilities {
            source: Source::Control,
            edit: true,
            interrupt: true,
            remember: true,
            heeds_ask: true,
            terminal: false,
            waits: None,
            without_decision: WithoutDecision::Waits,
            modes: &[Mode::Default],
            confirms: true,
        },
        unreadable: None,
        remembered: None,
        own: None,
        could_write: None,
        looked: None,
        arrived: Instant::now(),
    }
}

fn judge(folder: &Path) -> Judge {
    Judge::of_home(folder)
}

fn judged(judge: &Judge, request: &ToolRequest) -> Judgement {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(judge.judge(request))
}

/// A gatekeeper whose gate never answers.
fn gatekeeper(folder: &Path) -> Gatekeeper {
    gatekeeper_and_link(folder).0
}

/// The same, and what it tries to reach its gate with: without it, it knows that nobody can be asked.
fn gatekeeper_and_link(folder: &Path) -> (Gatekeeper, impl Sized) {
    let about = SessionAbout::new(Label::new("api").unwrap(), "test");
    let away: crate::session::link::Connect = Arc::new(|| Box::pin(std::future::pending()));
    let (session, link) = crate::session::link::connect(SessionId::new(Moment(1), 1), about, "0.0.0", away);
    (Gatekeeper::new(session, judge(folder), GatekeeperSettings::default(), None), link)
}

fn shown(request: &ToolRequest) -> NewAsk {
    let folder = tempfile::tempdir().unwrap();
    let judgement = judged(&judge(folder.path()), request);
    new_ask(AskId::new(Moment(1), 1), request, &CallKey::of(request), &judgement, None, None)
}

fn finished(command: &str) -> FinishedCall {
    let call = CallKey::of(&request(command));
    FinishedCall { call, preview: command.to_owned(), outcome: CallOutcome::Ran, decided_by: None }
}

#[test]
fn an_ask_offers_what_the_client_suggests() {
    let offers: Vec<(Scope, String)> =
        shown(&request("npm run build")).details.offers.into_iter().map(|offer| (offer.scope, offer.words)).collect();
    let want = [
        (Scope::Session, "Bash(npm run *), for this session".to_owned()),
        (Scope::Always, "Bash(npm run *), in this project's local settings".to_owned()),
    ];
    assert_eq!(offers, want);
}

#[test]
fn what_is_suppressed_is_not_offered() {
    let mut suppressed = request("npm run build");
    suppressed.flags.suppress_always = true;
    assert!(shown(&suppressed).details.offers.is_empty());
    let mut cannot = request("npm run build");
    cannot.capabilities.remember = false;
    assert!(shown(&cannot).details.offers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_ask_ends_before_the_client_stops_waiting_and_then_as_the_client_would_go_on() {
    let waits = |seconds, without_decision| {
        let mut request = request("ls");
        request.capabilities.waits = Some(Duration::from_secs(seconds));
        request.capabilities.without_decision = without_decision;
        limit(&request, None).unwrap()
    };
    let ends = |milliseconds, then| AskTimeout { milliseconds, then };
    assert_eq!(waits(600, WithoutDecision::Runs), ends(595_000, OnTimeout::Deny));
    assert_eq!(waits(600, WithoutDecision::Prompts), ends(595_000, OnTimeout::NoDecision));
    let owners = ends(1000, OnTimeout::Deny);
    assert_eq!(limit(&request("ls"), Some(owners)), Some(owners), "the owner's limit counts, too");
    assert_eq!(limit(&request("ls"), None), None);
}

#[test]
fn a_rule_allows_only_where_neither_the_mode_nor_the_client_wants_a_person() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(".config/portcullis")).unwrap();
    let rules = folder.path().join(".config/portcullis/rules.toml");
    std::fs::write(rules, "[[rule]]\nallow = \"Bash(npm run *)\"\n").unwrap();
    let judge = judge(folder.path());
    let may = |change: fn(&mut ToolRequest)| {
        let mut request = request("npm run build");
        change(&mut request);
        let judgement = judged(&judge, &request);
        assert_eq!(judgement.rule.as_ref().map(|rule| rule.decision), Some(Ruled::Allow));
        rule_may_allow(&request, &judgement)
    };
    assert!(may(|_| {}));
    assert!(!may(|request| request.flags.default_to_no = true));
    assert!(!may(|request| request.flags.suppress_always = true));
    assert!(!may(|request| request.flags.requires_user_interaction = true));
    assert!(!may(|request| request.flags.held_up = true));
}

#[tokio::test]
async fn what_ran_is_compared_with_what_was_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let gatekeeper = gatekeeper(folder.path());
    let allow = |command: &str| {
        let call = CallKey::of(&request(command));
        let digest = call.digest;
        gatekeeper.state().calls.allow(AllowedBy::Rule("Bash".to_owned()), call, digest);
    };
    assert_eq!(gatekeeper.after(finished("ls")), RanAs::Decided, "nobody was asked");
    allow("ls -l");
    assert_eq!(gatekeeper.after(finished("ls -l")), RanAs::Decided);
    allow("ls -l");
    assert_eq!(gatekeeper.after(finished("rm -rf")), RanAs::OtherInput);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_session_denies_at_both_moments_and_goes_on_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let gatekeeper = gatekeeper(folder.path());
    let never = CancellationToken::new();
    gatekeeper.stop("ann".to_owned());
    for answer in
        [gatekeeper.before(request("ls"), &never, ready(false)).await, gatekeeper.asked(request("ls"), &never).await]
    {
        let Decision::Deny { message, .. } = answer.decision else { panic!("{answer:?}") };
        assert!(message.contains("ann has stopped this session"), "{message}");
    }
    gatekeeper.resume();
    assert_eq!(gatekeeper.before(request("ls"), &never, ready(false)).await.decision, Decision::NoDecision);
}

#[tokio::test(start_paused = true)]
async fn a_new_process_holds_its_first_calls_until_the_gate_has_told_of_a_stop_or_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let never = CancellationToken::new();
    for is_asked in [false, true] {
        let keeper = gatekeeper(folder.path());
        let deciding = async {
            match is_asked {
                false => keeper.before(request("ls"), &never, ready(false)).await,
                true => keeper.asked(request("ls"), &never).await,
            }
        };
        let told = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            keeper.stop("ann".to_owned());
            keeper.attached();
        };
        let (answer, ()) = tokio::join!(deciding, told);
        assert!(matches!(answer.decision, Decision::Deny { .. }), "{answer:?}");
    }
    let alone = gatekeeper(folder.path());
    let started = Instant::now();
    for _ in 0..2 {
        assert_eq!(alone.before(request("ls"), &never, ready(false)).await.decision, Decision::NoDecision);
        assert!(started.elapsed() < FIRST_ATTACH_TIMEOUT + Duration::from_secs(1), "held once and not again");
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_gate_is_away_a_held_call_is_denied_and_a_prompt_of_the_clients_own_stays() {
    let folder = tempfile::tempdir().unwrap();
    let gatekeeper = gatekeeper(folder.path());
    let never = CancellationToken::new();
    let mut held = request("rm -rf ~");
    held.mode = Some("bypassPermissions".to_owned());
    held.capabilities.heeds_ask = false;
    held.capabilities.waits = Some(Duration::from_secs(3600));
    let answer = gatekeeper.before(held.clone(), &never, ready(false)).await;
    assert!(matches!(answer.decision, Decision::Deny { .. }), "{answer:?}");
    held.capabilities.terminal = true;
    held.capabilities.without_decision = WithoutDecision::Prompts;
    assert_eq!(gatekeeper.asked(held, &never).await.decision, Decision::NoDecision);
}

#[tokio::test(start_paused = true)]
async fn a_client_with_old_hooks_is_denied_what_people_must_decide() {
    let folder = tempfile::tempdir().unwrap();
    let mut old = request("rm -rf ~");
    old.capabilities.heeds_ask = false;
    old.capabilities.waits = Some(Duration::from_secs(10));
    let answer = gatekeeper(folder.path()).before(old, &CancellationToken::new(), ready(false)).await;
    let Decision::Deny { message, .. } = answer.decision else { panic!("{answer:?}") };
    assert!(message.contains("portcullis install --hooks"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_because_of_a_hook_of_somebody_else_is_denied_with_that_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut short = request("rm -rf ~");
    short.capabilities.waits = Some(Duration::from_secs(10));
    let answer = gatekeeper(folder.path()).before(short, &CancellationToken::new(), ready(true)).await;
    let Decision::Deny { message, .. } = answer.decision else { panic!("{answer:?}") };
    assert!(message.contains("a hook of somebody else"), "{message}");
}

/// As if file systems that do not answer kept every place, so that each look takes as long as it may.
#[tokio::test(start_paused = true)]
async fn a_held_call_is_answered_before_the_client_gives_up_however_long_it_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let (mut keeper, _link) = gatekeeper_and_link(folder.path());
    keeper.settings.front = Front::Answers;
    let _all = keeper.judge.every_place().await;
    let waits = Duration::from_secs(60);
    let write = || {
        let mut write = request("");
        (write.tool, write.input) = ("Write".to_owned(), json!({"file_path": "a", "content": "b"}));
        write.capabilities.heeds_ask = false;
        write.capabilities.waits = Some(waits);
        write.mode = Some("bypassPermissions".to_owned());
        write
    };
    let denied_in_time = |answer: GatekeeperAnswer, arrived: Instant| {
        let Decision::Deny { message, .. } = &answer.decision else { panic!("{answer:?}") };
        assert!(message.contains("in time"), "{message}");
        assert!((waits / 2..waits).contains(&arrived.elapsed()), "{:?}", arrived.elapsed());
    };
    let held = write();
    let arrived = held.arrived;
    denied_in_time(keeper.before(held, &CancellationToken::new(), ready(false)).await, arrived);

    // A yes at the last moment: whether the rules have something against it by now cannot be told in time.
    let held = write();
    let arrived = held.arrived;
    let yes = async {
        tokio::time::sleep(waits - Duration::from_secs(3)).await;
        let ask = keeper.state().calls.open_of(|_| true)[0];
        keeper.verdict(ask, ruling(None));
    };
    let never = CancellationToken::new();
    let (answer, ()) = tokio::join!(keeper.before(held, &never, ready(false)), yes);
    denied_in_time(answer, arrived);
}

fn ruling(input: Option<&str>) -> Ruling {
    let input = input.map(|text| Edited { text: Text::new(text), digest: [0; 32] });
    Ruling { input, ..Ruling::plain(Behavior::Allow) }
}

#[tokio::test(start_paused = true)]
async fn an_edited_input_that_cannot_be_judged_in_time_is_not_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = gatekeeper(folder.path());
    let asked = request("ls");
    let judgement = keeper.judge.judge(&asked).await;
    let shown = new_ask(AskId::new(Moment(1), 1), &asked, &CallKey::of(&asked), &judgement, None, None);
    let decided = async |ruling: Ruling| keeper.decision_of(&ruling, &asked, CallKey::of(&asked), &shown).await;
    let edited = || ruling(Some(r#"{"command":"ls -l"}"#));
    assert!(matches!(decided(edited()).await, Decision::Allow { .. }));
    let all = keeper.judge.every_place().await;
    let Decision::Deny { message, .. } = decided(edited()).await else { panic!("it was not judged") };
    assert!(message.contains("takes too long"), "{message}");
    assert!(matches!(decided(ruling(None)).await, Decision::Allow { .. }), "as it was asked about");
    drop(all);
    assert!(matches!(decided(edited()).await, Decision::Allow { .. }));
}

#[test]
fn without_the_gate_only_a_denial_counts_or_what_no_gate_ever_had_and_one_person_decides() {
    let counts =
        |quorum, is_registered, behavior| why_not_alone(Front::Answers, quorum, is_registered, behavior).is_none();
    assert!(counts(1, false, Behavior::Allow));
    assert!(!counts(1, true, Behavior::Allow), "someone may have denied it there");
    assert!(!counts(2, false, Behavior::Allow), "one is not two");
    for (quorum, is_registered) in [(1, false), (1, true), (2, false), (2, true)] {
        assert!(counts(quorum, is_registered, Behavior::Deny));
    }
    for behavior in [Behavior::Allow, Behavior::Deny] {
        assert!(why_not_alone(Front::None, 1, false, behavior).is_some(), "only people at the gate answer");
    }
}

/// An ask that was written down before, by this release or the one before, is about the same call.
#[test]
fn the_order_of_keys_does_not_change_a_digest() {
    let read = |text: &str| digest(&serde_json::from_str(text).unwrap());
    let one = read(r#"{"command":"ls","nested":{"a":1,"b":2}}"#);
    assert_eq!(one, read(r#"{"nested":{"b":2,"a":1},"command":"ls"}"#));
    assert_eq!(one[..4], [169, 131, 37, 233]);
}

#[test]
fn a_digest_tells_inputs_apart() {
    assert_eq!(digest(&json!({"a": 1})), digest(&json!({"a": 1})));
    assert_ne!(digest(&json!({"a": 1})), digest(&Value::Null));
}

#[tokio::test]
async fn calls_without_a_place_are_counted_and_nobody_waits_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let gatekeeper = gatekeeper(folder.path());
    for _ in 0..3000 {
        gatekeeper.after(finished("ls"));
    }
    assert!(gatekeeper.state().audit.dropped() >= 900, "the gate is away");
}

/// The gate may have gone since it said so.
#[tokio::test(start_paused = true)]
async fn a_word_that_the_journal_takes_records_counts_only_while_the_gate_holds_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let (keeper, _link) = gatekeeper_and_link(folder.path());
    assert!(!keeper.can_be_recorded(Some(Instant::now())).await);
}
