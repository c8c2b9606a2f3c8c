//! The real server over HTTP, in the transport of today and in the older one.

use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::{call, configure, listed, node, peer};
use crate::support::child::{Child, Stdin};
use crate::support::home::Home;
use crate::support::until;

/// The real server, as soon as someone can connect to it.
fn serving(home: &Home, transport: &str) -> (Child, u16) {
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
