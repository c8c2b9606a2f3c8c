//! The real server over HTTP, in the transport of today and in the older one.

use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::{call, configure, listed, node, over_http, peer};
use crate::support::child::{Child, Stdin};
use crate::support::home::Home;
use crate::support::until;

/// The real server, as soon as someone can connect to it.
pub(super) fn serving(home: &Home, transport: &str) -> (Child, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = home.program(node());
    server.args([&peer("PORTCULLIS_TEST_EVERYTHING"), transport]).env("PORT", port.to_string());
    let server = home.spawn(server, Stdin::Nothing);
    until("the server's port", || {
        assert!(!server.has_exited(), "{}", server.story());
        TcpStream::connect(("127.0.0.1", port)).ok()
    });
    (server, port)
}

fn works(home: &Home, entry: &Value) {
    configure(home, &json!({"every": entry}));
    let server = listed(home, "every");
    assert_eq!(server["state"], "connected", "{server}");
    assert_eq!(home.run(&["mcp", "tools", "--json"]).ok().json().as_array().unwrap().len(), 13);
    assert_eq!(call(home, "every", "echo", &json!({"message": "hi"})).ok().stdout, "Echo: hi\n");
}

#[test]
fn the_real_server_works_over_streamable_http() {
    let home = Home::new();
    let (_server, port) = serving(&home, "streamableHttp");
    works(&home, &json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}));
}

#[test]
fn the_real_server_works_over_the_older_transport_also_where_http_was_written() {
    let home = Home::new();
    let (_server, port) = serving(&home, "sse");
    for kind in ["sse", "http"] {
        works(&home, &json!({"type": kind, "url": format!("http://127.0.0.1:{port}/sse")}));
    }
}

/// The real server behind a WebSocket that wants a token: one server for each connection.
fn on_websocket() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(bridge(stream));
            }
        });
    });
    port
}

async fn bridge(stream: tokio::net::TcpStream) {
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

    // Its type is the crate's.
    #[expect(clippy::result_large_err)]
    let letting_in = |request: &Request, mut response: Response| {
        let has = |name: &str, value: &str| request.headers().get(name).is_some_and(|it| it == value);
        if !has("authorization", "Bearer t1") && !has("x-claude-code-ide-authorization", "t2") {
            let mut refused = ErrorResponse::new(None);
            *refused.status_mut() = hyper::StatusCode::UNAUTHORIZED;
            return Err(refused);
        }
        assert_eq!(request.headers()["sec-websocket-protocol"], "mcp");
        response.headers_mut().insert("sec-websocket-protocol", "mcp".parse().unwrap());
        Ok(response)
    };
    let Ok(socket) = tokio_tungstenite::accept_hdr_async(stream, letting_in).await else { return };
    let mut server = tokio::process::Command::new(node());
    server.args([&peer("PORTCULLIS_TEST_EVERYTHING"), "stdio"]).kill_on_drop(true);
    server.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut server = server.spawn().unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let (mut sink, mut frames) = socket.split();
    let mut lines = tokio::io::BufReader::new(output).lines();
    loop {
        tokio::select! {
            frame = frames.next() => match frame {
                Some(Ok(Message::Text(text))) => input.write_all(format!("{text}\n").as_bytes()).await.unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return,
            },
            line = lines.next_line() => match line {
                Ok(Some(line)) => sink.send(Message::text(line)).await.unwrap(),
                _ => return,
            },
        }
    }
}

#[test]
fn the_real_server_works_over_a_websocket_with_the_token_of_its_entry_or_of_its_helper() {
    let home = Home::new();
    let url = format!("ws://127.0.0.1:{}/", on_websocket());
    works(&home, &json!({"type": "ws", "url": url, "headers": {"Authorization": "Bearer t1"}}));
    let helper = r#"test "$CLAUDE_CODE_MCP_SERVER_NAME" = every && printf '{"Authorization": "Bearer t1"}'"#;
    works(&home, &json!({"type": "ws", "url": url, "headersHelper": helper}));
    configure(&home, &json!({"every": {"type": "ws", "url": url}}));
    let server = listed(&home, "every");
    assert_eq!(server["state"], "failed", "nobody can sign in to it: {server}");
    assert!(server["why"].as_str().unwrap().contains("headersHelper"), "{server}");
    home.run(&["mcp", "login", "every"]).refused(1, "its entry needs a header");
}

#[test]
fn a_message_is_sent_on_to_another_address_of_the_same_server_and_to_no_other() {
    let home = Home::new();
    let (_server, port) = over_http(&home, &[]);
    let at = |path: &str| json!({"type": "http", "url": format!("http://127.0.0.1:{port}{path}")});
    configure(&home, &json!({"old": at("/old"), "round": at("/round"), "away": at("/away")}));
    assert_eq!(call(&home, "old", "echo", &json!({})).ok().stdout, "let in\n");
    let why = |name: &str| listed(&home, name)["why"].as_str().unwrap().to_owned();
    assert!(why("round").contains("HTTP 308: it sends every message on and on"), "{}", why("round"));
    assert!(why("away").contains("HTTP 307: it leads to http://127.0.0.1:1/mcp;"), "{}", why("away"));
}

#[test]
fn a_helper_knows_nothing_of_ours_and_leaves_nothing_behind() {
    let home = Home::new();
    let (seen, left) = (home.user().join("seen"), home.user().join("left"));
    let helper = format!(
        r#"env > '{}'; sleep 1000 & echo $! > '{}'; echo '{{"Authorization": "Bearer t1"}}'"#,
        seen.display(),
        left.display()
    );
    works(&home, &json!({"type": "ws", "url": format!("ws://127.0.0.1:{}/", on_websocket()), "headersHelper": helper}));
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(!seen.contains("PORTCULLIS_") && seen.contains("CLAUDE_CODE_MCP_SERVER_NAME=every\n"), "{seen}");
    let left = std::fs::read_to_string(&left).unwrap();
    until("what it left is gone", || (!std::path::Path::new("/proc").join(left.trim()).exists()).then_some(()));
}

#[test]
fn a_helper_that_fails_says_why_and_shows_nothing_of_what_it_printed() {
    let home = Home::new();
    let entry = |helper: &str| json!({"type": "http", "url": "http://127.0.0.1:1/mcp", "headersHelper": helper});
    let said = |helper: &str| {
        configure(&home, &json!({"x": entry(helper)}));
        let server = listed(&home, "x");
        assert_eq!(server["state"], "failed", "{server}");
        server["why"].as_str().unwrap().to_owned()
    };
    let why = said("echo no vault >&2; exit 3");
    assert!(why.contains("headersHelper") && why.contains("no vault"), "{why}");
    let why = said("echo secret-without-json");
    assert!(why.contains("no JSON object") && !why.contains("secret"), "{why}");
    let why = said(r#"echo '{"a": 1}'"#);
    assert!(why.contains("is no text"), "{why}");
}

#[test]
fn an_editor_is_found_by_its_file_and_keeps_its_own_tools_to_itself() {
    let home = Home::new();
    let folder = home.user().join(".claude/ide");
    std::fs::create_dir_all(&folder).unwrap();
    let port = on_websocket();
    let write = |port: u16, pid: u32, place: &std::path::Path, token: &str| {
        let lock = json!({"pid": pid, "workspaceFolders": [place], "transport": "ws", "authToken": token});
        std::fs::write(folder.join(format!("{port}.lock")), lock.to_string()).unwrap();
    };
    configure(&home, &json!({"ide": {"type": "ws-ide"}}));
    assert!(listed(&home, "ide")["why"].as_str().unwrap().contains("no editor that runs"));
    let project = home.project().canonicalize().unwrap();
    let pid = std::process::id();
    write(1, pid, std::path::Path::new("/elsewhere"), "wrong");
    write(2, pid, std::path::Path::new("/"), "of an editor that has everything open");
    write(port, pid, &project, "t2");
    let server = listed(&home, "ide");
    assert_eq!(server["state"], "connected", "{server}");
    assert_eq!(home.run(&["mcp", "tools", "--json"]).ok().json(), json!([]), "the server behind it is no editor");
    call(&home, "ide", "echo", &json!({"message": "hi"})).refused(1, "is its own");
    // One that has ended left its file behind.
    write(port, 4_000_000, &project, "t2");
    assert_ne!(listed(&home, "ide")["state"], "connected");
}
