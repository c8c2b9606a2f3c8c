//! `portcullis up`: the gate, for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use portcullis_core::shell_word;
use portcullis_wire::api::Status;

use super::broken::broken_files;
use super::browser::opener;
use super::client::Client;
use super::gate::lifetime::until_stopped;
use super::gate::{self, GateOptions, Started};
use super::{configuration, lock, log_at, note, page, paths, reach, say, watch};
use crate::config::Paths;
use crate::failure::Failure;

/// Start the gate and show how to use it
///
/// Runs in the foreground until Ctrl-C; with --detach it runs in the background until `portcullis stop`. In the foreground
/// it opens the page in a browser for as long as no device is linked; over ssh and without a display it does not.
#[derive(clap::Args)]
#[command(after_help = "`portcullis help settings` shows the settings and their values.")]
pub(super) struct Up {
    /// Leave the gate running in the background
    #[arg(long)]
    detach: bool,
    /// Let requests with the header `X-Sender: NAME` in as a reviewer, to walk through the channel documents
    ///
    /// Anyone who can reach the port can then send events and answer prompts. Not for daily use.
    #[arg(long, value_name = "NAME", value_parser = super::dev_name)]
    dev_sender: Option<String>,
    /// Where to listen: 127.0.0.1:PORT, or `off` for the Unix socket only
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Open no browser
    #[arg(long)]
    no_open: bool,
}

impl Up {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let paths = paths()?;
        let config = configuration(&paths, self.listen.as_deref())?;
        let before = lock::holder(&paths.lock_file);
        if let Some(holder) = before.as_ref().filter(|holder| !holder.auto_started) {
            return Err(already_running(holder.pid).into());
        }
        if self.detach {
            let mut arguments = vec!["serve".to_owned(), "--detached".to_owned()];
            arguments.extend(self.dev_sender.iter().flat_map(|name| ["--dev-sender".to_owned(), name.clone()]));
            arguments.extend(self.listen.iter().flat_map(|address| ["--listen".to_owned(), address.clone()]));
            if !reach::leave_behind(&paths, &arguments).await? {
                let pid = lock::holder(&paths.lock_file).map_or(0, |holder| holder.pid);
                return Err(already_running(pid).into());
            }
            let status = Client::new(&paths).status().await?;
            say(&banner(&status, "`portcullis stop` stops it.", PAGE));
            say_broken(&paths);
            return Ok(ExitCode::SUCCESS);
        }
        let lock_file = paths.lock_file.clone();
        let options = GateOptions { dev_sender: self.dev_sender, started: Started::ByPerson };
        let Some(gate) = gate::open_in_place(&paths, &config, &options).await? else {
            let pid = lock::holder(&lock_file).map_or(0, |holder| holder.pid);
            return Err(already_running(pid).into());
        };
        if let Some(holder) = before {
            say(&format!("Took the place of the gate that a session had started (pid {}).\n", holder.pid));
        }
        let first = if self.no_open { None } else { open_first(&paths, &gate.status).await };
        // There is one on a terminal only.
        let link = first.as_ref().and_then(|first| first.link(&gate.status));
        let page = match &link {
            Some(link) => format!("{FIRST_PAGE}\n{NO_BROWSER}\n            {link}"),
            None => PAGE.to_owned(),
        };
        say(&banner(&gate.status, "Ctrl-C stops it.", &page));
        say_broken(&paths);
        // The file that the browser was opened on is there until it was used, or the gate is stopped.
        let first = first.map(|opened| tokio::spawn(opened.linked()));
        let shown = tokio::spawn(watch::print_own(paths));
        until_stopped(gate).await?;
        shown.abort();
        if let Some(first) = first {
            first.abort();
            drop(first.await);
        }
        Ok(ExitCode::SUCCESS)
    }
}

const PAGE: &str = "`portcullis page` opens it in a browser, `portcullis device link` on a phone";
const FIRST_PAGE: &str = "comes up in your browser: press Link this device there; later, `portcullis page`";
/// In the column of the banner's values.
const NO_BROWSER: &str = "            if it does not, open this within two minutes; it works once:";

/// As long as no device is linked the page comes up by itself. Later it is open somewhere, or wanted elsewhere.
async fn open_first(paths: &Paths, status: &Status) -> Option<page::OpenedPage> {
    let program = opener().filter(|_| std::io::stdout().is_terminal())?;
    let gate = Client::new(paths);
    match page::OpenedPage::first(gate, paths, status, program).await {
        Ok(opened) => opened,
        Err(error) => {
            tracing::debug!("the page was not opened: {error:#}");
            None
        }
    }
}

/// Rules that cannot be read keep no gate from starting.
fn say_broken(paths: &Paths) {
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    broken_files(paths, [here.as_path()]).iter().for_each(|problem| note(&format!("warning: {problem}")));
}

fn already_running(pid: u32) -> Failure {
    Failure::new(
        format!("a gate is already running (pid {pid})"),
        "use it (`portcullis status` shows where it is), or stop it first with `portcullis stop`",
    )
}

fn banner(status: &Status, ending: &str, page: &str) -> String {
    let mut text = format!("Portcullis {} is up. {ending}\n\n", status.version);
    let row = |text: &mut String, name: &str, value: &str| text.push_str(&format!("  {name:<9} {value}\n"));
    match &status.listen {
        Some(address) => row(&mut text, "listening", &format!("http://{address}")),
        None => row(&mut text, "listening", "only on the Unix socket"),
    }
    if let Some(url) = &status.public_url {
        let end = status.public_listen.as_deref().unwrap_or("nowhere");
        row(&mut text, "public", &format!("{url}, by your proxy or tunnel to {end}"));
    }
    if status.listen.is_some() {
        row(&mut text, "page", page);
    }
    row(&mut text, "socket", &status.socket);
    row(&mut text, "journal", &status.journal);
    let token = status.token_file.as_deref().unwrap_or("from PORTCULLIS_TOKEN");
    row(&mut text, "token", token);
    if let Some(dev) = &status.dev_sender {
        row(&mut text, "dev", &format!("X-Sender: {dev} may send and answer. Anyone on this machine can say so."));
    }
    let program = std::env::current_exe().map_or_else(|_| "portcullis".to_owned(), |path| path.display().to_string());
    text.push_str(&format!(
        "\nTell Claude Code about it, once in each project:\n  {} install --hooks\n",
        shell_word(&program)
    ));
    if let Some(address) = &status.listen {
        let credential = match (&status.dev_sender, &status.token_file) {
            (Some(dev), _) => format!("-H \"X-Sender: {dev}\""),
            (None, Some(file)) => format!("-H \"Authorization: Bearer $(cat {})\"", shell_word(file)),
            (None, None) => "-H \"Authorization: Bearer $PORTCULLIS_TOKEN\"".to_owned(),
        };
        let listen = if status.dev_sender.is_some() { String::new() } else { format!("{credential} ") };
        text.push_str(&format!("\nSend an event, and watch replies and permission prompts:\n  curl {credential} -d \"hello\" {address}\n  curl -N {listen}{address}/events\n"
        ));
    }
    text
}
