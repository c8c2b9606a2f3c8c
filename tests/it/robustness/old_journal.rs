//! An older journal (version 2) opens, verifies, and replays to the state of the program that wrote it.
//!
//! `fixtures/journal-v2.db` was written by a program that did not yet record where events went. It has sessions that
//! came, continued each other, were lost and ended; events that moved, were written again and given up; prompts with
//! every detail and every kind of end; people, tokens, orders and erasures; and a restart in between.
//! `fixtures/journal-v2.json` is what the API of that program then told, with `source` for its `mouth`, and without the
//! `why` of events, which depends on the hour.

use crate::support::home::Home;
use portcullis_core::{Limits, Moment, State};
use portcullis_wire::api::{AskView, EventView, PeopleView, PersonView, ReplyView, SessionView, TokenView};
use portcullis_wire::record::{self, RecordPayload};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const RECORDS: usize = 123;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name)
}

fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(fixture("journal-v2.json")).unwrap()).unwrap()
}

fn with_the_old_journal() -> Home {
    let home = Home::new();
    // What people wrote is old by now, and would be erased.
    home.write_config("retention_days = 36500\n");
    fs::copy(fixture("journal-v2.db"), home.folder().join("journal.db")).unwrap();
    home
}

/// The state that the records of the fixture make, and the moment of the last one.
fn replayed() -> (State, Moment) {
    let journal = Connection::open_with_flags(fixture("journal-v2.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut records = journal.prepare("SELECT at, body, digest IS NULL, bytes FROM record ORDER BY seq").unwrap();
    let mut rows = records.query([]).unwrap();
    let (mut state, mut last) = (State::new(Limits::default()), Moment::default());
    while let Some(row) = rows.next().unwrap() {
        let (at, body): (i64, Vec<u8>) = (row.get(0).unwrap(), row.get(1).unwrap());
        let (never, bytes): (bool, Option<Vec<u8>>) = (row.get(2).unwrap(), row.get(3).unwrap());
        let payload = match &bytes {
            Some(bytes) => RecordPayload::Kept(bytes),
            None if never => RecordPayload::None,
            None => RecordPayload::Erased,
        };
        last = Moment(at.cast_unsigned());
        let record = record::read(last, &body, payload)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body)));
        state.apply(last, &record);
    }
    (state, last)
}

fn without_why(mut event: Value) -> Value {
    let told = event.as_object_mut().unwrap();
    // When an event was given and seen was not told then.
    ["why", "delivered_at", "first_delivered_at", "seen_at"].iter().for_each(|name| drop(told.remove(*name)));
    event
}

/// An ask as the program told it that wrote the fixture: its session's label, and how far a verdict has come, were not
/// told then.
fn without_confirmation(mut ask: Value) -> Value {
    if let Some(ask) = ask.as_object_mut() {
        ask.remove("label");
        if ask["state"] != "open" {
            // Who had agreed was forgotten with the verdict.
            ask.remove("allowed_by");
        }
        ask.remove("answerable");
    }
    if let Some(verdict) = ask.get_mut("verdict").and_then(Value::as_object_mut) {
        verdict.remove("confirmation");
        verdict.remove("outcome_at");
    }
    ask
}

#[test]
fn a_journal_of_version_2_replays_to_the_state_it_was_written_with() {
    let (state, now) = replayed();
    assert_eq!(state.revision(), RECORDS as u64);
    let session = |session: &portcullis_core::Session| {
        let (waiting, asks) = (state.waiting_size(Some(session.id)).0, state.open_asks_of(session.id).count());
        let mut view = json!(SessionView::of(session, waiting, asks));
        // These are newer than what was written down.
        for newer in ["last_active", "stop", "wakes", "takes_no_events"] {
            view.as_object_mut().unwrap().remove(newer);
        }
        view
    };
    let person = |(name, person): (&String, _)| {
        PersonView::of(name, person, state.tokens().filter(|token| token.person == *name).count())
    };
    let event = |held: &portcullis_core::TrackedEvent| {
        let mut view = without_why(json!(EventView::of(held, now)));
        // Newer, too. Nothing that is this old says that its sender may direct.
        assert_eq!(view.as_object_mut().unwrap().remove("directs"), Some(json!(false)));
        view
    };
    let events = state.events().map(event).collect::<Vec<_>>();
    let found = json!({
        "sessions": state.sessions().map(session).collect::<Vec<_>>(),
        "events": events,
        "asks": state.asks().map(|(ask, life)| without_confirmation(json!(AskView::of(ask, life)))).collect::<Vec<_>>(),
        "people": PeopleView { people: state.people().map(person).collect(), waiting: vec![] },
        "tokens": state.tokens().map(|token| TokenView::of(token, state.person(&token.person).map(|it| it.role), now)).collect::<Vec<_>>(),
        "replies": state.replies_after(0).map(|(_, reply)| ReplyView::from(reply)).collect::<Vec<_>>(),
    });
    let expected = expected();
    for (what, expected) in expected.as_object().unwrap() {
        match (found[what].as_array(), expected.as_array()) {
            (Some(found), Some(expected)) => {
                for (found, expected) in found.iter().zip(expected) {
                    assert_eq!(found, expected, "{what}");
                }
                assert_eq!(found.len(), expected.len(), "{what}");
            }
            _ => assert_eq!(found[what], *expected, "{what}"),
        }
    }
}

#[test]
fn a_journal_of_version_2_opens_and_its_chain_goes_on() {
    let home = with_the_old_journal();
    let before = home.run(&["log", "verify", "--json"]).json();
    assert_eq!((&before["ok"], &before["records"]), (&json!(true), &json!(RECORDS)));
    let gate = home.serve();
    let expected = expected();
    for what in ["people", "tokens", "replies"] {
        assert_eq!(gate.get(&format!("/api/v1/{what}")).json(), expected[what], "{what}");
    }
    let asks = gate.get("/api/v1/asks").json();
    let settled = |asks: &Value| {
        let settled = asks.as_array().unwrap().iter().filter(|ask| ask["state"] != "open");
        settled.cloned().map(without_confirmation).collect::<Vec<_>>()
    };
    assert_eq!(settled(&asks), settled(&expected["asks"]));
    for event in expected["events"].as_array().unwrap() {
        let path = format!("/api/v1/events/{}", event["id"].as_str().unwrap());
        let found = gate.get(&path).json();
        assert_eq!((&found["chat_id"], &found["sender"]), (&event["chat_id"], &event["sender"]), "{path}");
    }
    gate.say("/?label=later", "one more").expect(200);
    let head = before["head"].as_str().unwrap();
    let after = home.run(&["log", "verify", "--head", head, "--json"]).json();
    assert_eq!(after["ok"], json!(true), "{after}");
    assert!(after["records"].as_u64().unwrap() > RECORDS as u64, "{after}");
}
