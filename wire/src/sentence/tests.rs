//! Each kind of record as people read it.

use expect_test::expect;
use portcullis_core::{AskId, EventId, Moment, Offer, OrderId};

use super::*;
use crate::record::tests::every_record;

#[test]
fn every_record_is_a_sentence() {
    let mut names = Names::default();
    let told = every_record().into_iter().map(|record| {
        let Sentence { label, words, weight, .. } = sentence(&mut names, &record);
        assert!(!words.contains(['\n', '\u{1b}']), "{words:?}");
        let weight = match weight {
            Weight::Detail => ' ',
            Weight::Plain => '-',
            Weight::Attention => '!',
        };
        format!("{weight} {:<4} {words}\n", label.unwrap_or_default())
    });
    expect![[r#"
        -      the gate started, portcullis 1
        !      the clock went back: by the record before it was 1970-01-01 00:00:00 UTC
        -      event from ann in 7 with severity=high waits for a session with label api: hällo
        -      event from ann in 7 with severity=high : hällo
        -      event from ann in 7 with severity=high waits for a session: hällo
        -      event from ann in 7 with severity=high waits for a session with label api: hällo
               event from ann was read by the model
        !      event from ann expired before anyone took it
        - api-2 session connected by channel in /tmp, mode plan
        - api  session connected by channel in /tmp, mode plan
          api  event from ann given to the agent
          api  event from ann given to the agent
        ! api  session lost: its process is gone without a word
        - api  session ended: bye
          api  event from ann now waits for api
          api  event from ann now waits for a session
        - api  event from ann may not have been read, and waits for a session again
        - api  reply to 7: hi [1 file]
        - api  reply to 7 changed: fine
        ! api  abcde asks to approve a plan: ls
        ! api  abcde asks to run Bash: ls
        - api  abcde allowed by ann: fine
        - api  abcde allowed always with another input by ann on "Phone"
        - api  abcde denied, to go on in mode auto, by ann, which ends the turn; more people must agree
        ! api  abcde expired: nobody answered in time
          api  abcde is the same prompt as prompt 01hf7yat000000000000000004
        ! api  abcde ran and failed. WARNING: what ran is not what was shown
        - api  ran Bash: ls (decided by person)
        ! api  ALARM: ran Bash: ls (decided by client). A person had to be asked, and nothing shows that anybody was
          api  session: its process told more about itself
        - api  session has read text from ci, who may not direct it: what it runs is asked for
        - api  ann spoke to it: its calls are no longer asked for because of text from outside
        - api  prompt by ann: go on
        - api  ann sets the mode to plan
        - api  ann told it to stop: no tool is to run until it is resumed
          api  the order to take a prompt is done
        ! api  the order to take a prompt failed: w
        -      ann sets the default mode in /home/ann/api to plan
        -      ann takes back the default mode in /home/ann/api: it is as configured
        -      ann says that an editor is theirs: zed (pid 690); prompts are answered there
          api  abcde: the agent has the verdict
        ! api  abcde NOT CONFIRMED: nothing shows that the agent took the verdict
        - api  abcde no longer asked: gone
        !      ann typed a code that no prompt has
        -      event from ann dropped by ann
        !      event from ann dropped by ann: its device "Phone" was revoked
        !      event from ann given up: each agent that had it ended before reading it
        - api  event from ann sent again by ann: it waits for api
        -      tom is a reviewer now, by ann
        -      tom was removed by ann
        -      ann made a token for tom
        -      owner linked a device of owner, "Chrome, Android", which may talk, review
        -      ann revoked a token of tom
        -      ann revoked a device of tom, "phone"
        !      Tom (telegram:42) wants to be let in; `portcullis people pair CODE --name NAME` does it
        -      tom was let in as a sender by ann
        -      telegram:42 is tom now, by ann
        -      telegram:42 is no longer tom, by ann
               connector telegram has taken everything up to record 7
               connector telegram has taken everything up to record 8
        !      ann typed a pairing code that nobody was shown
               a device of tom was used
        -      ann erased the text of event/1
        !      refused to owner: allow from inside a session
    "#]]
    .assert_eq(&told.collect::<String>());
}

#[test]
fn an_allow_that_reaches_further_says_what_it_lets_through() {
    let mut names = Names::default();
    let records = every_record();
    let Some(Record::Asked { ask }) = records.iter().find(|record| matches!(record, Record::Asked { .. })) else {
        panic!("{records:?}")
    };
    let mut ask = ask.clone();
    let words = "the folder /home/ann/api, mode acceptEdits, for this session".to_owned();
    ask.details.offers = vec![Offer { scope: Scope::Session, words }];
    let answered = records.iter().find_map(|record| match record {
        Record::Answered { verdict, .. } => Some(verdict.clone()),
        _ => None,
    });
    let mut verdict = answered.unwrap();
    verdict.ruling = Ruling { scope: Scope::Session, ..Ruling::plain(Behavior::Allow) };
    sentence(&mut names, &Record::Asked { ask: ask.clone() });
    let told = sentence(&mut names, &Record::Answered { ask: ask.id, verdict: verdict.clone() }).words;
    let granted = "abcde allowed for the session (the folder /home/ann/api, mode acceptEdits) by ann";
    assert!(told.starts_with(granted), "{told}");
    verdict.ruling.scope = Scope::Once;
    let told = sentence(&mut names, &Record::Answered { ask: ask.id, verdict }).words;
    assert!(told.starts_with("abcde allowed by ann"), "{told}");
}

#[test]
fn what_is_not_known_by_a_name_is_told_by_its_id() {
    let (names, at) = (Names::default(), Moment(1));
    let (ask, event, order) = (AskId::new(at, 1), EventId::new(at, 2), OrderId::new(at, 3));
    assert_eq!(names.code(ask), format!("prompt {ask}"));
    assert_eq!(names.event(event), format!("event {event}"));
    assert_eq!(names.order(order), format!("order {order}"));
}

#[test]
fn a_line_of_the_log_reads_as_the_record_it_shows() {
    for record in every_record() {
        let stored = record::write(&record).unwrap();
        let mut body: serde_json::Value = serde_json::from_slice(&stored.body).unwrap();
        if let Some(token) = body.get_mut("token_added") {
            token.as_object_mut().unwrap().remove("hash");
        }
        let payload = stored.payload.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        let at = 1_700_000_000_000;
        let line = LogLine {
            seq: 1,
            at,
            subject: record.subject().to_string(),
            record: body,
            payload,
            erased: false,
            told: None,
        };
        let (mut names, mut same) = (Names::default(), Names::default());
        assert_eq!(sentence(&mut names, &line.read().unwrap()), sentence(&mut same, &record));
    }
}

#[test]
fn secrets_and_escapes_are_not_shown() {
    let token = format!("ghp_{}", "a".repeat(36));
    assert!(!cut(&format!("{} {token}", "x".repeat(LONGEST - 10))).contains("ghp_aaaaaaaa"));
    assert_eq!(one_line("a\n b\u{1b}[31m"), r"a b\u{1b}[31m");
}

#[test]
fn a_session_is_told_once_and_then_what_changes_of_it() {
    let mut names = Names::default();
    let attached = every_record().into_iter().find(|record| matches!(record, Record::Attached { .. })).unwrap();
    let Record::Attached { session, about, .. } = &attached else { panic!("{attached:?}") };
    sentence(&mut names, &attached);
    let mut told = |about: &SessionAbout| {
        let record = Record::Described { session: *session, about: about.clone(), label: None };
        sentence(&mut names, &record).words
    };
    let mut about = about.clone();
    (about.connected_by, about.is_working, about.at_dialog) = ("hooks".to_owned(), Some(false), false);
    assert_eq!(told(&about), "session: connected by hooks, idle");
    about.mode = Some("auto".to_owned());
    assert_eq!(told(&about), "session: mode auto");
    about.is_working = Some(true);
    assert_eq!(told(&about), "session: working");
    about.at_dialog = true;
    assert_eq!(told(&about), "session: waits at its terminal, at a dialog that only Claude Code shows");
    about.at_dialog = false;
    assert_eq!(told(&about), "session: working");
    about.hooks_version = Some(99);
    assert_eq!(told(&about), "session: its hooks have called");
    about.pid = Some(7);
    assert_eq!(told(&about), "session: its process told more about itself");
}

#[test]
fn a_moment_is_told_as_a_date() {
    for (milliseconds, told) in [
        (951_782_399_999, "2000-02-28 23:59:59"),
        (951_782_400_000, "2000-02-29 00:00:00"),
        (951_868_800_000, "2000-03-01 00:00:00"),
        (1_800_284_095_065, "2027-01-18 14:54:55"),
        (4_107_542_400_000, "2100-03-01 00:00:00"),
        (4_107_456_000_000, "2100-02-28 00:00:00"),
        (1_735_689_599_000, "2024-12-31 23:59:59"),
    ] {
        assert_eq!(super::date(milliseconds), format!("{told} UTC"));
    }
}

#[test]
fn files_of_an_event_are_told_by_their_names_and_not_by_where_they_are_kept() {
    let event = every_record().into_iter().find_map(|record| match record {
        Record::Received { event, .. } => Some(event),
        _ => None,
    });
    let mut event = (*event.unwrap()).clone();
    let kept = |name: &str| format!("/home/ann/.local/state/portcullis/files/01hf/{name}");
    let given = [("severity", "a/b-c".to_owned()), ("file_1", kept("0-log.txt")), ("file_2", kept("1-two-parts.png"))];
    event.attributes = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let told = received(&event, None);
    assert!(told.contains(" with severity=a/b-c, file_1=log.txt, file_2=two-parts.png waits"), "{told}");
}

#[test]
fn several_answers_are_told_with_their_questions_in_the_order_in_which_they_were_asked() {
    let ruling = |input: Value| {
        let ruling = every_record().into_iter().find_map(|record| match record {
            Record::Answered { verdict, .. } if verdict.ruling.input.is_some() => Some(verdict.ruling.clone()),
            _ => None,
        });
        let mut ruling = ruling.unwrap();
        ruling.input.as_mut().unwrap().text = Text::Here(input.to_string().into());
        ruling
    };
    let asked = serde_json::json!([{"question": "Which size?"}, {"question": "Which colour?"}]);
    let several = serde_json::json!({"questions": asked, "answers": {"Which colour?": "Red", "Which size?": "M"}});
    assert_eq!(answers(&ruling(several)).unwrap(), "Which size? M; Which colour? Red");
    let one = serde_json::json!({"questions": asked, "answers": {"Which size?": "M"}});
    assert_eq!(answers(&ruling(one)).unwrap(), "M", "which it was is told before");
}
