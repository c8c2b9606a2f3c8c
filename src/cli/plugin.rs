//! `portcullis plugin`: a folder that Claude Code can install Portcullis from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::setup::file::{Audience, UserFile, Wrote};
use super::setup::hooks::{self, Callee};
use super::setup::place;
use super::{VERSION, environment, log_at, say, shell};
use crate::failure::Failure;

const NAME: &str = "portcullis";

/// Write a plugin for Claude Code into a folder
///
/// The folder is a marketplace with one plugin: the MCP server, the hooks, and a skill that explains the commands. Claude Code
/// installs it from there; the commands for that are printed. Written again, it is brought up to date.
///
/// The plugin does the same as `portcullis install --hooks`, for all of your projects: use one of the two. It carries
/// no rules: the tools `reply`, `edit_message` and `inbox` are asked for, and deny rules are kept by Portcullis alone.
#[derive(clap::Args)]
pub(super) struct Plugin {
    /// The folder to write: a new one, an empty one, or one that this command wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Plugin {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let folder = std::path::absolute(&self.folder).context("finding the folder")?;
        refuse_what_is_not_ours(&folder)?;
        let place = place::choose(&place::this_program()?, &environment)?;
        if let Some(announcement) = place.announcement() {
            say(&announcement);
        }
        place.settle()?;
        let icon = folder.join("plugins/portcullis/.claude-plugin/icon.png");
        fs::create_dir_all(icon.parent().unwrap_or(&folder))
            .and_then(|()| fs::write(&icon, include_bytes!("plugin/icon.png")))
            .with_context(|| format!("writing {}", icon.display()))?;
        for (path, text) in files(place.path()) {
            let file = UserFile::read(&folder.join(path))?;
            if file.write(&text, Audience::Everyone)? == Wrote::Overtaken {
                let what = format!("{} was changed while it was being written", file.path.display());
                return Err(Failure::new(what, "run this again").into());
            }
        }
        say(&farewell(&folder));
        Ok(ExitCode::SUCCESS)
    }
}

fn files(program: &Path) -> [(&'static str, String); 7] {
    let description =
        "The gate between a coding agent and the world: events in, replies out, prompts answered from anywhere";
    let author = json!({"name": "Portcullis"});
    let marketplace = json!({
        "name": NAME,
        "owner": author,
        "description": description,
        "plugins": [{"name": NAME, "source": "./plugins/portcullis", "description": description}],
    });
    let manifest = json!({
        "name": NAME,
        "version": VERSION,
        "description": description,
        "author": author,
        "license": "Apache-2.0",
        "channels": [{"server": NAME}],
    });
    let server = json!({"mcpServers": {NAME: {"command": program.display().to_string(), "args": ["channel"]}}});
    // A plugin's server is known to hooks by a name that says so.
    let callee = Callee { server: format!("plugin:{NAME}:{NAME}"), program };
    let written = |value: Value| format!("{value:#}\n");
    [
        ("plugins/portcullis/.claude-plugin/plugin.json", written(manifest)),
        ("plugins/portcullis/.mcp.json", written(server)),
        ("plugins/portcullis/hooks/hooks.json", hooks::file(&callee)),
        ("plugins/portcullis/skills/portcullis/SKILL.md", include_str!("plugin/SKILL.md").to_owned()),
        ("plugins/portcullis/README.md", include_str!("plugin/README.md").to_owned()),
        ("plugins/portcullis/LICENSE", include_str!("../../LICENSE").to_owned()),
        // Last, because by it the folder is known to be ours and complete.
        (MARKETPLACE, written(marketplace)),
    ]
}

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

fn refuse_what_is_not_ours(folder: &Path) -> anyhow::Result<()> {
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("looking into {}", folder.display())),
    };
    if entries.next().is_none() || is_ours(&folder.join(MARKETPLACE)) {
        return Ok(());
    }
    let what = format!("{} holds something else already", folder.display());
    Err(Failure::new(what, "name a folder that does not exist yet, or an empty one").into())
}

fn is_ours(marketplace: &Path) -> bool {
    let text = fs::read_to_string(marketplace).unwrap_or_default();
    let marketplace: Value = serde_json::from_str(&text).unwrap_or_default();
    marketplace["name"] == NAME && marketplace["plugins"][0]["source"] == "./plugins/portcullis"
}

fn farewell(folder: &Path) -> String {
    let folder = shell::word(&folder.display().to_string());
    format!(
        "Wrote the plugin to {folder}. Leave the folder where it is, and tell Claude Code about it:
  claude plugin marketplace add {folder}
  claude plugin install {NAME}@{NAME}
Prompts are answered from anywhere and events come in through hooks. Where your account has the channel, too:
  claude --dangerously-load-development-channels plugin:{NAME}@{NAME}
If you used `portcullis install` before, take that back with `portcullis uninstall`: one of the two is enough.
"
    )
}
