//! One reply to many listeners: how long until the last one has it.

use std::io::{ErrorKind, Read as _};
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

use super::{Run, speed};
use crate::contenders::Server;
use crate::http::{self, Connection, find, post};
use crate::session::PATIENCE;
use crate::table::quantile;

pub(crate) fn fan_out(run: &mut Run) -> anyhow::Result<()> {
    let replies = run.count(20, 5);
    for listeners in [1, 100, 1000] {
        run.rounds(speed::warm, |table, place, server| {
            let mut audience = Audience::gather(server.address, listeners)?;
            let chat = conversation(server)?;
            let mut times = vec![];
            for number in 0..replies {
                let marker = format!("the reply number {number}, which all shall have");
                let start = Instant::now();
                let reply = json!({"name": "reply", "arguments": {"chat_id": chat, "text": marker}});
                let id = server.session.request("tools/call", &reply)?;
                audience.all_have(marker.as_bytes())?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
                let answer: Value = serde_json::from_slice(&server.session.line()?)?;
                ensure!(answer["id"] == id && answer["error"].is_null(), "the reply was answered {answer}");
            }
            audience.check(replies)?;
            let plural = if listeners == 1 { "" } else { "s" };
            table.note(&format!("last of {listeners} listener{plural}"), "ms", place, quantile(&times, 0.5));
            Ok(())
        })?;
    }
    Ok(())
}

/// Sends an event, so that there is a conversation to reply to.
fn conversation(server: &mut Server) -> anyhow::Result<String> {
    let mut connection = Connection::open(server.address)?;
    connection.send(&post(server.address, "/", "is anyone there?"))?;
    let event: Value = serde_json::from_slice(&server.session.line()?)?;
    connection.answered()?;
    Ok(event["params"]["meta"]["chat_id"].as_str().context("the event has no chat_id")?.to_owned())
}

struct Audience {
    poll: Poll,
    listeners: Vec<(TcpStream, Heard)>,
}

#[derive(Default)]
struct Heard {
    bytes: Vec<u8>,
    /// Up to here there is nothing left to find.
    searched: usize,
}

impl Audience {
    fn gather(address: SocketAddr, count: usize) -> anyhow::Result<Self> {
        let poll = Poll::new()?;
        let mut listeners = vec![];
        for number in 0..count {
            let mut connection = Connection::open(address)?;
            connection.send(&http::listen(address))?;
            connection.until(b": connected\n\n")?;
            connection.stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(connection.stream);
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            listeners.push((stream, Heard::default()));
        }
        Ok(Self { poll, listeners })
    }

    /// Returns when every listener has heard the marker.
    fn all_have(&mut self, marker: &[u8]) -> anyhow::Result<()> {
        let mut missing = self.listeners.len();
        let mut ready = Events::with_capacity(1024);
        while missing > 0 {
            self.poll.poll(&mut ready, Some(PATIENCE))?;
            ensure!(!ready.is_empty(), "{missing} listeners never heard of it");
            for event in &ready {
                let (stream, heard) = &mut self.listeners[event.token().0];
                missing -= usize::from(heard.listen(stream, marker)?);
            }
        }
        Ok(())
    }

    /// Nobody heard anything twice.
    fn check(&self, replies: usize) -> anyhow::Result<()> {
        let common = b", which all shall have";
        for (_, heard) in &self.listeners {
            let times = heard.bytes.windows(common.len()).filter(|window| window == common).count();
            ensure!(times == replies, "a listener heard {times} replies of {replies}");
        }
        Ok(())
    }
}

impl Heard {
    /// Reads what there is. True when the marker is in it for the first time.
    fn listen(&mut self, stream: &mut TcpStream, marker: &[u8]) -> anyhow::Result<bool> {
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => anyhow::bail!("the server closed a listener's connection"),
                Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).context("listening"),
            }
        }
        let Some(place) = find(&self.bytes[self.searched..], marker) else { return Ok(false) };
        self.searched += place + marker.len();
        Ok(true)
    }
}
