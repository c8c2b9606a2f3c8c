//! Streamable HTTP: how rmcp's transport posts messages, hears streams and ends sessions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse};

use super::answer::{
    EVENTS, EventStream, HttpAnswer, JSON, StreamedAnswer, accepted, content_type, events_of, read, streamed_answer,
};
use super::http::{Headers, HttpClient, HttpFailure, HttpMessage};
use super::{LARGEST_MESSAGE, mend};
use crate::upstream::probe;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// How long a session is given to end on the server's side.
const DELETE: Duration = Duration::from_secs(5);

fn session_header(session: &str) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_static(SESSION), HeaderValue::from_str(session).ok()?))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            LARGEST_MESSAGE,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        largest: usize,
    ) -> HttpAnswer<StreamableHttpPostResponse> {
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let is_call = matches!(&message, ClientJsonRpcMessage::Request(asked)
            if matches!(asked.request, ClientRequest::CallToolRequest(_)));
        let question = probe::asked(&message).filter(|_| self.is_probing).cloned();
        let mut more = vec![
            (CONTENT_TYPE, HeaderValue::from_static(JSON)),
            (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        more.extend(session_id.as_deref().and_then(session_header));
        let limit = Some(if question.is_some() { probe::http_probe() } else { self.first_byte });
        let (method, url, headers, body) = (Method::POST, &*uri, &custom_headers, serde_json::to_vec(&message)?.into());
        let sent = self.exchange(HttpMessage { method, url, headers, more, body, limit }).await;
        let response = match (sent, &question) {
            (Ok(response), _) => response,
            (Err(StreamableHttpError::Client(HttpFailure::Lost(_))), Some(id)) => {
                return Ok(StreamableHttpPostResponse::Json(probe::unknown_method(id.clone()), None));
            }
            (Err(error), _) => return Err(error),
        };
        if response.status() == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let response = match (accepted(response, &custom_headers).await, question) {
            (Ok(response), _) => response,
            // What an older server says to a question that it does not know; a newer one says it as JSON.
            (Err(StreamableHttpError::Client(HttpFailure::Status { text, .. })), Some(id)) => {
                let said = match mend::message(text.as_bytes()) {
                    Some(ServerJsonRpcMessage::Error(error)) => ServerJsonRpcMessage::error(error.error, Some(id)),
                    _ => probe::unknown_method(id),
                };
                return Ok(StreamableHttpPostResponse::Json(said, None));
            }
            (Err(error), _) => return Err(error),
        };
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(SESSION).and_then(|session| session.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response);
        if kind.starts_with(EVENTS) {
            if !is_call {
                return Ok(StreamableHttpPostResponse::Sse(events_of(response.into_body(), largest), session));
            }
            return Ok(match streamed_answer(response.into_body(), largest).await {
                StreamedAnswer::Whole(answer) => StreamableHttpPostResponse::Json(*answer, session),
                StreamedAnswer::Events(events) => StreamableHttpPostResponse::Sse(events, session),
            });
        }
        let body = read(response).await.map_err(StreamableHttpError::Client)?;
        match mend::message(&body) {
            Some(said) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(said, session)),
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            _ if kind.starts_with(JSON) => {
                Err(StreamableHttpError::UnexpectedServerResponse("it is no message".into()))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<()> {
        let (method, url, headers, limit) = (Method::DELETE, &*uri, &custom_headers, Some(DELETE));
        let more = session_header(&session_id).into_iter().collect();
        let response = self.exchange(HttpMessage { method, url, headers, more, body: Bytes::new(), limit }).await?;
        match response.status() {
            // It ends sessions by itself, or has done so.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => Ok(()),
            _ => accepted(response, &custom_headers).await.map(drop),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<EventStream> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            LARGEST_MESSAGE,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        mut custom_headers: Headers,
        largest: usize,
    ) -> HttpAnswer<EventStream> {
        let mut put = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                custom_headers.insert(HeaderName::from_static(name), value);
            }
        };
        if let Some(session) = &session_id {
            put(SESSION, session);
        }
        if let Some(last) = &last_event_id {
            put(LAST_EVENT, last);
        }
        self.events(&uri, &custom_headers, largest).await.map(|found| found.events)
    }
}
