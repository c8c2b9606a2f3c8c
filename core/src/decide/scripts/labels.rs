//! Labels: how sessions of one name are told apart, and whom a sender reaches by one.

use super::check;
use expect_test::expect;

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
fn sessions_one_after_another_have_one_label_and_those_next_to_each_other_have_their_own() {
    check(
        "0 attach 1 api
         1 end 1
         2 attach 2 api
         3 attach 3 api
         4 end 2
         5 attach 4 api
         6 end 3
         7 end 4
         8 attach 5 api",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            2 attach 2 api
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            3 attach 3 api
              + session 3 attached as api-2, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            4 end 2
              + session 2 ended: bye
              > done
              > publish session 2
              > wake session 3 for []
            5 attach 4 api
              + session 4 attached as api-3, wrote []
              > done
              > publish session 4
              > wake session 4 for []
            6 end 3
              + session 3 ended: bye
              > done
              > publish session 3
              > wake session 4 for []
            7 end 4
              + session 4 ended: bye
              > done
              > publish session 4
            8 attach 5 api
              + session 5 attached, wrote []
              > done
              > publish session 5
              > wake session 5 for []
        "#]],
    );
}

#[test]
fn a_session_that_comes_back_has_its_label_unless_another_was_given_it_meanwhile() {
    check(
        "0 attach 1 api
         1 end 1
         2 attach 1 api
         3 end 1
         4 attach 2 api
         5 attach 1 api
         6 say 1 tom to=label:api : the one that has it now",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            2 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            3 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            4 attach 2 api
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            5 attach 1 api
              + session 1 attached as api-2, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            6 say 1 tom to=label:api : the one that has it now
              + event 1 of tom in chat 1 for session 2
              > ok
              > wake session 2 for [1]
              > publish event 1
        "#]],
    );
}
