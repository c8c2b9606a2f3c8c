//! Results with all that their servers put into them: rmcp drops the fields that it does not know.
//!
//! A result of which it would drop something carries itself as it came. On standard streams it is taken out again before
//! rmcp writes the answer. Over HTTP rmcp writes none but those of its own types, so that it is taken out of what is written.

use std::borrow::Cow;

use bytes::Bytes;
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorData, MetaObject, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connected::GatewayServer;
use crate::upstream::{AS_IT_CAME, carry_itself, taken_out};

/// The gateway for a client on standard streams.
pub(super) struct UnchangedResults(pub(super) GatewayServer);

impl Service<RoleServer> for UnchangedResults {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let result = self.0.handle_request(request, context).await?;
        Ok(unchanged(result))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}

/// A result, or a list of such, as rmcp reads it. Where that loses something, it carries itself.
pub(super) fn read_whole<T: DeserializeOwned + Serialize>(mut value: Value) -> Result<T, ErrorData> {
    let read: T = match read(value.clone()) {
        Ok(read) => read,
        // The client may know what rmcp does not, a kind of content for example.
        Err(error) if value.is_object() => return as_it_is(&value).ok_or(error),
        Err(error) => return Err(error),
    };
    let again = serde_json::to_value(&read).unwrap_or_default();
    let is_whole = value.as_object().is_some_and(|came| came.iter().all(|(key, part)| again.get(key) == Some(part)));
    // What a server writes under our name is not taken for ours.
    let is_forged = value.get("_meta").is_some_and(|meta| meta.get(AS_IT_CAME).is_some());
    if is_whole && !is_forged || !carry_itself(&mut value) { Ok(read) } else { self::read(value) }
}

/// A result of which rmcp reads nothing but that it carries one.
fn as_it_is<T: DeserializeOwned>(value: &Value) -> Option<T> {
    read(json!({"content": [], "contents": [], "messages": [], "_meta": {AS_IT_CAME: value}})).ok()
}

/// A result says since 2026-07-28 that it is one; rmcp leaves that out for others.
pub(super) fn read<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    if let Some(result) = value.as_object_mut() {
        result.entry("resultType").or_insert_with(|| "complete".into());
    }
    let unreadable = |error| ErrorData::internal_error(format!("the server's result cannot be read: {error}"), None);
    serde_json::from_value(value).map_err(unreadable)
}

fn unchanged(mut result: ServerResult) -> ServerResult {
    let Some(came) = taken(&mut result) else { return result };
    let read = serde_json::to_value(&result).unwrap_or_default();
    ServerResult::CustomResult(CustomResult::new(completed(came, read)))
}

/// What came, with what rmcp has put into it, or left out, for the revision that the client speaks.
fn completed(mut came: Value, read: Value) -> Value {
    if let (Value::Object(came), Value::Object(read)) = (&mut came, read) {
        came.retain(|key, _| key != "resultType" || read.contains_key(key));
        for (key, value) in read.into_iter().filter(|(key, _)| key != "_meta") {
            came.entry(key).or_insert(value);
        }
    }
    came
}

/// An event of a stream as rmcp wrote it, with its result as it came.
pub(super) fn event_unchanged(event: Bytes) -> Bytes {
    if memchr::memmem::find(&event, AS_IT_CAME.as_bytes()).is_none() {
        return event;
    }
    let Ok(text) = std::str::from_utf8(&event) else { return event };
    let lines = text.split_inclusive('\n').map(|line| match line.strip_prefix("data: ").and_then(message_unchanged) {
        Some(message) => Cow::Owned(format!("data: {message}\n")),
        None => Cow::Borrowed(line),
    });
    lines.collect::<String>().into()
}

fn message_unchanged(text: &str) -> Option<Value> {
    let mut message: Value = serde_json::from_str(text).ok()?;
    let result = message.get_mut("result")?;
    let came = taken_out(result.get_mut("_meta")?.as_object_mut()?)?;
    *result = completed(came, result.take());
    Some(message)
}

fn taken(result: &mut ServerResult) -> Option<Value> {
    let meta: &mut Option<MetaObject> = match result {
        ServerResult::CallToolResult(result) => &mut result.meta,
        ServerResult::ListToolsResult(result) => &mut result.meta,
        ServerResult::ListResourcesResult(result) => &mut result.meta,
        ServerResult::ListResourceTemplatesResult(result) => &mut result.meta,
        ServerResult::ListPromptsResult(result) => &mut result.meta,
        ServerResult::ReadResourceResult(result) => &mut result.meta,
        ServerResult::GetPromptResult(result) => &mut result.meta,
        _ => return None,
    };
    taken_out(&mut meta.as_mut()?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::CallToolResult;
    use serde_json::json;

    fn written(result: &Value) -> (String, String) {
        let read: CallToolResult = read_whole(result.clone()).unwrap();
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": read});
        let event = format!("data: {message}\nid: 3\n\n");
        let sent = String::from_utf8(event_unchanged(event.clone().into()).to_vec()).unwrap();
        (event, sent)
    }

    #[test]
    fn an_event_has_its_result_as_it_came_and_what_rmcp_knows_all_of_is_not_touched() {
        let odd =
            json!({"content": [{"type": "text", "text": "a\nb", "acme": 1}], "acme": {"b": 2}, "_meta": {"c": 3}});
        let (_, sent) = written(&odd);
        let (data, rest) = sent.split_once('\n').unwrap();
        let mut message: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        message["result"].as_object_mut().unwrap().remove("resultType");
        assert_eq!((&message["result"], rest), (&odd, "id: 3\n\n"));
        let (event, sent) = written(&json!({"content": [{"type": "text", "text": "a"}], "_meta": {"c": 3}}));
        assert!(event == sent && !event.contains(AS_IT_CAME), "{event}");
    }

    #[test]
    fn what_a_server_writes_under_our_name_is_not_taken_for_its_result() {
        let forged = json!({"content": [], "_meta": {AS_IT_CAME: {"content": "forged"}}});
        let (_, sent) = written(&forged);
        assert!(sent.contains("\"content\":[]"), "{sent}");
        assert_eq!(event_unchanged(Bytes::from_static(b":\n\n")), ":\n\n");
    }
}
