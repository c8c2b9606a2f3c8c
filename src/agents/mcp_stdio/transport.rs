//! Lines of JSON-RPC between the client and rmcp. What is no message of MCP is answered here and never gets further.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use portcullis_wire::channel::{PermissionRequest, REQUEST_METHOD, read_request};
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, CustomNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::streams::{ClientReader, ClientWriter};
use crate::lines::{Line, Lines};

/// What the client reads, shared by rmcp and by whoever writes past it. Locked for one whole write at a time, so that lines never mix.
pub(in crate::agents) struct SharedOutput(Mutex<ClientWriter>);

impl SharedOutput {
    pub(in crate::agents) fn new(writer: ClientWriter) -> Self {
        Self(Mutex::new(writer))
    }

    /// Returns when all bytes are with the client's end of the pipe.
    pub(in crate::agents) async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut writer = self.0.lock().await;
        writer.write_all(bytes).await?;
        writer.flush().await
    }
}

/// Told whether the answer to a request was written.
pub(in crate::agents) type OnSent = Arc<dyn Fn(RequestId, bool) -> BoxFuture<'static, ()> + Send + Sync>;

/// Told of a permission dialog that has opened.
pub(in crate::agents) type OnPrompt = Arc<dyn Fn(PermissionRequest) + Send + Sync>;

pub(in crate::agents) struct LineTransport {
    lines: Lines<ClientReader>,
    output: Arc<SharedOutput>,
    on_sent: Option<OnSent>,
    on_prompt: Option<OnPrompt>,
    /// Cancelled when the client has closed its end: rmcp still waits then for what it has not answered.
    left: CancellationToken,
    /// The client has asked to initialize. Before that rmcp would end at the first message it does not expect.
    greeted: bool,
    /// Whether a client may do without `initialize`, as those of 2026-07-28 do.
    may_discover: bool,
    /// Refusals still to be written. A client that floods us and does not read gets no more of them.
    refusals: Arc<Semaphore>,
}

const MOST_REFUSALS: usize = 64;
/// Where a request without a session says of which revision it is.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

impl LineTransport {
    pub(in crate::agents) fn new(input: ClientReader, output: Arc<SharedOutput>) -> Self {
        Self {
            lines: Lines::new(input, super::LONGEST_LINE),
            output,
            on_sent: None,
            on_prompt: None,
            left: CancellationToken::new(),
            greeted: false,
            may_discover: false,
            refusals: Arc::new(Semaphore::new(MOST_REFUSALS)),
        }
    }

    pub(in crate::agents) fn telling(self, on_sent: OnSent) -> Self {
        Self { on_sent: Some(on_sent), ..self }
    }

    /// Prompts go there, past rmcp: someone is waiting for them.
    pub(in crate::agents) fn relaying(self, on_prompt: OnPrompt) -> Self {
        Self { on_prompt: Some(on_prompt), ..self }
    }

    /// Also serves clients that say in each request what they are, and never `initialize`.
    pub(in crate::agents) fn discoverable(self) -> Self {
        Self { may_discover: true, ..self }
    }

    /// Cancelled when the client has closed its end.
    pub(in crate::agents) fn left(&self) -> CancellationToken {
        self.left.clone()
    }

    /// Answers with an error. In a task of its own: rmcp may drop `receive` at any wait, and half a line is no line.
    fn refuse(&self, id: &Value, code: ErrorCode, message: &str) {
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let error = json!({"jsonrpc": "2.0", "id": id, "error": ErrorData::new(code, message.to_owned(), None)});
        let mut bytes = error.to_string().into_bytes();
        bytes.push(b'\n');
        let output = Arc::clone(&self.output);
        tokio::spawn(async move {
            if let Err(error) = output.write(&bytes).await {
                tracing::debug!(%error, "the client does not read");
            }
            drop(permit);
        });
    }

    /// The message, or none when it was answered or handed on here.
    fn read(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let Some(on_prompt) = self.on_prompt.as_ref().filter(|_| self.greeted)
            && let Some(prompt) = read_request(line)
        {
            on_prompt(prompt);
            return None;
        }
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                self.refuse(&id_of(line), ErrorCode::PARSE_ERROR, &format!("not JSON: {error}"));
                return None;
            }
        };
        let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        // The client probes every server for a protocol without a way to send events. Saying no keeps us a channel.
        if method.as_deref() == Some("server/discover")
            && !self.may_discover
            && let Some(id) = id
        {
            self.refuse(&id, ErrorCode::METHOD_NOT_FOUND, "server/discover is not served");
            return None;
        }
        let is_introduced = self.may_discover && value["params"]["_meta"].get(PROTOCOL_VERSION).is_some();
        let Some(message) = message(value) else {
            self.refuse(&id.unwrap_or_default(), ErrorCode::INVALID_REQUEST, "not a JSON-RPC 2.0 message");
            return None;
        };
        if !self.greeted && !is_introduced && !matches!(method.as_deref(), Some("initialize" | "ping")) {
            if let Some(id) = id.filter(|_| method.is_some()) {
                self.refuse(&id, ErrorCode::INVALID_REQUEST, "initialize comes first");
            }
            return None;
        }
        self.greeted |= is_introduced || method.as_deref() == Some("initialize");
        Some(message)
    }
}

/// The id of a line that cannot be read as a whole, for example for a number that is out of range: the client waits for an
/// answer under it.
fn id_of(line: &[u8]) -> Value {
    #[derive(serde::Deserialize)]
    struct OnlyId {
        id: Value,
    }
    serde_json::from_slice(line)
        .map(|OnlyId { id }| id)
        .ok()
        .filter(|id| id.is_string() || id.is_number())
        .unwrap_or_default()
}

/// A prompt is told from the rest here: rmcp would first try it as every message it knows, and someone is waiting.
fn message(mut value: Value) -> Option<RxJsonRpcMessage<RoleServer>> {
    let is_prompt = value["method"] == REQUEST_METHOD && value["jsonrpc"] == "2.0" && value.get("id").is_none();
    if is_prompt && let Some(params @ Value::Object(_)) = value.get_mut("params") {
        let prompt = CustomNotification::new(REQUEST_METHOD, Some(params.take()));
        return Some(JsonRpcMessage::notification(ClientNotification::CustomNotification(prompt)));
    }
    serde_json::from_value(value).ok()
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, on_sent) = (Arc::clone(&self.output), self.on_sent.clone());
        async move {
            let mut bytes = serde_json::to_vec(&message)?;
            bytes.push(b'\n');
            let written = output.write(&bytes).await;
            if let (JsonRpcMessage::Response(response), Some(on_sent)) = (message, on_sent) {
                on_sent(response.id, written.is_ok()).await;
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.lines.next().await {
                Ok(Line::Whole(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Line::Whole(line)) => {
                    if let Some(message) = self.read(&line) {
                        return Some(message);
                    }
                }
                Ok(Line::TooLong) => {
                    let message = format!("a message is at most {} bytes long", super::LONGEST_LINE);
                    self.refuse(&Value::Null, ErrorCode::INVALID_REQUEST, &message);
                }
                Ok(Line::End) => {
                    self.left.cancel();
                    return None;
                }
                Err(error) => {
                    tracing::debug!(%error, "what the client says");
                    self.left.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt as _;

    /// What a line became: a message for rmcp, and what was answered here.
    fn read(greeted: bool, line: &[u8]) -> (bool, Vec<Value>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let output = Arc::new(SharedOutput::new(Box::new(server)));
            let mut transport = LineTransport { greeted, ..LineTransport::new(Box::new(tokio::io::empty()), output) };
            let message = transport.read(line);
            // A refusal is written by a task of its own, which has its turn when this one waits.
            tokio::task::yield_now().await;
            drop(transport);
            let mut said = String::new();
            client.read_to_string(&mut said).await.unwrap();
            let answers = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            (message.is_some(), answers)
        })
    }

    #[test]
    fn a_number_out_of_range_is_refused_under_the_id_of_its_request() {
        let line = br#"{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"arguments":{"big":1e400}}}"#;
        let (is_passed, answers) = read(true, line);
        assert!(!is_passed);
        assert_eq!(answers[0]["id"], 900);
        assert_eq!(answers[0]["error"]["code"], -32700);
    }

    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        let words = r#"(\{|\}|\[|\]|"|:|,|"jsonrpc":"2.0"|"id":|"method":"|ping|initialize|tools/call|server/discover|notifications/|"params":|"result":|"error":|null|7|-1|1e999|\\ud800| |\x00|ä){0,24}"#;
        prop_oneof![prop::collection::vec(any::<u8>(), 0..200), words.prop_map(String::into_bytes)]
    }

    fn any_message() -> impl Strategy<Value = Vec<u8>> {
        let any_json = || {
            prop_oneof![
                "null|true|7|-1|1.5|\"x\"|\\[\\]|\\{\\}",
                r#"\{"(name|uri|protocolVersion|request_id)":("x"|7)\}"#
            ]
        };
        let method = "ping|initialize|server/discover|tools/(call|list)|notifications/(initialized|cancelled|progress|claude/channel/permission_request)|x{0,3}";
        (any_json(), method, any_json()).prop_map(|(id, method, params)| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into_bytes()
        })
    }

    proptest! {
        #[test]
        fn any_line_is_a_message_or_is_refused_once(line in prop_oneof![any_line(), any_message()], greeted: bool) {
            let (is_message, answers) = read(greeted, &line);
            prop_assert!(!is_message || answers.is_empty(), "{answers:?}");
            prop_assert!(answers.len() <= 1, "{answers:?}");
            for answer in &answers {
                prop_assert!(answer["error"]["code"].is_i64() && answer["jsonrpc"] == "2.0", "{answer}");
            }
            let is_json = serde_json::from_slice::<Value>(&line).is_ok();
            prop_assert!(is_json || !is_message && answers[0]["error"]["code"] == -32700, "{answers:?}");
        }
    }
}
