//! Every route of the table, called by everyone who may come: the gate does what the table says.

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::connection::{Connection, Target};
use crate::support::home::{Home, Ran};
use crate::support::http::{Answer, Request};
use crate::support::push::linked_device;
use crate::support::standin::StandIn;
use portcullis_core::{Right, Role};
use portcullis_wire::error::Kind;
use portcullis_wire::routes::{FromInside, Method, Operation, ROUTES, ResponseBody, Route, RouteAccess};
use serde_json::{Value, json};

/// The route's path, with `x` for each thing it names.
fn path(route: &Route) -> String {
    route.path_params().fold(route.path.to_owned(), |path, name| path.replace(&format!("{{{name}}}"), "x"))
}

/// A request that changes nothing when it is let in: `x` is no JSON, and nothing is called `x`.
fn request(route: &Route) -> Request {
    let request = Request::new(route.method.name(), &path(route)).header("Accept", "application/json");
    if route.method == Method::Get { request } else { request.body("x") }
}

/// The status, and the number of the error if it is one. A stream is left as soon as it has begun.
#[track_caller]
fn send(route: &Route, request: &Request, target: &Target) -> (u16, u64) {
    if !matches!(route.response, ResponseBody::Stream(..)) {
        let answer = request.send(target);
        return (answer.status, error_of(&answer));
    }
    let mut connection = Connection::open(target);
    connection.write(&request.bytes(target, true));
    connection.patient_for(PATIENCE);
    let head = connection.read_head().unwrap();
    if head.status == 200 {
        return (200, 0);
    }
    let body = String::from_utf8(connection.rest(PATIENCE).unwrap()).unwrap();
    // What is no error of ours comes from behind the gate, in words.
    let body: Value = serde_json::from_str(body.trim()).unwrap_or_default();
    (head.status, body["error"].as_u64().unwrap_or_default())
}

fn error_of(answer: &Answer) -> u64 {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body["error"].as_u64().unwrap_or_default()
}

fn number(kind: Kind) -> u64 {
    kind.entry().0.into()
}

#[test]
fn every_route_is_open_to_those_with_its_right_and_to_nobody_else() {
    let home = Home::new();
    let gate = home.serve();
    let known = Role::ALL.map(|role| (Some(home.token_for(role.name(), role.name())), role.rights()));
    let (_, phone) = linked_device(&gate);
    let (lost, key_of_lost) = linked_device(&gate);
    Request::new("DELETE", &format!("/api/v1/devices/{lost}")).token(home.token()).send(&gate.target()).expect(200);
    let device = (Some(phone), Role::Reviewer.rights());
    let strangers = [None, Some("wrong".to_owned()), Some(key_of_lost)];
    let strangers = strangers.map(|token| (token, portcullis_core::Rights::NONE));
    for (token, rights) in known.into_iter().chain([device]).chain(strangers) {
        for route in ROUTES {
            let is_open = match route.access {
                RouteAccess::Anyone => true,
                RouteAccess::AnyOf(needed) => needed.iter().any(|right| rights.has(*right)),
                RouteAccess::Socket => false,
            };
            if is_open && route.operation == Operation::Stop {
                continue;
            }
            let request = token.iter().fold(request(route), |request, token| request.token(token));
            let (status, error) = send(route, &request, &gate.target());
            let who = rights.names().join(", ");
            if is_open {
                let is_answered = status < 500 && !matches!(status, 401 | 403 | 405);
                assert!(is_answered, "{request} with the rights [{who}]: {status} {error}");
            } else {
                let needs_other = matches!(route.access, RouteAccess::AnyOf(needed) if needed[0] != Right::Talk);
                let is_known = rights != portcullis_core::Rights::NONE;
                let kind = match (is_known, needs_other) {
                    (true, true) => Kind::NeedsRight,
                    (false, _) if route.wants_credentials() => Kind::Unauthorized,
                    _ => Kind::Forbidden,
                };
                let expected = (number(kind) / 100, number(kind));
                assert_eq!((u64::from(status), error), expected, "{request} with the rights [{who}]");
            }
        }
    }
    assert!(!gate.has_exited());
    let events = gate.get("/api/v1/events").json();
    assert_eq!(events.as_array().unwrap().len(), 4, "of the sender, the reviewer, the admin and the device: {events}");
}

#[test]
fn loopback_requests_need_credentials() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let in_query = format!("?token={0}&access_token={0}&authorization=Bearer%20{0}", home.token());
    for route in ROUTES.iter().filter(|route| route.access != RouteAccess::Anyone) {
        // The channel documents have 403 for an unknown sender; the API says what HTTP says.
        let unknown = if route.wants_credentials() { 401 } else { 403 };
        let with = |name: &str, value: &str| request(route).header(name, value);
        let with_query = || Request::new(route.method.name(), &format!("{}{in_query}", path(route))).body("x");
        for (what, request) in [
            ("a token in the query", with_query().header("Origin", "null")),
            ("a wrong token", with("Authorization", "Bearer wrong")),
            ("another scheme", with("Authorization", &format!("Basic {}", home.token()))),
            ("two tokens", request(route).token(home.token()).token(home.token())),
            ("a wrong token and a dev sender", with("Authorization", "Bearer x").header("X-Sender", "dev")),
            ("a stranger", with("X-Sender", "eve")),
            ("two senders", with("X-Sender", "dev").header("X-Sender", "eve")),
        ] {
            let answer = request.send(&gate.target());
            let of_page = what == "a token in the query";
            assert_eq!(answer.status, if of_page { 403 } else { unknown }, "{request} with {what}: {answer}");
            let challenge = (answer.status == 401).then_some("Bearer realm=\"portcullis\"");
            assert_eq!(answer.header("www-authenticate"), challenge, "{request} with {what}: {answer}");
        }
        if !route.open_to_dev_sender {
            let answer = with_query().send(&gate.target());
            assert_eq!(answer.status, unknown, "{} with a token in the query alone: {answer}", route.path);
        }
    }
    assert!(!gate.has_exited());
    assert_eq!(gate.get("/api/v1/events").json(), json!([]));
}

#[test]
fn no_route_answers_for_another_host_or_to_a_page_of_another_site() {
    let home = Home::new();
    let gate = home.serve();
    for route in ROUTES {
        for (name, value, kind) in [
            ("Host", "evil.example", Kind::ForeignHost),
            ("Origin", "http://evil.example", Kind::ForeignOrigin),
            ("Sec-Fetch-Site", "cross-site", Kind::ForeignOrigin),
        ] {
            let request = request(route).token(home.token()).header(name, value);
            let refused = send(route, &request, &gate.target());
            assert_eq!(refused, (403, number(kind)), "{request} with {name}: {value}");
        }
    }
    assert!(!gate.has_exited());
}

/// Sends it over the socket from a child of this process.
#[track_caller]
fn send_as_a_child(home: &Home, method: &str, path: &str, body: Option<&str>) -> (u16, Value) {
    let mut curl = home.program("curl");
    curl.args(["-s", "-w", "\n%{http_code}", "-X", method, "-H", "Accept: application/json", "--unix-socket"]);
    curl.arg(home.folder().join("gate.sock")).arg(format!("http://localhost{path}"));
    curl.args(body.iter().flat_map(|body| ["-d", body]));
    let ran = Ran::of(&home.spawn(curl, Stdin::Nothing), PATIENCE).ok();
    let (body, status) = ran.stdout.trim_end().rsplit_once('\n').unwrap_or(("", ran.stdout.trim()));
    (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn a_process_inside_an_agent_is_refused_where_the_table_says_so() {
    let home = Home::new();
    let gate = home.serve();
    // The gate takes this process for the agent, and so its children for what the agent runs.
    let _session = StandIn::start(&home, &["--label", "here"]);
    home.attached(1);
    let mut tried_in_vain = vec![];
    for route in ROUTES {
        let ends_or_hangs = route.operation == Operation::Stop || matches!(route.response, ResponseBody::Stream(..));
        let body = (route.method != Method::Get).then_some("x");
        match route.from_inside {
            FromInside::Served if ends_or_hangs => {}
            FromInside::Served | FromInside::VerdictsRefused => {
                let (status, answer) = send_as_a_child(&home, route.method.name(), &path(route), body);
                assert_ne!(answer["error"], number(Kind::FromInside), "{} {status}", route.path);
            }
            FromInside::Refused(tried) => {
                let (status, answer) = send_as_a_child(&home, route.method.name(), &path(route), body);
                assert_eq!((status, &answer["error"]), (403, &json!(number(Kind::FromInside))), "{}", route.path);
                assert_eq!(answer["message"], "refused: this comes from inside session here");
                tried_in_vain.push(tried);
                if ends_or_hangs {
                    continue;
                }
                // The agent's own process is no such child, as a person at another terminal is not.
                let (_, error) = send(route, &request(route), &gate.socket());
                assert_ne!(error, number(Kind::FromInside), "{}", route.path);
            }
        }
    }
    let barred: Vec<String> =
        home.records("access_denied").iter().map(|record| record["what"].as_str().unwrap().to_owned()).collect();
    assert_eq!(barred.len(), tried_in_vain.len(), "{barred:#?}");
    for (record, tried) in barred.iter().zip(&tried_in_vain) {
        assert!(record.starts_with(&format!("{tried}, by process ")), "{record}: {tried}");
        assert!(record.ends_with(" inside session here"), "{record}");
    }
}

#[test]
fn inside_an_agent_only_a_verdict_on_a_prompt_is_refused() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "here"]);
    home.attached(1);
    let say = |text: &str| send_as_a_child(&home, "POST", "/", Some(text));
    let post = |text: &str| send_as_a_child(&home, "POST", "/api/v1/events", Some(&json!({"text": text}).to_string()));
    assert_eq!(say("no worry").0, 200);
    gate.open_prompt(&session, "abcde");
    // More than the misses after which a person is not heard: they are not the owner's.
    for _ in 0..4 {
        for (status, answer) in [say("no worry"), post("yes great")] {
            assert_eq!(status, 200, "{answer}");
            assert!(answer["note"].as_str().unwrap().contains("no open prompt has the code"), "{answer}");
        }
    }
    session.event_containing("no worry");
    for (status, answer) in [say("yes abcde"), post("no ABCDE")] {
        assert_eq!((status, &answer["error"]), (403, &json!(number(Kind::FromInside))), "{answer}");
    }
    let barred = home.records("access_denied");
    assert_eq!(barred.len(), 2, "{barred:?}");
    assert!(barred[0]["what"].as_str().unwrap().starts_with("answering a prompt, by process "), "{barred:?}");
    assert_eq!((gate.ask("abcde")["state"].clone(), session.verdict_count()), (json!("open"), 0));
    assert_eq!(gate.say("/", "yes abcde").expect(200).text(), "verdict recorded");
    assert_eq!(session.next_verdict().behavior, "allow");
}
