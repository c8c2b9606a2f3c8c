//! Which shell Claude Code runs the lines of its Bash tool with.
//!
//! It takes `CLAUDE_CODE_SHELL`, else `SHELL`, where that says bash or zsh and can be run. Else it takes the first it finds,
//! and zsh before bash: for whoever has fish, and where `SHELL` is not set. bash counts as known only where nothing says
//! otherwise, since what a project sets never loosens; everything else may be zsh.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use portcullis_core::policy::SessionShell;
use serde_json::Value;

use super::environment::{is_of_nobody, users_chosen};

const NAMES: [&str; 3] = ["CLAUDE_CODE_SHELL", "SHELL", "CLAUDE_CODE_SHELL_PREFIX"];

/// Where Claude Code looks, besides the path.
const FOLDERS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// The shell of a session with these settings of its project; none where they cannot be read.
pub(crate) fn session_shell(of_project: Option<&[Value]>) -> SessionShell {
    let Some(of_project) = of_project.filter(|_| !is_of_nobody()) else { return SessionShell::MayBeZsh };
    let users = users_chosen();
    let own = NAMES.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
    let set_by = |settings: &Value| {
        let env = settings.get("env").and_then(Value::as_object);
        let text = |name: &str| env.and_then(|env| env.get(name)).and_then(Value::as_str).map(str::to_owned);
        NAMES.into_iter().filter_map(|name| Some((name.to_owned(), text(name)?))).collect()
    };
    let over: Vec<Vec<(String, String)>> = [vec![], own].into_iter().chain(of_project.iter().map(set_by)).collect();
    shell_of(&users, &over)
}

/// bash where the variables of the user say so, also with each of these over them.
fn shell_of(users: &dyn Fn(&str) -> Option<String>, over: &[Vec<(String, String)>]) -> SessionShell {
    let is_bash = |over: &Vec<(String, String)>| {
        let value = |name: &str| {
            let set = over.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            set.or_else(|| users(name))
        };
        takes_bash(&value)
    };
    if over.iter().all(is_bash) { SessionShell::Bash } else { SessionShell::MayBeZsh }
}

/// Whether Claude Code takes bash, for certain, with these variables.
fn takes_bash(value: &dyn Fn(&str) -> Option<String>) -> bool {
    // Whatever stands before the shell may be another one.
    if value("CLAUDE_CODE_SHELL_PREFIX").is_some_and(|prefix| !prefix.is_empty()) {
        return false;
    }
    let shell = value("SHELL").unwrap_or_default();
    for chosen in [value("CLAUDE_CODE_SHELL").unwrap_or_default(), shell.clone()] {
        if !chosen.contains("bash") && !chosen.contains("zsh") {
            continue;
        }
        let chosen = Path::new(&chosen);
        if !chosen.is_absolute() || is_program(chosen) {
            return is_bash(chosen);
        }
    }
    let path = value("PATH").unwrap_or_default();
    let on_path =
        |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file));
    let in_folders =
        |name: &str| FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|file| is_program(file));
    let of_names = |names: [&str; 2]| -> Option<PathBuf> {
        on_path(names[0]).or_else(|| names.iter().find_map(|name| in_folders(name))).or_else(|| on_path(names[1]))
    };
    let taken = if shell.contains("bash") { of_names(["bash", "zsh"]) } else { of_names(["zsh", "bash"]) };
    taken.is_some_and(|taken| is_bash(&taken))
}

fn is_program(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Whether a file is bash, by the name that its links lead to.
fn is_bash(file: &Path) -> bool {
    let real = file.canonicalize().ok();
    let name = real.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("bash"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Programs(tempfile::TempDir);

    impl Programs {
        fn new(names: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in names {
                let file = folder.path().join(name);
                std::fs::write(&file, "").unwrap();
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            Self(folder)
        }

        /// `{}` stands for the folder of the programs.
        fn shell(&self, users: &str, over: &[&str]) -> SessionShell {
            let read = |text: &str| -> Vec<(String, String)> {
                let text = text.replace("{}", &self.0.path().display().to_string());
                let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
            };
            let users = read(users);
            let value = |name: &str| users.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            let over: Vec<_> = std::iter::once(vec![]).chain(over.iter().map(|text| read(text))).collect();
            shell_of(&value, &over)
        }
    }

    #[test]
    fn the_shell_is_bash_where_everything_says_so_and_may_be_zsh_elsewhere() {
        let programs = Programs::new(&["bash", "zsh", "fish", "bash-5.2"]);
        let shell = |users: &str, over: &[&str]| programs.shell(users, over);
        for users in ["SHELL={}/bash", "SHELL={}/zsh CLAUDE_CODE_SHELL={}/bash", "SHELL={}/bash-5.2"] {
            assert_eq!(shell(users, &[]), SessionShell::Bash, "{users}");
        }
        for users in [
            "SHELL={}/zsh",
            "SHELL={}/bash CLAUDE_CODE_SHELL={}/zsh",
            "SHELL={}/bash CLAUDE_CODE_SHELL_PREFIX={}/wrap",
            // It takes zsh for whoever has another shell.
            "SHELL={}/fish PATH={}",
            "PATH={}",
            "SHELL={}/no-bash-there CLAUDE_CODE_SHELL={}/no-zsh PATH={}/none",
        ] {
            let expected = match users.contains("no-bash") {
                // The machine's own bash is the next that it finds.
                true if is_bash(Path::new("/bin/bash")) => SessionShell::Bash,
                _ => SessionShell::MayBeZsh,
            };
            assert_eq!(shell(users, &[]), expected, "{users}");
        }
    }

    #[test]
    fn what_a_project_sets_makes_it_unknown_and_never_bash() {
        let programs = Programs::new(&["bash", "zsh"]);
        let may_be = SessionShell::MayBeZsh;
        assert_eq!(programs.shell("SHELL={}/bash", &["SHELL={}/bash"]), SessionShell::Bash);
        assert_eq!(programs.shell("SHELL={}/bash", &["SHELL={}/zsh"]), may_be);
        assert_eq!(programs.shell("SHELL={}/bash", &["CLAUDE_CODE_SHELL={}/zsh"]), may_be);
        assert_eq!(programs.shell("SHELL={}/bash", &["CLAUDE_CODE_SHELL_PREFIX=x"]), may_be);
        assert_eq!(programs.shell("SHELL={}/zsh", &["CLAUDE_CODE_SHELL={}/bash"]), may_be);
    }

    #[test]
    fn a_link_called_bash_that_leads_to_zsh_is_zsh() {
        let programs = Programs::new(&["zsh"]);
        std::os::unix::fs::symlink(programs.0.path().join("zsh"), programs.0.path().join("bash")).unwrap();
        assert_eq!(programs.shell("SHELL={}/bash", &[]), SessionShell::MayBeZsh);
    }

    #[test]
    fn a_project_whose_settings_cannot_be_read_may_have_chosen_zsh() {
        assert_eq!(session_shell(None), SessionShell::MayBeZsh);
    }
}
