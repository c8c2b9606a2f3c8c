//! The MCP servers of Claude Code: which of them it reaches past the gateway.

use std::path::Path;

use portcullis_core::shell_words;

use super::finding::Finding;
use crate::config::Paths;
use crate::config::users_texts;
use crate::setup::adopted::starts_gateway;
use crate::setup::servers::written;
use crate::upstream::auth::AuthFolder;
use crate::upstream::config::{Configuration, ConfiguredServer, ServerFiles, ServerLayer, ServerStanding};

const CHECK: &str = "MCP servers";

/// Nothing where there are no servers. What is past the gateway is as Claude Code has it, and no fault.
pub(super) fn look(paths: &Paths, project: &Path) -> Vec<Finding> {
    let Ok(files) = ServerFiles::find(project, paths) else { return vec![] };
    let configuration = Configuration::read(&files, &users_texts());
    let starts_us =
        |server: &ConfiguredServer| server.entry.as_ref().is_some_and(|entry| entry.endpoint.starts_this_program());
    let is_behind = |server: &ConfiguredServer| {
        let under = files.under(server.layer).unwrap_or_default();
        let text = written(&server.file, &under, &server.name).ok().flatten().unwrap_or_default();
        starts_gateway(&serde_json::from_str(&text).unwrap_or_default(), &server.name)
    };
    let used = configuration.servers.iter().filter(|server| is_used(server) && !starts_us(server));
    let (behind, past): (Vec<&ConfiguredServer>, Vec<_>) = used.partition(|server| is_behind(server));
    let behind_names = behind.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ");
    let auth = AuthFolder::new(&paths.state_dir);
    let unsigned: Vec<&str> = behind
        .iter()
        .filter(|server| matches!(&server.standing, ServerStanding::Ready(upstream) if auth.wants_sign_in(upstream)))
        .map(|server| server.name.as_str())
        .collect();
    let of_behind = match unsigned.first() {
        Some(first) => {
            let what = format!("behind the gateway: {behind_names}; nobody has signed in to {}", unsigned.join(", "));
            let way =
                format!("sign in, which Claude Code's own does not: portcullis mcp login {}", shell_words(&[first]));
            Some(Finding::warn(CHECK, what, way))
        }
        None if behind.is_empty() || !past.is_empty() => None,
        None => Some(Finding::ok(CHECK, format!("behind the gateway: {behind_names}"))),
    };
    let of_past = match past.is_empty() {
        true => None,
        false => {
            let names = past.iter().map(|server| named(server)).collect::<Vec<_>>().join(", ");
            let finding = Finding::note(CHECK, format!("Claude Code reaches these past the gateway: {names}"));
            Some(match past.iter().any(|server| is_own(server)) {
                true => finding.with("put yours behind it, so that each call is judged here: portcullis mcp adopt"),
                false => finding.with(
                    "their calls pass your rules in its hooks alone; one of your own of the same name would be adopted",
                ),
            })
        }
    };
    of_behind.into_iter().chain(of_past).collect()
}

/// Whether Claude Code may reach it. What we have not approved, it may have.
fn is_used(server: &ConfiguredServer) -> bool {
    // Of our own file and of an editor it knows nothing.
    !matches!(server.layer, ServerLayer::Gateway | ServerLayer::Editor)
        && matches!(server.standing, ServerStanding::Ready(_) | ServerStanding::Unapproved)
}

/// Whether `adopt` can put it behind the gateway.
fn is_own(server: &ConfiguredServer) -> bool {
    matches!(server.layer, ServerLayer::Local | ServerLayer::User)
}

/// With its layer, where it is none that `adopt` changes.
fn named(server: &ConfiguredServer) -> String {
    let name = server.name.replace(char::is_control, " ");
    match is_own(server) {
        true => name,
        false => format!("{name} ({})", server.layer.name()),
    }
}
