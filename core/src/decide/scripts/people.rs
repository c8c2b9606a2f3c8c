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
              + u1 on telegram shows 7000-0000
              > show 7000-0000
              > publish people
            1 knock u1 8
              > show 7000-0000
            2 knock u2 7
              + u2 on telegram shows 8000-0000
              > show 8000-0000
              > publish people
            3 knock u3 9
              + u3 on telegram shows 9000-0000
              > show 9000-0000
              > publish people
            4 knock u4 10
              > refused: TooManyPairings
            5 pair 70000000 tim ann
              > refused: NeedsRight(Admin)
            6 pair 70000000 tim root
              + 7000-0000 is tim, a sender, by root
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
