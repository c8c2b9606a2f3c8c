//! One push on its way: encrypted for the browser, signed by the gate, and over in seconds whatever the service does.

use std::io;
use std::time::Duration;

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use p256::PublicKey;
use portcullis_wire::api::NewSubscription;
use web_push_native::{Auth, WebPushBuilder};

use super::address::{self, PublicNames};
use super::key::PushKey;
use crate::mint::now;

/// How long a push may take, from the name of the service to its answer.
const TIME: Duration = Duration::from_secs(15);
/// How long a service keeps a push for a browser that is away: what waited a day is no news.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// The longest wait that a service can ask for.
const LONGEST_REST: Duration = Duration::from_secs(3600);

/// What became of a push.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// The service has it.
    Taken,
    /// There is no such subscription any more.
    Gone,
    /// It may be tried again, after so long if the service said so.
    Failed { why: String, after: Option<Duration> },
}

/// The gate's only way out over HTTPS.
pub(crate) struct PushClient(Client<HttpsConnector<HttpConnector<PublicNames>>, Full<Bytes>>);

impl PushClient {
    /// Reads the certificates of this machine, which takes a moment.
    pub(crate) fn new() -> io::Result<Self> {
        let mut http = HttpConnector::new_with_resolver(PublicNames);
        http.enforce_http(false);
        http.set_connect_timeout(Some(TIME));
        let https = HttpsConnectorBuilder::new().with_native_roots()?;
        let https = if address::may_be_here() { https.https_or_http() } else { https.https_only() };
        let https = https.enable_http1().wrap_connector(http);
        Ok(Self(Client::builder(TokioExecutor::new()).pool_max_idle_per_host(1).build(https)))
    }

    pub(super) async fn send(&self, key: &PushKey, contact: &str, to: &NewSubscription, text: String) -> PushOutcome {
        let failed = |why: String| PushOutcome::Failed { why, after: None };
        let request = match request(key, contact, to, text) {
            Ok(request) => request,
            Err(why) => return failed(why),
        };
        let answer = match tokio::time::timeout(TIME, self.0.request(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return failed(chain(&error)),
            Err(_) => return failed(format!("no answer within {} s", TIME.as_secs())),
        };
        // What it says besides is not read, and redirects are not followed.
        match answer.status() {
            status if status.is_success() => PushOutcome::Taken,
            StatusCode::NOT_FOUND | StatusCode::GONE => PushOutcome::Gone,
            status => {
                let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                let after = after.map(|seconds| Duration::from_secs(seconds).min(LONGEST_REST));
                PushOutcome::Failed { why: format!("the service answered {status}"), after }
            }
        }
    }
}

/// Labels that a device keeps quiet about, and how long one is at most.
const MOST_MUTED: usize = 200;
const LONGEST_LABEL: usize = 64;

/// What a subscription holds, if a push can be made for it.
pub(super) fn checked(subscription: &NewSubscription) -> Result<(Uri, PublicKey, Auth), &'static str> {
    let uri = address::checked(&subscription.endpoint)?;
    if subscription.muted.len() > MOST_MUTED || subscription.muted.iter().any(|label| label.len() > LONGEST_LABEL) {
        return Err("muted has more than 200 labels, or one of more than 64 bytes");
    }
    let key = decoded(&subscription.keys.p256dh).and_then(|bytes| PublicKey::from_sec1_bytes(&bytes).ok());
    let auth = decoded(&subscription.keys.auth).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    match (key, auth) {
        (Some(key), Some(auth)) => Ok((uri, key, auth.into())),
        (None, _) => Err("keys.p256dh is no public key on P-256"),
        (_, None) => Err("keys.auth does not have 16 bytes"),
    }
}

/// Browsers leave the padding off and write `-_`; not every library does.
fn decoded(text: &str) -> Option<Vec<u8>> {
    if text.len() > 128 {
        return None;
    }
    Base64UrlUnpadded::decode_vec(text.trim_end_matches('=')).or_else(|_| Base64::decode_vec(text)).ok()
}

fn request(key: &PushKey, contact: &str, to: &NewSubscription, text: String) -> Result<Request<Full<Bytes>>, String> {
    let (uri, public, auth) = checked(to)?;
    let audience =
        format!("{}://{}", uri.scheme_str().unwrap_or("https"), uri.authority().map_or("", |it| it.as_str()));
    let made = WebPushBuilder::new(uri, public, auth).with_valid_duration(KEPT).build(text);
    let (mut parts, body) = made.map_err(|error| error.to_string())?.into_parts();
    let authorization = key.authorization(&audience, contact, now());
    parts.headers.insert(AUTHORIZATION, HeaderValue::try_from(authorization).map_err(|error| error.to_string())?);
    parts.headers.insert("urgency", HeaderValue::from_static("high"));
    // Of several that wait for a browser the newest is enough: each says the same.
    parts.headers.insert("topic", HeaderValue::from_static("waits"));
    Ok(Request::from_parts(parts, Full::new(body.into())))
}

/// An error with its causes: the first alone says that something failed, and not what.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
