//! The gate as a service of the system: the file that systemd or launchd wants, and the commands that start and stop it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;

use super::file::{Audience, UserFile, Wrote};
use crate::config::Environment;
use crate::failure::Failure;

/// By this line we know a file to be ours.
const MARK: &str = "Written by `portcullis service install`";

const UNIT: &str = "portcullis.service";
const AGENT: &str = "portcullis.gate";
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Variables that say where things are. All else belongs into the configuration file, and secrets nowhere.
const KEPT: [&str; 3] = ["PORTCULLIS_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// The service manager of this system.
pub(crate) struct Manager {
    kind: ManagerKind,
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ManagerKind {
    Systemd,
    Launchd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceState {
    Running,
    Stopped,
    /// The manager does not answer.
    Unknown,
}

pub(crate) enum ServiceOutcome {
    Done,
    NoAnswer,
}

impl ServiceState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "not running",
            Self::Unknown => "unknown: the service manager does not answer",
        }
    }
}

impl Manager {
    pub(crate) fn of_this_system(environment: Environment<'_>) -> anyhow::Result<Self> {
        let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home =
            absolute("HOME").ok_or_else(|| Failure::new("HOME is missing or not an absolute path", "set HOME"))?;
        Ok(if cfg!(target_os = "macos") {
            Self { kind: ManagerKind::Launchd, file: home.join(format!("Library/LaunchAgents/{AGENT}.plist")) }
        } else {
            let folder = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
            Self { kind: ManagerKind::Systemd, file: folder.join("systemd/user").join(UNIT) }
        })
    }

    /// The service's file, refused where somebody else wrote it.
    pub(crate) fn read(&self, force: bool) -> anyhow::Result<UserFile> {
        let file = UserFile::read(&self.file)?;
        if force || file.text.is_none() || file.text().contains(MARK) {
            return Ok(file);
        }
        let what = format!("{} was not written by portcullis", file.in_words());
        Err(Failure::new(what, "look at it, then move it away or add --force").into())
    }

    pub(crate) fn write(&self, file: &UserFile, text: &str) -> anyhow::Result<()> {
        match file.write(text, Audience::Everyone)? {
            Wrote::Done => Ok(()),
            Wrote::Overtaken => {
                let what = format!("{} was changed while it was being written", self.file.display());
                Err(Failure::new(what, "run this again").into())
            }
        }
    }

    pub(crate) fn remove(&self, file: &UserFile) -> anyhow::Result<()> {
        match file.remove()? {
            Wrote::Done => Ok(()),
            Wrote::Overtaken => {
                let what = format!("{} was changed meanwhile, and is still there", self.file.display());
                Err(Failure::new(what, "look at it, then run this again").into())
            }
        }
    }

    pub(crate) fn program(&self) -> &'static str {
        match self.kind {
            ManagerKind::Systemd => "systemctl --user",
            ManagerKind::Launchd => "launchctl",
        }
    }

    pub(crate) fn text(&self, program: &Path, environment: Environment<'_>) -> String {
        let program = program.display().to_string();
        let kept = KEPT.iter().filter_map(|name| Some((*name, environment(name)?.to_string_lossy().into_owned())));
        match self.kind {
            ManagerKind::Systemd => unit(&program, kept),
            ManagerKind::Launchd => agent(&program, kept),
        }
    }

    pub(crate) fn starting(&self) -> Vec<Vec<String>> {
        match self.kind {
            ManagerKind::Systemd => vec![systemctl(&["daemon-reload"]), systemctl(&["enable", "--now", UNIT])],
            ManagerKind::Launchd => vec![launchctl(&["bootstrap", &domain(), &self.file.display().to_string()])],
        }
    }

    pub(crate) fn stopping(&self) -> Vec<Vec<String>> {
        match self.kind {
            ManagerKind::Systemd => vec![systemctl(&["disable", "--now", UNIT])],
            ManagerKind::Launchd => vec![launchctl(&["bootout", &format!("{}/{AGENT}", domain())])],
        }
    }

    /// After the file is gone.
    pub(crate) fn reloading(&self) -> Vec<Vec<String>> {
        match self.kind {
            ManagerKind::Systemd => vec![systemctl(&["daemon-reload"])],
            ManagerKind::Launchd => vec![],
        }
    }

    pub(crate) fn restarting(&self) -> String {
        match self.kind {
            ManagerKind::Systemd => systemctl(&["restart", UNIT]),
            ManagerKind::Launchd => launchctl(&["kickstart", "-k", &format!("{}/{AGENT}", domain())]),
        }
        .join(" ")
    }

    /// Runs them one after the other; a manager that is not there is no error.
    pub(crate) async fn run(&self, commands: &[Vec<String>]) -> anyhow::Result<ServiceOutcome> {
        if !self.answers().await {
            return Ok(ServiceOutcome::NoAnswer);
        }
        for words in commands {
            let (done, said) = run(words).await.with_context(|| format!("running {}", words.join(" ")))?;
            if !done {
                let what = format!("`{}` failed: {}", words.join(" "), said.trim());
                return Err(Failure::new(what, "the file is written; try the command by hand").into());
            }
        }
        Ok(ServiceOutcome::Done)
    }

    pub(crate) async fn state(&self) -> ServiceState {
        let look = match self.kind {
            ManagerKind::Systemd => systemctl(&["is-active", UNIT]),
            ManagerKind::Launchd => launchctl(&["print", &format!("{}/{AGENT}", domain())]),
        };
        match run(&look).await {
            Ok((true, _)) => ServiceState::Running,
            Ok((false, _)) if self.answers().await => ServiceState::Stopped,
            _ => ServiceState::Unknown,
        }
    }

    async fn answers(&self) -> bool {
        let look = match self.kind {
            ManagerKind::Systemd => systemctl(&["show-environment"]),
            ManagerKind::Launchd => launchctl(&["print", &domain()]),
        };
        run(&look).await.is_ok_and(|(done, _)| done)
    }
}

async fn run(words: &[String]) -> anyhow::Result<(bool, String)> {
    let (program, arguments) = words.split_first().context("no command")?;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(COMMAND_TIMEOUT, command.output()).await.context("it does not end")??;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn systemctl(words: &[&str]) -> Vec<String> {
    ["systemctl", "--user"].iter().chain(words).map(|word| (*word).to_owned()).collect()
}

fn launchctl(words: &[&str]) -> Vec<String> {
    std::iter::once(&"launchctl").chain(words).map(|word| (*word).to_owned()).collect()
}

/// Of the user who sits in front of the screen.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn unit(program: &str, kept: impl Iterator<Item = (&'static str, String)>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%"));
    // A program's own words may hold variables, an assignment may not.
    let program = quoted(program).replace('$', "$$");
    let variables: String =
        kept.map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}")))).collect();
    format!(
        "# {MARK}. What you want otherwise: systemctl --user edit {UNIT}
[Unit]
Description=Portcullis, the gate between a coding agent and the world

[Service]
ExecStart={program} serve
{variables}Restart=on-failure

[Install]
WantedBy=default.target
"
    )
}

fn agent(program: &str, kept: impl Iterator<Item = (&'static str, String)>) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let variables: String =
        kept.map(|(name, value)| format!("\n    <key>{name}</key><string>{}</string>", escaped(&value))).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK} -->
<plist version="1.0">
<dict>
  <key>Label</key><string>{AGENT}</string>
  <key>ProgramArguments</key>
  <array><string>{}</string><string>serve</string></array>
  <key>EnvironmentVariables</key>
  <dict>{variables}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
"#,
        escaped(program)
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn environment(name: &str) -> Option<std::ffi::OsString> {
        match name {
            "PORTCULLIS_HOME" => Some("/home/ann/50% \"of\" <it>".into()),
            "PORTCULLIS_TOKEN" => Some("secret".into()),
            _ => None,
        }
    }

    fn text(kind: ManagerKind) -> String {
        Manager { kind, file: PathBuf::new() }.text(Path::new("/home/ann/my $bin/portcullis"), &environment)
    }

    #[test]
    fn a_systemd_unit_says_how_to_start_the_gate() {
        expect![[r#"
            # Written by `portcullis service install`. What you want otherwise: systemctl --user edit portcullis.service
            [Unit]
            Description=Portcullis, the gate between a coding agent and the world

            [Service]
            ExecStart="/home/ann/my $$bin/portcullis" serve
            Environment="PORTCULLIS_HOME=/home/ann/50%% \"of\" <it>"
            Restart=on-failure

            [Install]
            WantedBy=default.target
        "#]]
        .assert_eq(&text(ManagerKind::Systemd));
    }

    #[test]
    fn a_launchd_agent_says_the_same() {
        let text = text(ManagerKind::Launchd);
        assert!(text.contains("<array><string>/home/ann/my $bin/portcullis</string><string>serve</string></array>"));
        assert!(text.contains("<key>PORTCULLIS_HOME</key><string>/home/ann/50% \"of\" &lt;it&gt;</string>"));
        assert!(text.contains(MARK) && !text.contains("secret"));
    }
}
