//! What Claude Code suggests to remember with an answer: which scopes it makes possible, in words, and what is sent back
//! when someone takes one.

use serde_json::Value;

/// Where we remember the tools of MCP servers ourselves.
pub const GATEWAY: &str = "gateway";

/// One kind of remembering, as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggested {
    /// False: for this session alone.
    pub always: bool,
    pub words: String,
}

/// What the suggestions let a reviewer choose beyond *once*.
pub fn suggested(suggestions: &[Value]) -> Vec<Suggested> {
    let mut offers = vec![];
    let session = in_words(of_the_session(suggestions));
    if !session.is_empty() {
        offers.push(Suggested { always: false, words: format!("{session}, for this session") });
    }
    let lasting: Vec<&Value> = suggestions.iter().filter(|suggestion| lasts(suggestion)).collect();
    let always = in_words(lasting.iter().copied());
    if !always.is_empty() {
        let place = lasting.iter().filter_map(|suggestion| place(suggestion)).next().unwrap_or("its settings");
        offers.push(Suggested { always: true, words: format!("{always}, in {place}") });
    }
    offers
}

/// What goes back to the client: everything for the session, or what it would write down.
pub fn remembered(suggestions: &[Value], always: bool) -> Vec<Value> {
    if always {
        let chosen = suggestions.iter().filter(|suggestion| lasts(suggestion) && !words_of(suggestion).is_empty());
        return chosen.cloned().collect();
    }
    let for_session = |suggestion: &Value| {
        let mut suggestion = suggestion.clone();
        suggestion["destination"] = Value::from("session");
        suggestion
    };
    of_the_session(suggestions).filter(|suggestion| !words_of(suggestion).is_empty()).map(for_session).collect()
}

/// The client changes to this mode, for this session.
pub fn set_mode(mode: &str) -> Value {
    serde_json::json!({"type": "setMode", "mode": mode, "destination": "session"})
}

/// Where there is a rule for the call itself, nobody who takes it wants to let all edits through as well.
fn of_the_session(suggestions: &[Value]) -> impl Iterator<Item = &Value> {
    let is_rule = |suggestion: &Value| suggestion["type"] == "addRules" && !words_of(suggestion).is_empty();
    let has_rule = suggestions.iter().any(is_rule);
    suggestions.iter().filter(move |suggestion| !has_rule || suggestion["type"] != "setMode")
}

fn lasts(suggestion: &Value) -> bool {
    place(suggestion).is_some()
}

fn place(suggestion: &Value) -> Option<&'static str> {
    match suggestion["destination"].as_str()? {
        "userSettings" => Some("your settings"),
        "projectSettings" => Some("this project's settings"),
        "localSettings" => Some("this project's local settings"),
        GATEWAY => Some("the gateway, until the server describes it otherwise"),
        _ => None,
    }
}

fn in_words<'a>(suggestions: impl Iterator<Item = &'a Value>) -> String {
    suggestions.map(words_of).filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Only what widens by what it says: a suggestion we do not understand is not offered.
fn words_of(suggestion: &Value) -> String {
    match suggestion["type"].as_str() {
        Some("addRules") if suggestion["behavior"] == "allow" => {
            let rules = suggestion["rules"].as_array().map_or(&[][..], Vec::as_slice);
            let rule = |rule: &Value| {
                let tool = rule["toolName"].as_str().unwrap_or_default();
                match rule["ruleContent"].as_str() {
                    Some(content) => format!("{tool}({content})"),
                    None => tool.to_owned(),
                }
            };
            rules.iter().map(rule).collect::<Vec<_>>().join(", ")
        }
        Some("setMode") => match suggestion["mode"].as_str() {
            Some(mode @ ("acceptEdits" | "default" | "plan")) => format!("mode {mode}"),
            _ => String::new(),
        },
        Some("addDirectories") => {
            let folders = suggestion["directories"].as_array().map_or(&[][..], Vec::as_slice);
            let folders: Vec<&str> = folders.iter().filter_map(Value::as_str).collect();
            if folders.is_empty() { String::new() } else { format!("the folder {}", folders.join(", ")) }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_client_suggests_is_offered_in_words_and_sent_back_as_it_was() {
        let rule = json!({"type": "addRules", "behavior": "allow", "destination": "localSettings",
                          "rules": [{"toolName": "Bash", "ruleContent": "npm run *"}]});
        let offers = suggested(std::slice::from_ref(&rule));
        let words: Vec<&str> = offers.iter().map(|offer| offer.words.as_str()).collect();
        assert_eq!(words, ["Bash(npm run *), for this session", "Bash(npm run *), in this project's local settings"]);
        assert_eq!(remembered(std::slice::from_ref(&rule), true), *std::slice::from_ref(&rule));
        assert_eq!(remembered(&[rule], false)[0]["destination"], "session");
    }

    #[test]
    fn who_takes_a_rule_for_the_session_does_not_change_its_mode() {
        let rule = json!({"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Read"}]});
        let edits = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        let both = [rule, edits];
        assert_eq!(suggested(&both)[0].words, "Read, for this session");
        assert_eq!(remembered(&both, false).len(), 1);
    }

    #[test]
    fn what_is_for_the_session_alone_is_never_for_always_and_bypass_is_never_offered() {
        let edits = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        let bypass = json!({"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"});
        let odd = json!({"type": "addRules", "behavior": "deny", "destination": "userSettings", "rules": []});
        let offers = suggested(&[edits.clone(), bypass.clone(), odd.clone(), json!(7)]);
        assert_eq!(offers, [Suggested { always: false, words: "mode acceptEdits, for this session".to_owned() }]);
        assert!(remembered(&[edits, bypass.clone(), odd], true).is_empty());
        assert!(suggested(&[bypass]).is_empty());
    }
}
