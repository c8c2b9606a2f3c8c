//! A folder that Claude Code can install Portcullis from: a marketplace with one plugin.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::file::{Audience, UserFile, Wrote};
use super::hooks::{self, Callee};
use crate::failure::Failure;

/// The name of the marketplace, of the plugin and of its server.
pub(crate) const NAME: &str = "portcullis";
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes the plugin, which starts this program, or brings it up to date.
pub(crate) fn write(folder: &Path, program: &Path) -> anyhow::Result<()> {
    let icon = folder.join("plugins/portcullis/.claude-plugin/icon.png");
    fs::create_dir_all(icon.parent().unwrap_or(folder))
        .and_then(|()| fs::write(&icon, include_bytes!("plugin/icon.png")))
        .with_context(|| format!("writing {}", icon.display()))?;
    for (path, text) in files(program) {
        let file = UserFile::read(&folder.join(path))?;
        if file.write(&text, Audience::Everyone)? == Wrote::Overtaken {
            let what = format!("{} was changed while it was being written", file.path.display());
            return Err(Failure::new(what, "run this again").into());
        }
    }
    Ok(())
}

/// Refuses a folder that holds anything but a plugin of ours.
pub(crate) fn check_folder(folder: &Path) -> anyhow::Result<()> {
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("looking into {}", folder.display())),
    };
    if entries.next().is_none() || is_ours(&folder.join(MARKETPLACE)) {
        return Ok(());
    }
    let what = format!("{} already holds something else", folder.display());
    Err(Failure::new(what, "name a folder that does not exist yet, or an empty one").into())
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

fn is_ours(marketplace: &Path) -> bool {
    let text = fs::read_to_string(marketplace).unwrap_or_default();
    let marketplace: Value = serde_json::from_str(&text).unwrap_or_default();
    marketplace["name"] == NAME && marketplace["plugins"][0]["source"] == "./plugins/portcullis"
}
