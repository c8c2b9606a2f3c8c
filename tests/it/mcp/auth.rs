//! Signing in, with a real authorisation server on loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{call, configure, listed, node, peer};
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::home::{Home, Ran};

/// The authorisation server, and the MCP server that it guards.
struct Guarded {
    server: Child,
    url: String,
}

impl Guarded {
    fn start(home: &Home) -> Self {
        let mut server = home.program(peer("PORTCULLIS_TEST_NODE24"));
        server.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/authorisation-server.mjs"));
        server.env("OIDC", peer("PORTCULLIS_TEST_OIDC"));
        let server = home.spawn(server, Stdin::Nothing);
        let url = server.line(PATIENCE, |line| line.starts_with("http"));
        let url = url.trim().to_owned();
        configure(home, &json!({"guarded": {"type": "http", "url": url}}));
        Self { server, url }
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
    home.run(&["mcp", "login", "guarded"]).refused(1, "cannot be reached");
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

/// A server that takes one token, and its port. `refusals` has a line for each request that it refused.
fn taking(home: &Home, token: &str, refusals: &Path) -> (Child, String) {
    let mut server = home.program(node());
    server.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/token-server.js"));
    server.env("TOKEN", token).env("REFUSALS", refusals);
    let server = home.spawn(server, Stdin::Nothing);
    let port = server.line(PATIENCE, |line| line.parse::<u16>().is_ok());
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
