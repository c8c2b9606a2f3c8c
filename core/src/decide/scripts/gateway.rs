//! Clients of the gateway: what they are asked again, and what never goes to them.

use super::check;
use expect_test::expect;

#[test]
fn an_answer_to_the_same_call_of_the_same_agent_is_used_once() {
    check(
        "0 attach 1 api pid=7
         0 attach 2 claude@api pid=7 by=gateway
         0 attach 3 other@api pid=8 by=gateway
         1 ask 1 1 abcde source=hook tool=mcp__gate__db__query use=t1 digest=1 : read
         2 allow abcde ann
         3 ask 2 3 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : another agent
         4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t2 digest=1 : another call
         5 withdraw 2 : x
         6 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t1 digest=1 : its own",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 claude@api pid=7 by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            0 attach 3 other@api pid=8 by=gateway
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            1 ask 1 1 abcde source=hook tool=mcp__gate__db__query use=t1 digest=1 : read
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 allow abcde ann
              + ask 1 allowed by ann over http
              > recorded allow abcde
              > carry allow abcde to session 1
              > publish ask 1
            3 ask 2 3 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : another agent
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t2 digest=1 : another call
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
            5 withdraw 2 : x
              + ask 2 withdrawn: x
              > done
              > publish ask 2
            6 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t1 digest=1 : its own
              + ask 4 as ddddd
              + ask 4 allowed by ann over http
              > asked as ddddd
              > carry allow ddddd to session 2
              > publish ask 4
        "#]],
    );
    check(
        "0 attach 1 api pid=7
         0 attach 2 claude@api pid=7 by=gateway
         1 ask 1 1 abcde source=hook tool=mcp__db__query use=t1 digest=1 : read
         2 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : not answered yet
         3 ask 3 1 ccccc source=hook tool=mcp__db__query use=t3 digest=1 : read
         4 allow ccccc ann
         5 ask 4 2 ddddd source=gateway tool=mcp__db__drop use=t3 digest=1 : another tool
         6 ask 5 1 eeeee source=hook tool=mcp__db__query use=t5 digest=1 : read
         7 allow eeeee ann
         8 ask 6 2 fffff source=gateway tool=mcp__db__query use=t5 digest=1 : the same
         9 carried 6
         10 ask 7 2 ggggg source=gateway tool=mcp__db__query use=t5 digest=1 : once more",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 claude@api pid=7 by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 abcde source=hook tool=mcp__db__query use=t1 digest=1 : read
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            2 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : not answered yet
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            3 ask 3 1 ccccc source=hook tool=mcp__db__query use=t3 digest=1 : read
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
            4 allow ccccc ann
              + ask 3 allowed by ann over http
              > recorded allow ccccc
              > carry allow ccccc to session 1
              > publish ask 3
            5 ask 4 2 ddddd source=gateway tool=mcp__db__drop use=t3 digest=1 : another tool
              + ask 4 as ddddd
              > asked as ddddd
              > publish ask 4
            6 ask 5 1 eeeee source=hook tool=mcp__db__query use=t5 digest=1 : read
              + ask 5 as eeeee
              > asked as eeeee
              > publish ask 5
            7 allow eeeee ann
              + ask 5 allowed by ann over http
              > recorded allow eeeee
              > carry allow eeeee to session 1
              > publish ask 5
            8 ask 6 2 fffff source=gateway tool=mcp__db__query use=t5 digest=1 : the same
              + ask 6 as fffff
              + ask 6 allowed by ann over http
              > asked as fffff
              > carry allow fffff to session 2
              > publish ask 6
            9 carried 6
              > done
            10 ask 7 2 ggggg source=gateway tool=mcp__db__query use=t5 digest=1 : once more
              + ask 7 as ggggg
              > asked as ggggg
              > publish ask 7
        "#]],
    );
}

#[test]
fn events_never_go_to_a_client_of_the_gateway() {
    check(
        "0 attach 1 claude@api by=gateway
         1 say 1 ann : hello
         2 say 2 ann to=session:1 : hello
         3 attach 2 api
         4 say 3 ann : hello again
         5 end 2",
        &expect![[r#"
            0 attach 1 claude@api by=gateway
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1 say 1 ann : hello
              + event 1 of ann in chat 1 for nobody yet
              > ok
              > publish event 1
            2 say 2 ann to=session:1 : hello
              > refused: NoRoute(TakesNone(00000000000000000000000001))
            3 attach 2 api
              + session 2 attached, wrote []
              + events 1 moved to session 2
              > done
              > publish session 2
              > wake session 2 for [1]
            4 say 3 ann : hello again
              + event 3 of ann in chat 2 for session 2
              > ok
              > wake session 2 for [1 3]
              > publish event 3
            5 end 2
              + session 2 ended: bye
              + events 1 3 moved to nobody yet, perhaps again
              > done
              > publish session 2
              > wake session 1 for []
        "#]],
    );
}

/// The process of a client over HTTP is not known.
#[test]
fn over_http_an_answered_call_is_known_by_its_id_and_used_once() {
    check(
        "0 attach 1 api pid=7
         0 attach 2 cursor by=gateway
         1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
         2 allow aaaaa ann
         3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=2 : other arguments
         4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : the same, but an id counts once",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 cursor by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            2 allow aaaaa ann
              + ask 1 allowed by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=2 : other arguments
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : the same, but an id counts once
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
        "#]],
    );
    check(
        "0 attach 1 api pid=7
         0 attach 2 cursor by=gateway
         1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
         2 allow aaaaa ann
         3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same
         4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : once more",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 cursor by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            2 allow aaaaa ann
              + ask 1 allowed by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same
              + ask 2 as bbbbb
              + ask 2 allowed by ann over http
              > asked as bbbbb
              > carry allow bbbbb to session 2
              > publish ask 2
            4 ask 3 2 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : once more
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
        "#]],
    );
}

/// Several clients with one token may be one session there, and an id may be found out long after its call.
#[test]
fn over_http_an_answer_counts_for_minutes_and_for_one_call_whatever_it_was_said_for() {
    check(
        "0 attach 1 api pid=7
         0 attach 2 cursor by=gateway
         1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 offers=session : select
         2 allow aaaaa ann scope=session
         3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same
         4 ask 3 1 ccccc source=hook tool=mcp__db__query use=t2 digest=1 : select
         5 allow ccccc ann
         306 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t2 digest=1 : too late",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 cursor by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 offers=session : select
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            2 allow aaaaa ann scope=session
              + ask 1 allowed for the session by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same
              + ask 2 as bbbbb
              + ask 2 allowed by ann over http
              > asked as bbbbb
              > carry allow bbbbb to session 2
              > publish ask 2
            4 ask 3 1 ccccc source=hook tool=mcp__db__query use=t2 digest=1 : select
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
            5 allow ccccc ann
              + ask 3 allowed by ann over http
              > recorded allow ccccc
              > carry allow ccccc to session 1
              > publish ask 3
            306 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t2 digest=1 : too late
              + ask 4 as ddddd
              > asked as ddddd
              > publish ask 4
        "#]],
    );
}

#[test]
fn over_http_an_answer_from_before_the_clock_was_set_back_counts_for_no_call() {
    check(
        "1000 attach 1 api pid=7
         1000 attach 2 cursor by=gateway
         1001 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
         1002 allow aaaaa ann
         10 clock 1002
         11 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same",
        &expect![[r#"
            1000 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            1000 attach 2 cursor by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1001 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            1002 allow aaaaa ann
              + ask 1 allowed by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            10 clock 1002
              + clock set back from 1002
            11 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
        "#]],
    );
}

/// Each of them has the tokens of the agents that a person runs.
#[test]
fn over_http_an_answer_counts_for_no_client_of_another_person() {
    check(
        "0 attach 1 api person=ann-agent
         0 attach 2 cursor by=gateway person=bob-agent
         0 attach 3 claude by=gateway person=ann-agent
         1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
         2 allow aaaaa ann
         3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same of another person
         4 ask 3 3 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : the same",
        &expect![[r#"
            0 attach 1 api person=ann-agent
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 cursor by=gateway person=bob-agent
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            0 attach 3 claude by=gateway person=ann-agent
              + session 3 attached, wrote []
              > done
              > publish session 3
              > wake session 3 for []
            1 ask 1 1 aaaaa source=hook tool=mcp__db__query use=t1 digest=1 : select
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            2 allow aaaaa ann
              + ask 1 allowed by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : the same of another person
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            4 ask 3 3 ccccc source=gateway tool=mcp__db__query use=t1 digest=1 : the same
              + ask 3 as ccccc
              + ask 3 allowed by ann over http
              > asked as ccccc
              > carry allow ccccc to session 3
              > publish ask 3
        "#]],
    );
}

#[test]
fn an_answer_for_a_server_that_is_no_gateway_counts_for_none_of_the_gateways() {
    check(
        "0 attach 1 api pid=7
         0 attach 2 claude@api pid=7 by=gateway
         1 ask 1 1 aaaaa source=hook tool=mcp__weather__db__query use=t1 digest=1 : a tool of weather
         2 allow aaaaa ann
         3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : of db
         4 ask 3 1 ccccc source=hook tool=mcp__portcullis__db__query use=t2 digest=1 : of db, through the gateway
         5 allow ccccc ann
         6 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t2 digest=1 : of db",
        &expect![[r#"
            0 attach 1 api pid=7
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 claude@api pid=7 by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 aaaaa source=hook tool=mcp__weather__db__query use=t1 digest=1 : a tool of weather
              + ask 1 as aaaaa
              > asked as aaaaa
              > publish ask 1
            2 allow aaaaa ann
              + ask 1 allowed by ann over http
              > recorded allow aaaaa
              > carry allow aaaaa to session 1
              > publish ask 1
            3 ask 2 2 bbbbb source=gateway tool=mcp__db__query use=t1 digest=1 : of db
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            4 ask 3 1 ccccc source=hook tool=mcp__portcullis__db__query use=t2 digest=1 : of db, through the gateway
              + ask 3 as ccccc
              > asked as ccccc
              > publish ask 3
            5 allow ccccc ann
              + ask 3 allowed by ann over http
              > recorded allow ccccc
              > carry allow ccccc to session 1
              > publish ask 3
            6 ask 4 2 ddddd source=gateway tool=mcp__db__query use=t2 digest=1 : of db
              + ask 4 as ddddd
              + ask 4 allowed by ann over http
              > asked as ddddd
              > carry allow ddddd to session 2
              > publish ask 4
        "#]],
    );
}

#[test]
fn clients_over_http_and_their_prompts_are_gone_when_a_gate_starts() {
    check(
        "0 attach 1 cursor person=ann by=gateway
         0 attach 2 claude@api by=gateway
         1 ask 1 1 abcde source=gateway : over HTTP
         1 ask 2 2 bbbbb source=gateway : on standard streams
         2 start
         3 allow abcde ann
         3 allow bbbbb ann",
        &expect![[r#"
            0 attach 1 cursor person=ann by=gateway
              + session 1 attached, wrote []
              > done
              > publish session 1
              > wake session 1 for []
            0 attach 2 claude@api by=gateway
              + session 2 attached, wrote []
              > done
              > publish session 2
              > wake session 2 for []
            1 ask 1 1 abcde source=gateway : over HTTP
              + ask 1 as abcde
              > asked as abcde
              > publish ask 1
            1 ask 2 2 bbbbb source=gateway : on standard streams
              + ask 2 as bbbbb
              > asked as bbbbb
              > publish ask 2
            2 start
              + gate opened
              > done
              + session 1 ended: the gate was started anew, and cut its client off
              > done
              > publish session 1
              + ask 1 withdrawn: its session ended
              > done
              > publish ask 1
            3 allow abcde ann
              > refused: Settled { code: abcde, life: Withdrawn { at: Moment(2000), why: "its session ended" } }
            3 allow bbbbb ann
              + ask 2 allowed by ann over http
              > recorded allow bbbbb
              > carry allow bbbbb to session 2
              > publish ask 2
        "#]],
    );
}
