//! `portcullis page`: the page in a browser of this machine.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use super::browser::{RedirectFile, opener};
use super::client::Client;
use super::device::{self, LinkFor};
use super::signals::stop_on_signals;
use super::{log_at, paths, say};
use crate::failure::Failure;

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
