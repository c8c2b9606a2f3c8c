//! Sessions that come and go, told as scripts.

use expect_test::expect;

use super::{check, check_in};
use crate::State;
use crate::state::{Limits, StateMemory};

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
fn several_sessions_must_be_told_apart() {
    check(
        "0 attach 1 api
         0 attach 2 web
         1 say 1 tom : which
         2 say 2 tom to=label:web chat=c : there
         3 say 3 tom chat=c : and again
         4 say 4 tom to=session:9 : unknown
         5 lose 2
         6 say 5 tom : the only one left
         7 say 6 eve chat=c : not mine",
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
            1 say 1 tom : which
              > refused: which of api, web
            2 say 2 tom to=label:web chat=c : there
              + event 2 of tom in chat c for session 2
              > ok
              > wake session 2 for [2]
              > publish event 2
            3 say 3 tom chat=c : and again
              + event 3 of tom in chat c for session 2
              > ok
              > wake session 2 for [2 3]
              > publish event 3
            4 say 4 tom to=session:9 : unknown
              > refused: NoRoute(UnknownSession(00000000000000000000000009))
            5 lose 2
              + session 2 lost
              > done
              > publish session 2
            6 say 5 tom : the only one left
              + event 5 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [5]
              > publish event 5
            7 say 6 eve chat=c : not mine
              > refused: ForeignChat(c)
        "#]],
    );
}

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
fn a_sender_kept_to_a_label_reaches_the_session_that_wanted_it_and_no_other_that_was_numbered_so() {
    check(
        "0 say 1 tom only=api-2 to=label:api-2 : not for a second api
         1 attach 1 api
         2 attach 2 api
         3 attach 3 api-2
         4 say 2 tom only=api-2 to=label:api-2 : the one that wanted it
         5 say 3 ann to=label:api-2 : the one that has it
         6 end 3",
        &expect![[r#"
            0 say 1 tom only=api-2 to=label:api-2 : not for a second api
              + event 1 of tom in chat 1 for nobody yet
              > ok
              > publish event 1
            1 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            2 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            3 attach 3 api-2
              + session 3 attached as api-2-2, wrote []
              + events 1 moved to session 3
              > done
              > publish session 3
              > wake session 3 for [1]
            4 say 2 tom only=api-2 to=label:api-2 : the one that wanted it
              + event 2 of tom in chat 2 for session 3
              > ok
              > wake session 3 for [1 2]
              > publish event 2
            5 say 3 ann to=label:api-2 : the one that has it
              + event 3 of ann in chat 3 for session 2
              > ok
              > wake session 2 for [3]
              > publish event 3
            6 end 3
              + session 3 ended: bye
              + events 1 2 moved to nobody yet, perhaps again
              > done
              > publish session 3
              > wake session 1 for []
              > wake session 2 for [3]
        "#]],
    );
}

#[test]
fn no_session_is_numbered_as_a_label_that_a_token_names() {
    check(
        "0 token 1 tom sender root only=api-2
         1 attach 1 api
         2 attach 2 api
         3 attach 3 api-2",
        &expect![[r#"
            0 token 1 tom sender root only=api-2
              + tom is a sender by root
              + token 1 for tom by root
              > done
              > publish people
            1 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            2 attach 2 api
              + session 2 attached as api-3, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            3 attach 3 api-2
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
        "#]],
    );
}

#[test]
fn a_label_is_kept_for_the_sessions_life_and_for_a_day_after_it() {
    check(
        "0 attach 1 api agent=a
         1 attach 2 api
         2 say 1 tom to=label:api : exactly the first
         3 say 2 tom to=label:api-2 : the second
         4 attach 2 api
         5 end 1
         6 say 3 tom to=label:api : the only one that wanted it
         7 attach 3 api
         8 attach 4 api chosen
         9 attach 5 api agent=a
         10 end 3 untouched
         11 attach 6 api
         12 end 4
         86400011 attach 7 web
         86400012 attach 8 api",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            2 say 1 tom to=label:api : exactly the first
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            3 say 2 tom to=label:api-2 : the second
              + event 2 of tom in chat 2 for session 2
              > ok
              > wake session 2 for [2]
              > publish event 2
            4 attach 2 api
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for [2]
            5 end 1
              + session 1 ended: bye
              + events 1 moved to session 2, perhaps again
              > done
              > publish session 1
              > wake session 2 for [1 2]
            6 say 3 tom to=label:api : the only one that wanted it
              + event 3 of tom in chat 3 for session 2
              > ok
              > wake session 2 for [1 2 3]
              > publish event 3
            7 attach 3 api
              + session 3 attached as api-3, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            8 attach 4 api chosen
              + session 4 attached, wrote []
              > done
              > publish session 4
              > wake session 4 for []
            9 attach 5 api agent=a
              + session 5 attached as api-4, wrote []
              > done
              > publish session 5
              > wake session 5 for []
            10 end 3 untouched
              + session 3 ended: bye
              > done
              > publish session 3
              > wake session 2 for [1 2 3]
              > wake session 4 for []
              > wake session 5 for []
            11 attach 6 api
              + session 6 attached as api-3, wrote []
              > done
              > publish session 6
              > wake session 6 for []
            12 end 4
              + session 4 ended: bye
              > done
              > publish session 4
              > wake session 2 for [1 2 3]
              > wake session 5 for []
              > wake session 6 for []
            86400011 attach 7 web
              + session 7 attached, wrote []
              > done
              > publish session 7
              > wake session 7 for []
            86400012 attach 8 api
              + session 8 attached, wrote []
              > done
              > publish session 8
              > wake session 8 for []
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
              + session 3 attached as api-2, wrote []
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
