//! Whether a rule makes another one pointless. Only what is certain counts: a rule that might still say something is not
//! covered.

use super::decide::applies;
use super::decision::Decision;
use super::matching::names;
use super::rule::{Pattern, Rule, is_parameter};
use crate::policy::files::call::{Call, Context, Given};

/// Whether `wide` decides every call that `narrow` speaks about, and at least as strictly.
pub fn covers(wide: &Rule, narrow: &Rule) -> bool {
    let counts = wide.is_never_consulted().is_none()
        && (wide.decision != Decision::Allow || wide.source.origin.is_trusted())
        && (wide.session.is_none() || wide.session == narrow.session);
    let is_as_strict = wide.decision >= narrow.decision && (narrow.quorum.is_none() || narrow.quorum <= wide.quorum);
    counts && is_as_strict && (wide.pattern == narrow.pattern || is_wider(wide, narrow))
}

fn is_wider(wide: &Rule, narrow: &Rule) -> bool {
    let strict = wide.decision != Decision::Allow;
    if strict && wide.pattern.tool == "*" && wide.pattern.specifier.is_none() {
        return true;
    }
    // Rules about files speak of one another's tools in ways of their own.
    let is_same = wide.pattern.tool == narrow.pattern.tool || narrow.pattern.tool.starts_with("mcp__");
    if !is_same || !names(&wide.pattern.tool, &narrow.pattern.tool, strict) {
        return false;
    }
    match (&wide.pattern.specifier, &narrow.pattern.specifier) {
        // A rule with a path also speaks about shell commands, and one without it does not.
        (None, _) if matches!(narrow.pattern.tool.as_str(), "Read" | "Edit" | "Cd") => false,
        (None, None) => true,
        (None, Some(specifier)) => strict || narrow.pattern.tool != "Bash" || is_a_line_of(wide, specifier),
        (Some(wider), Some(specifier)) if narrow.pattern.tool == "Bash" && !is_parameter(specifier) => {
            begins_with(wider, specifier) && (strict || is_a_line_of(wide, specifier))
        }
        _ => false,
    }
}

/// Whether an allow rule lets this line pass, where the narrow rule means one line. A pattern is taken for granted.
fn is_a_line_of(wide: &Rule, specifier: &str) -> bool {
    if specifier.contains('*') {
        return true;
    }
    let context = Context::of("/", None);
    let input = [("command".to_owned(), Given::Text(specifier.to_owned()))].into();
    let call = Call::new("Bash", input).followed(&context, |path| Some(path.to_owned()));
    applies(wide, &context, &call)
}

/// Whether `P *` means every line that the other specifier means.
fn begins_with(wider: &str, specifier: &str) -> bool {
    let rest =
        |text: &str| text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")).map(|p| p.trim_end().to_owned());
    let Some(prefix) = rest(wider).filter(|prefix| !prefix.is_empty() && !prefix.contains('*')) else { return false };
    let line = rest(specifier).unwrap_or_else(|| specifier.to_owned());
    line == prefix || line.strip_prefix(&prefix).is_some_and(|more| more.starts_with(' '))
}

impl Pattern {
    /// Whether a tool has this name, as far as can be known: MCP servers name theirs as they like.
    pub fn names_a_tool(&self) -> bool {
        Self::TOOLS.contains(&self.tool.as_str()) || self.tool.starts_with("mcp__") || self.tool.contains('*')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::properties::{any_call, any_rule};
    use crate::policy::table::{context, rule};

    #[test]
    fn a_rule_is_covered_by_one_that_says_as_much_or_more() {
        for (wide, narrow) in [
            ("deny Bash", "allow Bash(npm test *)"),
            ("ask Bash", "allow Bash(npm test *)"),
            ("ask Bash(npm *)", "allow Bash(npm test)"),
            ("deny Bash(git push *)", "ask Bash(git push --force *)"),
            ("allow Bash(npm *)", "allow Bash(npm test *)"),
            ("allow Bash(npm:*)", "allow Bash(npm test)"),
            ("allow Bash", "allow Bash(npm test *)"),
            ("deny *", "allow Read(src/**)"),
            ("deny Read(.env)", "ask Read(.env)"),
            ("allow mcp__srv", "allow mcp__srv__get"),
            ("allow WebFetch", "allow WebFetch(domain:a.test)"),
        ] {
            assert!(covers(&rule(wide), &rule(narrow)), "{wide} / {narrow}");
        }
    }

    #[test]
    fn a_rule_that_may_still_say_something_is_not_covered() {
        for (wide, narrow) in [
            ("allow Bash", "deny Bash(rm *)"),
            ("ask Bash(npm *)", "deny Bash(npm publish *)"),
            ("allow Bash(npm *)", "allow Bash(npmx)"),
            ("allow Bash(npm *)", "allow Bash(PATH=. npm test)"),
            ("allow Bash(find *)", "allow Bash(find . -delete)"),
            ("allow Edit", "allow Edit(src/**)"),
            ("deny Edit", "deny Edit(src/**)"),
            ("ask Bash(npm *)", "ask Bash(run_in_background:true)"),
            ("deny Bash(* x)", "deny Bash(a x)"),
        ] {
            assert!(!covers(&rule(wide), &rule(narrow)), "{wide} / {narrow}");
        }
    }

    #[test]
    fn a_rule_for_some_sessions_or_not_trusted_covers_no_other() {
        let narrow = rule("allow Bash(npm test *)");
        let some = Rule { session: Some("api".to_owned()), ..rule("allow Bash") };
        assert!(!covers(&some, &narrow));
        let mut untrusted = rule("allow Bash");
        untrusted.source.origin = crate::policy::Origin::Project { trusted: false };
        assert!(!covers(&untrusted, &narrow));
        let quorum = Rule { quorum: Some(2), ..rule("ask Bash(npm *)") };
        assert!(!covers(&rule("ask Bash"), &quorum), "it still asks for two people");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_a_covered_rule_speaks_about_the_wide_one_does(wide in any_rule(), narrow in any_rule(), call in any_call()) {
            let context = context();
            let call = call.followed(&context, |path| Some(path.to_owned()));
            if covers(&wide, &narrow) && applies(&narrow, &context, &call) {
                prop_assert!(applies(&wide, &context, &call), "{} / {}: {call:?}", wide.pattern, narrow.pattern);
            }
        }
    }
}
