//! The physical limit: one thread that copies each posted body into one line of output, and checks nothing.
//!
//! No channel server can be faster than this one, and none should be like it.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};

use anyhow::Context as _;
use mio::net::{TcpListener, TcpStream};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

use crate::http::find;

/// Started with this argument the benchmark is the bare loop.
pub(crate) const ARGUMENT: &str = "--bare-loop";

const STDIN: Token = Token(0);
const LISTENER: Token = Token(1);

struct Loop {
    connections: HashMap<Token, (TcpStream, Vec<u8>)>,
    listeners: Vec<Token>,
    /// Lines for the session, written once a turn.
    output: Vec<u8>,
    events: u64,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind("127.0.0.1:0".parse()?)?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    rustix::io::ioctl_fionbio(std::io::stdin(), true)?;
    poll.registry().register(&mut SourceFd(&0), STDIN, Interest::READABLE)?;
    eprintln!("ready http://{}", listener.local_addr()?);
    let mut all = Loop { connections: HashMap::new(), listeners: vec![], output: vec![], events: 0 };
    let (mut ready, mut next, mut input) = (Events::with_capacity(1024), 2, vec![]);
    loop {
        poll.poll(&mut ready, None)?;
        for event in &ready {
            match event.token() {
                LISTENER => {
                    while let Ok((mut stream, _)) = listener.accept() {
                        stream.set_nodelay(true)?;
                        poll.registry().register(&mut stream, Token(next), Interest::READABLE)?;
                        all.connections.insert(Token(next), (stream, vec![]));
                        next += 1;
                    }
                }
                STDIN => {
                    if all.hear(&mut input)? {
                        return Ok(());
                    }
                }
                token => all.serve(token)?,
            }
        }
        // Standard output is blocking: a session that does not read stops everything.
        std::io::stdout().write_all(&all.output)?;
        std::io::stdout().flush()?;
        all.output.clear();
    }
}

impl Loop {
    /// Reads what the session says. True at the end.
    fn hear(&mut self, input: &mut Vec<u8>) -> anyhow::Result<bool> {
        let mut chunk = [0; 64 << 10];
        let is_end = loop {
            match rustix::io::read(std::io::stdin(), &mut chunk) {
                Ok(0) => break true,
                Ok(count) => input.extend_from_slice(&chunk[..count]),
                Err(rustix::io::Errno::AGAIN) => break false,
                Err(error) => return Err(error).context("reading what the session says"),
            }
        };
        while let Some(end) = input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = input.drain(..=end).collect();
            self.answer(&serde_json::from_slice(&line)?)?;
        }
        Ok(is_end)
    }

    fn answer(&mut self, message: &Value) -> anyhow::Result<()> {
        let (id, params) = (&message["id"], &message["params"]);
        let mut answer = |what: &str, value: Value| {
            let line = json!({"jsonrpc": "2.0", "id": id, what: value});
            self.output.extend_from_slice(format!("{line}\n").as_bytes());
        };
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let offered = json!({"experimental": {"claude/channel": {}, "claude/channel/permission": {}}});
                let server = json!({"name": "bare", "version": "0"});
                answer(
                    "result",
                    json!({"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": server}),
                );
            }
            "tools/call" => {
                answer("result", json!({"content": []}));
                let reply = &params["arguments"];
                let (chat, text) = (&reply["chat_id"], &reply["text"]);
                self.tell(&format!("data: Reply to {}: {}\n\n", plain(chat), plain(text)))?;
            }
            "notifications/claude/channel/permission_request" => {
                let code = plain(&params["request_id"]);
                self.tell(&format!("data: Reply \"yes {code}\" or \"no {code}\"\n\n"))?;
            }
            _ if id.is_null() => {}
            _ => answer("error", json!({"code": -32601, "message": "no"})),
        }
        Ok(())
    }

    fn tell(&mut self, text: &str) -> anyhow::Result<()> {
        for token in &self.listeners {
            if let Some((stream, _)) = self.connections.get_mut(token) {
                stream.write_all(text.as_bytes()).context("telling a listener")?;
            }
        }
        Ok(())
    }

    fn serve(&mut self, token: Token) -> anyhow::Result<()> {
        let Some((stream, buffer)) = self.connections.get_mut(&token) else { return Ok(()) };
        if read_all(stream, buffer)? {
            self.connections.remove(&token);
            self.listeners.retain(|listener| *listener != token);
            return Ok(());
        }
        let Some(end) = find(&buffer[..buffer.len().min(4096)], b"\r\n\r\n") else { return Ok(()) };
        if buffer.starts_with(b"GET ") {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: connected\n\n")?;
            self.listeners.push(token);
            return Ok(());
        }
        let head = std::str::from_utf8(&buffer[..end])?;
        let length = head.split("Content-Length: ").nth(1).context("no length")?;
        let length: usize = length.lines().next().unwrap_or_default().parse()?;
        if buffer.len() < end + 4 + length {
            return Ok(());
        }
        let body = std::str::from_utf8(&buffer[end + 4..])?;
        if let Some(code) = body.strip_prefix("yes ") {
            let verdict = r#"{"jsonrpc":"2.0","method":"notifications/claude/channel/permission","params":"#;
            writeln!(self.output, r#"{verdict}{{"request_id":"{code}","behavior":"allow"}}}}"#)?;
        } else {
            self.events += 1;
            let event = r#"{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{"content":"#;
            self.output.extend_from_slice(event.as_bytes());
            serde_json::to_writer(&mut self.output, body)?;
            writeln!(self.output, r#","meta":{{"chat_id":"{}","path":"/"}}}}}}"#, self.events)?;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
        buffer.clear();
        Ok(())
    }
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// True when the other end is closed.
fn read_all(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> anyhow::Result<bool> {
    let mut chunk = [0; 64 << 10];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(true),
            Ok(count) => {
                buffer.extend_from_slice(&chunk[..count]);
                // Less than was asked for is all there was.
                if count < chunk.len() {
                    return Ok(false);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(true),
            Err(error) => return Err(error).context("reading a request"),
        }
    }
}
