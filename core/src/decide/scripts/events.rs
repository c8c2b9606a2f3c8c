//! The life of an event, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn what_is_said_twice_under_one_key_counts_once() {
    check(
        "0 say 1 tom key=k : one
         1 say 2 tom key=k : one
         2 say 3 tom key=k : another
         3 say 4 eve key=k : one
         604800 say 5 tom key=k : one",
        &expect![[r#"
            0 say 1 tom key=k : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 say 2 tom key=k : one
              > ok, as event 1
            2 say 3 tom key=k : another
              > refused: KeyReused { event: 00000000000000000000000001 }
            3 say 4 eve key=k : one
              + event 4 of eve in chat 2 for nobody yet
              > ok
              > publish event 4
            604800 say 5 tom key=k : one
              + event 5 of tom in chat 3 for nobody yet
              > ok
              > publish event 5
        "#]],
    );
}

#[test]
fn what_a_turn_brought_that_has_ended_is_read_and_does_not_come_again() {
    check(
        "0 attach 1 api agent=a
         1 say 1 tom : one
         1 say 2 tom : two
         2 wrote 1 1,2
         3 read 1 1
         3 read 1 1
         4 read 2 2
         5 end 1
         6 attach 2 api agent=a",
        &expect![[r#"
            0 attach 1 api agent=a
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
            2 wrote 1 1,2
              + session 1 wrote 1 2
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
            3 read 1 1
              > done
              + event 1 seen
              > publish event 1
            3 read 1 1
              > done
            4 read 2 2
              > done
            5 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            6 attach 2 api agent=a
              + session 2 attached, wrote []
              + events 2 wait again for session 2, attempts 1
              > done
              > publish session 2
              > wake session 2 for [2]
        "#]],
    );
}

#[test]
fn an_event_that_was_never_read_is_given_again_and_at_last_given_up() {
    check(
        "0 attach 1 api agent=a
         1 say 1 tom : one
         1 say 2 tom : two
         2 wrote 1 1,2
         3 open 1 2
         4 end 1
         5 attach 2 api agent=a
         6 wrote 2 1
         7 end 2
         8 attach 3 api agent=a
         9 wrote 3 1
         10 end 3
         11 attach 4 api agent=a
         12 retry 1 tom
         13 wrote 4 1
         14 retry 1 eve",
        &expect![[r#"
            0 attach 1 api agent=a
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
            2 wrote 1 1,2
              + session 1 wrote 1 2
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
            3 open 1 2
              > done
              + event 2 seen
              > publish event 2
            4 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            5 attach 2 api agent=a
              + session 2 attached, wrote []
              + events 1 wait again for session 2, attempts 1
              > done
              > publish session 2
              > wake session 2 for [1]
            6 wrote 2 1
              + session 2 wrote 1
              > done
              > wake session 2 for []
              > publish event 1
            7 end 2
              + session 2 ended: bye
              > done
              > publish session 2
            8 attach 3 api agent=a
              + session 3 attached, wrote []
              + events 1 wait again for session 3, attempts 2
              > done
              > publish session 3
              > wake session 3 for [1]
            9 wrote 3 1
              + session 3 wrote 1
              > done
              > wake session 3 for []
              > publish event 1
            10 end 3
              + session 3 ended: bye
              > done
              > publish session 3
            11 attach 4 api agent=a
              + session 4 attached, wrote []
              > done
              > publish session 4
              > wake session 4 for []
              + event 1 died
              > publish event 1
            12 retry 1 tom
              + event 1 retried by tom for session 4
              > done
              > publish event 1
              > wake session 4 for [1]
            13 wrote 4 1
              + session 4 wrote 1
              > done
              > wake session 4 for []
              > publish event 1
            14 retry 1 eve
              > refused: NoSuchEvent
        "#]],
    );
}

#[test]
fn an_event_can_be_dropped_while_it_waits_and_by_those_it_concerns() {
    check(
        "0 say 1 tom : one
         1 drop 1 eve
         2 drop 1 tom
         3 drop 1 tom
         4 attach 1 api
         5 retry 1 ann
         6 say 2 tom : two
         7 wrote 1 2
         8 drop 2 ann",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 drop 1 eve
              > refused: NoSuchEvent
            2 drop 1 tom
              + event 1 dropped by tom
              > done
              > publish event 1
            3 drop 1 tom
              > refused: EventSettled { life: Dropped { at: Moment(2000), by: "tom", why: None } }
            4 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            5 retry 1 ann
              + event 1 retried by ann for session 1
              > done
              > publish event 1
              > wake session 1 for [1]
            6 say 2 tom : two
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            7 wrote 1 2
              + session 1 wrote 2
              > done
              > wake session 1 for [1]
              > publish event 2
            8 drop 2 ann
              > refused: EventSettled { life: Delivered { at: Moment(7000) } }
        "#]],
    );
}

#[test]
fn one_sender_takes_no_more_than_a_share_of_what_waits_for_nobody() {
    let limits = crate::Limits { waiting_of_one: 2, ..crate::Limits::default() };
    super::check_in(
        crate::State::new(limits),
        "0 say 1 tom : one
         1 say 2 tom : two
         2 say 3 tom : three
         3 say 4 tom to=label:api : for another label
         4 say 5 ann : of another sender",
        &expect![[r#"
            0 say 1 tom : one
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 say 2 tom : two
              + event 2 of tom in chat 2 for nobody yet
              > ok
              > publish event 2
            2 say 3 tom : three
              > refused: SessionFull { waiting: 2 }
            3 say 4 tom to=label:api : for another label
              + event 4 of tom in chat 3 for nobody yet
              > ok
              > publish event 4
            4 say 5 ann : of another sender
              + event 5 of ann in chat 4 for nobody yet
              > ok
              > publish event 5
        "#]],
    );
}
