//! Web Push: a device says where pushes for it go, and whether someone looks at its pages.

use std::sync::Arc;

use axum::extract::{Request, State};
use portcullis_core::TokenId;
use portcullis_wire::api::{NewPresence, PushView};
use portcullis_wire::error::{Fault, Kind};

use super::Door;
use super::access::Permitted;
use super::body::read_json;
use super::response::{ErrorResponse, Json};
use crate::hub::now;
use crate::push::{PushService, SubscribeError};

/// The device that asks, where the gate pushes. Nobody else is told by push, and nobody else counts as someone who looks.
fn device_of<'a>(door: &'a Door, permitted: &Permitted) -> Result<(&'a PushService, TokenId), Fault> {
    let Some(known) = permitted.token.as_ref().filter(|known| known.device.is_some()) else {
        return Err(Fault::new(Kind::NotADevice, "this is for the key of a device"));
    };
    let off = || Fault::new(Kind::NoPush, "this gate does not push: it has no https address for browsers");
    Ok((door.push.as_ref().ok_or_else(off)?, known.token))
}

/// `GET /api/v1/push`.
pub(super) async fn show(State(door): State<Arc<Door>>, permitted: Permitted) -> Result<Json<PushView>, ErrorResponse> {
    let (push, device) = device_of(&door, &permitted)?;
    Ok(Json(PushView { public_key: push.public_key(), subscribed: push.is_subscribed(device) }))
}

/// `POST /api/v1/push`: in place of what the device had.
pub(super) async fn subscribe(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<&'static str, ErrorResponse> {
    let (push, device) = device_of(&door, &permitted)?;
    let subscription = read_json(request, &door).await?;
    match push.subscribe(device, subscription).await {
        Ok(()) => Ok("done\n"),
        Err(SubscribeError::Wrong(why)) => Err(Fault::new(Kind::BadRequest, why).into()),
        Err(SubscribeError::NotKept(error)) => {
            Err(Fault::new(Kind::Internal, format!("the subscription could not be kept: {error}")).into())
        }
    }
}

/// `DELETE /api/v1/push`.
pub(super) async fn unsubscribe(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
) -> Result<&'static str, ErrorResponse> {
    let (push, device) = device_of(&door, &permitted)?;
    push.unsubscribe(device).await;
    Ok("done\n")
}

/// `POST /api/v1/presence`.
pub(super) async fn set_presence(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<&'static str, ErrorResponse> {
    let (push, device) = device_of(&door, &permitted)?;
    let NewPresence { page, visible } = read_json(request, &door).await?;
    let is_name = (1..=64).contains(&page.len()) && page.bytes().all(|letter| letter.is_ascii_alphanumeric());
    if !is_name {
        return Err(Fault::new(Kind::BadRequest, "a page is named by 1 to 64 letters and digits").into());
    }
    push.note_screen(&permitted.actor.name, device, &page, visible, now());
    Ok("done\n")
}
