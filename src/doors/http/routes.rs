//! The router, made from the table of routes: each row gets its handler, behind the entrance that checks the row.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use hyper::HeaderMap;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::routes::{Method, Operation, ROUTES, Route};

use super::access::{Permitted, guarded};
use super::response::refuse;
use super::{
    Door, asks, chat, devices, editors, files, gateway, history, hooks, inspect, link, listen, log, mcp, metrics,
    modes, openapi, page, people, push, queue, replies, say, sessions, start, status, stream, watch,
};

pub(super) fn router(door: &Arc<Door>) -> Router {
    routes(ROUTES.iter(), door).fallback(elsewhere).with_state(Arc::clone(door))
}

/// The routes that may be reached from elsewhere, and nothing else.
pub(super) fn public_router(door: &Arc<Door>) -> Router {
    let nothing = |request: Request| async move {
        refuse(&Fault::new(Kind::NoSuchRoute, format!("no such route: {}", request.uri().path())))
    };
    routes(ROUTES.iter().filter(|route| route.outside), door).fallback(nothing).with_state(Arc::clone(door))
}

fn routes(table: impl Iterator<Item = &'static Route>, door: &Arc<Door>) -> Router<Arc<Door>> {
    let mut router = Router::new();
    for route in table {
        let entrance = Arc::clone(door);
        let entrance = middleware::from_fn(move |request: Request, next: Next| {
            let door = Arc::clone(&entrance);
            async move { guarded(route, &door, request, |request| next.run(request)).await }
        });
        router = router.route(route.path, handler(route).route_layer(entrance));
    }
    router.method_not_allowed_fallback(|| async { refuse(&Fault::new(Kind::BadMethod, "no such method here")) })
}

/// A row without a handler does not compile, and a handler without a row is never used, which the compiler tells.
fn handler(route: &Route) -> MethodRouter<Arc<Door>> {
    let method = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    };
    match route.operation {
        Operation::Say => on(method, say::say),
        Operation::Welcome => on(method, welcome),
        Operation::Asset => on(method, page::asset),
        Operation::Health => on(method, || async { "ok\n" }),
        Operation::Listen => on(method, listen::listen),
        Operation::PostEvent => on(method, say::post_event),
        Operation::UploadFile => on(method, files::upload),
        Operation::ShowEventFile => on(method, files::of_event),
        Operation::ShowReplyFile => on(method, files::of_reply),
        Operation::ListEvents => on(method, queue::list),
        Operation::ShowEvent => on(method, queue::show),
        Operation::RetryEvent => on(method, queue::retry),
        Operation::DropEvent => on(method, queue::drop_event),
        Operation::ListSessions => on(method, sessions::list),
        Operation::ShowSession => on(method, sessions::show),
        Operation::StreamSession => on(method, stream::follow),
        Operation::SessionHistory => on(method, history::page),
        Operation::ListConversations => on(method, history::conversations),
        Operation::StartSession => on(method, start::start),
        Operation::StopSession => on(method, sessions::stop),
        Operation::ResumeSession => on(method, sessions::resume),
        Operation::InterruptSession => on(method, sessions::interrupt),
        Operation::PromptSession => on(method, sessions::prompt),
        Operation::SetSessionMode => on(method, sessions::set_mode),
        Operation::SetSessionModel => on(method, sessions::set_model),
        Operation::ListDefaultModes => on(method, modes::list),
        Operation::ShowDefaultMode => on(method, modes::show),
        Operation::SetDefaultMode => on(method, modes::set),
        Operation::ListTrustedEditors => on(method, editors::list),
        Operation::TrustEditor => on(method, editors::trust),
        Operation::EndSession => on(method, sessions::end),
        Operation::ListAsks => on(method, asks::list),
        Operation::ShowAsk => on(method, asks::show),
        Operation::AnswerAsk => on(method, asks::answer),
        Operation::ListVerdicts => on(method, asks::verdicts),
        Operation::ListReplies => on(method, replies::list),
        Operation::Watch => on(method, watch::watch),
        Operation::Chat => on(method, chat::chat),
        Operation::Pending | Operation::PermissionsPending => on(method, chat::pending),
        Operation::Confirm | Operation::PermissionsConfirm => on(method, chat::confirm),
        Operation::Status => on(method, status::status),
        Operation::Stop => on(method, status::stop),
        Operation::ListTokens => on(method, people::tokens),
        Operation::AddToken => on(method, people::add_token),
        Operation::RevokeToken => on(method, people::revoke_token),
        Operation::Me => on(method, devices::me),
        Operation::ListDevices => on(method, devices::list),
        Operation::AddDeviceLink => on(method, devices::add_link),
        Operation::LinkDevice => on(method, devices::link),
        Operation::RevokeDevice => on(method, devices::revoke),
        Operation::ShowPush => on(method, push::show),
        Operation::SubscribePush => on(method, push::subscribe),
        Operation::UnsubscribePush => on(method, push::unsubscribe),
        Operation::SetPresence => on(method, push::set_presence),
        Operation::ListPeople => on(method, people::people),
        Operation::SetRole => on(method, people::set_role),
        Operation::RemovePerson => on(method, people::remove),
        Operation::ApprovePairing => on(method, people::approve),
        Operation::UnlinkIdentity => on(method, people::unlink),
        Operation::ReadLog => on(method, log::page),
        Operation::VerifyLog => on(method, inspect::chain),
        Operation::ListMcpServers => on(method, mcp::servers),
        Operation::ApproveMcpServer => on(method, mcp::approve),
        Operation::LoginMcpServer => on(method, mcp::sign_in),
        Operation::ListRules => on(method, inspect::rules),
        Operation::CheckRules => on(method, inspect::check),
        Operation::Redact => on(method, log::redact),
        Operation::Bar => on(method, log::barred),
        Operation::Hook => on(method, hooks::post),
        Operation::McpPost
        | Operation::McpListen
        | Operation::McpEnd
        | Operation::McpPostOne
        | Operation::McpListenOne
        | Operation::McpEndOne => on(method, gateway::pass),
        Operation::Metrics => on(method, metrics::metrics),
        Operation::Describe => on(method, openapi::document),
        Operation::Link => on(method, link::upgrade),
    }
}

/// What comes most often does not wait for the router.
pub(super) fn is_say(request: &Request) -> bool {
    request.method() == hyper::Method::POST && request.uri().path() == "/"
}

/// `POST /`, and a `POST` to any free path.
pub(super) async fn say_anywhere(door: Arc<Door>, request: Request) -> Response {
    let route = Operation::Say.route();
    guarded(route, &Arc::clone(&door), request, |request| async {
        match Permitted::of(request.extensions()) {
            Ok(permitted) => say::say(State(door), permitted, request).await,
            Err(fault) => refuse(&fault),
        }
    })
    .await
}

/// Parts of the path that are ours now or later: what is posted there by mistake is not an event.
const RESERVED: [&str; 7] = ["/api", "/in", "/mcp", "/assets", "/claude", "/metrics", "/link"];

/// Any other path takes events as `/` does, and the agent is told the path.
async fn elsewhere(State(door): State<Arc<Door>>, request: Request) -> Response {
    let path = request.uri().path();
    let is_reserved = RESERVED
        .iter()
        .any(|start| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    if is_reserved {
        return refuse(&Fault::new(Kind::NoSuchRoute, format!("no such route: {path}")));
    }
    match *request.method() {
        hyper::Method::POST => say_anywhere(door, request).await,
        hyper::Method::GET | hyper::Method::HEAD => {
            let icon = (path == "/favicon.ico").then(|| page::icon(request.headers())).flatten();
            icon.unwrap_or_else(|| refuse(&Fault::new(Kind::NoSuchRoute, format!("no such route: {path}"))))
        }
        _ => refuse(&Fault::new(Kind::BadMethod, "no such method here")),
    }
}

async fn welcome(headers: HeaderMap) -> Response {
    if let Some(page) = page::index(&headers) {
        return page;
    }
    let text = "This is a Portcullis gate.\n\
        \n\
        Send an event:   curl -H \"Authorization: Bearer TOKEN\" -d \"text\" THIS-ADDRESS\n\
        Follow replies:  curl -N -H \"Authorization: Bearer TOKEN\" THIS-ADDRESS/events\n\
        \n\
        `portcullis status` says where the token is kept.\n";
    text.into_response()
}
