//! Prompts and verdicts, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn the_first_verdict_wins() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : git push
         5 allow abcde ann
         6 say 2 bob : no abcde
         7 deny 1 bob",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : git push
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            5 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            6 say 2 bob : no abcde
              > refused: allowed by ann over http
            7 deny 1 bob
              > refused: allowed by ann over http
        "#]],
    );
}

#[test]
fn a_verdict_needs_the_right_to_review() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : rm -rf x
         2 say 1 tom : yes abcde
         3 allow abcde tom
         4 say 2 ann : y ABCDE",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde : rm -rf x
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 say 1 tom : yes abcde
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            3 allow abcde tom
              > refused: NeedsRight(Review)
            4 say 2 ann : y ABCDE
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
        "#]],
    );
}

#[test]
fn what_is_no_verdict_stays_chat() {
    check(
        "0 attach 1 api
         1 say 1 ann : no worry
         2 ask 1 1 abcde : ls
         3 say 2 ann : no worry
         4 say 3 ann : yes please",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 ann : no worry
              + event 1 of ann in chat 1 for session 1
              > ok, as chat: NoPromptOpen
              > wake session 1 for [1]
              > publish event 1
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 say 2 ann : no worry
              + event 2 of ann in chat 2 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [1 2]
              > publish event 2
              + ann missed
            4 say 3 ann : yes please
              + event 3 of ann in chat 3 for session 1
              > ok, as chat: BadGrammar
              > wake session 1 for [1 2 3]
              > publish event 3
        "#]],
    );
}

#[test]
fn from_inside_an_agent_a_verdict_is_refused_and_recorded_and_anything_else_is_chat() {
    check(
        "0 attach 1 api
         1 say 1 ann inside=api : no worry
         2 ask 1 1 abcde : ls
         3 say 2 ann inside=api : no worry
         3 say 3 ann inside=api : no worry
         4 wrote 1 1,2,3
         5 say 4 ann inside=api : no worry
         5 say 5 ann inside=api : no worry
         5 say 6 ann inside=api : no worry
         8 say 7 ann inside=api : yes abcde
         9 say 8 ann : yes abcde
         10 say 9 ann inside=api : no abcde",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 ann inside=api : no worry
              + event 1 of agent:api in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 say 2 ann inside=api : no worry
              + event 2 of agent:api in chat 2 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [1 2]
              > publish event 2
            3 say 3 ann inside=api : no worry
              + event 3 of agent:api in chat 3 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [1 2 3]
              > publish event 3
            4 wrote 1 1,2,3
              + session 1 wrote 1 2 3
              > done
              > wake session 1 for []
              > publish event 1
              > publish event 2
              > publish event 3
            5 say 4 ann inside=api : no worry
              + event 4 of agent:api in chat 4 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [4]
              > publish event 4
            5 say 5 ann inside=api : no worry
              + event 5 of agent:api in chat 5 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [4 5]
              > publish event 5
            5 say 6 ann inside=api : no worry
              + event 6 of agent:api in chat 6 for session 1
              > ok, as chat: NoSuchCode(worry)
              > wake session 1 for [4 5 6]
              > publish event 6
            8 say 7 ann inside=api : yes abcde
              > refused: FromInside(Inside { process: Some(7), agent: Session(api) })
              + ann denied: answering a prompt, by process 7 inside session api
              > done
            9 say 8 ann : yes abcde
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            10 say 9 ann inside=api : no abcde
              > refused: FromInside(Inside { process: Some(7), agent: Session(api) })
              + ann denied: answering a prompt, by process 7 inside session api
              > done
        "#]],
    );
}

#[test]
fn after_wrong_codes_elsewhere_the_command_line_is_heard_and_so_is_a_no_with_a_right_code() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         1 ask 2 1 bcdef : ls
         2 allow zzzzz ann
         3 allow zzzzy ann
         4 allow zzzzx ann
         5 allow zzzzw ann
         6 say 1 ann via=socket : yes zzzzv
         7 allow zzzzv ann
         8 say 2 ann : yes abcde
         9 say 3 ann : no zzzzv
         10 say 4 ann via=socket : yes abcde
         11 say 5 tom via=telegram : no bcdef
         12 say 6 ann : no bcdef",
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
            1 ask 2 1 bcdef : ls
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            2 allow zzzzz ann
              > refused: NoSuchAsk
              + ann missed
            3 allow zzzzy ann
              > refused: NoSuchAsk
              + ann missed
            4 allow zzzzx ann
              > refused: NoSuchAsk
              + ann missed
            5 allow zzzzw ann
              > refused: NoSuchAsk
              + ann missed
            6 say 1 ann via=socket : yes zzzzv
              + event 1 of ann in chat 1 for session 1
              > ok, as chat: NoSuchCode(zzzzv)
              > wake session 1 for [1]
              > publish event 1
            7 allow zzzzv ann
              > refused: NoSuchAsk
              + ann missed
            8 say 2 ann : yes abcde
              > refused: TooManyMisses { retry_at: Moment(602000) }
            9 say 3 ann : no zzzzv
              > refused: TooManyMisses { retry_at: Moment(602000) }
            10 say 4 ann via=socket : yes abcde
              + ask 1 allowed by ann over socket
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            11 say 5 tom via=telegram : no bcdef
              > refused: NeedsRight(Review)
            12 say 6 ann : no bcdef
              + ask 2 denied by ann over http
              > recorded deny bcdef
              > carry deny bcdef to session 1
              > publish ask 2
        "#]],
    );
}

#[test]
fn five_wrong_codes_and_the_rest_is_not_heard() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 allow zzzzz ann
         3 allow zzzzy ann
         4 allow zzzzx ann
         5 allow zzzzw ann
         6 allow zzzzv ann
         7 allow abcde ann
         8 say 1 ann : yes abcde
         9 allow abcde bob
         700 ask 2 1 bcdef : ls
         701 allow bcdef ann",
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
            2 allow zzzzz ann
              > refused: NoSuchAsk
              + ann missed
            3 allow zzzzy ann
              > refused: NoSuchAsk
              + ann missed
            4 allow zzzzx ann
              > refused: NoSuchAsk
              + ann missed
            5 allow zzzzw ann
              > refused: NoSuchAsk
              + ann missed
            6 allow zzzzv ann
              > refused: NoSuchAsk
              + ann missed
            7 allow abcde ann
              > refused: TooManyMisses { retry_at: Moment(602000) }
            8 say 1 ann : yes abcde
              > refused: TooManyMisses { retry_at: Moment(602000) }
            9 allow abcde bob
              + ask 1 allowed by bob over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            700 ask 2 1 bcdef : ls
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            701 allow bcdef ann
              + ask 2 allowed by ann over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
        "#]],
    );
}

#[test]
fn two_sessions_with_the_same_five_letters_never_approve_each_other() {
    check(
        "0 attach 1 api
         0 attach 2 web
         1 ask 1 1 abcde : ls
         1 ask 2 2 abcde : rm
         2 allow abcde ann
         3 allow bcaaa ann
         4 say 1 ann to=label:api : yes baaaa",
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
            1 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 2 abcde : rm
              + ask 2 as baaaa
              > asked as baaaa
              > publish ask 2
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            3 allow bcaaa ann
              > refused: NoSuchAsk
              + ann missed
            4 say 1 ann to=label:api : yes baaaa
              + ask 2 allowed by ann over http
              > recorded allow baaaa
              > carry allow abcde to session 2
              > publish ask 2
        "#]],
    );
}

#[test]
fn a_verdict_that_nobody_can_deliver_does_not_count() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : ls
         2 lose 1
         3 allow abcde ann
         4 attach 1 api
         5 start
         6 allow abcde ann
         7 attach 1 api",
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
            2 lose 1
              + session 1 lost
              > done
              > publish session 1
            3 allow abcde ann
              > refused: Undeliverable { code: abcde }
            4 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            5 start
              + gate opened
              > done
            6 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            7 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > carry allow abcde to session 1
              > wake session 1 for []
        "#]],
    );
}

#[test]
fn who_may_not_answer_is_not_told_that_a_prompt_is_open() {
    check(
        "0 attach 1 api
         1 say 1 tom : yes abcde
         2 ask 1 1 abcde : ls
         3 say 2 tom : yes abcde
         4 say 3 tom : no abcdf",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 tom : yes abcde
              + event 1 of tom in chat 1 for session 1
              > ok
              > wake session 1 for [1]
              > publish event 1
            2 ask 1 1 abcde : ls
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 say 2 tom : yes abcde
              + event 2 of tom in chat 2 for session 1
              > ok
              > wake session 1 for [1 2]
              > publish event 2
            4 say 3 tom : no abcdf
              + event 3 of tom in chat 3 for session 1
              > ok
              > wake session 1 for [1 2 3]
              > publish event 3
        "#]],
    );
}
