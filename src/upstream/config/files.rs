//! The files in which servers are written, and what they hold.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use portcullis_core::shell_word;
use serde_json::{Map, Value};

use super::kept::{KeptFiles, whole};
use super::{ServerEntry, ServerLayer, plugins};
use crate::config::{Paths, environment};
use crate::setup::adopted::AdoptedServers;
use crate::setup::claude::{ClaudeFiles, managed_servers, managed_settings, project_file};
use crate::setup::git::home_of_project;

/// Where each layer stands for one folder, and where we keep what a person said about them.
#[derive(Debug)]
pub(crate) struct ServerFiles {
    pub(super) managed: PathBuf,
    pub(super) managed_settings: PathBuf,
    /// Our own.
    pub(super) gateway: PathBuf,
    /// Servers of the user, and of each project for this user alone.
    pub(super) user: PathBuf,
    /// Claude Code's folder: settings and plugins.
    pub(super) claude: PathBuf,
    /// The project as Claude Code names it: the repository's folder.
    pub(crate) project: PathBuf,
    /// The nearest `.mcp.json` first.
    pub(super) shared: Vec<PathBuf>,
    /// Servers of the user's account at claude.ai, where the user named a file with them.
    pub(super) claude_ai: Option<PathBuf>,
    /// Servers of the editor at a session, where a gateway is started for those.
    pub(super) editor: Option<PathBuf>,
    pub(crate) approved: PathBuf,
    pub(crate) disabled: PathBuf,
    /// Servers whose entries start the gateway, and what stood there before.
    pub(super) adopted: AdoptedServers,
}

impl ServerFiles {
    pub(crate) fn find(folder: &Path, paths: &Paths) -> anyhow::Result<Self> {
        let claude = ClaudeFiles::find(&environment)?;
        let project = home_of_project(folder);
        let mut shared = vec![project_file(folder)];
        if project != folder && folder.starts_with(&project) {
            shared.push(project_file(&project));
        }
        let (approved, disabled) = (paths.state_dir.join("approved-servers"), paths.state_dir.join("disabled-servers"));
        let gateway = paths.servers_file();
        // What a project could write approves nothing.
        for ours in [&approved, &disabled, &gateway] {
            paths.believe(ours, Some(&project))?;
        }
        Ok(Self {
            managed: managed_servers().to_owned(),
            managed_settings: managed_settings().to_owned(),
            gateway,
            user: claude.user,
            claude: claude.folder,
            project,
            shared,
            claude_ai: environment("PORTCULLIS_CLAUDE_AI_SERVERS").map(PathBuf::from),
            editor: None,
            approved,
            disabled,
            adopted: AdoptedServers::read(paths),
        })
    }

    /// With the servers of an editor, which are in this file.
    pub(crate) fn with_editor(self, editor: Option<PathBuf>) -> Self {
        Self { editor, ..self }
    }
}

/// When each file was last written, and how long it is. Another stamp means that they have to be read again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilesStamp(Vec<Option<(SystemTime, u64)>>);

impl ServerFiles {
    /// The objects around the servers of a layer; none where its file cannot hold them.
    pub(crate) fn under(&self, layer: ServerLayer) -> Option<Vec<String>> {
        match layer {
            ServerLayer::Local => Some(vec!["projects".to_owned(), self.project.to_str()?.to_owned()]),
            ServerLayer::Gateway
            | ServerLayer::Editor
            | ServerLayer::User
            | ServerLayer::Project
            | ServerLayer::Managed
            | ServerLayer::ClaudeAi => Some(vec![]),
            ServerLayer::Plugin => None,
        }
    }

    pub(crate) fn stamp(&self) -> FilesStamp {
        let settings = [self.claude.join("settings.json"), self.project.join(".claude/settings.json")];
        let settings = settings
            .into_iter()
            .chain([plugins::installed(self)])
            .chain(self.claude_ai.clone())
            .chain(self.editor.clone());
        let files = [&self.managed, &self.managed_settings, &self.gateway, &self.user, &self.approved, &self.disabled];
        let stamp =
            |path: &PathBuf| fs::metadata(path).ok().and_then(|about| Some((about.modified().ok()?, about.len())));
        FilesStamp(files.into_iter().chain(&self.shared).cloned().chain(settings).map(|path| stamp(&path)).collect())
    }
}

/// What the files say, before anything is made of it.
pub(super) struct WrittenServers {
    pub(super) entries: Vec<WrittenServer>,
    /// Names that Claude Code has switched off in this project.
    pub(super) disabled: Vec<String>,
    pub(super) managed_settings: Value,
    pub(super) user_settings: Value,
    pub(super) problems: Vec<String>,
}

pub(super) struct WrittenServer {
    pub(super) name: String,
    pub(super) layer: ServerLayer,
    pub(super) file: PathBuf,
    pub(super) written: Value,
    /// The plugin that brings it, as `NAME@MARKET`.
    pub(super) plugin: Option<String>,
    /// Variables that only this entry has.
    pub(super) variables: BTreeMap<String, String>,
}

/// Larger files are not read. Claude Code's own file of the user grows to a few megabytes.
const LARGEST: u64 = 32 << 20;

impl WrittenServers {
    pub(super) fn read(files: &ServerFiles, kept: &KeptFiles) -> Self {
        let mut problems = vec![];
        let mut part = |path: &Path, needed: fn(&mut Map<String, Value>)| {
            let (found, problem) = kept.object(path, needed);
            problems.extend(problem);
            found
        };
        let user = part(&files.user, of_user).unwrap_or_default();
        let mut object = |path: &Path| part(path, whole);
        let managed_settings = object(&files.managed_settings).map_or(Value::Null, Value::Object);
        let user_settings = files.claude.join("settings.json");
        let settings = [user_settings.clone(), files.project.join(".claude/settings.json")];
        let settings = settings.map(|path| (object(&path).map_or(Value::Null, Value::Object), path));
        let managed = object(&files.managed);
        let here = files.project.to_str().and_then(|path| user.get("projects")?.get(path)).cloned().unwrap_or_default();
        let mut found: Vec<(ServerLayer, PathBuf, Value)> = vec![];
        match &managed {
            Some(managed) => found.push((ServerLayer::Managed, files.managed.clone(), servers_of(managed))),
            None => {
                found.push((
                    ServerLayer::Local,
                    files.user.clone(),
                    here.get("mcpServers").cloned().unwrap_or_default(),
                ));
                for path in &files.shared {
                    let servers = object(path).map(|shared| servers_of(&shared)).unwrap_or_default();
                    found.push((ServerLayer::Project, path.clone(), servers));
                }
                let ours = object(&files.gateway).map(|ours| servers_of(&ours)).unwrap_or_default();
                found.push((ServerLayer::Gateway, files.gateway.clone(), ours));
                found.push((ServerLayer::User, files.user.clone(), servers_of(&user)));
                let named = [(ServerLayer::ClaudeAi, &files.claude_ai), (ServerLayer::Editor, &files.editor)];
                for (layer, path) in named.into_iter().filter_map(|(layer, path)| Some((layer, path.as_ref()?))) {
                    let servers = object(path).map(|file| servers_of(&file)).unwrap_or_default();
                    found.push((layer, path.clone(), servers));
                }
            }
        }
        for (settings, path) in &settings {
            for (name, written) in settings.get("mcpServers").and_then(Value::as_object).into_iter().flatten() {
                let added_by = match ServerEntry::parse(name, written) {
                    Ok(entry) => entry.endpoint.added_by(name),
                    Err(_) => format!("portcullis mcp add {} -- COMMAND", shell_word(name)),
                };
                problems.push(format!(
                    "{}: \"mcpServers\" is not read from settings; add it with `{added_by}`",
                    path.display()
                ));
            }
        }
        let [(user_settings, _), _] = settings;
        let mut entries = vec![];
        for (layer, file, servers) in found {
            match servers {
                Value::Null => {}
                Value::Object(servers) => entries.extend(servers.into_iter().map(|(name, written)| {
                    // One that is behind the gateway is still the same server.
                    let original = files.adopted.original(&file, files.under(layer).as_deref(), &name, &written);
                    let (file, written) = (file.clone(), original.unwrap_or(written));
                    WrittenServer { name, layer, file, written, plugin: None, variables: BTreeMap::new() }
                })),
                _ => problems.push(format!("{}: \"mcpServers\" is no object", file.display())),
            }
        }
        if managed.is_none() {
            let mut plugins = plugins::read(files, kept, &user_settings);
            entries.append(&mut plugins.entries);
            problems.append(&mut plugins.problems);
        }
        let disabled = names(here.get("disabledMcpServers"));
        Self { entries, disabled, managed_settings, user_settings, problems }
    }
}

/// What counts of Claude Code's file of the user, which holds the history of every project as well.
fn of_user(file: &mut Map<String, Value>) {
    file.retain(|key, _| ["mcpServers", "projects"].contains(&key.as_str()));
    for project in file.get_mut("projects").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(project) = project.as_object_mut() {
            project.retain(|key, _| ["mcpServers", "disabledMcpServers"].contains(&key.as_str()));
        }
    }
}

pub(super) fn servers_of(file: &Map<String, Value>) -> Value {
    file.get("mcpServers").cloned().unwrap_or_default()
}

fn names(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The object in a file; none where there is no file. A project could put a pipe there that never ends.
pub(super) fn object_in(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !about.is_file() || about.len() > LARGEST {
        return Err(format!("this is no file of at most {} MiB", LARGEST >> 20));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err("the file holds no object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
