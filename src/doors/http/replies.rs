//! Replies over the API: what the agents said back, for those who may see it.

use std::sync::Arc;

use axum::extract::State;
use portcullis_core::{ReplyId, State as Known};
use portcullis_wire::api::ReplyView;
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::Params;
use super::response::{ErrorResponse, Json};

#[derive(Deserialize)]
pub(super) struct ReplyFilter {
    since: Option<String>,
    chat: Option<String>,
}

/// Where a list begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// With what was said or edited at this moment.
    Moment(u64),
    /// Behind this reply. When it is forgotten, all that is known came after it.
    Reply(ReplyId),
}

fn read_since(text: &str) -> Result<Since, Fault> {
    let bad = |_| Fault::new(Kind::BadRequest, format!("since={text:?} is neither a moment nor the id of a reply"));
    text.parse().map(Since::Moment).or_else(|_| text.parse().map(Since::Reply).map_err(bad))
}

/// `GET /api/v1/replies[?since=MOMENT-OR-ID&chat=NAME]`: newest last, as far as the gate remembers them. Those who may not
/// review see the replies to their own conversations.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(filter): Params<ReplyFilter>,
) -> Result<Json<Vec<ReplyView>>, ErrorResponse> {
    let since = filter.since.as_deref().map(read_since).transpose()?;
    let replies = door.hub.look(move |state| {
        let wanted = known_since(state, since).filter(|reply| {
            filter.chat.as_ref().is_none_or(|chat| reply.chat.as_str() == chat)
                && state.reply_notice(reply).is_for(&actor)
        });
        wanted.map(ReplyView::from).collect()
    });
    Ok(Json(replies.await?))
}

fn known_since(state: &Known, since: Option<Since>) -> impl Iterator<Item = &portcullis_core::Reply> {
    let replies = || state.replies_after(0).map(|(_, reply)| reply);
    let first = match since {
        Some(Since::Reply(id)) => replies().position(|reply| reply.id == id).map_or(0, |place| place + 1),
        Some(Since::Moment(_)) | None => 0,
    };
    let earliest = if let Some(Since::Moment(moment)) = since { moment } else { 0 };
    replies().skip(first).filter(move |reply| reply.edited.unwrap_or(reply.at).0 >= earliest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_begins_at_a_moment_or_behind_a_reply() {
        let id = "01m7zzzzzzzzzzzzzzzzzzzzzz";
        assert_eq!(read_since("1794736002391").unwrap(), Since::Moment(1_794_736_002_391));
        assert_eq!(read_since(id).unwrap(), Since::Reply(id.parse().unwrap()));
        for wrong in ["", "-1", "yesterday", "1e9"] {
            assert_eq!(read_since(wrong).unwrap_err().status(), 400, "{wrong}");
        }
    }
}
