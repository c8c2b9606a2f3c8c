//! Servers that were put behind the gateway: which entries of Claude Code's files start it now, and what stood there before.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{Audience, UserFile, Wrote};
use super::json::Node;
use super::lock::ChangeLock;
use crate::config::Paths;
use crate::failure::Failure;

/// One entry, as it was.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct AdoptedServer {
    pub(crate) file: PathBuf,
    /// The objects around `mcpServers`.
    pub(crate) under: Vec<String>,
    pub(crate) name: String,
    /// To the byte.
    pub(crate) written: String,
}

/// All of them, in a file of ours that only the owner reads: entries hold secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdoptedServers(pub(crate) Vec<AdoptedServer>);

impl AdoptedServers {
    fn place(paths: &Paths) -> PathBuf {
        paths.state_dir.join("adopted-servers.json")
    }

    /// A list that cannot be read holds nothing: then the entries are what they are, and start the gateway.
    pub(crate) fn read(paths: &Paths) -> Self {
        let text = std::fs::read_to_string(Self::place(paths)).unwrap_or_default();
        Self(serde_json::from_str(&text).unwrap_or_default())
    }

    /// The same for whoever changes it. It is the only place where the entries are as they were: one that cannot be read is
    /// not written anew.
    pub(crate) fn read_to_change(paths: &Paths) -> anyhow::Result<Self> {
        let place = Self::place(paths);
        let text = match std::fs::read_to_string(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.with_context(|| format!("reading the entries that were adopted from {}", place.display()))?,
        };
        let read = serde_json::from_str(&text).map(Self);
        let hint = "it holds the entries of your servers as they were: mend it, or move it away once you have them";
        Ok(read.map_err(|error| Failure::new(format!("{} cannot be read: {error}", place.display()), hint))?)
    }

    /// Changes the list, while nobody else does.
    pub(crate) fn change(paths: &Paths, edit: impl FnOnce(&mut Vec<AdoptedServer>)) -> anyhow::Result<()> {
        paths.prepare()?;
        let _lock = ChangeLock::take(paths)?;
        let Self(mut list) = Self::read_to_change(paths)?;
        edit(&mut list);
        let text = format!("{}\n", serde_json::to_string_pretty(&list)?);
        match UserFile::read(&Self::place(paths))?.write(&text, Audience::OwnerAlone)? {
            Wrote::Done => Ok(()),
            Wrote::Overtaken => Err(super::target::overtaken(&Self::place(paths)).into()),
        }
    }

    /// What an entry that starts the gateway for this server stands for.
    pub(crate) fn original(&self, file: &Path, under: Option<&[String]>, name: &str, written: &Value) -> Option<Value> {
        if !starts_gateway(written, name) {
            return None;
        }
        serde_json::from_str(&self.find(file, under?, name)?.written).ok()
    }

    pub(crate) fn find(&self, file: &Path, under: &[String], name: &str) -> Option<&AdoptedServer> {
        self.0.iter().find(|adopted| adopted.is(file, under, name))
    }
}

impl AdoptedServer {
    pub(crate) fn is(&self, file: &Path, under: &[String], name: &str) -> bool {
        self.file == file && self.under == under && self.name == name
    }
}

const SERVE: [&str; 3] = ["mcp", "serve", "--server"];

/// The entry that starts the gateway for one server.
pub(crate) fn gateway_entry(program: &str, name: &str) -> Node {
    let args = SERVE.iter().copied().chain([name]).map(str::to_owned).collect();
    Node::Object(vec![
        ("type", Node::Text("stdio".to_owned())),
        ("command", Node::Text(program.to_owned())),
        ("args", Node::List(args)),
    ])
}

/// Whether an entry starts the gateway for this server, from wherever.
pub(crate) fn starts_gateway(written: &Value, name: &str) -> bool {
    let command = written.get("command").and_then(Value::as_str).unwrap_or_default();
    let args: Vec<&str> = written
        .get("args")
        .and_then(Value::as_array)
        .map(|args| args.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    command.rsplit('/').next() == Some("portcullis") && args == [SERVE[0], SERVE[1], SERVE[2], name]
}
