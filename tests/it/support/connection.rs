//! One connection to the gate, over TCP or its Unix socket, on which a test may also send what no client would.

use super::body::{Body, broken, read_line};
use super::http::{Answer, Request};
use super::seen::{OrFail, PATIENCE, until};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

pub(crate) struct Connection {
    reader: BufReader<Stream>,
    writer: Stream,
    target: Target,
}

/// A socket whose reads and writes end at one deadline, however slowly the bytes drip.
pub(crate) struct Stream {
    socket: Socket,
    deadline: Option<Instant>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The start of an answer, before its body is read.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Target {
    /// What an honest client writes in `Host`.
    pub(crate) fn host(&self) -> String {
        match self {
            Self::Tcp(address) => address.to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl Connection {
    /// Sends an event again and again until it is accepted, on one connection for as long as that lasts.
    /// Returns the id of the event.
    #[track_caller]
    pub(crate) fn send_until_accepted(kept: &mut Option<Self>, target: &Target, request: &Request) -> String {
        until("an event that is accepted", || {
            let mut open = kept.take().or_else(|| Self::try_open(target).ok())?;
            let answer = open.exchange(request, false).ok().filter(|answer| answer.status == 200)?;
            if answer.header("connection") != Some("close") {
                *kept = Some(open);
            }
            Some(answer.header("x-event-id")?.to_owned())
        })
    }

    #[track_caller]
    pub(crate) fn open(target: &Target) -> Self {
        Self::try_open(target).or_fail(|error| format!("connecting to {target:?}: {error}"))
    }

    pub(crate) fn try_open(target: &Target) -> io::Result<Self> {
        let socket = match target {
            Target::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE)?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            Target::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        Self::over(socket, target.clone())
    }

    /// The other end of a connection that somebody made to us.
    pub(crate) fn accepted(stream: UnixStream) -> io::Result<Self> {
        Self::over(Socket::Unix(stream), Target::Unix(PathBuf::new()))
    }

    fn over(socket: Socket, target: Target) -> io::Result<Self> {
        let stream = Stream { socket, deadline: None };
        Ok(Self { writer: stream.again()?, reader: BufReader::new(stream), target })
    }

    /// Sends and reads the whole answer; the connection stays open for the next one if the peer agrees.
    #[track_caller]
    pub(crate) fn send(&mut self, request: &Request) -> Answer {
        self.exchange(request, false).or_fail(|error| format!("{request}: {error}"))
    }

    /// Writes while it reads: a server may refuse a large body long before it has come.
    pub(crate) fn exchange(&mut self, request: &Request, last: bool) -> io::Result<Answer> {
        let bytes = request.bytes(&self.target, last);
        let deadline = Some(Instant::now() + PATIENCE);
        self.reader.get_mut().deadline = deadline;
        let mut writer = self.writer.again()?;
        writer.deadline = deadline;
        std::thread::scope(|scope| {
            // A failed write is not the answer; what the server said before it closed is.
            scope.spawn(move || writer.write_all(&bytes).ok());
            let answer = self.read_answer(request.method());
            if last || answer.is_err() {
                // Releases a writer whose bytes nobody will read any more.
                self.writer.shut();
            }
            answer
        })
    }

    #[track_caller]
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).or_fail(|error| format!("writing to {:?}: {error}", self.target));
    }

    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.deadline = Some(Instant::now() + PATIENCE);
        self.writer.write_all(bytes)
    }

    /// Waits until the gate asks for the body of a request that said `Expect: 100-continue`.
    #[track_caller]
    pub(crate) fn is_asked_for_the_body(&mut self) {
        self.patient_for(PATIENCE);
        let line = read_line(&mut self.reader).unwrap();
        assert!(line.starts_with("HTTP/1.1 100 "), "{line}");
        while !read_line(&mut self.reader).unwrap().is_empty() {}
    }

    /// Reads the answer to something sent with `write`.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.reader.get_mut().deadline = Some(Instant::now() + PATIENCE);
        self.read_answer("GET").or_fail(|error| format!("reading an answer from {:?}: {error}", self.target))
    }

    /// Reads until the peer closes, or fails with `TimedOut` when it does not.
    pub(crate) fn rest(&mut self, within: Duration) -> io::Result<Vec<u8>> {
        self.reader.get_mut().deadline = Some(Instant::now() + within);
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
            _ => Ok(bytes),
        }
    }

    fn read_answer(&mut self, method: &str) -> io::Result<Answer> {
        let head = self.read_head()?;
        let mut body = Vec::new();
        Body::after(&mut self.reader, method, &head)?.read_to_end(&mut body)?;
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    pub(crate) fn read_head(&mut self) -> io::Result<Head> {
        loop {
            let status_line = read_line(&mut self.reader)?;
            let status = status_line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
            let status: u16 = status.ok_or_else(|| broken(format!("no status line: {status_line:?}")))?;
            let mut headers = Vec::new();
            loop {
                let line = read_line(&mut self.reader)?;
                if line.is_empty() {
                    break;
                }
                let (name, value) = line.split_once(':').ok_or_else(|| broken(format!("no header: {line:?}")))?;
                headers.push((name.to_owned(), value.trim().to_owned()));
            }
            // 1xx announces; 101 is the answer itself.
            if status >= 200 || status == 101 {
                return Ok(Head { status, headers });
            }
        }
    }

    pub(crate) fn into_parts(self) -> (BufReader<Stream>, Stream) {
        (self.reader, self.writer)
    }

    /// For streams that live as long as the test: no deadline on reads from here on.
    pub(crate) fn read_for_ever(&mut self) {
        self.reader.get_mut().deadline = None;
    }

    pub(crate) fn patient_for(&mut self, within: Duration) {
        self.reader.get_mut().deadline = Some(Instant::now() + within);
    }
}

impl Stream {
    fn again(&self) -> io::Result<Self> {
        let socket = match &self.socket {
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
        };
        Ok(Self { socket, deadline: self.deadline })
    }

    pub(crate) fn shut(&self) {
        let shut = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
        // The peer may have been faster.
        shut.ok();
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(deadline) = self.deadline else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        in_time(match &mut self.socket {
            Socket::Tcp(stream) => stream.set_read_timeout(left).and_then(|()| stream.read(into)),
            Socket::Unix(stream) => stream.set_read_timeout(left).and_then(|()| stream.read(into)),
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        in_time(match &mut self.socket {
            Socket::Tcp(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
            Socket::Unix(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The system calls a socket's timeout "would block", which reads like a fault.
fn in_time<T>(done: io::Result<T>) -> io::Result<T> {
    done.map_err(|error| if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error })
}
