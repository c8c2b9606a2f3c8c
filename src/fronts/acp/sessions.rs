//! The sessions of one editor, by the ids by which it knows them: those of their conversations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{McpServer, SessionId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::cleared::ClearedConversations;
use super::client_tools::ClientTools;
use super::editor::Editor;
use super::servers::{self, EditorServers};
use super::session::{Session, Wanted};
use super::settings::Settings;
use super::spare::Spare;
use super::{AT_THE_EDITOR, AcpOptions};
use crate::agents::claude::process::{Beginning, Options};
use crate::config::{Config, Paths};
use crate::failure::Failure;
use crate::fronts::held::HeldConversations;
use crate::fronts::standing::barred_at_the_editor;
use crate::fronts::{LaunchOptions, Launched, expected_mode, launch, unasked};
use crate::gate::reach;
use crate::locks::locked;

/// What the editor may want of a session that does not answer.
const QUEUE: usize = 1024;
/// Sessions that an editor may have at the same time: each is a process of a few hundred megabytes.
const MOST_SESSIONS: usize = 32;
/// A client that does not leave is killed by its guard before this.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// The sessions, and what new ones are started with.
pub(super) struct Sessions {
    pub(super) paths: Paths,
    pub(super) config: Config,
    pub(super) options: AcpOptions,
    /// Held for short looks and changes.
    live: Mutex<HashMap<SessionId, LiveSession>>,
    /// Where the owner wants one. Put there by the last new session, taken by the next.
    pub(super) spare: Mutex<Option<Spare>>,
}

struct LiveSession {
    wanted: mpsc::Sender<Wanted>,
    /// None while its Claude Code is being started.
    running: Option<JoinHandle<()>>,
}

/// A place among the sessions. What is wanted of it meanwhile waits for the session.
pub(super) struct Reserved {
    id: SessionId,
    wants: mpsc::Receiver<Wanted>,
    back: mpsc::WeakSender<Wanted>,
}

impl Reserved {
    /// The tools of the session that work through this editor.
    pub(super) fn tools(&self, editor: &Editor) -> ClientTools {
        ClientTools { editor: editor.clone(), session: self.id.clone(), back: self.back.clone() }
    }
}

/// Where a session works, and with what.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) more_folders: Vec<PathBuf>,
    /// The MCP servers that the editor brings along.
    pub(super) servers: Vec<McpServer>,
}

/// What a Claude Code is started with.
pub(super) struct PreparedClient {
    options: LaunchOptions,
    servers: EditorServers,
    /// The mode that it will be in, unless another was set at the gate.
    mode: String,
    /// What of it only people say.
    unasked: Option<String>,
}

/// A Claude Code that was started, and what it must find until it is ready.
pub(super) struct StartedClient {
    pub(super) launched: Launched,
    pub(super) servers: EditorServers,
}

/// How a conversation is gone on with.
pub(super) struct Wish {
    pub(super) from: Beginning,
    /// As the person has set them; none: as this program was started with.
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
}

impl Sessions {
    pub(super) fn new(paths: Paths, config: Config, options: AcpOptions) -> Self {
        servers::forget_older(&paths.state_dir);
        HeldConversations::new(&paths.state_dir).forget_older();
        Self { paths, config, options, live: Mutex::default(), spare: Mutex::default() }
    }

    /// Keeps a place for a session before anything is started for it: None where it has one, so that none is started twice.
    pub(super) fn reserve(&self, id: &SessionId) -> Result<Option<Reserved>, Error> {
        let mut live = locked(&self.live);
        if live.contains_key(id) {
            return Ok(None);
        }
        if live.len() >= MOST_SESSIONS {
            return Err(Error::new(-32603, format!("{MOST_SESSIONS} sessions are open; close one of them")));
        }
        let (wanted, wants) = mpsc::channel(QUEUE);
        let reserved = Reserved { id: id.clone(), wants, back: wanted.downgrade() };
        live.insert(id.clone(), LiveSession { wanted, running: None });
        Ok(Some(reserved))
    }

    /// Nothing came of it. What was wanted of it meanwhile is refused for the same reason.
    pub(super) fn give_up(&self, reserved: Reserved, why: &Error) {
        let Reserved { id, mut wants, back } = reserved;
        {
            let mut live = locked(&self.live);
            // Where the editor has closed it meanwhile, the place may be another's.
            if back.upgrade().is_some() {
                live.remove(&id);
            }
        }
        while let Ok(wanted) = wants.try_recv() {
            wanted.refuse(why);
        }
    }

    /// What editors' sessions were cleared to.
    pub(super) fn cleared(&self) -> ClearedConversations {
        ClearedConversations::new(&self.paths.state_dir)
    }

    /// From now on the editor is told what the session does. One that it has closed meanwhile ends at once.
    pub(super) fn begin(self: &Arc<Self>, session: Session, reserved: Reserved) {
        let Reserved { id, wants, back } = reserved;
        let mut live = locked(&self.live);
        let is_wanted = back.upgrade().is_some();
        let running = tokio::spawn(session.run(Arc::clone(self), wants, back));
        if let Some(session) = live.get_mut(&id).filter(|_| is_wanted) {
            session.running = Some(running);
        }
    }

    /// The servers of the editor, as Claude Code is told of them.
    pub(super) fn write_servers(&self, place: &Place) -> Result<EditorServers, Error> {
        let program =
            self.config.acp.gateway.then(reach::this_program).transpose().map_err(|error| in_words(&error))?;
        EditorServers::write(&self.paths.state_dir, place.servers.clone(), program.as_deref())
    }

    pub(super) fn claude_options(&self, place: &Place, wish: Wish, servers: &EditorServers) -> Options {
        Options {
            folder: place.folder.clone(),
            mode: wish.mode.or_else(|| self.options.mode.clone()).unwrap_or_default(),
            from: wish.from,
            model: wish.model.or_else(|| self.options.model.clone()),
            add_dir: place.more_folders.clone(),
            mcp_config: servers.path().into_iter().collect(),
            partial: true,
            ..Options::default()
        }
    }

    /// What a Claude Code for a conversation of the editor is started with: the spare one, where it was started for this
    /// conversation. Nobody is asked for it, so that a new session waits for nothing.
    pub(super) fn prepare(
        &self,
        place: &Place,
        wish: Wish,
        tools: ClientTools,
        spare: Option<Spare>,
    ) -> Result<PreparedClient, Error> {
        if !place.folder.is_absolute() {
            return Err(Error::new(-32602, "cwd must be an absolute path"));
        }
        if !place.folder.is_dir() {
            return Err(Error::new(-32602, format!("there is no folder {}", place.folder.display())));
        }
        if let Some(folder) = place.more_folders.iter().find(|folder| !folder.is_absolute()) {
            let what = format!("additionalDirectories must be absolute paths: {}", folder.display());
            return Err(Error::new(-32602, what));
        }
        let folders = std::iter::once(&place.folder).chain(&place.more_folders).cloned().collect();
        let editor = tools.begin(&self.options, folders)?;
        let (servers, spare) = match spare {
            Some(spare) => (spare.servers, Some(spare.agent)),
            None => (self.write_servers(place)?, None),
        };
        let claude_options = self.claude_options(place, wish, &servers);
        let claude = self.options.claude.clone();
        let mode = expected_mode(&self.paths, &self.config, claude.as_deref(), &claude_options);
        let mode = mode.map_err(|error| in_words(&error))?;
        let options = LaunchOptions {
            connected_by: "acp",
            session: None,
            label: None,
            claude,
            claude_options,
            prompt: None,
            prompt_by: None,
            once: false,
            ask_limit: None,
            attended: true,
            front: AT_THE_EDITOR,
            channels: None,
            editor,
            spare,
        };
        Ok(PreparedClient { options, servers, mode, unasked: self.unasked(place) })
    }

    /// What a session in this place is started with that only people say.
    pub(super) fn unasked(&self, place: &Place) -> Option<String> {
        let given = [
            (self.options.claude.is_some(), "--claude"),
            (!place.more_folders.is_empty(), "additional folders"),
            (!place.servers.is_empty(), "MCP servers"),
        ];
        unasked(self.options.mode.as_deref(), &given)
    }

    /// Refuses inside an agent what only people say.
    pub(super) async fn refuse_inside(&self, what: Option<&str>) -> Result<(), Error> {
        let Some(what) = what else { return Ok(()) };
        let barred = barred_at_the_editor(&self.paths, what).await;
        barred.map_or(Ok(()), |why| Err(Error::new(-32603, why)))
    }

    /// A session of the editor, before there is a Claude Code for it.
    pub(super) fn session(&self, id: SessionId, editor: Editor, place: Place, prepared: &PreparedClient) -> Session {
        let settings = Settings::new(prepared.mode.clone(), self.config.allow_bypass, self.options.model.clone());
        Session::new(id, editor, place, settings, self.cleared())
    }

    /// Starts the Claude Code. The gate is asked for what was set there, and waited for where it is slow.
    pub(super) async fn launch(&self, prepared: PreparedClient) -> Result<StartedClient, Error> {
        let PreparedClient { mut options, servers, unasked, .. } = prepared;
        if let Err(refused) = self.refuse_inside(unasked.as_deref()).await {
            if let Some(spare) = options.spare.take() {
                spare.end().await;
            }
            return Err(refused);
        }
        let launched = launch(&self.paths, &self.config, options).await.map_err(|error| in_words(&error))?;
        Ok(StartedClient { launched, servers })
    }

    /// Has a session do something, in the order in which the editor wants it.
    pub(super) fn want(&self, id: &SessionId, wanted: Wanted) -> Result<(), Error> {
        let live = locked(&self.live);
        let session = live.get(id).ok_or_else(|| no_such_session(id))?;
        session.wanted.try_send(wanted).map_err(|_| Error::new(-32603, "the session does not answer"))
    }

    pub(super) fn is_live(&self, id: &SessionId) -> bool {
        locked(&self.live).contains_key(id)
    }

    /// The program that each session runs.
    pub(super) fn claude(&self) -> &Path {
        self.options.claude.as_deref().unwrap_or(&self.config.claude)
    }

    /// Ends a session and waits until nothing of it is left.
    pub(super) async fn end(&self, id: &SessionId) -> Result<(), Error> {
        let ended = locked(&self.live).remove(id).ok_or_else(|| no_such_session(id))?;
        drop(ended.wanted);
        if let Some(running) = ended.running {
            drop(tokio::time::timeout(END_TIMEOUT, running).await);
        }
        Ok(())
    }

    /// The editor is gone, and so is everything that it had started.
    pub(super) async fn end_all(&self) {
        let all: Vec<LiveSession> = locked(&self.live).drain().map(|(_, session)| session).collect();
        let running: Vec<JoinHandle<()>> = all.into_iter().filter_map(|session| session.running).collect();
        let spare = locked(&self.spare).take();
        let ending = async {
            if let Some(spare) = spare {
                spare.agent.end().await;
            }
            futures_util::future::join_all(running).await
        };
        drop(tokio::time::timeout(END_TIMEOUT, ending).await);
    }
}

pub(super) fn no_such_session(id: &SessionId) -> Error {
    Error::new(-32002, format!("no session {id} is open"))
}

/// What went wrong, as an editor shows it.
pub(super) fn in_words(error: &anyhow::Error) -> Error {
    let mut text = format!("{error:#}");
    let hint = error.chain().find_map(|cause| cause.downcast_ref::<Failure>()?.hint());
    if let Some(hint) = hint {
        text.push_str(&format!("; {hint}"));
    }
    Error::new(-32603, text)
}
