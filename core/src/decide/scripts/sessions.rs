//! Sessions that come and go, told as scripts.

use expect_test::expect;

use super::check;
use crate::{Label, Limits, Moment, Moves, Record, SessionAbout, SessionId, State};

#[test]
fn an_event_waits_for_a_session_and_keeps_its_order() {
    check(
        "0 say 1 tom : one
         1 say 2 tom to=label:web : two
         2 say 3 tom : three
         3 attach 1 api
         4 wrote 1 1
         5 attach 2 web
         6 say 4 tom to=label:web : four",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 say 2 tom to=label:web : two
              + event 2 of tom in chat 2 for nobody yet
              > ok
              > publish event 2
            2 say 3 tom : three
              + event 3 of tom in chat 3 for nobody yet
              > ok
              > publish event 3
            3 attach 1 api
              + session 1 attached, wrote []
              + events 1 3 moved to session 1
              > done
              > publish session 1
              > wake session 1 for [1 3]
            4 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for [3]
              > publish event 1
            5 attach 2 web
              + session 2 attached, wrote []
              + events 2 moved to session 2
              > done
              > publish session 2
              > wake session 2 for [2]
            6 say 4 tom to=label:web : four
              + event 4 of tom in chat 4 for session 2
              > ok
              > wake session 2 for [2 4]
              > publish event 4
        "#]],
    );
}

#[test]
fn a_session_comes_back_with_what_it_wrote() {
    check(
        "0 attach 1 api
         1 say 1 tom : one
         1 say 2 tom : two
         2 ask 1 1 abcde : ls
         3 allow abcde ann
         4 start
         5 attach 1 api wrote=1
         6 carried 1
         7 start
         8 attach 1 api",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            1 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            4 start
              + gate opened
              > done
            5 attach 1 api wrote=1
              + session 1 attached, wrote [00000000000000000000000001]
              > done
              > publish session 1
              > carry allow abcde to session 1
              > wake session 1 for [2]
            6 carried 1
              + ask 1 carried
              > done
              > publish ask 1
            7 start
              + gate opened
              > done
            8 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for [2]
        "#]],
    );
}

#[test]
fn a_session_that_stays_away_has_ended() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 say 1 tom : one
         3 lose 1
         4 attach 2 api
         12 tick
         13 tick
         14 allow abcde ann",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            3 lose 1
              + session 1 lost
              > done
              > publish session 1
            4 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            12 tick
            13 tick
              + session 1 ended: its process went away
              + events 1 moved to session 2, perhaps again
              > done
              > publish session 1
              > wake session 2 for [1]
              + ask 1 withdrawn: its session ended
              > done
              > publish ask 1
            14 allow abcde ann
              > refused: Settled { code: abcde, life: Withdrawn { at: Moment(13000), why: "its session ended" } }
        "#]],
    );
}

#[test]
fn a_full_session_takes_no_more_and_an_old_event_expires() {
    check(
        "0 say 1 tom : one
         0 say 2 tom : two
         0 say 3 tom : three
         0 say 4 tom : four
         86400 tick
         86401 say 5 tom : five",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            0 say 2 tom : two
              + event 2 of tom in chat 2 for nobody yet
              > ok
              > publish event 2
            0 say 3 tom : three
              + event 3 of tom in chat 3 for nobody yet
              > ok
              > publish event 3
            0 say 4 tom : four
              > refused: SessionFull { waiting: 3 }
            86400 tick
              + event 1 expired
              > publish event 1
              + event 2 expired
              > publish event 2
              + event 3 expired
              > publish event 3
            86401 say 5 tom : five
              + event 5 of tom in chat 4 for nobody yet
              > ok
              > publish event 5
        "#]],
    );
}

#[test]
fn a_resumed_session_inherits_what_was_waiting() {
    check(
        "0 attach 1 api
         1 say 1 tom to=session:1 : one
         2 end 1
         3 say 2 tom to=session:1 : gone
         4 attach 2 api continues=1
         5 say 3 tom to=session:1 : here again",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom to=session:1 : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 end 1
              + session 1 ended: bye
              + events 1 moved to session 1, perhaps again
              > done
              > publish session 1
            3 say 2 tom to=session:1 : gone
              > refused: NoRoute(EndedSession(00000000000000000000000001))
            4 attach 2 api continues=1
              + session 2 attached, wrote []
              + events 1 moved to session 2, perhaps again
              > done
              > publish session 2
              > wake session 2 for [1]
            5 say 3 tom to=session:1 : here again
              + event 3 of tom in chat 2 for session 2
              > ok
              > wake session 2 for [1 3]
              > publish event 3
        "#]],
    );
}

#[test]
fn what_was_given_to_a_client_that_only_looked_is_for_the_next() {
    check(
        "0 say 1 tom : one
         1 attach 1 api
         2 wrote 1 1
         3 end 1 untouched
         4 attach 2 api
         5 wrote 2 1
         6 end 2
         7 attach 3 api",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 attach 1 api
              + session 1 attached, wrote []
              + events 1 moved to session 1
              > done
              > publish session 1
              > wake session 1 for [1]
            2 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            3 end 1 untouched
              + session 1 ended: bye
              + events 1 wait again for nobody yet, attempts 0
              > done
              > publish session 1
            4 attach 2 api
              + session 2 attached, wrote []
              + events 1 moved to session 2
              > done
              > publish session 2
              > wake session 2 for [1]
            5 wrote 2 1
              + session 2 wrote 1
              > done
              > wake session 2 for []
              > publish event 1
            6 end 2
              + session 2 ended: bye
              > done
              > publish session 2
            7 attach 3 api
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
        "#]],
    );
}

#[test]
fn nobody_goes_on_from_a_session_whose_process_is_there() {
    check(
        "0 attach 1 api
         1 say 1 tom to=session:1 : one
         2 attach 2 api continues=1",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom to=session:1 : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 attach 2 api continues=1
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
        "#]],
    );
}

#[test]
fn a_process_that_comes_back_late_is_told_that_its_ask_was_withdrawn() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 end 1
         3 attach 1 api",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 end 1
              + session 1 ended: bye
              > done
              > publish session 1
              + ask 1 withdrawn: its session ended
              > done
              > publish ask 1
            3 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > close abcde at session 1
              > wake session 1 for []
        "#]],
    );
}

#[test]
fn a_session_settles_only_events_of_its_own() {
    check(
        "0 attach 1 api
         0 attach 2 web
         1 say 1 tom to=session:1 : one
         2 wrote 2 1
         3 attach 3 other wrote=1
         4 wrote 1 1",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 say 1 tom to=session:1 : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 wrote 2 1
              > done
              > wake session 2 for []
            3 attach 3 other wrote=1
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            4 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
        "#]],
    );
}

#[test]
fn who_takes_a_link_over_does_not_make_us_forget_the_agent() {
    let mut state = crate::State::new(crate::Limits::default());
    for line in ["attach 1 api pid=7 runs", "describe 1 api", "attach 1 api", "describe 1 api pid=8"] {
        let now = crate::Moment(1);
        for record in crate::decide(&state, now, super::read(line)).0 {
            state.apply(now, &record);
        }
        let about = &state.sessions().next().unwrap().about;
        assert_eq!((about.pid, about.runs_commands), (Some(7), true), "{line}");
    }
}

#[test]
fn a_clock_that_is_set_back_leaves_sessions_as_old_as_they_are() {
    let mut state = State::new(Limits::default());
    let session = SessionId::new(Moment(0), 1);
    let about = SessionAbout::new(Label::new("api").unwrap(), "channel");
    let attached = Record::Attached { session, about, label: None, wrote: vec![], moves: Moves::Recorded };
    state.apply(Moment(1_000_000), &attached);
    state.apply(Moment(700_000), &Record::ClockSet { was: 1_500_000 });
    let age = Moment(700_000).since(state.session(session).unwrap().since);
    assert_eq!(age, 500_000, "as it was by the clock before");
}

#[test]
fn a_clock_that_was_ahead_does_not_stop_time() {
    check(
        "100 attach 1 api
         900000 lose 1
         101 clock 900000
         105 tick
         112 tick",
        &expect![[r#"
            100 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            900000 lose 1
              + session 1 lost
              > done
              > publish session 1
            101 clock 900000
              + clock set back from 900000
            105 tick
            112 tick
              + session 1 ended: its process went away
              > done
              > publish session 1
        "#]],
    );
}
