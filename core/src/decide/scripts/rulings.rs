//! What a verdict may say besides yes and no, and what becomes of it, told as scripts.

use expect_test::expect;

use super::check;

#[test]
fn only_what_its_source_can_carry_is_taken() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde
         2 allow 1 ann scope=always
         3 allow 1 ann input=xy
         4 deny 1 ann interrupt
         5 ask 2 1 bcdef source=control offers=always editable=yes
         6 allow 2 ann scope=session
         7 allow 2 ann scope=always input=xy
         8 ask 3 1 cdefg source=hook kind=question editable=yes
         9 allow 3 ann
         10 allow 3 ann input=xy",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow 1 ann scope=always
              > refused: CannotCarry { what: "an allow for always" }
            3 allow 1 ann input=xy
              > refused: CannotCarry { what: "another input" }
            4 deny 1 ann interrupt
              > refused: CannotCarry { what: "an interruption" }
            5 ask 2 1 bcdef source=control offers=always editable=yes
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            6 allow 2 ann scope=session
              > refused: CannotCarry { what: "an allow for the session" }
            7 allow 2 ann scope=always input=xy
              + ask 2 allowed for ever with another input by ann over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
            8 ask 3 1 cdefg source=hook kind=question editable=yes
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            9 allow 3 ann
              > refused: NeedsAnswers
            10 allow 3 ann input=xy
              + ask 3 allowed with another input by ann over http
              > recorded allow cdefg
              > carry allow cdefg to session 1
              > publish ask 3
        "#]],
    );
}

#[test]
fn a_prompt_that_nobody_answers_ends_as_its_source_wants() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=control timeout=60:deny
         1 ask 2 1 bcdef source=hook timeout=60:none
         60 tick
         61 tick
         62 allow 1 ann
         63 allow 2 ann
         64 ask 3 1 cdefg timeout=5:deny
         65 start
         70 tick
         71 attach 1 api
         95 tick",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=control timeout=60:deny
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 1 bcdef source=hook timeout=60:none
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            60 tick
            61 tick
              + ask 1 denied by portcullis over gate
              > carry deny abcde to session 1
              > publish ask 1
              + ask 2 expired
              > close bcdef at session 1
              > publish ask 2
            62 allow 1 ann
              > refused: denied by portcullis over gate
            63 allow 2 ann
              > refused: Settled { code: bcdef, life: Expired { at: Moment(61000) } }
            64 ask 3 1 cdefg timeout=5:deny
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            65 start
              + gate opened
              > done
            70 tick
            71 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > carry deny abcde to session 1
              > close bcdef at session 1
              > wake session 1 for []
            95 tick
              + ask 3 denied by portcullis over gate
              > carry deny cdefg to session 1
              > publish ask 3
        "#]],
    );
}

#[test]
fn what_the_channel_and_one_hook_say_of_a_call_is_one_prompt() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde
         1 ask 2 1 hook-1 source=hook
         2 tick
         3 say 1 ann : yes abcde
         10 ask 3 1 bcdef
         10 ask 4 1 hook-2 source=hook
         10 ask 5 1 hook-3 source=hook
         10 allow 4 ann
         11 tick",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 1 hook-1 source=hook
              + ask 2 as baaaa
              > asked as baaaa
              > publish ask 2
            2 tick
              + ask 1 is ask 2
              > publish ask 1
            3 say 1 ann : yes abcde
              + ask 2 allowed by ann over http
              > recorded allow baaaa
              > carry allow hook-1 to session 1
              > publish ask 2
            10 ask 3 1 bcdef
              + ask 3 as bcdef
              > asked as bcdef
              > publish ask 3
            10 ask 4 1 hook-2 source=hook
              + ask 4 as caaaa
              > asked as caaaa
              > publish ask 4
            10 ask 5 1 hook-3 source=hook
              + ask 5 as daaaa
              > asked as daaaa
              > publish ask 5
            10 allow 4 ann
              + ask 4 allowed by ann over http
              > recorded allow caaaa
              > carry allow hook-2 to session 1
              > publish ask 4
            11 tick
        "#]],
    );
}

#[test]
fn a_preview_of_other_words_is_no_prompt_of_this_hook() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde preview=pwd
         1 ask 2 1 hook-1 source=hook whole=reboot
         2 tick
         3 say 1 ann : yes abcde
         10 ask 3 1 bcdef preview=pwd
         10 ask 4 1 hook-2 source=hook whole=reboot
         10 ask 5 1 hook-3 source=hook whole=pwd
         11 tick",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde preview=pwd
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 1 hook-1 source=hook whole=reboot
              + ask 2 as baaaa
              > asked as baaaa
              > publish ask 2
            2 tick
            3 say 1 ann : yes abcde
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            10 ask 3 1 bcdef preview=pwd
              + ask 3 as bcdef
              > asked as bcdef
              > publish ask 3
            10 ask 4 1 hook-2 source=hook whole=reboot
              + ask 4 as caaaa
              > asked as caaaa
              > publish ask 4
            10 ask 5 1 hook-3 source=hook whole=pwd
              + ask 5 as daaaa
              > asked as daaaa
              > publish ask 5
            11 tick
              + ask 3 is ask 5
              > publish ask 3
        "#]],
    );
}

#[test]
fn a_prompt_says_who_denied_its_call() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook use=t1
         2 call 1 denied use=t1 by=nobody
         3 ask 2 1 bcdef source=hook use=t2
         4 call 1 denied use=t2 by=client
         5 ask 3 1 cdefg source=hook use=t3
         6 call 1 denied use=t3 by=rule_Bash
         7 ask 4 1 defgh source=hook use=t4
         8 call 1 denied use=t4 by=user_reject",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook use=t1
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 call 1 denied use=t1 by=nobody
              + session 1 denied Bash
              > done
              + ask 1 withdrawn: denied, as nobody could be asked
              > done
              > publish ask 1
            3 ask 2 1 bcdef source=hook use=t2
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            4 call 1 denied use=t2 by=client
              + session 1 denied Bash
              > done
              + ask 2 withdrawn: denied by Claude Code itself
              > done
              > publish ask 2
            5 ask 3 1 cdefg source=hook use=t3
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            6 call 1 denied use=t3 by=rule_Bash
              + session 1 denied Bash
              > done
              + ask 3 withdrawn: denied by a rule
              > done
              > publish ask 3
            7 ask 4 1 defgh source=hook use=t4
              + ask 4 as defgh
              > asked as defgh
              > publish ask 4
            8 call 1 denied use=t4 by=user_reject
              + session 1 denied Bash
              > done
              + ask 4 withdrawn: denied at its terminal
              > done
              > publish ask 4
        "#]],
    );
}

#[test]
fn a_tool_call_settles_its_prompt_and_shows_what_ran() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook use=t1 digest=7
         2 call 1 ran use=t1 digest=7
         3 allow 1 ann
         4 ask 2 1 bcdef source=hook use=t2 digest=7
         5 allow 2 ann
         6 call 1 ran use=t2 digest=8
         7 ask 3 1 cdefg source=hook use=t3 digest=7 editable=yes
         8 allow 3 ann input=xy
         9 call 1 ran ask=3 digest=2
         10 call 1 denied use=t9",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook use=t1 digest=7
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 call 1 ran use=t1 digest=7
              + session 1 ran Bash
              > done
              + ask 1 withdrawn: allowed at its terminal
              > done
              > publish ask 1
            3 allow 1 ann
              > refused: Settled { code: abcde, life: Withdrawn { at: Moment(2000), why: "allowed at its terminal" } }
            4 ask 2 1 bcdef source=hook use=t2 digest=7
              + ask 2 as bcdef
              > asked as bcdef
              > publish ask 2
            5 allow 2 ann
              + ask 2 allowed by ann over http
              > recorded allow bcdef
              > carry allow bcdef to session 1
              > publish ask 2
            6 call 1 ran use=t2 digest=8
              + session 1 ran Bash
              > done
              + ask 2 ran differently
              > publish ask 2
            7 ask 3 1 cdefg source=hook use=t3 digest=7 editable=yes
              + ask 3 as cdefg
              > asked as cdefg
              > publish ask 3
            8 allow 3 ann input=xy
              + ask 3 allowed with another input by ann over http
              > recorded allow cdefg
              > carry allow cdefg to session 1
              > publish ask 3
            9 call 1 ran ask=3 digest=2
              + session 1 ran Bash
              > done
              + ask 3 ran
              > publish ask 3
            10 call 1 denied use=t9
              + session 1 denied Bash
              > done
        "#]],
    );
}

#[test]
fn a_verdict_said_again_under_its_key_is_answered_as_the_first() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde : git push
         2 allow abcde ann key=k
         3 allow 1 ann key=k
         4 deny 1 ann key=k
         5 allow 1 ann key=other
         6 allow 1 ann
         7 allow 1 bob key=k",
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
            2 allow abcde ann key=k
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            3 allow 1 ann key=k
              > recorded allow abcde
            4 deny 1 ann key=k
              > refused: VerdictKeyReused { code: abcde }
            5 allow 1 ann key=other
              > refused: allowed by ann over http
            6 allow 1 ann
              > refused: allowed by ann over http
            7 allow 1 bob key=k
              > refused: allowed by ann over http
        "#]],
    );
}

#[test]
fn a_process_speaks_of_the_prompts_of_its_own_session_alone() {
    check(
        "0 attach 1 api
         1 attach 2 web
         2 ask 1 1 abcde
         3 withdraw 1 of=2 : gone
         4 allow 1 ann
         5 carried 1 of=2
         6 carried 1 of=1",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 attach 2 web
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            2 ask 1 1 abcde
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            3 withdraw 1 of=2 : gone
              > done
            4 allow 1 ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            5 carried 1 of=2
              > done
            6 carried 1 of=1
              + ask 1 carried
              > done
              > publish ask 1
        "#]],
    );
}

#[test]
fn a_plan_is_allowed_with_a_mode_that_is_offered_and_no_other_way() {
    check(
        "0 attach 1 api
         1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan modes=acceptEdits digest=1 : begin
         2 allow abcde ann mode=bypassPermissions
         2 deny abcde ann mode=acceptEdits
         3 allow abcde ann mode=acceptEdits
         4 carried 1
         5 call 1 ran ask=1 digest=2",
        &expect![[r#"
            0 attach 1 api
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 ask 1 1 abcde source=hook tool=ExitPlanMode kind=plan modes=acceptEdits digest=1 : begin
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow abcde ann mode=bypassPermissions
              > refused: CannotCarry { what: "this mode" }
            2 deny abcde ann mode=acceptEdits
              > refused: CannotCarry { what: "a mode with a denial" }
            3 allow abcde ann mode=acceptEdits
              + ask 1 allowed, then mode acceptEdits, by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            4 carried 1
              + ask 1 carried
              > done
              > publish ask 1
            5 call 1 ran ask=1 digest=2
              + session 1 ran Bash
              > done
              + ask 1 ran
              > publish ask 1
        "#]],
    );
}
