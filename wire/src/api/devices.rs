//! Devices and their links, as the API tells and takes them.

use portcullis_core::Token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A linked browser as it is listed: never its key.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct DeviceView {
    pub id: String,
    /// As its person calls it.
    pub name: String,
    pub person: String,
    /// talk, review, start, admin
    pub rights: Vec<String>,
    /// When it was linked.
    pub since: u64,
    /// When it last made a request. After the gate was started anew, to the hour; none: not since it is written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<u64>,
}

impl DeviceView {
    /// The device of a token that is one's key.
    pub fn of(token: &Token) -> Option<Self> {
        let device = token.device.as_ref()?;
        Some(Self {
            id: token.id.to_string(),
            name: device.called.clone(),
            person: token.person.clone(),
            rights: device.rights.names().into_iter().map(str::to_owned).collect(),
            since: token.since.0,
            last_used: token.last_used.map(|at| at.0),
        })
    }
}

/// Taken by `POST /api/v1/devices/links`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLink {
    /// What the device may do besides talk and review: start, admin.
    #[serde(default)]
    pub rights: Vec<String>,
}

/// A link, told this once. It works once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    /// Stands behind `#link=` in the address of the page.
    pub secret: String,
    /// Until when it can be used.
    pub until: u64,
    /// Where the page is for browsers elsewhere, if `public_url` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// The link for a browser elsewhere as a QR code: its rows, each with a letter for each square, `1` where it is dark.
    /// None where `public_url` leads each device to itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qr: Vec<String>,
}

/// Taken by `POST /api/v1/devices`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDevice {
    /// The link's secret.
    pub link: String,
    /// What the device is called: 1 to 120 bytes.
    pub name: String,
}

/// What a browser keeps, and sends as `Authorization: Bearer KEY`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeDevice {
    pub id: String,
    /// What it is called: as it wanted, with a number where another device has that name.
    #[serde(default)]
    pub name: String,
    /// Told this once.
    pub key: String,
}

/// Who the caller is to the gate.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct MeView {
    pub name: String,
    /// talk, review, start, admin
    pub rights: Vec<String>,
    /// The door that the caller came through.
    pub via: String,
    /// The id of the device, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What the device is called, as `device` of a verdict says it. No other linked one has this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Where the caller may start sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Whether sessions may be put into the mode in which nothing is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_bypass: bool,
    /// Seconds that a prompt waits before someone who does not look is told.
    pub notify_after: u64,
    /// Whether the gate tells devices by Web Push.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushes: bool,
    /// Under which address the page is found from elsewhere. Links are not made there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

/// What a browser needs to be told by Web Push.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PushView {
    /// `applicationServerKey` of the subscription: an uncompressed point of P-256, in base64url.
    pub public_key: String,
    /// Whether this device is told.
    pub subscribed: bool,
}

/// Taken by `POST /api/v1/push`: what `toJSON()` of a browser's PushSubscription gives.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct NewSubscription {
    /// Where the push service takes pushes for the browser: https, at most 2048 bytes.
    pub endpoint: String,
    pub keys: SubscriptionKeys,
    /// Labels of sessions whose prompts are not pushed to this device: at most 200, of 64 bytes each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub muted: Vec<String>,
}

/// What pushes are encrypted with, in base64url.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SubscriptionKeys {
    pub p256dh: String,
    pub auth: String,
}

/// Taken by `POST /api/v1/presence`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPresence {
    /// A name that the page has chosen for itself: 1 to 64 letters and digits.
    pub page: String,
    /// Whether someone is at it and sees every prompt that waits: who does is not told by push. Said again at least every 45
    /// seconds while it is so.
    pub visible: bool,
}
