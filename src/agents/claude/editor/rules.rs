//! The client's own rules, for calls that we make in its place: it does not apply them to tools of MCP servers.

use std::path::Path;

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use serde_json::Value;

/// The rules that the client says it has. One that denies or asks and cannot be understood has everything asked for, and so
/// has no answer at all.
pub(in crate::agents::claude) fn read(listed: Option<&Value>, client_folder: Option<&Path>) -> Vec<Rule> {
    let Some(state) = listed.and_then(|listed| listed.get("state")) else {
        return ask_for_everything("Claude Code does not tell its rules");
    };
    let folder = state.get("originalCwd").and_then(Value::as_str).unwrap_or("/");
    let rules = state.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut read = vec![];
    for rule in rules
        .iter()
        .filter(|rule| rule.get("notInEffect").is_none_or(|not| matches!(not, Value::Null | Value::Bool(false))))
    {
        let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
        let decision = match text("behavior") {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            _ => return ask_for_everything("Claude Code has a rule that is not understood"),
        };
        let origin = match text("source") {
            "projectSettings" | "localSettings" => Origin::Project { trusted: true },
            "session" | "command" => Origin::Session,
            "cliArg" | "flagSettings" => Origin::CommandLine,
            _ => Origin::User,
        };
        let base = match text("source") {
            "userSettings" => client_folder.map_or_else(|| folder.to_owned(), |folder| folder.display().to_string()),
            _ => folder.to_owned(),
        };
        match Rule::new(decision, text("rule"), RuleSource { origin, place: None, base }) {
            Ok(rule) => read.push(rule),
            // What it would allow is asked for.
            Err(_) if decision == Decision::Allow => {}
            Err(_) => return ask_for_everything("Claude Code has a rule that is not understood"),
        }
    }
    read
}

fn ask_for_everything(why: &str) -> Vec<Rule> {
    let source = RuleSource { origin: Origin::User, place: None, base: "/".to_owned() };
    let rule = Rule::new(Decision::Ask, "*", source).map(|rule| Rule { why: Some(why.to_owned()), ..rule });
    rule.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(rules: &Value) -> Vec<String> {
        let listed = json!({"state": {"rules": rules, "originalCwd": "/home/ann"}});
        let show = |rule: Rule| format!("{:?} {} from {}", rule.decision, rule.pattern, rule.source.base);
        read(Some(&listed), Some(Path::new("/home/ann/.claude"))).into_iter().map(show).collect()
    }

    #[test]
    fn rules_of_the_client_are_taken_with_where_they_stand() {
        let rules = of(&json!([
            {"behavior": "deny", "source": "projectSettings", "rule": "Read(./secret/**)"},
            {"behavior": "ask", "source": "userSettings", "rule": "Edit(/x.txt)"},
            {"behavior": "allow", "source": "localSettings", "rule": "Bash(npm test *)"},
            {"behavior": "deny", "source": "userSettings", "rule": "Bash", "notInEffect": "shadowed"},
        ]));
        assert_eq!(
            rules,
            [
                "Deny Read(./secret/**) from /home/ann",
                "Ask Edit(/x.txt) from /home/ann/.claude",
                "Allow Bash(npm test *) from /home/ann"
            ]
        );
    }

    #[test]
    fn what_cannot_be_understood_has_everything_asked_for() {
        assert_eq!(of(&json!([{"behavior": "deny", "rule": "Read(((("}])), ["Ask * from /"]);
        assert_eq!(of(&json!([{"behavior": "perhaps", "rule": "Read"}])), ["Ask * from /"]);
        assert_eq!(of(&json!([{"behavior": "allow", "rule": ""}])), Vec::<String>::new());
        assert_eq!(read(None, None).len(), 1);
    }
}
