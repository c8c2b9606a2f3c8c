//! Too much of everything: memory stays bounded, refusals say when to come back, and everyone else is served.

use crate::support::connection::Connection;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, until};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const MEGABYTE: u64 = 1 << 20;

#[test]
fn a_stalled_session_uses_little_memory_and_gets_every_event_in_order_later() {
    let home = Home::new();
    home.write_config("durability = \"process\"\n");
    home.fix("PORTCULLIS_TEST_SESSION_BYTES", 16 << 20);
    let gate = home.serve();
    let mut stalled = Stalled::start(&home, "stalled");
    let well = StandIn::start(&home, &["--label", "well"]);
    home.attached(2);
    let before = memory(gate.pid());
    let mut sender = Connection::open(&gate.target());
    let mut accepted = Vec::new();
    let refused = loop {
        let text = format!("{:04} {}", accepted.len(), "x".repeat(64 << 10));
        let answer = sender.send(&Request::post("/?label=stalled").token(home.token()).body(text));
        match answer.status {
            200 => accepted.push(answer.event_id()),
            _ => break answer.expect(503),
        }
        assert!(accepted.len() < 1000, "there is no end to it");
    };
    assert!(refused.header("retry-after").is_some() && refused.text().contains("waiting already"), "{refused}");
    assert!(accepted.len() > 200, "sixteen megabytes have room for {}", accepted.len());
    let grown = memory(gate.pid()).saturating_sub(before);
    assert!(grown < 64 * MEGABYTE, "the gate has grown by {grown} bytes");
    let channel = memory(stalled.child.id());
    assert!(channel < 64 * MEGABYTE, "the channel has {channel} bytes");
    gate.say("/?label=well", "hello").expect(200);
    assert_eq!(well.next_event().content, "hello");

    let heard = stalled.read_events(accepted.len());
    assert!(heard == accepted, "{} of {} came in order", heard.len(), accepted.len());
    until("room", || (gate.say("/?label=stalled", "more").status == 200).then_some(()));
}

#[test]
fn a_listener_that_never_reads_uses_little_memory_and_is_disconnected() {
    let home = Home::new();
    home.write_config("durability = \"process\"\n[limits]\nidle_seconds = 1\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    gate.say("/?chat=c", "hello").expect(200);
    session.next_event();
    let stuck: Vec<Connection> = ["/events", "/api/v1/watch"]
        .iter()
        .map(|path| {
            let mut stuck = Connection::open(&gate.socket());
            stuck.write(&Request::get(path).bytes(&gate.socket(), false));
            stuck
        })
        .collect();
    until("two who listen", || (gate.get("/api/v1/status").json()["watchers"] == 2).then_some(()));
    let reads = gate.events();
    let before = memory(gate.pid());
    for number in 0..40 {
        session.call("reply", &json!({"chat_id": "c", "text": format!("{number} {}", "x".repeat(256 << 10))}));
        assert!(reads.next(PATIENCE).data.starts_with(&format!("Reply to c: {number} ")));
        let grown = memory(gate.pid()).saturating_sub(before);
        assert!(grown < 32 * MEGABYTE, "after {number} replies the gate has grown by {grown} bytes");
    }
    until("one who listens", || (gate.get("/api/v1/status").json()["watchers"] == 1).then_some(()));
    drop(stuck);
}

#[test]
fn thousands_of_idle_connections_are_held_and_everyone_is_served() {
    let wanted = 10_000;
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let count = wanted.min(open_files().saturating_sub(500));
    let before = memory(gate.pid());
    let mut first = Connection::open(&gate.target());
    let mut idle: Vec<TcpStream> = Vec::new();
    while idle.len() < count {
        // No more at once than the system lets wait at the port. They are taken in the order they came: one that came
        // later is answered, so these are in.
        idle.extend((0..100).map(|_| TcpStream::connect(gate.address()).unwrap()));
        gate.get("/healthz").expect(200);
    }
    let each = memory(gate.pid()).saturating_sub(before) / count as u64;
    assert!(each < 32 << 10, "{count} connections cost {each} bytes each");
    let since = Instant::now();
    for number in 0..20 {
        gate.say("/", &format!("hello {number}")).expect(200);
        session.event_containing(&format!("hello {number}"));
    }
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    first.send(&Request::get("/healthz")).expect(200);
    drop(idle);
    assert!(count >= 2000, "the limit of open files leaves room for {count} connections only");
}

#[test]
fn sessions_and_idle_connections_are_not_cut_by_the_header_timeout() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HEADER", 500);
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let mut idle = Connection::open(&gate.target());
    idle.send(&Request::get("/healthz")).expect(200);
    let watch = Events::open(&gate.socket(), "/api/v1/watch", &[]);
    assert!([watch.next(PATIENCE), watch.next(PATIENCE)][1].data.contains("ready"));
    watch.no_event_within(Duration::from_millis(1250));
    idle.send(&Request::get("/healthz")).expect(200);
    gate.say("/", "still there").expect(200);
    assert_eq!(session.next_event().content, "still there");
}

#[test]
fn a_slow_head_is_cut_off_and_a_slow_body_only_when_it_falls_silent() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HEADER", 500);
    home.fix("PORTCULLIS_TEST_IDLE", 1000);
    let gate = home.serve();
    let mut head = Connection::open(&gate.target());
    let written = drip(&mut head, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    head.rest(PATIENCE).expect("it is closed");
    assert!(written < Duration::from_secs(10), "{written:?}");

    let begin = |length: usize| {
        let token = home.token();
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let mut silent = Connection::open(&gate.target());
    silent.write(begin(99999).as_bytes());
    silent.write(b"and no more");
    assert!(silent.answer().expect(408).text().contains("in time"));
    assert_eq!(gate.get("/api/v1/events").json(), json!([]));

    // This process may itself be held up for a second; then it is tried again.
    until("a body that takes longer in all", || {
        let mut steady = Connection::open(&gate.target());
        steady.write(begin(30).as_bytes());
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(50));
            steady.try_write(b"x").ok()?;
        }
        (steady.answer().status == 200).then_some(())
    });
}

#[test]
fn a_body_of_a_hundred_megabytes_is_refused_before_it_is_read() {
    let home = Home::new();
    let gate = home.serve();
    let before = memory(gate.pid());
    let head = |path: &str, length: &str| {
        let token = home.token();
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{length}\r\n\r\n")
    };
    for path in ["/", "/api/v1/events", "/api/v1/asks/abcde/verdict", "/api/v1/tokens", "/any/path"] {
        let mut declared = Connection::open(&gate.target());
        declared.write(head(path, "Content-Length: 104857600").as_bytes());
        let answer = declared.answer().expect(413);
        assert_eq!(answer.header("connection"), Some("close"), "{path}");

        let mut endless = Connection::open(&gate.target());
        endless.write(head(path, "Transfer-Encoding: chunked").as_bytes());
        let chunk = [b"100000\r\n".as_slice(), &[b'x'; 1 << 20], b"\r\n"].concat();
        let sent = (0..100).take_while(|_| endless.try_write(&chunk).is_ok()).count();
        assert!(sent < 100, "{path}: all of it was taken");
    }
    let mut stranger = Connection::open(&gate.target());
    stranger.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n");
    stranger.answer().expect(403);
    let grown = memory(gate.pid()).saturating_sub(before);
    assert!(grown < 32 * MEGABYTE, "the gate has grown by {grown} bytes");
    assert_eq!(gate.get("/api/v1/events").json(), json!([]));
    gate.say("/", &"x".repeat(1 << 20)).expect(200);
}

#[test]
fn a_prompt_of_twelve_megabytes_is_accepted_and_its_preview_is_cut() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    let listener = gate.events();
    let large = "y".repeat(12 << 20);
    let answer = session.call_raw(&json!({"jsonrpc": "2.0", "id": "large", "method": "ping", "params": {"x": large}}));
    assert_eq!(answer["result"], json!({}));
    session.ask("abcde", "Write", "Write a large file", &large);
    let shown = listener.containing("abcde").data;
    assert!(shown.len() < 300 << 10 && shown.contains("more bytes are not shown here"), "{}", shown.len());
    gate.say("/", "no abcde").expect(200);
    assert_eq!(session.next_verdict().behavior, "deny");
}

#[test]
fn an_overloaded_gate_answers_503_and_keeps_what_it_accepted() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_QUEUE", 16);
    let gate = home.serve();
    // All of them come and speak before it hears any.
    gate.signal(Signal::STOP);
    let mut senders: Vec<Connection> = (0..1000).map(|_| Connection::open(&gate.target())).collect();
    for (number, sender) in senders.iter_mut().enumerate() {
        let request = Request::post("/").token(home.token()).body(format!("hello {number}"));
        sender.write(&request.bytes(&gate.target(), false));
    }
    gate.signal(Signal::CONT);
    let answers: Vec<_> = senders.iter_mut().map(Connection::answer).collect();
    let accepted = answers.iter().filter(|answer| answer.status == 200).count();
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused}");
    }
    assert!((16..1000).contains(&accepted), "{accepted} were accepted");
    let kept = gate.get("/api/v1/events?limit=1000").json();
    assert_eq!(kept.as_array().unwrap().len(), accepted);
}

/// A session whose client has greeted, and reads nothing until it is told to.
struct Stalled {
    child: Child,
}

impl Stalled {
    fn start(home: &Home, label: &str) -> Self {
        let mut command = StandIn::command(home, &["--label", label]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                            "clientInfo": {"name": "stalled", "version": "1"}});
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(child.stdin.as_ref().unwrap(), "{initialize}\n{initialized}").unwrap();
        Self { child }
    }

    /// The ids of this many events, as they come.
    fn read_events(&mut self, count: usize) -> Vec<String> {
        let mut lines = BufReader::new(self.child.stdout.as_mut().unwrap()).lines();
        let mut next = move || loop {
            let line: Value = serde_json::from_str(&lines.next()?.ok()?).ok()?;
            if line["method"] == "notifications/claude/channel" {
                return Some(line["params"]["meta"]["event_id"].as_str()?.to_owned());
            }
        };
        (0..count).map_while(|_| next()).collect()
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}

/// Writes and goes on with a byte now and then, until nobody takes them any more. Returns how long that took.
fn drip(connection: &mut Connection, begin: &[u8]) -> Duration {
    let since = Instant::now();
    connection.write(begin);
    while since.elapsed() < PATIENCE && connection.try_write(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
    since.elapsed()
}

/// What a process has in memory.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// How many files this test may have open, after asking for as many as there are.
fn open_files() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).ok();
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
