//! People: who is in and as what, and what is said to whoever would let in the wrong ones.

use crate::support::home::Home;
use crate::support::http::Request;
use serde_json::json;

#[test]
fn people_are_listed_with_their_role_and_their_tokens() {
    let home = Home::new();
    let gate = home.serve();
    let empty = home.run(&["people", "list"]).ok().stdout;
    assert!(empty.contains("\nowner ") && empty.lines().count() == 2, "{empty}");
    let nobody = json!({"people": [], "waiting": [], "owner": {"name": "owner", "role": "admin"}});
    assert_eq!(home.run(&["people", "list", "--json"]).json(), nobody);

    let [ann, _] = ["sender", "sender"].map(|role| home.token_for("ann", role));
    home.token_for("bob", "reviewer");
    let people = home.run(&["people", "list", "--json"]).json()["people"].clone();
    let told =
        |place: usize| (people[place]["name"].clone(), people[place]["role"].clone(), people[place]["tokens"].clone());
    assert_eq!(told(0), (json!("ann"), json!("sender"), json!(2)));
    assert_eq!(told(1), (json!("bob"), json!("reviewer"), json!(1)));
    let words = home.run(&["people", "list"]).ok().stdout;
    assert!(words.contains("ann") && words.contains("sender") && words.contains(" 2 "), "{words}");

    gate.get_as(&ann, "/api/v1/asks").expect(403);
    assert!(home.run(&["people", "role", "ann", "reviewer"]).ok().stdout.contains("ann now has the role reviewer."));
    gate.get_as(&ann, "/api/v1/asks").expect(200);
    home.run(&["people", "role", "ann", "sender"]).ok();
    gate.get_as(&ann, "/api/v1/asks").expect(403);
    gate.say_as(&ann, "/", "hello").expect(200);
    assert!(home.run(&["people", "remove", "ann"]).ok().stdout.contains("Removed ann "));
    gate.say_as(&ann, "/", "hello").expect(403);

    let back = home.token_for("ann", "reviewer");
    gate.get_as(&back, "/api/v1/asks").expect(200);
    gate.say_as(&ann, "/", "an old token does not come back with its owner").expect(403);
    let log = home.run(&["log", "--json"]).ok().stdout;
    for record in ["person_set", "token_added", "person_removed"] {
        assert!(log.contains(record), "{record}: {log}");
    }
}

#[test]
fn an_unknown_person_or_role_is_refused_with_a_reason() {
    let home = Home::new();
    let _gate = home.serve();
    home.token_for("ann", "sender");
    for (words, code, why) in [
        (&["role", "eve", "admin"][..], 1, "no such person"),
        (&["remove", "eve"], 1, "hint: `portcullis people list`"),
        (&["remove", "../ann"], 1, "no such person"),
        (&["remove", "owner"], 1, "stays admin"),
        (&["role", "owner", "sender"], 1, "stays admin"),
        (&["role", "ann", "king"], 2, "possible values: sender, reviewer, admin"),
        (&["pair", "abcdefgh", "--name", "eve", "--role", "king"], 2, "possible values"),
        (&["pair", "abcdefgh"], 2, "--name"),
    ] {
        let ran = home.run(&[&["people"], words].concat());
        assert!(ran.status.code() == Some(code) && ran.stderr.contains(why), "{words:?}: {ran:#?}");
    }
    assert_eq!(home.run(&["people", "list", "--json"]).json()["people"].as_array().unwrap().len(), 1);
}

#[test]
fn guessing_pairing_codes_is_stopped_also_after_a_restart() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let pair = |code: &str| home.run(&["people", "pair", code, "--name", "eve"]);
    for malformed in ["", "short", "far-too-long-for-one", "../../..", "abcd efg"] {
        pair(malformed).refused(1, "eight letters and digits");
    }
    for wrong in ["abcdefga", "abcdefgb", "abcdefgc", "abcdefgd"] {
        pair(wrong).refused(1, "nobody was shown that code");
    }
    let fifth = Request::post("/api/v1/pairings").token(home.token());
    let fifth = fifth.json(&json!({"code": "abcdefge", "name": "eve", "role": "sender"}));
    fifth.send(&gate.target()).expect(404);
    pair("abcdefgf").refused(1, "too many wrong codes");
    let limited = fifth.send(&gate.target()).expect(429);
    assert!(limited.header("retry-after").unwrap().parse::<u64>().unwrap() <= 600, "{limited}");
    let gate = home.restart(&gate);
    pair("abcdefgh").refused(1, "too many wrong codes");
    // It is the owner who guessed: another admin may still let someone in.
    let ada = home.token_for("ada", "admin");
    gate.post_as(&ada, "/api/v1/pairings", &json!({"code": "abcdefgh", "name": "eve", "role": "sender"})).expect(404);
    assert_eq!(home.run(&["people", "list", "--json"]).json()["people"].as_array().unwrap().len(), 1);
}
