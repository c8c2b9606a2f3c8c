//! The guard of the HTTP door: who gets in, from where, and what no handler ever sees.

use crate::support::connection::{Connection, Target};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, until};
use serde_json::json;

#[test]
fn a_foreign_host_header_is_refused() {
    let home = Home::new();
    let gate = home.serve();
    let (port, other) = (gate.port(), gate.port() ^ 1);
    let ask =
        |host: &str| Request::get("/api/v1/sessions").token(home.token()).header("Host", host).send(&gate.target());
    for host in ["localhost", "LocalHost", "127.0.0.1", "[::1]"] {
        ask(host).expect(200);
        ask(&format!("{host}:{port}")).expect(200);
        ask(&format!("{host}:{other}")).expect(403);
    }
    for host in
        ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "localhost.", "0.0.0.0", "127.0.0.2"]
    {
        for host in [host.to_owned(), format!("{host}:{port}")] {
            let answer = ask(&host).expect(403);
            assert_eq!(answer.json()["error"], 40305, "{host}: {answer}");
        }
    }
    for path in ["/healthz", "/", "/events"] {
        Request::get(path).header("Host", "evil.example").send(&gate.target()).expect(403);
    }
}

#[test]
fn pages_of_other_sites_cannot_send_or_read() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let post = |name: &str, value: &str| {
        // What a page can send without asking first.
        let simple = Request::post("/").header("Content-Type", "text/plain").body("yes abcde");
        simple.header("X-Sender", "dev").token(home.token()).header(name, value).send(&gate.target())
    };
    let ours = format!("http://localhost:{}", gate.port());
    for (name, value) in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:3000"),
        ("Origin", &ours.replace("http:", "https:")),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        let answer = post(name, value).expect(403);
        assert_eq!(answer.json()["error"], 40303, "{name}: {value}: {answer}");
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    let asking_first = Request::new("OPTIONS", "/").header("Origin", "http://evil.example");
    asking_first.header("Access-Control-Request-Method", "POST").send(&gate.target()).expect(403);
    assert_eq!(gate.get("/api/v1/events").json(), json!([]));
    post("Origin", &ours).expect(200);
    post("Sec-Fetch-Site", "same-origin").expect(200);
}

#[test]
fn a_request_has_one_host_and_one_length() {
    let home = Home::new();
    let gate = home.serve();
    let token = format!("Authorization: Bearer {}\r\n", home.token());
    let raw = |head: &str, body: &str| {
        let mut connection = Connection::open(&gate.target());
        connection.write(format!("POST / HTTP/1.1\r\n{head}{token}\r\n{body}").as_bytes());
        connection.answer()
    };
    let (host, chunks) = ("Host: localhost\r\n", "5\r\nhello\r\n0\r\n\r\n");
    raw("Content-Length: 5\r\n", "hello").expect(400);
    raw(&format!("{host}{host}Content-Length: 5\r\n"), "hello").expect(400);
    raw(&format!("{host}Host: evil.example\r\nContent-Length: 5\r\n"), "hello").expect(400);
    raw(&format!("{host}Content-Length: 5\r\nContent-Length: 6\r\n"), "hello").expect(400);
    raw(&format!("{host}Content-Length: +5\r\n"), "hello").expect(400);
    raw(&format!("{host}Transfer-Encoding: chunked\r\n"), "zz\r\n").expect(400);
    assert_eq!(gate.get("/api/v1/events").json(), json!([]));

    // Of two different kinds of length the HTTP library hides one from us. It must be the right one, and what follows on
    // the connection must not be taken for a request.
    let kinds = ["Content-Length: 50\r\n", "Transfer-Encoding: chunked\r\n"];
    for (number, order) in [[0, 1], [1, 0]].iter().enumerate() {
        let lengths = order.map(|kind| kinds[kind]).concat();
        let smuggled = format!("POST /smuggled HTTP/1.1\r\n{host}{token}Content-Length: 1\r\n\r\nx");
        let mut smuggler = Connection::open(&gate.target());
        smuggler.write(format!("POST / HTTP/1.1\r\n{host}{lengths}{token}\r\n{chunks}{smuggled}").as_bytes());
        assert_eq!(smuggler.answer().expect(200).header("connection"), Some("close"));
        assert_eq!(smuggler.rest(PATIENCE).unwrap(), b"", "no second answer");
        let taken = gate.get("/api/v1/events").json();
        assert_eq!((taken.as_array().unwrap().len(), &taken[0]["bytes"]), (number + 1, &json!(5)), "{taken}");
    }
}

#[test]
fn the_socket_is_the_owners_and_the_link_is_served_only_there() {
    let home = Home::new();
    let gate = home.serve();
    let socket = home.socket();
    Request::get("/api/v1/status").send(&socket).expect(200);
    Request::get("/api/v1/status").token("wrong").send(&socket).expect(401);
    let said = Request::post("/hello").body("from the socket").send(&socket).expect(200);
    let event = gate.get(&format!("/api/v1/events/{}", said.header("x-event-id").unwrap())).json();
    assert_eq!((&event["via"], &event["sender"]), (&json!("socket"), &json!("owner")));

    let upgrade = Request::get("/link").token(home.token()).header("Connection", "Upgrade");
    let upgrade = upgrade.header("Upgrade", "portcullis-link");
    assert!(upgrade.send(&gate.target()).expect(403).text().contains("Unix socket only"));
    Request::get("/link").send(&socket).expect(400);
    Request::get("/link").header("Upgrade", "websocket").send(&socket).expect(400);
}

#[test]
fn a_reviewer_can_answer_but_not_administer() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let dev = |method: &str, path: &str| Request::new(method, path).header("X-Sender", "dev").send(&gate.target());
    for path in ["/api/v1/sessions", "/api/v1/events", "/api/v1/asks", "/api/v1/verdicts"] {
        dev("GET", path).expect(200);
    }
    for (method, path) in [("GET", "/api/v1/status"), ("POST", "/api/v1/stop")] {
        let answer = dev(method, path).expect(403);
        assert!(answer.text().contains("admin"), "{answer}");
    }
    assert!(!gate.has_exited());
}

#[test]
fn a_full_port_does_not_block_the_socket() {
    let home = Home::new();
    home.write_config("[limits]\nconnections = 16\n");
    let gate = home.serve();
    let crowd: Vec<Connection> = (0..16)
        .map(|_| {
            let mut connection = Connection::open(&gate.target());
            connection.send(&Request::get("/healthz")).expect(200);
            connection
        })
        .collect();
    assert!(Request::get("/healthz").try_send(&gate.target()).is_err(), "there is a limit at the port");
    assert_eq!(home.status()["pid"], gate.pid());
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    for _ in 0..50 {
        assert!(Request::get("/healthz").try_send(&gate.target()).is_err());
    }
    let warned = gate.stderr().lines().filter(|line| line.contains("too many connections")).count();
    assert_eq!(warned, 1, "a flood is one line of the log: {}", gate.stderr());
    drop(crowd);
    until("room at the port", || Request::get("/healthz").try_send(&gate.target()).ok());
    gate.say("/", "hello").expect(200);
    session.next_event();
}

#[test]
fn a_crowd_from_elsewhere_keeps_nobody_from_the_port_of_this_machine() {
    let home = Home::new();
    let public = "public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n";
    home.write_config(&format!("{public}[limits]\nconnections = 16\n"));
    let gate = home.serve();
    let elsewhere = Target::Tcp(home.status()["public_listen"].as_str().unwrap().parse().unwrap());
    let crowd: Vec<Connection> = (0..16)
        .map(|_| {
            let mut connection = Connection::open(&elsewhere);
            connection.write(b"GET / HTTP/1.1\r\nHost: gate.example.org\r\nX-a: ");
            connection
        })
        .collect();
    until("a full port", || Request::get("/healthz").try_send(&elsewhere).is_err().then_some(()));
    gate.get("/api/v1/me").expect(200);
    drop(crowd);
}

#[test]
fn a_crowd_takes_no_more_files_than_leave_room_for_the_others() {
    let home = Home::new();
    home.write_config("public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n");
    let serve = home.command(&["serve"]);
    let mut limited = home.program("sh");
    limited.args(["-c", "ulimit -n 300; exec \"$0\" serve"]).arg(serve.get_program());
    limited.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let gate = Gate::start_command(&home, limited);
    let elsewhere = Target::Tcp(home.status()["public_listen"].as_str().unwrap().parse().unwrap());
    let crowd: Vec<Connection> = (0..400).map(|_| Connection::open(&elsewhere)).collect();
    until("a full port", || Request::get("/healthz").try_send(&elsewhere).is_err().then_some(()));
    gate.get("/api/v1/me").expect(200);
    home.run(&["status"]).ok();
    drop(crowd);
}

#[test]
fn a_stream_over_the_limit_is_told_to_retry_later() {
    let home = Home::new();
    home.write_config("[limits]\nsse_listeners = 1\n");
    let gate = home.serve();
    let listener = gate.events();
    let refused = gate.get("/api/v1/watch").expect(429);
    assert_eq!((refused.header("retry-after"), &refused.json()["error"]), (Some("30"), &json!(42903)));
    drop(listener);
    until("a free seat", || Events::try_open(&gate.socket(), "/events", &[]).ok());
}

#[test]
fn a_device_and_a_sender_take_a_quarter_of_the_places_each_and_none_that_is_kept_for_the_owner() {
    let home = Home::new();
    home.write_config("[limits]\nsse_listeners = 16\n");
    let gate = home.serve();
    let link = gate.post("/api/v1/devices/links", &json!({})).expect(200).json();
    let new = json!({"link": link["secret"], "name": "phone"});
    let made = Request::post("/api/v1/devices").json(&new).send(&gate.target()).expect(200).json();
    let bearer = format!("Bearer {}", made["key"].as_str().unwrap());
    let open = || Events::try_open(&gate.target(), "/api/v1/watch", &[("Authorization", &bearer)]).ok();
    let taken: Vec<_> = (0..16).filter_map(|_| open()).collect();
    assert_eq!(taken.len(), 4);
    // A person who may only send has the same share of the rest, by any token.
    let bearer = format!("Bearer {}", home.token_for("ci", "sender"));
    let open = || Events::try_open(&gate.target(), "/events", &[("Authorization", &bearer)]).ok();
    let of_a_sender: Vec<_> = (0..16).filter_map(|_| open()).collect();
    assert_eq!(of_a_sender.len(), 4);
    assert!(Events::try_open(&gate.socket(), "/api/v1/watch", &[]).is_ok());
}

#[test]
fn a_stream_is_not_cut_by_time_limits_and_sends_heartbeats() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HEADER", 200);
    home.fix("PORTCULLIS_TEST_IDLE", 200);
    home.fix("PORTCULLIS_TEST_HEARTBEAT", 1000);
    let gate = home.serve();
    let listener = gate.events();
    assert_eq!(listener.comment(), "heartbeat");
    let session = StandIn::start(&home, &[]);
    session.ask("abcde", "Bash", "Push", "git push");
    listener.containing("abcde");
}

#[test]
fn public_pages_show_that_a_gate_runs_and_nothing_else() {
    let home = Home::new();
    let gate = home.serve();
    for target in [gate.target(), gate.socket()] {
        assert_eq!(plain(&target, "/healthz").text(), "ok\n");
        assert!(plain(&target, "/").text().contains("Portcullis"));
    }
    let told = [plain(&gate.target(), "/"), plain(&gate.target(), "/healthz"), plain(&gate.target(), "/nowhere")];
    for answer in told {
        assert!(!answer.text().contains(home.token()) && !answer.text().contains(&*home.folder().to_string_lossy()));
    }
    owner_may_stop(&gate);
}

fn plain(target: &Target, path: &str) -> Answer {
    Request::get(path).send(target)
}

#[track_caller]
fn owner_may_stop(gate: &Gate) {
    Request::post("/api/v1/stop").send(&gate.socket()).expect(200);
    assert!(gate.wait_exit(PATIENCE).success());
}
