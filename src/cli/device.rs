//! `portcullis device`: the browsers and phones that are linked to the gate.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use portcullis_wire::api::{DeviceView, LinkView, NewLink, ago};

use super::client::{Client, segment};
use super::inside::{InsideAnAgent, refused};
use super::layout::Layout;
use super::table::{Cell, Table};
use super::{log_at, qr, say};
use crate::failure::Failure;
use crate::hub::now;

/// Link browsers and phones, list them, revoke them
#[derive(clap::Args)]
pub(super) struct Devices {
    #[command(subcommand)]
    what: DeviceCommand,
}

#[derive(Subcommand)]
enum DeviceCommand {
    /// Show a link, and its QR code, that lets a phone or another computer in
    ///
    /// It works once, for two minutes. The device may then send messages and answer prompts. It must be able to reach the
    /// gate: set `public_url` in the configuration (`portcullis help settings`).
    Link {
        /// The device may also start sessions
        #[arg(long)]
        start: bool,
        /// The device may also administer the gate: people, tokens, devices, the log
        #[arg(long)]
        admin: bool,
    },
    /// List the linked devices
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Take a device's key back; what it had open ends at once
    Revoke {
        /// As `device list` shows it: the id, its beginning, or the name
        device: String,
    },
}

/// What a device may do besides talk and review.
pub(super) struct LinkFor {
    pub(super) start: bool,
    pub(super) admin: bool,
}

impl Devices {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            DeviceCommand::List { .. } => InsideAnAgent::Allowed,
            DeviceCommand::Link { .. } => refused("link a device"),
            DeviceCommand::Revoke { device } => refused(format!("revoke device {device}")),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            DeviceCommand::Link { start, admin } => show_link(&gate, LinkFor { start, admin }).await?,
            DeviceCommand::List { json } => {
                let devices = all(&gate).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&devices)?) } else { list(&devices) });
            }
            DeviceCommand::Revoke { device } => {
                let devices = all(&gate).await?;
                let found = find(&devices, &device)?;
                gate.command("DELETE", &format!("/api/v1/devices/{}", segment(&found.id))).await?;
                say(&format!("Revoked {}.\n", found.name));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) async fn all(gate: &Client) -> anyhow::Result<Vec<DeviceView>> {
    gate.get("/api/v1/devices").await
}

/// A link that was just made.
pub(super) struct FreshLink {
    pub(super) link: LinkView,
    /// The devices before it.
    known: Vec<String>,
}

pub(super) async fn new_link(gate: &Client, may: LinkFor) -> anyhow::Result<FreshLink> {
    let known = all(gate).await?.into_iter().map(|device| device.id).collect();
    let more = [("start", may.start), ("admin", may.admin)];
    let rights = more.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name.to_owned()).collect();
    Ok(FreshLink { link: gate.post("/api/v1/devices/links", &NewLink { rights }).await?, known })
}

/// The name of the device that was linked since, within the link's time.
pub(super) async fn linked(gate: &Client, fresh: &FreshLink) -> anyhow::Result<Option<String>> {
    const EVERY: Duration = Duration::from_millis(300);
    while now().0 < fresh.link.until {
        tokio::time::sleep(EVERY).await;
        let is_new = |device: &DeviceView| !fresh.known.contains(&device.id);
        if let Some(device) = all(gate).await?.into_iter().find(is_new) {
            return Ok(Some(device.name));
        }
    }
    Ok(None)
}

async fn show_link(gate: &Client, may: LinkFor) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        let hint = "run it in a terminal: a link lets whoever has it in, so it goes nowhere else";
        return Err(Failure::new("a link is shown on a terminal only", hint).into());
    }
    let fresh = new_link(gate, may).await?;
    let Some(base) = &fresh.link.public_url else {
        let hint = "make the gate reachable first. With Tailscale: `tailscale serve 8789`, and its address as public_url in \
                    the configuration; with a proxy of your own: see the guide, \"Answer prompts from your phone or \
                    browser\"; from another computer: `ssh -L 9000:localhost:8789 HOST`, with \
                    public_url = \"http://localhost:9000\". On this computer, `portcullis page` opens the page";
        return Err(Failure::new("no other device can reach this gate: public_url is not set", hint).into());
    };
    let url = format!("{base}/#link={}", fresh.link.secret);
    // The code comes last: on a small terminal all of it is in sight.
    say(&format!("Open this on the device within two minutes; it works once:\n  {url}\n"));
    if fresh.link.qr.is_empty() {
        say(
            "No QR code: this public_url leads each device to itself. Open the link on the computer where the tunnel ends; a \
             phone needs a public_url that it can reach.\n",
        );
    } else {
        say(&qr::code(&url, Layout::of_stdout()));
    }
    let linked = tokio::select! {
        linked = linked(gate, &fresh) => linked?,
        _ = tokio::signal::ctrl_c() => None,
    };
    match linked {
        Some(name) => say(&format!("{name} is linked.\n")),
        None => say("Nothing was linked. Run it again for a new link.\n"),
    }
    Ok(())
}

/// The device that someone means: by its id, its name, or the beginning of its id.
fn find<'a>(devices: &'a [DeviceView], named: &str) -> Result<&'a DeviceView, Failure> {
    // A device chooses its name, and may take another's id for it.
    let means: [&dyn Fn(&DeviceView) -> bool; 3] =
        [&|device| device.id == named, &|device| device.name == named, &|device| device.id.starts_with(named)];
    let found = means.iter().map(|means| devices.iter().filter(|device| means(device)).collect::<Vec<_>>());
    let found = found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    let hint = "`portcullis device list` lists them";
    match found.as_slice() {
        [device] => Ok(device),
        [] => Err(Failure::new(format!("no device {named}"), hint)),
        several => Err(Failure::new(format!("{} devices are called {named}: name one by its id", several.len()), hint)),
    }
}

fn list(devices: &[DeviceView]) -> String {
    if devices.is_empty() {
        return "No device is linked. `portcullis page` links a browser here, `portcullis device link` a phone.\n"
            .to_owned();
    }
    let mut table = Table::new(&["ID", "DEVICE", "MAY", "LINKED", "LAST USED"]);
    for device in devices {
        let ago = |at: u64| format!("{} ago", ago(now().0.saturating_sub(at)));
        let used = device.last_used.map_or_else(|| "never".to_owned(), ago);
        let (rights, since) = (device.rights.join(", "), ago(device.since));
        table.row([Cell::from(&device.id), Cell::from(&device.name), rights.into(), since.into(), used.into()]);
    }
    table.print()
}
