//! Many connections and the session's output on one thread: each connection posts its next event when the last was
//! answered, and the clock stops when the session has them all.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use mio::net::TcpStream;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::http::{answer_length, post};
use crate::ledger::Ledger;
use crate::session::{PATIENCE, Session};

/// How a flood went.
pub(crate) struct Flood {
    pub(crate) events: usize,
    pub(crate) took: Duration,
}

impl Flood {
    pub(crate) fn rate(&self) -> f64 {
        self.events as f64 / self.took.as_secs_f64()
    }
}

/// The load: how many connections, events on each, and bytes in each. With several sessions, connections take turns.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) connections: usize,
    pub(crate) events_each: usize,
    pub(crate) size: usize,
    /// The path of the connection's events.
    pub(crate) path: &'a dyn Fn(usize) -> String,
}

/// What the session's output is known by; connections are known by their numbers.
fn output_token(session: usize) -> Token {
    Token(usize::MAX - 1 - session)
}

pub(crate) fn flood(address: SocketAddr, sessions: &mut [&mut Session], load: Load<'_>) -> anyhow::Result<Flood> {
    let mut poll = Poll::new()?;
    let mut ledger = Ledger::new(load.connections, load.size);
    let mut posters = (0..load.connections)
        .map(|number| Poster::open(address, number, load, &mut ledger, &poll))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut outputs = vec![];
    for (number, session) in sessions.iter().enumerate() {
        session.stdout.set_nonblocking(true)?;
        let interest = Interest::READABLE;
        poll.registry().register(&mut SourceFd(&session.stdout.as_raw_fd()), output_token(number), interest)?;
        outputs.push(vec![]);
    }

    let events = load.connections * load.events_each;
    let (mut lines, mut answers) = (0, 0);
    let mut ready = Events::with_capacity(1024);
    // Made once: to fill it with zeros for each read took longer than the read, and the more sessions the more of them.
    let mut chunk = vec![0; 256 << 10];
    let start = Instant::now();
    for poster in &mut posters {
        poster.send()?;
    }
    while lines < events || answers < events {
        poll.poll(&mut ready, Some(PATIENCE))?;
        ensure!(!ready.is_empty(), "{lines} of {events} events came, {answers} were answered, then silence");
        for event in &ready {
            match posters.get_mut(event.token().0) {
                Some(poster) => answers += poster.ready()?,
                None => {
                    let number = output_token(0).0 - event.token().0;
                    lines += drain(sessions[number], &mut chunk, &mut outputs[number])?;
                }
            }
        }
    }
    let took = start.elapsed();

    for (session, output) in sessions.iter_mut().zip(&outputs) {
        poll.registry().deregister(&mut SourceFd(&session.stdout.as_raw_fd()))?;
        session.stdout.set_nonblocking(false)?;
        for line in output.strip_suffix(b"\n").context("half a line")?.split(|byte| *byte == b'\n') {
            ledger.take(line)?;
        }
    }
    ledger.close()?;
    Ok(Flood { events, took })
}

/// Reads all there is. Returns how many lines it was; what is in them is looked at when the clock has stopped.
fn drain(session: &mut Session, chunk: &mut [u8], output: &mut Vec<u8>) -> anyhow::Result<usize> {
    let mut lines = 0;
    loop {
        let count = match session.stdout.read(chunk) {
            Ok(0) => anyhow::bail!("the server ended"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(lines),
            Err(error) => return Err(error).context("reading what the server said"),
        };
        lines += chunk[..count].iter().filter(|byte| **byte == b'\n').count();
        output.extend_from_slice(&chunk[..count]);
        // Less than was asked for is all there was; the next byte wakes us again.
        if count < chunk.len() {
            return Ok(lines);
        }
    }
}

/// One connection that posts.
struct Poster {
    stream: TcpStream,
    /// Still to be sent, last first.
    requests: Vec<Vec<u8>>,
    /// How much of the last of them was written.
    written: usize,
    answer: Vec<u8>,
}

impl Poster {
    fn open(
        address: SocketAddr,
        number: usize,
        load: Load<'_>,
        ledger: &mut Ledger,
        poll: &Poll,
    ) -> anyhow::Result<Self> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let path = (load.path)(number);
        let mut requests: Vec<Vec<u8>> =
            (0..load.events_each).map(|_| post(address, &path, &ledger.next(number))).collect();
        requests.reverse();
        Ok(Self { stream, requests, written: 0, answer: Vec::with_capacity(1024) })
    }

    /// Writes as much of the next request as the connection takes.
    fn send(&mut self) -> anyhow::Result<()> {
        let Some(request) = self.requests.last() else { return Ok(()) };
        while self.written < request.len() {
            match self.stream.write(&request[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("posting an event"),
            }
        }
        Ok(())
    }

    fn is_sent(&self) -> bool {
        self.requests.last().is_some_and(|request| self.written == request.len())
    }

    /// The connection can be read or written. Returns how many answers came.
    fn ready(&mut self) -> anyhow::Result<usize> {
        if !self.is_sent() {
            self.send()?;
        }
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => anyhow::bail!("the server closed a connection"),
            Ok(count) => self.answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error).context("reading an answer"),
        }
        let Some(length) = answer_length(&self.answer)? else { return Ok(0) };
        ensure!(length == self.answer.len() && self.is_sent(), "an answer to nothing");
        self.answer.clear();
        self.requests.pop();
        self.written = 0;
        self.send()?;
        Ok(1)
    }
}
