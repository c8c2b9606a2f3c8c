//! Replies: where a session may send them, and what becomes of them.

use super::{check, check_in};
use crate::State;
use crate::state::{Limits, StateMemory};
use expect_test::expect;

#[test]
fn a_reply_to_a_forgotten_event_is_taken_and_one_to_an_event_of_another_chat_is_not() {
    let memory = StateMemory { settled_events: 1, ..StateMemory::default() };
    check_in(
        State::with_memory(Limits::default(), memory),
        "0 attach 1 api
         1 say 1 tom chat=a : one
         2 wrote 1 1
         3 say 2 tom chat=b : two
         4 wrote 1 2
         5 reply 1 1 a to=1 : kept meanwhile
         6 reply 2 1 a to=2 : of another chat",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom chat=a : one
              + event 1 of tom in chat a for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            3 say 2 tom chat=b : two
              + event 2 of tom in chat b for session 1
              > ok
              > wake session 1 for [2]
              > publish event 2
            4 wrote 1 2
              + session 1 wrote 2
              > done
              > wake session 1 for []
              > publish event 2
            5 reply 1 1 a to=1 : kept meanwhile
              + reply to a: kept meanwhile
              > done
              > publish reply
            6 reply 2 1 a to=2 : of another chat
              > refused: NotOfChat { event: 00000000000000000000000002, chat: a }
        "#]],
    );
}

#[test]
fn a_reply_goes_only_where_the_session_was_spoken_to() {
    check(
        "0 attach 1 api
         1 say 1 tom : hello
         2 reply 1 1 1 : too early
         3 wrote 1 1
         4 reply 2 1 1 : hi tom
         4 reply 2 1 1 : hi tom
         5 reply 3 1 7 : hi stranger
         6 open 1 1",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : hello
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 reply 1 1 1 : too early
              > refused: ChatNotDelivered(1)
            3 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            4 reply 2 1 1 : hi tom
              + reply to 1: hi tom
              > done
              > publish reply
              + event 1 seen
              > publish event 1
            4 reply 2 1 1 : hi tom
              > done
            5 reply 3 1 7 : hi stranger
              > refused: ChatNotDelivered(7)
            6 open 1 1
              > done
        "#]],
    );
}

#[test]
fn a_session_edits_its_own_replies_and_nobody_elses() {
    check(
        "0 attach 1 api agent=a
         1 attach 2 web
         2 say 1 tom to=session:1 : hello
         3 wrote 1 1
         4 reply 1 1 1 : working on it
         5 edit 1 1 : done
         6 edit 1 1 : done
         7 edit 1 2 : it was me
         8 edit 9 1 : no such reply
         9 end 1
         10 attach 3 api agent=a
         11 edit 1 3 : done, in another process",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            2 say 1 tom to=session:1 : hello
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            3 wrote 1 1
              + session 1 wrote 1
              > done
              > wake session 1 for []
              > publish event 1
            4 reply 1 1 1 : working on it
              + reply to 1: working on it
              > done
              > publish reply
              + event 1 seen
              > publish event 1
            5 edit 1 1 : done
              + reply 1 edited by session 1: done
              > done
              > publish reply
            6 edit 1 1 : done
              > done
            7 edit 1 2 : it was me
              > refused: NoSuchReply
            8 edit 9 1 : no such reply
              > refused: NoSuchReply
            9 end 1
              + session 1 ended: bye
              > done
              > publish session 1
              > wake session 2 for []
            10 attach 3 api agent=a
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            11 edit 1 3 : done, in another process
              + reply 1 edited by session 3: done, in another process
              > done
              > publish reply
        "#]],
    );
}
