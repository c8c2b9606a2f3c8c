//! What a server may ask during `portcullis mcp call`, and what it is answered.

use std::collections::BTreeSet;

use portcullis_core::visible;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};

use crate::report::note;
use crate::upstream::{ClientBehind, FromServer, RefusedRequest, ServerSaid};

/// A server that asks more than this at once is not asked for.
const MOST_QUESTIONS: usize = 64;

/// What a person agreed to before the call, and which addresses the server has said to be done with.
pub(super) struct CallAnswers {
    form: Option<Map<String, Value>>,
    visits: bool,
    /// By their ids.
    finished: watch::Receiver<BTreeSet<String>>,
}

/// A form at an address was filled in.
const ADDRESS_DONE: &str = "notifications/elicitation/complete";
/// As JSON-RPC has it: nobody is there for this.
const NOBODY: i32 = -32601;

impl CallAnswers {
    /// `form` answers forms; `visits` agrees to addresses. What nobody agreed to beforehand is declined. CallAnswers for as
    /// long as the connections of this client live.
    pub(super) fn start(form: Option<Map<String, Value>>, visits: bool) -> (Self, ClientBehind) {
        let (said, mut hears) = mpsc::channel(MOST_QUESTIONS);
        let mut elicitation = Map::new();
        elicitation.extend(form.is_some().then(|| ("form".to_owned(), json!({}))));
        elicitation.extend(visits.then(|| ("url".to_owned(), json!({}))));
        let capabilities = if elicitation.is_empty() { json!({}) } else { json!({ "elicitation": elicitation }) };
        let (told, finished) = watch::channel(BTreeSet::new());
        let answers = Self { form: form.clone(), visits, finished };
        tokio::spawn(async move {
            while let Some(FromServer { server, said }) = hears.recv().await {
                match said {
                    ServerSaid::Request { method: "elicitation/create", params, answer } => {
                        let declined = || json!({ "action": "decline" });
                        let said = answered(&server, &params, form.as_ref(), visits).unwrap_or_else(declined);
                        drop(answer.send(Ok(said)));
                    }
                    ServerSaid::Request { method, answer, .. } => {
                        drop(answer.send(Err(RefusedRequest { code: NOBODY, message: method.to_owned() })));
                    }
                    ServerSaid::Notification { method, params } if method == ADDRESS_DONE => {
                        let id = params.get("elicitationId").and_then(Value::as_str).unwrap_or_default();
                        told.send_if_modified(|ids| ids.insert(id.to_owned()));
                    }
                    ServerSaid::Notification { .. } | ServerSaid::Changed(_) => {}
                }
            }
        });
        let said = Box::new(move |from| drop(said.try_send(from)));
        (answers, ClientBehind { capabilities, said })
    }

    /// The parameters of a call that the server wants once more, with answers to what it asked for in its result.
    pub(super) fn provide(&self, server: &str, wanted: &Value, params: &mut Map<String, Value>) {
        let mut answers = Map::new();
        for (key, question) in wanted.get("inputRequests").and_then(Value::as_object).into_iter().flatten() {
            let is_form = question.get("method").and_then(Value::as_str) == Some("elicitation/create");
            let asked = question.get("params").filter(|_| is_form);
            let said = asked.and_then(|params| answered(server, params, self.form.as_ref(), self.visits));
            answers.insert(key.clone(), said.unwrap_or_else(|| json!({ "action": "decline" })));
        }
        params.remove("inputResponses");
        params.remove("requestState");
        params.extend((!answers.is_empty()).then(|| ("inputResponses".to_owned(), answers.into())));
        params.extend(wanted.get("requestState").map(|state| ("requestState".to_owned(), state.clone())));
    }

    /// Waits until the server says that a visit is over.
    pub(super) async fn visited(&self, id: &str) {
        drop(self.finished.clone().wait_for(|ids| ids.contains(id)).await);
    }
}

/// Whether a browser opens it as a page, and runs nothing of it as its own.
pub(super) fn is_web_address(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

fn answered(server: &str, question: &Value, form: Option<&Map<String, Value>>, visits: bool) -> Option<Value> {
    let text = |key: &str| visible(question.get(key).and_then(Value::as_str).unwrap_or_default());
    if question.get("mode").and_then(Value::as_str) == Some("url") {
        if !question.get("url").and_then(Value::as_str).is_some_and(is_web_address) {
            note(&format!("{server} asks you to open an address that is none of the web, which is declined"));
            return None;
        }
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
        for url in ["javascript:alert(1)", "file:///etc/passwd", "javascript://a%0aalert(1)", "", "https:a"] {
            let address = json!({"mode": "url", "url": url, "message": "m"});
            assert_eq!(answered("s", &address, None, true), None, "{url}");
        }
    }
}
