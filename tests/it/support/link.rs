//! The link between a gate and its processes, spoken by hand, from either end.

use super::body::read_line;
use super::connection::{Connection, Stream};
use super::home::{Home, random_hex};
use super::http::Request;
use super::seen::PATIENCE;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// The version of the program under test.
pub(crate) const OURS: &str = env!("CARGO_PKG_VERSION");
/// The version of the link that it speaks.
pub(crate) const VERSION: u16 = 6;

/// An id as the gate writes them, each time a new one.
pub(crate) fn new_id() -> String {
    format!("0{}", &random_hex(13)[..25])
}

/// One end of a link, spoken frame by frame.
pub(crate) struct Link {
    reader: BufReader<Stream>,
    writer: Stream,
    /// Heard while waiting for something else: answers and deliveries come in no order between them.
    aside: Vec<Value>,
}

impl Link {
    #[track_caller]
    pub(crate) fn open(home: &Home) -> Self {
        let mut connection = Connection::open(&home.socket());
        let upgrade = Request::get("/link").header("Connection", "Upgrade").header("Upgrade", "portcullis-link");
        connection.write(&upgrade.bytes(&home.socket(), false));
        connection.patient_for(PATIENCE * 2);
        assert_eq!(connection.read_head().unwrap().status, 101);
        let (reader, writer) = connection.into_parts();
        Self { reader, writer, aside: Vec::new() }
    }

    /// The gate's end: takes the upgrade of whoever has connected.
    #[track_caller]
    pub(crate) fn accepted(stream: UnixStream) -> Self {
        let mut connection = Connection::accepted(stream).unwrap();
        connection.patient_for(PATIENCE * 2);
        let (mut reader, mut writer) = connection.into_parts();
        while !read_line(&mut reader).unwrap().is_empty() {}
        let upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: portcullis-link\r\n\r\n";
        writer.write_all(upgraded.as_bytes()).unwrap();
        Self { reader, writer, aside: Vec::new() }
    }

    #[track_caller]
    pub(crate) fn welcomed(home: &Home) -> Self {
        let mut link = Self::open(home);
        assert!(link.greet(OURS, VERSION, VERSION)["welcome"].is_object());
        link
    }

    pub(crate) fn greet(&mut self, program: &str, min: u16, max: u16) -> Value {
        self.say(&json!({"hello": {"min": min, "max": max, "program": program}}));
        self.hear()
    }

    #[track_caller]
    pub(crate) fn attach(&mut self, session: &str, wrote: &[String], holding: &[String]) {
        let about = json!({"label": "by hand", "connected_by": "test"});
        self.tell(1, &json!({"attach": {"session": session, "about": about, "wrote": wrote, "holding": holding}}));
        assert_eq!(self.answer(1), "ok");
    }

    /// A message of a session's process, with its number.
    pub(crate) fn tell(&mut self, n: u64, message: &Value) {
        self.say(&json!({"n": n, "message": message}));
    }

    pub(crate) fn say(&mut self, frame: &Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).unwrap();
    }

    /// Any bytes, and then nothing more.
    pub(crate) fn pour(mut self, bytes: &[u8]) {
        // The gate may hang up in the middle of it.
        self.writer.write_all(bytes).ok();
    }

    /// The next frame that is no answer; null when the gate has closed the link.
    #[track_caller]
    pub(crate) fn hear(&mut self) -> Value {
        self.next(|frame| frame["done"].is_null())
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, n: u64) -> Value {
        self.next(|frame| frame["done"]["n"] == n)["done"]["answer"].clone()
    }

    #[track_caller]
    fn next(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.aside.iter().position(&wanted) {
            return self.aside.remove(place);
        }
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return Value::Null;
            }
            let frame: Value = serde_json::from_str(&line).unwrap();
            if wanted(&frame) {
                return frame;
            }
            self.aside.push(frame);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.writer.shut();
    }
}
