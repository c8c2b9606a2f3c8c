//! Whose message is whose: several clients of one server, which takes them for one.
//!
//! Decides and does no I/O. Ids of requests and tokens of progress are ours towards the server, so that those of two clients
//! are never the same. What a server says by itself names no request: it goes to the client that alone has something under
//! way. What could be for two is given to neither.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

/// A client of a shared server, by a number that no other has.
pub(super) type ClientNumber = u64;

/// Questions of a server that have no answer yet. Nobody looks at more of them at once.
const MOST_QUESTIONS: usize = 32;

const METHOD_NOT_FOUND: i64 = -32601;
const INTERNAL: i64 = -32603;

/// Where a message goes.
#[derive(Debug, PartialEq)]
pub(super) enum Routed {
    ToServer(Value),
    ToClient(ClientNumber, Value),
    /// Nobody knows yet whose it is. Looked at again whenever a request ends; refused when that takes too long.
    Held(Value),
}

/// What is known of the clients of one server.
pub(super) struct Routing {
    /// What the server said of itself.
    initialized: Value,
    clients: BTreeSet<ClientNumber>,
    /// Requests that the server has not answered, by the id that it knows.
    under_way: BTreeMap<u64, ClientRequest>,
    last: u64,
    /// Requests of the server, by its id as text, and the client that was asked.
    asked: HashMap<String, ClientNumber>,
    /// Requests of the server whose client is not known yet, by its id as text.
    held: BTreeMap<String, Value>,
    /// Who wants to hear of changes at an address.
    subscribed: BTreeMap<String, BTreeSet<ClientNumber>>,
}

struct ClientRequest {
    client: ClientNumber,
    /// As the client calls it.
    id: Value,
    progress: Option<Value>,
}

impl Routing {
    pub(super) fn new(initialized: Value) -> Self {
        Self {
            initialized,
            clients: BTreeSet::new(),
            under_way: BTreeMap::new(),
            last: 0,
            asked: HashMap::new(),
            held: BTreeMap::new(),
            subscribed: BTreeMap::new(),
        }
    }

    pub(super) fn join(&mut self, client: ClientNumber) {
        self.clients.insert(client);
    }

    /// The client is gone: what it had under way is taken back, and what it was asked is refused.
    pub(super) fn leave(&mut self, client: ClientNumber) -> Vec<Routed> {
        self.clients.remove(&client);
        for wanted in self.subscribed.values_mut() {
            wanted.remove(&client);
        }
        self.subscribed.retain(|_, wanted| !wanted.is_empty());
        let ended = self.under_way.extract_if(.., |_, request| request.client == client);
        let mut routed: Vec<Routed> = ended.map(|(id, _)| Routed::ToServer(cancelled(&id.into()))).collect();
        let asked = self.asked.extract_if(|_, asked| *asked == client).map(|(id, _)| id);
        routed.extend(asked.map(|id| refused(&id, "the client left")));
        routed.extend(self.look_at_held());
        routed
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(super) fn route_client(&mut self, client: ClientNumber, mut message: Value) -> Vec<Routed> {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let Some(method) = method else {
            // An answer: only of whoever was asked.
            let id = message["id"].to_string();
            let is_asked = self.asked.get(&id) == Some(&client);
            return if is_asked && self.asked.remove(&id).is_some() { vec![Routed::ToServer(message)] } else { vec![] };
        };
        let Some(id) = message.get("id").cloned() else { return self.told_by(client, &method, message) };
        let answer =
            |result: &Value| vec![Routed::ToClient(client, json!({"jsonrpc": "2.0", "id": id, "result": result}))];
        match method.as_str() {
            "initialize" => return answer(&self.initialized),
            // Its connection was made long before this client came, by `initialize`.
            "server/discover" => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": "Method not found"});
                return vec![Routed::ToClient(client, json!({"jsonrpc": "2.0", "id": id, "error": error}))];
            }
            "resources/subscribe" => drop(self.subscribed.entry(uri_of(&message)).or_default().insert(client)),
            "resources/unsubscribe" => {
                let uri = uri_of(&message);
                let wanted = self.subscribed.entry(uri.clone()).or_default();
                wanted.remove(&client);
                if !wanted.is_empty() {
                    return answer(&json!({}));
                }
                self.subscribed.remove(&uri);
            }
            _ => {}
        }
        self.last += 1;
        let progress = message.pointer_mut("/params/_meta/progressToken").map(|token| {
            let theirs = token.take();
            *token = self.last.into();
            theirs
        });
        message["id"] = self.last.into();
        self.under_way.insert(self.last, ClientRequest { client, id, progress });
        vec![Routed::ToServer(message)]
    }

    /// What has no answer.
    fn told_by(&mut self, client: ClientNumber, method: &str, message: Value) -> Vec<Routed> {
        match method {
            // The server has heard it from us.
            "notifications/initialized" => vec![],
            "notifications/cancelled" => {
                let theirs = &message["params"]["requestId"];
                let is_it = |(_, request): &(&u64, &ClientRequest)| request.client == client && request.id == *theirs;
                let Some(id) = self.under_way.iter().find(is_it).map(|(id, _)| *id) else { return vec![] };
                self.under_way.remove(&id);
                let mut routed = vec![Routed::ToServer(cancelled(&id.into()))];
                routed.extend(self.look_at_held());
                routed
            }
            _ => vec![Routed::ToServer(message)],
        }
    }

    pub(super) fn route_server(&mut self, mut message: Value) -> Vec<Routed> {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, message.get("id").cloned()) {
            (None, Some(id)) => {
                let Some(request) = id.as_u64().and_then(|id| self.under_way.remove(&id)) else { return vec![] };
                message["id"] = request.id;
                let mut routed = vec![Routed::ToClient(request.client, message)];
                routed.extend(self.look_at_held());
                routed
            }
            (Some(method), Some(id)) => match method.as_str() {
                "ping" => vec![Routed::ToServer(json!({"jsonrpc": "2.0", "id": id, "result": {}}))],
                "elicitation/create" | "sampling/createMessage" => self.ask(&id, message),
                // The folders of several clients are no one list.
                _ => {
                    let error = json!({"code": METHOD_NOT_FOUND, "message": "Method not found"});
                    vec![Routed::ToServer(json!({"jsonrpc": "2.0", "id": id, "error": error}))]
                }
            },
            (Some(method), None) => self.told(&method, message),
            (None, None) => vec![],
        }
    }

    /// Whoever alone has something under way is asked.
    fn ask(&mut self, id: &Value, message: Value) -> Vec<Routed> {
        if self.asked.len() + self.held.len() >= MOST_QUESTIONS {
            return vec![refused(&id.to_string(), "too many questions of yours wait for an answer")];
        }
        match self.at_work().as_slice() {
            [] => vec![refused(&id.to_string(), "no client has anything under way")],
            [client] => {
                self.asked.insert(id.to_string(), *client);
                vec![Routed::ToClient(*client, message)]
            }
            _ => {
                self.held.insert(id.to_string(), message.clone());
                vec![Routed::Held(message)]
            }
        }
    }

    fn look_at_held(&mut self) -> Vec<Routed> {
        if self.held.is_empty() || self.at_work().len() > 1 {
            return vec![];
        }
        let held = std::mem::take(&mut self.held);
        held.into_values().flat_map(|message| self.ask(&message["id"].clone(), message)).collect()
    }

    /// Nobody is asked any more.
    pub(super) fn give_up(&mut self, id: &Value) -> Vec<Routed> {
        let held = self.held.remove(&id.to_string());
        let why = "several clients have something under way, and nobody can tell which of them is asked";
        held.map(|_| refused(&id.to_string(), why)).into_iter().collect()
    }

    fn told(&mut self, method: &str, mut message: Value) -> Vec<Routed> {
        let to = |clients: Vec<ClientNumber>, message: &Value| {
            clients.into_iter().map(|client| Routed::ToClient(client, message.clone())).collect()
        };
        match method {
            "notifications/progress" => {
                let ours = message["params"]["progressToken"].as_u64();
                let Some(request) = ours.and_then(|token| self.under_way.get(&token)) else { return vec![] };
                let Some(theirs) = &request.progress else { return vec![] };
                message["params"]["progressToken"] = theirs.clone();
                vec![Routed::ToClient(request.client, message)]
            }
            "notifications/cancelled" => {
                let id = message["params"]["requestId"].to_string();
                self.held.remove(&id);
                self.asked.remove(&id).map(|client| Routed::ToClient(client, message)).into_iter().collect()
            }
            "notifications/resources/updated" => {
                let wanted = self.subscribed.get(&uri_of(&message)).into_iter().flatten().copied();
                to(wanted.collect(), &message)
            }
            // What it logs may tell of a call.
            "notifications/message" => match (self.at_work().as_slice(), self.clients.len()) {
                ([client], _) => to(vec![*client], &message),
                (_, 1) => to(self.clients.iter().copied().collect(), &message),
                _ => vec![],
            },
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/elicitation/complete" => to(self.clients.iter().copied().collect(), &message),
            _ => vec![],
        }
    }

    /// Clients that wait for an answer of the server.
    fn at_work(&self) -> Vec<ClientNumber> {
        let clients: BTreeSet<ClientNumber> = self.under_way.values().map(|request| request.client).collect();
        clients.into_iter().collect()
    }
}

fn uri_of(message: &Value) -> String {
    message["params"]["uri"].as_str().unwrap_or_default().to_owned()
}

fn cancelled(id: &Value) -> Value {
    let params = json!({"requestId": id, "reason": "the client took it back"});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// `id` as JSON.
fn refused(id: &str, why: &str) -> Routed {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    Routed::ToServer(json!({"jsonrpc": "2.0", "id": id, "error": {"code": INTERNAL, "message": why}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Routing {
        let mut routing = Routing::new(json!({"serverInfo": {"name": "s"}}));
        routing.join(1);
        routing.join(2);
        routing
    }

    fn request(id: u64, method: &str, params: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    fn call(id: u64, token: &str) -> Value {
        request(id, "tools/call", &json!({"name": "t", "_meta": {"progressToken": token}}))
    }

    fn told(method: &str, params: &Value) -> Value {
        json!({"jsonrpc": "2.0", "method": method, "params": params})
    }

    #[test]
    fn answers_and_progress_find_the_client_that_called_under_its_own_id_and_token() {
        let mut routing = two();
        let [Routed::ToServer(first)] = &*routing.route_client(1, call(7, "a")) else { panic!() };
        let [Routed::ToServer(second)] = &*routing.route_client(2, call(7, "a")) else { panic!() };
        assert_eq!((&first["id"], &second["id"]), (&json!(1), &json!(2)));
        assert_eq!(second["params"]["_meta"]["progressToken"], 2);
        let progress = told("notifications/progress", &json!({"progressToken": 2, "progress": 1}));
        let theirs = told("notifications/progress", &json!({"progressToken": "a", "progress": 1}));
        assert_eq!(routing.route_server(progress), [Routed::ToClient(2, theirs)]);
        let answer = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {}});
        assert_eq!(routing.route_server(answer(2)), [Routed::ToClient(2, answer(7))]);
        assert_eq!(routing.route_server(answer(2)), [], "it was answered");
        let taken_back = told("notifications/cancelled", &json!({"requestId": 7}));
        assert_eq!(routing.route_client(2, taken_back.clone()), [], "the other's call has the same id");
        assert_eq!(routing.route_client(1, taken_back), [Routed::ToServer(cancelled(&json!(1)))]);
    }

    #[test]
    fn a_server_asks_whoever_alone_waits_for_it_and_nobody_else_can_answer() {
        let mut routing = two();
        let question = |id: u64| request(id, "elicitation/create", &json!({"message": "?"}));
        let answer = |id: u64| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
        let is_refused =
            |routed: &[Routed]| matches!(routed, [Routed::ToServer(refusal)] if refusal["error"].is_object());
        assert!(is_refused(&routing.route_server(question(1))), "nobody called");
        routing.route_client(1, call(1, "a"));
        assert_eq!(routing.route_server(question(2)), [Routed::ToClient(1, question(2))]);
        assert_eq!(routing.route_client(2, answer(2)), [], "it is not the one that was asked");
        assert_eq!(routing.route_client(1, answer(2)), [Routed::ToServer(answer(2))]);
        assert_eq!(routing.route_client(1, answer(2)), [], "once");
        // Both wait: the question waits too, and is for the one that is left.
        routing.route_client(2, call(1, "a"));
        assert_eq!(routing.route_server(question(3)), [Routed::Held(question(3))]);
        let done = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        let routed = routing.route_server(done);
        assert_eq!(routed[1], Routed::ToClient(2, question(3)));
        assert!(routing.give_up(&json!(3)).is_empty());
        routing.route_client(1, call(2, "a"));
        assert_eq!(routing.route_server(question(4)), [Routed::Held(question(4))]);
        assert!(is_refused(&routing.give_up(&json!(4))));
        let more = (100..200).map(|id| routing.route_server(question(id)));
        assert_eq!(more.filter(|routed| !is_refused(routed)).count(), MOST_QUESTIONS - 1, "question 3 waits as well");
        (100..200).for_each(|id| drop(routing.give_up(&json!(id))));
        // Who leaves takes its calls back, and answers nothing any more.
        let left = routing.leave(2);
        assert!(matches!(&left[..], [Routed::ToServer(taken_back), Routed::ToServer(refusal)]
            if taken_back["params"]["requestId"] == 2 && refusal["id"] == 3));
    }

    #[test]
    fn what_is_logged_and_changed_is_told_to_whom_it_is_for() {
        let mut routing = two();
        let logged = told("notifications/message", &json!({"data": "x"}));
        assert_eq!(routing.route_server(logged.clone()), [], "it may be of either");
        routing.route_client(2, call(1, "a"));
        assert_eq!(routing.route_server(logged.clone()), [Routed::ToClient(2, logged.clone())]);
        routing.route_client(1, call(1, "a"));
        assert_eq!(routing.route_server(logged), []);
        let changed = told("notifications/tools/list_changed", &json!({}));
        assert_eq!(routing.route_server(changed).len(), 2);
        let at = json!({"uri": "a://b"});
        routing.route_client(1, request(2, "resources/subscribe", &at));
        routing.route_client(2, request(2, "resources/subscribe", &at));
        let updated = told("notifications/resources/updated", &at);
        assert_eq!(routing.route_server(updated.clone()).len(), 2);
        // The other still wants to hear of it.
        let routed = routing.route_client(1, request(3, "resources/unsubscribe", &at));
        assert!(matches!(&routed[..], [Routed::ToClient(1, _)]));
        assert_eq!(routing.route_server(updated.clone()), [Routed::ToClient(2, updated)]);
        let routed = routing.route_client(2, request(3, "resources/unsubscribe", &at));
        assert!(matches!(&routed[..], [Routed::ToServer(_)]));
    }
}
