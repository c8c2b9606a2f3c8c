//! Default modes of folders, and when something last happened in a session.

use super::*;
use expect_test::expect;

#[test]
fn a_default_mode_is_set_by_admins_alone_and_is_never_the_one_in_which_nothing_is_asked() {
    check(
        "0 mode /code plan ann
         1 mode /code plan root
         2 mode /code plan root
         3 mode /code bypassPermissions root
         4 mode /code none root",
        &expect![[r#"
            0 mode /code plan ann
              > refused: NeedsRight(Admin)
            1 mode /code plan root
              + default mode in /code is plan by root
              > done
            2 mode /code plan root
              > done
            3 mode /code bypassPermissions root
              > refused: NotADefaultMode
            4 mode /code none root
              + default mode in /code is as configured by root
              > done
        "#]],
    );
}

#[test]
fn the_nearest_folder_counts() {
    let mut state = State::default();
    for (folder, mode) in [("/code", Mode::AcceptEdits), ("/code/api", Mode::Plan), ("/", Mode::DontAsk)] {
        let set = Record::DefaultModeSet { folder: folder.into(), mode: Some(mode), by: "ann".into() };
        state.apply(Moment(1), &set);
    }
    let mode = |folder: &str| state.nearest_default_mode(folder).map(|(from, set)| (from.as_str(), set.mode));
    assert_eq!(mode("/code/api/src"), Some(("/code/api", Mode::Plan)));
    assert_eq!(mode("/code/apis"), Some(("/code", Mode::AcceptEdits)));
    assert_eq!(mode("/srv"), Some(("/", Mode::DontAsk)));
    state.apply(Moment(2), &Record::DefaultModeSet { folder: "/".into(), mode: None, by: "ann".into() });
    assert_eq!(state.nearest_default_mode("/srv"), None);
}

#[test]
fn what_an_agent_and_people_do_is_activity_and_what_the_gate_notes_is_not() {
    let session = SessionId::new(Moment(0), 1);
    let about = SessionAbout::new(Label::new("api").unwrap(), "hooks");
    let attached = Record::Attached { session, about, label: None, wrote: vec![], moves: Moves::Recorded };
    let mut state = State::default();
    let mut active = |at: u64, record: &Record| {
        state.apply(Moment(at), record);
        state.session(session).unwrap().active.0
    };
    assert_eq!(active(1, &attached), 1);
    assert_eq!(active(2, &Record::OutsideRead { session, sender: "ci".into() }), 2);
    assert_eq!(active(3, &Record::Lost { session }), 2);
    assert_eq!(active(4, &attached), 2, "it only came back");
    let order = Record::Ordered { session, id: None, order: Order::Interrupt, by: "ann".into() };
    assert_eq!(active(5, &order), 5);
    let goodbye = Goodbye::because("done");
    assert_eq!(active(6, &Record::Ended { session, goodbye, moves: Moves::Recorded }), 5);
}
