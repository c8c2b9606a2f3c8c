//! The support tested by itself, so that a journey that fails is the product's fault.

use crate::fakes::model::{Kind, Model};
use crate::fakes::script::{Latch, Rule};
use crate::fakes::small_server;
use crate::support::child::{Child, Stdin};
use crate::support::connection::{Connection, Target};
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::{Event, Item, Parser};
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, running};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::process::Command;
use std::time::Duration;

#[test]
fn events_are_read_as_they_were_written() {
    let stream = ": connected\n\nid: 7\nevent: reply\ndata: one\ndata:  two\ndata\nodd: x\n\nretry: 5\n\n:\n\n";
    let mut parser = Parser::default();
    let items: Vec<Item> = stream.lines().filter_map(|line| parser.feed(line)).collect();
    let reply = Event {
        id: Some("7".to_owned()),
        event: Some("reply".to_owned()),
        data: "one\n two\n".to_owned(),
        unknown: vec!["odd: x".to_owned()],
        ..Event::default()
    };
    let retry = Event { retry: Some("5".to_owned()), ..Event::default() };
    assert_eq!(
        items,
        [Item::Comment("connected".to_owned()), Item::Event(reply), Item::Event(retry), Item::Comment(String::new())]
    );
}

#[test]
fn answers_are_read_whole_whatever_their_framing() {
    let target = serving(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
          3;x=y\r\none\r\n4\r\n two\r\n0\r\nTrailer: t\r\n\r\n\
          HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\n\
          HTTP/1.1 200 OK\r\n\r\nto the end",
        Then::Close,
    );
    let mut connection = Connection::open(&target);
    connection.write(b"odd bytes");
    assert_eq!(connection.answer().text(), "one two");
    assert_eq!(connection.answer().expect(404).json(), json!({}));
    assert_eq!(connection.answer().expect(204).text(), "");
    assert_eq!(connection.answer().expect(200).text(), "to the end");
    assert!(connection.rest(PATIENCE).unwrap().is_empty());
}

#[test]
fn a_refusal_is_read_although_the_body_was_never_taken() {
    let target = serving(b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nbig", Then::Stay);
    let answer = Request::post("/").body(vec![b'x'; 8 << 20]).send(&target);
    assert_eq!(answer.expect(413).text(), "big");
}

#[test]
fn the_model_follows_its_rules_and_remembers_what_it_was_shown() {
    let latch = Latch::new();
    let model = Model::start(vec![
        Rule::on_text("deploy").say("on it, $SENDER").call("reply", json!({"chat_id": "$CHAT_ID", "n": [1, "$NONE"]})),
        Rule::on_any_result().say("got $RESULT").once(),
        Rule::on_text("wait").say("waited").held_by(&latch),
    ]);
    let target = Target::Tcp(model.address());
    let ask = |content: serde_json::Value| {
        let body =
            json!({"model": "m", "tools": [{"name": "reply"}], "messages": [{"role": "user", "content": content}]});
        Request::post("/v1/messages?beta=true").json(&body).send(&target).expect(200).json()["content"].clone()
    };

    let answer = ask(json!("<channel source=\"x\" chat_id=\"a&amp;b\" sender=\"ann\">deploy</channel>"));
    assert_eq!(answer[0]["text"], "on it, ann");
    assert_eq!(answer[1]["input"], json!({"chat_id": "a&b", "n": [1, "$NONE"]}));
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "fine"}]}]);
    assert_eq!(ask(result.clone())[0]["text"], "got fine");
    assert_eq!(ask(result)[0]["text"], "tool said: fine");

    std::thread::scope(|scope| {
        let held = scope.spawn(|| ask(json!("wait")));
        assert_eq!(model.wait_for_turn("wait").kind, Kind::Main);
        assert!(!held.is_finished());
        latch.open();
        assert_eq!(held.join().unwrap()[0]["text"], "waited");
    });

    let body = json!({"model": "m", "stream": true, "messages": []});
    let streamed = Request::post("/v1/messages").json(&body).send(&target).text();
    let names: Vec<&str> = streamed.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(names, [&["message_start"][..], &block, &["message_delta", "message_stop"]].concat());
    Request::get("/api/hello").send(&target).expect(404);
    assert_eq!(model.requests().last().unwrap().kind, Kind::Other);
    assert_eq!(model.turns().len(), 4);
}

#[test]
fn the_stand_in_speaks_the_whole_channel_protocol() {
    let home = Home::new();
    let mut command = home.program("sh");
    command.arg(small_server());
    let standin = StandIn::start_command(&home, command);
    assert_eq!(standin.discover()["error"]["code"], -32601);
    assert_eq!(standin.server_info()["name"], "small");
    assert_eq!(standin.instructions(), "Say it.");
    assert_eq!(standin.tool_names(), ["say"]);

    let result = standin.call("say", &json!({"text": "hello"}));
    assert_eq!(result["content"][0]["text"], "said hello");
    let event = standin.event_containing("hello");
    assert_eq!((event.meta("chat_id"), event.meta("not-kept")), ("c1", ""));

    standin.ask("abcde", "Bash", "Push", "git push");
    let verdict = standin.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("abcde", "deny"));
    standin.send_line(b"{no json");
    assert_eq!(standin.next_raw()["error"]["code"], -32700);
    standin.no_event_within(Duration::from_millis(50));

    standin.close_stdin();
    assert!(standin.wait_exit(PATIENCE).success());
}

#[test]
fn descendants_are_found_and_their_end_is_noticed() {
    let mut command = Command::new("sh");
    command.args(["-c", "exec 3<&0; sh -c 'echo up; read never <&3' & wait"]);
    let child = Child::spawn(command, Stdin::Open);
    child.line(PATIENCE, |line| line == "up");
    let family = running::children_of(child.pid());
    assert_eq!(family.len(), 1, "{family:?}");
    child.signal(Signal::TERM);
    child.wait_exit(PATIENCE);
    assert!(running::is_alive(family[0].pid), "the grandchild outlives its parent");
    child.close_stdin();
    running::wait_gone(&family, PATIENCE);
}

#[derive(PartialEq)]
enum Then {
    Close,
    Stay,
}

/// Accepts one connection, and writes this whatever is sent.
fn serving(answer: &'static [u8], then: Then) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 9]).unwrap();
        stream.write_all(answer).unwrap();
        if then == Then::Close {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        // Closing altogether with bytes unread would reset the connection under the answer.
        std::thread::park();
        drop(stream);
    });
    target
}
