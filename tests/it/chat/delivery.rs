//! What must go out goes out: through crashes of the gate, of the platform, and of the line between them.

use crate::fakes::bridge::{Bridge, Then};
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::{Signal, until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const REPLIES: usize = 800;
const PROMPTS: usize = 100;

/// Five letters for every number.
fn code(number: usize) -> String {
    let letter = |place: u32| char::from(b"abcdefghij"[number / 10_usize.pow(place) % 10]);
    (0..5).rev().map(letter).collect()
}

#[test]
fn a_thousand_items_in_flight_survive_crashes_on_both_sides_and_doubles_have_one_id() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "durability = \"process\"\n");
    // The session starts every gate of this test, and its agent is somebody else.
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    bridge.pair(&home, "1", "ann", "reviewer");
    bridge.said("1", "go on");
    assert_eq!(session.next_event().meta("chat_id"), "ops:1");

    // Nothing is taken while all of it is made: it is all in flight when the first gate dies.
    bridge.change(|_| Then::Wait);
    for number in 0..REPLIES {
        session.call("reply", &json!({"chat_id": "ops:1", "text": format!("reply {number}.")}));
    }
    for number in 0..PROMPTS {
        session.ask(&code(number), "Bash", "Push", "git push");
    }
    until("every prompt", || (home.status()["open_asks"] == PROMPTS).then_some(()));
    home.kill_gate(Signal::KILL);
    home.attached(1);
    answer_all(&bridge);
    for _ in 0..PROMPTS {
        assert_eq!(session.next_verdict().behavior, "allow");
    }
    home.kill_gate(Signal::KILL);

    // Now the platform takes, but dies often with what it has not acknowledged, and is sometimes slow to do so.
    bridge.change(|count| match count {
        count if count % 97 == 0 => Then::HangUp,
        count if count % 31 == 0 => Then::Wait,
        _ => Then::Acknowledge,
    });
    for round in [1, 2, 3] {
        let before = bridge.item_count();
        until("a share of it", || (bridge.item_count() > before + 150).then_some(()));
        match round {
            2 => {
                bridge.leave();
                home.kill_gate(Signal::KILL);
                bridge.listen();
            }
            _ => home.kill_gate(Signal::KILL),
        }
    }
    let mut want: BTreeSet<String> = (0..REPLIES).map(|number| format!("reply {number}.")).collect();
    want.extend(
        (0..PROMPTS).flat_map(|number| [format!("prompt {}", code(number)), format!("progress {}", code(number))]),
    );
    bridge.item("reply", &format!("reply {}.", REPLIES - 1));
    bridge.item("progress", &format!("Prompt {}: allowed", code(PROMPTS - 1)));
    until("all of it", || want.is_subset(&kinds(&bridge).into_keys().collect()).then_some(()));

    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for item in bridge.items() {
        let (id, about) = (item["id"].as_str().unwrap().to_owned(), about(&item));
        assert_eq!(*ids.entry(id).or_insert_with(|| about.clone()), about, "an id is one item's for ever");
    }
    for (about, ids) in kinds(&bridge) {
        assert_eq!(ids.len(), 1, "{about} has one id, however often it came");
    }
    assert!(bridge.item_count() > ids.len(), "some came twice, or this test has shown nothing");

    // What was taken does not come again.
    bridge.change(|_| Then::Acknowledge);
    bridge.hang_up();
    session.call("reply", &json!({"chat_id": "ops:1", "text": "and its reply"}));
    bridge.item("reply", "and its reply");
    until("a cursor at the end", || {
        let last = home.records("taken").last()?["position"].as_u64()?;
        let reply = bridge.items().iter().find(|item| item["text"] == "and its reply")?["id"].as_str()?.parse().ok()?;
        (last >= reply).then_some(())
    });
    let count = bridge.item_count();
    home.kill_gate(Signal::KILL);
    let connections = bridge.connections();
    until("another gate", || (bridge.connections() > connections).then_some(()));
    session.call("reply", &json!({"chat_id": "ops:1", "text": "after it all"}));
    bridge.item("reply", "after it all");
    assert_eq!(bridge.item_count(), count + 1, "{:#?}", &bridge.items()[count..]);
}

/// Allows every prompt from the platform, each again until it is known to count: gates and connections come and go.
fn answer_all(bridge: &Bridge) {
    for number in 0..PROMPTS {
        let code = code(number);
        let verdict =
            json!({"user": "1", "ask": code, "verdict": {"behavior": "allow"}, "message": format!("allow {code}")});
        let answer = bridge.asked("answer", verdict);
        assert_eq!(answer["verdict"]["behavior"], "allow", "{answer}");
    }
}

/// What an item is, in words that are the same for its doubles and for nothing else.
fn about(item: &Value) -> String {
    match item["kind"].as_str().unwrap() {
        "reply" => item["text"].as_str().unwrap().to_owned(),
        "paired" => "paired".to_owned(),
        kind => format!("{kind} {}", item["ask"]["code"].as_str().unwrap()),
    }
}

/// Everything that came, with its ids.
fn kinds(bridge: &Bridge) -> BTreeMap<String, BTreeSet<String>> {
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in bridge.items() {
        kinds.entry(about(&item)).or_default().insert(item["id"].as_str().unwrap().to_owned());
    }
    kinds
}

#[test]
fn a_slow_platform_is_waited_for_and_never_cut_off() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "durability = \"process\"\n");
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    bridge.pair(&home, "1", "ann", "sender");
    bridge.said("1", "go on");
    session.next_event();
    // It takes nothing: no more than a bounded number is given to it, whatever is waiting.
    bridge.change(|_| Then::Wait);
    let many = 300;
    for number in 0..many {
        let text = format!("{number} {}", "x".repeat(10_000));
        session.call("reply", &json!({"chat_id": "ops:1", "text": text}));
    }
    until("all that it is given", || (bridge.item_count() >= 65).then_some(()));
    bridge.said("1", "the gate is there and waits");
    assert_eq!(bridge.item_count(), 65, "one was taken before, and 64 are on their way");
    // It wakes up.
    bridge.change(|_| Then::Acknowledge);
    bridge.acknowledge_all();
    bridge.item("reply", &format!("{} x", many - 1));
    assert_eq!((bridge.item_count(), bridge.connections()), (many + 1, 1), "each once, over one connection");
}

#[test]
fn a_text_is_cut_to_what_the_platform_takes_and_a_prompt_can_still_be_answered() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "");
    let config = std::fs::read_to_string(home.folder().join("config.toml")).unwrap();
    home.write_config(&format!("{config}max_text = 600\n"));
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    bridge.pair(&home, "1", "ann", "reviewer");
    session.ask("abcde", "Bash", "Push", &"git push ".repeat(500));
    let prompt = bridge.item("prompt", "git push")["text"].as_str().unwrap().to_owned();
    assert!(prompt.len() <= 600 && prompt.ends_with("Reply \"yes abcde\" or \"no abcde\""), "{prompt}");
    bridge.said("1", "hello");
    session.next_event();
    session.call("reply", &json!({"chat_id": "ops:1", "text": "y".repeat(5000)}));
    let reply = bridge.item("reply", "yyy")["text"].as_str().unwrap().to_owned();
    assert!(reply.len() <= 600 && reply.ends_with(" more bytes]"), "{reply}");
}

#[test]
fn a_connector_that_is_misspelt_is_refused_with_what_to_do() {
    let home = Home::new();
    for (config, why) in [
        ("[connectors.socket.Ops]\naddress = \"/x\"", "\"Ops\" is no name for a connector"),
        ("[connectors.socket.http]\naddress = \"/x\"", "\"http\" is no name for a connector"),
        ("[connectors.socket.ops]\naddress = \"x\"", "\"x\" is not an absolute path"),
        ("[connectors.socket.ops]\naddres = \"/x\"", "unknown key \"connectors.socket.ops.addres\""),
        ("[connectors.socket.ops]\nmax_text = 600", "missing field `address`"),
        ("[connectors.socket.ops]\naddress = \"/x\"\nmax_text = 10", "10 is less than 500"),
        ("[connectors.telegraph]\ntoken = \"x\"", "unknown key \"connectors.telegraph\""),
    ] {
        home.write_config(config);
        home.run(&["serve"]).refused(3, why);
    }
}
