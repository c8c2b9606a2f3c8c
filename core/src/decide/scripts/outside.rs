//! The outside guard goes with the conversation.

use super::check;
use expect_test::expect;

#[test]
fn the_guard_is_told_to_the_next_process_of_the_same_conversation() {
    check(
        "0 attach 1 api agent=a
         1 outside 1 ci
         2 outside 1 ci
         3 end 1
         4 attach 2 api agent=a
         5 directed 2 ann
         6 directed 2 ann
         7 end 2
         8 attach 3 api agent=a",
        &expect![[r#"
            0 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 outside 1 ci
              + session 1 has read text from ci
              > done
              > publish session 1
            2 outside 1 ci
              > done
            3 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            4 attach 2 api agent=a
              + session 2 attached, wrote []
              > done
              > publish session 2
              > guard session 2 against ci
              > wake session 2 for []
            5 directed 2 ann
              + guard of session 2 ended by ann
              > done
              > publish session 2
            6 directed 2 ann
              > done
            7 end 2
              + session 2 ended: bye
              > done
              > publish session 2
            8 attach 3 api agent=a
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
        "#]],
    );
}

#[test]
fn a_copy_of_a_conversation_has_the_guard_and_a_cleared_one_has_none() {
    check(
        "0 attach 1 api agent=a folder=/a
         1 outside 1 ci
         2 attach 2 api agent=b folder=/a
         3 describe 2 api agent=b folder=/a origin=forked
         4 describe 1 api agent=c folder=/a origin=cleared
         5 describe 1 api agent=c folder=/a origin=cleared driven
         6 attach 3 other agent=d folder=/d origin=forked
         7 describe 1 api agent=a folder=/a",
        &expect![[r#"
            0 attach 1 api agent=a folder=/a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 outside 1 ci
              + session 1 has read text from ci
              > done
              > publish session 1
            2 attach 2 api agent=b folder=/a
              + session 2 attached as api-2, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            3 describe 2 api agent=b folder=/a origin=forked
              + session 2 described
              + session 2 has read text from ci
              > done
              > publish session 2
              > guard session 2 against ci
            4 describe 1 api agent=c folder=/a origin=cleared
              + session 1 described
              + guard of session 1 ended by /clear
              > done
              > publish session 1
            5 describe 1 api agent=c folder=/a origin=cleared driven
              + session 1 described
              > done
              > publish session 1
            6 attach 3 other agent=d folder=/d origin=forked
              + session 3 attached, wrote []
              + session 3 has read text from ci
              > done
              > publish session 3
              > guard session 3 against ci
              > wake session 3 for []
            7 describe 1 api agent=a folder=/a
              + session 1 described
              > done
              > publish session 1
              > guard session 1 against ci
        "#]],
    );
}
