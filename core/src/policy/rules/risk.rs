//! How much could go wrong: a label with its reasons, for whoever is asked.

use crate::names::names;
use crate::policy::commands::command::name_of;
use crate::policy::critical::safety;
use crate::policy::files::access::{Access, Action};
use crate::policy::files::call::{Call, Context};
use crate::policy::shell::ShellWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RiskLevel {
    Low,
    Medium,
    High,
}

names!(RiskLevel { Low = "low", Medium = "medium", High = "high" });

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It removes or overwrites what cannot be had back.
    Destructive,
    /// It talks to other machines.
    Network,
    /// It accesses files outside the working folders.
    Outside,
    /// It changes files that decide what is run or permitted later.
    ProtectedPath,
    /// What it does cannot be read from it.
    Unclear,
}

names!(Reason {
    Destructive = "destructive",
    Network = "network",
    Outside = "outside the working folder",
    ProtectedPath = "protected path",
    Unclear = "unclear",
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    pub level: RiskLevel,
    /// Sorted, each once.
    pub reasons: Vec<Reason>,
}

impl Risk {
    /// `high (network, unclear)`, or the level alone where there is no reason to name.
    pub fn in_words(&self) -> String {
        let reasons: Vec<&str> = self.reasons.iter().map(|reason| reason.name()).collect();
        risk_in_words(self.level.name(), &reasons.join(", "))
    }
}

/// A level with its reasons, as people are shown it.
pub fn risk_in_words(level: &str, reasons: &str) -> String {
    if reasons.is_empty() { level.to_owned() } else { format!("{level} ({reasons})") }
}

impl Reason {
    /// What the reason means, as the end of the sentence "the call …".
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Destructive => "removes or overwrites what cannot be restored",
            Self::Network => "talks to other machines",
            Self::Outside => "uses files outside the working folders",
            Self::ProtectedPath => "changes files that decide what is run or permitted later",
            Self::Unclear => "does more than can be read from it",
        }
    }
}

/// The risk of a call. It decides nothing.
pub fn risk(call: &Call, context: &Context) -> Risk {
    of(call, &Action::of(call, context), context)
}

pub(crate) fn of(call: &Call, action: &Action, context: &Context) -> Risk {
    let mut reasons = vec![];
    let mut runs_its_input = false;
    if safety::protected(call, action, context).is_some() {
        reasons.push(Reason::ProtectedPath);
    }
    let outside =
        |path: &str| !context.works_in(path) || call.target(path).is_some_and(|target| !context.works_in(target));
    if action.accesses().into_iter().any(|file| file.path.as_deref().is_none_or(outside)) {
        reasons.push(Reason::Outside);
    }
    if matches!(call.tool.as_str(), "WebFetch" | "WebSearch") {
        reasons.push(Reason::Network);
    }
    match action {
        Action::Malformed => reasons.push(Reason::Unclear),
        Action::Shell(plan) => {
            if plan.script.issue.is_some() {
                reasons.push(Reason::Unclear);
            }
            for suspect in &plan.suspects.commands {
                reasons.extend(dangers(&suspect.words));
            }
            runs_its_input = plan.suspects.commands.iter().any(|suspect| takes_its_program_from_input(&suspect.words));
            if runs_its_input {
                reasons.push(Reason::Unclear);
            }
        }
        Action::File(_) | Action::Other => {}
    }
    // To overwrite a file whole is less than to remove it, and more than to edit it; an edit of any is what was asked.
    if call.tool.starts_with("mcp__") && call.tool.rsplit("__").next().is_some_and(sounds_destructive) {
        reasons.push(Reason::Destructive);
    }
    reasons.sort();
    reasons.dedup();
    let level = match reasons.as_slice() {
        [] => RiskLevel::Low,
        reasons if reasons.iter().any(|reason| matches!(reason, Reason::Destructive | Reason::ProtectedPath)) => {
            RiskLevel::High
        }
        // What another machine sends is run, whatever it is.
        reasons if runs_its_input && reasons.contains(&Reason::Network) => RiskLevel::High,
        _ => RiskLevel::Medium,
    };
    Risk { level, reasons }
}

fn sounds_destructive(tool: &str) -> bool {
    ["delete", "remove", "drop", "destroy", "purge"].iter().any(|word| tool.to_lowercase().contains(word))
}

fn dangers(words: &[ShellWord]) -> Vec<Reason> {
    const DESTRUCTIVE: [&str; 18] = [
        "dd", "fdisk", "halt", "kill", "killall", "mkfs", "parted", "pkill", "poweroff", "reboot", "rm", "rmdir",
        "shred", "shutdown", "sudo", "truncate", "unlink", "wipefs",
    ];
    const NETWORK: [&str; 18] = [
        "aws",
        "curl",
        "dig",
        "ftp",
        "gcloud",
        "gh",
        "kubectl",
        "nc",
        "ncat",
        "ping",
        "rsync",
        "scp",
        "sftp",
        "socat",
        "ssh",
        "telnet",
        "terraform",
        "wget",
    ];
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.text.as_str()));
    let sub = rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str());
    let mut dangers = vec![];
    let forced_git = match sub {
        "reset" => has(&["--hard"]),
        "push" => has(&["--force", "-f", "--force-with-lease", "--mirror", "--delete", "-d"]),
        "clean" => true,
        "checkout" | "restore" => has(&["--", "."]),
        "branch" => has(&["-D"]),
        "stash" => has(&["drop", "clear"]),
        _ => false,
    };
    let deleting_find = name == "find" && has(&["-delete", "-exec", "-execdir"]);
    if DESTRUCTIVE.contains(&name) || name.starts_with("mkfs.") || name == "git" && forced_git || deleting_find {
        dangers.push(Reason::Destructive);
    }
    let package_manager = matches!(
        name,
        "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3" | "cargo" | "gem" | "go" | "brew" | "apt" | "apt-get"
    );
    let fetching =
        matches!(sub, "install" | "i" | "add" | "ci" | "publish" | "update" | "upgrade" | "get" | "download" | "fetch");
    let remote_git = name == "git" && matches!(sub, "push" | "pull" | "fetch" | "clone" | "ls-remote" | "submodule");
    let container = name == "docker" && matches!(sub, "pull" | "push" | "login" | "run");
    if NETWORK.contains(&name) || package_manager && fetching || remote_git || container || name == "npx" {
        dangers.push(Reason::Network);
    }
    dangers
}

/// Whether a shell or a language is started without a program of its own: it runs what it is sent, such as by `curl … | sh`.
fn takes_its_program_from_input(words: &[ShellWord]) -> bool {
    const READERS: [&str; 15] = [
        "ash", "bash", "bun", "dash", "deno", "fish", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh",
        "zsh",
    ];
    let Some((first, rest)) = words.split_first() else { return false };
    let name = name_of(&first.text);
    let is_program = |word: &ShellWord| !word.is_flag() && word.text != "-";
    // `sh -s -- NAME` reads its program, too, and gives it words.
    let reads = rest.iter().any(|word| matches!(word.text.as_str(), "-" | "-s" | "/dev/stdin"));
    let only_tells = rest.iter().any(|word| matches!(word.text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h"));
    READERS.contains(&name) && (reads || !only_tells && !rest.iter().any(is_program))
}

/// Whether the call changes files, for whoever shows it.
pub fn writes(call: &Call, context: &Context) -> bool {
    Action::of(call, context).accesses().into_iter().any(|file| file.access == Access::Write)
}
