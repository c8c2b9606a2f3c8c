//! What a server may ask during `portcullis mcp call`, and what it is answered.

use std::collections::BTreeSet;

use portcullis_core::visible;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};

use crate::report::note;
use crate::upstream::{Answering, FromServer};

/// A server that asks more than this at once is not asked for.
const MOST_QUESTIONS: usize = 64;

/// Answers for as long as the call runs.
pub(super) struct Answers {
    /// The addresses that the server has said to be done with, by their ids.
    finished: watch::Receiver<BTreeSet<String>>,
    pub(super) answering: Answering,
}

impl Answers {
    /// `form` answers forms; `visits` agrees to addresses. What nobody agreed to beforehand is declined.
    pub(super) fn start(form: Option<Map<String, Value>>, visits: bool) -> Self {
        let (to, mut from) = mpsc::channel(MOST_QUESTIONS);
        let answering = Answering { to, forms: form.is_some(), addresses: visits, sampling: false };
        let (told, finished) = watch::channel(BTreeSet::new());
        tokio::spawn(async move {
            while let Some(message) = from.recv().await {
                match message {
                    FromServer::Question { server, method: "elicitation/create", params, answer } => {
                        let said = answered(&server, &params, form.as_ref(), visits);
                        drop(said.map(|said| answer.send(said)));
                    }
                    FromServer::Notice { method, params, .. } if method == "notifications/elicitation/complete" => {
                        let id = params.get("elicitationId").and_then(Value::as_str).unwrap_or_default();
                        told.send_if_modified(|ids| ids.insert(id.to_owned()));
                    }
                    FromServer::Question { .. } => {}
                    FromServer::Notice { server, method, .. } => tracing::debug!(server, method, "a notice"),
                }
            }
        });
        Self { finished, answering }
    }

    /// Waits until the server says that a visit is over.
    pub(super) async fn visited(&self, id: &str) {
        drop(self.finished.clone().wait_for(|ids| ids.contains(id)).await);
    }
}

fn answered(server: &str, question: &Value, form: Option<&Map<String, Value>>, visits: bool) -> Option<Value> {
    let text = |key: &str| visible(question.get(key).and_then(Value::as_str).unwrap_or_default());
    if question.get("mode").and_then(Value::as_str) == Some("url") {
        note(&format!("{server} asks you to open {}: {}", text("url"), text("message")));
        return visits.then(|| json!({ "action": "accept" }));
    }
    match form {
        Some(given) => Some(json!({ "action": "accept", "content": filled(question, given) })),
        None => {
            note(&format!("{server} asks: {}; answer it with --form", text("message")));
            None
        }
    }
}

/// The fields that were given, and the defaults of the others.
fn filled(question: &Value, given: &Map<String, Value>) -> Map<String, Value> {
    let fields = question.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let defaults =
        fields.into_iter().flatten().filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    let mut content: Map<String, Value> = defaults.collect();
    content.extend(given.clone());
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_what_was_given_and_defaults_and_nobody_agrees_by_silence() {
        let fields =
            json!({"name": {"type": "string", "default": "Ann"}, "age": {"type": "integer", "default": 3}, "x": {}});
        let form = json!({"mode": "form", "message": "m", "requestedSchema": {"properties": fields}});
        let given = json!({"age": 4}).as_object().unwrap().clone();
        let content = json!({"name": "Ann", "age": 4});
        assert_eq!(answered("s", &form, Some(&given), false), Some(json!({"action": "accept", "content": content})));
        assert_eq!(answered("s", &form, None, true), None);
        let address = json!({"mode": "url", "url": "https://a", "message": "m"});
        assert_eq!(answered("s", &address, Some(&given), false), None);
        assert_eq!(answered("s", &address, None, true), Some(json!({"action": "accept"})));
    }
}
