//! What is put in is taken out, whatever else stands in the file.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::setup::hooks::{self, Callee};
use crate::setup::patch::{undo_all, undo_all_exactly};

fn additions(denied: &[String]) -> Vec<Addition> {
    let callee = Callee { server: "portcullis".to_owned(), program: Path::new("/usr/bin/portcullis") };
    hooks::rules("portcullis", denied).into_iter().chain(hooks::own_hooks(&callee)).collect()
}

/// By what was added alone, as when others have changed the file.
fn taken(text: &str, put_in: &PutIn) -> String {
    take_out(text, &Removal { server: "portcullis", added: Some(&put_in.added) }).unwrap()
}

#[test]
fn what_the_user_has_stays_to_the_byte() {
    for text in [
        "{\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\", \"Bash(rm *)\"],\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  },\n  \"env\": {\"A\": \"1\"}\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}",
        "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": []} // mine\n\t\t]\n\t}\n}",
    ] {
        let put_in = put(text, &additions(&["Bash(rm *)".to_owned()])).unwrap();
        let after = put_in.text.as_deref().unwrap();
        assert_eq!(undo_all_exactly(&put_in.patches, after).as_deref(), Some(text));
        assert_eq!(taken(after, &put_in), text, "{after}");
    }
}

#[test]
fn an_empty_list_of_the_users_stays() {
    let text = "{\n  \"permissions\": {\n    \"deny\": []\n  },\n  \"hooks\": {}\n}\n";
    let put_in = put(text, &additions(&[])).unwrap();
    assert_eq!(taken(put_in.text.as_deref().unwrap(), &put_in), text);
}

#[test]
fn of_two_rules_that_say_the_same_one_is_taken_out() {
    let put_in = put("{}", &additions(&["Bash(rm *)".to_owned()])).unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(put_in.text.as_deref().unwrap()).unwrap();
    settings["permissions"]["deny"].as_array_mut().unwrap().push("Bash(rm *)".into());
    let left: serde_json::Value = serde_json::from_str(&taken(&settings.to_string(), &put_in)).unwrap();
    assert_eq!(left, serde_json::json!({"permissions": {"deny": ["Bash(rm *)"]}}));
}

#[test]
fn a_hook_that_others_put_into_our_group_stays() {
    let put_in = put("{}", &additions(&[])).unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(put_in.text.as_deref().unwrap()).unwrap();
    let theirs = serde_json::json!({"type": "command", "command": "say done"});
    settings["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(theirs.clone());
    let left: serde_json::Value = serde_json::from_str(&taken(&settings.to_string(), &put_in)).unwrap();
    assert_eq!(left, serde_json::json!({"hooks": {"Stop": [{"hooks": [theirs]}]}}));
}

#[test]
fn without_a_receipt_hooks_go_and_rules_stay() {
    let put_in = put("{}", &additions(&[])).unwrap();
    let left = take_out(put_in.text.as_deref().unwrap(), &Removal { server: "portcullis", added: None }).unwrap();
    let left: serde_json::Value = serde_json::from_str(&left).unwrap();
    assert!(left["hooks"].is_null(), "{left}");
    assert_eq!(left["permissions"]["deny"], serde_json::json!(["mcp__portcullis__hook"]));
}

#[test]
fn a_program_that_moved_is_called_at_its_new_place() {
    let before = put("{}", &additions(&[])).unwrap().text.unwrap();
    let moved = Callee { server: "portcullis".to_owned(), program: Path::new("/opt/portcullis") };
    let after = put(&before, &hooks::own_hooks(&moved)).unwrap();
    assert_eq!((after.added.len(), after.renewed), (0, 5));
    let after = after.text.unwrap();
    assert!(!after.contains("/usr/bin/portcullis") && after.contains("\"/opt/portcullis\""), "{after}");
    assert_eq!(after.matches("asyncRewake").count(), 1);
}

#[test]
fn an_odd_file_is_left_alone() {
    for odd in [
        "[]",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"permissions\": 7}",
        "{",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{\"permissions\": {\"deny\": [], \"deny\": []}}",
    ] {
        assert!(put(odd, &additions(&[])).is_err(), "{odd}");
    }
}

/// A value as a person or a program may write it: blanks, line ends, comments and commas too many anywhere.
fn written(value: &serde_json::Value, style: &mut dyn FnMut() -> &'static str) -> String {
    let inside = |parts: Vec<String>, style: &mut dyn FnMut() -> &'static str| {
        let mut text = String::new();
        for (at, part) in parts.iter().enumerate() {
            text.push_str(style());
            text.push_str(part);
            text.push_str(style());
            if at + 1 < parts.len() {
                text.push(',');
            }
        }
        text.push_str(style());
        text
    };
    match value {
        serde_json::Value::Object(object) => {
            let pair = |key: &str, value: &serde_json::Value, style: &mut dyn FnMut() -> &'static str| {
                format!("{}{}:{}{}", serde_json::Value::from(key), style(), style(), written(value, style))
            };
            let parts = object.iter().map(|(key, value)| pair(key, value, style)).collect();
            format!("{{{}}}", inside(parts, style))
        }
        serde_json::Value::Array(list) => {
            let parts = list.iter().map(|value| written(value, style)).collect();
            format!("[{}]", inside(parts, style))
        }
        other => other.to_string(),
    }
}

const STYLES: [&str; 10] =
    ["", "", " ", "\n  ", "\r\n\t", "\n\n", " // it's \"mine\"\n", " /* a, b */ ", "\n    ", "  "];

fn settings() -> impl Strategy<Value = serde_json::Value> {
    let rule = prop::sample::select(vec![
        "Bash(git push *)",
        "mcp__portcullis__reply",
        "mcp__portcullis__hook",
        "Read(.env)",
        "Bash(ls)",
        "ü",
    ]);
    let rules = prop::option::of(prop::collection::vec(rule, 0..5));
    let hooks = prop::option::of(prop::collection::vec("[a-z ]{0,6}", 0..3));
    (rules.clone(), rules.clone(), rules, hooks, any::<[bool; 4]>()).prop_map(|(allow, ask, deny, commands, has)| {
        let mut all = serde_json::Map::new();
        if has[0] {
            let lists = [("allow", allow), ("ask", ask), ("deny", deny)].into_iter();
            let lists = lists.filter_map(|(name, rules)| Some((name.to_owned(), serde_json::json!(rules?))));
            all.insert("permissions".to_owned(), lists.collect());
        }
        if has[1] {
            all.insert("env".to_owned(), serde_json::json!({"TOKEN": "x", "N": [1, {"deny": []}]}));
        }
        if has[2] {
            let group = |command: &String| serde_json::json!({"hooks": [{"type": "command", "command": command}]});
            let groups = commands.map(|commands| commands.iter().map(group).collect::<serde_json::Value>());
            let groups = groups.into_iter().map(|groups| ("Stop".to_owned(), groups));
            all.insert("hooks".to_owned(), groups.collect());
        }
        if has[3] {
            all.insert("model".to_owned(), "opus".into());
        }
        serde_json::Value::Object(all)
    })
}

fn texts() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec!["", "\n", "{}", "{ }\r\n", "// mine\n", "\u{feff}{\n}\n", "{\n  // mine\n}"]);
    let any = (settings(), prop::collection::vec(0..STYLES.len(), 64), any::<bool>(), 0..3_usize);
    let any = any.prop_map(|(settings, styles, plain, end)| {
        let mut at = 0;
        let mut style = || {
            at += 1;
            if plain { "" } else { STYLES[styles[at % styles.len()]] }
        };
        format!("{}{}", written(&settings, &mut style), ["", "\n", "\r\n"][end])
    });
    prop_oneof![1 => odd.prop_map(str::to_owned), 8 => any]
}

fn denied() -> impl Strategy<Value = Vec<String>> {
    let rule = prop::sample::select(vec!["Bash(git push *)", "Read(.env)", "Bash(rm *)", "WebFetch"]);
    prop::collection::vec(rule.prop_map(str::to_owned), 0..4)
}

fn said(text: &str) -> serde_json::Value {
    let said = Document::parse(text).unwrap().said();
    if said.is_null() { serde_json::json!({}) } else { said }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_put_into_any_settings_is_taken_out_to_the_byte(text in texts(), first in denied(), second in denied()) {
        let put_in = put(&text, &additions(&first)).unwrap();
        let after = put_in.text.clone().unwrap();
        prop_assert!(put(&after, &additions(&first)).unwrap().text.is_none(), "a second time changes nothing");
        prop_assert_eq!(undo_all_exactly(&put_in.patches, &after), Some(text.clone()));
        prop_assert_eq!(said(&taken(&after, &put_in)), said(&text));

        // Again, with other rules.
        let more = put(&after, &additions(&second)).unwrap();
        let patches = [put_in.patches.as_slice(), &more.patches].concat();
        let last = more.text.unwrap_or(after);
        prop_assert_eq!(undo_all_exactly(&patches, &last), Some(text));
    }

    #[test]
    fn what_others_change_meanwhile_stays(text in texts(), rules in denied(), theirs in denied(), compact: bool) {
        let put_in = put(&text, &additions(&rules)).unwrap();
        let mut edited = said(put_in.text.as_deref().unwrap());
        let mut wanted = said(&text);
        for settings in [&mut edited, &mut wanted] {
            settings["mine"] = 1.into();
            for (list, rule) in theirs.iter().enumerate().map(|(at, rule)| (["allow", "ask", "deny"][at % 3], rule)) {
                let list = &mut settings["permissions"][list];
                match list.as_array_mut() {
                    Some(list) => list.push(rule.as_str().into()),
                    None => *list = serde_json::json!([rule]),
                }
            }
            let group = serde_json::json!({"hooks": [{"type": "command", "command": "theirs"}]});
            match settings["hooks"]["Stop"].as_array_mut() {
                Some(groups) => groups.push(group),
                None => settings["hooks"]["Stop"] = serde_json::json!([group]),
            }
        }
        let edited = if compact { edited.to_string() } else { format!("{edited:#}\n") };
        let left = taken(&edited, &put_in);
        prop_assert_eq!(sorted(said(&left)), sorted(wanted), "{}", left);
        if let Some(undone) = undo_all(&put_in.patches, &edited) {
            drop(Document::parse(&undone));
        }
    }
}

/// Which of two rules that say the same is left makes no difference, nor where it stands.
fn sorted(mut settings: serde_json::Value) -> serde_json::Value {
    for list in ["allow", "ask", "deny"] {
        if let Some(rules) = settings["permissions"][list].as_array_mut() {
            rules.sort_by_key(ToString::to_string);
        }
    }
    settings
}
