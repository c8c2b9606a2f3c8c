//! Claude Code as far as one tool call goes, over each kind of connection: which hooks it calls, when it asks, and what it
//! makes of the answers.

use super::table::{Connection, Scenario};
use crate::support::control::ControlClient;
use crate::support::home::Home;
use crate::support::hooks::{attend, by_tool_call_containing};
use crate::support::seen::until;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

/// How a call ended for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ran,
    RanEdited,
    Denied,
    /// Its own dialog at the terminal stays open.
    DialogStays,
    /// We said `ask` where the client does not listen, and it ran.
    Swallowed,
}

pub(super) struct Client {
    kind: Kind,
    connection: Connection,
}

enum Kind {
    Hooks(StandIn),
    Control(ControlClient),
    Channel(StandIn),
}

impl Client {
    pub(super) fn start(home: &Home, connection: Connection, scenario: &Scenario) -> Self {
        let kind = match connection {
            Connection::Control => Kind::Control(ControlClient::start(home, scenario.mode, scenario.run_args)),
            Connection::Acp => Kind::Control(ControlClient::start_acp(home, scenario.mode, &json!({}))),
            Connection::AcpTools => {
                let editor = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
                Kind::Control(ControlClient::start_acp(home, scenario.mode, &editor))
            }
            Connection::Channel => Kind::Channel(StandIn::start(home, &["--label", "api"])),
            Connection::HooksAtTerminal | Connection::HooksHeadless => {
                let session = StandIn::start(home, &["--label", "api"]);
                assert_eq!(session.hook("Notification", &json!({})), json!({}));
                if connection == Connection::HooksAtTerminal {
                    attend(home);
                }
                Kind::Hooks(session)
            }
        };
        Self { kind, connection }
    }

    /// Waits until the text of an event is before the model.
    pub(super) fn receives(&self, text: &str) {
        match &self.kind {
            Kind::Hooks(session) => drop(by_tool_call_containing(session, text)),
            Kind::Control(client) => client.hears(text),
            Kind::Channel(_) => unreachable!("no scenario of the channel needs this"),
        }
    }

    /// Waits until a stop has reached the session's process.
    pub(super) fn is_stopped(&self) {
        until("a stop", || {
            let read = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_stop"});
            (self.before(&read, "default")["permissionDecision"] == "deny").then_some(())
        });
    }

    /// Makes the call, as the client would in this mode.
    pub(super) fn call(&self, home: &Home, scenario: &Scenario) -> Outcome {
        if let Kind::Channel(session) = &self.kind {
            session.ask("abcde", scenario.tool, "Make a file", "touch made.txt");
            return match session.next_verdict().behavior.as_str() {
                "allow" => Outcome::Ran,
                _ => Outcome::Denied,
            };
        }
        let folder = home.project().join(scenario.folder);
        let call = json!({"tool_name": scenario.tool, "tool_input": (scenario.input)(home), "tool_use_id": "toolu_1",
                          "cwd": folder});
        let before = self.before(&call, scenario.mode);
        let heeds_ask =
            self.connection != Connection::HooksHeadless && !matches!(scenario.mode, "bypassPermissions" | "dontAsk");
        let is_asked = match before["permissionDecision"].as_str() {
            Some("deny") => return Outcome::Denied,
            Some("ask") if !heeds_ask => return Outcome::Swallowed,
            Some("ask") => true,
            // It lets through what we make ourselves.
            _ => asks_by_itself(scenario) && (self.connection != Connection::AcpTools || scenario.mode == "plan"),
        };
        if !is_asked {
            return self.made(&call, &call["tool_input"], Outcome::Ran);
        }
        let decision = self.asked(&call, scenario.mode);
        match decision["behavior"].as_str() {
            Some("allow") => match decision.get("updatedInput") {
                Some(input) if *input != call["tool_input"] => self.made(&call, input, Outcome::RanEdited),
                _ => self.made(&call, &call["tool_input"], Outcome::Ran),
            },
            Some("deny") => Outcome::Denied,
            _ if self.connection == Connection::HooksAtTerminal => Outcome::DialogStays,
            _ => Outcome::Denied,
        }
    }

    /// The client makes the call: a tool through the editor must do so, and only so.
    fn made(&self, call: &Value, input: &Value, outcome: Outcome) -> Outcome {
        let (Kind::Control(client), Connection::AcpTools) = (&self.kind, self.connection) else { return outcome };
        let (tool, id) = (call["tool_name"].as_str().unwrap(), call["tool_use_id"].as_str().unwrap());
        if client.makes_call(tool, input, id) { outcome } else { Outcome::Denied }
    }

    /// The call as the client names it.
    fn named(&self, call: &Value) -> Value {
        let mut call = call.clone();
        if self.connection == Connection::AcpTools {
            call["tool_name"] = format!("mcp__acp__{}", call["tool_name"].as_str().unwrap()).into();
            call["mcp_server"] = json!({"name": "acp", "source": "sdk"});
        }
        call
    }

    /// What the hook before a tool is answered.
    fn before(&self, call: &Value, mode: &str) -> Value {
        match &self.kind {
            Kind::Hooks(session) => {
                let mut fields = call.clone();
                fields["permission_mode"] = mode.into();
                session.hook("PreToolUse", &fields)["hookSpecificOutput"].clone()
            }
            Kind::Control(client) => {
                let mut input = self.named(call);
                input["permission_mode"] = mode.into();
                let hook = json!({"subtype": "hook_callback", "callback_id": "before", "input": input});
                client.request(&hook)["hookSpecificOutput"].clone()
            }
            Kind::Channel(_) => Value::Null,
        }
    }

    /// What a permission request is answered.
    fn asked(&self, call: &Value, mode: &str) -> Value {
        let suggestions = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch *"}],
                                  "behavior": "allow", "destination": "localSettings"}]);
        match &self.kind {
            Kind::Hooks(session) => {
                let fields = json!({"tool_name": call["tool_name"], "tool_input": call["tool_input"], "cwd": call["cwd"],
                                    "permission_mode": mode, "permission_suggestions": suggestions});
                session.hook("PermissionRequest", &fields)["hookSpecificOutput"]["decision"].clone()
            }
            Kind::Channel(_) => Value::Null,
            Kind::Control(client) => {
                let call = self.named(call);
                let mut request = json!({"subtype": "can_use_tool", "tool_name": call["tool_name"],
                    "input": call["tool_input"], "tool_use_id": call["tool_use_id"], "permission_suggestions": suggestions});
                if let Some(server) = call.get("mcp_server") {
                    request["mcp_server"] = server.clone();
                }
                client.request(&request)
            }
        }
    }
}

/// Whether the client asks although nobody told it to: for questions and plans always, else as its mode says.
fn asks_by_itself(scenario: &Scenario) -> bool {
    let is_question = matches!(scenario.tool, "AskUserQuestion" | "ExitPlanMode");
    let reads = scenario.name.contains("only reads");
    is_question || !reads && matches!(scenario.mode, "default" | "plan")
}
