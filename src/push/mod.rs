//! Web Push: which devices are told that something waits while their page is closed, and who looks at a page now.
//!
//! A subscription is an address that a browser was given by its push service, and keys to encrypt for that browser. One
//! device has one, in a file of its own that goes with the device. What is sent says that something waits, and nothing
//! of what: the page's worker asks the gate.

mod address;
mod key;
mod screens;
mod send;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use portcullis_core::{Moment, TokenId};
use portcullis_wire::api::NewSubscription;
use tokio::sync::watch;

pub(crate) use key::PushKey;
pub(crate) use send::{PushClient, PushOutcome};

use crate::locks::locked;
use screens::Screens;

/// The subscriptions, and the screens that are looked at. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PushService(Arc<PushState>);

struct PushState {
    folder: PathBuf,
    key: PushKey,
    /// Where a push service can find whose gate it is: the address of the page.
    contact: String,
    /// As the files have them. Changed by the door, and by what a push service says.
    subscriptions: Mutex<BTreeMap<TokenId, NewSubscription>>,
    screens: Mutex<Screens>,
    /// Rings when either has changed.
    changed: watch::Sender<()>,
}

impl PushService {
    /// Reads the subscriptions in the state folder.
    pub(crate) fn open(state_folder: &Path, key: PushKey, contact: &str) -> Self {
        let folder = state_folder.join("push");
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let read = entries.filter_map(|entry| {
            let device = entry.file_name().to_str()?.strip_suffix(ENDING)?.parse().ok()?;
            let kept: NewSubscription = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
            send::checked(&kept).ok()?;
            Some((device, kept))
        });
        let subscriptions = Mutex::new(read.collect());
        let (contact, screens, changed) = (contact.to_owned(), Mutex::default(), watch::Sender::new(()));
        Self(Arc::new(PushState { folder, key, contact, subscriptions, screens, changed }))
    }

    /// What a browser needs to subscribe: pushes of another key are not delivered to it.
    pub(crate) fn public_key(&self) -> String {
        self.0.key.public()
    }

    /// Keeps where pushes for this device go, in place of what was kept. The error says what is wrong with it.
    pub(crate) async fn subscribe(&self, device: TokenId, new: NewSubscription) -> Result<(), SubscribeError> {
        send::checked(&new).map_err(SubscribeError::Wrong)?;
        let (this, kept) = (self.clone(), new.clone());
        let writing = tokio::task::spawn_blocking(move || this.write(device, &kept)).await;
        writing.map_err(io::Error::other).flatten().map_err(SubscribeError::NotKept)?;
        locked(&self.0.subscriptions).insert(device, new);
        self.0.changed.send_replace(());
        Ok(())
    }

    fn write(&self, device: TokenId, subscription: &NewSubscription) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0.folder)?;
        let (file, draft) = (self.file(device), self.0.folder.join(format!("{device}.tmp")));
        let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        open.write_all(&serde_json::to_vec(subscription)?)?;
        fs::rename(draft, file)
    }

    /// Forgets where pushes for this device go.
    pub(crate) async fn unsubscribe(&self, device: TokenId) {
        if locked(&self.0.subscriptions).remove(&device).is_none() {
            return;
        }
        let file = self.file(device);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || fs::remove_file(file)).await {
            tracing::warn!(%error, "the subscription of a device could not be removed");
        }
        self.0.changed.send_replace(());
    }

    fn file(&self, device: TokenId) -> PathBuf {
        self.0.folder.join(format!("{device}{ENDING}"))
    }

    /// Whether pushes for this device go anywhere.
    pub(crate) fn is_subscribed(&self, device: TokenId) -> bool {
        locked(&self.0.subscriptions).contains_key(&device)
    }

    pub(crate) fn subscriptions(&self) -> BTreeMap<TokenId, NewSubscription> {
        locked(&self.0.subscriptions).clone()
    }

    /// A page on this device says whether it can be seen.
    pub(crate) fn note_screen(&self, person: &str, device: TokenId, page: &str, visible: bool, now: Moment) {
        locked(&self.0.screens).note(person, device, page, visible, now);
        self.0.changed.send_replace(());
    }

    /// Forgets the pages of devices that are no longer linked.
    pub(crate) fn keep_screens(&self, is_linked: impl Fn(TokenId) -> bool) {
        locked(&self.0.screens).keep(is_linked);
    }

    /// Until when this person is taken to look at a page, if they do.
    pub(crate) fn looks_until(&self, person: &str, now: Moment) -> Option<Moment> {
        locked(&self.0.screens).looks_until(person, now)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Sends a push. What it says is encrypted for the browser.
    pub(crate) async fn send(&self, client: &PushClient, to: &NewSubscription, text: String) -> PushOutcome {
        client.send(&self.0.key, &self.0.contact, to, text).await
    }
}

/// How the name of a subscription's file ends.
const ENDING: &str = ".json";

/// Why a subscription was not taken.
#[derive(Debug)]
pub(crate) enum SubscribeError {
    Wrong(&'static str),
    NotKept(io::Error),
}
