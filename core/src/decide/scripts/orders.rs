//! What running sessions are told to do, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn orders_are_for_driven_sessions_and_a_stop_is_kept() {
    check(
        "0 attach 1 api
         1 order 1 prompt root : go on
         2 order 1 stop tom
         3 order 1 stop ann
         4 lose 1
         5 attach 1 api
         6 order 1 resume ann
         7 attach 2 web driven
         8 order 2 prompt ann : go on
         9 order 2 prompt root : go on
         10 order 2 interrupt ann
         11 lose 2
         12 order 2 prompt root : still there?",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 order 1 prompt root : go on
              > refused: NotDriven
            2 order 1 stop tom
              > refused: NeedsRight(Review)
            3 order 1 stop ann
              + session 1 told to stop by ann
              > done
              > have session 1 stop
              > publish session 1
            4 lose 1
              + session 1 lost
              > done
              > publish session 1
            5 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > have session 1 stop
              > wake session 1 for []
            6 order 1 resume ann
              + session 1 told to resume by ann
              > done
              > have session 1 resume
              > publish session 1
            7 attach 2 web driven
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            8 order 2 prompt ann : go on
              > refused: NeedsRight(Start)
            9 order 2 prompt root : go on
              + session 2 told to prompt by root
              > done
              > have session 2 prompt
              > publish session 2
            10 order 2 interrupt ann
              + session 2 told to interrupt by ann
              > done
              > have session 2 interrupt
              > publish session 2
            11 lose 2
              + session 2 lost
              > done
              > publish session 2
            12 order 2 prompt root : still there?
              > refused: SessionAway
        "#]],
    );
}

#[test]
fn a_stop_holds_in_the_process_in_which_the_session_goes_on() {
    check(
        "0 attach 1 api agent=a
         1 order 1 stop ann
         2 lose 1
         3 attach 2 api agent=a
         4 order 2 resume ann
         5 lose 2
         6 attach 3 api agent=a",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 order 1 stop ann
              + session 1 told to stop by ann
              > done
              > have session 1 stop
              > publish session 1
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 attach 2 api agent=a
              + session 2 attached, wrote []
              > done
              > publish session 2
              > have session 2 stop
              > wake session 2 for []
              + session 1 ended: it goes on in another process
              > done
              > publish session 1
              > wake session 2 for []
            4 order 2 resume ann
              + session 2 told to resume by ann
              > done
              > have session 2 resume
              > publish session 2
            5 lose 2
              + session 2 lost
              > done
              > publish session 2
            6 attach 3 api agent=a
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
              + session 2 ended: it goes on in another process
              > done
              > publish session 2
              > wake session 3 for []
        "#]],
    );
}
