//! Whatever comes over HTTP is read or refused; nothing of it panics, and nothing of it passes for what it is not.

use axum::body::Body;
use axum::extract::Request;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use portcullis_core::{Behavior, Label, PairingCode};
use portcullis_wire::api::{Approval, NewEvent, NewRole, NewToken, NewVerdict, Tried};
use portcullis_wire::error::Fault;
use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::body_memory::BodyShare;
use super::{body, credentials, guard, queue, say, sse};

/// Any value that a header can hold.
fn any_value() -> impl Strategy<Value = HeaderValue> {
    let free = prop::collection::vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff, Just(b'\t')], 0..64);
    let telling =
        r"(bearer|Bearer|Basic|localhost|127\.0\.0\.1|\[::1\]|http://|https://|text/|json|;|=|:|8788|evil| |,){0,8}";
    prop_oneof![free, telling.prop_map(String::into_bytes)]
        .prop_filter_map("a header's value", |bytes| HeaderValue::from_bytes(&bytes).ok())
}

fn any_headers() -> impl Strategy<Value = HeaderMap> {
    let names =
        ["x-sender", "idempotency-key", "sec-fetch-site", "accept", "last-event-id"].map(HeaderName::from_static);
    let names = names.into_iter().chain([AUTHORIZATION, HOST, ORIGIN, CONTENT_TYPE, CONTENT_ENCODING]);
    let name = prop::sample::select(names.collect::<Vec<_>>());
    prop::collection::vec((name, any_value()), 0..6).prop_map(|pairs| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    })
}

/// Bytes, and bytes that are nearly what is wanted.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let words = r#"(\{|\}|\[|\]|"|:|,|text|behavior|allow|deny|why|person|role|labels|expires_in|code|name|null|true|-|0|9|1e999|\\u0000|\\ud800| |ä){0,24}"#;
    prop_oneof![prop::collection::vec(any::<u8>(), 0..128), words.prop_map(String::into_bytes)]
}

fn read_as<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let text = String::from_utf8(bytes.to_vec()).ok()?;
    serde_json::from_str(&text).ok()
}

proptest! {
    #[test]
    fn any_headers_are_read_or_refused(headers in any_headers()) {
        let address = "127.0.0.1:8788".parse().unwrap();
        drop(body::check_type(&headers));
        drop(body::idempotency_key(&headers));
        if let Some(Some(token)) = credentials::bearer(&headers) {
            prop_assert_eq!(headers.get_all(AUTHORIZATION).iter().count(), 1);
            prop_assert!(headers[AUTHORIZATION].to_str().unwrap().trim_end().ends_with(token));
        }
        if guard::check_host(&headers, address).is_ok() {
            let host = headers[HOST].to_str().unwrap().to_ascii_lowercase();
            let name = host.strip_suffix(":8788").unwrap_or(&host);
            prop_assert!(["localhost", "127.0.0.1", "[::1]"].contains(&name), "{}", host);
        }
        if guard::check_origin(&headers, address).is_ok() {
            for origin in headers.get_all(ORIGIN) {
                let origin = origin.to_str().unwrap().to_ascii_lowercase();
                let ours = ["localhost", "127.0.0.1", "[::1]"].map(|name| format!("http://{name}"));
                let name = origin.strip_suffix(":8788").unwrap_or(&origin);
                prop_assert!(ours.iter().any(|ours| ours == name), "{}", origin);
            }
        }
    }

    #[test]
    fn any_query_is_read_or_refused(query in r"(session|label|chat|state|limit|after|all|=|&|%|%00|%ff|%C3%A4|\+|true|-1|99999999999999999999|ä){0,16}") {
        if let Ok(uri) = format!("/?{query}").parse() {
            drop(body::read_params::<say::SayTarget>(&uri));
            drop(body::read_params::<queue::EventFilter>(&uri));
        }
    }

    #[test]
    fn any_body_is_read_or_refused(bytes in any_body()) {
        drop(read_as::<NewEvent>(&bytes));
        drop(read_as::<NewToken>(&bytes));
        drop(read_as::<NewRole>(&bytes));
        drop(read_as::<Approval>(&bytes));
        drop(read_as::<Tried>(&bytes));
        drop(read_as::<Fault>(&bytes));
        if let Some(NewVerdict { behavior, .. }) = read_as(&bytes) {
            prop_assert_eq!(Behavior::named(&behavior).is_some(), behavior == "allow" || behavior == "deny");
        }
    }

    #[test]
    fn any_name_of_a_thing_is_read_or_refused(text: String) {
        _ = crate::hub::named_in_full(&text);
        drop(PairingCode::parse(&text));
        if let Some(label) = Label::new(&text) {
            prop_assert!(label.as_str() == text && !text.chars().any(char::is_control));
        }
    }

    #[test]
    fn any_text_stays_in_its_data_lines(text in any_text()) {
        let message = String::from_utf8(sse::message(7, &text).to_vec()).unwrap();
        let lines: Vec<&str> = message.strip_suffix("\n\n").unwrap().split('\n').collect();
        prop_assert_eq!(lines[0], "id: 7");
        let data: Option<Vec<&str>> = lines[1..].iter().map(|line| line.strip_prefix("data: ")).collect();
        let told = data.expect("nothing but data").join("\n");
        prop_assert!(!told.contains('\r'));
        prop_assert_eq!(told, text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    #[test]
    fn any_body_in_any_frames_is_put_together(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
        let whole = parts.concat();
        let stream = futures_util::stream::iter(parts.into_iter().map(Ok::<_, std::convert::Infallible>));
        let request = Request::new(Body::from_stream(stream));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let body = http_body_util::Limited::new(request.into_body(), 100);
        let read = runtime.block_on(body::collect(body, None, &mut BodyShare::default(), std::time::Duration::from_secs(60)));
        prop_assert_eq!(read.ok().map(|bytes| bytes.to_vec()), Some(whole).filter(|whole| whole.len() <= 100));
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "(\r|\n|\r\n|data: |id: |event: |: |x|ä){0,20}"]
}
