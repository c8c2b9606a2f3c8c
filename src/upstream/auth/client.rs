//! The requests of rmcp's OAuth, sent by the same client as all others.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_LENGTH};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde_json::{Value, json};

use crate::upstream::transport::http::HttpClient;
use crate::upstream::transport::redirect::{self, HttpRedirect};

/// Where the SDK names no limit.
const LIMIT: Duration = Duration::from_secs(30);
/// What some servers say instead of `invalid_grant`.
const ALSO_INVALID: [&str; 3] = ["invalid_refresh_token", "expired_refresh_token", "token_expired"];

pub(super) struct OAuthClient;

impl OAuthClient {
    /// The document at an address.
    pub(super) async fn get(&self, address: &str) -> Result<Vec<u8>, OAuthHttpClientError> {
        let request = Request::get(address).header(ACCEPT, "application/json").body(vec![])?;
        let response = sent(request, OAuthHttpRedirectPolicy::Follow, LIMIT).await?;
        match response.status().is_success() {
            true => Ok(response.into_body()),
            false => Err(format!("{address}: HTTP {}", response.status()).into()),
        }
    }
}

impl OAuthHttpClient for OAuthClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let is_form = request.request.method() == Method::POST;
            let limit = request.timeout.unwrap_or(LIMIT);
            let response = sent(request.request.map(without_scope), request.redirect_policy, limit).await?;
            Ok(if is_form { plain_error(response) } else { response })
        })
    }
}

/// A renewal asks for what was granted, which needs no words. rmcp adds `offline_access`, which may not have been.
fn without_scope(body: Vec<u8>) -> Vec<u8> {
    let is_renewal =
        form_urlencoded::parse(&body).any(|(name, value)| name == "grant_type" && value == "refresh_token");
    if !is_renewal {
        return body;
    }
    let kept = form_urlencoded::parse(&body).filter(|(name, _)| name != "scope");
    form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish().into_bytes()
}

async fn sent(
    request: Request<Vec<u8>>,
    redirects: OAuthHttpRedirectPolicy,
    limit: Duration,
) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
    let (parts, body) = request.into_parts();
    let mut address = parts.uri.to_string();
    for _ in 0..=redirect::MOST {
        let mut again = Request::builder().method(parts.method.clone()).uri(&address);
        for (name, value) in &parts.headers {
            again = again.header(name, value);
        }
        let client = HttpClient::new(&address, limit)?;
        let response = client.whole(again.body(Full::new(Bytes::from(body.clone())))?).await?;
        let is_followed = parts.method == Method::GET && redirects == OAuthHttpRedirectPolicy::Follow;
        let leads = redirect::of(&parts.method, response.status(), response.headers(), &address);
        match leads.filter(|_| is_followed) {
            Some(HttpRedirect::Follow(to)) => address = to,
            Some(HttpRedirect::Elsewhere(to)) => return Err(format!("{address} leads to another host: {to}").into()),
            None => return Ok(response.map(|body| body.to_vec())),
        }
    }
    Err(format!("{} leads on and on", parts.uri).into())
}

/// An error as the specification has it, where a server says it in words of its own: with status 200, or by another code.
fn plain_error(response: Response<Vec<u8>>) -> Response<Vec<u8>> {
    let Ok(Value::Object(mut said)) = serde_json::from_slice::<Value>(response.body()) else { return response };
    let Some(code) = said.get("error").and_then(Value::as_str) else { return response };
    if said.contains_key("access_token") {
        return response;
    }
    if ALSO_INVALID.contains(&code) {
        said.insert("error".to_owned(), json!("invalid_grant"));
    }
    let (mut parts, _) = response.into_parts();
    if parts.status.is_success() {
        parts.status = StatusCode::BAD_REQUEST;
    }
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Value::Object(said).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(status: u16, body: &str) -> (u16, String) {
        let response = Response::builder().status(status).body(body.as_bytes().to_vec()).unwrap();
        let response = plain_error(response);
        (response.status().as_u16(), String::from_utf8(response.into_body()).unwrap())
    }

    #[test]
    fn errors_in_words_of_a_servers_own_are_read_as_what_they_mean() {
        assert_eq!(mended(200, r#"{"error":"x"}"#), (400, r#"{"error":"x"}"#.to_owned()));
        assert_eq!(mended(401, r#"{"error":"token_expired"}"#), (401, r#"{"error":"invalid_grant"}"#.to_owned()));
        let token = r#"{"access_token":"a","error":""}"#;
        assert_eq!(mended(200, token), (200, token.to_owned()));
        assert_eq!(mended(200, "no json"), (200, "no json".to_owned()));
    }

    #[test]
    fn a_renewal_asks_for_no_scope_and_all_else_stays() {
        let mended = |body: &str| String::from_utf8(without_scope(body.as_bytes().to_vec())).unwrap();
        let renewal = "grant_type=refresh_token&refresh_token=a%2Fb&scope=x+offline_access&resource=r";
        assert_eq!(mended(renewal), "grant_type=refresh_token&refresh_token=a%2Fb&resource=r");
        let code = "grant_type=authorization_code&code=c&scope=x";
        assert_eq!(mended(code), code);
        assert_eq!(mended(r#"{"scope":"x"}"#), r#"{"scope":"x"}"#);
    }
}
