//! People, their tokens, and strangers who wait to be let in.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use portcullis_core::{Answer, Input, Label, PairingCode, Role, Token, TokenId, TokenScope};
use portcullis_wire::api::{Approval, MadeToken, NewRole, NewToken, PeopleView, PersonView, TokenView};
use portcullis_wire::error::{Fault, Kind};
use sha2::{Digest as _, Sha256};

use super::Door;
use super::access::Permitted;
use super::body::read_json;
use super::response::{ErrorResponse, Json};
use crate::hub::{fault_of, find_token, mint, now};

fn bad(message: impl Into<String>) -> Fault {
    Fault::new(Kind::BadRequest, message)
}

fn read_role(text: &str) -> Result<Role, Fault> {
    Role::named(text).ok_or_else(|| bad(format!("a role is sender, reviewer, admin or agent, not {text:?}")))
}

/// Submits an input, and turns a refusal into an error.
pub(super) async fn submit(door: &Door, input: Input) -> Result<(), ErrorResponse> {
    match door.hub.submit(input).await? {
        Answer::Refused(refusal) => Err(fault_of(&refusal).into()),
        _ => Ok(()),
    }
}

/// `GET /api/v1/tokens`.
pub(super) async fn tokens(State(door): State<Arc<Door>>) -> Result<Json<Vec<TokenView>>, ErrorResponse> {
    let tokens = door.hub.look(|state| {
        let role = |token: &Token| state.person(&token.person).map(|person| person.role);
        state
            .tokens()
            .filter(|token| token.device.is_none())
            .map(|token| TokenView::of(token, role(token), now()))
            .collect()
    });
    Ok(Json(tokens.await?))
}

/// `POST /api/v1/tokens`: the only answer that ever holds the token.
pub(super) async fn add_token(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    request: Request,
) -> Result<Json<MadeToken>, ErrorResponse> {
    let NewToken { person, role, labels, expires_in } = read_json(request, &door).await?;
    let role = read_role(&role)?;
    let scope = match labels {
        None => TokenScope::Everything,
        Some(labels) if labels.is_empty() => return Err(bad("name at least one label, or leave labels off").into()),
        Some(labels) => {
            let read = |label: &String| Label::new(label).ok_or_else(|| bad(format!("{label:?} is no label")));
            TokenScope::Labels(labels.iter().map(read).collect::<Result<_, Fault>>()?)
        }
    };
    if role == Role::Admin && scope != TokenScope::Everything {
        return Err(bad("a token for some sessions cannot be an admin's, who does everything").into());
    }
    let secret = (door.make_token)().ok_or_else(|| Fault::new(Kind::Internal, "no random numbers are to be had"))?;
    let expires = expires_in.map(|seconds| now().plus(seconds.saturating_mul(1000)));
    let hash = Sha256::digest(&secret).into();
    let token =
        Token { id: mint(TokenId::new), person, hash, scope, expires, since: now(), device: None, last_used: None };
    let id = token.id.to_string();
    submit(&door, Input::AddToken { by, token, role }).await?;
    Ok(Json(MadeToken { id, token: secret }))
}

/// `DELETE /api/v1/tokens/{id}`: what was let in by it is shown out.
pub(super) async fn revoke_token(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    let token = door.hub.look(move |state| find_token(state, &id)).await??;
    submit(&door, Input::RevokeToken { by, token }).await?;
    Ok("revoked\n")
}

/// `GET /api/v1/people`: those who are in, and those who wait.
pub(super) async fn people(State(door): State<Arc<Door>>) -> Result<Json<PeopleView>, ErrorResponse> {
    let people = door.hub.look(|state| {
        let of = |name: &String| state.tokens().filter(|token| token.person == *name && token.device.is_none()).count();
        let people = state.people().map(|(name, person)| PersonView::of(name, person, of(name))).collect();
        PeopleView { people, waiting: state.open_pairings(now()).map(Into::into).collect() }
    });
    Ok(Json(people.await?))
}

/// `PUT /api/v1/people/{name}`: another role.
pub(super) async fn set_role(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    Path(name): Path<String>,
    request: Request,
) -> Result<&'static str, ErrorResponse> {
    let NewRole { role } = read_json(request, &door).await?;
    submit(&door, Input::SetPerson { by, name, role: read_role(&role)? }).await?;
    Ok("done\n")
}

/// `DELETE /api/v1/people/{name}`: with all their tokens.
pub(super) async fn remove(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    Path(name): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    submit(&door, Input::RemovePerson { by, name }).await?;
    Ok("removed\n")
}

/// `POST /api/v1/pairings`: lets the stranger with this code in.
pub(super) async fn approve(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    request: Request,
) -> Result<&'static str, ErrorResponse> {
    let Approval { code, name, role } = read_json(request, &door).await?;
    let Some(code) = PairingCode::parse(&code) else {
        return Err(bad("a pairing code has eight letters and digits").into());
    };
    submit(&door, Input::Pair { by, code, name, role: read_role(&role)? }).await?;
    Ok("paired\n")
}

/// `DELETE /api/v1/identities/{identity}`: whoever has it is nobody from now on.
pub(super) async fn unlink(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    Path(identity): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    let unknown = |_| fault_of(&portcullis_core::Refusal::NoSuchIdentity);
    let identity = identity.parse().map_err(unknown)?;
    submit(&door, Input::Unlink { by, identity }).await?;
    Ok("unlinked\n")
}
