//! What happens, told as scripts: one line an input, then what was written down and what was done.

use std::fmt::Write as _;

use expect_test::Expect;

use crate::policy::Mode;
use crate::*;

mod agreement;
mod asks;
mod confirmation;
mod editors;
mod events;
mod gateway;
mod labels;
mod orders;
mod outside;
mod people;
mod projects;
mod replies;
mod revoked;
mod rulings;
mod sessions;
mod taken_back;

/// Runs a script. Each line is `SECOND WORD…`; records are marked `+`, effects `>`.
fn check(script: &str, want: &Expect) {
    check_in(State::new(Limits { waiting_events: 3, ..Limits::default() }), script, want);
}

fn check_in(mut state: State, script: &str, want: &Expect) {
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
                    Effect::Then(input) => inputs.push(*input),
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

fn order(number: &str) -> OrderId {
    OrderId::new(Moment(0), number.parse().unwrap())
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
    Actor { name: name.into(), rights: role.rights(), via: Via::Http, scope: TokenScope::Everything, device: None }
}

/// The scope of someone who has to do with one label only, or with all.
fn scope(only: Option<&str>) -> TokenScope {
    only.map_or(TokenScope::Everything, |label| TokenScope::Labels(vec![Label::new(label).unwrap()]))
}

/// `say ID PERSON [to=session:N|label:L] [chat=C] [only=L] : TEXT`, `attach N LABEL [wrote=…] [continues=N]`, …
fn read(command: &str) -> Input {
    let (head, text) = command.split_once(" : ").unwrap_or((command, ""));
    let words: Vec<&str> = head.split_whitespace().collect();
    let option = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let events = |name: &str| option(name).map(|list| list.split(',').map(event).collect()).unwrap_or_default();
    match words[0] {
        "start" => Input::Started { version: "1".into() },
        "say" => Input::Said {
            id: event(words[1]),
            by: Actor {
                via: option("via").map_or(Via::Http, |via| via.parse().unwrap()),
                scope: scope(option("only")),
                device: option("device").map(str::to_owned),
                ..person(words[2])
            },
            inside: option("inside")
                .map(|label| Inside { process: Some(7), agent: InsideAgent::Session(Label::new(label).unwrap()) }),
            text: SaidText::new(text),
            address: match option("to").and_then(|to| to.split_once(':')) {
                Some(("session", number)) => Address::Session(session(number)),
                Some((_, label)) => Address::Label(Label::new(label).unwrap()),
                None => Address::Open,
            },
            chat: option("chat").map(|chat| ChatId::new(chat).unwrap()),
            attributes: Default::default(),
            reply_to: None,
            idempotency_key: option("key")
                .map(|key| IdempotencyKey { key: key.into(), digest: [text.len() as u8; 32] }),
        },
        "outside" => Input::OutsideRead { session: session(words[1]), sender: words[2].into() },
        "directed" => Input::OutsideEnded { session: session(words[1]), by: words[2].into() },
        "attach" | "describe" => {
            let session = session(words[1]);
            let about = SessionAbout {
                label: Label::new(words[2]).unwrap(),
                label_chosen: words.contains(&"chosen"),
                connected_by: option("by").unwrap_or("channel").into(),
                pid: option("pid").map(|pid| pid.parse().unwrap()),
                person: option("person").map(str::to_owned),
                runs_commands: words.contains(&"runs"),
                folder: option("folder").map(str::to_owned),
                agent_session: option("agent").map(str::to_owned),
                continues: option("continues").map(self::session),
                mode: None,
                driven: words.contains(&"driven"),
                hooks_version: None,
                is_working: None,
                at_dialog: false,
                wakes: None,
                origin: option("origin").map(|origin| ConversationOrigin::named(origin).unwrap()),
            };
            match words[0] {
                "attach" => Input::Attached { session, about, wrote: events("wrote"), holding: events("holding") },
                _ => Input::Described { session, about },
            }
        }
        "wrote" => {
            Input::Wrote { session: session(words[1]), events: words[2].split(',').map(event).collect(), way: None }
        }
        "lose" => Input::Lost { session: session(words[1]) },
        "end" => Input::Ended {
            session: session(words[1]),
            goodbye: Goodbye { why: "bye".into(), untouched: words.contains(&"untouched") },
        },
        "ask" => Input::Asked {
            session: session(words[2]),
            ask: Box::new(NewAsk {
                id: ask(words[1]),
                source: option("source").map_or(Source::Channel, |source| Source::named(source).unwrap()),
                origin: words[3].into(),
                tool: option("tool").unwrap_or("Bash").into(),
                description: Text::new(text),
                preview: Text::new(option("preview").unwrap_or("{}")),
                details: details(&option),
            }),
            entropy: 1,
        },
        "allow" | "deny" => Input::Answered {
            by: person(words[2]),
            target: Code::parse(words[1]).map_or_else(|| VerdictTarget::Id(ask(words[1])), VerdictTarget::Code),
            ruling: Ruling {
                scope: option("scope").map_or(Scope::Once, |scope| Scope::named(scope).unwrap()),
                input: option("input").map(|text| Edited { text: Text::new(text), digest: [text.len() as u8; 32] }),
                interrupt: words.contains(&"interrupt"),
                mode: option("mode").map(|mode| policy::Mode::named(mode).unwrap()),
                ..Ruling::plain(Behavior::named(words[0]).unwrap())
            },
            idempotency_key: option("key")
                .map(|key| IdempotencyKey { key: key.into(), digest: [words[0].len() as u8; 32] }),
        },
        "withdraw" => Input::Withdrawn { ask: ask(words[1]), by: option("of").map(session), why: text.into() },
        "call" => Input::Called {
            session: session(words[1]),
            call: ToolCall {
                tool: "Bash".into(),
                tool_use_id: option("use").map(str::to_owned),
                agent: None,
                outcome: CallOutcome::named(words[2]).unwrap(),
                decided_by: option("by").unwrap_or("user").replace('_', " "),
                digest: option("digest").map(|byte| [byte.parse().unwrap(); 32]),
                ask: option("ask").map(ask),
                preview: Text::new(""),
                unasked: false,
            },
        },
        "order" => Input::Ordered {
            id: order(option("id").unwrap_or("1")),
            by: person(words[3]),
            session: session(words[1]),
            order: match words[2] {
                "stop" => Order::Stop { by: words[3].into() },
                "resume" => Order::Resume,
                "interrupt" => Order::Interrupt,
                _ => Order::Prompt { text: Text::new(text), by: words[3].into() },
            },
        },
        "ordered" => Input::OrderSettled {
            session: session(words[1]),
            order: order(words[2]),
            outcome: match words[3] {
                "done" => OrderOutcome::Done,
                _ => OrderOutcome::Failed { why: text.into() },
            },
        },
        "carried" => Input::Carried {
            ask: ask(words[1]),
            session: session(option("of").unwrap_or("1")),
            verdict_at: option("at").map(|second| Moment(second.parse::<u64>().unwrap() * 1000)),
        },
        "reply" => Input::Replied {
            id: ReplyId::new(Moment(0), words[1].parse().unwrap()),
            session: session(words[2]),
            chat: ChatId::new(words[3]).unwrap(),
            reply_to: option("to").map(event),
            text: Text::new(text),
            files: vec![],
        },
        "edit" => Input::ReplyEdited {
            reply: ReplyId::new(Moment(0), words[1].parse().unwrap()),
            session: session(words[2]),
            text: Text::new(text),
        },
        "drop" => Input::Drop { by: person(words[2]), event: event(words[1]) },
        "retry" => Input::Retry { by: person(words[2]), event: event(words[1]) },
        "token" => Input::AddToken {
            by: person(words[4]),
            token: Token {
                id: TokenId::new(Moment(0), words[1].parse().unwrap()),
                person: words[2].into(),
                hash: [0; 32],
                scope: scope(option("only")),
                expires: None,
                since: Moment(0),
                device: None,
                last_used: None,
            },
            role: Role::named(words[3]).unwrap(),
        },
        "link" => Input::LinkDevice {
            by: person(words[4]),
            token: Token {
                id: TokenId::new(Moment(0), words[1].parse().unwrap()),
                person: words[2].into(),
                hash: [0; 32],
                scope: TokenScope::Everything,
                expires: None,
                since: Moment(0),
                device: Some(Device { called: words[3].into(), rights: Role::Reviewer.rights() }),
                last_used: None,
            },
        },
        "revoke" => {
            Input::RevokeToken { by: person(words[2]), token: TokenId::new(Moment(0), words[1].parse().unwrap()) }
        }
        "use" => Input::DeviceUsed { token: TokenId::new(Moment(0), words[1].parse().unwrap()) },
        "role" => {
            Input::SetPerson { name: words[1].into(), role: Role::named(words[2]).unwrap(), by: person(words[3]) }
        }
        "mode" => Input::SetDefaultMode { folder: words[1].into(), mode: Mode::named(words[2]), by: person(words[3]) },
        "editor" => Input::TrustEditor { process: words[1].into(), what: words[2].into(), by: person(words[3]) },
        "remove" => Input::RemovePerson { name: words[1].into(), by: person(words[2]) },
        "unlink" => Input::Unlink { identity: words[1].parse().unwrap(), by: person(words[2]) },
        "taken" => Input::Taken {
            connector: words[1].parse().unwrap(),
            position: words[2].parse().unwrap(),
            messages: option("message")
                .map(|message| SentMessage { about: SentAbout::Ask(ask("1")), user: None, message: message.into() })
                .into_iter()
                .collect(),
        },
        "knock" => Input::AskPairing {
            identity: format!("telegram:{}", words[1]).parse().unwrap(),
            called: "Tom".into(),
            entropy: words[2].parse().unwrap(),
        },
        "pair" => Input::Pair {
            code: PairingCode::parse(words[1]).unwrap(),
            name: words[2].into(),
            role: Role::Sender,
            by: person(words[3]),
        },
        "read" => Input::Read { session: session(words[1]), events: words[2].split(',').map(event).collect() },
        "open" => Input::Opened { session: session(words[1]), event: event(words[2]) },
        "tick" => Input::Ticked,
        "clock" => Input::ClockSet { was: words[1].parse::<u64>().unwrap() * 1000 },
        other => panic!("no such command: {other}"),
    }
}

/// `use=ID`, `digest=BYTE`, `offers=always`, `quorum=2`, `timeout=60:deny`, `editable=yes`, `kind=question`.
fn details<'a>(option: &impl Fn(&str) -> Option<&'a str>) -> Details {
    Details {
        input: option("whole").map(Text::new),
        tool_use_id: option("use").map(str::to_owned),
        digest: option("digest").map(|byte| [byte.parse().unwrap(); 32]),
        offers: option("offers")
            .and_then(Scope::named)
            .map(|scope| Offer { scope, words: "rule".into() })
            .into_iter()
            .collect(),
        quorum: option("quorum").map_or(1, |quorum| quorum.parse().unwrap()),
        timeout: option("timeout").and_then(|timeout| timeout.split_once(':')).map(|(seconds, then)| AskTimeout {
            milliseconds: seconds.parse::<u64>().unwrap() * 1000,
            then: if then == "deny" { OnTimeout::Deny } else { OnTimeout::NoDecision },
        }),
        editable: option("editable").is_some(),
        modes: option("modes").into_iter().flat_map(|modes| modes.split(',').filter_map(policy::Mode::named)).collect(),
        confirm_within: option("confirm").map(|seconds| seconds.parse::<u64>().unwrap() * 1000),
        kind: option("kind").map_or(AskKind::Tool, |kind| AskKind::named(kind).unwrap()),
        ..Details::default()
    }
}

fn place(session: Option<SessionId>) -> String {
    session.map_or("nobody yet".into(), |session| format!("session {}", short(session)))
}

fn record_in_words(record: &Record) -> String {
    match record {
        Record::Opened { .. } => "gate opened".into(),
        Record::ClockSet { was } => format!("clock set back from {}", was / 1000),
        Record::Received { event, to } => {
            format!("event {} of {} in chat {} for {}", short(event.id), event.sender, event.chat, place(*to))
        }
        Record::Seen { event } => format!("event {} seen", short(event)),
        Record::EventExpired { event } => format!("event {} expired", short(event)),
        Record::Attached { session, about, label, wrote, .. } => {
            let label = label.as_ref().filter(|label| **label != about.label);
            let label = label.map(|label| format!(" as {label}")).unwrap_or_default();
            format!("session {} attached{label}, wrote {wrote:?}", short(session))
        }
        Record::Wrote { session, events, .. } => {
            let events: Vec<String> = events.iter().map(short).collect();
            format!("session {} wrote {}", short(session), events.join(" "))
        }
        Record::Lost { session } => format!("session {} lost", short(session)),
        Record::Moved { events, to, redelivered, .. } => {
            let events: Vec<String> = events.iter().map(short).collect();
            let again = if *redelivered { ", perhaps again" } else { "" };
            format!("events {} moved to {}{again}", events.join(" "), place(*to))
        }
        Record::Requeued { events, to, attempts, .. } => {
            let events: Vec<String> = events.iter().map(short).collect();
            format!("events {} wait again for {}, attempts {attempts}", events.join(" "), place(*to))
        }
        Record::Ended { session, goodbye, .. } => format!("session {} ended: {}", short(session), goodbye.why),
        Record::Replied { reply } => format!("reply to {}: {}", reply.chat, reply.text.as_str()),
        Record::ReplyEdited { session, reply, text, .. } => {
            format!("reply {} edited by session {}: {text}", short(reply), short(session))
        }
        Record::Asked { ask } => format!("ask {} as {}", short(ask.id), ask.code),
        Record::Answered { ask, verdict } => format!("ask {} {}", short(ask), verdict.in_words()),
        Record::Voted { ask, verdict } => format!("ask {} {}, more must", short(ask), verdict.in_words()),
        Record::NotConfirmed { ask } => format!("ask {} not confirmed", short(ask)),
        Record::AskExpired { ask } => format!("ask {} expired", short(ask)),
        Record::Joined { ask, into } => format!("ask {} is ask {}", short(ask), short(into)),
        Record::OutcomeReported { ask, outcome, differs } => {
            format!("ask {} {}{}", short(ask), outcome.name(), if *differs { " differently" } else { "" })
        }
        Record::Called { session, call } => format!("session {} {} {}", short(session), call.outcome.name(), call.tool),
        Record::Described { session, .. } => format!("session {} described", short(session)),
        Record::OutsideRead { session, sender } => format!("session {} has read text from {sender}", short(session)),
        Record::OutsideEnded { session, by } => format!("guard of session {} ended by {by}", short(session)),
        Record::Ordered { session, order, by, .. } => {
            format!("session {} told to {} by {by}", short(session), order.name())
        }
        Record::OrderDone { session, order } => format!("session {} did order {}", short(session), short(order)),
        Record::OrderFailed { session, order, why } => {
            format!("session {} failed order {}: {why}", short(session), short(order))
        }
        Record::DefaultModeSet { folder, mode, by } => {
            format!("default mode in {folder} is {} by {by}", mode.map_or("as configured", Mode::name))
        }
        Record::EditorTrusted { process, what, by } => format!("editor {process} ({what}) trusted by {by}"),
        Record::Carried { ask } => format!("ask {} carried", short(ask)),
        Record::Withdrawn { ask, why } => format!("ask {} withdrawn: {why}", short(ask)),
        Record::Missed { by } => format!("{by} missed"),
        Record::Dropped { event, by, why } => {
            let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("event {} dropped by {by}{why}", short(event))
        }
        Record::Died { event } => format!("event {} died", short(event)),
        Record::Retried { event, by, to, .. } => format!("event {} retried by {by} for {}", short(event), place(*to)),
        Record::PersonSet { name, role, by } => format!("{name} is a {} by {by}", role.name()),
        Record::PersonRemoved { name, by } => format!("{name} removed by {by}"),
        Record::TokenAdded { token, by } => format!("token {} for {} by {by}", short(token.id), token.person),
        Record::TokenRevoked { token, by, .. } => format!("token {} revoked by {by}", short(token)),
        Record::DeviceUsed { token, .. } => format!("device {} was used", short(token)),
        Record::PairingAsked { pairing } => format!("{} shows {}", pairing.identity, pairing.code),
        Record::IdentityLinked { identity, name, by } => format!("{identity} is {name} by {by}"),
        Record::IdentityUnlinked { identity, name, by } => format!("{identity} is {name} no more by {by}"),
        Record::Taken { connector, position, messages } => {
            let messages: Vec<&str> = messages.iter().map(|sent| sent.message.as_str()).collect();
            format!("{connector} has taken {position} {messages:?}")
        }
        Record::Paired { code, name, role, by } => format!("{code} is {name}, a {}, by {by}", role.name()),
        Record::PairingMissed { by } => format!("{by} missed a pairing"),
        Record::Redacted { what, by } => format!("{what} erased by {by}"),
        Record::AccessDenied { who, what } => format!("{who} denied: {what}"),
    }
}

fn effect_in_words(effect: &Effect, state: &State) -> String {
    match effect {
        Effect::Answer(Answer::Accepted { event, repeated: true, .. }) => format!("ok, as event {}", short(event)),
        Effect::Answer(Answer::Accepted { not_a_verdict: None, .. }) => "ok".into(),
        Effect::Answer(Answer::Accepted { not_a_verdict: Some(why), .. }) => format!("ok, as chat: {why:?}"),
        Effect::Answer(Answer::Recorded { code, behavior, missing: 0, .. }) => {
            format!("recorded {} {code}", behavior.name())
        }
        Effect::Answer(Answer::Recorded { code, missing, .. }) => format!("counted for {code}, {missing} missing"),
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
            let waiting: Vec<String> =
                state.waiting(Some(*session), 0).map(|tracked| short(tracked.event.id)).collect();
            format!("wake session {} for [{}]", short(session), waiting.join(" "))
        }
        Effect::Carry { session, origin, ruling, .. } => {
            format!("carry {} {origin} to session {}", ruling.behavior.name(), short(session))
        }
        Effect::Close { session, origin, .. } => format!("close {origin} at session {}", short(session)),
        Effect::Order { session, id, order } => {
            let id = id.map_or(String::new(), |id| format!(", order {}", short(id)));
            format!("have session {} {}{id}", short(session), order.name())
        }
        Effect::TakeBack { session, event } => {
            format!("take event {} back from session {}", short(event), short(session))
        }
        Effect::RaiseGuard { session, sender } => format!("guard session {} against {sender}", short(session)),
        Effect::Publish(Topic::Session(id)) => format!("publish session {}", short(id)),
        Effect::Publish(Topic::Event(id)) => format!("publish event {}", short(id)),
        Effect::Publish(Topic::Ask(id)) => format!("publish ask {}", short(id)),
        Effect::Publish(Topic::Reply(_)) => "publish reply".into(),
        Effect::Publish(Topic::People) => "publish people".into(),
        Effect::Answer(Answer::Pairing { code }) => format!("show {code}"),
        Effect::Then(_) => unreachable!("followed, not told"),
    }
}
