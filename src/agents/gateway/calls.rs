//! A call of a client: judged, perhaps asked about, then made once.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use portcullis_core::{AskId, CallOutcome, Scope, Source};
use portcullis_wire::permission::GATEWAY;
use portcullis_wire::preview::preview;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::catalog::{ListedTool, why};
use super::http::CouldWrite;
use super::late::{PendingAnswer, SameCall};
use super::leaving::StoppedWaiting;
use super::meta::{in_words, meta_of};
use super::session::ClientSession;
use crate::session::gatekeeper::{
    CallKey, Capabilities, ClientFlags, DecidedBy, Decision, FinishedCall, GatekeeperAnswer, ToolRequest,
    WithoutDecision, call_digest,
};
use crate::upstream::{ADDRESS_FIRST, CallFailure, ListKind, PassedRequest, Upstreams, is_told_apart};

/// A larger result is not passed on: no line of the client's may be longer.
const LARGEST_RESULT: usize = 16 << 20;

/// We make the call ourselves, and can wait: without a decision it is not made.
const CAPABILITIES: Capabilities = Capabilities {
    source: Source::Gateway,
    edit: true,
    interrupt: false,
    remember: true,
    heeds_ask: false,
    terminal: false,
    waits: None,
    without_decision: WithoutDecision::Waits,
    modes: &[],
    confirms: false,
};

/// What a client wants to call.
pub(super) struct WantedCall<'a> {
    pub(super) tool: &'a ListedTool,
    /// As the client sent them.
    pub(super) params: Map<String, Value>,
    /// The client's own id of the call, else one that no other call of the session has.
    pub(super) id: String,
    /// Where what the server says of its progress goes.
    pub(super) progress: mpsc::Sender<Value>,
    /// The client no longer wants it, or left.
    pub(super) cancelled: &'a CancellationToken,
    /// Ends when the client no longer waits for it.
    pub(super) stopped_waiting: BoxFuture<'a, StoppedWaiting>,
    /// The client can be asked for more by the result (2026-07-28).
    pub(super) takes_input_required: bool,
    /// What the client says of itself in just this request.
    pub(super) of_client: Map<String, Value>,
    /// The gate has said with the request that it can write down what a rule allows.
    pub(super) could_write: Option<CouldWrite>,
}

/// What is decided about a call.
struct DecidedCall {
    decision: Decision,
    /// The ask whose verdict it is.
    verdict: Option<AskId>,
    /// Decided when the same was called before, and since then so often made for nothing.
    late: Option<u32>,
}

/// How a call ended for the client.
pub(super) enum CallEnd {
    /// The server's result, or a tool error of ours.
    Result(Value),
    /// The server's own error.
    Error { code: i32, message: String, data: Option<Value> },
}

impl CallEnd {
    fn tool_error(text: impl Into<String>) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text.into()}], "isError": true}))
    }
}

impl ClientSession {
    /// Makes the call if it may be made. Returns at once when the client no longer wants it.
    pub(super) async fn call(self: &Arc<Self>, upstreams: &Upstreams, wanted: WantedCall<'_>) -> CallEnd {
        let WantedCall { tool, mut params, id, progress, cancelled, .. } = wanted;
        let WantedCall { stopped_waiting, takes_input_required, of_client, could_write, .. } = wanted;
        let arguments = params.remove("arguments").unwrap_or_else(|| json!({}));
        let meta = meta_of(&params);
        let same = SameCall {
            tool: tool.full.clone(),
            identity: tool.identity(),
            arguments: arguments.clone(),
            meta: meta.clone(),
        };
        let mut request = ToolRequest {
            tool: tool.full.clone(),
            input: arguments,
            tool_use_id: Some(id),
            agent: None,
            folder: None,
            mode: None,
            suggestions: vec![suggestion(&tool.full)],
            // A rule that may be meant for the tool of another server lets nothing pass.
            flags: ClientFlags {
                description: Some(format!("{}{}", tool.in_words(), in_words(&meta))),
                mcp: Some(tool.named()),
                suppress_always: !is_told_apart(&tool.server, &tool.name) || tool.wants_person(),
                requires_user_interaction: tool.wants_person(),
                ..ClientFlags::default()
            },
            capabilities: CAPABILITIES,
            unreadable: None,
            remembered: self.remembered(tool),
            own: None,
            could_write: could_write.map(|CouldWrite(when)| when),
            arrived: Instant::now(),
        };
        let decided = self.decide(&same, &request, stopped_waiting).await;
        let DecidedCall { decision, verdict, late } = match decided {
            Ok(decided) => decided,
            Err(how) => return CallEnd::tool_error(not_made(how, tool)),
        };
        if let Some(ask) = verdict {
            self.handle().wrote(&[], None, &[ask]);
            self.handle().confirm().await;
        }
        let is_persons = matches!(&decision, Decision::Allow { by: DecidedBy::Person, .. });
        // Asked about as another call, by whose id the gatekeeper knows it.
        let decided_by = late.filter(|_| is_persons).map(|_| "person".to_owned());
        match decision {
            Decision::Allow { input, scope, .. } => {
                self.remember(tool, scope);
                if let Some(input) = input {
                    request.input = input;
                }
            }
            Decision::Deny { message, .. } => {
                self.finished(&request, CallOutcome::Denied, None);
                return CallEnd::tool_error(format!("Denied: {message}"));
            }
            Decision::Ask { .. } | Decision::NoDecision => {
                return CallEnd::tool_error("The call was not made: nobody decided about it.");
            }
        }
        if is_persons && !is_current(tool, upstreams).await {
            self.finished(&request, CallOutcome::Denied, decided_by);
            return CallEnd::tool_error(not_made(StoppedWaiting::ServerChanged, tool));
        }
        params.insert("name".to_owned(), tool.name.as_str().into());
        params.insert("arguments".to_owned(), request.input.clone());
        let passed = PassedRequest {
            method: "tools/call",
            params,
            progress: Some(progress),
            cancelled: Some(cancelled),
            takes_input_required,
            of_client,
            configuration: Some(&tool.server_hash),
        };
        let called = upstreams.request(&tool.server, &passed).await;
        // The client makes it again, with what was asked for: it is the same call. What a rule allowed is judged again.
        if is_persons && wants_more(&called) {
            let input = Some(request.input.clone());
            let decision = Decision::Allow { input, remember: vec![], scope: Scope::Once, by: DecidedBy::Person };
            if let Some(again) = PendingAnswer::again(decision.into(), late.unwrap_or_default() + 1) {
                self.late.keep(same, again);
            }
        }
        self.finished(&request, outcome_of(&called), decided_by);
        end_of(called, tool)
    }

    /// What is decided about a call, now or when the same was called before; else why nobody waits for that any more.
    async fn decide(
        self: &Arc<Self>,
        same: &SameCall,
        request: &ToolRequest,
        stopped_waiting: BoxFuture<'_, StoppedWaiting>,
    ) -> Result<DecidedCall, StoppedWaiting> {
        let known = self.late.take(same);
        if known.is_some()
            && let Some(decision) = self.gatekeeper.refused_meanwhile(request).await
        {
            return Ok(DecidedCall { decision, verdict: None, late: None });
        }
        let late = known.as_ref().map(|pending| pending.made);
        let mut pending = known.unwrap_or_else(|| {
            let (session, request) = (Arc::clone(self), request.clone());
            PendingAnswer::begin(|withdrawn| async move { session.gatekeeper.asked(request, &withdrawn).await })
        });
        let how = tokio::select! {
            // What comes when nobody waits any more is for the next call.
            biased;
            how = stopped_waiting => how,
            answer = &mut pending.answer => {
                let GatekeeperAnswer { decision, verdict } = answer.map_err(|_| StoppedWaiting::TookBack)?;
                return Ok(DecidedCall { decision, verdict, late });
            }
        };
        match how {
            StoppedWaiting::GaveUp => {
                tracing::info!(
                    tool = request.tool,
                    "a client no longer waits; an answer counts for its next such call"
                );
                self.late.keep(same.clone(), pending);
            }
            StoppedWaiting::TookBack | StoppedWaiting::ServerChanged => pending.withdraw().await,
        }
        Err(how)
    }

    /// Puts on the record what was passed on without being asked for.
    pub(super) fn passed(&self, method: &str, server: &str, params: &Value, called: &Result<Value, CallFailure>) {
        self.noted((method, server), params, outcome_of(called), "gateway");
    }

    /// Puts on the record what a server and the client have done beside calls of tools.
    pub(super) fn noted(&self, (method, server): (&str, &str), params: &Value, outcome: CallOutcome, by: &str) {
        let what = ["uri", "name", "message"].iter().find_map(|key| params.get(key).and_then(Value::as_str));
        let what = what.map(|what| format!("{what}, ")).unwrap_or_default();
        let call = CallKey {
            tool: method.to_owned(),
            agent: None,
            digest: call_digest(method, params),
            tool_use_id: None,
            folder: None,
        };
        let (preview, decided_by) = (format!("{what}of the MCP server {server}"), Some(by.to_owned()));
        self.gatekeeper.after(FinishedCall { call, preview, outcome, decided_by });
    }

    fn finished(&self, request: &ToolRequest, outcome: CallOutcome, decided_by: Option<String>) {
        let preview = preview(&request.tool, &request.input);
        self.gatekeeper.after(FinishedCall { call: CallKey::of(request), preview, outcome, decided_by });
    }
}

/// Whether its server still describes the tool so. Where that cannot be asked, the call will not be made either.
pub(super) async fn is_current(tool: &ListedTool, upstreams: &Upstreams) -> bool {
    let listed = upstreams.list(&tool.server, ListKind::Tools).await;
    listed.is_ok_and(|tools| tools.contains(&tool.described))
}

/// What the client is told of a call for which nobody is asked any more.
fn not_made(how: StoppedWaiting, tool: &ListedTool) -> String {
    match how {
        StoppedWaiting::GaveUp | StoppedWaiting::TookBack => {
            "The call was not made: you no longer waited for it. If it is allowed within five minutes, the same call made \
             again goes through."
                .to_owned()
        }
        StoppedWaiting::ServerChanged => format!(
            "The call was not made: the MCP server {}, or its description of {}, has changed since a person was asked. \
             Make the call again to have them asked for it as it is now.",
            tool.server, tool.name
        ),
    }
}

/// What is known of a request that was sent to a server, for the journal.
fn outcome_of(called: &Result<Value, CallFailure>) -> CallOutcome {
    match called {
        Ok(result) if result["isError"] == true => CallOutcome::Failed,
        Ok(_) => CallOutcome::Ran,
        Err(CallFailure::UnknownOutcome(_) | CallFailure::Unreadable | CallFailure::TakenBack) => CallOutcome::Unknown,
        Err(_) => CallOutcome::Failed,
    }
}

/// Whether the server did nothing yet: it wants an answer first, or a person to open an address.
fn wants_more(called: &Result<Value, CallFailure>) -> bool {
    match called {
        Ok(result) => result["resultType"] == "input_required",
        Err(CallFailure::Refused { code, .. }) => *code == ADDRESS_FIRST,
        Err(_) => false,
    }
}

/// What a person may allow for longer than once.
fn suggestion(tool: &str) -> Value {
    json!({"type": "addRules", "behavior": "allow", "destination": GATEWAY, "rules": [{"toolName": tool}]})
}

fn end_of(called: Result<Value, CallFailure>, tool: &ListedTool) -> CallEnd {
    match called {
        Ok(result) => match size_of(&result) {
            size if size > LARGEST_RESULT => CallEnd::tool_error(format!(
                "The tool {} of {} gave a result of {size} bytes, and no more than {LARGEST_RESULT} are passed on.",
                tool.name, tool.server
            )),
            _ => CallEnd::Result(result),
        },
        Err(CallFailure::Refused { code, message, data }) => CallEnd::Error { code, message, data },
        Err(failure) => {
            CallEnd::tool_error(format!("{} of {}: {}", tool.name, tool.server, why(&tool.server, &failure)))
        }
    }
}

/// As it would be written.
fn size_of(value: &Value) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A value can always be written.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0
}
