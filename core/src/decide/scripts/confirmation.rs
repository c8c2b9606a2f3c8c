//! Confirmation: whether the client took a verdict, and what can be done where nothing shows it.

use super::check;
use expect_test::expect;

#[test]
fn a_verdict_that_was_sent_is_never_replaced_and_may_be_not_confirmed() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan confirm=10 : begin
         2 allow abcde ann
         13 tick
         14 deny abcde bob
         15 carried 1 at=2
         26 tick
         27 deny abcde bob
         28 start
         29 deny abcde bob
         30 attach 1 api
         31 call 1 ran ask=1
         32 deny abcde bob
         60 tick",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan confirm=10 : begin
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            13 tick
              + ask 1 not confirmed
              > publish ask 1
            14 deny abcde bob
              > refused: allowed by ann over http
            15 carried 1 at=2
              + ask 1 carried
              > done
              > publish ask 1
            26 tick
              + ask 1 not confirmed
              > publish ask 1
            27 deny abcde bob
              > refused: allowed by ann over http
            28 start
              + gate opened
              > done
            29 deny abcde bob
              > refused: allowed by ann over http
            30 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            31 call 1 ran ask=1
              + session 1 ran Bash
              > done
              > publish session 1
              + ask 1 ran
              > publish ask 1
            32 deny abcde bob
              > refused: allowed by ann over http
            60 tick
        "#]],
    );
}

#[test]
fn a_verdict_that_waits_for_a_process_that_is_away_may_be_replaced_until_it_is_back() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan confirm=10 : begin
         2 start
         3 allow abcde ann
         4 deny abcde bob
         13 tick
         14 deny abcde bob
         16 attach 1 api
         17 carried 1 at=3
         18 carried 1 at=14
         28 tick
         29 allow abcde ann",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan confirm=10 : begin
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 start
              + gate opened
              > done
            3 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            4 deny abcde bob
              > refused: allowed by ann over http
            13 tick
              + ask 1 not confirmed
              > publish ask 1
            14 deny abcde bob
              + ask 1 denied by bob over http
              > recorded deny abcde
              > carry deny abcde to session 1
              > publish ask 1
            16 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > carry deny abcde to session 1
              > wake session 1 for []
            17 carried 1 at=3
              > done
            18 carried 1 at=14
              + ask 1 carried
              > done
              > publish ask 1
            28 tick
              + ask 1 not confirmed
              > publish ask 1
            29 allow abcde ann
              > refused: denied by bob over http
        "#]],
    );
}

#[test]
fn a_tool_that_may_still_run_and_a_channel_owe_no_confirmation_but_a_denial_does() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook confirm=10 : run
         1 ask 2 1 bcdef source=channel : run
         1 ask 3 1 cdefg source=hook confirm=10 : run
         2 allow abcde ann
         2 allow bcdef ann
         2 deny cdefg ann
         3 carried 1
         3 carried 2
         3 carried 3
         60 tick",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook confirm=10 : run
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 1 bcdef source=channel : run
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            1 ask 3 1 cdefg source=hook confirm=10 : run
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            2 allow bcdef ann
              + ask 2 allowed by ann over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
            2 deny cdefg ann
              + ask 3 denied by ann over http
              > recorded deny cdefg
              > carry deny cdefg to session 1
              > publish ask 3
            3 carried 1
              + ask 1 carried
              > done
              > publish ask 1
            3 carried 2
              + ask 2 carried
              > done
              > publish ask 2
            3 carried 3
              + ask 3 carried
              > done
              > publish ask 3
            60 tick
              + ask 3 not confirmed
              > publish ask 3
        "#]],
    );
}

#[test]
fn a_verdict_that_is_not_handed_over_in_time_is_not_confirmed_until_it_is() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook confirm=10 : run
         2 allow abcde ann
         12 tick
         13 carried 1
         60 tick
         61 deny abcde bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook confirm=10 : run
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            12 tick
              + ask 1 not confirmed
              > publish ask 1
            13 carried 1
              + ask 1 carried
              > done
              > publish ask 1
            60 tick
            61 deny abcde bob
              > refused: allowed by ann over http
        "#]],
    );
}

#[test]
fn where_several_must_agree_an_unconfirmed_denial_is_not_turned_into_an_allow_by_one() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook tool=Write quorum=2 confirm=10 : write
         2 start
         3 deny abcde ann
         20 tick
         21 allow abcde bob
         22 deny abcde bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook tool=Write quorum=2 confirm=10 : write
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 start
              + gate opened
              > done
            3 deny abcde ann
              + ask 1 denied by ann over http
              > recorded deny abcde
              > carry deny abcde to session 1
              > publish ask 1
            20 tick
              + ask 1 not confirmed
              > publish ask 1
            21 allow abcde bob
              > refused: denied by ann over http
            22 deny abcde bob
              + ask 1 denied by bob over http
              > recorded deny abcde
              > carry deny abcde to session 1
              > publish ask 1
        "#]],
    );
}
