//! The scenarios, and how each ends.

use super::client::Outcome::{self, Denied, DialogStays, Ran, RanEdited};
use crate::support::home::Home;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    HooksAtTerminal,
    HooksHeadless,
    Control,
    Acp,
    /// The same call of a tool that works through the editor.
    AcpTools,
    Channel,
}

impl Connection {
    const ALL: [(Self, &str); 6] = [
        (Self::HooksAtTerminal, "hooks, at a terminal"),
        (Self::HooksHeadless, "hooks, `claude -p`"),
        (Self::Control, "control protocol (`run`, held sessions)"),
        (Self::Acp, "editor (`acp`)"),
        (Self::AcpTools, "tools through the editor"),
        (Self::Channel, "channel without hooks"),
    ];
}

/// What has happened before the call.
#[derive(Clone, Copy)]
pub(super) enum Given {
    Nothing,
    Stopped,
    OutsideText,
    OutsideTextAndThenTheOwner,
}

/// What people do.
#[derive(Clone, Copy)]
pub(super) enum People {
    NotAsked,
    Silent,
    Allow,
    Deny,
    AllowWith(fn() -> Value),
    TwoAllow,
    Stop,
    KillTheGateAndAllow,
}

impl PartialEq for People {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) rules: &'static str,
    pub(super) mode: &'static str,
    pub(super) tool: &'static str,
    pub(super) input: fn(&Home) -> Value,
    /// Where the call is made, below the project.
    pub(super) folder: &'static str,
    pub(super) given: Given,
    pub(super) people: People,
    pub(super) ends: Outcome,
    /// Where a named capability is missing the end is another.
    pub(super) differences: &'static [(Connection, Outcome, &'static str)],
    /// More words for `portcullis run`.
    pub(super) run_args: &'static [&'static str],
}

impl Scenario {
    /// What the connection cannot do that the scenario needs. The channel is told of a dialog that is open, and takes one verdict.
    pub(super) fn missing(&self, connection: Connection) -> Option<&'static str> {
        let needs_call = !self.rules.is_empty() || self.mode != "default" || !matches!(self.given, Given::Nothing);
        match self.people {
            _ if connection == Connection::AcpTools && self.mode == "auto" => Some("in auto they are off"),
            _ if connection == Connection::AcpTools && !matches!(self.tool, "Bash" | "Write") => {
                Some("it is none of them")
            }
            People::Silent if matches!(connection, Connection::Acp | Connection::AcpTools) => {
                Some("its prompt has no limit")
            }
            _ if connection != Connection::Channel => None,
            People::AllowWith(_) => Some("it cannot edit"),
            People::Silent => Some("its prompt has no limit"),
            _ if needs_call || self.people == People::Stop => Some("it is not told of calls"),
            _ => None,
        }
    }

    pub(super) fn wanted(&self, connection: Connection) -> Outcome {
        self.differences.iter().find(|(other, ..)| *other == connection).map_or(self.ends, |(_, ends, _)| *ends)
    }
}

fn touch(_: &Home) -> Value {
    json!({"command": "touch made.txt", "description": "Make a file"})
}

const CALL: Scenario = Scenario {
    name: "",
    rules: "",
    mode: "default",
    tool: "Bash",
    input: touch,
    folder: ".",
    given: Given::Nothing,
    people: People::NotAsked,
    ends: Ran,
    differences: &[],
    run_args: &[],
};

const ASK: &str = "[[rule]]\nask = \"Bash(touch *)\"\n";
const ALLOW: &str = "[[rule]]\nallow = \"Bash(touch *)\"\n";
const TWO: &str = "[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\n";
const NO_SECRETS: &str = "[[rule]]\ndeny = \"Read(secrets/**)\"\n";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "deny rule",
        rules: "[[rule]]\ndeny = \"Bash(touch *)\"\n",
        mode: "bypassPermissions",
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "deny rule, in default mode",
        rules: "[[rule]]\ndeny = \"Bash(touch *)\"\n",
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "deny rule on a path, from the call's own folder",
        rules: NO_SECRETS,
        mode: "bypassPermissions",
        input: |_| json!({"command": "cat key.pem"}),
        folder: "secrets",
        ends: Denied,
        ..CALL
    },
    Scenario { name: "the client asks, a person allows", people: People::Allow, ..CALL },
    Scenario { name: "the client asks, a person denies", people: People::Deny, ends: Denied, ..CALL },
    Scenario { name: "ask rule, allowed", rules: ASK, people: People::Allow, ..CALL },
    Scenario { name: "ask rule, denied", rules: ASK, people: People::Deny, ends: Denied, ..CALL },
    Scenario {
        name: "ask rule in acceptEdits, denied",
        rules: ASK,
        mode: "acceptEdits",
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario { name: "ask rule in auto, allowed", rules: ASK, mode: "auto", people: People::Allow, ..CALL },
    Scenario {
        name: "ask rule in bypassPermissions, allowed",
        rules: ASK,
        mode: "bypassPermissions",
        people: People::Allow,
        ..CALL
    },
    Scenario {
        name: "ask rule in bypassPermissions, denied",
        rules: ASK,
        mode: "bypassPermissions",
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "ask rule in dontAsk, denied",
        rules: ASK,
        mode: "dontAsk",
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "mandatory ask: a protected file in acceptEdits, denied",
        mode: "acceptEdits",
        tool: "Write",
        input: |home| json!({"file_path": home.project().join(".git/config"), "content": "x"}),
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "mandatory ask: a protected file in auto, denied",
        mode: "auto",
        tool: "Write",
        input: |home| json!({"file_path": home.project().join(".git/config"), "content": "x"}),
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "mandatory ask: a critical removal in bypassPermissions, denied",
        mode: "bypassPermissions",
        input: |_| json!({"command": "rm -rf ~"}),
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "mandatory ask: an allow rule does not answer it",
        rules: "[[rule]]\nallow = \"Bash\"\n",
        input: |_| json!({"command": "rm -rf ~"}),
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "mandatory ask: a line too long to be read, which a rule may deny, denied",
        rules: "[[rule]]\ndeny = \"Bash(touch *)\"\n",
        mode: "bypassPermissions",
        input: |_| json!({"command": format!(": {}; touch made.txt", "a".repeat(10_001))}),
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario { name: "allow rule", rules: ALLOW, ..CALL },
    Scenario {
        name: "allow rule in plan mode, denied",
        rules: ALLOW,
        mode: "plan",
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "edited input",
        people: People::AllowWith(|| json!({"command": "touch other.txt"})),
        ends: RanEdited,
        ..CALL
    },
    Scenario {
        name: "edited input that a rule denies",
        rules: "[[rule]]\ndeny = \"Bash(rm *)\"\n",
        people: People::AllowWith(|| json!({"command": "rm made.txt"})),
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "edited input that wants more people",
        rules: "[[rule]]\nask = \"Bash(rm *)\"\nquorum = 2\n",
        people: People::AllowWith(|| json!({"command": "rm made.txt"})),
        ends: Denied,
        ..CALL
    },
    Scenario { name: "quorum of two", rules: TWO, people: People::TwoAllow, ..CALL },
    Scenario {
        name: "quorum of two in bypassPermissions",
        rules: TWO,
        mode: "bypassPermissions",
        people: People::TwoAllow,
        ..CALL
    },
    Scenario { name: "quorum of two, one denies", rules: TWO, people: People::Deny, ends: Denied, ..CALL },
    Scenario { name: "stop", mode: "bypassPermissions", given: Given::Stopped, ends: Denied, ..CALL },
    Scenario { name: "stop, an allow rule matches", rules: ALLOW, given: Given::Stopped, ends: Denied, ..CALL },
    Scenario { name: "stop while people are asked", people: People::Stop, ends: Denied, ..CALL },
    Scenario {
        name: "question",
        tool: "AskUserQuestion",
        input: |_| json!({"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}),
        people: People::AllowWith(|| json!({"questions": [], "answers": {"Which?": "A"}})),
        ends: RanEdited,
        ..CALL
    },
    Scenario {
        name: "plan",
        mode: "plan",
        tool: "ExitPlanMode",
        input: |_| json!({"plan": "do it"}),
        people: People::Allow,
        ..CALL
    },
    Scenario {
        name: "outside text, in bypassPermissions, denied",
        mode: "bypassPermissions",
        given: Given::OutsideText,
        people: People::Deny,
        ends: Denied,
        ..CALL
    },
    Scenario {
        name: "outside text, in auto, allowed",
        mode: "auto",
        given: Given::OutsideText,
        people: People::Allow,
        ..CALL
    },
    Scenario {
        name: "outside text, the call only reads",
        given: Given::OutsideText,
        input: |_| json!({"command": "ls"}),
        ..CALL
    },
    Scenario {
        name: "outside text, a rule of the user's own allows the call",
        rules: ALLOW,
        given: Given::OutsideText,
        ..CALL
    },
    Scenario {
        name: "outside text, then the owner has spoken",
        mode: "bypassPermissions",
        given: Given::OutsideTextAndThenTheOwner,
        ..CALL
    },
    Scenario { name: "gate killed while people are asked", people: People::KillTheGateAndAllow, ..CALL },
    Scenario {
        name: "gate killed while a call is held, in bypassPermissions",
        rules: ASK,
        mode: "bypassPermissions",
        people: People::KillTheGateAndAllow,
        ..CALL
    },
    Scenario {
        name: "nobody answers in time",
        people: People::Silent,
        ends: Denied,
        differences: &[(Connection::HooksAtTerminal, DialogStays, "it has a terminal of its own")],
        run_args: &["--held", "--once", "--ask-seconds", "1"],
        ..CALL
    },
];

/// The table as a page of the reference.
pub(super) fn documentation() -> String {
    let mut page =
        "# What becomes of a tool call\n\nThe same call under the same rules ends alike, however the agent is \
        connected. `tests/it/session/scenarios` runs every row over every column and writes this page.\n\n| scenario |"
            .to_owned();
    for (_, name) in Connection::ALL {
        write!(page, " {name} |").unwrap();
    }
    page.push_str("\n|---|---|---|---|---|---|---|\n");
    for scenario in SCENARIOS {
        write!(page, "| {} |", scenario.name).unwrap();
        for (connection, _) in Connection::ALL {
            if let Some(missing) = scenario.missing(connection) {
                write!(page, " does not apply ({missing}) |").unwrap();
                continue;
            }
            let reason = scenario.differences.iter().find(|(other, ..)| *other == connection);
            let because = reason.map(|(.., why)| format!(" ({why})")).unwrap_or_default();
            write!(page, " {}{because} |", scenario.wanted(connection)).unwrap();
        }
        page.push('\n');
    }
    page
}
