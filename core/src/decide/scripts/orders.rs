//! What running sessions are told to do, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn orders_are_for_driven_sessions_and_a_stop_is_kept() {
    check(
        "0 attach 1 api
         1 order 1 prompt root : go on
         2 order 1 stop tom
         3 order 1 stop ann id=3
         4 lose 1
         5 attach 1 api
         6 order 1 resume ann id=6
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
            3 order 1 stop ann id=3
              + session 1 told to stop by ann
              > done
              > have session 1 stop, order 3
              > publish session 1
            4 lose 1
              + session 1 lost
              > done
              > publish session 1
            5 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > have session 1 stop, order 3
              > wake session 1 for []
            6 order 1 resume ann id=6
              + session 1 told to resume by ann
              > done
              > have session 1 resume, order 6
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
              > have session 2 prompt, order 1
              > publish session 2
            10 order 2 interrupt ann
              + session 2 told to interrupt by ann
              > done
              > have session 2 interrupt, order 1
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
         1 order 1 stop ann id=1
         2 lose 1
         3 attach 2 api agent=a
         4 ordered 2 1 done
         5 order 2 resume ann id=2
         6 lose 2
         7 attach 3 api agent=a
         8 ordered 3 2 done
         9 lose 3
         10 attach 4 api agent=a",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 order 1 stop ann id=1
              + session 1 told to stop by ann
              > done
              > have session 1 stop, order 1
              > publish session 1
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 attach 2 api agent=a
              + session 2 attached, wrote []
              > done
              > publish session 2
              > have session 2 stop, order 1
              > wake session 2 for []
              + session 1 ended: it goes on in another process
              > done
              > publish session 1
              > wake session 2 for []
            4 ordered 2 1 done
              + session 2 did order 1
              > done
              > publish session 2
            5 order 2 resume ann id=2
              + session 2 told to resume by ann
              > done
              > have session 2 resume, order 2
              > publish session 2
            6 lose 2
              + session 2 lost
              > done
              > publish session 2
            7 attach 3 api agent=a
              + session 3 attached, wrote []
              > done
              > publish session 3
              > have session 3 resume, order 2
              > wake session 3 for []
              + session 2 ended: it goes on in another process
              > done
              > publish session 2
              > wake session 3 for []
            8 ordered 3 2 done
              + session 3 did order 2
              > done
              > publish session 3
            9 lose 3
              + session 3 lost
              > done
              > publish session 3
            10 attach 4 api agent=a
              + session 4 attached, wrote []
              > done
              > publish session 4
              > wake session 4 for []
              + session 3 ended: it goes on in another process
              > done
              > publish session 3
              > wake session 4 for []
        "#]],
    );
}

#[test]
fn an_order_is_recorded_until_the_session_says_what_became_of_it() {
    check(
        "0 attach 1 api driven
         1 attach 2 web driven
         2 order 1 prompt root id=1 : go on
         3 ordered 2 1 done
         4 ordered 1 1 done
         5 ordered 1 1 failed : too late
         6 order 1 interrupt ann id=2
         7 ordered 1 2 failed : nothing runs
         8 order 1 interrupt ann id=3
         9 end 1
         10 ordered 1 3 done
         11 ordered 1 9 done",
        &expect![[r#"
            0 attach 1 api driven
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 attach 2 web driven
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            2 order 1 prompt root id=1 : go on
              + session 1 told to prompt by root
              > done
              > have session 1 prompt, order 1
              > publish session 1
            3 ordered 2 1 done
              > done
            4 ordered 1 1 done
              + session 1 did order 1
              > done
              > publish session 1
            5 ordered 1 1 failed : too late
              > done
            6 order 1 interrupt ann id=2
              + session 1 told to interrupt by ann
              > done
              > have session 1 interrupt, order 2
              > publish session 1
            7 ordered 1 2 failed : nothing runs
              + session 1 failed order 2: nothing runs
              > done
              > publish session 1
            8 order 1 interrupt ann id=3
              + session 1 told to interrupt by ann
              > done
              > have session 1 interrupt, order 3
              > publish session 1
            9 end 1
              + session 1 ended: bye
              > done
              > publish session 1
              > wake session 2 for []
            10 ordered 1 3 done
              + session 1 did order 3
              > done
              > publish session 1
            11 ordered 1 9 done
              > done
        "#]],
    );
}
