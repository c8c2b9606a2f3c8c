//! What is read and answered here is what the server reads and answers.

use std::convert::Infallible;
use std::sync::Mutex;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use portcullis_core::{Moment, NotAVerdict};
use portcullis_wire::error::{Fault, Kind};
use proptest::prelude::*;

use super::*;
use crate::doors::http::{body, credentials, guard, response, say};

const HERE: &str = "127.0.0.1:8788";

fn here() -> SocketAddr {
    HERE.parse().unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A request as the server read it.
struct ServerRead {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// Gives the server these bytes and nothing more. Returns the first request that it saw, and all that it answered.
async fn by_server(bytes: &[u8], answer: impl Fn() -> Response) -> (Option<ServerRead>, Vec<u8>) {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    client.write_all(bytes).await.unwrap();
    client.shutdown().await.unwrap();
    let first = Mutex::new(None);
    let (first_read, answer) = (&first, &answer);
    let service = service_fn(move |request: Request<Incoming>| async move {
        let (parts, body) = request.into_parts();
        if let Ok(body) = body.collect().await {
            let body = body.to_bytes().to_vec();
            let (method, target, headers) = (parts.method, parts.uri.to_string(), parts.headers);
            first_read.lock().unwrap().get_or_insert(ServerRead { method, target, headers, body });
        }
        Ok::<_, Infallible>(answer())
    });
    // It would take an end of the input for the end of everything.
    let mut serving = hyper::server::conn::http1::Builder::new();
    drop(serving.half_close(true).serve_connection(TokioIo::new(server), service).await);
    let mut said = vec![];
    client.read_to_end(&mut said).await.unwrap();
    (first.into_inner().unwrap(), said)
}

fn any_line() -> impl Strategy<Value = String> {
    let usual = r"(Host: (127\.0\.0\.1|localhost|LOCALHOST)(:8788)?|[Aa]uthorization: [Bb]earer +right|Content-Type: (text/plain|application/json)|User-Agent: x|Accept: \*/\*|Connection: [Kk]eep-[Aa]live|X-Sender: dev|Accept-Encoding: gzip)";
    let unusual = r"(Host: evil(:8788)?|HOST: localhost:1|Authorization: (Basic right|Bearer wrong|right)|Content-Type: (image/png|text/plain; charset=utf-8|multipart/x)|Content-Encoding: gzip|Accept: application/json|Connection: (close|upgrade)|Origin: (null|http://evil|http://localhost:8788)|Sec-Fetch-Site: (none|cross-site)|Transfer-Encoding: chunked|Expect: 100-continue|Idempotency-Key: k|Content-Length: [0-9+x]{0,3}|x: \x7f?ä?| folded|Host : localhost|:|x)";
    prop_oneof![6 => usual.boxed(), 1 => unusual.boxed()]
}

/// Bytes that are nearly, and often, a plain request.
fn any_request() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        8 => Just("POST / HTTP/1.1".to_owned()),
        2 => r"POST /\?label=[a-z0-9._+%&=A-]{0,6} HTTP/1\.1",
        1 => r"(POST|GET|PUT|post) (/|/\?a=b|/x|\*|http://localhost/|//|/\?label=a&label=b) HTTP/(1\.1|1\.0|2\.0)( x)?",
    ];
    let body = prop_oneof![4 => "(hello|ä|\n|yes abcde|\\{\\}| |x){1,9}".prop_map(String::into_bytes), 1 => prop::collection::vec(any::<u8>(), 0..20)];
    let surely = prop::bool::weighted(0.8);
    let off = prop_oneof![8 => Just(0_i64), 1 => -3..4_i64];
    let end = prop_oneof![8 => Just("\r\n"), 1 => Just("\n")];
    (first, prop::collection::vec(any_line(), 0..5), surely, body, off, end).prop_map(
        |(first, mut lines, surely, body, off, end)| {
            if surely {
                lines.retain(|line| !line.to_ascii_lowercase().starts_with("host") && !line.contains("uthorization"));
                lines.extend([format!("Host: {HERE}"), "Authorization: Bearer right".to_owned()]);
            }
            lines.insert(0, first);
            lines.push(format!("Content-Length: {}", body.len() as i64 + off));
            [lines.join(end).into_bytes(), end.as_bytes().to_vec(), end.as_bytes().to_vec(), body].concat()
        },
    )
}

proptest! {
    #[test]
    fn any_request_that_is_read_here_is_one_that_the_server_reads_alike(bytes in any_request()) {
        let Some((plain, size)) = PlainPost::read(&bytes, here()) else { return Ok(()) };
        // What comes behind it is another request.
        let (read, _) = run(by_server(&bytes[..size], || Response::new("ok".into())));
        let read = read.expect("the server reads it");
        let target = plain.label.map_or_else(|| "/".to_owned(), |label| format!("/?label={label}"));
        prop_assert_eq!((read.method, &read.target), (Method::POST, &target));
        let to: say::SayTarget = body::read_params(&target.parse().unwrap()).unwrap();
        prop_assert_eq!(to, say::SayTarget { label: plain.label.map(str::to_owned), ..say::SayTarget::default() });
        prop_assert_eq!(read.body, plain.text.as_bytes());
        let headers = &read.headers;
        prop_assert_eq!(credentials::bearer(headers), Some(Some(plain.token)));
        prop_assert_eq!(headers.contains_key("x-sender"), plain.names_sender);
        prop_assert!(guard::check_host(headers, here()).is_ok() && guard::check_origin(headers, here()).is_ok());
        prop_assert!(body::check_type(headers).is_ok() && !response::wants_json(headers));
        prop_assert_eq!(body::idempotency_key(headers).ok().flatten(), None);
        prop_assert!(!headers.contains_key("expect") && headers.get("connection").is_none_or(|value| value != "close"));
    }

    #[test]
    fn any_request_is_read_by_a_known_head_as_it_is_read_without(
        first in any_request(), second in any_request(), digits in "[0-9+ ]{0,3}", body in "[xä]{0,12}",
    ) {
        let Some(read) = PlainPost::read(&first, here()) else { return Ok(()) };
        let known = KnownHead::of(&first, &read, &credentials::Caller::default()).expect("it has a length");
        prop_assert_eq!(known.read(&first), Some(read));
        let text = String::from_utf8_lossy(&first).into_owned();
        let (head, _) = text.split_once("\r\n\r\n").or_else(|| text.split_once("\n\n")).expect("a head");
        let (before, _) = head.rsplit_once(' ').expect("its last header is the length");
        let again = |length: &str| format!("{before} {length}\r\n\r\n{body}").into_bytes();
        for bytes in [second, again(&digits), again(&body.len().to_string())] {
            if let Some(read) = known.read(&bytes) {
                prop_assert_eq!(Some(read), PlainPost::read(&bytes, here()));
            }
        }
        let usual = again(&body.len().to_string());
        if head.contains("\r\n") && !head.replace("\r\n", "").contains('\n') && !body.is_empty() {
            prop_assert!(known.read(&usual).is_some());
        }
    }

    #[test]
    fn any_bytes_are_a_plain_request_or_are_not(bytes: Vec<u8>) {
        prop_assert_eq!(PlainPost::read(&bytes, here()), None);
    }
}

fn request(lines: &str, body: &str) -> String {
    let length = body.len();
    format!("POST / HTTP/1.1\r\nHost: {HERE}\r\n{lines}Content-Length: {length}\r\n\r\n{body}")
}

#[test]
fn what_curl_and_programs_send_is_plain() {
    let curl = request(
        "Authorization: Bearer right\r\nUser-Agent: curl/8\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "main is red",
    );
    let twice = format!("{curl}{curl}");
    let plain = PlainPost { token: "right", names_sender: false, label: None, text: "main is red" };
    assert_eq!(PlainPost::read(twice.as_bytes(), here()), Some((plain, curl.len())), "the second is not touched");
    for half in [&curl[..20], &curl[..curl.len() - 1]] {
        assert_eq!(PlainPost::read(half.as_bytes(), here()), None, "the server waits for the rest");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_not_read_here() {
    let token = "Authorization: Bearer right\r\n";
    for lines in [
        format!("{token}{token}"),
        format!("{token}Host: {HERE}\r\n"),
        format!("{token}Content-Length: 2\r\n"),
        format!("{token}Transfer-Encoding: chunked\r\n"),
        format!("{token}Origin: http://{HERE}\r\n"),
        format!("{token}Idempotency-Key: k\r\n"),
        format!("{token}Accept: application/json\r\n"),
        format!("{token}Connection: close\r\n"),
        format!("{token}Expect: 100-continue\r\n"),
        format!("{token}Content-Type: image/png\r\n"),
        String::new(),
    ] {
        assert_eq!(PlainPost::read(request(&lines, "hello").as_bytes(), here()), None, "{lines}");
    }
    assert!(PlainPost::read(request(token, "hello").as_bytes(), here()).is_some());
}

/// Status, headers in the order of their names, and body. When it was said is said by both, and not the same.
fn parts(said: &[u8]) -> (String, Vec<String>, Vec<u8>) {
    let end = said.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let mut lines = std::str::from_utf8(&said[..end]).unwrap().split("\r\n").map(str::to_owned);
    let status = lines.next().unwrap();
    let mut headers: Vec<String> = lines
        .map(|line| if line.starts_with("date: ") { format!("date: {} letters", line.len()) } else { line })
        .collect();
    headers.sort();
    (status, headers, said[end + 4..].to_vec())
}

#[test]
fn answers_are_written_as_the_server_writes_them() {
    let accepted = |chat: &str, not_a_verdict, origin: Option<&str>| Taken {
        answer: Answer::Accepted {
            event: EventId::new(Moment(1), 7),
            chat: ChatId::new(chat).unwrap(),
            to: None,
            not_a_verdict,
            repeated: false,
        },
        origin: origin.map(str::to_owned),
    };
    for taken in [
        accepted("room 7", None, None),
        accepted("größe", None, None),
        accepted("1", Some(NotAVerdict::NoPromptOpen), None),
        accepted("1", None, Some("sent as agent")),
    ] {
        let (_, by_server) = run(by_server(request("", "x").as_bytes(), || answered(&taken, false)));
        let here = run(async { AnswerWriter::default().taken(&taken).await.bytes.to_vec() });
        assert_eq!(parts(&here), parts(&by_server));
    }
    for kind in [Kind::Busy, Kind::Forbidden, Kind::TooFast] {
        let fault = Fault::new(kind, "no").retry_after(3);
        for style in [ErrorStyle::in_words(false), ErrorStyle::in_words(true)] {
            let (_, by_server) = run(by_server(request("", "x").as_bytes(), || style.refuse(&fault)));
            let here = run(async { AnswerWriter::default().written(style.refuse(&fault)).await.bytes.to_vec() });
            assert_eq!(parts(&here), parts(&by_server));
        }
    }
}
