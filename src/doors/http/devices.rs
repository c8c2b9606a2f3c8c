//! Devices: browsers that were linked. A link's secret is traded for a key once, within two minutes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Request, State};
use portcullis_core::{Actor, Device, Input, Moment, Right, Rights, Token, TokenId, TokenScope};
use portcullis_wire::api::{DeviceView, LinkView, MadeDevice, MeView, NewDevice, NewLink};
use portcullis_wire::error::{Fault, Kind};
use qrcode::{Color, QrCode};
use sha2::{Digest as _, Sha256};

use super::Door;
use super::access::Permitted;
use super::body::{read_json, read_small_json};
use super::people::submit;
use super::response::{ErrorResponse, Json};
use crate::hub::{Known, mint, now};

/// How long a link can be used, in milliseconds.
const LIFETIME: u64 = 120_000;
/// Links that may wait at once. The oldest gives way.
const MOST_LINKS: usize = 16;

/// The links that wait to be used. They are forgotten with the gate: nothing but a browser that holds one needs them.
#[derive(Default)]
pub(super) struct OpenLinks(Mutex<Vec<OpenLink>>);

struct OpenLink {
    secret: [u8; 32],
    by: Actor,
    /// What `by` was let in by. The link counts for as long as that does: whoever is shown out does not come back by it.
    made_with: Option<Known>,
    rights: Rights,
    until: Moment,
}

impl OpenLinks {
    fn add(&self, link: OpenLink) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|open| open.until.plus(LIFETIME) > link.until);
        if links.len() >= MOST_LINKS {
            links.remove(0);
        }
        links.push(link);
    }

    /// The link with this secret, which is used up by it. Found by its hash, so that no time taken tells of a secret.
    fn take(&self, secret: &str, now: Moment) -> Option<OpenLink> {
        let hash: [u8; 32] = Sha256::digest(secret).into();
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = links.iter().position(|open| open.secret == hash)?;
        Some(links.remove(place)).filter(|open| open.until > now)
    }
}

/// When each device last made a request. The journal is told once an hour at most: it has the rest after a restart.
#[derive(Default)]
pub(super) struct LastUses(Mutex<HashMap<TokenId, LastUse>>);

#[derive(Clone, Copy)]
struct LastUse {
    at: Moment,
    told: Moment,
}

/// How often the journal is told of a device, in milliseconds.
const TOLD_EVERY: u64 = 3_600_000;
/// Devices that are remembered: more than can be linked. Beyond that those of before are forgotten.
const MOST_USES: usize = 1000;

impl LastUses {
    /// Notes a request. True where the journal is to be told.
    fn note(&self, device: TokenId, now: Moment) -> bool {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.len() >= MOST_USES && !uses.contains_key(&device) {
            uses.clear();
        }
        let told = uses.get(&device).map(|known| known.told).filter(|told| now.since(*told) < TOLD_EVERY);
        uses.insert(device, LastUse { at: now, told: told.unwrap_or(now) });
        told.is_none()
    }

    fn of(&self, device: TokenId) -> Option<Moment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&device).map(|known| known.at)
    }
}

/// A device has made a request. That the journal could not be told is no reason to refuse it.
pub(super) async fn used(door: &Door, device: TokenId) {
    if door.last_uses.note(device, now())
        && let Err(error) = door.hub.submit(Input::DeviceUsed { token: device }).await
    {
        tracing::debug!(?error, "the use of a device was not written down");
    }
}

fn secret(door: &Door) -> Result<String, Fault> {
    (door.make_token)().ok_or_else(|| Fault::new(Kind::Internal, "no random numbers are to be had"))
}

/// `POST /api/v1/devices/links`: a link for a browser of the owner's.
pub(super) async fn add_link(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, token: made_with, .. }: Permitted,
    request: Request,
) -> Result<Json<LinkView>, ErrorResponse> {
    let NewLink { rights } = read_json(request, &door).await?;
    let mut wanted = vec![Right::Talk, Right::Review];
    for name in rights {
        let right = Right::named(&name).filter(|right| *right != Right::Agent);
        let bad = || Fault::new(Kind::BadRequest, format!("a device may talk, review, start or admin, not {name:?}"));
        wanted.push(right.ok_or_else(bad)?);
    }
    let secret = secret(&door)?;
    let until = now().plus(LIFETIME);
    let (hash, rights) = (Sha256::digest(&secret).into(), Rights::of(&wanted));
    door.links.add(OpenLink { secret: hash, by, made_with, rights, until });
    let public_url = door.public.as_ref().map(|public| public.origin.clone());
    // A code is for the camera of a phone, and on a phone that name means the phone.
    let base = public_url.as_ref().filter(|base| !names_its_own_machine(base));
    let qr = base.map(|base| squares(&format!("{base}/#link={secret}"))).unwrap_or_default();
    Ok(Json(LinkView { secret, until: until.0, public_url, qr }))
}

/// Whether an origin leads each machine to itself, as the end of a tunnel does.
fn names_its_own_machine(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    let name = name.unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    is_loopback || name == "localhost" || name.ends_with(".localhost")
}

/// The rows of the QR code of a link.
fn squares(url: &str) -> Vec<String> {
    let Ok(code) = QrCode::new(url) else { return vec![] };
    let letter = |color: &Color| if *color == Color::Dark { '1' } else { '0' };
    code.to_colors().chunks(code.width()).map(|row| row.iter().map(letter).collect()).collect()
}

/// `POST /api/v1/devices`: whoever shows a link gets a key. The only answer that ever holds it.
pub(super) async fn link(State(door): State<Arc<Door>>, request: Request) -> Result<Json<MadeDevice>, ErrorResponse> {
    let NewDevice { link, name } = read_small_json(request, &door).await?;
    // Taken first, so that two who show it at once do not both get a key.
    let Some(open) = door.links.take(&link, now()) else {
        return Err(Fault::new(Kind::BadLink, "that link was used before, or is too old, or never was one").into());
    };
    if open.made_with.as_ref().is_some_and(|token| !door.credentials.still_counts(token)) {
        return Err(Fault::new(Kind::BadLink, "what that link was made with counts no longer").into());
    }
    let key = secret(&door)?;
    let token = Token {
        id: mint(TokenId::new),
        // Never another person than whoever made the link: two devices of one person are one vote.
        person: open.by.name.clone(),
        hash: Sha256::digest(&key).into(),
        scope: TokenScope::Everything,
        expires: None,
        since: now(),
        device: Some(Device { called: name.trim().to_owned(), rights: open.rights }),
        last_used: None,
    };
    let made = token.id;
    if let Err(refused) = submit(&door, Input::LinkDevice { by: open.by.clone(), token }).await {
        door.links.add(open);
        let is_bad_name = refused.0.error == Kind::BadName.entry().0;
        return Err(if is_bad_name { bad_name().into() } else { refused });
    }
    let called = move |state: &portcullis_core::State| {
        state.token(made).and_then(|token| Some(token.device.as_ref()?.called.clone()))
    };
    let name = door.hub.look(called).await?.unwrap_or_default();
    Ok(Json(MadeDevice { id: made.to_string(), name, key }))
}

/// A device may be called by more than a person may.
fn bad_name() -> Fault {
    let hint = "a device is called by 1 to 120 bytes of any letters, none of which is hidden, such as `Pixel, kitchen`";
    Fault { hint: hint.to_owned(), ..Fault::new(Kind::BadName, "that is no name for a device") }
}

/// `GET /api/v1/devices`.
pub(super) async fn list(State(door): State<Arc<Door>>) -> Result<Json<Vec<DeviceView>>, ErrorResponse> {
    let devices: Vec<(TokenId, DeviceView)> = door
        .hub
        .look(|state| state.tokens().filter_map(|token| Some((token.id, DeviceView::of(token)?))).collect())
        .await?;
    let with_use = |(id, view): (TokenId, DeviceView)| {
        let last_used = door.last_uses.of(id).map(|at| at.0).max(view.last_used);
        DeviceView { last_used, ..view }
    };
    Ok(Json(devices.into_iter().map(with_use).collect()))
}

/// `DELETE /api/v1/devices/{id}`: its streams end at once.
pub(super) async fn revoke(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    let unknown = || Fault::new(Kind::NoSuchDevice, format!("no device {id}"));
    let token: TokenId = id.parse().map_err(|_| unknown())?;
    let is_device =
        move |state: &portcullis_core::State| state.token(token).is_some_and(|token| token.device.is_some());
    if !door.hub.look(is_device).await? {
        return Err(unknown().into());
    }
    submit(&door, Input::RevokeToken { by, token }).await?;
    Ok("revoked\n")
}

/// `GET /api/v1/me`: who the caller is to the gate.
pub(super) async fn me(State(door): State<Arc<Door>>, Permitted { actor, token, .. }: Permitted) -> Json<MeView> {
    let rights = actor.rights.names().into_iter().map(str::to_owned).collect();
    let known = token.filter(|known| known.device.is_some());
    let (device, device_name) = known.map(|known| (known.token.to_string(), known.device)).unzip();
    let folders = if actor.rights.has(Right::Start) { door.starter.folders() } else { vec![] };
    let (notify_after, pushes) = (door.notify_after.as_secs(), door.push.is_some());
    let (via, may_bypass) = (actor.via.name().to_owned(), door.starter.allow_bypass);
    let public_url = door.public.as_ref().map(|public| public.origin.clone());
    Json(MeView {
        name: actor.name,
        rights,
        via,
        device,
        device_name: device_name.flatten(),
        folders,
        may_bypass,
        notify_after,
        pushes,
        public_url,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{OWNER, Role, Via};

    fn link(text: &str, until: u64) -> OpenLink {
        let by = Actor {
            name: OWNER.to_owned(),
            rights: Role::Admin.rights(),
            via: Via::Socket,
            scope: TokenScope::Everything,
            device: None,
        };
        OpenLink {
            secret: Sha256::digest(text).into(),
            by,
            made_with: None,
            rights: Rights::NONE,
            until: Moment(until),
        }
    }

    #[test]
    fn a_link_works_once_and_for_two_minutes() {
        let links = OpenLinks::default();
        links.add(link("a", 500_000));
        assert!(links.take("b", Moment(400_000)).is_none());
        assert!(links.take("a", Moment(400_000)).is_some());
        assert!(links.take("a", Moment(400_000)).is_none());
        links.add(link("c", 500_000));
        assert!(links.take("c", Moment(500_000)).is_none(), "too late");
    }

    #[test]
    fn a_qr_code_is_square_with_its_marks_in_three_corners() {
        let rows = squares("https://gate.example/#link=0123456789abcdef0123456789abcdef");
        assert!(rows.len() >= 21 && rows.iter().all(|row| row.len() == rows.len()), "{rows:?}");
        let (first, last) = (&rows[0], &rows[rows.len() - 1]);
        assert!(
            first.starts_with("11111110") && first.ends_with("01111111") && last.starts_with("11111110"),
            "{rows:?}"
        );
    }

    #[test]
    fn the_journal_is_told_of_a_device_once_an_hour() {
        let (uses, device) = (LastUses::default(), TokenId::new(Moment(1), 1));
        let minute = 60_000;
        let told: Vec<u64> = (0..150).filter(|n| uses.note(device, Moment(n * minute))).collect();
        assert_eq!(told, [0, 60, 120]);
        assert_eq!(uses.of(device), Some(Moment(149 * minute)));
    }

    #[test]
    fn links_that_nobody_uses_make_room() {
        let links = OpenLinks::default();
        for number in 0..MOST_LINKS + 1 {
            links.add(link(&number.to_string(), 500_000));
        }
        assert!(links.take("0", Moment(400_000)).is_none());
        assert!(links.take("16", Moment(400_000)).is_some());
        links.add(link("late", 900_000));
        assert_eq!(links.0.lock().unwrap().len(), 1);
    }
}
