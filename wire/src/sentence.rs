//! A record as one sentence for people: `log`, `watch` and `up` print the same words.

mod names;

use portcullis_core::{
    Address, Ask, AskId, AskKind, Behavior, CallOutcome, Event, Label, Order, Record, Ruling, Scope, SessionAbout,
    SessionId, Subject, Text, Token, ToolCall, Verdict, as_one_word, is_of_file,
};
use serde_json::Value;

use crate::api::{AskView, LogLine};
use crate::preview;
use crate::record::{self, RecordPayload, Unreadable};
use crate::text::{masked_start, one_line, risk_in_words};
pub use names::Names;

/// Bytes shown of what someone wrote. The whole of it is in the JSON.
const LONGEST: usize = 300;

/// How much a record matters to someone who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A step inside the gate, for whoever looks for the cause of something.
    Detail,
    Plain,
    /// Someone should look at it, or do something.
    Attention,
}

impl Weight {
    pub fn name(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Plain => "plain",
            Self::Attention => "attention",
        }
    }
}

/// A sentence about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The session that the record is about.
    pub session: Option<SessionId>,
    /// The label of that session, where it is known.
    pub label: Option<String>,
    /// One line, with secrets masked, that a terminal may safely show.
    pub words: String,
    pub weight: Weight,
}

impl LogLine {
    /// The record of the line.
    pub fn read(&self) -> Result<Record, Unreadable> {
        let mut body = self.record.clone();
        // The log shows no hashes of tokens, and a record has one.
        if let Some(token) = body.get_mut("token_added").and_then(Value::as_object_mut) {
            token.entry("hash").or_insert_with(|| vec![0; 32].into());
        }
        let payload = match &self.payload {
            Some(payload) => RecordPayload::Kept(payload.as_bytes()),
            None if self.erased => RecordPayload::Erased,
            None => RecordPayload::None,
        };
        record::read(portcullis_core::Moment(self.at), &serde_json::to_vec(&body)?, payload)
    }
}

/// Says what a record tells, and learns from it the names by which later records are told.
pub fn sentence(names: &mut Names, record: &Record) -> Sentence {
    // What a session is like is told as what has changed of it.
    let described = match record {
        Record::Described { session, about, label } => Some(described(names.about(*session), about, label.as_ref())),
        _ => None,
    };
    names.learn(record);
    let session = session_of(names, record);
    let label = session.and_then(|session| names.label(session)).map(str::to_owned);
    let (weight, words) = words(names, record);
    let words = described.unwrap_or(words);
    Sentence { session, label, words: one_line(&words), weight }
}

fn session_of(names: &Names, record: &Record) -> Option<SessionId> {
    match record {
        Record::Received { to, .. } | Record::Retried { to, .. } => *to,
        Record::Asked { ask } => Some(ask.session),
        _ => match record.subject() {
            Subject::Session(session) => Some(session),
            Subject::Ask(ask) => names.session_of_ask(ask),
            Subject::Event(event) => names.session_of_event(event),
            Subject::Gate | Subject::Person(_) | Subject::Pairing(_) | Subject::Connector(_) | Subject::Project(_) => {
                None
            }
        },
    }
}

/// Every kind of record has its sentence.
fn words(names: &Names, record: &Record) -> (Weight, String) {
    use Weight::{Attention, Detail, Plain};
    match record {
        Record::Opened { version } => (Plain, format!("the gate started, portcullis {version}")),
        Record::ClockSet { was } => {
            (Attention, format!("the clock went back: by the record before it was {}", date(*was)))
        }
        Record::Received { event, to } => (Plain, received(event, *to)),
        Record::Seen { event } => (Detail, format!("{} was read by the model", names.event(*event))),
        Record::EventExpired { event } => (Attention, format!("{} expired before anyone took it", names.event(*event))),
        Record::Attached { about, .. } => (Plain, format!("session connected by {}", attached(about))),
        Record::Wrote { events, .. } => (Detail, format!("{} given to the agent", names.events(events))),
        Record::Lost { .. } => (Attention, "session lost: its process is gone without a word".to_owned()),
        Record::Ended { goodbye, .. } => (Plain, format!("session ended: {}", goodbye.why)),
        Record::Moved { events, to, .. } => {
            (Detail, format!("{} now {}", names.events(events), names.waits_for(events.len(), *to)))
        }
        Record::Requeued { events, to, .. } => {
            let waits = names.waits_for(events.len(), *to);
            (Plain, format!("{} may not have been read, and {waits} again", names.events(events)))
        }
        Record::Replied { reply } => {
            let files = match reply.files.len() {
                0 => String::new(),
                1 => " [1 file]".to_owned(),
                files => format!(" [{files} files]"),
            };
            (Plain, format!("reply to {}: {}{files}", reply.chat, shown(&reply.text)))
        }
        Record::ReplyEdited { chat, text, .. } => (Plain, format!("reply to {chat} changed: {}", shown(text))),
        Record::Asked { ask } => (Attention, asked(ask)),
        Record::Answered { ask, verdict } => (Plain, answered(names, *ask, verdict)),
        Record::Voted { ask, verdict } => {
            (Plain, format!("{}; more people must agree", answered(names, *ask, verdict)))
        }
        Record::Carried { ask } => (Detail, format!("{}: the agent has the verdict", names.code(*ask))),
        Record::Withdrawn { ask, why } => (Plain, format!("{} no longer asked: {why}", names.code(*ask))),
        Record::AskExpired { ask } => (Attention, format!("{} expired: nobody answered in time", names.code(*ask))),
        Record::Joined { ask, into } => {
            (Detail, format!("{} is the same prompt as {}", names.code(*ask), names.code(*into)))
        }
        Record::NotConfirmed { ask } => {
            (Attention, format!("{} NOT CONFIRMED: nothing shows that the agent took the verdict", names.code(*ask)))
        }
        Record::OutcomeReported { ask, outcome, differs } => outcome_of(&names.code(*ask), *outcome, *differs),
        Record::Called { call, .. } => called(call),
        Record::Described { about, .. } => (Detail, format!("session is {}", attached(about))),
        Record::OutsideRead { sender, .. } => {
            (Plain, format!("session has read text from {sender}, who may not direct it: what it runs is asked for"))
        }
        Record::OutsideEnded { by, .. } => {
            let why = match by.as_str() {
                "terminal" => "its user spoke at its terminal".to_owned(),
                "/clear" => "its conversation was cleared".to_owned(),
                by => format!("{by} spoke to it"),
            };
            (Plain, format!("{why}: its calls are no longer asked for because of text from outside"))
        }
        Record::Ordered { order, by, .. } => (Plain, ordered(order, by)),
        Record::DefaultModeSet { folder, mode: Some(mode), by } => {
            (Plain, format!("{by} sets the default mode in {folder} to {mode}"))
        }
        Record::DefaultModeSet { folder, mode: None, by } => {
            (Plain, format!("{by} takes back the default mode in {folder}: it is as configured"))
        }
        Record::EditorTrusted { what, by, .. } => {
            (Plain, format!("{by} says that an editor is theirs: {what}; prompts are answered there"))
        }
        Record::OrderDone { order, .. } => (Detail, format!("{} is done", names.order(*order))),
        Record::OrderFailed { order, why, .. } => (Attention, format!("{} failed: {why}", names.order(*order))),
        Record::Dropped { event, by, why: None } => (Plain, format!("{} dropped by {by}", names.event(*event))),
        Record::Dropped { event, by, why: Some(why) } => {
            (Attention, format!("{} dropped by {by}: {why}", names.event(*event)))
        }
        Record::Died { event } => {
            (Attention, format!("{} given up: each agent that had it ended before reading it", names.event(*event)))
        }
        Record::Retried { event, by, to, .. } => {
            (Plain, format!("{} sent again by {by}: it {}", names.event(*event), names.waits_for(1, *to)))
        }
        Record::Missed { by } => (Attention, format!("{by} typed a code that no prompt has")),
        Record::PersonSet { name, role, by } => (Plain, format!("{name} is a {role} now, by {by}")),
        Record::PersonRemoved { name, by } => (Plain, format!("{name} was removed by {by}")),
        Record::TokenAdded { token: Token { device: Some(device), person, .. }, by } => {
            let rights = device.rights.names().join(", ");
            (Plain, format!("{by} linked a device of {person}, {:?}, which may {rights}", device.called))
        }
        Record::TokenAdded { token, by } => (Plain, format!("{by} made a token for {}", token.person)),
        Record::TokenRevoked { person, by, device: Some(device), .. } => {
            (Plain, format!("{by} revoked a device of {person}, {device:?}"))
        }
        Record::TokenRevoked { person, by, .. } => (Plain, format!("{by} revoked a token of {person}")),
        Record::DeviceUsed { person, .. } => (Detail, format!("a device of {person} was used")),
        Record::PairingAsked { pairing } => {
            let words = format!("{} ({}) wants to be let in", pairing.called, pairing.identity);
            (Attention, format!("{words}; `portcullis people pair CODE --name NAME` does it"))
        }
        Record::Paired { name, role, by, .. } => (Plain, format!("{name} was let in as a {role} by {by}")),
        Record::IdentityLinked { identity, name, by } => (Plain, format!("{identity} is {name} now, by {by}")),
        Record::IdentityUnlinked { identity, name, by } => (Plain, format!("{identity} is no longer {name}, by {by}")),
        Record::PairingMissed { by } => (Attention, format!("{by} typed a pairing code that nobody was shown")),
        Record::Taken { connector, position, .. } => {
            (Detail, format!("connector {connector} has taken everything up to record {position}"))
        }
        Record::Redacted { what, by } => (Plain, format!("{by} erased the text of {what}")),
        Record::AccessDenied { who, what } => (Attention, format!("refused to {who}: {what}")),
    }
}

fn received(event: &Event, to: Option<SessionId>) -> String {
    let waits = match (&event.address, to) {
        (_, Some(_)) => String::new(),
        (Address::Label(label), None) => format!(" waits for a session with label {label}"),
        (_, None) => " waits for a session".to_owned(),
    };
    let given: Vec<String> =
        event.given().map(|(name, value)| format!("{name}={}", given_value(name, value))).collect();
    let given = if given.is_empty() { String::new() } else { format!(" with {}", given.join(", ")) };
    format!("event from {} in {}{given}{waits}: {}", event.sender, as_one_word(event.chat.as_str()), shown(&event.text))
}

/// What an attribute says. Of a file that is what its sender calls it: where the gate keeps it, as `0-NAME` in a folder of
/// the event, tells nobody anything.
fn given_value<'a>(name: &str, value: &'a str) -> &'a str {
    match value.rsplit_once('/') {
        Some((_, kept)) if is_of_file(name) => kept.split_once('-').map_or(kept, |(_, name)| name),
        _ => value,
    }
}

/// The day and the time, so many milliseconds after 1970 began, wherever the reader is.
fn date(milliseconds: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let (seconds, days) = (milliseconds / 1000 % 86_400, milliseconds / 86_400_000);
    // Counted from the first of March of the year 0, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year + month / 10, if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `hooks in /home/ann/api, mode plan`.
fn attached(about: &SessionAbout) -> String {
    let folder = about.folder.as_ref().map(|folder| format!(" in {folder}")).unwrap_or_default();
    let mode = about.mode.as_ref().map(|mode| format!(", mode {mode}")).unwrap_or_default();
    format!("{}{folder}{mode}", about.connected_by)
}

/// `session: mode plan, idle`; everything where nothing was known before.
fn described(before: Option<&SessionAbout>, about: &SessionAbout, label: Option<&Label>) -> String {
    let Some(before) = before else { return format!("session is connected by {}", attached(about)) };
    let of = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}{value}"));
    let activity = activity(about);
    let changes = [
        label.map(|label| format!("called {label}")),
        Some(format!("connected by {}", about.connected_by)).filter(|_| before.connected_by != about.connected_by),
        of("in ", &about.folder).filter(|_| before.folder != about.folder),
        of("mode ", &about.mode).filter(|_| before.mode != about.mode),
        of("in conversation ", &about.agent_session).filter(|_| before.agent_session != about.agent_session),
        activity.filter(|activity| self::activity(before) != Some(activity)).map(str::to_owned),
    ];
    match changes.into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] if before.hooks_version != about.hooks_version => "session: its hooks have called".to_owned(),
        [] => "session: its process told more about itself".to_owned(),
        changes => format!("session: {}", changes.join(", ")),
    }
}

fn activity(about: &SessionAbout) -> Option<&'static str> {
    match about.is_working {
        _ if about.at_dialog => Some("waits at its terminal, at a dialog that only Claude Code shows"),
        Some(true) => Some("working"),
        Some(false) => Some("idle"),
        None => None,
    }
}

/// `abcde asks to run Bash: git push (risk high: network)`.
fn asked(ask: &Ask) -> String {
    let risk = ask.details.risk.as_ref().filter(|_| ask.details.kind == AskKind::Tool);
    let risk = risk.map(|risk| format!(" ({})", risk_in_words(risk))).unwrap_or_default();
    let what = match &ask.preview {
        Text::Here(text) => cut(&preview::of_text(&ask.tool, text)),
        other => shown(other),
    };
    asks(ask.details.kind, &ask.code.to_string(), &ask.tool, &what) + &risk
}

/// `abcde asks to run Bash: git push`; `what` is what is shown of the call.
fn asks(kind: AskKind, code: &str, tool: &str, what: &str) -> String {
    match kind {
        AskKind::Tool => format!("{code} asks to run {tool}: {what}"),
        AskKind::Question => format!("{code} asks a question: {what}"),
        AskKind::Plan => format!("{code} asks to approve a plan: {what}"),
    }
}

impl AskView {
    /// What it asks, on one line, with secrets masked.
    pub fn in_words(&self) -> String {
        let kind = AskKind::named(&self.kind).unwrap_or(AskKind::Tool);
        one_line(&asks(kind, &self.code, &self.tool, &cut(&preview::of_text(&self.tool, &self.preview))))
    }
}

/// `abcde denied by owner on "Phone": not on a Friday`.
fn answered(names: &Names, ask: AskId, verdict: &Verdict) -> String {
    let (ruling, code) = (&verdict.ruling, names.code(ask));
    let device = verdict.device.as_ref().map(|device| format!(" on {device:?}")).unwrap_or_default();
    let by = format!("{}{device}", verdict.by);
    if let Some(answers) = answers(ruling) {
        return format!("{code} answered by {by}: {}", cut(&answers));
    }
    let said = match ruling.behavior {
        Behavior::Allow => "allowed",
        Behavior::Deny => "denied",
    };
    let reach = match ruling.scope {
        Scope::Once => "",
        Scope::Session => " for the session",
        Scope::Always => " always",
    };
    let granted = names.granted(ask, ruling.scope).map(|words| format!(" ({})", cut(words))).unwrap_or_default();
    let input = if ruling.input.is_some() { " with another input" } else { "" };
    let mode = ruling.mode.map(|mode| format!(", to go on in mode {mode},")).unwrap_or_default();
    let interrupt = if ruling.interrupt { ", which ends the turn" } else { "" };
    let why = ruling.why.as_ref().map(|why| format!(": {}", cut(why))).unwrap_or_default();
    format!("{code} {said}{reach}{granted}{input}{mode} by {by}{interrupt}{why}")
}

/// What was chosen or written in answer to the agent's questions.
fn answers(ruling: &Ruling) -> Option<String> {
    let Text::Here(input) = &ruling.input.as_ref()?.text else { return None };
    let input: Value = serde_json::from_str(input).ok()?;
    let answers = input.get("answers")?.as_object().filter(|answers| !answers.is_empty())?;
    let text = |answer: &Value| answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    if answers.len() == 1 {
        return answers.values().next().map(text);
    }
    // In the order in which they were asked, which an object does not keep.
    let asked = input.get("questions").and_then(Value::as_array).into_iter().flatten();
    let asked: Vec<&str> = asked.filter_map(|question| question["question"].as_str()).collect();
    let place = |question: &str| asked.iter().position(|each| *each == question).unwrap_or(asked.len());
    let mut answers: Vec<_> = answers.iter().collect();
    answers.sort_by_key(|(question, _)| place(question));
    let words = answers.into_iter().map(|(question, answer)| format!("{question} {}", text(answer)));
    Some(words.collect::<Vec<_>>().join("; "))
}

fn outcome_of(code: &str, outcome: CallOutcome, differs: bool) -> (Weight, String) {
    let ran = match outcome {
        CallOutcome::Ran => "ran",
        CallOutcome::Failed => "ran and failed",
        CallOutcome::Unknown => "was begun, and nobody knows how far it ran",
        CallOutcome::Denied => "did not run",
    };
    match differs {
        true => (Weight::Attention, format!("{code} {ran}. WARNING: what ran is not what was shown")),
        false => (Weight::Detail, format!("{code} {ran}")),
    }
}

fn called(call: &ToolCall) -> (Weight, String) {
    let (weight, ran) = match call.outcome {
        CallOutcome::Ran => (Weight::Plain, "ran"),
        CallOutcome::Failed => (Weight::Plain, "ran, and failed:"),
        CallOutcome::Unknown => (Weight::Attention, "begun, and nobody knows how far it ran:"),
        CallOutcome::Denied => (Weight::Attention, "was kept from"),
    };
    let what = match &call.preview {
        Text::Here(text) if !text.is_empty() => format!(": {}", cut(text)),
        _ => String::new(),
    };
    let said = format!("{ran} {}{what} (decided by {})", call.tool, decider(&call.decided_by));
    match call.unasked {
        true => {
            (Weight::Attention, format!("ALARM: {said}. A person had to be asked, and nothing shows that anybody was"))
        }
        false => (weight, said),
    }
}

/// Who decided, where the client names a kind of answer and not a person.
fn decider(decided_by: &str) -> &str {
    match decided_by {
        "user_temporary" | "user_permanent" | "user_reject" | "user-rejected" => "person",
        // Its mode, its settings, its own check of a part of a line.
        "permission-rule" => "client",
        other if other.starts_with("config/") => "client",
        other => other,
    }
}

fn ordered(order: &Order, by: &str) -> String {
    match order {
        Order::Prompt { text, .. } => format!("prompt by {by}: {}", shown(text)),
        Order::Interrupt => format!("{by} interrupts the turn"),
        Order::Mode(mode) => format!("{by} sets the mode to {mode}"),
        Order::Model(Some(model)) => format!("{by} sets the model to {model}"),
        Order::Model(None) => format!("{by} lets the agent choose the model"),
        Order::Stop { .. } => format!("{by} told it to stop: no tool is to run until it is resumed"),
        Order::Resume => format!("{by} resumed it"),
        Order::End => format!("{by} ends the session"),
    }
}

fn shown(text: &Text) -> String {
    match text {
        Text::Here(text) => cut(text),
        Text::Away => String::new(),
        Text::Erased => "[erased]".to_owned(),
    }
}

fn cut(text: &str) -> String {
    masked_start(text, LONGEST)
}

#[cfg(test)]
mod tests;
