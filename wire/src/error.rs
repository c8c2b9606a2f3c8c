//! Every error a caller can meet, numbered, with what to do about it.

use portcullis_core::{
    Ask, AskLife, InsideAgent, Label, Moment, NoRoute, Refusal, Right, SessionId, shell_word, visible,
};
use serde::{Deserialize, Serialize};

use crate::text::not_a_verdict;

/// An error as it is shown to a program or a person. The number's first three digits are the HTTP status.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
pub struct Fault {
    pub error: u32,
    pub message: String,
    pub hint: String,
    /// What the caller may have meant, where that is not clear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// Seconds after which trying again makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

/// One of several things that a caller may have meant.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
pub struct Candidate {
    pub id: String,
    /// The label of a session, the code of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How many candidates a hint spells out. The fault has them all.
const SPELLED_OUT: usize = 5;

impl Fault {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let (error, hint) = kind.entry();
        Self { error, message: message.into(), hint: hint.to_owned(), candidates: vec![], retry_after: None }
    }

    /// The caller has to choose one of these. The hint names them as a request does.
    pub fn among(mut self, candidates: Vec<Candidate>) -> Self {
        self.candidates = candidates;
        if let Some(which) = self.choose(|label| format!("?label={}", encoded(label))) {
            self.hint = which;
        }
        self
    }

    /// What was asked for is not known; these are. The hint names them first.
    pub fn knowing(mut self, candidates: Vec<Candidate>) -> Self {
        self.candidates = candidates;
        self.hint = self.with_known(self.hint.clone());
        self
    }

    /// `there are: api, web; …`, if something is not known and others are.
    fn with_known(&self, hint: String) -> String {
        let names = self.candidates.iter().filter_map(|candidate| candidate.name.as_deref());
        let (named, more) = (names.clone().take(SPELLED_OUT).collect::<Vec<_>>(), names.skip(SPELLED_OUT).count());
        match (self.status(), more) {
            (404, _) if named.is_empty() => hint,
            (404, 0) => format!("there are: {}; {hint}", visible(&named.join(", "))),
            (404, more) => format!("there are: {} and {more} more; {hint}", visible(&named.join(", "))),
            _ => hint,
        }
    }

    /// What to do, for someone at the command line: flags and commands, where a program has parameters and routes.
    pub fn command_line_hint(&self) -> String {
        let kind = Kind::ALL.iter().find(|kind| kind.entry().0 == self.error);
        let by_flag = self.choose(|label| format!("--label {}", shell_word(label)));
        let by_command = || Some(self.with_known(kind?.command_line()?.to_owned()));
        by_flag.or_else(by_command).unwrap_or_else(|| self.hint.clone())
    }

    /// `name one: ?label=api or ?label=web`, if the caller has to name a session.
    fn choose(&self, form: impl Fn(&str) -> String) -> Option<String> {
        let names = self.candidates.iter().filter_map(|candidate| candidate.name.as_deref());
        let more = names.clone().nth(SPELLED_OUT).map(|_| "…".to_owned());
        let names: Vec<String> = names.take(SPELLED_OUT).map(form).chain(more).collect();
        (self.error == Kind::WhichSession.entry().0 && !names.is_empty())
            .then(|| format!("name one: {}", names.join(" or ")))
    }

    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn status(&self) -> u16 {
        u16::try_from(self.error / 100).unwrap_or(500)
    }

    /// Two lines for a terminal: what, and what to do.
    pub fn in_words(&self) -> String {
        if self.hint.is_empty() { self.message.clone() } else { format!("{}\nhint: {}", self.message, self.hint) }
    }
}

macro_rules! kinds {
    ($($kind:ident $number:literal $hint:literal $(/ $cli:literal)?)*) => {
        /// The table of errors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($kind),* }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The number, and what to do about it.
            pub fn entry(self) -> (u32, &'static str) {
                match self { $(Self::$kind => ($number, $hint)),* }
            }

            /// What to do at the command line, where that is something else.
            pub fn command_line(self) -> Option<&'static str> {
                match self { $(Self::$kind => None::<&'static str>$(.or(Some($cli)))?),* }
            }

            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),* }
            }
        }
    };
}

kinds! {
    BadRequest 40001 "`GET /api/openapi.json` describes every request"
        / "the command with `--help` says what it takes"
    NotUtf8 40002 "send the text as UTF-8"
    BadName 40003 "a name has 1 to 64 letters, digits, dots, dashes or underscores, and does not look like `owner` or another name of ours"
    BadAttribute 40004 "attributes are the names of the query but session, label, chat and reply_to, or `attributes` in the API"
    Unauthorized 40101 "send `Authorization: Bearer TOKEN`; `portcullis status` says where the owner's token is kept"
    Forbidden 40301 "send `Authorization: Bearer TOKEN`; `portcullis status` says where the owner's token is kept"
    NeedsRight 40302 "ask the owner of the gate for the right"
    ForeignOrigin 40303 "web pages of other sites may not talk to the gate"
    ForeignChat 40304 "name another chat, or leave ?chat= off to open a new one"
        / "name another chat with --chat, or leave --chat off to open a new one"
    ForeignHost 40305 "use the address that `portcullis status` shows"
    FromInside 40306 "ask a person to do it: at the terminal, in a browser or in a chat"
    BypassNotAllowed 40307 "leave that mode, or `autoApprove`, off, or add `allow_bypass = true` to your own configuration"
    FolderNotAllowed 40308 "name a folder below one of `folders` in `[start]` of the configuration, or add one there"
    UnknownOrigin 40309 "do it in a terminal that you opened yourself, over HTTP with a token of a person (`portcullis token add`), or on a device"
    BadLink 40310 "ask for a new one with `portcullis page` or `portcullis device link`"
    NotADefaultMode 40311 "name that mode for each session that is to have it, or write it into your own configuration, which also needs `allow_bypass = true`"
    NoSuchRoute 40401 "`GET /api/openapi.json` lists the routes"
        / "the gate may be of another version: `portcullis status` shows it"
    NoSuchSession 40402 "`GET /api/v1/sessions` lists the sessions; leave ?session= off to reach the only one"
        / "`portcullis session list` lists the sessions, with `--all` also those that ended"
    NoSuchAsk 40403 "`GET /api/v1/asks` lists the prompts"
        / "`portcullis ask list` lists the prompts that are open, with `--all` those of the last day"
    NoSuchEvent 40404 "`GET /api/v1/events` lists the events"
        / "`portcullis events list` lists the events"
    NoSuchPerson 40405 "`GET /api/v1/people` lists the people; `POST /api/v1/tokens` lets someone in"
        / "`portcullis people list` lists the people; `portcullis token add` lets someone in"
    NoSuchToken 40406 "`GET /api/v1/tokens` lists the tokens"
        / "`portcullis token list` lists the tokens; one is named by its ID"
    NoSuchPairing 40407 "check the code; it counts for 10 minutes after it was shown"
    NoSuchIdentity 40408 "`GET /api/v1/people` shows who is who on which platform"
        / "`portcullis people list` shows who is who on which platform"
    NoSuchReply 40409 "pass the message_id that `reply` answered with; the latest 256 messages can be edited"
    NoSuchMessage 40410 "name the id of a reply of that conversation, as `GET /api/v1/replies` lists them, or leave reply_to off"
        / "name the id of a reply of that conversation, as `portcullis events show` has it"
    NoSuchDevice 40411 "`GET /api/v1/devices` lists the devices"
        / "`portcullis device list` lists the devices"
    NoTranscript 40412 "its client keeps no transcript, or has not begun it; the stream has what the session's process has"
    NoSuchFile 40413 "`GET /api/v1/events/ID` and `GET /api/v1/replies` list the files; one that was uploaded waits an hour for its event"
        / "`portcullis events show ID` shows the event; one that was uploaded waits an hour for it"
    NoPush 40414 "set public_url in the configuration to the https address of the page, and restart the gate"
    NoSuchConversation 40415 "`GET /api/v1/conversations` lists those that can be continued; name one by its id"
        / "`claude --resume` lists the conversations; name one by its id"
    NoSuchMcpServer 40416 "check the name in the address; `/mcp` without a name offers all servers, and those of one folder are offered by `portcullis mcp serve` there"
    NoSuchEditor 40417 "name the process that the editor has started as `portcullis acp`, by its number; the editor shows it with the prompt that it cannot answer"
    BadMethod 40501 "`/api/openapi.json` says what each address takes; POST to `/` sends an event"
    Slow 40801 "send the body without pauses; limits.idle_seconds says how long one may be"
    WhichSession 40901 "name one with ?label= or ?session="
        / "name one with --label or --session"
    Settled 40902 "it takes no further answer; `GET /api/v1/asks/CODE` says what became of it"
        / "it takes no further answer; `portcullis ask show CODE` says what became of it"
    ChatNotDelivered 40903 "reply with the chat_id of an event that this session received"
    Undeliverable 40904 "answer at the terminal, or wait until the session is back"
    EventSettled 40905 "`GET /api/v1/events/ID` says what became of it"
        / "`portcullis events show ID` says what became of it"
    OtherRole 40906 "change it with `PUT /api/v1/people/NAME`, or name the role they have"
        / "change it with `portcullis people role NAME ROLE`, or name the role they have"
    NotDriven 40907 "only sessions started with `portcullis run` or over the API take orders; others can be stopped"
    SessionAway 40908 "wait until the session is back; `GET /api/v1/sessions` shows it"
        / "wait until the session is back; `portcullis session list` shows it"
    Ambiguous 40909 "write more of it, or one of the ids in `candidates`"
        / "write more of it, or one of these in full"
    NotOfChat 40910 "pass the event_id of the <channel> tag whose chat_id you answer, or leave reply_to off"
    TooLarge 41301 "send less, or raise limits.body in the configuration"
    UnsupportedBody 41501 "send the text itself, uncompressed, as text/plain"
    KeyReused 42201 "use a new Idempotency-Key for each new event and verdict"
    CannotCarry 42202 "`GET /api/v1/asks/CODE` says what this prompt takes"
        / "`portcullis ask show CODE` says what this prompt takes"
    NeedsAnswers 42203 "answer every question: `\"answers\": {\"QUESTION\": \"LABEL\"}`, or `[\"LABEL\"]` where there is one"
        / "answer every question: `portcullis ask allow CODE --answer LABEL`, or `--answer 'QUESTION=LABEL'` for each"
    NotADevice 42204 "link a browser with `portcullis page` or `portcullis device link`, and do it there"
    TooManyMisses 42901 "look at the code again; the prompt can also be answered at the terminal"
    TooFast 42902 "send more slowly, or use the owner's token"
    TooManyListeners 42903 "close a listener, or raise limits.sse_listeners in the configuration"
    TooManyPairings 42904 "approve or wait out those who are waiting"
    TooManySessions 42905 "end some of the sessions that were started over the API"
    TooManyDevices 42906 "revoke some of those that are linked"
    TooManyProjects 42907 "take the default mode of some folders back: `GET /api/v1/modes` lists them"
        / "take the default mode of some folders back: `portcullis session default-mode --folder FOLDER --clear`"
    TooManyCalls 42908 "wait until earlier hook calls of this token are answered"
    TooManyUnread 42909 "read the answers to earlier requests, or close their connections"
    TooManyBodies 42910 "send the requests that are under way to their end, or close their connections"
    TooManyMcpSessions 42911 "end some of the earlier ones with `DELETE /mcp` and their `Mcp-Session-Id`; one that nobody uses ends after ten minutes"
    Internal 50001 "look at the gate's log; `portcullis status` says where it is"
    StartFailed 50201 "look at what it said; `portcullis run` in that folder shows the same"
    SessionFull 50301 "the session is not taking its events; they are kept, try again later"
    Busy 50302 "the gate has more to do than it can hold; try again later"
    JournalFailed 50303 "the journal could not be written: free some disk space, then try again"
    TooManyAsks 50304 "answer some of the prompts that are open"
    Stopping 50305 "the gate is stopping; try again when it is back"
    TooManyMcpClients 50306 "try again later; a client that leaves ends its session with `DELETE /mcp`, and one that nobody uses ends after ten minutes"
    VersionsDoNotMeet 50501 "run `portcullis stop`; the next command starts a gate of its own version"
    FilesFull 50701 "a file has at most 20 MiB, those of one sender or session together 256 MiB, and all 1 GiB; 100 of a sender may wait for their event, for an hour: send the events, erase some with `portcullis log redact`, or wait until they are old"
}

impl Fault {
    /// What the owner is told who has set `approvals = "device"` and answers on this machine all the same.
    pub fn owner_does_not_answer() -> Self {
        let what = "prompts are not answered by the owner of this machine: approvals = \"device\" is set";
        let hint = "a person with a reviewer's token answers (`portcullis token add NAME --role reviewer`), and so does \
                    Claude Code's own dialog where the session has one; terminals, `portcullis ask` and the owner's token do \
                    not. To answer here again, set approvals = \"anywhere\" and restart the gate";
        Self { hint: hint.into(), ..Self::new(Kind::NeedsRight, what) }
    }

    /// The same at a place where only agents are let in.
    pub fn for_agents(self) -> Self {
        let hint = "send `Authorization: Bearer TOKEN` with a token of the role agent, which `portcullis token add NAME \
                    --role agent` makes; no other is taken here, not even the owner's";
        Self { hint: hint.to_owned(), ..self }
    }

    /// A refusal in words, as of `now`.
    pub fn of(refusal: &Refusal, now: Moment) -> Self {
        match refusal {
            Refusal::NeedsRight(Right::Talk) => Self::new(Kind::Forbidden, "forbidden"),
            Refusal::NeedsRight(right) => {
                Self::new(Kind::NeedsRight, format!("forbidden: this needs the right to {}", right.name()))
            }
            Refusal::NoRoute(no_route) => no_route.into(),
            Refusal::UnclearVerdict { why, no_route } => {
                let fault = Self::from(no_route);
                let hint =
                    format!("to answer a prompt, write yes or no and its five letters; for a message, {}", fault.hint);
                let message =
                    format!("{}; as a message it is not clear for whom: {}", not_a_verdict(*why), fault.message);
                Self { message, hint, ..fault }
            }
            Refusal::ForeignChat(chat) => Self::new(Kind::ForeignChat, format!("chat {chat} belongs to someone else")),
            Refusal::KeyReused { event } => Self::new(
                Kind::KeyReused,
                format!("this Idempotency-Key was used for event {event}, which says something else"),
            ),
            Refusal::VerdictKeyReused { code } => Self::new(
                Kind::KeyReused,
                format!("this Idempotency-Key was used for another verdict on prompt {code}"),
            ),
            Refusal::FromInside(inside) => match &inside.agent {
                InsideAgent::Session(label) => {
                    Self::new(Kind::FromInside, format!("refused: this comes from inside session {label}"))
                }
                InsideAgent::Other => Self::new(Kind::FromInside, "refused: this comes from inside an agent"),
                InsideAgent::Unknown(why) => Self::new(
                    Kind::UnknownOrigin,
                    format!("refused: this may come from inside a session that runs commands: {why}"),
                ),
            },
            Refusal::NoSuchAsk => {
                Self::new(Kind::NoSuchAsk, "no such prompt is open or was settled in the last 24 hours")
            }
            Refusal::Settled { code, life: life @ AskLife::Answered { verdict, sent: true, .. } }
                if life.is_unconfirmed() =>
            {
                Self {
                    hint: "look at the session's terminal: a client takes one answer, and this one was sent to it"
                        .to_owned(),
                    ..Self::new(
                        Kind::Settled,
                        format!(
                            "prompt {code} is {}, and that cannot be taken back, although nothing shows that the session took it",
                            verdict.in_words()
                        ),
                    )
                }
            }
            Refusal::Settled { code, life } => {
                let how = match life {
                    AskLife::Answered { verdict, .. } => verdict.in_words(),
                    AskLife::Withdrawn { why, .. } => format!("withdrawn: {why}"),
                    AskLife::Expired { .. } => "nobody answered in time".into(),
                    AskLife::Open { .. } => "open".into(),
                };
                Self::new(Kind::Settled, format!("prompt {code} is settled already: {how}"))
            }
            Refusal::TooManyMisses { retry_at } => {
                let seconds = retry_at.since(now).div_ceil(1000);
                let minutes = match seconds.div_ceil(60) {
                    1 => "1 minute".to_owned(),
                    several => format!("{several} minutes"),
                };
                Self::new(Kind::TooManyMisses, format!("too many wrong codes; codes are heard again in {minutes}"))
                    .retry_after(seconds)
            }
            Refusal::SessionFull { waiting } => {
                Self::new(Kind::SessionFull, format!("{waiting} events are waiting already")).retry_after(5)
            }
            Refusal::TooManyAsks => {
                Self::new(Kind::TooManyAsks, "the session has too many prompts open").retry_after(30)
            }
            Refusal::NoSuchMessage => Self::new(Kind::NoSuchMessage, "the conversation has no such message"),
            Refusal::NotOfChat { event, chat } => {
                Self::new(Kind::NotOfChat, format!("event {event} is not of chat {chat}"))
            }
            Refusal::NoSuchSession => Self::new(Kind::NoSuchSession, "no such session"),
            Refusal::NoSuchEvent => Self::new(Kind::NoSuchEvent, "no such event in this session"),
            Refusal::NoSuchReply => Self::new(Kind::NoSuchReply, "no such message of this session"),
            Refusal::Undeliverable { code } => Self::new(
                Kind::Undeliverable,
                format!("the process behind prompt {code} is gone: a verdict would reach nobody"),
            ),
            Refusal::CannotCarry { what } => Self::new(Kind::CannotCarry, format!("this prompt does not take {what}")),
            Refusal::NeedsAnswers => Self::new(Kind::NeedsAnswers, "a question is allowed with its answers only"),
            Refusal::NotDriven => Self::new(Kind::NotDriven, "the session does not take orders"),
            Refusal::SessionAway => Self::new(Kind::SessionAway, "the session's process is not there at the moment"),
            Refusal::EventSettled { life } => {
                Self::new(Kind::EventSettled, format!("the event is {}: there is nothing to do", life.name()))
            }
            Refusal::BadName => Self::new(Kind::BadName, "that is no name for a person"),
            Refusal::NoSuchPerson => Self::new(Kind::NoSuchPerson, "no such person"),
            Refusal::NoSuchToken => Self::new(Kind::NoSuchToken, "no such token"),
            Refusal::OtherRole { role } => {
                Self::new(Kind::OtherRole, format!("the person has another role: {}", role.name()))
            }
            Refusal::TooManyDevices => Self::new(Kind::TooManyDevices, "100 devices are linked, and no more can be"),
            Refusal::NotADefaultMode => {
                Self::new(Kind::NotADefaultMode, "mode bypassPermissions cannot be a default: nothing would be asked")
            }
            Refusal::TooManyProjects => {
                Self::new(Kind::TooManyProjects, "1000 folders have a default mode, and no more can")
            }
            Refusal::NoSuchPairing => Self::new(Kind::NoSuchPairing, "nobody was shown that code"),
            Refusal::NoSuchIdentity => Self::new(Kind::NoSuchIdentity, "nobody has that identity"),
            Refusal::TooManyPairings => {
                Self::new(Kind::TooManyPairings, "too many strangers are waiting to be let in").retry_after(600)
            }
            Refusal::ChatNotDelivered(chat) => {
                Self::new(Kind::ChatNotDelivered, format!("no event of chat {chat} was delivered to this session"))
            }
        }
    }
}

impl From<&NoRoute> for Fault {
    fn from(no_route: &NoRoute) -> Self {
        match no_route {
            NoRoute::UnknownSession(id) => Self::new(Kind::NoSuchSession, format!("no session {id}")),
            NoRoute::EndedSession(id) => Self::new(Kind::NoSuchSession, format!("session {id} has ended")),
            NoRoute::TakesNone(id) => Self::new(
                Kind::NoSuchSession,
                format!("session {id} is an MCP client of the gateway, and takes no events"),
            ),
            NoRoute::OutOfScope(labels) => {
                let labels: Vec<&str> = labels.iter().map(Label::as_str).collect();
                Self::new(
                    Kind::NeedsRight,
                    format!("this token is only for sessions labelled {}: name one of these", labels.join(" or ")),
                )
            }
            NoRoute::Several(several) => {
                let names: Vec<&str> = several.iter().map(|(_, label)| label.as_str()).collect();
                let candidates = several.iter().map(|(id, label)| Candidate::session(*id, label)).collect();
                Self::new(Kind::WhichSession, format!("several sessions could be meant: {}", names.join(", ")))
                    .among(candidates)
            }
        }
    }
}

impl Candidate {
    pub fn session(id: SessionId, label: &Label) -> Self {
        Self { id: id.to_string(), name: Some(label.to_string()) }
    }

    pub fn ask(ask: &Ask) -> Self {
        Self { id: ask.id.to_string(), name: Some(ask.code.to_string()) }
    }

    /// `api (01m7…)`.
    pub fn in_words(&self) -> String {
        self.name.as_ref().map_or_else(|| self.id.clone(), |name| format!("{name} ({})", self.id))
    }
}

/// Part of a query, with everything spelled out that would end it.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_flags_at_the_command_line_and_parameters_over_http() {
        let label = |text: &str| Label::new(text).unwrap();
        let id = |number| SessionId::new(Moment(1), number);
        let several = NoRoute::Several(vec![(id(1), label("api")), (id(2), label("my app"))]);
        let fault = Fault::from(&several);
        assert_eq!(fault.hint, "name one: ?label=api or ?label=my%20app");
        assert_eq!(fault.command_line_hint(), "name one: --label api or --label 'my app'");
        assert_eq!(fault.candidates[1].name.as_deref(), Some("my app"));
        let many = (1..=6).map(|number| (id(number), label(&format!("s{number}")))).collect();
        let fault = Fault::from(&NoRoute::Several(many));
        assert!(fault.hint.ends_with("?label=s5 or …"), "{}", fault.hint);
        let known = vec![Candidate::session(id(1), &label("api")), Candidate::session(id(2), &label("web"))];
        let fault = Fault::new(Kind::NoSuchSession, "no session ap").knowing(known);
        assert!(fault.hint.starts_with("there are: api, web; `GET /api/v1/sessions`"), "{}", fault.hint);
        let here = fault.command_line_hint();
        assert!(here.starts_with("there are: api, web; `portcullis session list`"), "{here}");
        for kind in Kind::ALL {
            let (http, here) = (kind.entry().1, kind.command_line());
            assert!(!here.unwrap_or_default().contains(['?']), "{http}");
            assert!(here.is_none() || !http.contains("`portcullis"), "{http}");
            assert!(!here.unwrap_or(http).contains("`GET "), "{http}");
        }
    }

    #[test]
    fn every_error_has_its_own_number_and_a_hint() {
        let mut numbers: Vec<u32> = Kind::ALL.iter().map(|kind| kind.entry().0).collect();
        assert!(numbers.is_sorted(), "the table is in order");
        numbers.dedup();
        assert_eq!(numbers.len(), Kind::ALL.len());
        assert!(Kind::ALL.iter().all(|kind| !kind.entry().1.is_empty()));
    }
}
