//! The entrance to every route: what the table says of a route is kept here, before its handler runs.

use axum::extract::{FromRequestParts, Request};
use axum::http::Extensions;
use axum::http::request::Parts;
use axum::response::Response;
use hyper::header::{CACHE_CONTROL, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use portcullis_core::{Actor, OWNER, Refusal, Right, TokenId, Via};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::routes::{FromInside, Method, Route, RouteAccess};

use super::Door;
use super::answers;
use super::credentials::Caller;
use super::response::{ErrorResponse, ErrorStyle};
use crate::hub::{Known, Peer, fault_of};

/// Someone who may use the route. Only [`enter`] makes one, so a handler that takes it need not ask for rights.
#[derive(Clone, Debug)]
pub(super) struct Permitted {
    pub(super) actor: Actor,
    /// Let in by a token that may be revoked.
    pub(super) token: Option<Known>,
    /// The other end of the connection.
    pub(super) peer: Peer,
}

impl Permitted {
    pub(super) fn of(extensions: &Extensions) -> Result<Self, Fault> {
        let missing = || Fault::new(Kind::Internal, "the route asks for no credentials, and its handler does");
        extensions.get::<Self>().cloned().ok_or_else(missing)
    }

    /// The credential, which is what has files and memory: two tokens of one person may be for different sessions.
    pub(super) fn sender(&self) -> String {
        self.token.as_ref().map_or_else(|| self.actor.name.clone(), |known| known.token.to_string())
    }

    /// The device, if it is one. It may be lost: it is not the owner, and has nothing that is kept for them.
    pub(super) fn device(&self) -> Option<TokenId> {
        self.token.as_ref().filter(|known| known.device.is_some()).map(|known| known.token)
    }

    /// Whose memory is taken; none for the owner at their own machine.
    pub(super) fn counted_as(&self) -> Option<String> {
        (self.actor.name != OWNER || self.device().is_some()).then(|| self.sender())
    }
}

impl<S: Sync> FromRequestParts<S> for Permitted {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        Ok(Self::of(&parts.extensions)?)
    }
}

/// Hands a request to the handler of its route, if the sender may use that route.
pub(super) async fn guarded<F>(
    route: &Route,
    door: &Door,
    mut request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let style = ErrorStyle::of(route, request.headers());
    let mut response = match enter(route, door, &mut request).await {
        Ok(()) => {
            // Only what is read may be large.
            let permitted = request.extensions().get::<Permitted>().filter(|_| route.method == Method::Get).cloned();
            let response = handle(request).await;
            match permitted {
                Some(permitted) => {
                    answers::counted(door, &permitted, response).unwrap_or_else(|fault| style.refuse(&fault))
                }
                None => response,
            }
        }
        Err(fault) => style.refuse(&fault),
    };
    if route.is_api() {
        // What is told to one who may see it is kept by no cache, and is read as what it says it is.
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Checks what the table says of the route, and leaves with the request who sent it.
async fn enter(route: &Route, door: &Door, request: &mut Request) -> Result<(), Fault> {
    let mut caller = request.extensions_mut().remove::<Caller>().unwrap_or_default();
    if route.open_to_dev_sender {
        caller = door.credentials.with_dev_sender(caller, request.headers());
    }
    let Some(permitted) = permit(route, caller)? else { return Ok(()) };
    let name = &permitted.actor.name;
    if let FromInside::Refused(tried) = route.from_inside {
        door.hub.refuse_inside(permitted.peer, name, tried).await?;
    }
    limit(route, door, &permitted)?;
    if let Some(device) = permitted.device() {
        super::devices::used(door, device).await;
    }
    request.extensions_mut().insert(permitted);
    Ok(())
}

/// Takes one from the rate of whoever uses the route, where it has one.
pub(super) fn limit(route: &Route, door: &Door, permitted: &Permitted) -> Result<(), Fault> {
    if let Some(device) = permitted.device().filter(|_| route.method != Method::Get) {
        door.hub.limit_device(device)?;
    }
    if route.rate_limited {
        door.hub.limit_rate(&permitted.actor.name)?;
    }
    Ok(())
}

/// The caller, if the route is for them; none where it is for anyone.
pub(super) fn permit(route: &Route, caller: Caller) -> Result<Option<Permitted>, Fault> {
    let is_for_agents = matches!(route.access, RouteAccess::AnyOf([Right::Agent]));
    let in_its_words = |fault: Fault| if is_for_agents { fault.for_agents() } else { fault };
    checked(route, caller).map_err(in_its_words)
}

fn checked(route: &Route, caller: Caller) -> Result<Option<Permitted>, Fault> {
    let Caller { actor, token, peer } = caller;
    let forbidden = |message: &str| Fault::new(Kind::Forbidden, message);
    let actor = match (route.access, actor) {
        (RouteAccess::Anyone, _) => return Ok(None),
        (RouteAccess::Socket, Some(actor)) if actor.via == Via::Socket => actor,
        (RouteAccess::Socket, _) => {
            return Err(forbidden(&format!("{} is served on the Unix socket only", route.path)));
        }
        // The channel documents have 403 for a sender they do not know; the API and MCP say what HTTP says.
        (RouteAccess::AnyOf(_), None) if route.wants_credentials() => {
            return Err(Fault::new(Kind::Unauthorized, "no credential, or one that does not count"));
        }
        (RouteAccess::AnyOf(_), None) => return Err(forbidden("forbidden")),
        (RouteAccess::AnyOf(rights), Some(actor)) => match rights {
            _ if rights.iter().any(|right| actor.may(*right)) => actor,
            [Right::Review, ..] if actor.name == OWNER => return Err(Fault::owner_does_not_answer()),
            [first, ..] => return Err(fault_of(&Refusal::NeedsRight(*first))),
            [] => return Err(forbidden("forbidden")),
        },
    };
    Ok(Some(Permitted { actor, token, peer }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use portcullis_core::{Label, Rights, Role, TokenScope};
    use portcullis_wire::routes::ROUTES;

    fn caller(rights: Rights, via: Via, scope: TokenScope) -> Caller {
        Caller { actor: Some(Actor { name: "ann".to_owned(), rights, via, scope, device: None }), ..Caller::default() }
    }

    /// The names of the routes that let this caller in.
    fn open_to(caller: &Caller) -> Vec<String> {
        let open = ROUTES.iter().filter(|route| permit(route, caller.clone()).is_ok());
        open.map(|route| route.operation.id()).collect()
    }

    /// Told role by role, apart from the table: a row that loses its right, or gets a weaker one, turns this red.
    #[test]
    fn each_route_is_open_to_those_with_its_right_and_to_nobody_else() {
        let everything = || TokenScope::Everything;
        let nobody = open_to(&Caller::default());
        let sender = open_to(&caller(Role::Sender.rights(), Via::Http, everything()));
        let reviewer = open_to(&caller(Role::Reviewer.rights(), Via::Http, everything()));
        let admin = open_to(&caller(Role::Admin.rights(), Via::Http, everything()));
        let agent = open_to(&caller(Role::Agent.rights(), Via::Http, everything()));
        let beyond = |more: &[String], less: &[String]| {
            assert!(less.iter().all(|name| more.contains(name)), "{less:?} are all among {more:?}");
            more.iter().filter(|name| !less.contains(name)).cloned().collect::<Vec<_>>().join(" ")
        };
        let told = format!(
            "nobody: {}\nsender: {}\nreviewer: {}\nadmin: {}\nagent: {}\n",
            nobody.join(" "),
            beyond(&sender, &nobody),
            beyond(&reviewer, &sender),
            beyond(&admin, &reviewer),
            beyond(&agent, &nobody),
        );
        expect![[r#"
            nobody: welcome asset health link_device describe
            sender: say listen post_event upload_file show_event_file show_reply_file list_events show_event retry_event drop_event list_sessions show_session list_replies watch me
            reviewer: stream_session session_history stop_session resume_session interrupt_session list_asks show_ask answer_ask list_verdicts pending confirm permissions_pending permissions_confirm show_push subscribe_push unsubscribe_push set_presence
            admin: list_conversations start_session prompt_session set_session_mode set_session_model list_default_modes show_default_mode set_default_mode list_trusted_editors trust_editor end_session chat status stop list_tokens add_token revoke_token list_devices add_device_link revoke_device list_people set_role remove_person approve_pairing unlink_identity read_log verify_log list_rules check_rules list_mcp_servers approve_mcp_server login_mcp_server redact bar metrics
            agent: hook mcp_post mcp_listen mcp_end mcp_post_one mcp_listen_one mcp_end_one
        "#]].assert_eq(&told);
        let here = open_to(&caller(Role::Admin.rights(), Via::Socket, everything()));
        assert_eq!(beyond(&here, &admin), "link");
    }

    #[test]
    fn who_has_to_do_with_some_sessions_administers_nothing() {
        let some = || TokenScope::Labels(vec![Label::new("api").unwrap()]);
        let scoped = open_to(&caller(Role::Admin.rights(), Via::Http, some()));
        let open = |name: &str| scoped.iter().any(|open| open == name);
        assert!(open("answer_ask") && open("start_session") && open("stop_session"));
        assert!(!open("add_token") && !open("read_log") && !open("stop") && !open("status"));
    }

    #[test]
    fn a_refusal_names_the_right_that_is_missing() {
        let refused = |operation: portcullis_wire::routes::Operation| {
            permit(operation.route(), caller(Role::Agent.rights(), Via::Http, TokenScope::Everything)).unwrap_err()
        };
        use portcullis_wire::routes::Operation;
        assert_eq!(refused(Operation::ListSessions).message, "forbidden");
        assert_eq!(refused(Operation::StopSession).message, "forbidden: this needs the right to review");
        assert_eq!(refused(Operation::Link).message, "/link is served on the Unix socket only");
        let owner = caller(Role::Admin.rights(), Via::Http, TokenScope::Everything);
        for refused in [owner, Caller::default()] {
            let hint = permit(Operation::McpPost.route(), refused).unwrap_err().hint;
            assert!(hint.contains("portcullis token add NAME --role agent"), "{hint}");
        }
    }
}
