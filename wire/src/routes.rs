//! The routes of the HTTP API: what a row of their table says. The router, the check of rights, the OpenAPI document, the
//! reference and the tests of the guard are all made from [`ROUTES`], so that none of them can differ.

use std::borrow::Cow;

use portcullis_core::Right;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::error::Kind;

mod table;

pub use table::{Operation, ROUTES};

/// The header in which the gate tells the process that holds the MCP servers whose token a request has.
pub const MCP_CLIENT: &str = "x-portcullis-client";
/// The header with the gate's number of that token, which is another one when its rights have changed.
pub const MCP_TOKEN: &str = "x-portcullis-token";
/// The header in which the gate says that its journal takes records now.
pub const MCP_CAN_WRITE: &str = "x-portcullis-can-write";
/// DELETE of this path tells that process that the token of this number no longer counts.
pub const MCP_TOKEN_ENDED: &str = "/token";

/// One route: what it is for, who may use it, what it takes and answers, and how it may fail.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub operation: Operation,
    pub method: Method,
    /// As the router has it: `{name}` stands for one part.
    pub path: &'static str,
    pub summary: &'static str,
    pub access: RouteAccess,
    pub from_inside: FromInside,
    /// May be served on a listener that others than this machine can reach. No such listener exists yet.
    pub outside: bool,
    /// Takes one from the sender's rate, unless it is the owner's.
    pub rate_limited: bool,
    /// On a gate with a dev sender, whoever is no browser counts as the dev sender here.
    pub open_to_dev_sender: bool,
    /// Errors are text for people, unless `Accept` asks for JSON.
    pub errors_in_words: bool,
    /// Besides those in the path.
    pub params: &'static [Param],
    pub body: RequestBody,
    pub response: ResponseBody,
    /// Besides those that its access and its body bring along.
    pub errors: &'static [Kind],
}

impl Route {
    /// What most rows leave out.
    const PLAIN: Self = Self {
        operation: Operation::Welcome,
        method: Method::Get,
        path: "/",
        summary: "",
        access: RouteAccess::Anyone,
        from_inside: FromInside::Served,
        outside: false,
        rate_limited: false,
        open_to_dev_sender: false,
        errors_in_words: false,
        params: &[],
        body: RequestBody::None,
        response: ResponseBody::Document,
        errors: &[],
    };

    /// Whether someone without a credential is told 401, as HTTP has it, and not 403 as the channel documents do: the API, and
    /// what clients of MCP reach.
    pub fn wants_credentials(&self) -> bool {
        self.is_api() || matches!(self.access, RouteAccess::AnyOf([Right::Agent]))
    }

    /// Whether it is part of the API for programs.
    pub fn is_api(&self) -> bool {
        self.path.starts_with("/api/")
    }

    /// The names in its path, as they come.
    pub fn path_params(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// All errors that it may answer with, but for those that every route may meet.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::ForeignHost, Kind::ForeignOrigin];
        if self.access != RouteAccess::Anyone {
            kinds.extend([Kind::Forbidden, Kind::NeedsRight, Kind::Busy, Kind::Stopping]);
            kinds.extend(self.wants_credentials().then_some(Kind::Unauthorized));
        }
        if self.from_inside != FromInside::Served {
            kinds.extend([Kind::FromInside, Kind::UnknownOrigin]);
        }
        if self.rate_limited {
            kinds.push(Kind::TooFast);
        }
        if !matches!(self.body, RequestBody::None) {
            kinds.extend([Kind::BadRequest, Kind::NotUtf8, Kind::Slow, Kind::TooLarge]);
        }
        kinds.extend(self.errors.iter().copied().filter(|kind| !kinds.contains(kind)).collect::<Vec<_>>());
        kinds
    }
}

impl Operation {
    /// Its row of the table.
    pub fn route(self) -> &'static Route {
        &ROUTES[self as usize]
    }

    /// Its name for programs that are made from the document: `list_sessions`.
    pub fn id(self) -> String {
        let mut id = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !id.is_empty() {
                id.push('_');
            }
            id.push(letter.to_ascii_lowercase());
        }
        id
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Whoever can reach the gate.
    Anyone,
    /// Whoever has one of these rights. A refusal names the first.
    AnyOf(&'static [Right]),
    /// Whoever comes over the Unix socket.
    Socket,
}

/// What becomes of a call by a process that an agent runs. It is known over the Unix socket alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromInside {
    Served,
    /// Served, unless the text is a verdict on a prompt.
    VerdictsRefused,
    /// Refused. The journal says that this was tried.
    Refused(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: &'static str,
    /// `query` or `header`.
    pub place: &'static str,
    pub kind: &'static str,
    pub words: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub enum RequestBody {
    None,
    Text,
    /// Whatever it is, as it is.
    Bytes,
    Json(TypeSchema),
}

#[derive(Clone, Copy, Debug)]
pub enum ResponseBody {
    Text(&'static str),
    Json(TypeSchema),
    /// The same, with status 201: something that was not there before.
    Created(TypeSchema),
    Either(TypeSchema, TypeSchema),
    List(TypeSchema),
    /// A file, to be saved and not to be shown.
    File,
    /// The OpenAPI document itself.
    Document,
    /// Server-sent events: what each holds, and its type where that is one of ours.
    Stream(&'static str, Option<TypeSchema>),
    /// The connection becomes a link.
    Upgrade,
}

impl ResponseBody {
    pub fn status(&self) -> u16 {
        match self {
            Self::Created(_) => 201,
            Self::Upgrade => 101,
            _ => 200,
        }
    }
}

/// A type of the API, as the document names and describes it.
#[derive(Clone, Copy, Debug)]
pub struct TypeSchema {
    name: fn() -> Cow<'static, str>,
    collect: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl TypeSchema {
    pub(crate) const fn of<T: ToSchema>() -> Self {
        Self { name: T::name, collect: collect::<T> }
    }

    pub fn name(&self) -> Cow<'static, str> {
        (self.name)()
    }

    /// Adds the type and those it is made of.
    pub(crate) fn collect(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        (self.collect)(schemas);
    }
}

fn collect<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_is_one_row_and_no_two_share_a_method_and_a_path() {
        let mut places = BTreeSet::new();
        for (number, route) in ROUTES.iter().enumerate() {
            assert_eq!(route.operation as usize, number, "{route:?}");
            assert!(places.insert((route.path, route.method.name())), "{route:?}");
            assert!(!route.summary.is_empty() && route.path.starts_with('/'), "{route:?}");
        }
        assert_eq!(Operation::ListSessions.id(), "list_sessions");
    }

    /// What answers, starts, administers, or withholds and repeats what a person said is for people. A row that forgets
    /// it is found here.
    #[test]
    fn what_does_more_than_say_something_is_refused_from_inside_an_agent() {
        // Ending the gate takes nothing from anybody, what was barred must be told, a link's secret and a device's key are
        // credentials, and a check runs nothing.
        let with_a_key = [Operation::SubscribePush, Operation::UnsubscribePush, Operation::SetPresence];
        let served = [Operation::Stop, Operation::Bar, Operation::LinkDevice, Operation::CheckRules];
        let served = [&served[..], &with_a_key].concat();
        for route in ROUTES.iter().filter(|route| route.method != Method::Get && !served.contains(&route.operation)) {
            let RouteAccess::AnyOf(rights) = route.access else { panic!("{route:?} changes something for anyone") };
            let refused = matches!(route.from_inside, FromInside::Refused(_));
            let takes_words = matches!(route.operation, Operation::Say | Operation::PostEvent);
            let uploads = route.operation == Operation::UploadFile;
            assert!(takes_words || uploads || rights.contains(&Right::Agent) || refused, "{route:?}");
            assert_eq!(takes_words, route.from_inside == FromInside::VerdictsRefused, "{route:?}");
            assert_eq!(takes_words || uploads, route.rate_limited, "{route:?}");
        }
        let refused_reads = ROUTES.iter().filter(|route| route.method == Method::Get);
        assert!(refused_reads.into_iter().all(|route| route.from_inside == FromInside::Served));
    }

    #[test]
    fn what_is_for_this_machine_alone_is_not_served_to_others() {
        // The page itself, which holds nothing of anybody, and where a link is traded for a key.
        let open = [Operation::Welcome, Operation::Asset, Operation::LinkDevice];
        for route in ROUTES.iter().filter(|route| route.outside && !open.contains(&route.operation)) {
            assert!(matches!(route.access, RouteAccess::AnyOf(_)), "{route:?} would be open to the world");
            assert!(route.path.starts_with("/api/"), "{route:?}");
        }
        for local in [Operation::Stop, Operation::Link, Operation::Metrics, Operation::Bar, Operation::Hook] {
            assert!(!local.route().outside, "{local:?}");
        }
    }
}
