//! What a session's process has in its hands, and is no longer for its agent.

use expect_test::expect;

use super::check;

#[test]
fn what_has_expired_or_was_dropped_is_taken_back_from_a_process_that_still_has_it() {
    check(
        "0 attach 1 api
         0 say 1 tom : one
         0 say 2 tom : two
         0 say 3 tom : three
         1 drop 2 tom
         86400 tick
         86401 lose 1
         86402 say 4 tom to=session:1 : four
         86403 drop 4 tom
         86404 say 5 tom to=session:1 : five
         86405 attach 1 api holding=1,4,5",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 say 1 tom : one
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            0 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            0 say 3 tom : three
              + event 3 of tom in chat 3 for session 1
              > ok
              > wake session 1 for [1 2 3]
              > publish event 3
            1 drop 2 tom
              + event 2 dropped by tom
              > done
              > publish event 2
              > take event 2 back from session 1
            86400 tick
              + event 1 expired
              > publish event 1
              > take event 1 back from session 1
              + event 3 expired
              > publish event 3
              > take event 3 back from session 1
            86401 lose 1
              + session 1 lost
              > done
              > publish session 1
            86402 say 4 tom to=session:1 : four
              + event 4 of tom in chat 4 for session 1
              > ok
              > wake session 1 for [4]
              > publish event 4
            86403 drop 4 tom
              + event 4 dropped by tom
              > done
              > publish event 4
              > take event 4 back from session 1
            86404 say 5 tom to=session:1 : five
              + event 5 of tom in chat 5 for session 1
              > ok
              > wake session 1 for [5]
              > publish event 5
            86405 attach 1 api holding=1,4,5
              + session 1 attached, wrote []
              > done
              > publish session 1
              > take event 1 back from session 1
              > take event 4 back from session 1
              > wake session 1 for [5]
        "#]],
    );
}

#[test]
fn what_went_to_another_session_is_taken_back_from_the_one_that_was_away() {
    check(
        "0 attach 1 api
         1 say 1 tom : one
         2 lose 1
         3 attach 2 api
         14 tick
         15 attach 1 api holding=1",
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
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            14 tick
              + session 1 ended: its process went away
              + events 1 moved to session 2, perhaps again
              > done
              > publish session 1
              > wake session 2 for [1]
            15 attach 1 api holding=1
              + session 1 attached, wrote []
              > done
              > publish session 1
              > take event 1 back from session 1
              > wake session 1 for []
        "#]],
    );
}

#[test]
fn what_another_session_was_given_is_taken_back_from_the_one_that_was_away() {
    check(
        "0 attach 1 api
         1 say 1 tom : one
         2 lose 1
         3 attach 2 api
         14 tick
         15 wrote 2 1
         16 attach 1 api holding=1",
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
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            14 tick
              + session 1 ended: its process went away
              + events 1 moved to session 2, perhaps again
              > done
              > publish session 1
              > wake session 2 for [1]
            15 wrote 2 1
              + session 2 wrote 1
              > done
              > wake session 2 for []
              > publish event 1
            16 attach 1 api holding=1
              + session 1 attached, wrote []
              > done
              > publish session 1
              > take event 1 back from session 1
              > wake session 1 for []
        "#]],
    );
}
