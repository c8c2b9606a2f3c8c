//! Tells devices by Web Push that a prompt waits, when it has waited for some time and its person looks at no page.
//!
//! What is open is asked of the state, whenever the journal has grown: nothing here has to be remembered over a restart. A
//! gate that is started again tells of what is still open once more, which a browser shows in the place of what it showed.

mod under_way;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use portcullis_core::{AskId, Label, Moment, Right, TokenId};
use portcullis_wire::api::NewSubscription;
use tokio_util::sync::CancellationToken;

use crate::fixed;
use crate::hub::{Hub, Trouble, now};
use crate::push::{PushClient, PushOutcome, PushService};
use under_way::PushesUnderWay;

/// Pushes on their way at once.
const AT_ONCE: usize = 8;
/// One device is not told more often than this; what came meanwhile is told as one.
const REST: Duration = Duration::from_secs(10);
/// A service that fails is tried again after this, then after twice as long, and so on.
const AGAIN: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_secs(1800);
/// A journal that grows all the time is looked at so often.
const PAUSE: Duration = Duration::from_millis(200);

struct Pusher {
    hub: Hub,
    service: PushService,
    after: Duration,
    /// Made when it is first needed.
    client: Option<Arc<PushClient>>,
    devices: BTreeMap<TokenId, DeviceNews>,
    sending: PushesUnderWay,
}

/// What a device was told.
#[derive(Default)]
struct DeviceNews {
    /// Open prompts that it was told of.
    told: BTreeSet<AskId>,
    /// Those of them that are told by the push that is under way.
    under_way: Vec<AskId>,
    not_before: Moment,
    failures: u32,
}

/// What the state has to do with pushes.
struct Picture {
    asks: Vec<WaitingAsk>,
    /// Each device, its person, and whether it may answer prompts.
    devices: BTreeMap<TokenId, (String, bool)>,
}

/// A prompt that is open.
#[derive(Clone)]
struct WaitingAsk {
    id: AskId,
    at: Moment,
    /// Of its session.
    label: Option<Label>,
}

impl WaitingAsk {
    fn is_muted_at(&self, subscription: &NewSubscription) -> bool {
        self.label.as_ref().is_some_and(|label| subscription.muted.iter().any(|muted| muted == label.as_str()))
    }
}

/// Runs until `stop`.
pub(super) async fn run(service: PushService, hub: Hub, after: Duration, stop: CancellationToken) {
    let devices = BTreeMap::new();
    let pusher = Pusher { hub, service, after, client: None, devices, sending: PushesUnderWay::default() };
    tokio::select! {
        // It ends with the hub.
        _ended = pusher.run() => {}
        () = stop.cancelled() => {}
    }
}

impl Pusher {
    async fn run(mut self) -> Result<(), Trouble> {
        let (mut appended, mut changes) = (self.hub.appended(), self.service.changes());
        loop {
            appended.mark_unchanged();
            changes.mark_unchanged();
            let subscriptions = self.service.subscriptions();
            let next = if subscriptions.is_empty() { None } else { self.look(&subscriptions).await? };
            let next = next.map_or(LONGEST, |next| Duration::from_millis(next.since(now())));
            tokio::select! {
                rung = appended.changed(), if !subscriptions.is_empty() => {
                    rung.map_err(|_| Trouble::Stopping)?;
                    tokio::time::sleep(PAUSE).await;
                }
                rung = changes.changed() => rung.map_err(|_| Trouble::Stopping)?,
                Some((device, endpoint, outcome)) = self.sending.next() => {
                    self.finished(device, endpoint, outcome).await;
                }
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    /// Sends what is due. Returns when something will be.
    async fn look(&mut self, subscriptions: &BTreeMap<TokenId, NewSubscription>) -> Result<Option<Moment>, Trouble> {
        let look = self.hub.look(|state| Picture {
            asks: state
                .open_asks()
                .map(|ask| WaitingAsk { id: ask.id, at: ask.at, label: state.label_of(Some(ask.session)) })
                .collect(),
            devices: state
                .tokens()
                .filter(|token| token.device.is_some())
                .map(|token| (token.id, (token.person.clone(), state.rights_of(token).has(Right::Review))))
                .collect(),
        });
        let Picture { asks, devices } = look.await?;
        self.devices.retain(|device, _| subscriptions.contains_key(device));
        let mut next: Option<Moment> = None;
        for (device, subscription) in subscriptions {
            let Some((person, may_review)) = devices.get(device) else {
                // Revoked, or its person is gone.
                self.service.unsubscribe(*device).await;
                continue;
            };
            // What is quiet on this device is not there for it.
            let asks: Vec<WaitingAsk> = asks.iter().filter(|ask| !ask.is_muted_at(subscription)).cloned().collect();
            let due = may_review.then(|| self.due(*device, person, &asks)).flatten();
            match due {
                None => {}
                Some(due) if due > now() => next = Some(next.map_or(due, |next| next.min(due))),
                Some(_) => self.send(*device, subscription, &asks).await,
            }
        }
        Ok(next)
    }

    /// When this device is to be told of something that it was not told of; none when there is nothing.
    fn due(&mut self, device: TokenId, person: &str, asks: &[WaitingAsk]) -> Option<Moment> {
        let news = self.devices.entry(device).or_default();
        news.told.retain(|told| asks.iter().any(|ask| ask.id == *told));
        let waits_since = asks.iter().filter(|ask| !news.told.contains(&ask.id)).map(|ask| ask.at).min()?;
        if !news.under_way.is_empty() {
            return None;
        }
        let after = u64::try_from(self.after.as_millis()).unwrap_or(u64::MAX);
        // Whoever looks at a page is asked there, for as long as they do.
        let looks = self.service.looks_until(person, now()).unwrap_or_default();
        Some(waits_since.plus(after).max(news.not_before).max(looks))
    }

    async fn send(&mut self, device: TokenId, subscription: &NewSubscription, asks: &[WaitingAsk]) {
        // The next one that is finished makes room.
        if self.sending.len() >= AT_ONCE {
            return;
        }
        let client = self.client().await;
        let news = self.devices.entry(device).or_default();
        let Some(client) = client else {
            news.not_before = now().plus(millis(LONGEST));
            return;
        };
        news.under_way = asks.iter().map(|ask| ask.id).filter(|ask| !news.told.contains(ask)).collect();
        news.told.extend(&news.under_way);
        news.not_before = now().plus(millis(fixed::wait("PUSH_REST", REST)));
        let text = serde_json::json!({"waiting": asks.len()}).to_string();
        let (service, subscription) = (self.service.clone(), subscription.clone());
        let endpoint = subscription.endpoint.clone();
        self.sending.start(device, endpoint, async move { service.send(&client, &subscription, text).await });
    }

    async fn client(&mut self) -> Option<Arc<PushClient>> {
        if self.client.is_none() {
            match tokio::task::spawn_blocking(PushClient::new).await {
                Ok(Ok(client)) => self.client = Some(Arc::new(client)),
                Ok(Err(error)) => tracing::error!("nothing is pushed: the certificates of this machine: {error}"),
                Err(error) => tracing::error!("nothing is pushed: {error}"),
            }
        }
        self.client.clone()
    }

    async fn finished(&mut self, device: TokenId, endpoint: String, outcome: PushOutcome) {
        let is_current = self.service.subscriptions().get(&device).is_some_and(|known| known.endpoint == endpoint);
        let Some(news) = self.devices.get_mut(&device) else { return };
        let under_way = std::mem::take(&mut news.under_way);
        match outcome {
            // The device has subscribed anew meanwhile, and is told there.
            _ if !is_current => {
                news.told.retain(|told| !under_way.contains(told));
                news.not_before = now();
            }
            PushOutcome::Taken => news.failures = 0,
            PushOutcome::Gone => {
                tracing::info!(%device, "its push service no longer knows the device: it is not told by push any more");
                self.service.forget_endpoint(device, endpoint).await;
            }
            PushOutcome::Failed { why, after } => {
                tracing::warn!(%device, "a push failed: {why}");
                news.told.retain(|told| !under_way.contains(told));
                let pause = AGAIN.saturating_mul(2_u32.saturating_pow(news.failures)).min(LONGEST);
                news.failures = news.failures.saturating_add(1);
                news.not_before = now().plus(millis(after.unwrap_or_default().max(pause)));
            }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
