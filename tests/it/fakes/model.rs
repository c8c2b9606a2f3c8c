//! The Anthropic Messages API, scripted: the real CLI talks to it, and a test reads what the model was shown.

use super::script::{Rule, Turn, choose};
use crate::support::home::random_hex;
use crate::support::seen::{OrFail, PATIENCE, Seen};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{oneshot, watch};

pub(crate) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// First match wins; a rule counts its own uses.
    rules: Mutex<Vec<Rule>>,
    requests: Seen<Request>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A turn of the conversation.
    Main,
    /// Without tools: a title or the like.
    Side,
    Count,
    /// Anything else it asked for, and was told there is none of.
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) turn: Turn,
}

impl Model {
    /// Listens before it returns.
    pub(crate) fn start(rules: Vec<Rule>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { rules: Mutex::new(rules), requests: Seen::new() });
        let (stop, stopped) = oneshot::channel::<()>();
        let state = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(state);
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    // Not gracefully: a held answer must not hold the test.
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// For `ANTHROPIC_BASE_URL`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything it was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.all()
    }

    /// The turns of the conversation so far, without side requests.
    pub(crate) fn turns(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.kind == Kind::Main);
        requests
    }

    /// The oldest request that fits, now or later; it stays where it is.
    #[track_caller]
    pub(crate) fn wait_for(&self, wanted: impl FnMut(&Request) -> bool) -> Request {
        self.shared.requests.find(PATIENCE, wanted).or_fail(|missed| {
            let seen: Vec<String> = self.requests().iter().map(Request::summary).collect();
            format!("waiting for a request to the model: {missed}; so far:\n{}", seen.join("\n"))
        })
    }

    /// The oldest turn that shows this text to the model in any place.
    #[track_caller]
    pub(crate) fn wait_for_turn(&self, text: &str) -> Request {
        self.wait_for(|request| request.kind == Kind::Main && request.shows(text))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed already; a second one here would only hide the test's own.
            drop(thread.join());
        }
    }
}

impl Request {
    /// Whether the newest turn holds this text: said, reminded, told by the system or returned by a tool.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let Turn { text: said, reminders, system, .. } = &self.turn;
        [said, reminders, system, &self.turn.result()].iter().any(|part| part.contains(text))
    }

    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// Whether the model may call this tool: listed with its schema, or named among those the CLI loads on demand, as
    /// it does with those of MCP servers.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools().contains(&tool) || self.turn.system.lines().any(|line| line == tool)
    }

    fn summary(&self) -> String {
        let cut = |text: &str| text.chars().take(300).collect::<String>();
        let (said, result) = (cut(&self.turn.text), cut(&self.turn.result()));
        format!("{:?} {} {}: text {said:?}, result {result:?}", self.kind, self.method, self.path)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, bytes: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let kind = match (method.as_str(), uri.path()) {
        ("POST", "/v1/messages") if body["tools"].as_array().is_none_or(Vec::is_empty) => Kind::Side,
        ("POST", "/v1/messages") => Kind::Main,
        ("POST", "/v1/messages/count_tokens") => Kind::Count,
        _ => Kind::Other,
    };
    let turn = Turn::of(&body);
    let (mut content, mut hold, mut pause, mut refusal) = (Vec::new(), None, None, None);
    match kind {
        Kind::Main => {
            let mut rules = shared.rules.lock().unwrap_or_else(PoisonError::into_inner);
            let choice = choose(&mut rules, &turn);
            (content, hold, pause, refusal) = (choice.content, choice.hold, choice.pause, choice.refusal);
        }
        Kind::Side => content.push(json!({"type": "text", "text": "A side request"})),
        Kind::Count | Kind::Other => {}
    }
    for block in content.iter_mut().filter(|block| block["type"] == "tool_use") {
        block["id"] = Value::from(format!("toolu_{}", random_hex(12)));
    }
    shared.requests.push(Request { kind, method: method.to_string(), path: uri.to_string(), body: body.clone(), turn });
    if let Some(mut hold) = hold {
        // A latch that was dropped holds nothing any more.
        drop(hold.wait_for(|open| *open).await);
    }
    if let Some(status) = refusal {
        let kind = match status {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            _ => "invalid_request_error",
        };
        let error = json!({"type": kind, "message": "refused by the script"});
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        return plain(status, &json!({"type": "error", "error": error}));
    }
    match kind {
        Kind::Main | Kind::Side if body["stream"] == true => events(&message(&body, &content), pause),
        Kind::Main | Kind::Side => plain(StatusCode::OK, &message(&body, &content)),
        Kind::Count => plain(StatusCode::OK, &json!({"input_tokens": bytes.len().div_ceil(4)})),
        Kind::Other => plain(StatusCode::NOT_FOUND, &json!({})),
    }
}

fn message(body: &Value, content: &[Value]) -> Value {
    let calls = content.iter().any(|block| block["type"] == "tool_use");
    json!({
        "id": format!("msg_{}", random_hex(12)),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": if calls { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 5,
        },
    })
}

fn plain(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// The message as the API streams it, one frame at a time. What comes in pieces waits before the second.
fn events(message: &Value, pause: Option<watch::Receiver<bool>>) -> Response {
    let mut opening = message.clone();
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    let mut frames = vec![json!({"type": "message_start", "message": opening})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (start, delta) = match block["type"].as_str() {
            Some("tool_use") => (
                json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            ),
            _ => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]})),
        };
        frames.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        match block["pieces"].as_array() {
            Some(pieces) => {
                for (place, piece) in pieces.iter().enumerate() {
                    let delta = json!({"type": "text_delta", "text": piece});
                    frames.push(
                        json!({"type": "content_block_delta", "index": index, "delta": delta, "waits": place > 0}),
                    );
                }
            }
            None => frames.push(json!({"type": "content_block_delta", "index": index, "delta": delta})),
        }
        frames.push(json!({"type": "content_block_stop", "index": index}));
    }
    frames.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null},
        "usage": {"output_tokens": 5},
    }));
    frames.push(json!({"type": "message_stop"}));
    let written = stream::iter(frames).then(move |frame| {
        let mut pause = pause.clone().filter(|_| frame["waits"] == true);
        async move {
            if let Some(pause) = &mut pause {
                // A latch that was dropped holds nothing any more.
                drop(pause.wait_for(|open| *open).await);
            }
            let kind = frame["type"].as_str().unwrap_or_default();
            Ok::<_, Infallible>(format!("event: {kind}\ndata: {frame}\n\n"))
        }
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")];
    (headers, Body::from_stream(written)).into_response()
}
