//! Who is let in, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn only_an_admin_lets_people_in() {
    check(
        "0 token 1 eve sender ann
         1 token 1 eve sender root
         2 token 2 eve reviewer root
         3 token 2 owner admin root
         4 role eve reviewer root
         5 role tim reviewer root
         6 token 2 eve reviewer root
         7 revoke 1 ann
         8 revoke 1 root
         9 revoke 1 root
         10 remove eve root
         11 revoke 2 root",
        &expect![[r#"
            0 token 1 eve sender ann
              > refused: NeedsRight(Admin)
            1 token 1 eve sender root
              + eve is a sender by root
              + token 1 for eve by root
              > done
              > publish people
            2 token 2 eve reviewer root
              > refused: OtherRole { role: Sender }
            3 token 2 owner admin root
              > refused: BadName
            4 role eve reviewer root
              + eve is a reviewer by root
              > done
              > publish people
            5 role tim reviewer root
              > refused: NoSuchPerson
            6 token 2 eve reviewer root
              + token 2 for eve by root
              > done
              > publish people
            7 revoke 1 ann
              > refused: NeedsRight(Admin)
            8 revoke 1 root
              + token 1 revoked by root
              > done
              > publish people
            9 revoke 1 root
              > refused: NoSuchToken
            10 remove eve root
              + eve removed by root
              > done
              > publish people
            11 revoke 2 root
              > refused: NoSuchToken
        "#]],
    );
}

#[test]
fn a_stranger_is_let_in_by_a_code_and_guessing_ends_soon() {
    check(
        "0 knock u1 7
         1 knock u1 8
         2 knock u2 7
         3 knock u3 9
         4 knock u4 10
         5 pair 70000000 tim ann
         6 pair 70000000 tim root
         7 pair 70000000 tim root
         8 pair 10000000 tim root
         9 pair 20000000 tim root
         10 pair 30000000 tim root
         11 pair 40000000 tim root
         12 pair 80000000 tim root
         700 pair 80000000 tim root",
        &expect![[r#"
            0 knock u1 7
              + telegram:u1 shows 7000-0000
              > show 7000-0000
              > publish people
            1 knock u1 8
              > show 7000-0000
            2 knock u2 7
              + telegram:u2 shows 8000-0000
              > show 8000-0000
              > publish people
            3 knock u3 9
              + telegram:u3 shows 9000-0000
              > show 9000-0000
              > publish people
            4 knock u4 10
              > refused: TooManyPairings
            5 pair 70000000 tim ann
              > refused: NeedsRight(Admin)
            6 pair 70000000 tim root
              + 7000-0000 is tim, a sender, by root
              + telegram:u1 is tim by root
              > done
              > publish people
            7 pair 70000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            8 pair 10000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            9 pair 20000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            10 pair 30000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            11 pair 40000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
            12 pair 80000000 tim root
              > refused: TooManyMisses { retry_at: Moment(607000) }
            700 pair 80000000 tim root
              > refused: NoSuchPairing
              + root missed a pairing
        "#]],
    );
}

#[test]
fn an_identity_is_one_persons_until_it_or_the_person_is_removed() {
    check(
        "0 knock u1 7
         1 pair 70000000 tim root
         2 knock u1 8
         3 unlink telegram:u2 root
         4 unlink telegram:u1 ann
         5 unlink telegram:u1 root
         6 knock u1 9
         7 pair 90000000 tim root
         8 remove tim root
         9 unlink telegram:u1 root
         10 knock u1 10",
        &expect![[r#"
            0 knock u1 7
              + telegram:u1 shows 7000-0000
              > show 7000-0000
              > publish people
            1 pair 70000000 tim root
              + 7000-0000 is tim, a sender, by root
              + telegram:u1 is tim by root
              > done
              > publish people
            2 knock u1 8
              > done
            3 unlink telegram:u2 root
              > refused: NoSuchIdentity
            4 unlink telegram:u1 ann
              > refused: NeedsRight(Admin)
            5 unlink telegram:u1 root
              + telegram:u1 is tim no more by root
              > done
              > publish people
            6 knock u1 9
              + telegram:u1 shows 9000-0000
              > show 9000-0000
              > publish people
            7 pair 90000000 tim root
              + 9000-0000 is tim, a sender, by root
              + telegram:u1 is tim by root
              > done
              > publish people
            8 remove tim root
              + tim removed by root
              > done
              > publish people
            9 unlink telegram:u1 root
              > refused: NoSuchIdentity
            10 knock u1 10
              + telegram:u1 shows a000-0000
              > show a000-0000
              > publish people
        "#]],
    );
}

#[test]
fn a_conversation_of_a_connector_is_opened_on_its_platform_alone() {
    check(
        "1 taken ops 0
         2 say 2 tom chat=ops:8 : it is not yours
         3 say 3 ann chat=ops:8 : not even a reviewer's
         4 say 4 tim via=ops chat=ops:8 : from the platform
         5 say 5 tom via=ops chat=ops:8 : another one there
         6 say 6 eve chat=ops:8 : over http
         7 say 7 ann chat=ops:8 : a reviewer joins in",
        &expect![[r#"
            1 taken ops 0
              + ops has taken 0 []
              > done
            2 say 2 tom chat=ops:8 : it is not yours
              > refused: ForeignChat(ops:8)
            3 say 3 ann chat=ops:8 : not even a reviewer's
              > refused: ForeignChat(ops:8)
            4 say 4 tim via=ops chat=ops:8 : from the platform
              + event 4 of tim in chat ops:8 for nobody yet
              > ok
              > publish event 4
            5 say 5 tom via=ops chat=ops:8 : another one there
              + event 5 of tom in chat ops:8 for nobody yet
              > ok
              > publish event 5
            6 say 6 eve chat=ops:8 : over http
              > refused: ForeignChat(ops:8)
            7 say 7 ann chat=ops:8 : a reviewer joins in
              + event 7 of ann in chat ops:8 for nobody yet
              > ok
              > publish event 7
        "#]],
    );
}

#[test]
fn what_was_taken_is_written_down_once_and_never_goes_back() {
    check(
        "0 taken ops 0
         1 taken ops 0
         2 taken ops 7
         3 taken ops 6
         4 taken ops 6 message=m1
         5 taken other 3",
        &expect![[r#"
            0 taken ops 0
              + ops has taken 0 []
              > done
            1 taken ops 0
              > done
            2 taken ops 7
              + ops has taken 7 []
              > done
            3 taken ops 6
              > done
            4 taken ops 6 message=m1
              + ops has taken 7 ["m1"]
              > done
            5 taken other 3
              + other has taken 3 []
              > done
        "#]],
    );
}

#[test]
fn an_agent_and_the_credential_it_has_go_on_in_each_others_conversations() {
    check(
        "0 attach 1 api
         1 say 1 tom inside=api chat=a : begun inside
         2 say 2 tom chat=a : gone on with from outside
         2 wrote 1 1,2
         3 say 3 tom chat=b : begun outside
         4 say 4 tom inside=api chat=b : gone on with from inside
         5 say 5 eve inside=api chat=b : with another credential
         6 say 6 eve chat=a : not theirs",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom inside=api chat=a : begun inside
              + event 1 of agent:api in chat a for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 say 2 tom chat=a : gone on with from outside
              + event 2 of tom in chat a for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            2 wrote 1 1,2
              + session 1 wrote 1 2
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
            3 say 3 tom chat=b : begun outside
              + event 3 of tom in chat b for session 1
              > ok
              > wake session 1 for [3]
              > publish event 3
            4 say 4 tom inside=api chat=b : gone on with from inside
              + event 4 of agent:api in chat b for session 1
              > ok
              > wake session 1 for [3 4]
              > publish event 4
            5 say 5 eve inside=api chat=b : with another credential
              > refused: ForeignChat(b)
            6 say 6 eve chat=a : not theirs
              > refused: ForeignChat(a)
        "#]],
    );
}
