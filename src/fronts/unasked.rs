//! What says of a session that less is asked in it. Whoever starts one inside an agent does not say it: people are asked
//! there, and never the one who started it.

/// Whether calls pass in this mode that would be asked for otherwise.
pub(super) fn is_looser(mode: &str) -> bool {
    matches!(mode, "acceptEdits" | "auto" | "bypassPermissions")
}

/// What a session would be started with that only people say, in words; none where all of it may be said by anybody. Each
/// thing beside the mode comes with whether it is given.
pub(crate) fn unasked(mode: Option<&str>, given: &[(bool, &'static str)]) -> Option<String> {
    let looser = mode.filter(|mode| is_looser(mode)).map(|_| "--permission-mode");
    let given = given.iter().find(|(is_given, _)| *is_given).map(|(_, what)| *what);
    looser.or(given).map(|what| format!("start a session with {what}, which says what needs no asking"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_looser_mode_and_all_that_lets_calls_pass_is_for_people() {
        for mode in ["acceptEdits", "auto", "bypassPermissions"] {
            assert!(unasked(Some(mode), &[]).is_some_and(|what| what.contains("--permission-mode")), "{mode}");
        }
        for mode in ["default", "plan", "dontAsk"] {
            assert_eq!(unasked(Some(mode), &[(false, "--claude")]), None, "{mode}");
        }
        let given = unasked(None, &[(false, "--claude"), (true, "MCP servers")]).unwrap();
        assert_eq!(given, "start a session with MCP servers, which says what needs no asking");
    }
}
