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
    /// Held while a file and `subscriptions` are changed together: of two changes at once, the later one is the later in
    /// both. Never held by a task, only by a thread that may wait for the disk.
    changing: Mutex<()>,
    screens: Mutex<Screens>,
    /// Rings when either has changed.
    changed: watch::Sender<()>,
}

impl PushService {
    /// Reads the subscriptions in the state folder, and removes what is none: nothing would ever be sent there.
    pub(crate) fn open(state_folder: &Path, key: PushKey, contact: &str) -> Self {
        let folder = state_folder.join("push");
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let subscriptions = Mutex::new(entries.filter_map(|entry| read_or_remove(&entry.path())).collect());
        let (contact, changing) = (contact.to_owned(), Mutex::default());
        let (screens, changed) = (Mutex::default(), watch::Sender::new(()));
        Self(Arc::new(PushState { folder, key, contact, subscriptions, changing, screens, changed }))
    }

    /// What a browser needs to subscribe: pushes of another key are not delivered to it.
    pub(crate) fn public_key(&self) -> String {
        self.0.key.public()
    }

    /// Keeps where pushes for this device go, in place of what was kept. The error says what is wrong with it.
    pub(crate) async fn subscribe(&self, device: TokenId, new: NewSubscription) -> Result<(), SubscribeError> {
        send::checked(&new).map_err(SubscribeError::Wrong)?;
        self.change(move |this| {
            this.write(device, &new)?;
            locked(&this.0.subscriptions).insert(device, new);
            Ok(())
        })
        .await
        .map_err(SubscribeError::NotKept)
    }

    fn write(&self, device: TokenId, subscription: &NewSubscription) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0.folder)?;
        let (file, draft) = (self.file(device), self.0.folder.join(format!("{device}{DRAFT}")));
        let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        open.write_all(&serde_json::to_vec(subscription)?)?;
        fs::rename(draft, file)
    }

    /// Forgets where pushes for this device go.
    pub(crate) async fn unsubscribe(&self, device: TokenId) {
        self.forget(device, |_| true).await;
    }

    /// The push service has no such address any more. What the device has subscribed to since stays.
    pub(crate) async fn forget_endpoint(&self, device: TokenId, endpoint: String) {
        self.forget(device, move |known| known.endpoint == endpoint).await;
    }

    async fn forget(&self, device: TokenId, is_meant: impl FnOnce(&NewSubscription) -> bool + Send + 'static) {
        let forgetting = self.change(move |this| {
            let is_known = locked(&this.0.subscriptions).get(&device).is_some_and(is_meant);
            if !is_known {
                return Ok(());
            }
            locked(&this.0.subscriptions).remove(&device);
            fs::remove_file(this.file(device))
        });
        if let Err(error) = forgetting.await {
            tracing::warn!(%error, "the subscription of a device could not be removed");
        }
    }

    /// Changes a file and what is known of it, one change after another, where waiting for the disk holds up nobody. A
    /// change that has begun is made whole, also when nobody waits for it any more.
    async fn change(&self, work: impl FnOnce(&Self) -> io::Result<()> + Send + 'static) -> io::Result<()> {
        let this = self.clone();
        let changing = tokio::task::spawn_blocking(move || {
            let _one_at_a_time = locked(&this.0.changing);
            let changed = work(&this);
            this.0.changed.send_replace(());
            changed
        });
        changing.await.map_err(io::Error::other).flatten()
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
/// And while it is being written.
const DRAFT: &str = ".tmp";

/// The subscription in a file of ours. One that is broken, or was not written to its end, is removed.
fn read_or_remove(path: &Path) -> Option<(TokenId, NewSubscription)> {
    let name = path.file_name()?.to_str()?;
    let device = name.strip_suffix(ENDING).or(name.strip_suffix(DRAFT))?.parse().ok()?;
    let why = match fs::read(path) {
        _ if name.ends_with(DRAFT) => "it was not written to its end".to_owned(),
        // It may be read another time.
        Err(error) => {
            tracing::warn!(%error, "a push subscription cannot be read: {}", path.display());
            return None;
        }
        Ok(text) => match serde_json::from_slice::<NewSubscription>(&text) {
            Err(error) => error.to_string(),
            Ok(kept) => match send::checked(&kept) {
                Ok(_) => return Some((device, kept)),
                Err(why) => why.to_owned(),
            },
        },
    };
    tracing::warn!("a push subscription is of no use and is removed: {why}: {}", path.display());
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, "it could not be removed");
    }
    None
}

/// Why a subscription was not taken.
#[derive(Debug)]
pub(crate) enum SubscribeError {
    Wrong(&'static str),
    NotKept(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::api::SubscriptionKeys;

    fn service(home: &Path) -> PushService {
        PushService::open(home, PushKey::of("ptc_1").unwrap(), "https://gate.example.org")
    }

    fn subscription(number: usize) -> NewSubscription {
        let p256dh = "BLn9b-VR0ca83knDNZ32dCHGyjJp-1riX9ZTN40MqV8K_LpQmLqxC_DoHvqvFXO_nGdAB4W9dogZb_sM-uV4JbY";
        let keys = SubscriptionKeys { p256dh: p256dh.to_owned(), auth: "_ordMnz7uTCmrpBTeUV4Bw".to_owned() };
        NewSubscription { endpoint: format!("https://push.example.org/{number}"), keys, muted: vec![] }
    }

    #[tokio::test]
    async fn what_is_known_is_what_the_files_have_whoever_changed_it_at_once() {
        let home = tempfile::tempdir().unwrap();
        let service = service(home.path());
        let device = TokenId::new(Moment(1), 1);
        for _ in 0..50 {
            let changes = (0..8).map(|number| {
                let service = service.clone();
                tokio::spawn(async move {
                    match number % 4 {
                        0 => service.unsubscribe(device).await,
                        _ => service.subscribe(device, subscription(number)).await.unwrap(),
                    }
                })
            });
            for change in changes.collect::<Vec<_>>() {
                change.await.unwrap();
            }
            let kept = super::tests::service(home.path());
            assert_eq!(kept.subscriptions(), service.subscriptions());
        }
    }

    #[tokio::test]
    async fn an_address_that_is_gone_takes_no_newer_one_with_it() {
        let home = tempfile::tempdir().unwrap();
        let (service, device) = (service(home.path()), TokenId::new(Moment(1), 1));
        service.subscribe(device, subscription(1)).await.unwrap();
        service.subscribe(device, subscription(2)).await.unwrap();
        service.forget_endpoint(device, subscription(1).endpoint).await;
        assert_eq!(service.subscriptions()[&device], subscription(2));
        service.forget_endpoint(device, subscription(2).endpoint).await;
        assert!(!service.is_subscribed(device) && !service.file(device).exists());
    }

    #[tokio::test]
    async fn files_that_hold_no_subscription_are_removed_and_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let (good, device) = (service(home.path()), |number| TokenId::new(Moment(1), number));
        good.subscribe(device(1), subscription(1)).await.unwrap();
        let private = subscription(2).endpoint.replace("push.example.org", "127.0.0.1");
        let private = NewSubscription { endpoint: private, ..subscription(2) };
        for (name, text) in [
            (format!("{}.json", device(2)), b"{".to_vec()),
            (format!("{}.json", device(3)), serde_json::to_vec(&private).unwrap()),
            (format!("{}.tmp", device(4)), serde_json::to_vec(&subscription(4)).unwrap()),
            ("notes.txt".to_owned(), b"not ours".to_vec()),
        ] {
            fs::write(home.path().join("push").join(name), text).unwrap();
        }
        assert_eq!(service(home.path()).subscriptions(), good.subscriptions());
        let left = fs::read_dir(home.path().join("push")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        let mut want = [format!("{}.json", device(1)), "notes.txt".to_owned()];
        want.sort();
        assert_eq!(left, want);
    }
}
