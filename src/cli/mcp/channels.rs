//! Channel servers for `portcullis run --channel`: found in the layers, and started once for the session.

use portcullis_core::shell_words;

use super::super::paths;
use super::call::ready;
use super::serve::settings_of;
use super::{configuration, note_problems};
use crate::agents::claude::hosted::{NoChannel, StartedChannels};
use crate::config::users_texts;
use crate::failure::Failure;
use crate::upstream::auth::AuthFolder;
use crate::upstream::config::{Configuration, Revision, ServerStanding, Upstream};
use crate::upstream::{Timeouts, Upstreams};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;

/// Starts the channel servers of these names: those of the layers, or `plugin:NAME@MARKET` for those of a plugin.
pub(in crate::cli) async fn start(names: &[String]) -> anyhow::Result<Option<StartedChannels>> {
    if names.is_empty() {
        return Ok(None);
    }
    let (_, configuration) = configuration()?;
    note_problems(&configuration);
    let mut wanted: Vec<Upstream> = vec![];
    for name in names {
        for upstream in found(&configuration, name)? {
            if !wanted.iter().any(|known| known.name == upstream.name) {
                let mut upstream = upstream.clone();
                // Only this revision has messages that a server sends by itself.
                upstream.entry.revision = Some(Revision::Initialize);
                wanted.push(upstream);
            }
        }
    }
    let upstreams = Upstreams::new(std::env::current_dir()?, Timeouts::read(&users_texts()), TRIES)
        .with_tokens(AuthFolder::new(&paths()?.state_dir))
        .guarded_by(std::env::current_exe()?);
    let (upstreams, heard) = StartedChannels::hearing(upstreams);
    upstreams.reconcile(wanted.iter()).await;
    let names = wanted.into_iter().map(|upstream| upstream.name).collect();
    let longest = settings_of(&paths()?).mcp.longest_description;
    let started = StartedChannels::start((upstreams, heard), names, longest).await;
    Ok(Some(started.map_err(|failure| {
        let hint = match &failure {
            NoChannel::NeedsAuth(name) => format!("sign in: portcullis mcp login {}", shell_words(&[name])),
            NoChannel::Failed { name, .. } => format!("see what it says: portcullis mcp list; its entry is {name:?}"),
            NoChannel::NotAChannel(_) => {
                "leave it out of --channel: the session has its tools all the same, from Claude Code".to_owned()
            }
        };
        Failure::new(failure.to_string(), hint)
    })?))
}

/// The servers that a name means. A plugin's are all that it brings.
fn found<'a>(configuration: &'a Configuration, name: &str) -> Result<Vec<&'a Upstream>, Failure> {
    let Some((plugin, market)) = name.strip_prefix("plugin:").and_then(|id| id.split_once('@')) else {
        return Ok(vec![ready(configuration, name)?]);
    };
    let id = format!("{plugin}@{market}");
    let of_plugin = configuration.servers.iter().filter(|server| server.plugin.as_deref() == Some(&id));
    let servers: Vec<_> = of_plugin.filter(|server| !matches!(server.standing, ServerStanding::Hidden(_))).collect();
    if servers.is_empty() {
        let what = format!("no plugin {id} is installed and on here, or it brings no MCP server");
        return Err(Failure::usage(what, format!("install it: claude plugin install {}", shell_words(&[id]))));
    }
    servers.into_iter().map(|server| ready(configuration, &server.name)).collect()
}
