//! What happens, told as scripts: one line an input, then what was written down and what was done.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::*;

/// Runs a script. Each line is `SECOND WORD…`; records are marked `+`, effects `>`.
fn check(script: &str, want: &Expect) {
    let mut state = State::new(Limits { waiting_events: 3, ..Limits::default() });
    let mut told = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        writeln!(told, "{line}").unwrap();
        let (second, command) = line.split_once(' ').unwrap();
        let now = Moment(second.parse::<u64>().unwrap() * 1000);
        let mut inputs = vec![read(command)];
        while !inputs.is_empty() {
            let (records, effects) = decide(&state, now, inputs.remove(0));
            for record in &records {
                writeln!(told, "  + {}", record_in_words(record)).unwrap();
                state.apply(now, record);
            }
            for effect in effects {
                match effect {
                    Effect::Then(input) => inputs.push(input),
                    other => writeln!(told, "  > {}", effect_in_words(&other, &state)).unwrap(),
                }
            }
        }
    }
    want.assert_eq(&told);
}

fn session(number: &str) -> SessionId {
    SessionId::new(Moment(0), number.parse().unwrap())
}

fn event(number: &str) -> EventId {
    EventId::new(Moment(0), number.parse().unwrap())
}

fn ask(number: &str) -> AskId {
    AskId::new(Moment(0), number.parse().unwrap())
}

/// Ids as the scripts write them.
fn short(id: impl std::fmt::Display) -> String {
    id.to_string().trim_start_matches('0').to_owned()
}

fn person(name: &str) -> Actor {
    let role = match name {
        "ann" | "bob" => Role::Reviewer,
        "root" => Role::Admin,
        _ => Role::Sender,
    };
    Actor { name: name.into(), rights: role.rights(), via: Via::Http, scope: Scope::Everything }
}

/// `say ID PERSON [to=session:N|label:L] [chat=C] : TEXT`, `attach N LABEL [wrote=…] [continues=N]`, …
fn read(command: &str) -> Input {
    let (head, text) = command.split_once(" : ").unwrap_or((command, ""));
    let words: Vec<&str> = head.split_whitespace().collect();
    let option = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let events = |name: &str| option(name).map(|list| list.split(',').map(event).collect()).unwrap_or_default();
    match words[0] {
        "start" => Input::Started { version: "1".into() },
        "say" => Input::Said {
            id: event(words[1]),
            by: person(words[2]),
            text: Text::new(text),
            address: match option("to").and_then(|to| to.split_once(':')) {
                Some(("session", number)) => Address::Session(session(number)),
                Some((_, label)) => Address::Label(Label::new(label).unwrap()),
                None => Address::Open,
            },
            chat: option("chat").map(|chat| ChatId::new(chat).unwrap()),
            attributes: vec![],
            once: option("key").map(|key| Once { key: key.into(), digest: [text.len() as u8; 32] }),
        },
        "attach" => Input::Attached {
            session: session(words[1]),
            about: SessionAbout {
                label: Label::new(words[2]).unwrap(),
                connected_by: "channel".into(),
                pid: None,
                runs_commands: false,
                folder: None,
                agent_session: option("agent").map(str::to_owned),
                continues: option("continues").map(session),
            },
            wrote: events("wrote"),
            holding: vec![],
        },
        "wrote" => Input::Wrote { session: session(words[1]), events: words[2].split(',').map(event).collect() },
        "lose" => Input::Lost { session: session(words[1]) },
        "end" => Input::Ended {
            session: session(words[1]),
            goodbye: Goodbye { why: "bye".into(), untouched: words.contains(&"untouched") },
        },
        "ask" => Input::Asked {
            id: ask(words[1]),
            session: session(words[2]),
            mouth: Mouth::Channel,
            origin: words[3].into(),
            tool: "Bash".into(),
            description: Text::new(text),
            preview: Text::new("{}"),
            entropy: 1,
        },
        "allow" | "deny" => Input::Answered {
            by: person(words[2]),
            target: Code::parse(words[1]).map_or_else(|| Target::Id(ask(words[1])), Target::Code),
            behavior: Behavior::named(words[0]).unwrap(),
            why: None,
        },
        "carried" => Input::Carried { ask: ask(words[1]) },
        "reply" => Input::Replied {
            id: ReplyId::new(Moment(0), words[1].parse().unwrap()),
            session: session(words[2]),
            chat: ChatId::new(words[3]).unwrap(),
            text: Text::new(text),
            files: vec![],
        },
        "drop" => Input::Drop { by: person(words[2]), event: event(words[1]) },
        "retry" => Input::Retry { by: person(words[2]), event: event(words[1]) },
        "token" => Input::AddToken {
            by: person(words[4]),
            token: Token {
                id: TokenId::new(Moment(0), words[1].parse().unwrap()),
                person: words[2].into(),
                hash: [0; 32],
                scope: Scope::Everything,
                expires: None,
                since: Moment(0),
            },
            role: Role::named(words[3]).unwrap(),
        },
        "revoke" => {
            Input::RevokeToken { by: person(words[2]), token: TokenId::new(Moment(0), words[1].parse().unwrap()) }
        }
        "role" => {
            Input::SetPerson { name: words[1].into(), role: Role::named(words[2]).unwrap(), by: person(words[3]) }
        }
        "remove" => Input::RemovePerson { name: words[1].into(), by: person(words[2]) },
        "knock" => Input::AskPairing {
            platform: "telegram".into(),
            user: words[1].into(),
            called: "Tom".into(),
            entropy: words[2].parse().unwrap(),
        },
        "pair" => Input::Pair {
            code: PairingCode::parse(words[1]).unwrap(),
            name: words[2].into(),
            role: Role::Sender,
            by: person(words[3]),
        },
        "open" => Input::Opened { session: session(words[1]), event: event(words[2]) },
        "tick" => Input::Ticked,
        other => panic!("no such command: {other}"),
    }
}

fn record_in_words(record: &Record) -> String {
    match record {
        Record::Opened { .. } => "gate opened".into(),
        Record::Received { event, to } => {
            let to = to.map_or("nobody yet".into(), |to| format!("session {}", short(to)));
            format!("event {} of {} in chat {} for {to}", short(event.id), event.sender, event.chat)
        }
        Record::Seen { event } => format!("event {} seen", short(event)),
        Record::Expired { event } => format!("event {} expired", short(event)),
        Record::Attached { session, wrote, .. } => format!("session {} attached, wrote {wrote:?}", short(session)),
        Record::Wrote { session, events } => {
            let events: Vec<String> = events.iter().map(short).collect();
            format!("session {} wrote {}", short(session), events.join(" "))
        }
        Record::Lost { session } => format!("session {} lost", short(session)),
        Record::Ended { session, goodbye } => format!("session {} ended: {}", short(session), goodbye.why),
        Record::Replied { reply } => format!("reply to {}: {}", reply.chat, reply.text.as_str()),
        Record::Asked { ask } => format!("ask {} as {}", short(ask.id), ask.code),
        Record::Answered { ask, verdict } => format!("ask {} {}", short(ask), verdict.in_words()),
        Record::Carried { ask } => format!("ask {} carried", short(ask)),
        Record::Withdrawn { ask, why } => format!("ask {} withdrawn: {why}", short(ask)),
        Record::Missed { by } => format!("{by} missed"),
        Record::Dropped { event, by } => format!("event {} dropped by {by}", short(event)),
        Record::Died { event } => format!("event {} died", short(event)),
        Record::Retried { event, by } => format!("event {} retried by {by}", short(event)),
        Record::PersonSet { name, role, by } => format!("{name} is a {} by {by}", role.name()),
        Record::PersonRemoved { name, by } => format!("{name} removed by {by}"),
        Record::TokenAdded { token, by } => format!("token {} for {} by {by}", short(token.id), token.person),
        Record::TokenRevoked { token, by, .. } => format!("token {} revoked by {by}", short(token)),
        Record::PairingAsked { pairing } => format!("{} on {} shows {}", pairing.user, pairing.platform, pairing.code),
        Record::Paired { code, name, role, by } => format!("{code} is {name}, a {}, by {by}", role.name()),
        Record::PairingMissed { by } => format!("{by} missed a pairing"),
        Record::Redacted { what, by } => format!("{what} erased by {by}"),
        Record::Barred { who, what } => format!("{who} barred: {what}"),
    }
}

fn effect_in_words(effect: &Effect, state: &State) -> String {
    match effect {
        Effect::Answer(Answer::Accepted { event, repeated: true, .. }) => format!("ok, as event {}", short(event)),
        Effect::Answer(Answer::Accepted { chat_because: None, .. }) => "ok".into(),
        Effect::Answer(Answer::Accepted { chat_because: Some(why), .. }) => format!("ok, as chat: {why:?}"),
        Effect::Answer(Answer::Recorded { code, behavior, .. }) => format!("recorded {} {code}", behavior.name()),
        Effect::Answer(Answer::Asked { code, .. }) => format!("asked as {code}"),
        Effect::Answer(Answer::Refused(Refusal::Settled { life: AskLife::Answered { verdict, .. }, .. })) => {
            format!("refused: {}", verdict.in_words())
        }
        Effect::Answer(Answer::Refused(Refusal::NoRoute(NoRoute::Several(several)))) => {
            let labels: Vec<&str> = several.iter().map(|(_, label)| label.as_str()).collect();
            format!("refused: which of {}", labels.join(", "))
        }
        Effect::Answer(Answer::Refused(refusal)) => format!("refused: {refusal:?}"),
        Effect::Answer(Answer::Done) => "done".into(),
        Effect::Wake(session) => {
            let waiting: Vec<String> = state.waiting(Some(*session), 0).map(|held| short(held.event.id)).collect();
            format!("wake session {} for [{}]", short(session), waiting.join(" "))
        }
        Effect::Carry { session, origin, behavior, .. } => {
            format!("carry {} {origin} to session {}", behavior.name(), short(session))
        }
        Effect::Publish(Topic::Session(id)) => format!("publish session {}", short(id)),
        Effect::Publish(Topic::Event(id)) => format!("publish event {}", short(id)),
        Effect::Publish(Topic::Ask(id)) => format!("publish ask {}", short(id)),
        Effect::Publish(Topic::Reply(_)) => "publish reply".into(),
        Effect::Publish(Topic::People) => "publish people".into(),
        Effect::Answer(Answer::Pairing { code }) => format!("show {code}"),
        Effect::Then(_) => unreachable!("followed, not told"),
    }
}

#[test]
fn the_first_verdict_wins() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : git push
         5 allow abcde ann
         6 say 2 bob : no abcde
         7 deny 1 bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : git push
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            5 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            6 say 2 bob : no abcde
              > refused: allowed by ann over http
            7 deny 1 bob
              > refused: allowed by ann over http
        "#]],
    );
}

#[test]
fn a_verdict_needs_the_right_to_review() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : rm -rf x
         2 say 1 tom : yes abcde
         3 allow abcde tom
         4 say 2 ann : y ABCDE",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : rm -rf x
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 say 1 tom : yes abcde
              > refused: NeedsRight(Review)
            3 allow abcde tom
              > refused: NeedsRight(Review)
            4 say 2 ann : y ABCDE
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
        "#]],
    );
}

#[test]
fn what_is_no_verdict_stays_chat() {
    check(
        "0 attach 1 api
         1 say 1 ann : no worry
         2 ask 1 1 abcde : ls
         3 say 2 ann : no worry
         4 say 3 ann : yes please",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 ann : no worry
              + event 1 of ann in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 say 2 ann : no worry
              + event 2 of ann in chat 2 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [1 2]
              > publish event 2
              + ann missed
            4 say 3 ann : yes please
              + event 3 of ann in chat 3 for session 1
              > ok, as chat: NotTheGrammar
              > wake session 1 for [1 2 3]
              > publish event 3
        "#]],
    );
}

#[test]
fn five_wrong_codes_and_the_rest_is_not_heard() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 allow zzzzz ann
         3 allow zzzzy ann
         4 allow zzzzx ann
         5 allow zzzzw ann
         6 allow zzzzv ann
         7 allow abcde ann
         8 say 1 ann : yes abcde
         9 allow abcde bob
         700 ask 2 1 bcdef : ls
         701 allow bcdef ann",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow zzzzz ann
              > refused: NoSuchAsk
              + ann missed
            3 allow zzzzy ann
              > refused: NoSuchAsk
              + ann missed
            4 allow zzzzx ann
              > refused: NoSuchAsk
              + ann missed
            5 allow zzzzw ann
              > refused: NoSuchAsk
              + ann missed
            6 allow zzzzv ann
              > refused: NoSuchAsk
              + ann missed
            7 allow abcde ann
              > refused: TooManyMisses { retry_at: Moment(602000) }
            8 say 1 ann : yes abcde
              > refused: TooManyMisses { retry_at: Moment(602000) }
            9 allow abcde bob
              + ask 1 allowed by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            700 ask 2 1 bcdef : ls
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            701 allow bcdef ann
              + ask 2 allowed by ann over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
        "#]],
    );
}

#[test]
fn two_sessions_with_the_same_five_letters_never_approve_each_other() {
    check(
        "0 attach 1 api
         0 attach 2 web
         1 ask 1 1 abcde : ls
         1 ask 2 2 abcde : rm
         2 allow abcde ann
         3 allow bcaaa ann
         4 say 1 ann to=label:api : yes baaaa",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 2 abcde : rm
              + ask 2 as baaaa
              > asked as baaaa
              > publish ask 2
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            3 allow bcaaa ann
              > refused: NoSuchAsk
              + ann missed
            4 say 1 ann to=label:api : yes baaaa
              + ask 2 allowed by ann over http
              > recorded allow baaaa
              > carry allow abcde to session 2
              > publish ask 2
        "#]],
    );
}

#[test]
fn an_event_waits_for_a_session_and_keeps_its_order() {
    check(
        "0 say 1 tom : one
         1 say 2 tom to=label:web : two
         2 say 3 tom : three
         3 attach 1 api
         4 wrote 1 1
         5 attach 2 web
         6 say 4 tom to=label:web : four",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 say 2 tom to=label:web : two
              + event 2 of tom in chat 2 for nobody yet
              > ok
              > publish event 2
            2 say 3 tom : three
              + event 3 of tom in chat 3 for nobody yet
              > ok
              > publish event 3
            3 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for [1 3]
            4 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for [3]
              > publish event 1
            5 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for [2]
            6 say 4 tom to=label:web : four
              + event 4 of tom in chat 4 for session 2
              > ok
              > wake session 2 for [2 4]
              > publish event 4
        "#]],
    );
}

#[test]
fn several_sessions_must_be_told_apart() {
    check(
        "0 attach 1 api
         0 attach 2 web
         1 say 1 tom : which
         2 say 2 tom to=label:web chat=c : there
         3 say 3 tom chat=c : and again
         4 say 4 tom to=session:9 : unknown
         5 lose 2
         6 say 5 tom : the only one left
         7 say 6 eve chat=c : not mine",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 say 1 tom : which
              > refused: which of api, web
            2 say 2 tom to=label:web chat=c : there
              + event 2 of tom in chat c for session 2
              > ok
              > wake session 2 for [2]
              > publish event 2
            3 say 3 tom chat=c : and again
              + event 3 of tom in chat c for session 2
              > ok
              > wake session 2 for [2 3]
              > publish event 3
            4 say 4 tom to=session:9 : unknown
              > refused: NoRoute(UnknownSession(00000000000000000000000009))
            5 lose 2
              + session 2 lost
              > done
              > publish session 2
            6 say 5 tom : the only one left
              + event 5 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [5]
              > publish event 5
            7 say 6 eve chat=c : not mine
              > refused: ForeignChat(c)
        "#]],
    );
}

#[test]
fn a_session_comes_back_with_what_it_wrote() {
    check(
        "0 attach 1 api
         1 say 1 tom : one
         1 say 2 tom : two
         2 ask 1 1 abcde : ls
         3 allow abcde ann
         4 start
         5 attach 1 api wrote=1
         6 carried 1
         7 start
         8 attach 1 api",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            1 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            4 start
              + gate opened
              > done
            5 attach 1 api wrote=1
              + session 1 attached, wrote [00000000000000000000000001]
              > done
              > publish session 1
              > carry allow abcde to session 1
              > wake session 1 for [2]
            6 carried 1
              + ask 1 carried
              > done
              > publish ask 1
            7 start
              + gate opened
              > done
            8 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for [2]
        "#]],
    );
}

#[test]
fn a_session_that_stays_away_has_ended() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 say 1 tom : one
         3 lose 1
         4 attach 2 api
         12 tick
         13 tick
         14 allow abcde ann",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            3 lose 1
              + session 1 lost
              > done
              > publish session 1
            4 attach 2 api
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            12 tick
            13 tick
              + session 1 ended: its process went away
              > done
              > publish session 1
              > wake session 2 for [1]
              + ask 1 withdrawn: its session ended
              > done
              > publish ask 1
            14 allow abcde ann
              > refused: Settled { code: abcde, life: Withdrawn { at: Moment(13000), why: "its session ended" } }
        "#]],
    );
}

#[test]
fn a_reply_goes_only_where_the_session_was_spoken_to() {
    check(
        "0 attach 1 api
         1 say 1 tom : hello
         2 reply 1 1 1 : too early
         3 wrote 1 1
         4 reply 2 1 1 : hi tom
         4 reply 2 1 1 : hi tom
         5 reply 3 1 7 : hi stranger
         6 open 1 1",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : hello
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 reply 1 1 1 : too early
              > refused: ChatNotDelivered(1)
            3 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            4 reply 2 1 1 : hi tom
              + reply to 1: hi tom
              > done
              > publish reply
              + event 1 seen
              > publish event 1
            4 reply 2 1 1 : hi tom
              > done
            5 reply 3 1 7 : hi stranger
              > refused: ChatNotDelivered(7)
            6 open 1 1
              > done
        "#]],
    );
}

#[test]
fn a_full_session_takes_no_more_and_an_old_event_expires() {
    check(
        "0 say 1 tom : one
         0 say 2 tom : two
         0 say 3 tom : three
         0 say 4 tom : four
         86400 tick
         86401 say 5 tom : five",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            0 say 2 tom : two
              + event 2 of tom in chat 2 for nobody yet
              > ok
              > publish event 2
            0 say 3 tom : three
              + event 3 of tom in chat 3 for nobody yet
              > ok
              > publish event 3
            0 say 4 tom : four
              > refused: SessionFull { waiting: 3 }
            86400 tick
              + event 1 expired
              > publish event 1
              + event 2 expired
              > publish event 2
              + event 3 expired
              > publish event 3
            86401 say 5 tom : five
              + event 5 of tom in chat 4 for nobody yet
              > ok
              > publish event 5
        "#]],
    );
}

#[test]
fn a_resumed_session_inherits_what_was_waiting() {
    check(
        "0 attach 1 api
         1 say 1 tom to=session:1 : one
         2 end 1
         3 say 2 tom to=session:1 : gone
         4 attach 2 api continues=1
         5 say 3 tom to=session:1 : here again",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom to=session:1 : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            3 say 2 tom to=session:1 : gone
              > refused: NoRoute(EndedSession(00000000000000000000000001))
            4 attach 2 api continues=1
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for [1]
            5 say 3 tom to=session:1 : here again
              + event 3 of tom in chat 2 for session 2
              > ok
              > wake session 2 for [1 3]
              > publish event 3
        "#]],
    );
}

#[test]
fn what_is_said_twice_under_one_key_counts_once() {
    check(
        "0 say 1 tom key=k : one
         1 say 2 tom key=k : one
         2 say 3 tom key=k : another
         3 say 4 eve key=k : one
         604800 say 5 tom key=k : one",
        &expect![[r#"
            0 say 1 tom key=k : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 say 2 tom key=k : one
              > ok, as event 1
            2 say 3 tom key=k : another
              > refused: KeyReused { event: 00000000000000000000000001 }
            3 say 4 eve key=k : one
              + event 4 of eve in chat 2 for nobody yet
              > ok
              > publish event 4
            604800 say 5 tom key=k : one
              + event 5 of tom in chat 3 for nobody yet
              > ok
              > publish event 5
        "#]],
    );
}

#[test]
fn an_event_that_was_never_read_is_given_again_and_at_last_given_up() {
    check(
        "0 attach 1 api agent=a
         1 say 1 tom : one
         1 say 2 tom : two
         2 wrote 1 1,2
         3 open 1 2
         4 end 1
         5 attach 2 api agent=a
         6 wrote 2 1
         7 end 2
         8 attach 3 api agent=a
         9 wrote 3 1
         10 end 3
         11 attach 4 api agent=a
         12 retry 1 tom
         13 wrote 4 1
         14 retry 1 eve",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            1 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            2 wrote 1 1,2
              + session 1 wrote 1 2
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
            3 open 1 2
              > done
              + event 2 seen
              > publish event 2
            4 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            5 attach 2 api agent=a
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for [1]
            6 wrote 2 1
              + session 2 wrote 1
              > done
              > wake session 2 for []
              > publish event 1
            7 end 2
              + session 2 ended: bye
              > done
              > publish session 2
            8 attach 3 api agent=a
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for [1]
            9 wrote 3 1
              + session 3 wrote 1
              > done
              > wake session 3 for []
              > publish event 1
            10 end 3
              + session 3 ended: bye
              > done
              > publish session 3
            11 attach 4 api agent=a
              + session 4 attached, wrote []
              > done
              > publish session 4
              > wake session 4 for []
              + event 1 died
              > publish event 1
            12 retry 1 tom
              + event 1 retried by tom
              > done
              > publish event 1
              > wake session 4 for [1]
            13 wrote 4 1
              + session 4 wrote 1
              > done
              > wake session 4 for []
              > publish event 1
            14 retry 1 eve
              > refused: NoSuchEvent
        "#]],
    );
}

#[test]
fn an_event_can_be_dropped_while_it_waits_and_by_those_it_concerns() {
    check(
        "0 say 1 tom : one
         1 drop 1 eve
         2 drop 1 tom
         3 drop 1 tom
         4 attach 1 api
         5 retry 1 ann
         6 say 2 tom : two
         7 wrote 1 2
         8 drop 2 ann",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 drop 1 eve
              > refused: NoSuchEvent
            2 drop 1 tom
              + event 1 dropped by tom
              > done
              > publish event 1
            3 drop 1 tom
              > refused: EventSettled { life: Dropped { at: Moment(2000), by: "tom" } }
            4 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            5 retry 1 ann
              + event 1 retried by ann
              > done
              > publish event 1
              > wake session 1 for [1]
            6 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            7 wrote 1 2
              + session 1 wrote 2
              > done
              > wake session 1 for [1]
              > publish event 2
            8 drop 2 ann
              > refused: EventSettled { life: Delivered { at: Moment(7000) } }
        "#]],
    );
}

#[test]
fn a_verdict_that_nobody_can_deliver_does_not_count() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 lose 1
         3 allow abcde ann
         4 attach 1 api
         5 start
         6 allow abcde ann
         7 attach 1 api",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 allow abcde ann
              > refused: Undeliverable { code: abcde }
            4 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            5 start
              + gate opened
              > done
            6 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            7 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > carry allow abcde to session 1
              > wake session 1 for []
        "#]],
    );
}

#[test]
fn only_an_admin_lets_people_in() {
    check(
        "0 token 1 eve sender ann
         1 token 1 eve sender root
         2 token 2 eve reviewer root
         3 token 2 owner admin root
         4 role eve reviewer root
         5 role tim reviewer root
         6 token 2 eve reviewer root
         7 revoke 1 ann
         8 revoke 1 root
         9 revoke 1 root
         10 remove eve root
         11 revoke 2 root",
        &expect![[r#"
            0 token 1 eve sender ann
              > refused: NeedsRight(Admin)
            1 token 1 eve sender root
              + eve is a sender by root
              + token 1 for eve by root
              > done
              > publish people
            2 token 2 eve reviewer root
              > refused: OtherRole { role: Sender }
            3 token 2 owner admin root
              > refused: BadName
            4 role eve reviewer root
              + eve is a reviewer by root
              > done
              > publish people
            5 role tim reviewer root
              > refused: NoSuchPerson
            6 token 2 eve reviewer root
              + token 2 for eve by root
              > done
              > publish people
            7 revoke 1 ann
              > refused: NeedsRight(Admin)
            8 revoke 1 root
              + token 1 revoked by root
              > done
              > publish people
            9 revoke 1 root
              > refused: NoSuchToken
            10 remove eve root
              + eve removed by root
              > done
              > publish people
            11 revoke 2 root
              > refused: NoSuchToken
        "#]],
    );
}

#[test]
fn a_stranger_is_let_in_by_a_code_and_guessing_ends_soon() {
    check(
        "0 knock u1 7
         1 knock u1 8
         2 knock u2 7
         3 knock u3 9
         4 knock u4 10
         5 pair 70000000 tim ann
         6 pair 70000000 tim root
         7 pair 70000000 tim root
         8 pair 10000000 tim root
         9 pair 20000000 tim root
         10 pair 30000000 tim root
         11 pair 40000000 tim root
         12 pair 80000000 tim root
         700 pair 80000000 tim root",
        &expect![[r#"
            0 knock u1 7
              + u1 on telegram shows 7000-0000
              > show 7000-0000
              > publish people
            1 knock u1 8
              > show 7000-0000
            2 knock u2 7
              + u2 on telegram shows 8000-0000
              > show 8000-0000
              > publish people
            3 knock u3 9
              + u3 on telegram shows 9000-0000
              > show 9000-0000
              > publish people
            4 knock u4 10
              > refused: TooManyPairings
            5 pair 70000000 tim ann
              > refused: NeedsRight(Admin)
            6 pair 70000000 tim root
              + 7000-0000 is tim, a sender, by root
              > done
              > publish people
            7 pair 70000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            8 pair 10000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            9 pair 20000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            10 pair 30000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            11 pair 40000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            12 pair 80000000 tim root
              > refused: TooManyMisses { retry_at: Moment(607000) }
            700 pair 80000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
        "#]],
    );
}

#[test]
fn what_was_given_to_a_client_that_only_looked_is_for_the_next() {
    check(
        "0 say 1 tom : one
         1 attach 1 api
         2 wrote 1 1
         3 end 1 untouched
         4 attach 2 api
         5 wrote 2 1
         6 end 2
         7 attach 3 api",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for [1]
            2 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            3 end 1 untouched
              + session 1 ended: bye
              > done
              > publish session 1
            4 attach 2 api
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for [1]
            5 wrote 2 1
              + session 2 wrote 1
              > done
              > wake session 2 for []
              > publish event 1
            6 end 2
              + session 2 ended: bye
              > done
              > publish session 2
            7 attach 3 api
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
        "#]],
    );
}
