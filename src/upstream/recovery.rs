//! Servers that are down: they are tried again in the background, so that no list waits for them.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::Instant;

use super::connection::ServerAbout;
use super::failure::ConnectFailure;
use super::slot::{Slot, UpstreamState};
use super::upstreams::Upstreams;
use crate::fixed;

/// A server that is down is tried again after this, then each time after twice as long.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);
/// How often it is looked whether someone has signed in.
const LOOK: Duration = Duration::from_secs(2);
/// One that wants someone to sign in is asked again after this, although nobody has.
const UNASKED: Duration = Duration::from_secs(15 * 60);

impl Upstreams {
    /// Tries a server that is down until it is there, and says what it is then. None where another does so already, and
    /// where it is not configured any more.
    pub(crate) async fn recovered(upstreams: Weak<Self>, name: String) -> Option<ServerAbout> {
        let slot = upstreams.upgrade()?.slot(&name)?;
        let _recovering = slot.recovering()?;
        let mut wait = fixed::wait("MCP_RECOVERY", FIRST);
        while let Some(down) = slot.down() {
            let again = Instant::now() + wait;
            if matches!(down.failure, ConnectFailure::NeedsAuth) {
                until_signed_in(&slot).await;
            }
            // Also where there are other tokens at once: another gateway may renew them each time that the server refuses.
            tokio::time::sleep_until(again).await;
            wait = (2 * wait).min(LONGEST);
            let upstreams = upstreams.upgrade()?;
            if !upstreams.has(&slot) {
                return None;
            }
            // A call may have been faster.
            if slot.down().is_some() && slot.may_be_tried().await {
                upstreams.try_once(&slot).await;
            }
        }
        match slot.state() {
            UpstreamState::Connected(about) => Some(about),
            _ => None,
        }
    }
}

/// Waits until there are other tokens than those that the server refused, or somebody else was let in.
async fn until_signed_in(slot: &Slot) {
    let until = Instant::now() + UNASKED;
    while Instant::now() < until {
        let Some(down) = slot.down() else { return };
        if slot.has_other_tokens(&down) || slot.is_retired() {
            return;
        }
        tokio::time::sleep(fixed::wait("MCP_LOOK", LOOK)).await;
    }
}
