//! Signing in, with a real authorisation server on loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::gateway::Client;
use super::gateway_http::HttpClient;
use super::{call, configure, listed, over_http, peer};
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::home::{Home, Ran};
use crate::support::until;

/// The authorisation server, and the MCP server that it guards.
pub(crate) struct Guarded {
    server: Child,
    url: String,
}

impl Guarded {
    pub(crate) fn start(home: &Home) -> Self {
        let mut server = home.program(peer("PORTCULLIS_TEST_NODE24"));
        server.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/authorisation-server.mjs"));
        server.env("OIDC", peer("PORTCULLIS_TEST_OIDC"));
        let server = home.spawn(server, Stdin::Nothing);
        let url = server.line(PATIENCE, |line| line.starts_with("http"));
        let url = url.trim().to_owned();
        configure(home, &json!({"guarded": {"type": "http", "url": url}}));
        Self { server, url }
    }

    /// A person who opens the address and agrees to everything.
    #[track_caller]
    pub(crate) fn agree(&self, home: &Home, address: &str) {
        let jar = home.user().join("jar");
        let mut person = Command::new("curl");
        person.args(["-sfL", "-o", "/dev/null"]).arg("-c").arg(&jar).arg("-b").arg(&jar).arg(address);
        assert!(person.status().unwrap().success());
    }

    fn count(&self, word: &str) -> usize {
        self.server.stdout().lines().filter(|line| *line == word).count()
    }

    fn tell(&self, path: &str) {
        let address = self.url.replace("/mcp", path);
        let told = Command::new("curl").args(["-sf", "-X", "POST", &address]).status().unwrap();
        assert!(told.success());
    }
}

/// A program in place of `xdg-open`: a browser with cookies, and a person who agrees.
fn browser(home: &Home) -> String {
    let folder = home.user().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let script = "#!/bin/sh\n\
        url=$(sed -n 's/.*content=\"0;url=\\([^\"]*\\)\".*/\\1/p' \"$1\" | sed 's/&amp;/\\&/g')\n\
        exec curl -sL -c \"$HOME/jar\" -b \"$HOME/jar\" -o \"$HOME/page\" \"$url\"\n";
    let file = folder.join("xdg-open");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn sign_in(home: &Home) -> Ran {
    let mut command = home.command(&["mcp", "login", "guarded", "--json"]);
    command.env("DISPLAY", ":9").env("PATH", browser(home));
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE)
}

/// A sign-in that waits for a person, and the address to open.
fn begun_sign_in(home: &Home) -> (Child, String) {
    let login = home.spawn(home.command(&["mcp", "login", "guarded", "--json", "--no-open"]), Stdin::Nothing);
    let begun = login.line(PATIENCE, |line| line.contains("\"waiting\""));
    let begun: Value = serde_json::from_str(&begun).unwrap();
    (login, begun["url"].as_str().unwrap().to_owned())
}

#[test]
fn someone_signs_in_in_a_browser_and_calls_go_through() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    assert_eq!(listed(&home, "guarded")["state"], "needs-auth");
    let refused = call(&home, "guarded", "read", &json!({}));
    assert!(refused.stderr.contains("portcullis mcp login guarded"), "{refused:?}");
    let said = sign_in(&home).ok().stdout;
    assert!(said.contains("\"signed-in\"") && said.contains("mcp:basic"), "{said}");
    assert_eq!((guarded.count("registered"), guarded.count("code S256")), (1, 1));
    assert!(fs::read_to_string(home.user().join("page")).unwrap().contains("You can close this page"));
    assert_eq!(listed(&home, "guarded")["state"], "connected");
    assert!(call(&home, "guarded", "read", &json!({})).ok().stdout.starts_with("read with "));
    let folder = home.folder().join("mcp-auth");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for file in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.path());
    }
    assert!(home.run(&["mcp", "login", "guarded"]).ok().stdout.contains("lets you in already"));
    home.run(&["mcp", "logout", "guarded"]).ok();
    assert_eq!(listed(&home, "guarded")["state"], "needs-auth");
    assert!(home.run(&["mcp", "logout", "guarded"]).ok().stdout.contains("Nobody was signed in"));
}

#[test]
fn who_signs_in_to_a_server_that_asks_nobody_is_not_told_to_sign_out() {
    let home = Home::new();
    let (_server, port) = over_http(&home, &[]);
    configure(&home, &json!({"open": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}}));
    assert_eq!(home.run(&["mcp", "login", "open"]).ok().stdout, "open lets you in, and asks nobody to sign in.\n");
}

#[test]
fn a_token_that_ran_out_is_renewed_and_one_that_was_revoked_asks_someone_to_sign_in() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    sign_in(&home).ok();
    for renewals in 1..=2 {
        guarded.tell("/expire");
        call(&home, "guarded", "read", &json!({})).ok();
        assert_eq!(guarded.count("refresh"), renewals, "the refresh token of the last time is used");
    }
    guarded.tell("/revoke");
    assert_eq!(listed(&home, "guarded")["state"], "needs-auth");
    let refused = call(&home, "guarded", "read", &json!({}));
    assert!(!refused.status.success() && refused.stderr.contains("mcp login"), "{refused:?}");
    sign_in(&home).ok();
    call(&home, "guarded", "read", &json!({})).ok();
}

#[test]
fn two_processes_use_one_renewal() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    sign_in(&home).ok();
    // Both are refused with the old token before either has a new one.
    guarded.tell("/expire?hold=2");
    let calling = || home.spawn(home.command(&["mcp", "call", "guarded", "read", "{}"]), Stdin::Nothing);
    let calls = [calling(), calling()];
    for call in &calls {
        assert!(Ran::of(call, PATIENCE).ok().stdout.starts_with("read with "));
    }
    assert_eq!(guarded.count("refresh"), 1);
    call(&home, "guarded", "read", &json!({})).ok();
}

/// A gateway whose call has its token renewed: the authorisation server has given a new one, and keeps the answer.
fn renewing(home: &Home, guarded: &Guarded) -> (Client, u64) {
    sign_in(home).ok();
    home.run(&["rules", "add", "allow", "mcp__guarded"]).ok();
    let client = Client::start(home, &[]);
    assert!(client.tools().contains(&"guarded__read".to_owned()));
    guarded.tell("/expire?keep=1");
    let called = client.call("guarded__read", &json!({}));
    guarded.server.line(PATIENCE, |line| line == "refresh");
    (client, called)
}

#[test]
fn a_renewal_under_way_is_kept_although_its_server_is_taken_out_of_the_files() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    home.fix("PORTCULLIS_TEST_MCP_LOOK", 20);
    let guarded = Guarded::start(&home);
    let _gate = home.serve();
    let (client, called) = renewing(&home, &guarded);
    configure(&home, &json!({}));
    let answer = client.answer(called);
    assert!(answer.to_string().contains("went away") || answer.get("error").is_some(), "{answer}");
    guarded.tell("/give");
    configure(&home, &json!({"guarded": {"type": "http", "url": guarded.url}}));
    until("the server is back", || client.tools().contains(&"guarded__read".to_owned()).then_some(()));
    let answer = client.answer(client.call("guarded__read", &json!({})));
    assert!(answer.to_string().contains("read with "), "{answer}");
    assert_eq!(guarded.count("refresh"), 1);
}

#[test]
fn a_renewal_under_way_is_kept_although_its_client_leaves() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    let guarded = Guarded::start(&home);
    let _gate = home.serve();
    let (client, _) = renewing(&home, &guarded);
    client.child.close_stdin();
    home.attached(0);
    guarded.tell("/give");
    client.child.wait_exit(PATIENCE);
    call(&home, "guarded", "read", &json!({})).ok();
    assert_eq!(guarded.count("refresh"), 1);
}

#[test]
fn a_renewal_under_way_is_kept_although_the_gate_ends() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    let guarded = Guarded::start(&home);
    let gate = home.serve();
    sign_in(&home).ok();
    home.run(&["rules", "add", "allow", "mcp__guarded"]).ok();
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    assert!(client.tools().contains(&"guarded__read".to_owned()));
    guarded.tell("/expire?keep=1");
    let _called = client.call("guarded__read", &json!({}));
    guarded.server.line(PATIENCE, |line| line == "refresh");
    gate.stop();
    guarded.tell("/give");
    call(&home, "guarded", "read", &json!({})).ok();
    assert_eq!(guarded.count("refresh"), 1);
}

/// A gateway whose server refuses every token, although they are renewed.
fn refused(home: &Home) -> Client {
    let client = Client::start(home, &[]);
    assert!(!client.tools().contains(&"guarded__read".to_owned()));
    client
}

/// As long as a gateway that does not pause would need for a dozen tries.
fn meanwhile(home: &Home) {
    for _ in 0..10 {
        home.run(&["rules", "list"]).ok();
    }
}

#[test]
fn a_server_that_refuses_renewed_tokens_is_left_alone_until_someone_signs_in() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    home.fix("PORTCULLIS_TEST_MCP_LOOK", 1);
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 1);
    let guarded = Guarded::start(&home);
    let _gate = home.serve();
    sign_in(&home).ok();
    guarded.tell("/refuse");
    // In this order: what a client on standard streams is started by signs in nowhere.
    let (login, url) = begun_sign_in(&home);
    let before = guarded.count("refresh");
    let client = refused(&home);
    meanwhile(&home);
    assert_eq!(guarded.count("refresh"), before + 1, "its own renewal is no sign-in");
    guarded.tell("/admit");
    guarded.agree(&home, &url);
    login.line(PATIENCE, |line| line.contains("\"signed-in\""));
    client.message(|message| message["method"] == "notifications/tools/list_changed");
    assert!(client.tools().contains(&"guarded__read".to_owned()));
}

#[test]
fn renewals_of_another_process_make_no_gateway_try_a_server_without_a_pause() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    home.fix("PORTCULLIS_TEST_MCP_LOOK", 1);
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 600_000);
    let guarded = Guarded::start(&home);
    let _gate = home.serve();
    sign_in(&home).ok();
    guarded.tell("/refuse");
    let _clients = [refused(&home), refused(&home)];
    meanwhile(&home);
    assert_eq!(guarded.count("refresh"), 2, "each has renewed once");
}

#[test]
fn a_call_that_needs_more_says_so_and_the_next_sign_in_asks_for_it() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    sign_in(&home).ok();
    let refused = call(&home, "guarded", "write", &json!({}));
    assert!(refused.stderr.contains("portcullis mcp login guarded"), "{refused:?}");
    assert_eq!(listed(&home, "guarded")["state"], "connected", "other calls still go through");
    call(&home, "guarded", "read", &json!({})).ok();
    let said = sign_in(&home).ok().stdout;
    assert!(said.contains("mcp:write") && said.contains("mcp:basic"), "nothing is given up for it: {said}");
    call(&home, "guarded", "write", &json!({})).ok();
    call(&home, "guarded", "read", &json!({})).ok();
    assert_eq!(guarded.count("code S256"), 2);
}

#[test]
fn whoever_configured_a_header_that_is_refused_is_not_asked_to_sign_in() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    let entry = json!({"type": "http", "url": guarded.url, "headers": {"Authorization": "Bearer wrong"}});
    configure(&home, &json!({"guarded": entry}));
    let server = listed(&home, "guarded");
    assert!(server["state"] == "failed" && server["why"].as_str().unwrap().contains("401"), "{server}");
    assert!(server["why"].as_str().unwrap().contains("the server refuses the credential of its entry"), "{server}");
    home.run(&["mcp", "login", "guarded"]).refused(1, "mend the Authorization header in its entry");
}

#[test]
fn commands_that_were_not_told_to_ask_leave_a_server_alone_that_wants_a_sign_in() {
    let home = Home::new();
    let guarded = Guarded::start(&home);
    assert_eq!(listed(&home, "guarded")["state"], "needs-auth");
    let before = guarded.count("refused");
    home.run(&["mcp", "tools"]);
    assert_eq!(guarded.count("refused"), before, "it is remembered");
    // Another entry of the same name is another server.
    configure(&home, &json!({"guarded": {"type": "http", "url": guarded.url, "headers": {"x-a": "b"}}}));
    home.run(&["mcp", "tools"]);
    assert!(guarded.count("refused") > before);
}

#[test]
fn a_server_that_wants_a_sign_in_is_named_with_the_command_and_its_tools_come_after_it() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    home.fix("PORTCULLIS_TEST_MCP_LOOK", 20);
    let guarded = Guarded::start(&home);
    let adopted = home.run(&["mcp", "adopt", "guarded"]).ok().stdout;
    assert!(
        adopted.contains("It wants you to sign in") && adopted.contains("portcullis mcp login guarded"),
        "{adopted}"
    );
    let advice = home.run(&["doctor"]).stdout;
    assert!(advice.contains("nobody has signed in to guarded"), "{advice}");
    assert!(advice.contains("portcullis mcp login guarded"), "{advice}");
    home.run(&["mcp", "add", "other", "--scope", "user", "--", "true"]).ok();
    let advice = home.run(&["doctor"]).stdout;
    assert!(advice.contains("nobody has signed in to guarded"), "{advice}");
    assert!(advice.contains("past the gateway: other"), "one finding hides no other: {advice}");
    home.run(&["mcp", "remove", "other"]).ok();
    // In this order: what a client on standard streams is started by signs in nowhere.
    let _gate = home.serve();
    let (login, url) = begun_sign_in(&home);
    let client = Client::start(&home, &["--server", "guarded"]);
    let listed = client.ask("tools/list", &json!({}));
    let why = &listed["result"]["_meta"]["portcullis/unavailable"]["guarded"];
    assert_eq!(why, "the server wants you to sign in: portcullis mcp login guarded", "{listed}");
    guarded.agree(&home, &url);
    login.line(PATIENCE, |line| line.contains("\"signed-in\""));
    client.message(|message| message["method"] == "notifications/tools/list_changed");
    assert!(client.tools().contains(&"read".to_owned()));
    assert!(!home.run(&["doctor"]).stdout.contains("nobody has signed in"));
}

/// A server that takes one token, and its port. `refusals` has a line for each request that it refused.
fn taking(home: &Home, token: &str, refusals: &Path) -> (Child, String) {
    let (server, port) = over_http(home, &[("TOKEN", token), ("REFUSALS", refusals.to_str().unwrap())]);
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[test]
fn a_token_that_a_helper_prints_is_printed_anew_when_it_is_refused_and_tried_once_if_it_is_another() {
    let home = Home::new();
    let refusals = home.user().join("refusals");
    let (_server, url) = taking(&home, "new", &refusals);
    // The first time it prints a token that has run out meanwhile.
    let ran = home.user().join("ran").display().to_string();
    let helper = format!(
        r#"if [ -e '{ran}' ]; then t=new; else touch '{ran}'; t=old; fi; echo "{{\"Authorization\": \"Bearer $t\"}}""#
    );
    let entry = |helper: &str| json!({"type": "claudeai-proxy", "url": url, "headersHelper": helper, "protocolVersion": "2025-11-25"});
    configure(&home, &json!({"proxy": entry(&helper)}));
    assert_eq!(call(&home, "proxy", "echo", &json!({})).ok().stdout, "let in\n");
    assert_eq!(fs::read_to_string(&refusals).unwrap(), "Bearer old\n", "the new one is used from then on");
    // The same token would be refused again.
    fs::remove_file(&refusals).unwrap();
    configure(&home, &json!({"proxy": entry(r#"echo '{"Authorization": "Bearer old"}'"#)}));
    let server = listed(&home, "proxy");
    assert!(server["state"] == "failed" && server["why"].as_str().unwrap().contains("401"), "{server}");
    assert_eq!(fs::read_to_string(&refusals).unwrap(), "Bearer old\n");
}
