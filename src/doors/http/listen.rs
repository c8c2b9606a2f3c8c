//! `GET /events`: replies and prompts as text, for people with curl.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use hyper::HeaderMap;
use portcullis_core::{Actor, Ask, AskKind, AskLife, Label, Notice, Reply, State as Known, mask, visible};

use super::access::Permitted;
use super::response::{ErrorResponse, event_stream};
use super::{Door, sse};
use crate::hub::Published;

pub(super) async fn listen(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let seat = sse::seat(&door)?;
    let pass = sse::Pass::of(&door, &permitted);
    let actor = permitted.actor;
    let missed_since = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let watcher = door.hub.watch(move |state| catch_up(state, missed_since)).await?;
    let mut first = vec![Bytes::from_static(b": connected\n\n")];
    let told = watcher.first.iter().filter(|(_, notice)| notice.is_for(&actor));
    first.extend(told.filter_map(|(revision, notice)| Some(sse::message(*revision, &in_words(notice)?))));
    let last = {
        let door = Arc::clone(&door);
        move || format!(": {}\n\n", sse::ending(&door)).into()
    };
    Ok(event_stream(sse::stream_of(first, watcher, seat, pass, move |published| render(published, &actor), last)))
}

/// What someone who comes late has to know: replies since they left, and every prompt that is still open.
///
/// A reply keeps the number it was last told with: whoever is cut off in the middle asks for the rest by it.
fn catch_up(state: &Known, missed_since: Option<u64>) -> Vec<(u64, Notice)> {
    let mut missed: Vec<(u64, &Reply)> =
        missed_since.into_iter().flat_map(|revision| state.replies_after(revision)).collect();
    missed.sort_by_key(|(revision, _)| *revision);
    let replies = missed.into_iter().map(|(revision, reply)| (revision, state.reply_notice(reply)));
    let asks = state.open_asks().filter_map(|ask| state.notice(portcullis_core::Topic::Ask(ask.id)));
    replies.chain(asks.map(|notice| (state.revision(), notice))).collect()
}

fn render(published: &Published, actor: &Actor) -> Option<Bytes> {
    if !published.notice.is_for(actor) {
        return None;
    }
    let bytes = published.text(|published| match in_words(&published.notice) {
        Some(text) => sse::message(published.revision, &text),
        None => Bytes::new(),
    });
    (!bytes.is_empty()).then_some(bytes)
}

/// What a person is told; most changes are nobody's concern.
fn in_words(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Replied { reply, .. } => Some(reply_in_words(reply)),
        Notice::Ask { ask, life: AskLife::Open { votes }, label } => Some(match votes.last() {
            None => ask_in_words(ask, label),
            Some(last) => {
                let (needed, so_far) = (ask.details.quorum, votes.len());
                format!("Prompt {}: {}, {so_far} of the {needed} who must agree", ask.code, last.in_words())
            }
        }),
        Notice::Ask { ask, life: AskLife::Expired { .. }, .. } => {
            Some(format!("Prompt {}: nobody answered in time; it stays at its terminal", ask.code))
        }
        Notice::Ask { ask, life: AskLife::Answered { effected: Some(effected), .. }, .. } if effected.differs => {
            Some(format!("Prompt {}: WARNING: what ran is not what was shown", ask.code))
        }
        Notice::Ask { ask, life: AskLife::Answered { verdict, carried: None, effected: None }, .. } => {
            Some(format!("Prompt {}: {}", ask.code, verdict.in_words()))
        }
        Notice::Ask { ask, life: AskLife::Withdrawn { why, .. }, .. } => {
            Some(format!("Prompt {}: withdrawn, {why}", ask.code))
        }
        Notice::Ask { .. } | Notice::Session { .. } | Notice::Event { .. } => None,
    }
}

fn reply_in_words(reply: &Reply) -> String {
    let what = match reply.edited {
        None => format!("Reply to {}", reply.chat),
        Some(_) => format!("Edit of reply {} to {}", reply.id, reply.chat),
    };
    let mut text = format!("{what}: {}", visible(reply.text.as_str()));
    for file in &reply.files {
        text.push_str(&format!("\n[file {} ({} bytes)]", visible(&file.path), file.size));
    }
    text
}

/// Whoever reads along need not read secrets, and a reviewer is told that there are some: what runs is shown whole by
/// `ask show` and by the API.
fn ask_in_words(ask: &Ask, label: &Label) -> String {
    let (description, hidden) = mask(ask.description.as_str());
    let (preview, more) = mask(ask.preview.as_str());
    let (tool, description, preview) = (visible(&ask.tool), visible(&description), visible(&preview));
    let code = ask.code;
    let masked = match hidden + more {
        0 => String::new(),
        count => format!("[{count} masked; `portcullis ask show {code}` shows all of it]\n"),
    };
    let risk = ask
        .details
        .risk
        .as_ref()
        .map_or(String::new(), |risk| format!("Risk {}: {}\n", risk.level, risk.reasons_in_words()));
    let verdict = match ask.details.kind {
        AskKind::Question => {
            format!("Answer with `portcullis ask allow {code} --answer 'QUESTION=LABEL'`, or reply \"no {code}\"")
        }
        AskKind::Tool | AskKind::Plan => format!("Reply \"yes {code}\" or \"no {code}\""),
    };
    format!("Claude wants to run {tool}: {description}\n\n{preview}\n\n{masked}{risk}Session {label}. {verdict}")
}
