//! The user's file before and after, as a table.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::setup::settings::says_nothing;

fn put(text: &str, under: Under<'_>, entry: &Entry) -> Result<String, Unfit> {
    super::put(text, under, entry).map(|edited| edited.text)
}

fn entry() -> Entry {
    Entry { name: "portcullis".into(), command: "/bin/portcullis".into(), args: vec!["channel".into()] }
}

#[track_caller]
fn check(before: &str, after: &Expect) {
    let put_in = put(before, &[], &entry()).unwrap();
    after.assert_eq(&put_in);
    assert_eq!(put(&put_in, &[], &entry()).unwrap(), put_in, "a second time changes nothing");
    assert_eq!(find(&put_in, &[], "portcullis").unwrap(), Found::Ours { command: "/bin/portcullis".into() });
}

#[test]
fn a_new_file_is_made_as_claude_code_would_write_it() {
    check(
        "",
        &expect![[r#"
        {
          "mcpServers": {
            "portcullis": {
              "type": "stdio",
              "command": "/bin/portcullis",
              "args": ["channel"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn other_entries_and_their_order_stay() {
    check(
        "{\n  \"b\": 1,\n  \"mcpServers\": {\n    \"z\": {\"command\":   \"z\"},\n    \"a\": {}\n  },\n  \"a\": [1,\n2]\n}\n",
        &expect![[r#"
            {
              "b": 1,
              "mcpServers": {
                "z": {"command":   "z"},
                "a": {},
                "portcullis": {
                  "type": "stdio",
                  "command": "/bin/portcullis",
                  "args": ["channel"]
                }
              },
              "a": [1,
            2]
            }
        "#]],
    );
}

#[test]
fn tabs_comments_and_a_missing_newline_stay() {
    check(
        "// mine\n{\n\t\"mcpServers\": {\n\t\t\"x\": {}, // this too\n\t\t// the end\n\t}\n}",
        &expect![[r#"
            // mine
            {
            	"mcpServers": {
            		"x": {}, // this too
            		"portcullis": {
            			"type": "stdio",
            			"command": "/bin/portcullis",
            			"args": ["channel"]
            		},
            		// the end
            	}
            }"#]],
    );
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    check(
        r#"{"a":1,"mcpServers":{"x":{"command":"y"}},"b":2}"#,
        &expect![[
            r#"{"a":1,"mcpServers":{"x":{"command":"y"},"portcullis":{"type":"stdio","command":"/bin/portcullis","args":["channel"]}},"b":2}"#
        ]],
    );
    check(
        r#"{ "mcpServers": { "x": {} } }"#,
        &expect![[
            r#"{ "mcpServers": { "x": {}, "portcullis": {"type": "stdio", "command": "/bin/portcullis", "args": ["channel"]} } }"#
        ]],
    );
}

#[test]
fn line_ends_and_a_byte_order_mark_stay() {
    let after = put("\u{feff}{\r\n  \"a\": 1\r\n}\r\n", &[], &entry()).unwrap();
    assert!(after.starts_with("\u{feff}{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n"), "{after:?}");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
}

#[test]
fn an_entry_of_ours_is_changed_and_keeps_what_was_added_to_it() {
    let before = r#"{"mcpServers": {"portcullis": {"command": "/old/portcullis", "args": ["channel","--label","x"], "env": {"A": "b"}}}}"#;
    check(
        before,
        &expect![[
            r#"{"mcpServers": {"portcullis": {"command": "/bin/portcullis", "args": ["channel"], "env": {"A": "b"}}}}"#
        ]],
    );
}

#[test]
fn what_starts_something_else_is_foreign() {
    let cases = [
        (r#"{"command": "/x/portcullis", "args": ["channel", "--label", "a"]}"#, true),
        (r#"{"command": "portcullis", "args": ["channel"]}"#, true),
        (r#"{"command": "portcullis", "args": ["mcp"]}"#, false),
        (r#"{"command": "portcullis"}"#, false),
        (r#"{"command": "node", "args": ["channel"]}"#, false),
        (r#"{"type": "http", "url": "http://x"}"#, false),
        ("7", false),
    ];
    for (value, ours) in cases {
        let found = find(&format!(r#"{{"mcpServers": {{"portcullis": {value}}}}}"#), &[], "portcullis").unwrap();
        assert_eq!(matches!(found, Found::Ours { .. }), ours, "{value}");
        assert_eq!(found == Found::Foreign, !ours, "{value}");
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_the_place() {
    let cases = [
        ("{\n  \"a\": 1,\n  b\n}", "line 3, column 3: Expected string for object property"),
        ("{\"a\": 1", "line 1, column 1: Unterminated object"),
        ("{'a': 1}", "line 1, column 2: Single-quoted strings are not allowed"),
        ("[]", "the file holds no object"),
        ("{\"mcpServers\": []}", "\"mcpServers\" is no object"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "\"mcpServers\" is written twice"),
        ("{\"mcpServers\": {\"portcullis\": {}, \"portcullis\": {}}}", "\"portcullis\" is written twice"),
    ];
    for (text, want) in cases {
        assert_eq!(put(text, &[], &entry()).unwrap_err().to_string(), want);
        assert_eq!(take_out(text, &[], "portcullis", 1).unwrap_err().to_string(), want);
    }
}

#[test]
fn taking_out_leaves_what_was_there() {
    let taken = |text: &str, servers_may_go: bool| take_out(text, &[], "portcullis", servers_may_go.into()).unwrap();
    let put_in = |text: &str| put(text, &[], &entry()).unwrap();
    for text in [
        "{}",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "// x\n{\n  // y\n  \"a\": 1 // z\n}\n",
    ] {
        assert_eq!(taken(&put_in(text), true), text);
    }
    for text in
        [r#"{"mcpServers":{"x":{}}}"#, "{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {},\n  }\n}"]
    {
        assert_eq!(taken(&put_in(text), false), text);
        assert_eq!(taken(text, true), text, "there is nothing to take");
    }
    assert_eq!(taken("{\"mcpServers\": {\"portcullis\": {} /* mine */}}", true).matches("mine").count(), 1);
}

#[test]
fn a_file_that_says_nothing_is_known() {
    for (text, nothing) in [
        ("", true),
        ("{}\n", true),
        ("{\"mcpServers\": {\n}}", false),
        ("{\"a\": 1}", false),
        ("{\"mcpServers\": {\"x\": {}}}", false),
        ("// mine\n{}", false),
        ("{\"mcpServers\": {/* mine */}}", false),
        ("{", false),
    ] {
        assert_eq!(says_nothing(text), nothing, "{text:?}");
    }
}

#[test]
fn comments_are_known_to_be_no_plain_json() {
    for (text, plain) in
        [("", true), ("\u{feff}{}", true), ("{\"a\": [1]}", true), ("{} // x", false), ("{\"a\": 1,}", false)]
    {
        assert_eq!(is_plain_json(text), plain, "{text:?}");
    }
}

/// A file of servers, written in many ways: on one line or on many, with commas, comments and space where they may be.
fn any_file() -> impl Strategy<Value = String> {
    let value = prop_oneof!["[a-z]{0,3}".prop_map(|word| format!("\"{word}\"")), Just("{\"k\": [1, {}]}".to_owned())];
    let pair = (value, prop_oneof![Just(":"), Just(": "), Just(" :\t")]);
    let space = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just("\n\t"),
        Just("\r\n    "),
        Just(" /* c */ "),
        Just(" // c\n")
    ];
    let object = (proptest::collection::vec((pair, space.clone()), 0..4), space, any::<bool>()).prop_map(
        |(pairs, end, trailing)| {
            let count = pairs.len();
            let written: String = pairs
                .into_iter()
                .enumerate()
                .map(|(place, ((value, colon), space))| {
                    let comma = if place + 1 < count || trailing { "," } else { "" };
                    format!("{space}\"k{place}\"{colon}{value}{comma}")
                })
                .collect();
            format!("{{{written}{end}}}")
        },
    );
    (object.clone(), object, any::<bool>(), prop_oneof![Just(""), Just("\n"), Just("\r\n")]).prop_map(
        |(root, servers, has_servers, end)| {
            if !has_servers {
                return format!("{root}{end}");
            }
            format!("{{\"mcpServers\": {servers},{}{end}", &root[1..])
        },
    )
}

fn meaning(text: &str) -> Json {
    let mut value: Json = jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default()).unwrap();
    if let Some(servers) = value.get_mut("mcpServers").and_then(Json::as_object_mut) {
        servers.remove("portcullis");
    }
    if value.get("mcpServers").and_then(Json::as_object).is_some_and(serde_json::Map::is_empty) {
        value.as_object_mut().unwrap().remove("mcpServers");
    }
    value
}

#[test]
fn a_server_of_one_project_stands_among_what_is_kept_of_it() {
    let under = ["projects".to_owned(), "/p".to_owned()];
    let there = "{\n  \"projects\": {\n    \"/p\": {\n      \"trust\": true\n    }\n  }\n}\n";
    for before in ["", "{}", "{\n  \"projects\": {}\n}", there] {
        let after = put(before, &under, &entry()).unwrap();
        assert_eq!(find(&after, &under, "portcullis").unwrap(), Found::Ours { command: "/bin/portcullis".into() });
        assert_eq!(find(&after, &[], "portcullis").unwrap(), Found::Nothing);
        assert_eq!(put(&after, &under, &entry()).unwrap(), after);
    }
    let after = put(there, &under, &entry()).unwrap();
    assert_eq!(take_out(&after, &under, "portcullis", 1).unwrap(), there);
    assert!(put("{\"projects\": 7}", &under, &entry()).is_err());
}

proptest! {
    #[test]
    fn any_file_keeps_all_it_says_and_can_be_had_back(text in any_file()) {
        let after = put(&text, &[], &entry()).unwrap();
        prop_assert_eq!(meaning(&after), meaning(&text));
        prop_assert_eq!(&put(&after, &[], &entry()).unwrap(), &after);
        prop_assert_eq!(find(&after, &[], "portcullis").unwrap(), Found::Ours { command: "/bin/portcullis".into() });
        let taken = take_out(&after, &[], "portcullis", missing_around(&text, &[]).unwrap()).unwrap();
        prop_assert_eq!(meaning(&taken), meaning(&text));
        prop_assert_eq!(text.matches("/* c */").count(), after.matches("/* c */").count());
        prop_assert_eq!(text.matches("// c").count(), after.matches("// c").count());
        prop_assert_eq!(text.matches(" c").count(), taken.matches(" c").count());
        let edited = super::put(&text, &[], &entry()).unwrap();
        if edited.text != text {
            prop_assert_eq!(crate::setup::patch::undo_all_exactly(&edited.patches, &after), Some(text));
        }
    }

    #[test]
    fn any_bytes_never_panic(text in "[{}\\[\\]\",:/*a-c \n\\\\]{0,24}") {
        drop(put(&text, &[], &entry()));
        drop(take_out(&text, &[], "a", 1));
        says_nothing(&text);
    }
}
