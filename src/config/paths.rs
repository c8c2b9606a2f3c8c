//! Where everything is: under `PORTCULLIS_HOME` when it is set, else in the folders of the XDG specification.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::Environment;
use super::belief::believed;
use super::environment::claude_folder;
use super::folder::{self, Links};
use super::secret::{hex, sha256};
use crate::failure::Failure;

/// Absolute paths, the same for every process of one user and home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    /// What the owner writes; may be missing.
    pub(crate) config_file: PathBuf,
    /// The owner's rules; may be missing.
    pub(crate) rules_file: PathBuf,
    /// Which rules files of projects a person has trusted.
    pub(crate) trust_file: PathBuf,
    /// The folder of the journal, the token, the lock and the log.
    pub(crate) state_dir: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) token_file: PathBuf,
    /// Held by the one gate of this home.
    pub(crate) lock_file: PathBuf,
    /// What a gate that nobody watches has to say.
    pub(crate) log_file: PathBuf,
    /// Where the gate listens for its own kind.
    pub(crate) socket: PathBuf,
    /// The folder of the user, which may hold all of the above without being a project.
    user_home: Option<PathBuf>,
    /// Where Claude Code keeps what is the user's.
    claude_folder: Option<PathBuf>,
    /// The names by which this program may be called: in the user's own folder for programs, and on the PATH.
    program_names: Vec<PathBuf>,
}

impl Paths {
    pub(crate) fn from_env(environment: Environment<'_>) -> Result<Self, Failure> {
        let paths = Self::of_ours(environment)?;
        let claude_folder = claude_folder(environment);
        Ok(Self { claude_folder, program_names: program_names(environment), ..paths })
    }

    fn of_ours(environment: Environment<'_>) -> Result<Self, Failure> {
        let user_home = absolute_folder(environment, "HOME");
        if let Some(home) = environment("PORTCULLIS_HOME") {
            let home = own_folder(home)?;
            return Ok(Self::new(&home, &home, home.join("gate.sock"), user_home));
        }
        let Some(user_home) = user_home else {
            return Err(Failure::configuration("looking for the home folder")
                .because("HOME is missing, empty or not an absolute path")
                .with_hint("set HOME, or set PORTCULLIS_HOME to the folder Portcullis may keep its things in"));
        };
        let xdg = |variable, usual: &str| {
            absolute_folder(environment, variable).unwrap_or_else(|| user_home.join(usual)).join("portcullis")
        };
        let config_dir = xdg("XDG_CONFIG_HOME", ".config");
        let state_dir = xdg("XDG_STATE_HOME", ".local/state");
        let runtime_dir = absolute_folder(environment, "XDG_RUNTIME_DIR").map(|folder| folder.join("portcullis"));
        let socket = runtime_dir.as_ref().unwrap_or(&state_dir).join("gate.sock");
        Ok(Self::new(&config_dir, &state_dir, socket, Some(user_home)))
    }

    fn new(config_dir: &Path, state_dir: &Path, socket: PathBuf, user_home: Option<PathBuf>) -> Self {
        Self {
            config_file: config_dir.join("config.toml"),
            rules_file: config_dir.join("rules.toml"),
            trust_file: state_dir.join("trusted-rules"),
            state_dir: state_dir.to_owned(),
            journal: state_dir.join("journal.db"),
            token_file: state_dir.join("owner.token"),
            lock_file: state_dir.join("gate.lock"),
            log_file: state_dir.join("gate.log"),
            socket: if fits_a_socket(&socket) { socket } else { short_socket(&socket) },
            user_home,
            claude_folder: None,
            program_names: vec![],
        }
    }

    /// Where the hooks of the agent with this process find the process of its session.
    pub(crate) fn session_socket(&self, agent: u32) -> PathBuf {
        self.next_to_socket(&format!("-{agent}.sock"))
    }

    /// What the agent with this process watches while it is idle.
    pub(crate) fn wake_file(&self, agent: u32) -> PathBuf {
        self.next_to_socket(&format!("-{agent}.wake"))
    }

    /// Where the process of a driven session listens for fronts. `session` is its id.
    pub(crate) fn front_socket(&self, session: &str) -> PathBuf {
        self.next_to_socket(&format!("-{session}{FRONT}"))
    }

    /// Where the process listens that holds the MCP servers of clients over HTTP.
    pub(crate) fn mcp_socket(&self) -> PathBuf {
        self.next_to_socket("-mcp.sock")
    }

    /// The servers that the owner gave to the gateway alone; may be missing. Next to the configuration, which is guarded.
    pub(crate) fn servers_file(&self) -> PathBuf {
        self.config_file.with_file_name("mcp.json")
    }

    /// Where it serves the MCP servers that clients of the gateway share.
    pub(crate) fn shared_servers_socket(&self) -> PathBuf {
        self.next_to_socket("-mcp-shared.sock")
    }

    /// All such sockets that are there, and the id of the session each is for.
    pub(crate) fn front_sockets(&self) -> Vec<(PathBuf, String)> {
        let session = |name: &str| name.strip_suffix(FRONT).map(str::to_owned);
        self.session_files().filter_map(|(file, name)| session(&name).map(|session| (file, session))).collect()
    }

    /// All files for the hooks of agents that are there, and the process of the agent each is for.
    pub(crate) fn of_sessions(&self) -> Vec<(PathBuf, u32)> {
        let agent = |name: &str| name.strip_suffix(".sock").or_else(|| name.strip_suffix(".wake"))?.parse().ok();
        self.session_files().filter_map(|(file, name)| agent(&name).map(|agent| (file, agent))).collect()
    }

    /// Everything that lies next to the gate's own socket under its name, each with what follows the name.
    fn session_files(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let start = format!("{}-", self.socket.file_stem().unwrap_or_default().to_string_lossy());
        let entries = self.socket.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        let files = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter_map(move |file| {
            let name = file.file_name()?.to_str()?.strip_prefix(&start)?.to_owned();
            Some((file, name))
        })
    }

    /// Next to the gate's own, under its name: homes with long paths share a folder.
    fn next_to_socket(&self, ending: &str) -> PathBuf {
        let name = self.socket.file_stem().unwrap_or_default().to_string_lossy();
        self.socket.with_file_name(format!("{name}{ending}"))
    }

    /// Makes the folders that are missing, for their owner alone, and refuses those that others could write to.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        self.folders().try_for_each(|(folder, links)| folder::prepare(folder, links))
    }

    /// Each folder, and whether it is there or unsafe. Makes nothing.
    pub(crate) fn look(&self) -> Vec<(&Path, Result<bool, Failure>)> {
        let mut seen: Vec<(&Path, Result<bool, Failure>)> = vec![];
        for (folder, links) in self.folders() {
            if !seen.iter().any(|(other, _)| *other == folder) {
                seen.push((folder, folder::look(folder, links)));
            }
        }
        seen
    }

    fn folders(&self) -> impl Iterator<Item = (&Path, Links)> {
        let links = |folder: &Path| if folder == shared_runtime_dir() { Links::Refused } else { Links::Followed };
        let folders = [self.config_file.parent(), Some(self.state_dir.as_path()), self.socket.parent()];
        folders.into_iter().flatten().map(move |folder| (folder, links(folder)))
    }

    /// Which of the paths lies in this project, where the agent that works there could change it.
    ///
    /// A project that contains the home of the user says nothing: people start agents in `~`, and everything of
    /// theirs lies in it.
    pub(crate) fn inside(&self, project: &Path) -> Option<&Path> {
        let project = resolved(project);
        if self.holds_the_home(&project) {
            return None;
        }
        self.all().into_iter().find(|path| resolved(path).starts_with(&project))
    }

    /// Whether what a path of ours leads to is the user's own: nobody else could have put it there, and no project holds it.
    pub(crate) fn believe(&self, path: &Path, project: Option<&Path>) -> Result<(), Failure> {
        let doing = || format!("looking at {}", path.display());
        let end = believed(path).map_err(|problem| problem.while_doing(doing()))?;
        let project = project.map(resolved).filter(|project| !self.holds_the_home(project));
        match project.filter(|project| end.starts_with(project)) {
            None => Ok(()),
            Some(project) => Err(Failure::configuration(doing())
                .because(format!("{} lies inside the project {}", end.display(), project.display()))
                .with_hint("move it out of the project: whoever works there could change it")),
        }
    }

    /// The same for every path of ours.
    pub(crate) fn believe_all(&self, project: Option<&Path>) -> Result<(), Failure> {
        self.all().into_iter().try_for_each(|path| self.believe(path, project))
    }

    fn holds_the_home(&self, project: &Path) -> bool {
        self.user_home.as_deref().is_some_and(|home| resolved(home).starts_with(project))
    }

    /// A path as people write it: `~` is the folder of the user.
    pub(crate) fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.user_home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    /// The folder of the user.
    pub(crate) fn user_home(&self) -> Option<&Path> {
        self.user_home.as_deref()
    }

    /// Where Claude Code keeps what is the user's.
    pub(crate) fn claude_folder(&self) -> Option<&Path> {
        self.claude_folder.as_deref()
    }

    /// The names by which this program may be called, as far as there is something.
    pub(crate) fn program_names(&self) -> &[PathBuf] {
        &self.program_names
    }

    fn all(&self) -> [&Path; 9] {
        // Taken apart by name, so that a new path cannot be forgotten here.
        let Self {
            config_file,
            rules_file,
            trust_file,
            state_dir,
            journal,
            token_file,
            lock_file,
            log_file,
            socket,
            user_home: _,
            claude_folder: _,
            program_names: _,
        } = self;
        [config_file, rules_file, state_dir, journal, token_file, trust_file, lock_file, log_file, socket]
    }
}

/// The XDG specification has us ignore what is not absolute, and we do so with `HOME` as well.
fn absolute_folder(environment: Environment<'_>, variable: &str) -> Option<PathBuf> {
    environment(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// What is called as this program is: hooks may name a link that leads to it.
fn program_names(environment: Environment<'_>) -> Vec<PathBuf> {
    let own = absolute_folder(environment, "XDG_BIN_HOME")
        .or_else(|| Some(absolute_folder(environment, "HOME")?.join(".local/bin")));
    let path = environment("PATH").unwrap_or_default();
    let folders = own.into_iter().chain(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
    let mut names: Vec<PathBuf> = folders.map(|folder| folder.join("portcullis")).collect();
    names.retain(|name| name.symlink_metadata().is_ok());
    names.dedup();
    names
}

/// An empty name is an error, not the working folder: it comes from a script whose own variable was not set.
fn own_folder(home: OsString) -> Result<PathBuf, Failure> {
    // Collected from its components, so that a slash at its end does not make it another path.
    let absolute = std::path::absolute(PathBuf::from(home)).map(|path| path.components().collect());
    absolute.map_err(|error| {
        Failure::configuration("reading PORTCULLIS_HOME from the environment")
            .because(error)
            .with_hint("set PORTCULLIS_HOME to a folder, or unset it")
    })
}

/// How the name of a socket for fronts ends.
const FRONT: &str = ".front";

/// Linux takes 107 bytes, macOS 103; below both, a path works on one exactly when it works on the other. The longest name
/// next to it, `gate-SESSION.front`, is 28 bytes longer.
fn fits_a_socket(path: &Path) -> bool {
    const LONGEST: usize = 100 - 28;
    path.as_os_str().len() <= LONGEST
}

/// Not in `TMPDIR`, which differs between the processes that have to meet there.
fn short_socket(long: &Path) -> PathBuf {
    let digest = sha256(long.as_os_str().as_encoded_bytes());
    shared_runtime_dir().join(format!("{}.sock", hex(&digest[..8])))
}

fn shared_runtime_dir() -> PathBuf {
    PathBuf::from(format!("/tmp/portcullis-{}", rustix::process::geteuid().as_raw()))
}

/// The path without links and dots. What does not exist yet will be made as plain folders, and is taken as written.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                resolved.push(component);
                resolved = resolved.canonicalize().unwrap_or(resolved);
            }
        }
    }
    resolved
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::config::error::tests::report;

    /// What `PORTCULLIS_HOME` makes of this folder, and nothing else in the environment.
    pub(in crate::config) fn paths_under(home: &Path) -> Paths {
        paths(&[("PORTCULLIS_HOME", home.to_str().unwrap())]).unwrap()
    }

    fn paths(variables: &[(&str, &str)]) -> Result<Paths, Failure> {
        Paths::from_env(&|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    fn shown(paths: &Paths) -> String {
        paths.all().map(|path| path.to_str().unwrap()).join(" ")
    }

    #[test]
    fn one_folder_holds_everything_when_portcullis_home_is_set() {
        let paths = paths(&[("PORTCULLIS_HOME", "/p//"), ("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]).unwrap();
        assert_eq!(
            shown(&paths),
            "/p/config.toml /p/rules.toml /p /p/journal.db /p/owner.token /p/trusted-rules /p/gate.lock /p/gate.log /p/gate.sock"
        );
    }

    #[test]
    fn without_it_the_xdg_folders_are_used() {
        let state = "/h/.local/state/portcullis";
        assert_eq!(
            shown(&paths(&[("HOME", "/h")]).unwrap()),
            format!(
                "/h/.config/portcullis/config.toml /h/.config/portcullis/rules.toml {state} {state}/journal.db {state}/owner.token \
                 {state}/trusted-rules {state}/gate.lock \
                 {state}/gate.log {state}/gate.sock"
            )
        );
        let variables =
            [("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", "/r")];
        let state = "/s/portcullis";
        assert_eq!(
            shown(&paths(&variables).unwrap()),
            format!(
                "/c/portcullis/config.toml /c/portcullis/rules.toml {state} {state}/journal.db {state}/owner.token \
                 {state}/trusted-rules {state}/gate.lock \
                 {state}/gate.log /r/portcullis/gate.sock"
            )
        );
    }

    #[test]
    fn an_xdg_variable_that_is_not_absolute_is_ignored() {
        let usual = paths(&[("HOME", "/h")]).unwrap();
        for value in ["", "relative", "./here", "~/state"] {
            let variables =
                [("HOME", "/h"), ("XDG_CONFIG_HOME", value), ("XDG_STATE_HOME", value), ("XDG_RUNTIME_DIR", value)];
            assert_eq!(paths(&variables).unwrap(), usual, "{value:?}");
        }
    }

    #[test]
    fn a_relative_portcullis_home_is_taken_from_the_working_folder() {
        let paths = paths(&[("PORTCULLIS_HOME", "./some/where")]).unwrap();
        assert_eq!(paths.state_dir, std::env::current_dir().unwrap().join("some/where"));
    }

    #[test]
    fn without_any_home_the_error_says_what_to_set() {
        for variables in [&[][..], &[("HOME", "")], &[("HOME", "relative")]] {
            let shown = report(&paths(variables).unwrap_err());
            assert!(shown.contains("hint: set HOME, or set PORTCULLIS_HOME"), "{shown}");
        }
        let shown = report(&paths(&[("HOME", "/h"), ("PORTCULLIS_HOME", "")]).unwrap_err());
        assert!(shown.starts_with("error: reading PORTCULLIS_HOME from the environment"), "{shown}");
    }

    #[test]
    fn a_socket_path_too_long_for_the_system_becomes_a_short_one_for_every_process_alike() {
        let fits = format!("/{}", "x".repeat(72 - "//gate.sock".len()));
        let paths = paths_under(Path::new(&fits));
        assert_eq!(paths.socket.as_os_str().len(), 72);
        let front = paths.front_socket(&"0".repeat(26));
        assert_eq!(front.as_os_str().len(), 100);
        std::os::unix::net::SocketAddr::from_pathname(&front).unwrap();

        let long = fits + "x";
        let paths = paths_under(Path::new(&long));
        let socket = paths.socket.to_str().unwrap();
        assert_eq!(paths.socket.parent(), Some(shared_runtime_dir().as_path()));
        assert!(socket.starts_with("/tmp/portcullis-") && socket.ends_with(".sock") && socket.len() < 60, "{socket}");
        assert_eq!(paths.socket.file_stem().unwrap().len(), 16);
        assert_eq!(paths.socket, paths_under(Path::new(&long)).socket);
        assert_ne!(paths.socket, paths_under(Path::new(&(long.clone() + "x"))).socket);
        assert!(paths.journal.starts_with(&long), "only the socket moves");
        std::os::unix::net::SocketAddr::from_pathname(&paths.socket).unwrap();
    }

    #[test]
    fn preparing_makes_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let runtime = folder.path().join("run");
        let paths = paths(&[("HOME", home), ("XDG_RUNTIME_DIR", runtime.to_str().unwrap())]).unwrap();
        paths.prepare().unwrap();
        paths.prepare().unwrap();
        for made in [".config/portcullis", ".local/state/portcullis", "run/portcullis"] {
            assert!(folder.path().join(made).is_dir(), "{made}");
        }
    }

    #[test]
    fn a_home_inside_the_project_is_recognised_through_links_and_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let (project, link) = (folder.path().join("project"), folder.path().join("link"));
        fs::create_dir(&project).unwrap();
        symlink(&project, &link).unwrap();
        for home in
            [project.join(".portcullis"), link.join("a/b"), link.join("a/../b"), folder.path().join("no/../link")]
        {
            let paths = paths_under(&home);
            assert_eq!(paths.inside(&project), Some(paths.config_file.as_path()), "{}", home.display());
            assert_eq!(paths.inside(&link), Some(paths.config_file.as_path()), "{}", home.display());
        }
        for home in [folder.path().join("project-2"), project.join("../other"), folder.path().to_owned()] {
            assert_eq!(paths_under(&home).inside(&project), None, "{}", home.display());
        }
    }

    #[test]
    fn a_relative_project_is_taken_from_the_working_folder() {
        let here = paths_under(Path::new("some/where"));
        assert!(here.inside(Path::new(".")).is_some());
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(paths_under(elsewhere.path()).inside(Path::new(".")), None);
    }

    #[test]
    fn the_home_of_the_user_is_not_a_project() {
        let usual = paths(&[("HOME", "/home/ann")]).unwrap();
        assert_eq!(usual.inside(Path::new("/home/ann")), None);
        assert_eq!(usual.inside(Path::new("/")), None);
        assert_eq!(usual.inside(Path::new("/home/ann/project")), None);
        assert_eq!(usual.inside(Path::new("/home/ann/.config")), Some(usual.config_file.as_path()));
    }
}
