//! `portcullis page`: the page in a browser of this machine.

use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::Context as _;

use super::client::Client;
use super::device::{self, LinkFor};
use super::signals::stop_on_signals;
use super::{environment, log_at, paths, say};
use crate::failure::Failure;
use crate::processes;

/// Open the page: your sessions, their prompts and what they say, in a browser
///
/// A browser that opens the link is linked to the gate and may do everything you may. For a phone, use `portcullis
/// device link`. Over ssh, or without a display, the link is only printed.
#[derive(clap::Args)]
pub(super) struct Page {
    /// Print the link, and open nothing
    #[arg(long)]
    no_open: bool,
}

impl Page {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        let status = gate.status().await?;
        let Some(address) = &status.listen else {
            let hint =
                "the page needs a port: take `listen = \"off\"` out of the configuration and start the gate anew";
            return Err(Failure::new("the gate serves its Unix socket alone", hint).into());
        };
        let fresh = device::new_link(&gate, LinkFor { start: true, admin: true }).await?;
        let url = format!("http://{address}/#link={}", fresh.link.secret);
        let opener = (!self.no_open).then(opener).flatten();
        let is_terminal = std::io::stdout().is_terminal();
        if opener.is_none() && !is_terminal {
            let hint = "run it in a terminal: a link lets whoever has it in, so it goes nowhere else";
            return Err(Failure::new("there is no browser to open, and no terminal to print the link on", hint).into());
        }
        if is_terminal {
            say(&format!(
                "Open this within two minutes; it works once:\n  {url}\nWaiting for the browser; Ctrl-C ends this.\n"
            ));
        }
        let stop = stop_on_signals()?;
        // Dropped, and with it deleted, when the browser is linked, the link has run out or someone ends this.
        let redirect = opener.map(|program| RedirectFile::open(&paths()?.state_dir, &url, program)).transpose()?;
        let linked = tokio::select! {
            linked = device::linked(&gate, &fresh) => linked?,
            () = stop.cancelled() => None,
        };
        drop(redirect);
        match linked {
            Some(name) => {
                say(&format!(
                    "{name} is linked. `portcullis device list` shows all, `device revoke` takes one back.\n"
                ));
            }
            None => say("Nothing was linked. Run `portcullis page` again for a new link.\n"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The program that opens a browser, where someone sits in front of one.
fn opener() -> Option<&'static str> {
    let is_set = |name: &str| environment(name).is_some_and(|value| !value.is_empty());
    let is_remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    match () {
        () if is_remote => None,
        () if cfg!(target_os = "macos") => Some("open"),
        () => (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some("xdg-open"),
    }
}

/// A file that sends a browser on: the link stands in it, and in no list of processes. It is gone when this is dropped.
struct RedirectFile(PathBuf);

impl RedirectFile {
    fn open(folder: &Path, url: &str, program: &str) -> anyhow::Result<Self> {
        forget_older(folder);
        let redirect = Self(folder.join(format!("{FILE_START}{}{FILE_END}", std::process::id())));
        let page = format!(
            "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
             <meta http-equiv=refresh content=\"0;url={url}\"><title>Portcullis</title>"
        );
        drop(std::fs::remove_file(&redirect.0));
        let writing = || format!("writing {}", redirect.0.display());
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&redirect.0).with_context(writing)?;
        file.write_all(page.as_bytes()).with_context(writing)?;
        let mut command = std::process::Command::new(program);
        command.arg(&redirect.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Err(error) = command.spawn() {
            tracing::warn!("{program} does not start ({error}): open the link yourself");
        }
        Ok(redirect)
    }
}

/// How the names of such files begin and end.
const FILE_START: &str = "open-";
const FILE_END: &str = ".html";

/// Removes the files of those that were killed. The links in them have run out, or soon will have.
fn forget_older(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(FILE_START)?.strip_suffix(FILE_END));
        if number.and_then(|number| number.parse().ok()).is_some_and(|process| !processes::is_alive(process)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}
