//! The table of routes: every route of the gate is one row here and nowhere else.

use portcullis_core::Right;
use utoipa::ToSchema;

use super::FromInside::{Refused, VerdictsRefused};
use super::Method::{Delete, Get, Post, Put};
use super::RequestBody::Text as TextBody;
use super::ResponseBody::{Either, Stream, Text, Upgrade};
use super::{Param, RequestBody, ResponseBody, Route, RouteAccess, TypeSchema};
use crate::api::{
    Accepted, Approval, AskView, ChainView, Change, DefaultModeView, DeviceView, EventView, LinkView, LogLine,
    MadeDevice, MadeToken, McpServerView, McpSignInView, MeView, NamedMcpServer, NewCheck, NewDefaultMode, NewDevice,
    NewEvent, NewLink, NewMode, NewModel, NewPresence, NewPrompt, NewRedaction, NewRole, NewSubscription, NewToken,
    NewTrustedEditor, NewVerdict, OrderView, PeopleView, PushView, Recorded, Redacted, ReplyView, RuleView, RulingView,
    SessionView, SetModeView, Status, TokenView, Tried, TrustedEditorView, UploadedFile, VerdictView,
};
use crate::error::Kind;
use crate::start::{Confirm, Confirmed, NewChat, NewSession, PendingAsks};
use crate::stream::{ConversationView, HistoryPage, StreamMessage};

/// Makes the rows, and an enum that has one variant for each. A handler is found by that variant, so that a row without
/// a handler does not compile.
macro_rules! routes {
    ($($operation:ident $method:ident $path:literal $access:ident $summary:literal
       { $($field:ident: $value:expr),* $(,)? })*) => {
        /// What a caller wants of the gate: a row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation { $($operation),* }

        pub static ROUTES: &[Route] = &[$(Route {
            operation: Operation::$operation,
            method: $method,
            path: $path,
            access: $access,
            summary: $summary,
            $($field: $value,)*
            ..Route::PLAIN
        }),*];
    };
}

const ANYONE: RouteAccess = RouteAccess::Anyone;
const SOCKET: RouteAccess = RouteAccess::Socket;
const TALK: RouteAccess = RouteAccess::AnyOf(&[Right::Talk]);
const REVIEW: RouteAccess = RouteAccess::AnyOf(&[Right::Review]);
const START: RouteAccess = RouteAccess::AnyOf(&[Right::Start]);
const ADMIN: RouteAccess = RouteAccess::AnyOf(&[Right::Admin]);
const START_OR_ADMIN: RouteAccess = RouteAccess::AnyOf(&[Right::Start, Right::Admin]);
const AGENT: RouteAccess = RouteAccess::AnyOf(&[Right::Agent]);
/// Looking at prompts and holding a session up takes nothing away from anybody: the owner may, also where others answer the
/// prompts.
const REVIEW_OR_ADMIN: RouteAccess = RouteAccess::AnyOf(&[Right::Review, Right::Admin]);

const ANSWERING: super::FromInside = Refused("answering a prompt");
const STARTING: super::FromInside = Refused("starting a session");
const ORDERING: super::FromInside = Refused("telling a session what to do");

const fn takes<T: ToSchema>() -> RequestBody {
    RequestBody::Json(TypeSchema::of::<T>())
}

const fn gives<T: ToSchema>() -> ResponseBody {
    ResponseBody::Json(TypeSchema::of::<T>())
}

const fn lists<T: ToSchema>() -> ResponseBody {
    ResponseBody::List(TypeSchema::of::<T>())
}

const fn query(name: &'static str, kind: &'static str, words: &'static str) -> Param {
    Param { name, place: "query", kind, words }
}

const fn header(name: &'static str, kind: &'static str, words: &'static str) -> Param {
    Param { name, place: "header", kind, words }
}

const KEY: Param =
    header("Idempotency-Key", "string", "1 to 255 visible characters; the same said again under it counts once");
const JSON: Param = header("Accept", "string", "`application/json` brings answers and errors in JSON");
const WAIT: Param = query("wait", "integer", "seconds to wait for the session to confirm it; 0, and at most 30");
const SESSION: Param = query("session", "string", "the session with this id");
const LABEL: Param = query("label", "string", "the session with this label; 1 to 64 bytes of visible UTF-8");
const CHAT: Param = query("chat", "string", "the conversation; 1 to 128 bytes of visible UTF-8");
const NEW_CHAT: Param = query(
    "chat",
    "string",
    "the conversation; 1 to 128 bytes of visible UTF-8. Without it the event opens a new one, named by a number",
);

const REPLY_TO: Param =
    query("reply_to", "string", "the id of the reply that it answers; its conversation is the event's");
const ATTRIBUTE: Param = query(
    "NAME",
    "string",
    "any other name is an attribute of the event: at most 20, named by letters, digits and underscores, 256 bytes each",
);

/// How something said to a session may fail.
const SAID: &[Kind] = &[
    Kind::BadAttribute,
    Kind::ForeignChat,
    Kind::NoSuchSession,
    Kind::NoSuchMessage,
    Kind::NoSuchFile,
    Kind::WhichSession,
    Kind::Settled,
    Kind::Undeliverable,
    Kind::UnsupportedBody,
    Kind::KeyReused,
    Kind::TooManyMisses,
    Kind::SessionFull,
    Kind::JournalFailed,
];

const SESSION_OF_MCP: Param =
    header("Mcp-Session-Id", "string", "the session that `initialize` began; clients of 2026-07-28 have none");
const MCP: &[Param] = &[
    query("search", "boolean", "three tools in place of all, by which the others are found, described and called"),
    SESSION_OF_MCP,
];
const MCP_ERRORS: &[Kind] = &[
    Kind::StartFailed,
    Kind::TooManyListeners,
    Kind::TooManyBodies,
    Kind::TooManyMcpSessions,
    Kind::TooManyMcpClients,
];
const MCP_ONE_ERRORS: &[Kind] = &[
    Kind::NoSuchMcpServer,
    Kind::StartFailed,
    Kind::TooManyListeners,
    Kind::TooManyBodies,
    Kind::TooManyMcpSessions,
    Kind::TooManyMcpClients,
];

/// How starting a session may fail.
const STARTED: &[Kind] = &[
    Kind::BypassNotAllowed,
    Kind::FolderNotAllowed,
    Kind::NoSuchConversation,
    Kind::TooManyListeners,
    Kind::TooManySessions,
    Kind::StartFailed,
];

/// How an order to a session may fail. One that is kept while the session is away fails by the first alone.
const ORDERED: &[Kind] = &[Kind::NoSuchSession, Kind::NotDriven, Kind::SessionAway];
const KEPT: &[Kind] = &[Kind::NoSuchSession];

const VERDICT: &[Kind] = &[
    Kind::NoSuchAsk,
    Kind::Settled,
    Kind::Undeliverable,
    Kind::CannotCarry,
    Kind::KeyReused,
    Kind::NeedsAnswers,
    Kind::TooManyMisses,
    Kind::JournalFailed,
];

routes! {
    Say Post "/" TALK "Say something to a session: an event, or a verdict in words. Any free path does the same" {
        from_inside: VerdictsRefused, rate_limited: true, errors_in_words: true,
        params: &[SESSION, LABEL, NEW_CHAT, REPLY_TO, ATTRIBUTE, KEY, JSON], body: TextBody,
        response: Text("`ok`, or `verdict recorded`; in JSON, Accepted or Recorded, where `Accept` asks for it"),
        errors: SAID,
    }
    Welcome Get "/" ANYONE "The page for browsers, a few lines of help for others" {
        outside: true, response: Text("help"),
    }
    Asset Get "/assets/{version}/{file}" ANYONE "A file of the page" { outside: true, response: Text("the file") }
    Health Get "/healthz" ANYONE "Whether the gate is well" { response: Text("`ok`") }
    Listen Get "/events" TALK "Replies and prompts as they come, for people" {
        open_to_dev_sender: true,
        params: &[header("Last-Event-ID", "integer", "the replies since then come first")],
        response: Stream("text, one message for each reply and prompt", None),
        errors: &[Kind::TooManyListeners],
    }

    PostEvent Post "/api/v1/events" TALK "Say something to a session, as JSON" {
        from_inside: VerdictsRefused, outside: true, rate_limited: true,
        params: &[KEY], body: takes::<NewEvent>(),
        response: Either(TypeSchema::of::<Accepted>(), TypeSchema::of::<Recorded>()), errors: SAID,
    }
    UploadFile Post "/api/v1/files" TALK
        "Upload a file that an event is to have: its name goes into `files` of the event, within an hour" {
        outside: true, rate_limited: true, params: &[query("name", "string", "what it is called")],
        body: RequestBody::Bytes,
        response: ResponseBody::Created(TypeSchema::of::<UploadedFile>()),
        errors: &[Kind::FilesFull, Kind::TooManyListeners],
    }
    ShowEventFile Get "/api/v1/events/{id}/files/{number}" TALK "A file of an event, by its place from 0" {
        outside: true, response: ResponseBody::File, errors: &[Kind::NoSuchEvent, Kind::NoSuchFile],
    }
    ShowReplyFile Get "/api/v1/replies/{id}/files/{number}" TALK
        "A file of a reply, as it was when the agent sent it, by its place from 0" {
        outside: true, response: ResponseBody::File, errors: &[Kind::NoSuchReply, Kind::NoSuchFile],
    }
    ListEvents Get "/api/v1/events" TALK "The latest events, newest first" {
        outside: true,
        params: &[
            query("limit", "integer", "100, and at most 1000"),
            query("state", "string", "waiting, delivered, seen, expired, dropped or dead"),
            SESSION,
        ],
        response: lists::<EventView>(), errors: &[Kind::BadRequest],
    }
    ShowEvent Get "/api/v1/events/{id}" TALK "One event with its text" {
        outside: true, response: gives::<EventView>(), errors: &[Kind::NoSuchEvent],
    }
    RetryEvent Post "/api/v1/events/{id}/retry" TALK "Put an event back on its queue" {
        from_inside: Refused("sending an event again"), outside: true, response: Text("`done`"), errors: &[Kind::NoSuchEvent, Kind::EventSettled],
    }
    DropEvent Post "/api/v1/events/{id}/drop" TALK "Take an event off its queue" {
        from_inside: Refused("dropping an event"), outside: true, response: Text("`done`"), errors: &[Kind::NoSuchEvent, Kind::EventSettled],
    }

    ListSessions Get "/api/v1/sessions" TALK "The sessions" {
        outside: true, params: &[
            query("all", "boolean", "also the latest that have ended"),
            query("words", "boolean", "also what each is about, and what its agent said last; for those who may review or admin"),
        ],
        response: lists::<SessionView>(), errors: &[Kind::BadRequest],
    }
    ShowSession Get "/api/v1/sessions/{id}" TALK "One session" {
        outside: true, response: gives::<SessionView>(), errors: &[Kind::NoSuchSession],
    }
    StreamSession Get "/api/v1/sessions/{id}/stream" REVIEW_OR_ADMIN
        "What the agent of a session says and does, as it comes; each entry has the next number" {
        outside: true,
        params: &[
            query("after", "integer", "the last number that you have; 0 is all that the session's process has kept"),
            header("Last-Event-ID", "integer", "the same"),
        ],
        response: Stream("one StreamMessage as JSON a message", Some(TypeSchema::of::<StreamMessage>())),
        errors: &[Kind::NoSuchSession, Kind::TooManyListeners, Kind::BadRequest],
    }
    SessionHistory Get "/api/v1/sessions/{id}/history" REVIEW_OR_ADMIN
        "What the conversation of a session had before, as Claude Code's transcript tells it, page by page" {
        outside: true,
        params: &[
            query("before", "integer", "the `before` of the page that you have; without it the newest page"),
            query("until", "string", "the `message` or `call` of the oldest entry that you have: the page ends before it"),
            query("limit", "integer", "200, and at most 1000"),
        ],
        response: gives::<HistoryPage>(), errors: &[Kind::NoSuchSession, Kind::NoTranscript, Kind::BadRequest],
    }
    ListConversations Get "/api/v1/conversations" START
        "The newest 50 conversations in folders where sessions may be started, also those begun in a terminal" {
        outside: true, response: lists::<ConversationView>(),
    }
    StartSession Post "/api/v1/sessions" START
        "Start Claude Code in a folder that is configured for it; it stays until it is ended" {
        from_inside: STARTING, outside: true, body: takes::<NewSession>(),
        response: ResponseBody::Created(TypeSchema::of::<SessionView>()), errors: STARTED,
    }
    StopSession Post "/api/v1/sessions/{id}/stop" REVIEW_OR_ADMIN
        "Let no tool of the session run until it is resumed; kept while the session is away" {
        from_inside: ORDERING, outside: true, params: &[WAIT], response: gives::<OrderView>(), errors: KEPT,
    }
    ResumeSession Post "/api/v1/sessions/{id}/resume" REVIEW "Let a stopped session run its tools again" {
        from_inside: ORDERING, outside: true, params: &[WAIT], response: gives::<OrderView>(), errors: KEPT,
    }
    InterruptSession Post "/api/v1/sessions/{id}/interrupt" REVIEW_OR_ADMIN "End the turn of the session" {
        from_inside: ORDERING, outside: true, params: &[WAIT], response: gives::<OrderView>(), errors: ORDERED,
    }
    PromptSession Post "/api/v1/sessions/{id}/prompt" START "Give the session a prompt, as its user's own words" {
        from_inside: ORDERING, outside: true, params: &[WAIT], body: takes::<NewPrompt>(),
        response: gives::<OrderView>(), errors: ORDERED,
    }
    SetSessionMode Post "/api/v1/sessions/{id}/mode" START "Set the permission mode of the session" {
        from_inside: ORDERING, outside: true, params: &[WAIT], body: takes::<NewMode>(),
        response: gives::<OrderView>(), errors: ORDERED,
    }
    SetSessionModel Post "/api/v1/sessions/{id}/model" START "Set the model of the session" {
        from_inside: ORDERING, outside: true, params: &[WAIT], body: takes::<NewModel>(),
        response: gives::<OrderView>(), errors: ORDERED,
    }
    ListDefaultModes Get "/api/v1/modes" ADMIN "The default modes of folders that admins have set" {
        outside: true, response: lists::<SetModeView>(),
    }
    ShowDefaultMode Get "/api/v1/modes/default" START_OR_ADMIN
        "In which permission mode a session starts in a folder when none is named, and who says so" {
        outside: true, params: &[query("folder", "string", "where the session would work")],
        response: gives::<DefaultModeView>(), errors: &[Kind::BadRequest],
    }
    SetDefaultMode Put "/api/v1/modes/default" ADMIN
        "Set the permission mode in which sessions start in a folder and below when none is named" {
        from_inside: Refused("changing the default mode of a folder"), outside: true, body: takes::<NewDefaultMode>(),
        response: gives::<DefaultModeView>(), errors: &[Kind::NotADefaultMode, Kind::TooManyProjects],
    }
    ListTrustedEditors Get "/api/v1/editors" ADMIN
        "Editors that answer prompts although the system does not tell who started them" {
        response: lists::<TrustedEditorView>(),
    }
    TrustEditor Post "/api/v1/editors" ADMIN
        "Let an editor of this machine answer prompts although the system does not tell who started it" {
        from_inside: Refused("trusting an editor"), body: takes::<NewTrustedEditor>(),
        response: gives::<TrustedEditorView>(), errors: &[Kind::NoSuchEditor],
    }
    EndSession Post "/api/v1/sessions/{id}/end" START "End the session" {
        from_inside: ORDERING, outside: true, params: &[WAIT], response: gives::<OrderView>(), errors: ORDERED,
    }

    ListAsks Get "/api/v1/asks" REVIEW_OR_ADMIN "Open and recently settled prompts, newest last" {
        outside: true, params: &[
            query("state", "string", "open, unconfirmed, answered, withdrawn or expired"), SESSION,
            query("limit", "integer", "at most so many, the newest"),
        ],
        response: lists::<AskView>(), errors: &[Kind::BadRequest, Kind::NoSuchSession],
    }
    ShowAsk Get "/api/v1/asks/{ask}" REVIEW_OR_ADMIN "One prompt, by its id or its code" {
        outside: true, response: gives::<AskView>(), errors: &[Kind::NoSuchAsk],
    }
    AnswerAsk Post "/api/v1/asks/{ask}/verdict" REVIEW "Answer a prompt" {
        from_inside: ANSWERING, outside: true, params: &[KEY], body: takes::<NewVerdict>(),
        response: gives::<Recorded>(), errors: VERDICT,
    }
    ListVerdicts Get "/api/v1/verdicts" REVIEW_OR_ADMIN "Who said what, newest last" {
        outside: true, response: lists::<VerdictView>(),
    }
    ListReplies Get "/api/v1/replies" TALK "What agents said back, newest last: the latest 256" {
        outside: true,
        params: &[query("since", "string", "a moment, or the id of the reply after which to begin"), CHAT],
        response: lists::<ReplyView>(), errors: &[Kind::BadRequest],
    }
    Watch Get "/api/v1/watch" TALK "The state, then every change, for programs" {
        outside: true, response: Stream("one Change as JSON a message", Some(TypeSchema::of::<Change>())),
        errors: &[Kind::TooManyListeners],
    }

    Chat Post "/api/chat" START "Start Claude Code for one prompt, and hear all it says and does" {
        from_inside: STARTING, outside: true, body: takes::<NewChat>(),
        response: Stream("every message of the session as JSON, until it is over", None), errors: STARTED,
    }
    Pending Get "/api/pending" REVIEW "The prompts that are open" { outside: true, response: gives::<PendingAsks>() }
    Confirm Post "/api/confirm" REVIEW "Yes or no to a prompt, by its id, its code, or the client's id of the call" {
        from_inside: ANSWERING, outside: true, body: takes::<Confirm>(), response: gives::<Confirmed>(),
        errors: &[Kind::Ambiguous],
    }

    PermissionsPending Get "/api/permissions/pending" REVIEW "The same as /api/pending" {
        outside: true, response: gives::<PendingAsks>(),
    }
    PermissionsConfirm Post "/api/permissions/confirm" REVIEW "The same as /api/confirm" {
        from_inside: ANSWERING, outside: true, body: takes::<Confirm>(), response: gives::<Confirmed>(),
    }

    Status Get "/api/v1/status" ADMIN "What the gate is and holds" { outside: true, response: gives::<Status>() }
    Stop Post "/api/v1/stop" ADMIN "End the gate" {
        from_inside: Refused("stopping the gate"), response: Text("`stopping`"),
    }
    ListTokens Get "/api/v1/tokens" ADMIN "The tokens, without their secrets" {
        outside: true, response: lists::<TokenView>(),
    }
    AddToken Post "/api/v1/tokens" ADMIN "Make a token; it is told this once" {
        from_inside: Refused("adding a token"), outside: true, body: takes::<NewToken>(),
        response: gives::<MadeToken>(), errors: &[Kind::BadName, Kind::OtherRole],
    }
    RevokeToken Delete "/api/v1/tokens/{id}" ADMIN "Take a token back" {
        from_inside: Refused("revoking a token"), outside: true, response: Text("`revoked`"),
        errors: &[Kind::NoSuchToken],
    }
    Me Get "/api/v1/me" TALK "Who the caller is to the gate, and what they may do" {
        outside: true, response: gives::<MeView>(),
    }
    ListDevices Get "/api/v1/devices" ADMIN "The linked browsers, without their keys" {
        outside: true, response: lists::<DeviceView>(),
    }
    AddDeviceLink Post "/api/v1/devices/links" ADMIN "Make a link for a browser; it works once, for two minutes" {
        from_inside: Refused("linking a device"), body: takes::<NewLink>(), response: gives::<LinkView>(),
    }
    LinkDevice Post "/api/v1/devices" ANYONE "Trade a link for a key; it is told this once" {
        outside: true, body: takes::<NewDevice>(), response: gives::<MadeDevice>(),
        errors: &[Kind::BadLink, Kind::BadName, Kind::TooManyDevices],
    }
    RevokeDevice Delete "/api/v1/devices/{id}" ADMIN "Take a device's key back; its streams end at once" {
        from_inside: Refused("revoking a device"), outside: true, response: Text("`revoked`"),
        errors: &[Kind::NoSuchDevice],
    }
    ShowPush Get "/api/v1/push" REVIEW "What a browser needs to be told by Web Push that a prompt waits" {
        outside: true, response: gives::<PushView>(), errors: &[Kind::NotADevice, Kind::NoPush],
    }
    SubscribePush Post "/api/v1/push" REVIEW "Tell this device by Web Push when a prompt waits and nobody looks" {
        outside: true, rate_limited: true, body: takes::<NewSubscription>(), response: Text("`done`"),
        errors: &[Kind::NotADevice, Kind::NoPush],
    }
    UnsubscribePush Delete "/api/v1/push" REVIEW "Tell this device no more" {
        outside: true, response: Text("`done`"), errors: &[Kind::NotADevice, Kind::NoPush],
    }
    SetPresence Post "/api/v1/presence" REVIEW
        "Say whether a page of this device can be seen: its person is not told by push while one can" {
        outside: true, rate_limited: true, body: takes::<NewPresence>(), response: Text("`done`"),
        errors: &[Kind::NotADevice, Kind::NoPush],
    }
    ListPeople Get "/api/v1/people" ADMIN "Who is let in, and who waits" {
        outside: true, response: gives::<PeopleView>(),
    }
    SetRole Put "/api/v1/people/{name}" ADMIN "Give a person another role" {
        from_inside: Refused("changing a role"), outside: true, body: takes::<NewRole>(), response: Text("`done`"),
        errors: &[Kind::BadName, Kind::NoSuchPerson],
    }
    RemovePerson Delete "/api/v1/people/{name}" ADMIN "Show a person out, with all their tokens and identities" {
        from_inside: Refused("removing a person"), outside: true, response: Text("`removed`"),
        errors: &[Kind::NoSuchPerson],
    }
    ApprovePairing Post "/api/v1/pairings" ADMIN "Let in the stranger who was shown this code" {
        from_inside: Refused("letting a stranger in"), outside: true, body: takes::<Approval>(),
        response: Text("`paired`"),
        errors: &[Kind::BadName, Kind::NoSuchPairing, Kind::TooManyMisses, Kind::OtherRole],
    }
    UnlinkIdentity Delete "/api/v1/identities/{identity}" ADMIN
        "Take an identity such as telegram:42 from the person who has it" {
        from_inside: Refused("taking an identity from a person"), outside: true, response: Text("`unlinked`"),
        errors: &[Kind::NoSuchIdentity],
    }
    ReadLog Get "/api/v1/log" ADMIN "The journal, oldest first" {
        outside: true,
        params: &[
            query("after", "integer", "a sequence: only records after it"),
            query("limit", "integer", "500, and at most 1000"),
            query("last", "integer", "only so many of the newest records"),
            query("wait", "integer", "seconds to wait for a record where there is none; 0, and at most 30"),
            query("words", "boolean", "each record as a sentence for people, and not what people wrote"),
        ],
        response: lists::<LogLine>(), errors: &[Kind::BadRequest, Kind::TooManyListeners],
    }
    VerifyLog Get "/api/v1/log/chain" ADMIN "Whether no record was changed, removed or reordered" {
        outside: true, response: gives::<ChainView>(),
    }
    ListRules Get "/api/v1/rules" ADMIN "The rules that count in a folder" {
        outside: true, params: &[query("folder", "string", "the folder of a session")],
        response: lists::<RuleView>(), errors: &[Kind::BadRequest],
    }
    CheckRules Post "/api/v1/rules/check" ADMIN "What the rules say of a call; nothing runs" {
        outside: true, body: takes::<NewCheck>(), response: gives::<RulingView>(), errors: &[Kind::BadRequest],
    }
    ListMcpServers Get "/api/v1/mcp/servers" ADMIN "The MCP servers of a folder, and how each is: those that may be used are connected to" {
        outside: true, params: &[query("folder", "string", "the folder of a session")],
        response: lists::<McpServerView>(), errors: &[Kind::BadRequest],
    }
    ApproveMcpServer Post "/api/v1/mcp/servers/approve" ADMIN "Approve a server of a project's .mcp.json, as it was shown" {
        from_inside: Refused("approving an MCP server"), outside: true, body: takes::<NamedMcpServer>(),
        response: Text("`approved`"), errors: &[Kind::BadRequest],
    }
    LoginMcpServer Post "/api/v1/mcp/servers/login" ADMIN "Where to sign in to a server; its token is kept when someone has" {
        from_inside: Refused("signing in to an MCP server"), outside: true, body: takes::<NamedMcpServer>(),
        response: gives::<McpSignInView>(), errors: &[Kind::BadRequest, Kind::Busy],
    }
    Redact Post "/api/v1/log/redact" ADMIN "Erase what people wrote about a subject" {
        from_inside: Refused("erasing from the log"), outside: true, body: takes::<NewRedaction>(),
        response: gives::<Redacted>(),
    }
    Bar Post "/api/v1/log/barred" ADMIN "Put on the record what the command line kept an agent from" {
        body: takes::<Tried>(), response: Text("`noted`"),
    }

    Hook Post "/claude/hooks" AGENT
        "Claude Code's http hooks, where hooks.http is on: the call as it posts it, the answer as it reads it" {
        body: TextBody, response: Text("what the hook is answered, as JSON"),
        errors: &[Kind::NoSuchRoute, Kind::TooManyCalls],
    }
    McpPost Post "/mcp" AGENT "The MCP gateway over streamable HTTP: your MCP servers, and each call judged or asked for" {
        params: MCP, body: RequestBody::Bytes, response: Stream("messages of MCP", None), errors: MCP_ERRORS,
    }
    McpListen Get "/mcp" AGENT "What MCP servers say by themselves to a client of the gateway" {
        params: &[SESSION_OF_MCP], response: Stream("messages of MCP", None), errors: MCP_ERRORS,
    }
    McpEnd Delete "/mcp" AGENT "End a session of the MCP gateway" {
        params: &[SESSION_OF_MCP], response: Text("nothing"), errors: MCP_ERRORS,
    }
    McpPostOne Post "/mcp/{server}" AGENT "The same for one server, whose tools keep their own names" {
        params: MCP, body: RequestBody::Bytes, response: Stream("messages of MCP", None), errors: MCP_ONE_ERRORS,
    }
    McpListenOne Get "/mcp/{server}" AGENT "What this server says by itself" {
        params: &[SESSION_OF_MCP], response: Stream("messages of MCP", None), errors: MCP_ERRORS,
    }
    McpEndOne Delete "/mcp/{server}" AGENT "End a session with this server" {
        params: &[SESSION_OF_MCP], response: Text("nothing"), errors: MCP_ERRORS,
    }
    Metrics Get "/metrics" ADMIN "Counts, in the text format of Prometheus" { response: Text("counts") }
    Describe Get "/api/openapi.json" ANYONE "The API for programs, as an OpenAPI document" {}
    Link Get "/link" SOCKET "Attach the process of a session" {
        response: Upgrade, errors: &[Kind::BadRequest],
    }
}
