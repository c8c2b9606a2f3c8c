//! Starting, finding and ending the gate: one for each home, and an error that says what to do when it cannot be.

use crate::support::child::Stdin;
use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, running, until};
use serde_json::json;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn a_taken_port_is_an_error_that_names_its_holder() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for words in [&["serve"][..], &["up"]] {
        let mut command = home.command(words);
        command.env("PORTCULLIS_LISTEN", &address);
        let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE);
        assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
        assert!(ran.stderr.contains(&format!("{address} is taken by ")), "{ran:#?}");
        assert!(ran.stderr.contains("hint: stop what holds the port, or choose another"), "{ran:#?}");
        if cfg!(target_os = "linux") {
            assert!(ran.stderr.contains(&format!("(pid {})", std::process::id())), "{ran:#?}");
        }
    }
}

#[test]
fn a_gate_started_by_a_session_runs_without_a_taken_port_and_reports_it() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = StandIn::command(&home, &[]);
    command.env("PORTCULLIS_LISTEN", &address);
    let session = StandIn::start_command(&home, command);
    home.attached(1);
    let status = home.status();
    assert_eq!((&status["listen"], &status["auto_started"]), (&json!(null), &json!(true)));
    let problem = status["listen_problem"].as_str().unwrap();
    assert!(problem.starts_with(&format!("{address} is taken by ")), "{problem}");
    assert!(home.run(&["status"]).ok().stdout.contains(problem));
    Request::post("/").body("hello").send(&home.socket()).expect(200);
    assert_eq!(session.next_event().content, "hello");
}

#[test]
fn up_prints_how_to_use_the_gate_and_a_second_up_reports_the_first() {
    let home = Home::new();
    let first = home.spawn(home.command(&["up", "--dev-sender", "dev"]), Stdin::Nothing);
    first.line(PATIENCE, |line| line.ends_with("portcullis install --hooks"));
    let printed = first.line(PATIENCE, |line| line.contains("-d \"hello\""));
    let sent = home.spawn(shell(&home, &printed), Stdin::Nothing);
    assert_eq!(Ran::of(&sent, PATIENCE).ok().stdout, "ok", "{printed}");

    for words in [&["up"][..], &["up", "--detach"]] {
        let second = home.run(words);
        assert_eq!(second.status.code(), Some(1));
        assert!(second.stderr.contains(&format!("already running (pid {})", first.pid())), "{second:#?}");
        assert!(second.stderr.contains("portcullis stop"), "{second:#?}");
    }
    let late = home.run(&["serve"]).ok();
    assert_eq!(late.stdout, "", "the service leaves quietly");
    first.signal(Signal::INT);
    assert!(first.wait_exit(PATIENCE).success());

    let detached = home.run(&["up", "--detach"]).ok();
    assert!(detached.stdout.contains("`portcullis stop` stops it"), "{detached:#?}");
    assert_eq!(home.status()["waiting_events"], 1, "what the first one took in is still there");
    home.run(&["stop"]).ok();
}

#[test]
fn up_says_that_it_takes_the_place_of_a_gate_that_a_session_started() {
    let home = Home::new();
    let _session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let status = home.status();
    assert_eq!(status["auto_started"], true);
    let up = home.spawn(home.command(&["up"]), Stdin::Nothing);
    let said = format!("Took the place of the gate that a session had started (pid {}).", status["pid"]);
    up.line(PATIENCE, |line| line == said);
    up.line(PATIENCE, |line| line.contains("is up"));
    home.wait_for_gate();
    home.stop_gate();
    assert!(up.wait_exit(PATIENCE).success());
}

#[test]
fn stop_ends_the_gate_and_succeeds_when_there_is_none() {
    let home = Home::new();
    assert_eq!(home.run(&["stop"]).ok().stdout, "No gate is running.\n");
    let gate = home.serve();
    assert_eq!(home.run(&["stop"]).ok().stdout, format!("Stopped the gate (pid {}).\n", gate.pid()));
    assert!(gate.wait_exit(PATIENCE).success());
    assert_eq!(home.run(&["stop"]).ok().stdout, "No gate is running.\n");
    let status = home.run(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(status.stdout.contains("portcullis up"), "{status:#?}");
    assert_eq!(home.run(&["status", "--json"]).json()["running"], false);
}

#[test]
fn a_stopping_gate_closes_its_streams() {
    let home = Home::new();
    let gate = home.serve();
    let streams = [gate.events(), Events::open(&gate.socket(), "/api/v1/watch", &[])];
    let mut idle = Connection::open(&gate.target());
    idle.send(&Request::get("/healthz")).expect(200);
    assert!(gate.stop().success());
    streams.iter().for_each(Events::wait_end);
    assert_eq!(idle.rest(PATIENCE).unwrap(), b"");
    assert!(!home.folder().join("gate.sock").exists());
}

#[test]
fn a_session_gets_a_new_gate_soon_although_the_last_one_stops_slowly() {
    let home = Home::new();
    let gate = home.serve();
    let _session = StandIn::start(&home, &[]);
    home.attached(1);
    // A body that never comes keeps the gate, and its lock, for as long as it has patience.
    let mut slow = Connection::open(&gate.target());
    let token = format!("Authorization: Bearer {}", home.token());
    slow.write(format!("POST / HTTP/1.1\r\nHost: localhost\r\n{token}\r\nContent-Length: 9\r\n\r\n").as_bytes());
    slow.write(b"never");
    home.stop_gate();
    home.attached(1);
}

#[test]
fn a_gate_can_serve_only_its_socket() {
    let home = Home::new();
    home.write_config("listen = \"off\"\n");
    let mut command = home.command(&["serve"]);
    command.env_remove("PORTCULLIS_LISTEN");
    let gate = Gate::start_command(&home, command);
    assert!(!gate.has_port());
    let status = home.status();
    assert_eq!((&status["listen"], &status["listen_problem"]), (&json!(null), &json!(null)));
    Request::get("/healthz").send(&gate.socket()).expect(200);
}

#[test]
fn status_names_the_log_that_is_really_written() {
    let home = Home::new();
    let gate = home.serve();
    assert_eq!(home.status()["log"], "standard error");
    drop(gate);
    home.run(&["up", "--detach"]).ok();
    let log = home.status()["log"].as_str().unwrap().to_owned();
    assert_eq!(std::path::Path::new(&log), home.folder().join("gate.log"));
    assert!(std::path::Path::new(&log).exists());
    home.run(&["stop"]).ok();
}

#[test]
fn files_left_by_a_killed_gate_do_not_block_the_next() {
    let home = Home::new();
    let gate = home.serve();
    gate.kill_9();
    let lock = home.folder().join("gate.lock");
    assert!(home.folder().join("gate.sock").exists() && fs::metadata(&lock).unwrap().len() > 0, "both lie there");
    assert_eq!(home.run(&["status"]).status.code(), Some(1));
    home.run(&["stop"]).ok();
    // The pid may be anybody's by now, and the socket anywhere.
    fs::write(&lock, json!({"pid": std::process::id(), "version": "9", "socket": "/nowhere/x.sock"}).to_string())
        .unwrap();
    assert_eq!(home.run(&["status"]).status.code(), Some(1));
    let gate = home.serve();
    assert_eq!(home.status()["pid"], gate.pid());
}

#[test]
fn a_gate_that_does_not_answer_is_named() {
    let home = Home::new();
    let socket = home.folder().join("gate.sock");
    let about = json!({"pid": std::process::id(), "version": "0.1.0", "socket": socket});
    fs::write(home.folder().join("gate.lock"), about.to_string()).unwrap();
    let lock = File::open(home.folder().join("gate.lock")).unwrap();
    lock.lock().unwrap();
    for words in [&["status"][..], &["status", "--json"], &["up"], &["up", "--detach"], &["stop"]] {
        let ran = home.run(words);
        assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
        assert!(ran.stderr.contains(&std::process::id().to_string()), "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains("hint: "), "{words:?}: {ran:#?}");
    }
    lock.unlock().unwrap();
    home.serve();
}

#[test]
fn a_wrong_setting_is_reported_with_the_nearest_right_one() {
    let home = Home::new();
    for (text, variable, words) in [
        ("listne = \"off\"\n", None, ["line 1", "\"listne\"", "hint: did you mean listen?"]),
        ("[limits]\n\nbodi = 5\n", None, ["line 3", "\"limits.bodi\"", "hint: did you mean limits.body?"]),
        ("listen = \"0.0.0.0:80\"\n", None, ["line 1", "listen", "loopback"]),
        ("token = \"a-token-of-my-own\"\n", None, ["token is never read from a file", "", "PORTCULLIS_TOKEN"]),
        ("", Some(("PORTCULLIS_DURABILITY", "maybe")), ["PORTCULLIS_DURABILITY", "maybe", "\"process\" or \"power\""]),
        ("", Some(("PORTCULLIS_TOKEN", "short")), ["PORTCULLIS_TOKEN", "", "16 characters"]),
    ] {
        home.write_config(text);
        for subcommand in ["serve", "up"] {
            let mut command = home.command(&[subcommand]);
            command.envs(variable);
            let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE);
            assert_eq!(ran.status.code(), Some(3), "{ran:#?}");
            assert!(words.iter().all(|word| ran.stderr.contains(word)), "{words:?}: {ran:#?}");
        }
    }
}

#[test]
fn the_owners_token_is_made_once_and_no_file_is_readable_by_others() {
    let home = Home::new();
    let start = || {
        let mut command = home.command(&["serve"]);
        command.env_remove("PORTCULLIS_TOKEN");
        Gate::start_command(&home, command)
    };
    let gate = start();
    let file = home.folder().join("owner.token");
    let token = fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(token.len() >= 32, "{token}");
    let ask = |gate: &Gate, token: &str| Request::get("/api/v1/status").token(token).send(&gate.target());
    assert_eq!(ask(&gate, &token).expect(200).json()["token_file"].as_str(), file.to_str());
    ask(&gate, home.token()).expect(401);
    for name in ["owner.token", "journal.db", "journal.db-wal", "gate.lock", "gate.sock"] {
        let mode = fs::metadata(home.folder().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    gate.stop();
    let said = gate.stdout() + &gate.stderr();
    assert!(!said.contains(&token), "{said}");
    ask(&start(), &token).expect(200);
}

#[test]
fn an_idle_gate_exits_and_a_gate_in_use_does_not() {
    let homes: Vec<Home> = (0..4).map(|_| Home::new()).collect();
    let serve = |home: &Home, idle: u64| {
        home.fix("PORTCULLIS_TEST_IDLE_GATE", idle);
        home.serve_with(&["--leave-when-idle", "1"])
    };
    // Each is used as soon as it is there, and would wait long enough for that on a busy machine.
    let attached = serve(&homes[1], 3_000);
    let session = StandIn::start(&homes[1], &[]);
    homes[1].attached(1);
    let heard = serve(&homes[2], 3_000);
    let listener = heard.events();
    let waiting = serve(&homes[3], 3_000);
    waiting.say("/", "for whoever comes").expect(200);
    let gates = [serve(&homes[0], 500), attached, heard, waiting];
    assert!(gates[0].wait_exit(PATIENCE).success(), "nobody needs this one");
    // Longer than it takes until they would have left.
    session.no_event_within(Duration::from_secs(4));
    assert_eq!(gates.iter().map(Gate::has_exited).collect::<Vec<_>>(), [true, false, false, false]);

    session.close_stdin();
    drop(listener);
    let takes = StandIn::start(&homes[3], &[]);
    assert_eq!(takes.next_event().content, "for whoever comes");
    takes.close_stdin();
    for gate in &gates {
        assert!(gate.wait_exit(PATIENCE).success());
    }
}

#[test]
fn a_session_starts_no_gate_whose_home_lies_in_its_project() {
    let home = Home::in_its_project();
    let session = StandIn::start(&home, &[]);
    session.complaint("lies inside the project");
    let running = running::portcullis_of(&home.folder());
    assert_eq!(running.iter().map(|process| process.pid).collect::<Vec<_>>(), [session.pid()]);
    assert!(!home.folder().join("journal.db").exists());
}

fn shell(home: &Home, line: &str) -> std::process::Command {
    let mut command = home.program("sh");
    command.arg("-c").arg(line.replacen("curl", "curl -sS", 1));
    command
}

#[test]
fn a_gate_started_by_a_session_exits_for_one_started_by_a_person() {
    for detached in [false, true] {
        let home = Home::new();
        let session = StandIn::start_under_an_agent(&home, &[]);
        home.attached(1);
        let before = home.status();
        assert_eq!(before["auto_started"], true);
        let gate = if detached {
            home.run(&["up", "--detach", "--dev-sender", "dev"]).ok();
            None
        } else {
            Some(home.serve_with(&["--dev-sender", "dev"]))
        };
        let now = home.status();
        assert_eq!((&now["auto_started"], &now["dev_sender"]), (&false.into(), &"dev".into()));
        assert_ne!(now["pid"], before["pid"]);
        home.attached(1);
        home.run(&["say", "hello"]).ok();
        assert_eq!(session.next_event().content, "hello");
        let again = home.run(&["up"]);
        assert!(!again.status.success() && again.stderr.contains("already running"), "{}", again.stderr);
        drop(gate);
    }
}

#[test]
fn a_session_reports_a_configuration_error_once_and_continues_when_it_is_fixed() {
    let home = Home::new();
    home.write_config("lisen = \"off\"\n");
    let session = StandIn::start(&home, &[]);
    let told = || session.stderr().lines().filter(|line| line.contains("lisen")).count();
    until("the complaint", || (told() > 0).then_some(()));
    // As it is written by someone who is still looking for what is wrong.
    home.write_config("listen = \"of\"\n");
    until("another complaint", || session.stderr().contains("\"of\"").then_some(()));
    home.write_config("listen = \"off\"\n");
    home.attached(1);
    assert_eq!(told(), 1, "{}", session.stderr());
    let log = home.log();
    assert!(!log.contains("lisen") && !log.contains("\"of\""), "no gate was started in vain: {log}");
    Request::post("/").body("hello").send(&home.socket()).expect(200);
    assert_eq!(session.next_event().content, "hello");
}

#[test]
fn the_gate_listens_on_localhost_by_name() {
    let home = Home::new();
    let gate = home.serve_with(&["--listen", "localhost:0"]);
    assert!(gate.address().ip().is_loopback() && gate.address().is_ipv4(), "{}", gate.address());
    Request::get("/healthz").header("Host", &format!("localhost:{}", gate.port())).send(&gate.target()).expect(200);
    let elsewhere = home.run(&["serve", "--listen", "localhost.evil.example:0"]);
    elsewhere.refused(3, "is not an address with a port");
}

#[test]
fn a_misspelt_variable_is_reported_to_people_and_not_in_a_protocol() {
    let home = Home::new();
    let misspelt = |words: &[&str]| {
        let mut command = home.command(words);
        command.env("PORTCULLIS_LISTN", "off").env("PORTCULLIS_TEST_X", "1");
        command
    };
    let ran = Ran::of(&home.spawn(misspelt(&["status"]), Stdin::Nothing), PATIENCE);
    let warning = "warning: nothing reads the variable PORTCULLIS_LISTN: did you mean PORTCULLIS_LISTEN?";
    assert_eq!(ran.stderr.lines().filter(|line| *line == warning).count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("PORTCULLIS_TEST"), "{}", ran.stderr);
    let mut serve = misspelt(&["serve"]);
    serve.env("PORTCULLIS_XYZZY", "1");
    let gate = Gate::start_command(&home, serve);
    assert!(gate.stderr().contains(warning), "{}", gate.stderr());
    assert!(gate.stderr().contains("warning: nothing reads the variable PORTCULLIS_XYZZY\n"), "{}", gate.stderr());
    let hook = Ran::of(&home.spawn(misspelt(&["hook"]), Stdin::Nothing), PATIENCE);
    assert!(!hook.stderr.contains("PORTCULLIS_LISTN") && !hook.stdout.contains("PORTCULLIS_LISTN"));
    assert_eq!(home.run(&["status"]).ok().stderr, "");
}

#[test]
fn a_broken_configuration_says_what_sessions_do_meanwhile() {
    let home = Home::new();
    let said = |config: &str| {
        home.write_config(config);
        let ran = home.run(&["status"]);
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let rules_are_read = said("bogus_key = 1\n");
    assert!(rules_are_read.contains("sessions go on by the rules"), "{rules_are_read}");
    let rules_are_not = said("[projects.\"/\"]\ndeny = [\"Bash(\"]\n");
    assert!(rules_are_not.contains("a new session asks for everything"), "{rules_are_not}");
}

#[test]
fn a_gate_that_a_session_starts_again_lets_sessions_begin_where_the_one_before_did() {
    let home = Home::new();
    let gate = home.serve();
    let folders = || Request::get("/api/v1/me").send(&home.socket()).expect(200).json()["folders"].clone();
    let before = folders();
    assert_eq!(before, json!([home.project().canonicalize().unwrap()]));
    let _session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let stopped = home.run(&["stop"]).ok().stdout;
    assert!(stopped.contains("Another gate starts at once") && stopped.contains("  api (channel): end "), "{stopped}");
    gate.wait_exit(PATIENCE);
    home.attached(1);
    assert_eq!(folders(), before);
}
