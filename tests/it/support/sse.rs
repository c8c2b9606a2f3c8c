//! A listener of server-sent events, which keeps every event and comment in the order it came.

use super::body::{Body, broken};
use super::connection::{Connection, Stream, Target};
use super::http::{Answer, Request};
use super::seen::{Missed, OrFail, PATIENCE, Seen};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

pub(crate) struct Events {
    path: String,
    events: Seen<Event>,
    comments: Seen<String>,
    /// Every line as it came, for failure messages.
    lines: Seen<String>,
    socket: Stream,
}

/// One event as it was written: no id is carried over from the event before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: String,
    pub(crate) retry: Option<String>,
    /// Lines of no known field, which a browser would skip in silence.
    pub(crate) unknown: Vec<String>,
}

/// What a line completed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Event(Event),
    Comment(String),
}

#[derive(Default)]
pub(crate) struct Parser {
    event: Event,
    data: Vec<String>,
    begun: bool,
}

impl Events {
    /// Opens the stream and fails unless it is one; a refusal is tested with a plain `Request`.
    #[track_caller]
    pub(crate) fn open(target: &Target, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_open(target, path, headers).or_fail(|error| format!("GET {path}: {error}"))
    }

    /// A stream that is the answer to something sent.
    #[track_caller]
    pub(crate) fn post(target: &Target, path: &str, token: &str, body: &serde_json::Value) -> Self {
        let request = Request::post(path).token(token).json(body);
        Self::of(target, path, &request).or_fail(|error| format!("POST {path}: {error}"))
    }

    /// The same for any request.
    #[track_caller]
    pub(crate) fn answering(target: &Target, request: &Request) -> Self {
        Self::of(target, &request.to_string(), request).or_fail(|error| format!("{request}: {error}"))
    }

    pub(crate) fn try_open(target: &Target, path: &str, headers: &[(&str, &str)]) -> io::Result<Self> {
        let request = Request::get(path).header("Accept", "text/event-stream");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        Self::of(target, path, &request)
    }

    fn of(target: &Target, path: &str, request: &Request) -> io::Result<Self> {
        let mut connection = Connection::try_open(target)?;
        connection.try_write(&request.bytes(target, false))?;
        connection.patient_for(PATIENCE);
        let head = connection.read_head()?;
        let answer = Answer { status: head.status, headers: head.headers.clone(), body: Vec::new() };
        let stream = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if answer.status != 200 || !stream {
            return Err(broken(format!("no event stream: {answer}")));
        }
        connection.read_for_ever();
        let (reader, socket) = connection.into_parts();
        let body = Body::after(reader, "GET", &head)?;
        let events =
            Self { path: path.to_owned(), events: Seen::new(), comments: Seen::new(), lines: Seen::new(), socket };
        events.read(body);
        Ok(events)
    }

    fn read(&self, body: impl Read + Send + 'static) {
        let (events, comments, lines) = (self.events.clone(), self.comments.clone(), self.lines.clone());
        std::thread::spawn(move || {
            let mut parser = Parser::default();
            for line in BufReader::new(body).lines() {
                let line = match line {
                    Ok(line) => line,
                    Err(error) => {
                        lines.push(format!("(the stream broke: {error})"));
                        break;
                    }
                };
                lines.push(line.clone());
                match parser.feed(&line) {
                    Some(Item::Event(event)) => events.push(event),
                    Some(Item::Comment(comment)) => comments.push(comment),
                    None => {}
                }
            }
            events.end();
            comments.end();
            lines.end();
        });
    }

    #[track_caller]
    pub(crate) fn next(&self, within: Duration) -> Event {
        self.events.take(within, |_| true).or_fail(|missed| self.story("the next event", missed))
    }

    /// The oldest event that fits; the others stay for `next`.
    #[track_caller]
    pub(crate) fn wait_for(&self, wanted: impl FnMut(&Event) -> bool) -> Event {
        self.events.take(PATIENCE, wanted).or_fail(|missed| self.story("an event that fits", missed))
    }

    #[track_caller]
    pub(crate) fn containing(&self, text: &str) -> Event {
        let found = self.events.take(PATIENCE, |event| event.data.contains(text));
        found.or_fail(|missed| self.story(&format!("an event with {text:?}"), missed))
    }

    /// The next comment, such as `connected`.
    #[track_caller]
    pub(crate) fn comment(&self) -> String {
        self.comments.take(PATIENCE, |_| true).or_fail(|missed| self.story("a comment", missed))
    }

    #[track_caller]
    pub(crate) fn no_event_within(&self, quiet: Duration) {
        self.events.stays_silent(quiet).or_fail(|broken| format!("{broken}; {}", self.lines()));
    }

    /// Waits until the server closes the stream.
    #[track_caller]
    pub(crate) fn wait_end(&self) {
        assert!(self.lines.ends(PATIENCE), "the stream did not end within {PATIENCE:?}; {}", self.lines());
    }

    /// Every event so far, taken or not.
    pub(crate) fn all(&self) -> Vec<Event> {
        self.events.all()
    }

    fn story(&self, what: &str, missed: Missed) -> String {
        format!("waiting for {what}: {missed}; {}", self.lines())
    }

    fn lines(&self) -> String {
        format!("{} so far:\n{}", self.path, self.lines.all().join("\n"))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.socket.shut();
    }
}

impl Parser {
    /// Takes a line without its line end.
    pub(crate) fn feed(&mut self, line: &str) -> Option<Item> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            event.data = std::mem::take(&mut self.data).join("\n");
            return std::mem::take(&mut self.begun).then_some(Item::Event(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        if field.is_empty() {
            return Some(Item::Comment(value));
        }
        self.begun = true;
        match field {
            "data" => self.data.push(value),
            "id" => self.event.id = Some(value),
            "event" => self.event.event = Some(value),
            "retry" => self.event.retry = Some(value),
            _ => self.event.unknown.push(line.to_owned()),
        }
        None
    }
}
