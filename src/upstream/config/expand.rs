//! Variables in an entry: `${NAME}`, and `${NAME:-default}` where it may be missing.

/// The variables that an entry may name.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The text with its variables filled in. One that is not set stays as written, and its name is put on the list.
pub(super) fn expand(text: &str, variables: Lookup<'_>, missing: &mut Vec<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match variables(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => {
                if !missing.iter().any(|known| known == name) {
                    missing.push(name.to_owned());
                }
                expanded.push_str(&format!("${{{inside}}}"));
            }
        }
        rest = behind;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, expected_missing: &[&str]) {
        let mut missing = vec![];
        let variables = |name: &str| (name == "HOST").then(|| "example.org".to_owned());
        assert_eq!(expand(text, &variables, &mut missing), expected);
        assert_eq!(missing, expected_missing);
    }

    #[test]
    fn variables_are_filled_in_and_missing_ones_stay_as_written() {
        check("https://${HOST}/mcp", "https://example.org/mcp", &[]);
        check("${HOST:-other}${PORT:-:80}", "example.org:80", &[]);
        check("${EMPTY:-}x", "x", &[]);
        check("${NO}-${NO}-${YET}", "${NO}-${NO}-${YET}", &["NO", "YET"]);
        check("$HOST ${HOST", "$HOST ${HOST", &[]);
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        let mut missing = vec![];
        let nested = |_: &str| Some("${INNER}".to_owned());
        assert_eq!(expand("${OUTER}", &nested, &mut missing), "${INNER}");
    }
}
