//! Devices and people who are no longer let in, and what they had sent, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn what_a_revoked_device_sent_and_no_agent_was_given_is_dropped() {
    check(
        "0 token 9 ann reviewer root
         1 link 1 ann Phone root
         2 attach 1 api
         3 say 1 ann device=Phone : one
         4 say 2 ann device=Tablet : two
         5 say 3 tom : three
         8 revoke 1 root
         9 wrote 1 1,2,3
         10 retry 1 ann",
        &expect![[r#"
            0 token 9 ann reviewer root
              + ann is a reviewer by root
              + token 9 for ann by root
              > done
              > publish people
            1 link 1 ann Phone root
              + token 1 for ann by root
              > done
              > publish people
            2 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            3 say 1 ann device=Phone : one
              + event 1 of ann in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            4 say 2 ann device=Tablet : two
              + event 2 of ann in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            5 say 3 tom : three
              + event 3 of tom in chat 3 for session 1
              > ok
              > wake session 1 for [1 2 3]
              > publish event 3
            8 revoke 1 root
              + token 1 revoked by root
              > done
              > publish people
              + event 1 dropped by root: its device "Phone" was revoked
              > done
              > publish event 1
              > take event 1 back from session 1
            9 wrote 1 1,2,3
              + session 1 wrote 2 3
              > done
              > wake session 1 for []
              > publish event 2
              > publish event 3
            10 retry 1 ann
              + event 1 retried by ann for session 1
              > done
              > publish event 1
              > wake session 1 for [1]
        "#]],
    );
}

#[test]
fn whoever_is_removed_or_may_only_inform_directs_nothing_that_waits() {
    check(
        "0 token 1 ann reviewer root
         1 token 2 bob reviewer root
         2 attach 1 api
         3 say 1 ann : one
         4 say 2 bob : two
         5 role ann sender root
         6 remove bob root",
        &expect![[r#"
            0 token 1 ann reviewer root
              + ann is a reviewer by root
              + token 1 for ann by root
              > done
              > publish people
            1 token 2 bob reviewer root
              + bob is a reviewer by root
              + token 2 for bob by root
              > done
              > publish people
            2 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            3 say 1 ann : one
              + event 1 of ann in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            4 say 2 bob : two
              + event 2 of bob in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            5 role ann sender root
              + ann is a sender by root
              > done
              > publish people
              + event 1 dropped by root: ann may no longer direct sessions
              > done
              > publish event 1
              > take event 1 back from session 1
            6 remove bob root
              + bob removed by root
              > done
              > publish people
              + event 2 dropped by root: bob was removed
              > done
              > publish event 2
              > take event 2 back from session 1
        "#]],
    );
}

#[test]
fn what_a_revoked_device_sent_does_not_come_again_in_another_process() {
    check(
        "0 token 9 ann reviewer root
         1 link 1 ann Phone root
         2 link 2 ann Tablet root
         3 attach 1 api agent=a
         4 say 1 ann device=Phone : one
         5 say 2 ann device=Tablet : two
         6 wrote 1 1,2
         7 revoke 1 root
         8 end 1
         9 attach 2 api agent=a",
        &expect![[r#"
            0 token 9 ann reviewer root
              + ann is a reviewer by root
              + token 9 for ann by root
              > done
              > publish people
            1 link 1 ann Phone root
              + token 1 for ann by root
              > done
              > publish people
            2 link 2 ann Tablet root
              + token 2 for ann by root
              > done
              > publish people
            3 attach 1 api agent=a
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            4 say 1 ann device=Phone : one
              + event 1 of ann in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            5 say 2 ann device=Tablet : two
              + event 2 of ann in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            6 wrote 1 1,2
              + session 1 wrote 1 2
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
            7 revoke 1 root
              + token 1 revoked by root
              > done
              > publish people
            8 end 1
              + session 1 ended: bye
              > done
              > publish session 1
            9 attach 2 api agent=a
              + session 2 attached, wrote []
              + events 2 wait again for session 2, attempts 1
              > done
              > publish session 2
              > wake session 2 for [2]
        "#]],
    );
}

#[test]
fn the_use_of_a_device_is_written_down_once_an_hour() {
    check(
        "0 token 9 ann reviewer root
         1 link 1 ann Phone root
         2 use 1
         3000 use 1
         3602 use 1
         3603 use 9",
        &expect![[r#"
            0 token 9 ann reviewer root
              + ann is a reviewer by root
              + token 9 for ann by root
              > done
              > publish people
            1 link 1 ann Phone root
              + token 1 for ann by root
              > done
              > publish people
            2 use 1
              + device 1 was used
              > done
            3000 use 1
              > done
            3602 use 1
              + device 1 was used
              > done
            3603 use 9
              > done
        "#]],
    );
}
