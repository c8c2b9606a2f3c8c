//! Every route: what it is for, who may use it, what it takes and answers, and how it may fail.

use crate::error::Kind;

pub(super) struct Route {
    pub(super) method: &'static str,
    /// As the router has it: `{name}` stands for one part.
    pub(super) path: &'static str,
    /// The operation's name, for programs that are made from the document.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// None: for whoever can reach the gate.
    pub(super) right: Option<&'static str>,
    /// Refused to what an agent runs.
    pub(super) outside: bool,
    /// Besides those in the path.
    pub(super) params: &'static [Param],
    pub(super) body: Body,
    pub(super) answer: Answer,
    /// Besides those that its right and its body bring along.
    pub(super) errors: &'static [Kind],
}

pub(super) struct Param {
    pub(super) name: &'static str,
    /// query or header
    pub(super) place: &'static str,
    pub(super) kind: &'static str,
    pub(super) words: &'static str,
}

#[derive(Clone, Copy)]
pub(super) enum Body {
    None,
    Text,
    Json(&'static str),
    /// One of these, or none.
    OneOf(&'static [&'static str]),
}

pub(super) enum Answer {
    Text(&'static str),
    Json(&'static str),
    /// Something that was not there before.
    Made(&'static str),
    Either(&'static str, &'static str),
    List(&'static str),
    /// This document itself.
    Document,
    Stream(&'static str),
    Link,
}

/// What most routes leave out.
const PLAIN: Route = Route {
    method: "get",
    path: "/",
    id: "",
    summary: "",
    right: None,
    outside: false,
    params: &[],
    body: Body::None,
    answer: Answer::Document,
    errors: &[],
};

const fn query(name: &'static str, kind: &'static str, words: &'static str) -> Param {
    Param { name, place: "query", kind, words }
}

const fn header(name: &'static str, kind: &'static str, words: &'static str) -> Param {
    Param { name, place: "header", kind, words }
}

const KEY: Param =
    header("Idempotency-Key", "string", "1 to 255 visible letters; the same said again under it counts once");
const SESSION: Param = query("session", "string", "the session with this id");
const LABEL: Param = query("label", "string", "the session with this label");
const CHAT: Param = query("chat", "string", "the conversation");

/// How something said to a session may fail.
const SAYING: &[Kind] = &[
    Kind::ForeignChat,
    Kind::FromInside,
    Kind::NoSuchSession,
    Kind::WhichSession,
    Kind::Settled,
    Kind::Undeliverable,
    Kind::UnsupportedBody,
    Kind::KeyReused,
    Kind::TooManyMisses,
    Kind::TooFast,
    Kind::SessionFull,
    Kind::JournalFailed,
];

/// How starting a session may fail.
const STARTING: &[Kind] =
    &[Kind::BypassNotAllowed, Kind::FolderNotAllowed, Kind::TooManyListeners, Kind::TooManySessions, Kind::StartFailed];

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "post",
        id: "say",
        summary: "Say something to a session: an event, or a verdict in words. Any free path does the same",
        right: Some("talk"),
        params: &[SESSION, LABEL, CHAT, KEY],
        body: Body::Text,
        answer: Answer::Text("`ok`, or `verdict recorded`; in JSON, Accepted or Recorded, where `Accept` asks for it"),
        errors: SAYING,
        ..PLAIN
    },
    Route { id: "welcome", summary: "A few lines of help", answer: Answer::Text("help"), ..PLAIN },
    Route {
        path: "/healthz",
        id: "health",
        summary: "Whether the gate is well",
        answer: Answer::Text("`ok`"),
        ..PLAIN
    },
    Route {
        path: "/events",
        id: "listen",
        summary: "Replies and prompts as they come, for people",
        right: Some("talk"),
        params: &[header("Last-Event-ID", "integer", "the replies since then come first")],
        answer: Answer::Stream("text, one message for each reply and prompt"),
        errors: &[Kind::TooManyListeners],
        ..PLAIN
    },
    Route {
        path: "/link",
        id: "link",
        summary: "For processes of ours, over the Unix socket alone",
        right: Some("talk"),
        answer: Answer::Link,
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        path: "/metrics",
        id: "metrics",
        summary: "Counts, in the text format of Prometheus",
        right: Some("admin"),
        answer: Answer::Text("counts"),
        ..PLAIN
    },
    Route { path: "/api/openapi.json", id: "describe", summary: "This document", ..PLAIN },
    Route {
        path: "/api/v1/status",
        id: "status",
        summary: "What the gate is and holds",
        right: Some("admin"),
        answer: Answer::Json("Status"),
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/stop",
        id: "stop",
        summary: "End the gate",
        right: Some("admin"),
        answer: Answer::Text("`stopping`"),
        ..PLAIN
    },
    Route {
        path: "/api/v1/sessions",
        id: "list_sessions",
        summary: "The sessions",
        right: Some("talk"),
        params: &[query("all", "boolean", "also the latest that have ended")],
        answer: Answer::List("SessionView"),
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/sessions",
        id: "start_session",
        summary: "Start Claude Code in a folder that is configured for it; it stays until it is ended",
        right: Some("start"),
        outside: true,
        body: Body::Json("NewSession"),
        answer: Answer::Made("SessionView"),
        errors: STARTING,
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/chat",
        id: "chat",
        summary: "Start Claude Code for one prompt, and hear all it says and does",
        right: Some("start"),
        outside: true,
        body: Body::Json("Chat"),
        answer: Answer::Stream("every message of the session as JSON, until it is over"),
        errors: STARTING,
        ..PLAIN
    },
    Route {
        path: "/api/pending",
        id: "pending",
        summary: "The prompts that are open",
        right: Some("review"),
        answer: Answer::Json("Pending"),
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/confirm",
        id: "confirm",
        summary: "Yes or no to a prompt, by its id, its code, or the client's id of the call",
        right: Some("review"),
        outside: true,
        body: Body::Json("Confirm"),
        answer: Answer::Json("Confirmed"),
        ..PLAIN
    },
    Route {
        path: "/api/v1/sessions/{id}",
        id: "show_session",
        summary: "One session",
        right: Some("talk"),
        answer: Answer::Json("SessionView"),
        errors: &[Kind::NoSuchSession],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/sessions/{id}/{order}",
        id: "order_session",
        summary: "Have a session do something: stop, resume and interrupt need the right review, prompt, mode, model and end the right start",
        right: Some("review"),
        outside: true,
        body: Body::OneOf(&["NewPrompt", "NewMode", "NewModel"]),
        answer: Answer::Json("SessionView"),
        errors: &[Kind::NoSuchSession, Kind::NoSuchRoute, Kind::NotDriven, Kind::SessionAway],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/events",
        id: "post_event",
        summary: "Say something to a session, as JSON",
        right: Some("talk"),
        params: &[KEY],
        body: Body::Json("NewEvent"),
        answer: Answer::Either("Accepted", "Recorded"),
        errors: SAYING,
        ..PLAIN
    },
    Route {
        path: "/api/v1/events",
        id: "list_events",
        summary: "The latest events, newest first",
        right: Some("talk"),
        params: &[
            query("limit", "integer", "100, and at most 1000"),
            query("state", "string", "waiting, delivered, seen, expired, dropped or dead"),
            SESSION,
        ],
        answer: Answer::List("EventView"),
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        path: "/api/v1/events/{id}",
        id: "show_event",
        summary: "One event with its text",
        right: Some("talk"),
        answer: Answer::Json("EventView"),
        errors: &[Kind::NoSuchEvent],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/events/{id}/retry",
        id: "retry_event",
        summary: "Put an event back on its queue",
        right: Some("talk"),
        answer: Answer::Text("`done`"),
        errors: &[Kind::NoSuchEvent, Kind::EventSettled],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/events/{id}/drop",
        id: "drop_event",
        summary: "Take an event off its queue",
        right: Some("talk"),
        answer: Answer::Text("`done`"),
        errors: &[Kind::NoSuchEvent, Kind::EventSettled],
        ..PLAIN
    },
    Route {
        path: "/api/v1/asks",
        id: "list_asks",
        summary: "Open and recently settled prompts, newest last",
        right: Some("review"),
        params: &[query("state", "string", "open, answered, withdrawn or expired")],
        answer: Answer::List("AskView"),
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        path: "/api/v1/asks/{ask}",
        id: "show_ask",
        summary: "One prompt, by its id or its code",
        right: Some("review"),
        answer: Answer::Json("AskView"),
        errors: &[Kind::NoSuchAsk],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/asks/{ask}/verdict",
        id: "answer_ask",
        summary: "Answer a prompt",
        right: Some("review"),
        outside: true,
        params: &[KEY],
        body: Body::Json("NewVerdict"),
        answer: Answer::Json("Recorded"),
        errors: &[
            Kind::NoSuchAsk,
            Kind::Settled,
            Kind::Undeliverable,
            Kind::CannotCarry,
            Kind::KeyReused,
            Kind::NeedsAnswers,
            Kind::TooManyMisses,
            Kind::JournalFailed,
        ],
    },
    Route {
        path: "/api/v1/verdicts",
        id: "list_verdicts",
        summary: "Who said what, newest last",
        right: Some("review"),
        answer: Answer::List("VerdictView"),
        ..PLAIN
    },
    Route {
        path: "/api/v1/replies",
        id: "list_replies",
        summary: "What agents said back, newest last: the latest 256",
        right: Some("talk"),
        params: &[query("since", "string", "a moment, or the id of the reply after which to begin"), CHAT],
        answer: Answer::List("ReplyView"),
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        path: "/api/v1/watch",
        id: "watch",
        summary: "The state, then every change, for programs: each message holds a Change",
        right: Some("talk"),
        answer: Answer::Stream("one Change as JSON a message"),
        errors: &[Kind::TooManyListeners],
        ..PLAIN
    },
    Route {
        path: "/api/v1/tokens",
        id: "list_tokens",
        summary: "The tokens, without their secrets",
        right: Some("admin"),
        answer: Answer::List("TokenView"),
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/tokens",
        id: "add_token",
        summary: "Make a token; it is told this once",
        right: Some("admin"),
        outside: true,
        body: Body::Json("NewToken"),
        answer: Answer::Json("MadeToken"),
        errors: &[Kind::BadName, Kind::OtherRole],
        ..PLAIN
    },
    Route {
        method: "delete",
        path: "/api/v1/tokens/{id}",
        id: "revoke_token",
        summary: "Take a token back",
        right: Some("admin"),
        outside: true,
        answer: Answer::Text("`revoked`"),
        errors: &[Kind::NoSuchToken],
        ..PLAIN
    },
    Route {
        path: "/api/v1/people",
        id: "list_people",
        summary: "Who is let in, and who waits",
        right: Some("admin"),
        answer: Answer::Json("PeopleView"),
        ..PLAIN
    },
    Route {
        method: "put",
        path: "/api/v1/people/{name}",
        id: "set_role",
        summary: "Give a person another role",
        right: Some("admin"),
        outside: true,
        body: Body::Json("NewRole"),
        answer: Answer::Text("`done`"),
        errors: &[Kind::BadName, Kind::NoSuchPerson],
        ..PLAIN
    },
    Route {
        method: "delete",
        path: "/api/v1/people/{name}",
        id: "remove_person",
        summary: "Show a person out, with all their tokens",
        right: Some("admin"),
        outside: true,
        answer: Answer::Text("`removed`"),
        errors: &[Kind::NoSuchPerson],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/pairings",
        id: "approve_pairing",
        summary: "Let in the stranger who was shown this code",
        right: Some("admin"),
        outside: true,
        body: Body::Json("Approval"),
        answer: Answer::Text("`paired`"),
        errors: &[Kind::BadName, Kind::NoSuchPairing, Kind::TooManyMisses, Kind::OtherRole],
        ..PLAIN
    },
    Route {
        path: "/api/v1/log",
        id: "read_log",
        summary: "The journal, oldest first",
        right: Some("admin"),
        params: &[query("after", "integer", "a sequence"), query("limit", "integer", "500, and at most 1000")],
        answer: Answer::List("LogLine"),
        errors: &[Kind::BadRequest],
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/log/redact",
        id: "redact",
        summary: "Erase what people wrote about a subject",
        right: Some("admin"),
        outside: true,
        body: Body::Json("NewRedaction"),
        answer: Answer::Json("Redacted"),
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/api/v1/log/barred",
        id: "bar",
        summary: "Put on the record what the command line kept an agent from",
        right: Some("admin"),
        body: Body::Json("Tried"),
        answer: Answer::Text("`noted`"),
        ..PLAIN
    },
    Route {
        method: "post",
        path: "/claude/hooks",
        id: "hook",
        summary: "Claude Code's http hooks, where hooks.http is on: the call as it posts it, the answer as it reads it",
        right: Some("agent"),
        body: Body::Text,
        answer: Answer::Text("what the hook is answered, as JSON"),
        errors: &[Kind::BadRequest, Kind::NoSuchRoute, Kind::Busy],
        ..PLAIN
    },
];
