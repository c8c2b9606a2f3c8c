//! Plain requests: a `POST /` of a known credential that is there whole and says nothing out of the ordinary is answered
//! here, without the HTTP server. They are what comes by the thousand.
//!
//! Everything else goes to the server with all that was read of it: other routes and queries, headers that are not in [`PlainPost`],
//! any that stands twice, heads and bodies that come in pieces, and whatever the guard would refuse. So nothing is refused
//! here, and whoever is slow meets the limits of the server.

mod known_head;

use std::cell::RefCell;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;

use axum::response::Response;
use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use hyper::header::CONNECTION;
use portcullis_core::{Answer, ChatId, EventId};
use portcullis_wire::routes::Operation;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::Door;
use super::access::{Permitted, limit, permit};
use super::body::is_common_text;
use super::credentials::{Caller, token_in};
use super::guard::is_ours;
use super::response::ErrorStyle;
use super::say::{Taken, answered, say_plainly};
use crate::hub::TcpConnection;
use known_head::KnownHead;

/// Bytes of the largest plain request, head and body.
const LARGEST: usize = 8 << 10;

/// Answers plain requests for as long as they come. Returns what was read of the first other one, or none when the
/// connection is over.
pub(super) async fn serve<S>(
    stream: &mut S,
    address: SocketAddr,
    connection: TcpConnection,
    door: &Door,
) -> Option<BytesMut>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let idle_time = door.limits.idle_time;
    let (mut stopped, mut idle) = (pin!(door.stop.cancelled()), pin!(sleep(idle_time)));
    let (mut buffer, mut answers) = (BytesMut::with_capacity(LARGEST), AnswerWriter::default());
    let (mut last, mut known) = (Instant::now(), KnownHead::default());
    loop {
        if buffer.is_empty() {
            // All of it is free again.
            buffer.reserve(LARGEST);
            tokio::select! {
                biased;
                read = stream.read_buf(&mut buffer) => if !matches!(read, Ok(1..)) { return None },
                () = &mut stopped => return None,
                () = &mut idle => {
                    // It is set for the first wait alone, and rings early for a later one.
                    if last.elapsed() >= idle_time {
                        return None;
                    }
                    idle.as_mut().reset(last + idle_time);
                    continue;
                }
            }
            last = Instant::now();
        }
        let (read, caller, next) = match known.read(&buffer) {
            Some(read) => {
                let caller = known.caller(door, connection);
                (read, caller, None)
            }
            None => {
                let Some(read) = PlainPost::read(&buffer, address) else { return Some(buffer) };
                let caller = door.credentials.caller_by_token(read.0.token, connection);
                let next = KnownHead::of(&buffer, &read, &caller);
                (read, caller, next)
            }
        };
        let (request, size) = read;
        let Some(permitted) = request.enter(caller, door) else { return Some(buffer) };
        let style = ErrorStyle::in_words(request.names_sender);
        let answer = match say_plainly(door, permitted, request.label, request.text).await {
            Ok(taken) => answers.taken(&taken).await,
            Err(fault) => answers.written(style.refuse(&fault)).await,
        };
        if let Some(next) = next {
            known = next;
        }
        buffer.advance(size);
        let mut writing = pin!(stream.write_all(answer.bytes));
        let at_once = poll_fn(|context| Poll::Ready(writing.as_mut().poll(context))).await;
        let written = match at_once {
            Poll::Ready(written) => written.is_ok(),
            // Small as it is, a client that does not read it is not waited for any longer than elsewhere.
            Poll::Pending => matches!(timeout(idle_time, writing).await, Ok(Ok(()))),
        };
        if !written || answer.is_last {
            return None;
        }
    }
}

/// A request that is read without the server.
#[derive(Debug, PartialEq, Eq)]
struct PlainPost<'a> {
    token: &'a str,
    /// The header of the channel documents stands beside the token, which is what counts.
    names_sender: bool,
    /// The session that it is for, where the query names one and nothing else.
    label: Option<&'a str>,
    text: &'a str,
}

impl<'a> PlainPost<'a> {
    /// The request that the bytes begin with, and how many of them it is. None for anything but a plain one, whole and for
    /// this gate.
    fn read(bytes: &'a [u8], address: SocketAddr) -> Option<(Self, usize)> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else { return None };
        if (request.method, request.version) != (Some("POST"), Some(1)) {
            return None;
        }
        let label = match request.path? {
            "/" => None,
            path => Some(path.strip_prefix("/?label=").filter(|label| is_plain_label(label))?),
        };
        let mut known = [None; HEADERS.len()];
        for header in request.headers.iter() {
            let place = HEADERS.iter().position(|name| name.eq_ignore_ascii_case(header.name))?;
            // What is not ASCII, or stands twice, is for the server to judge.
            let value = std::str::from_utf8(header.value).ok().filter(|value| is_visible(value))?;
            if known[place].replace(value).is_some() {
                return None;
            }
        }
        let [host, authorization, length, kind, accept, connection, sender, ..] = known;
        let is_plain = host.is_some_and(|host| is_ours(host, address))
            && kind.is_none_or(is_common_text)
            && accept.is_none_or(|accept| accept == "*/*")
            && connection.is_none_or(|connection| connection.eq_ignore_ascii_case("keep-alive"));
        let length = length.filter(|_| is_plain).map(str::as_bytes).and_then(number)?;
        let body = bytes.get(head..head + length)?;
        let text = std::str::from_utf8(body).ok().filter(|text| !text.is_empty())?;
        Some((Self { token: token_in(authorization?)?, names_sender: sender.is_some(), label, text }, head + length))
    }

    /// The sender, if the guard lets them in. Whom it does not, the server tells why.
    fn enter(&self, caller: Caller, door: &Door) -> Option<Permitted> {
        let route = Operation::Say.route();
        if self.text.len() > door.limits.body {
            return None;
        }
        // A page sends JSON elsewhere; that a device was used is noted by the server.
        let permitted = permit(route, caller).ok().flatten().filter(|permitted| permitted.device().is_none())?;
        limit(route, door, &permitted).ok().map(|()| permitted)
    }
}

/// Headers of a plain request. None of the last three changes anything.
const HEADERS: [&str; 10] = [
    "host",
    "authorization",
    "content-length",
    "content-type",
    "accept",
    "connection",
    "x-sender",
    "user-agent",
    "accept-encoding",
    "accept-language",
];

/// One that stands twice is found out.
const MOST_HEADERS: usize = HEADERS.len() + 1;

/// Whether a label stands in a query as it is.
fn is_plain_label(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_visible(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A length as everyone writes it.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// Writes answers as the server does.
#[derive(Default)]
struct AnswerWriter {
    bytes: Vec<u8>,
}

thread_local! {
    /// The second since 1970, and the line that is said in it, for all connections: each would write it anew.
    static DATE: RefCell<(i64, String)> = const { RefCell::new((0, String::new())) };
}

/// An answer, to be written as it is.
struct AnswerBytes<'a> {
    bytes: &'a [u8],
    is_last: bool,
}

impl AnswerWriter {
    async fn taken(&mut self, taken: &Taken) -> AnswerBytes<'_> {
        match (&taken.answer, &taken.origin) {
            (Answer::Accepted { event, chat, not_a_verdict: None, .. }, None) if is_visible(chat.as_str()) => {
                self.accepted(*event, chat)
            }
            _ => self.written(answered(taken, false)).await,
        }
    }

    /// What nearly every request is answered.
    fn accepted(&mut self, event: EventId, chat: &ChatId) -> AnswerBytes<'_> {
        self.begin(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\nx-event-id: ");
        self.bytes.extend_from_slice(event.text().as_bytes());
        self.bytes.extend_from_slice(b"\r\nx-chat-id: ");
        self.bytes.extend_from_slice(chat.as_str().as_bytes());
        self.bytes.extend_from_slice(b"\r\ncontent-length: 2\r\n");
        self.end(b"ok");
        AnswerBytes { bytes: &self.bytes, is_last: false }
    }

    async fn written(&mut self, response: Response) -> AnswerBytes<'_> {
        let (parts, body) = response.into_parts();
        // Every answer of this route is a text that is there.
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let (status, reason) = (parts.status.as_str(), parts.status.canonical_reason().unwrap_or_default());
        self.begin(format!("HTTP/1.1 {status} {reason}\r\n").as_bytes());
        for (name, value) in &parts.headers {
            self.line(name.as_str().as_bytes(), value.as_bytes());
        }
        self.line(b"content-length", body.len().to_string().as_bytes());
        self.end(&body);
        AnswerBytes { bytes: &self.bytes, is_last: parts.headers.contains_key(CONNECTION) }
    }

    fn begin(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }

    fn line(&mut self, name: &[u8], value: &[u8]) {
        for part in [name, b": ", value, b"\r\n"] {
            self.bytes.extend_from_slice(part);
        }
    }

    fn end(&mut self, body: &[u8]) {
        let now = chrono::Utc::now();
        DATE.with_borrow_mut(|(second, line)| {
            if *second != now.timestamp() {
                *second = now.timestamp();
                *line = now.format("date: %a, %d %b %Y %H:%M:%S GMT\r\n\r\n").to_string();
            }
            self.bytes.extend_from_slice(line.as_bytes());
        });
        self.bytes.extend_from_slice(body);
    }
}

#[cfg(test)]
mod tests;
