//! Connections that break, in one process that goes on: what is made anew, how often, and what is told of it.

mod programs;
mod turns;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::config::{Upstream, entry_of_test};
use super::failure::CallFailure;
use super::{ClientBehind, FromServer, ListKind, PassedRequest, ServerSaid, Timeouts, UpstreamState, Upstreams};

/// What a server does with one request.
enum Reply {
    /// The result; with the session that it begins.
    Result(Value, Option<String>),
    Refused(i32),
    /// A stream that ends after these.
    Events(Vec<Value>),
    Status(u16),
    /// The connection breaks.
    Broken,
}

/// One request: its HTTP method, the session, and the message.
#[derive(Clone, Debug)]
struct Seen {
    http: Method,
    session: Option<String>,
    token: Option<String>,
    message: Value,
}

impl Seen {
    fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }
}

struct FakeServer {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl FakeServer {
    async fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (reply, log) = (Arc::new(reply), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, log) = (Arc::clone(&reply), Arc::clone(&log));
                let service = service_fn(move |request| answer(request, Arc::clone(&reply), Arc::clone(&log)));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self { url, seen }
    }

    fn upstream(&self) -> Upstream {
        Upstream::new("x", entry_of_test(&json!({"type": "http", "url": self.url})))
    }

    fn count(&self, method: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|seen| seen.method() == method).count()
    }
}

async fn answer<F: Fn(&Seen) -> Reply>(
    request: Request<Incoming>,
    reply: Arc<F>,
    log: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (session, token) = (header("mcp-session-id"), header("x-token"));
    let http = request.method().clone();
    let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
    let seen = Seen { http, session, token, message: serde_json::from_slice(&body).unwrap_or_default() };
    log.lock().unwrap().push(seen.clone());
    let json = |message: Value| {
        Response::builder().header("content-type", "application/json").body(Full::from(message.to_string()))
    };
    if seen.http == Method::GET {
        return Ok(Response::builder().status(405).body(Full::default()).unwrap());
    }
    if seen.message.get("id").is_none() {
        return Ok(Response::builder().status(202).body(Full::default()).unwrap());
    }
    let id = &seen.message["id"];
    Ok(match reply(&seen) {
        Reply::Broken => return Err(std::io::Error::other("broken")),
        Reply::Status(status) => Response::builder().status(status).body(Full::default()).unwrap(),
        Reply::Refused(code) => {
            json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}})).unwrap()
        }
        Reply::Events(events) => {
            let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            Response::builder().header("content-type", "text/event-stream").body(Full::from(body)).unwrap()
        }
        Reply::Result(result, session) => {
            let mut response = json(json!({"jsonrpc": "2.0", "id": id, "result": result})).unwrap();
            if let Some(session) = session {
                response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
            }
            response
        }
    })
}

fn about() -> Value {
    json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"},
    })
}

fn said(text: &str) -> Reply {
    Reply::Result(json!({"content": [{"type": "text", "text": text}]}), None)
}

/// The replies of an old server, besides calls.
fn old(seen: &Seen) -> Reply {
    match seen.method() {
        "initialize" => Reply::Result(about(), None),
        "tools/list" => Reply::Result(json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}), None),
        _ => Reply::Refused(-32601),
    }
}

/// The replies of a server of 2026-07-28.
fn modern(seen: &Seen) -> Reply {
    match seen.method() {
        "server/discover" => {
            let info = json!({"name": "modern", "version": "1"});
            Reply::Result(
                json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "serverInfo": info, "_meta": {"io.modelcontextprotocol/serverInfo": info},
                    "ttlMs": 0, "cacheScope": "private",
                }),
                None,
            )
        }
        "tools/list" => Reply::Result(
            json!({
                "resultType": "complete", "tools": [{"name": "a", "inputSchema": {"type": "object"}}],
                "ttlMs": 0, "cacheScope": "private",
            }),
            None,
        ),
        "tools/call" => {
            Reply::Result(json!({"resultType": "complete", "content": [{"type": "text", "text": "now"}]}), None)
        }
        _ => Reply::Refused(-32601),
    }
}

async fn all(upstream: &Upstream) -> Upstreams {
    let upstreams = Upstreams::new(std::env::temp_dir(), Timeouts::read(&|_| None), 1);
    upstreams.reconcile(std::iter::once(upstream)).await;
    upstreams
}

async fn call(upstreams: &Upstreams) -> Result<Value, CallFailure> {
    let params = json!({"name": "a", "arguments": {}}).as_object().unwrap().clone();
    upstreams.request("x", &PassedRequest::plain("tools/call", params)).await
}

#[tokio::test]
async fn an_expired_session_is_ended_and_the_call_made_once_more_in_a_new_one() {
    let sessions = Mutex::new(0);
    let server = FakeServer::start(move |seen| match (seen.method(), seen.session.as_deref()) {
        ("initialize", _) => {
            let mut sessions = sessions.lock().unwrap();
            *sessions += 1;
            Reply::Result(about(), Some(format!("s{sessions}")))
        }
        ("tools/call", Some("s1")) => Reply::Status(404),
        ("tools/call", Some(session)) => said(session),
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    assert_eq!(call(&upstreams).await.unwrap()["content"][0]["text"], "s2");
    assert_eq!(server.count("tools/call"), 2);
    assert_eq!((server.count("initialize"), server.count("server/discover")), (2, 1), "the probe is remembered");
    let seen = server.seen.lock().unwrap().clone();
    let ended: Vec<_> =
        seen.iter().filter(|seen| seen.http == Method::DELETE).map(|seen| seen.session.clone()).collect();
    assert_eq!(ended, [Some("s1".to_owned())]);
}

#[tokio::test]
async fn a_session_that_expires_at_every_call_is_tried_twice_and_no_more() {
    let server = FakeServer::start(|seen| match seen.method() {
        "initialize" => Reply::Result(about(), Some("s".to_owned())),
        "tools/call" => Reply::Status(404),
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    assert_eq!(call(&upstreams).await, Err(CallFailure::SessionExpired));
    assert_eq!(server.count("tools/call"), 2);
}

#[tokio::test]
async fn a_list_is_read_in_a_new_session_where_the_old_one_has_expired_and_again_where_the_connection_failed() {
    let (sessions, lists) = (Mutex::new(0), Mutex::new(0));
    let server = FakeServer::start(move |seen| match (seen.method(), seen.session.as_deref()) {
        ("initialize", _) => {
            let mut sessions = sessions.lock().unwrap();
            *sessions += 1;
            Reply::Result(about(), Some(format!("s{sessions}")))
        }
        ("tools/list", Some("s1")) => Reply::Status(404),
        ("tools/list", _) => {
            let mut lists = lists.lock().unwrap();
            *lists += 1;
            if *lists < 3 { Reply::Broken } else { old(seen) }
        }
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    assert_eq!(upstreams.list("x", ListKind::Tools).await.unwrap().len(), 1);
    assert_eq!((server.count("initialize"), server.count("tools/list")), (2, 4));
}

#[tokio::test]
async fn a_server_has_begun_when_it_was_its_turn() {
    let server = FakeServer::start(old).await;
    let upstreams = all(&server.upstream()).await;
    assert!(upstreams.begun("x").now_or_never().is_none(), "nobody needed it yet");
    drop(upstreams.connect("x").await);
    assert!(upstreams.begun("x").now_or_never().is_some());
}

#[tokio::test]
async fn all_who_need_a_server_at_once_wait_for_one_connection() {
    let server = FakeServer::start(|seen| match seen.method() {
        "tools/call" => said("yes"),
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    let called = futures_util::future::join_all((0..8).map(|_| call(&upstreams))).await;
    assert!(called.iter().all(Result::is_ok), "{called:?}");
    assert_eq!((server.count("initialize"), server.count("tools/call")), (1, 8));
}

#[tokio::test]
async fn the_third_failure_of_a_connection_in_a_row_makes_a_new_one() {
    let server = FakeServer::start(|seen| match seen.method() {
        "tools/call" => Reply::Broken,
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    for _ in 0..3 {
        assert!(matches!(call(&upstreams).await, Err(CallFailure::UnknownOutcome(_))));
        assert_eq!(server.count("initialize"), 1);
    }
    assert!(call(&upstreams).await.is_err());
    assert_eq!((server.count("initialize"), server.count("tools/call")), (2, 4), "no call was repeated");
}

#[tokio::test]
async fn an_answer_between_failures_keeps_the_connection() {
    let calls = Mutex::new(0);
    let server = FakeServer::start(move |seen| match seen.method() {
        "tools/call" => {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            if *calls == 3 { Reply::Refused(-1) } else { Reply::Broken }
        }
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    for _ in 0..5 {
        assert!(call(&upstreams).await.is_err());
    }
    assert_eq!(server.count("initialize"), 1);
}

#[tokio::test]
async fn a_server_of_today_is_asked_by_discover_alone_and_each_request_says_the_revision() {
    let server = FakeServer::start(modern).await;
    let upstreams = all(&server.upstream()).await;
    assert_eq!(call(&upstreams).await.unwrap()["content"][0]["text"], "now");
    let Some(UpstreamState::Connected(about)) = upstreams.state("x") else { panic!("{:?}", upstreams.state("x")) };
    assert_eq!((about.protocol.as_str(), about.tools), ("2026-07-28", true));
    assert_eq!((server.count("initialize"), server.count("server/discover")), (0, 1));
    let seen = server.seen.lock().unwrap().clone();
    let called = seen.iter().find(|seen| seen.method() == "tools/call").unwrap();
    let version = &called.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    assert_eq!(version, "2026-07-28", "{called:?}");
}

#[tokio::test]
async fn a_stream_of_changes_that_ends_is_opened_anew_and_one_that_always_ends_is_left_alone() {
    let server = FakeServer::start(|seen| match seen.method() {
        "subscriptions/listen" => {
            let id = &seen.message["id"];
            let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
            let told = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
            let begun = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": told});
            let ended = json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": meta}});
            Reply::Events(vec![begun, ended])
        }
        _ => modern(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let said = move |from: FromServer| {
        count.fetch_add(usize::from(matches!(from.said, ServerSaid::Changed(ListKind::Tools))), Ordering::SeqCst);
    };
    upstreams.serve(ClientBehind { capabilities: json!({}), said: Box::new(said) });
    upstreams.connect("x").await;
    // Nobody hears of what changes between two streams, so each that is opened anew counts as a change.
    while told.load(Ordering::SeqCst) < 5 {
        tokio::task::yield_now().await;
    }
    call(&upstreams).await.unwrap();
    assert_eq!((told.load(Ordering::SeqCst), server.count("subscriptions/listen")), (5, 6));
}

#[tokio::test]
async fn a_changed_entry_closes_the_old_server_and_an_unchanged_one_is_not_disturbed() {
    let server = FakeServer::start(|seen| match seen.method() {
        "tools/call" => said("yes"),
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    call(&upstreams).await.unwrap();
    for _ in 0..3 {
        upstreams.reconcile(std::iter::once(&server.upstream())).await;
        call(&upstreams).await.unwrap();
    }
    assert_eq!(server.count("initialize"), 1);
    let mut changed = server.upstream();
    changed.entry = entry_of_test(&json!({"type": "http", "url": server.url, "timeout": 5000}));
    upstreams.reconcile(std::iter::once(&changed)).await;
    call(&upstreams).await.unwrap();
    assert_eq!(server.count("initialize"), 2);
    upstreams.reconcile(std::iter::empty()).await;
    assert!(call(&upstreams).await.is_err() && upstreams.state("x").is_none());
}

#[tokio::test]
async fn a_helper_is_asked_again_when_its_token_is_refused_and_the_call_made_once_more() {
    let server = FakeServer::start(|seen| match (seen.method(), seen.token.as_deref()) {
        ("tools/call", Some("t1")) => Reply::Status(401),
        ("tools/call", Some(token)) => said(token),
        _ => old(seen),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let helper = format!("echo >> {0}; printf '{{\"x-token\": \"t%d\"}}' $(wc -l < {0})", count.display());
    let entry = entry_of_test(&json!({"type": "http", "url": server.url, "headersHelper": helper}));
    let upstreams = all(&Upstream::new("x", entry)).await;
    assert_eq!(call(&upstreams).await.unwrap()["content"][0]["text"], "t2");
    assert_eq!(server.count("tools/call"), 2);
}
