//! Prompts about which several must agree: votes, keys, and what was allowed together.

use expect_test::expect;

use super::check;

#[test]
fn several_must_agree_and_one_denial_is_enough() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde quorum=2
         2 allow 1 ann
         3 allow 1 ann
         4 allow 1 bob
         5 ask 2 1 bcdef quorum=2
         6 allow 2 ann
         7 deny 2 bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde quorum=2
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow 1 ann
              + ask 1 allowed by ann over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            3 allow 1 ann
              > counted for abcde, 1 missing
            4 allow 1 bob
              + ask 1 allowed by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            5 ask 2 1 bcdef quorum=2
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            6 allow 2 ann
              + ask 2 allowed by ann over http, more must
              > counted for bcdef, 1 missing
              > publish ask 2
            7 deny 2 bob
              + ask 2 denied by bob over http
              > recorded deny bcdef
              > carry deny bcdef to session 1
              > publish ask 2
        "#]],
    );
}

#[test]
fn one_of_several_may_say_it_again_under_their_key() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde quorum=2 source=control : git push
         2 allow abcde ann key=k
         3 allow abcde ann key=k
         4 allow abcde bob key=k
         5 allow abcde bob key=k",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde quorum=2 source=control : git push
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow abcde ann key=k
              + ask 1 allowed by ann over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            3 allow abcde ann key=k
              > counted for abcde, 1 missing
            4 allow abcde bob key=k
              + ask 1 allowed by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            5 allow abcde bob key=k
              > recorded allow abcde
        "#]],
    );
}

#[test]
fn where_several_must_agree_it_is_about_what_all_were_shown() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=control quorum=2 editable=yes offers=always
         2 allow 1 ann
         3 allow 1 bob input=xy
         4 allow 1 bob scope=always
         5 allow 1 bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=control quorum=2 editable=yes offers=always
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow 1 ann
              + ask 1 allowed by ann over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            3 allow 1 bob input=xy
              > refused: CannotCarry { what: "another input where several must agree" }
            4 allow 1 bob scope=always
              > refused: CannotCarry { what: "a verdict beyond this once where several must agree" }
            5 allow 1 bob
              + ask 1 allowed by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
        "#]],
    );
}

#[test]
fn of_several_who_allow_a_plan_none_chooses_the_mode_alone() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : one
         1 ask 2 1 bcdef source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : two
         1 ask 3 1 cdefg source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : three
         2 allow abcde ann mode=acceptEdits
         3 allow abcde bob mode=acceptEdits
         4 allow bcdef ann
         5 allow bcdef bob mode=acceptEdits
         6 allow cdefg ann mode=acceptEdits
         7 deny cdefg bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : one
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 1 bcdef source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : two
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            1 ask 3 1 cdefg source=hook tool=ExitPlanMode kind=plan quorum=2 modes=default,acceptEdits : three
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            2 allow abcde ann mode=acceptEdits
              + ask 1 allowed, then mode acceptEdits, by ann over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            3 allow abcde bob mode=acceptEdits
              + ask 1 allowed, then mode acceptEdits, by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            4 allow bcdef ann
              + ask 2 allowed by ann over http, more must
              > counted for bcdef, 1 missing
              > publish ask 2
            5 allow bcdef bob mode=acceptEdits
              + ask 2 allowed, then mode default, by bob over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
            6 allow cdefg ann mode=acceptEdits
              + ask 3 allowed, then mode acceptEdits, by ann over http, more must
              > counted for cdefg, 1 missing
              > publish ask 3
            7 deny cdefg bob
              + ask 3 denied by bob over http
              > recorded deny cdefg
              > carry deny cdefg to session 1
              > publish ask 3
        "#]],
    );
}

#[test]
fn the_yes_of_someone_who_was_shown_out_counts_no_more() {
    check(
        "0 attach 1 api
         1 token 1 ann reviewer root
         2 ask 1 1 abcde quorum=2
         3 allow 1 ann
         4 remove ann root
         5 allow 1 bob
         6 allow 1 root",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 token 1 ann reviewer root
              + ann is a reviewer by root
              + token 1 for ann by root
              > done
              > publish people
            2 ask 1 1 abcde quorum=2
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 allow 1 ann
              + ask 1 allowed by ann over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            4 remove ann root
              + ann removed by root
              > done
              > publish people
              > publish ask 1
            5 allow 1 bob
              + ask 1 allowed by bob over http, more must
              > counted for abcde, 1 missing
              > publish ask 1
            6 allow 1 root
              + ask 1 allowed by root over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
        "#]],
    );
}
