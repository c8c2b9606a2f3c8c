//! `portcullis page`: the page in a browser of this machine.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use portcullis_wire::api::Status;

use super::browser::{RedirectFile, opener};
use super::client::Client;
use super::device::{self, FreshLink, LinkFor};
use super::signals::stop_on_signals;
use super::{log_at, paths, say};
use crate::config::Paths;
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
        let fresh = device::new_link(&gate, EVERYTHING).await?;
        let url = url(address, &fresh);
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
        let redirect = opener.map(|program| RedirectFile::open(&paths()?.state_dir, &url, program)).transpose()?;
        let opened = OpenedPage { gate, fresh, _redirect: redirect.flatten() };
        let linked = tokio::select! {
            linked = opened.linked() => linked?,
            () = stop.cancelled() => None,
        };
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

/// A page of this machine's own may do all that its owner may.
const EVERYTHING: LinkFor = LinkFor { start: true, admin: true };

fn url(address: &str, fresh: &FreshLink) -> String {
    format!("http://{address}/#link={}", fresh.link.secret)
}

/// A link that a browser was opened on.
pub(super) struct OpenedPage {
    gate: Client,
    fresh: FreshLink,
    /// Dropped, and with it deleted, when the browser is linked, the link has run out or someone ends this.
    _redirect: Option<RedirectFile>,
}

impl OpenedPage {
    /// Opens the page with this program, unless a device is linked already.
    pub(super) async fn first(
        gate: Client,
        paths: &Paths,
        status: &Status,
        program: &str,
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = &status.listen else { return Ok(None) };
        if !device::all(&gate).await?.is_empty() {
            return Ok(None);
        }
        let fresh = device::new_link(&gate, EVERYTHING).await?;
        let redirect = RedirectFile::open(&paths.state_dir, &url(address, &fresh), program)?;
        Ok(redirect.map(|redirect| Self { gate, fresh, _redirect: Some(redirect) }))
    }

    /// The link itself, for a browser that may not read the file, as one in a sandbox may not.
    pub(super) fn link(&self, status: &Status) -> Option<String> {
        status.listen.as_ref().map(|address| url(address, &self.fresh))
    }

    /// The name of the device that was linked by it, if one was in time.
    pub(super) async fn linked(self) -> anyhow::Result<Option<String>> {
        device::linked(&self.gate, &self.fresh).await
    }
}
