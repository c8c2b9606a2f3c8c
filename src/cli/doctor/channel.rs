//! The channel: the conditions of Claude Code in the order in which it checks them, as far as they can be seen.

use portcullis_wire::api::SessionView;
use serde_json::Value;

use super::debug_log::DebugLogs;
use super::finding::{Blocks, Finding};
use super::is_set;
use crate::cli::setup::claude::{managed_settings, managed_settings_said};
use crate::cli::setup::installed::has_hooks_of_own;
use crate::config::environment;
use crate::processes::arguments_of;

/// `names` are what the flags would call the channel; `has_login` says whether there is one at claude.ai.
pub(super) fn look(names: &[String], has_login: bool, sessions: &[SessionView], log: &DebugLogs) -> Vec<Finding> {
    let mut findings = vec![
        Finding::ok("channel: declared", "`portcullis channel` declares events and permission prompts"),
        Finding::ok("channel: protocol", "`portcullis channel` speaks the protocol revision that has channels"),
        provider(),
        account(has_login, has_hooks()),
        log.rollout().unwrap_or_else(|| {
            Finding::note(
                "channel: rollout",
                "a preview that the vendor enables per account; only Claude Code itself can tell",
            )
            .with("start `claude --debug` with the flag below: it says \"channels feature is not currently available\" where it is not enabled")
        }),
        policy(),
    ];
    findings.extend(named(names, sessions));
    findings.push(list(&managed_settings_said()));
    findings
}

fn has_hooks() -> bool {
    std::env::current_dir().is_ok_and(|folder| has_hooks_of_own(&folder, &environment))
}

/// Channels need a login at claude.ai; with an API key there are none.
fn account(has_login: bool, has_hooks: bool) -> Finding {
    const CHECK: &str = "channel: account";
    let key = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"].into_iter().find(|name| is_set(name));
    match (key, has_login) {
        (Some(name), _) => {
            let what = format!("{name} is set: channels need a login at claude.ai instead of a key");
            match has_hooks {
                true => Finding::note(CHECK, format!("{what}; your hooks work with either")),
                false => Finding::note(CHECK, what).with("hooks work with every account: `portcullis install --hooks`"),
            }
            .blocking(Blocks::Channel)
        }
        (None, true) => Finding::ok(CHECK, "Claude Code has a login at claude.ai"),
        (None, false) => {
            Finding::note(CHECK, "no login at claude.ai is known here; channels need one").with("`claude`, then /login")
        }
    }
}

/// Which channels may be opened without the flag for developers.
fn list(managed: &Value) -> Finding {
    const CHECK: &str = "channel: list";
    if let Some(allowed) = managed["allowedChannelPlugins"].as_array() {
        let is_ours = |entry: &Value| {
            entry["plugin"] == "portcullis" || entry.as_str().is_some_and(|name| name.starts_with("portcullis"))
        };
        return match allowed.iter().any(is_ours) {
            true => Finding::ok(CHECK, "your organisation's allowedChannelPlugins names Portcullis"),
            false => Finding::warn(
                CHECK,
                "your organisation's allowedChannelPlugins does not name Portcullis",
                "ask who administers Claude Code in your organisation",
            )
            .blocking(Blocks::Channel),
        };
    }
    let listed = "Portcullis is not on the vendor's list of channels, so --channels alone is refused";
    Finding::note(CHECK, listed).with("--dangerously-load-development-channels skips this list, and nothing else")
}

fn provider() -> Finding {
    const CHECK: &str = "channel: provider";
    let others = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
    match others.into_iter().find(|name| is_set(name)) {
        Some(name) => Finding::warn(
            CHECK,
            format!("{name} is set: channels need an account with Anthropic itself"),
            format!("unset {name}"),
        )
        .blocking(Blocks::Channel),
        None if is_set("ANTHROPIC_BASE_URL") => {
            Finding::note(CHECK, "ANTHROPIC_BASE_URL is set; whether channels work there depends on Claude Code")
        }
        None => Finding::ok(CHECK, "no variable of this shell names another provider; your settings may"),
    }
}

/// What an organisation's settings file says. What it says over the network cannot be seen from here.
fn policy() -> Finding {
    const CHECK: &str = "channel: policy";
    let (file, settings) = (managed_settings(), managed_settings_said());
    match settings["channelsEnabled"].as_bool() {
        Some(true) => Finding::ok(CHECK, format!("channelsEnabled is true in {}", file.display())),
        Some(false) => Finding::warn(
            CHECK,
            format!("channelsEnabled is false in {}", file.display()),
            "ask who administers Claude Code in your organisation",
        )
        .blocking(Blocks::Channel),
        None => Finding::note(
            CHECK,
            "no managed settings mention channels; Team and Enterprise accounts need `channelsEnabled`",
        ),
    }
}

/// Whether the sessions that are attached were told to listen to the channel.
fn named(names: &[String], sessions: &[SessionView]) -> Vec<Finding> {
    const CHECK: &str = "channel: named";
    let name = names.first().map_or("server:portcullis", String::as_str);
    let remedy = format!("start it with: claude --dangerously-load-development-channels {name}");
    let attached = sessions.iter().filter(|session| session.state == "attached" && session.connected_by == "channel");
    let findings: Vec<Finding> = attached
        .filter_map(|session| {
            let arguments = arguments_of(session.pid?)?;
            let label = &session.label;
            Some(match channels_named(&arguments) {
                // The demo, or some other program that speaks for itself.
                _ if !is_claude(&arguments) => return None,
                named if named.is_empty() => Finding::warn(
                    CHECK,
                    format!("session {label} was started without the channel: it gets no events"),
                    remedy.clone(),
                ),
                named if names.iter().any(|name| named.contains(name)) => {
                    Finding::ok(CHECK, format!("session {label} was started with {}", named.join(" ")))
                }
                named => {
                    let what = format!("session {label} was started with {} only", named.join(" "));
                    Finding::warn(CHECK, what, remedy.clone())
                }
            })
        })
        .collect();
    if findings.is_empty() {
        return vec![
            Finding::note(CHECK, "each session needs a flag at its start that names the channel").with(remedy),
        ];
    }
    findings
}

fn is_claude(arguments: &[String]) -> bool {
    arguments
        .iter()
        .take(2)
        .any(|word| word.rsplit('/').next().is_some_and(|name| name.starts_with("claude") || name == "cli.js"))
}

/// What follows the two flags, up to the next flag.
fn channels_named(arguments: &[String]) -> Vec<String> {
    const FLAGS: [&str; 2] = ["--channels", "--dangerously-load-development-channels"];
    let mut named = vec![];
    let mut listening = false;
    for word in arguments {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        if FLAGS.contains(&flag) {
            listening = value.is_empty();
            named.extend(value.split(',').filter(|name| !name.is_empty()).map(str::to_owned));
        } else if word.starts_with('-') {
            listening = false;
        } else if listening && (word.starts_with("server:") || word.starts_with("plugin:")) {
            named.extend(word.split(',').map(str::to_owned));
        }
    }
    named
}

pub(super) fn sessions(sessions: &[SessionView], gate_runs: bool) -> Finding {
    const CHECK: &str = "sessions";
    let attached: Vec<String> = sessions
        .iter()
        .filter(|session| session.state == "attached")
        .map(|session| format!("{} by {}", session.label, session.connected_by))
        .collect();
    match attached.len() {
        0 if gate_runs => Finding::note(CHECK, "none is attached now"),
        0 => Finding::note(CHECK, "none, since no gate is running"),
        count => Finding::ok(CHECK, format!("{count} attached: {}", attached.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_session_was_told_to_listen_to_is_read_from_its_words() {
        let named = |line: &str| channels_named(&line.split(' ').map(str::to_owned).collect::<Vec<String>>());
        assert_eq!(named("claude -p server:x --model y"), [""; 0]);
        assert_eq!(named("claude --channels plugin:a@b server:c -c server:d"), ["plugin:a@b", "server:c"]);
        assert_eq!(named("claude --dangerously-load-development-channels=server:x fix it"), ["server:x"]);
        assert_eq!(named("claude --channels server:x fix server:"), ["server:x", "server:"]);
    }

    #[test]
    fn only_claude_code_is_taken_for_it() {
        for (line, is) in
            [("/usr/bin/claude -c", true), ("node /x/claude-code/cli.js", true), ("portcullis demo", false)]
        {
            assert_eq!(is_claude(&line.split(' ').map(str::to_owned).collect::<Vec<String>>()), is, "{line}");
        }
    }

    #[test]
    fn a_list_of_the_organisation_decides_whether_the_channel_may_open() {
        for allowed in [json!(["portcullis@portcullis"]), json!([{"marketplace": "ours", "plugin": "portcullis"}])] {
            let finding = list(&json!({"allowedChannelPlugins": allowed}));
            assert!(finding.what.ends_with("allowedChannelPlugins names Portcullis"), "{}", finding.what);
        }
        let finding = list(&json!({"allowedChannelPlugins": [{"marketplace": "ours", "plugin": "telegram"}]}));
        assert!(finding.what.ends_with("allowedChannelPlugins does not name Portcullis"), "{}", finding.what);
        assert!(finding.remedy.is_some_and(|remedy| remedy.contains("administers Claude Code")));
        assert!(list(&Value::Null).what.starts_with("Portcullis is not on the vendor's list"));
    }
}
