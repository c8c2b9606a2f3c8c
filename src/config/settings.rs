//! Every setting once: its key, its variable, what it means and what it accepts. Help and reference are made from this.

use super::setting::{Accepts, Setting, WrittenIn};

const MEBIBYTE: i64 = 1 << 20;
const GIBIBYTE: i64 = 1 << 30;
/// No body may be larger than the queues, or it would wait for ever.
const LARGEST_BODY: i64 = 16 * MEBIBYTE;
const MANY: i64 = 1_000_000;

const LISTEN: Accepts = Accepts::Words(
    r#""off" or a loopback address with its port, such as "127.0.0.1:8788", "localhost:8788" (the same) or "[::1]:8788""#,
);
const MODE: Accepts = Accepts::Words(r#""default", "acceptEdits", "plan", "dontAsk", "auto" or "bypassPermissions""#);
const RULES: Accepts = Accepts::Words(r#"a list of rules, such as ["Bash(make *)", "WebFetch(domain:docs.rs)"]"#);

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        written: WrittenIn::FileOrVariable("PORTCULLIS_LISTEN"),
        meaning: "where the gate listens for HTTP besides its Unix socket; port 0 takes a free one",
        accepts: LISTEN,
    },
    Setting {
        key: "public_url",
        written: WrittenIn::File,
        meaning: "where browsers and phones elsewhere reach the page and the API, through a proxy or a tunnel of yours that ends at `public_listen`; links for devices are made from it",
        accepts: Accepts::Words(
            r#"an address without a path, such as "https://gate.example.org"; without TLS only on this machine: "http://localhost:9000"; or "off""#,
        ),
    },
    Setting {
        key: "public_listen",
        written: WrittenIn::File,
        meaning: "where the gate serves the page and the API for `public_url`, and nothing else; nobody is trusted there for coming from this machine",
        accepts: LISTEN,
    },
    Setting {
        key: "durability",
        written: WrittenIn::FileOrVariable("PORTCULLIS_DURABILITY"),
        meaning: "what a journalled record survives: the death of the gate (process), or a power cut as well (power)",
        accepts: Accepts::Words(r#""process" or "power""#),
    },
    Setting {
        key: "approvals",
        written: WrittenIn::File,
        meaning: "who may answer permission prompts: everyone with the right (anywhere), or only people with tokens of their own (device); then the owner's token, `portcullis ask` and the terminals of `run` and `attach` do not answer, and Claude Code's own dialogs still do",
        accepts: Accepts::Words(r#""anywhere" or "device""#),
    },
    Setting {
        key: "outside",
        written: WrittenIn::File,
        meaning: "which tool calls are asked for once text from someone who may not direct the session went before the model, until a person who may has spoken: those that run or send something (guard), all but reads inside the working folders (all), or none for that reason (off)",
        accepts: Accepts::Words(r#""guard", "all" or "off""#),
    },
    Setting {
        key: "retention_days",
        written: WrittenIn::File,
        meaning: "how many days the journal keeps the text that people wrote; the records themselves are kept for ever",
        accepts: Accepts::Whole { unit: "days", range: 2..=36_500 },
    },
    Setting {
        key: "retention_bytes",
        written: WrittenIn::File,
        meaning: "how much text that people wrote the journal keeps; the oldest is erased first, and nothing of the last day",
        accepts: Accepts::Whole { unit: "bytes", range: MEBIBYTE..=1024 * GIBIBYTE },
    },
    Setting {
        key: "max_context",
        written: WrittenIn::FileOrVariable("PORTCULLIS_MAX_CONTEXT"),
        meaning: "maximum bytes of an event shown to the model; the rest is available through the `inbox` tool; 0 = no limit",
        accepts: Accepts::Whole { unit: "bytes", range: 0..=LARGEST_BODY },
    },
    Setting {
        key: "claude",
        written: WrittenIn::FileOrVariable("PORTCULLIS_CLAUDE"),
        meaning: "the Claude Code program that `run` and the API start",
        accepts: Accepts::Words("the name of a program on the PATH, or its path"),
    },
    Setting {
        key: "instructions",
        written: WrittenIn::File,
        meaning: "what the model is told about messages from outside, besides what Portcullis says: which matter, what attributes mean, whom to answer",
        accepts: Accepts::Words("text of at most 2000 characters"),
    },
    Setting {
        key: "permission_mode",
        written: WrittenIn::File,
        meaning: "the permission mode of sessions that `run` and the API start, where none is named; what `portcullis session default-mode` set for the folder counts before it",
        accepts: MODE,
    },
    Setting {
        key: "allow_bypass",
        written: WrittenIn::File,
        meaning: "whether sessions may be started in, and switched to, the mode bypassPermissions, in which nothing is asked",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "token",
        written: WrittenIn::Variable("PORTCULLIS_TOKEN"),
        meaning: "the owner's token, instead of the one the gate generates and keeps in `owner.token`",
        accepts: Accepts::Words("at least 16 characters of ASCII without spaces"),
    },
    Setting {
        key: "start.folders",
        written: WrittenIn::File,
        meaning: "folders in which, and below which, sessions may be started over the API; by default the one where you started the gate with `up` or `serve`, unless that is your home",
        accepts: Accepts::Words(r#"a list of absolute paths, such as ["~/work", "/srv/app"]"#),
    },
    Setting {
        key: "start.ask_seconds",
        written: WrittenIn::File,
        meaning: "how long a prompt of a session of `POST /api/chat` can be answered; then the call is denied",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=86_400 },
    },
    Setting {
        key: "hooks.wakes",
        written: WrittenIn::File,
        meaning: "how often the events of one sender may wake an idle session in an hour; events within a second are one wake, and events that may not wake it wait for its next prompt or tool call",
        accepts: Accepts::Whole { unit: "wakes", range: 0..=3_600 },
    },
    Setting {
        key: "hooks.must_reply",
        written: WrittenIn::File,
        meaning: "senders who must get a reply: a session that stops without one is reminded once",
        accepts: Accepts::Words(r#"a list of senders, such as ["ann", "bob"]"#),
    },
    Setting {
        key: "hooks.http",
        written: WrittenIn::File,
        meaning: "whether Claude Code's hooks may be posted to `/claude/hooks` with a token of the role agent; programs that the agent runs can read such a token",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "mcp.sampling",
        written: WrittenIn::File,
        meaning: "whether MCP servers behind the gateway may use the model of the client that they serve (sampling); the client still decides about each use",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "mcp.longest_description",
        written: WrittenIn::File,
        meaning: "how much of what an MCP server says of itself or of a tool is shown to people (`mcp tools`) and to the model of a driven session; the gateway passes descriptions on as they are",
        accepts: Accepts::Whole { unit: "characters", range: 100..=MANY },
    },
    Setting {
        key: "mcp.servers.<name>.shared",
        written: WrittenIn::File,
        meaning: "whether the clients of the gateway share one process of this server, which the gate starts with its own environment; a server of a project or of a folder is never shared, and one that is reached by an address has no process",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "acp.gateway",
        written: WrittenIn::File,
        meaning: "whether MCP servers that an editor brings along are put behind the gateway; else Claude Code starts them itself, and their calls pass your rules as those of any other tool",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "acp.prewarm",
        written: WrittenIn::File,
        meaning: "whether `portcullis acp` keeps a Claude Code started for the next session in the folder of the last; it takes about 250 MB, and hooks for the start of a session run when it is started",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "notify.command",
        written: WrittenIn::File,
        meaning: "a program of yours, with its arguments, that is run when a prompt has waited, a session is over or a reply came; it gets a JSON object on standard input, no shell is used, and after 20 seconds it is killed",
        accepts: Accepts::Words(
            r#"a list of a program and its arguments, such as ["curl", "-d", "@-", "https://ntfy.sh/my-topic"]"#,
        ),
    },
    Setting {
        key: "notify.after_seconds",
        written: WrittenIn::File,
        meaning: "how long a prompt waits before that program is run for it; one that is answered by then is not told",
        accepts: Accepts::Whole { unit: "seconds", range: 0..=86_400 },
    },
    Setting {
        key: "limits.body",
        written: WrittenIn::File,
        meaning: "the largest body of a request",
        accepts: Accepts::Whole { unit: "bytes", range: 1024..=LARGEST_BODY },
    },
    Setting {
        key: "limits.idle_seconds",
        written: WrittenIn::File,
        meaning: "how long a connection may be silent, also within a body, or leave unread what is sent to it, before it is closed; an event stream may be silent for ever",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=86_400 },
    },
    Setting {
        key: "limits.connections",
        written: WrittenIn::File,
        meaning: "how many connections may be open at once, at each listener; fewer where the system lets the gate open fewer files, a quarter each for the socket and the public listener",
        accepts: Accepts::Whole { unit: "connections", range: 16..=MANY },
    },
    Setting {
        key: "limits.sse_listeners",
        written: WrittenIn::File,
        meaning: "how many of them may be event streams",
        accepts: Accepts::Whole { unit: "listeners", range: 1..=MANY },
    },
    Setting {
        key: "limits.rate",
        written: WrittenIn::File,
        meaning: "how many events one credential may send in a second; the owner's own token is exempt",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "limits.burst",
        written: WrittenIn::File,
        meaning: "how many events one credential may send at once after a pause",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "limits.session_events",
        written: WrittenIn::File,
        meaning: "how many events may wait for one session",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "coalesce.<sender>",
        written: WrittenIn::File,
        meaning: "how long the events of this sender are held, to be delivered as one",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=3_600 },
    },
    Setting {
        key: "projects.<folder>.mode",
        written: WrittenIn::File,
        meaning: "the permission mode of sessions in this folder and below that `run` and the API start, where none is named; the nearest folder counts, and what `portcullis session default-mode` set for the same one before it",
        accepts: MODE,
    },
    Setting {
        key: "projects.<folder>.allow",
        written: WrittenIn::File,
        meaning: "your own rules for sessions in this folder and below: what is allowed; a path `/x` in a rule begins at the folder",
        accepts: RULES,
    },
    Setting {
        key: "projects.<folder>.ask",
        written: WrittenIn::File,
        meaning: "the same: what is asked for",
        accepts: RULES,
    },
    Setting {
        key: "projects.<folder>.deny",
        written: WrittenIn::File,
        meaning: "the same: what is denied",
        accepts: RULES,
    },
    Setting {
        key: "connectors.socket.<name>.address",
        written: WrittenIn::File,
        meaning: "the Unix socket on which a program of yours listens that carries prompts and replies to where people are, under this name",
        accepts: Accepts::Words(r#"an absolute path, such as "~/bridge.sock""#),
    },
    Setting {
        key: "connectors.socket.<name>.max_text",
        written: WrittenIn::File,
        meaning: "maximum bytes of a text that this program is given: 500 or more, or 0 for no limit",
        accepts: Accepts::Whole { unit: "bytes", range: 0..=LARGEST_BODY },
    },
];
