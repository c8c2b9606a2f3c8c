//! Who gets in: links that work once, devices that are revoked, pages and hosts that are not ours.

use super::site::Site;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP, link};
use crate::support::child::Stdin;
use crate::support::connection::{Connection, Target};
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::terminal::Terminal;
use crate::support::{PATIENCE, Signal, until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_browser_is_named_by_what_it_is_and_where_it_runs() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    let named = |agent: &str, touches: u32| {
        let script = "import(document.querySelector('script[type=module]').src.replace('main.js', 'link.js'))";
        page.run(&format!("{script}.then(({{ deviceName }}) => deviceName({}, {touches}))", json!(agent)))
    };
    let chrome = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0";
    let safari = "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15";
    for (agent, touches, name) in [
        (format!("Mozilla/5.0 (Linux; Android 10; K) {chrome} Mobile Safari/537.36"), 5, "Chrome, Android"),
        (format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {chrome} Safari/537.36 Edg/140.0.0.0"), 0, "Edge, Windows"),
        (format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {safari}"), 0, "Safari, Mac"),
        (format!("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {safari}"), 5, "Safari, iPad"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0".to_owned(), 0, "Firefox, Linux"),
        ("something".to_owned(), 0, ""),
    ] {
        assert_eq!(named(&agent, touches), name, "{agent}");
    }
}

#[test]
fn a_browser_that_is_not_linked_is_told_how_it_is() {
    let site = Site::new();
    let page = site.browser.open("a", &format!("http://{}/", site.gate.address()), DESKTOP);
    page.see_text("main", "not linked yet");
    page.see_text("main", "portcullis page");
    page.see_text("main", "portcullis device link");
}

#[test]
fn a_link_is_pasted_into_a_page_that_none_can_be_opened_in() {
    let site = Site::new();
    // As an app on the home screen begins: without a key, and without an address bar.
    let page = site.browser.open("a", &format!("http://{}/", site.gate.address()), CHINESE_PHONE);
    page.fill("input", "https://gate.example.org/#link=short");
    page.click("[data-action=takeLink]");
    page.see_text(".notice", "其中没有链接");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    let link = link(&site.gate, &[]);
    page.fill("input", &format!("Open this: {link} within two minutes"));
    page.press("Enter");
    page.click("[data-action=link]");
    page.see("nav");
    assert_eq!(page.run("location.hash"), "", "the secret is in no history");
    // A device that was revoked is linked again without being opened anew.
    let device = site.gate.get("/api/v1/devices").expect(200).json()[0]["id"].as_str().unwrap().to_owned();
    let revoke = Request::new("DELETE", &format!("/api/v1/devices/{device}")).token(site.home.token());
    revoke.send(&site.gate.target()).expect(200);
    page.see_text("main", "不再绑定");
    page.fill("input", &self::link(&site.gate, &[]));
    page.click("[data-action=takeLink]");
    page.click("[data-action=link]");
    page.see("nav");
}

#[test]
fn on_an_iphone_a_link_is_copied_for_the_page_on_the_home_screen() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    page.run(
        "Object.defineProperty(navigator, 'userAgent', { get: () => 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/605' }); \
         navigator.clipboard.writeText = async (text) => void (window.copied = text); true",
    );
    let url = link(&site.gate, &[]);
    page.run(&format!("location.hash = {}; true", json!(url.split_once('#').unwrap().1)));
    page.click("[data-action=copyLink]");
    page.see_text(".notice", "Copied");
    assert_eq!(page.run("window.copied"), url);
}

#[test]
fn a_link_works_once_and_fetching_it_ahead_does_not_use_it_up() {
    let home = Home::new();
    let gate = home.serve();
    let url = link(&gate, &[]);
    let address = url.split('#').next().unwrap().to_owned();
    // What a chat program or a browser does before anyone presses: it never sees what stands behind the #.
    for _ in 0..2 {
        Request::get("/").header("Accept", "text/html").send(&gate.target()).expect(200);
    }
    let browser = Browser::start(&home);
    let page = browser.open("a", &url, DESKTOP);
    page.click("[data-action=link]");
    page.see("nav");
    let second = browser.open("b", &url, DESKTOP);
    second.click("[data-action=link]");
    second.see_text(".notice", "used before");
    let secret = url.split("#link=").nth(1).unwrap();
    Request::post("/api/v1/devices").json(&json!({"link": secret, "name": "x"})).send(&gate.target()).expect(403);
    assert!(!home.log().contains(secret), "no log has the link");
    assert!(page.run(&format!("fetch('{address}').then((answer) => answer.ok)")).as_bool().unwrap());
}

#[test]
fn whoever_shows_no_link_is_not_listened_to_for_long() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_SMALL_BODY", 50);
    let gate = home.serve();
    let post = "POST /api/v1/devices HTTP/1.1\r\nContent-Type: application/json\r\nHost: ";
    for (rest, status) in [
        ("Content-Length: 100000\r\n\r\n", 413),
        ("Content-Length: 4000\r\n\r\n{", 408),
        (&format!("Transfer-Encoding: chunked\r\n\r\n2000\r\n{}", " ".repeat(0x2000)), 413),
    ] {
        let mut connection = Connection::open(&gate.target());
        connection.write(format!("{post}{}\r\n{rest}", gate.address()).as_bytes());
        connection.patient_for(PATIENCE);
        assert_eq!(connection.read_head().unwrap().status, status, "{}", &rest[..20]);
    }
}

#[test]
fn a_request_names_one_host() {
    let home = Home::new();
    let gate = home.serve();
    for (target, status) in [("http://evil.example", 403), (&format!("http://{}", gate.address()), 200)] {
        let mut connection = Connection::open(&gate.target());
        connection.write(format!("GET {target}/healthz HTTP/1.1\r\nHost: {}\r\n\r\n", gate.address()).as_bytes());
        connection.patient_for(PATIENCE);
        assert_eq!(connection.read_head().unwrap().status, status, "{target}");
    }
    let two = Request::get("/healthz").header("Sec-Fetch-Site", "none").header("Sec-Fetch-Site", "cross-site");
    two.send(&gate.target()).expect(403);
}

#[test]
fn the_page_is_opened_by_a_link_on_another_site_and_nothing_else_is_reached_from_there() {
    let home = Home::new();
    let gate = home.serve();
    let navigate = |path: &str| {
        let request = Request::get(path).header("Sec-Fetch-Site", "cross-site").header("Sec-Fetch-Mode", "navigate");
        request.header("Accept", "text/html")
    };
    navigate("/").header("Sec-Fetch-Dest", "document").send(&gate.target()).expect(200);
    for (path, place) in [
        ("/", "iframe"),
        ("/", "empty"),
        ("/api/v1/sessions", "document"),
        ("/events", "document"),
        ("/?x=1", "document"),
    ] {
        navigate(path).header("Sec-Fetch-Dest", place).token(home.token()).send(&gate.target()).expect(403);
    }
    let posted = Request::post("/").header("Sec-Fetch-Site", "cross-site").header("Sec-Fetch-Mode", "navigate");
    posted.header("Sec-Fetch-Dest", "document").token(home.token()).body("x").send(&gate.target()).expect(403);
    let foreign = navigate("/").header("Sec-Fetch-Dest", "document").header("Origin", "https://evil.example");
    foreign.send(&gate.target()).expect(403);
}

#[test]
fn a_device_that_calls_itself_by_anothers_id_does_not_keep_that_from_being_revoked() {
    let home = Home::new();
    let gate = home.serve();
    let trade = |name: &str| {
        let url = link(&gate, &[]);
        let new = json!({"link": url.split("#link=").nth(1).unwrap(), "name": name});
        Request::post("/api/v1/devices").json(&new).send(&gate.target()).expect(200).json()["id"].clone()
    };
    let first = trade("phone");
    let second = trade(first.as_str().unwrap());
    home.run(&["device", "revoke", first.as_str().unwrap()]).ok();
    let left = home.run(&["device", "list", "--json"]).ok().json();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["id"]), (1, &second), "{left:#}");
}

#[test]
fn a_link_that_became_no_device_can_still_be_used() {
    let home = Home::new();
    let gate = home.serve();
    let url = link(&gate, &[]);
    let secret = url.split("#link=").nth(1).unwrap();
    let trade =
        |name: &str| Request::post("/api/v1/devices").json(&json!({"link": secret, "name": name})).send(&gate.target());
    let refused = trade("").expect(400).json();
    assert_eq!(refused["message"], "that is no name for a device");
    assert!(refused["hint"].as_str().unwrap().starts_with("a device is called"), "{refused}");
    trade("a phone").expect(200);
    trade("another").expect(403);
}

#[test]
fn a_revoked_device_is_shown_out_at_once() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    page.see(".empty");
    let devices = site.home.run(&["device", "list", "--json"]).ok().json();
    assert_eq!(devices[0]["rights"], json!(["talk", "review"]));
    let name = devices[0]["name"].as_str().unwrap();
    site.home.run(&["device", "revoke", name]).ok();
    let log = site.home.run(&["log"]).ok().stdout;
    assert!(log.contains(&format!("revoked a device of owner, {name:?}")), "{log}");
    page.see_text("main", "no longer linked");
    page.reload();
    page.see_text("main", "not linked yet");
    assert_eq!(site.home.run(&["device", "list", "--json"]).ok().json(), json!([]));
}

#[test]
fn a_device_may_do_what_it_was_linked_for_and_no_more() {
    let home = Home::new();
    let gate = home.serve();
    let secret = link(&gate, &["start"]).split("#link=").nth(1).unwrap().to_owned();
    let new = json!({"link": secret, "name": "phone"});
    let made = Request::post("/api/v1/devices").json(&new).send(&gate.target()).expect(200).json();
    let key = made["key"].as_str().unwrap();
    let me = gate.get_as(key, "/api/v1/me").expect(200).json();
    assert_eq!((&me["name"], &me["via"], &me["device"]), (&json!("owner"), &json!("device"), &made["id"]));
    assert_eq!(me["rights"], json!(["talk", "review", "start"]));
    for path in ["/api/v1/devices", "/api/v1/log", "/api/v1/tokens"] {
        gate.get_as(key, path).expect(403);
    }
    gate.post_as(key, "/api/v1/devices/links", &json!({})).expect(403);
    for (path, bytes) in home.files() {
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{path} holds the key");
    }
}

#[test]
fn where_devices_answer_a_linked_one_does_and_the_owner_of_the_machine_does_not() {
    let home = Home::new();
    home.write_config("approvals = \"device\"\n");
    let gate = home.serve();
    let secret = link(&gate, &[]).split("#link=").nth(1).unwrap().to_owned();
    let new = json!({"link": secret, "name": "phone"});
    let made = Request::post("/api/v1/devices").json(&new).send(&gate.target()).expect(200).json();
    let owner = gate.get("/api/v1/me").expect(200).json();
    let device = gate.get_as(made["key"].as_str().unwrap(), "/api/v1/me").expect(200).json();
    assert!(!owner["rights"].as_array().unwrap().contains(&json!("review")));
    assert!(device["rights"].as_array().unwrap().contains(&json!("review")));
}

#[test]
fn the_public_listener_serves_its_own_host_and_what_is_for_elsewhere_alone() {
    let home = Home::new();
    home.write_config("public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n");
    let gate = home.serve();
    let status = home.status();
    assert_eq!(status["public_url"], "https://gate.example.org");
    let public = Target::Tcp(status["public_listen"].as_str().unwrap().parse().unwrap());
    let host = |request: Request| request.without("Host").header("Host", "gate.example.org");
    let page = host(Request::get("/")).header("Accept", "text/html").send(&public).expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'") && policy.contains("require-trusted-types-for 'script'"),
        "{policy}"
    );
    Request::get("/").send(&public).expect(403);
    let foreign = host(Request::get("/api/v1/sessions")).token(home.token());
    foreign.header("Origin", "https://evil.example").send(&public).expect(403);
    host(Request::get("/api/v1/sessions")).send(&public).expect(401);
    host(Request::get("/api/v1/sessions")).token(home.token()).send(&public).expect(200);
    for path in ["/healthz", "/metrics", "/events", "/api/openapi.json", "/link", "/anything"] {
        host(Request::get(path)).token(home.token()).send(&public).expect(404);
    }
    host(Request::post("/")).token(home.token()).body("x").send(&public).expect(405);
    // A link is made on this machine alone; the path is one that a DELETE of a device could have.
    host(Request::post("/api/v1/devices/links")).token(home.token()).json(&json!({})).send(&public).expect(405);
    gate.get("/healthz").expect(200);
}

#[test]
fn a_link_is_shown_on_a_terminal_only() {
    let home = Home::new();
    let _gate = home.serve();
    home.run(&["device", "link"]).refused(1, "a link is shown on a terminal only");
    home.run(&["page", "--no-open"]).refused(1, "no terminal to print the link on");
    assert!(home.run(&["device", "list"]).ok().stdout.contains("No device is linked."));
    home.run(&["device", "revoke", "nosuch"]).refused(1, "no device nosuch");
}

/// A program in place of `xdg-open`, which writes down what it is given.
fn fake_opener(home: &Home) -> std::path::PathBuf {
    let folder = home.user().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let script = "#!/bin/sh\nprintf '%s\\n' \"$*\" > \"$HOME/argv\"\ncp -p \"$1\" \"$HOME/opened.html\"\nmv \"$HOME/argv\" \"$HOME/opened\"\n";
    let file = folder.join("xdg-open");
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn the_browser_is_opened_on_a_file_that_only_its_owner_reads_and_that_is_gone_afterwards() {
    let home = Home::new();
    let gate = home.serve();
    let mut command = home.command(&["page"]);
    let path = std::env::var("PATH").unwrap();
    command.env("DISPLAY", ":9").env("PATH", format!("{}:{path}", fake_opener(&home).display()));
    let opening = home.spawn(command, Stdin::Nothing);
    let argv = until("the browser", || std::fs::read_to_string(home.user().join("opened")).ok());
    let file = std::path::PathBuf::from(argv.trim());
    let copy = home.user().join("opened.html");
    let text = std::fs::read_to_string(&copy).unwrap();
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = text.split("#link=").nth(1).unwrap().split('"').next().unwrap();
    assert!(!argv.contains(secret), "no list of processes shows the link");
    assert!(file.exists() && file.starts_with(home.folder()), "{}", file.display());
    // As a browser opens it: the page is there, and the secret is not in its address.
    let browser = Browser::start(&home);
    let page = browser.open("a", &format!("file://{}", file.display()), DESKTOP);
    page.see("[data-action=link]");
    assert_eq!(page.run("location.href"), format!("http://{}/", gate.address()));
    page.fill("input", "browser");
    page.click("[data-action=link]");
    page.see("nav");
    opening.wait_exit(PATIENCE);
    assert!(!file.exists(), "the file is gone");
    // What it said may be read a moment after it has gone.
    opening.line(PATIENCE, |line| line.contains("browser is linked."));
    assert!(!opening.stdout().contains(secret), "nor is it printed where no terminal is");
}

#[test]
fn up_opens_the_page_until_a_device_is_linked_and_leaves_no_file_behind() {
    let home = Home::new();
    let path = format!("{}:{}", fake_opener(&home).display(), std::env::var("PATH").unwrap());
    let up = || {
        let mut command = home.command(&["up"]);
        command.env("DISPLAY", ":9").env("PATH", &path);
        let terminal = Terminal::controlling(&command);
        terminal.until("listening");
        terminal
    };
    let printed = |terminal: &Terminal| {
        let shown = terminal.until("token");
        shown.split_whitespace().find(|word| word.contains("#link=")).map(str::to_owned)
    };
    let opened = home.user().join("opened");
    let mut terminal = up();
    let file = until("the browser", || std::fs::read_to_string(&opened).ok());
    let file = std::path::PathBuf::from(file.trim());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let link = printed(&terminal).expect("a browser in a sandbox cannot read the file");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&link), "it is the same link");
    let browser = Browser::start(&home);
    let page = browser.open("a", &format!("file://{}", file.display()), DESKTOP);
    page.click("[data-action=link]");
    page.see("nav");
    until("the end of the file", || (!file.exists()).then_some(()));
    terminal.interrupt();
    terminal.wait();
    std::fs::remove_file(&opened).unwrap();
    // The banner comes after the browser: there is nothing to wait for.
    let mut terminal = up();
    assert!(!opened.exists(), "a device is linked already");
    assert_eq!(printed(&terminal), None);
    terminal.interrupt();
    terminal.wait();
}

#[test]
fn the_file_goes_when_the_terminal_is_closed_and_what_a_kill_left_behind_goes_with_the_next() {
    let home = Home::new();
    let _gate = home.serve();
    let path = format!("{}:{}", fake_opener(&home).display(), std::env::var("PATH").unwrap());
    let open = || {
        std::fs::remove_file(home.user().join("opened")).ok();
        let mut command = home.command(&["page"]);
        command.env("DISPLAY", ":9").env("PATH", &path);
        let opening = home.spawn(command, Stdin::Nothing);
        let file = until("the browser", || std::fs::read_to_string(home.user().join("opened")).ok());
        (opening, std::path::PathBuf::from(file.trim()))
    };
    let (killed, left) = open();
    killed.kill_9();
    assert!(left.exists());
    for signal in [Signal::HUP, Signal::TERM] {
        let (opening, file) = open();
        assert!(file.exists() && !left.exists());
        opening.signal(signal);
        opening.wait_exit(PATIENCE);
        assert!(!file.exists(), "{signal:?}");
    }
}

#[test]
fn over_ssh_and_without_a_display_nothing_is_opened() {
    let home = Home::new();
    let _gate = home.serve();
    let path = format!("{}:{}", fake_opener(&home).display(), std::env::var("PATH").unwrap());
    for variables in [&[("DISPLAY", ":9"), ("SSH_CONNECTION", "1 2 3 4")][..], &[]] {
        let mut command = home.command(&["page"]);
        command.env("PATH", &path).envs(variables.iter().copied());
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).refused(1, "no browser to open");
    }
    assert!(!home.user().join("opened").exists());
}
