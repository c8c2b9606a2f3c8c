//! Queries of data: they start nothing, and read the files that are named beside them, unless they load others themselves.

use super::super::shell::ShellWord;
use super::Meaning;
use super::input::is_input;
use crate::policy::words::options;

/// What loads a file by a name that the query puts together, or that is looked for in other folders.
const LOADING: [&str; 3] = ["import", "include", "modulemeta"];

pub(super) fn jq(rest: &[ShellWord], input: impl FnOnce() -> Option<Vec<String>>) -> Meaning {
    let is_file = options::has(rest.iter().map(|word| word.text.as_str()), "f", &["--from-file"]);
    // The query itself may come as input.
    let is_fed = rest.iter().any(|word| is_input(word.text.rsplit('=').next().unwrap_or_default()));
    let given = if is_file { input() } else { Some(vec![]) };
    // A query that another program writes nobody can read here.
    let is_unknown = is_file && (rest.iter().any(ShellWord::is_made_file) || is_fed && given.is_none());
    let given = given.unwrap_or_default();
    let texts = rest.iter().map(|word| word.text.as_str()).chain(given.iter().map(String::as_str));
    Meaning { reads_any: is_unknown || texts.into_iter().any(loads), ..Meaning::default() }
}

/// Whether a query has one of these words where it can be an order: a name of data has a dot, a dollar or a quote before it,
/// or a colon behind it.
fn loads(query: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    LOADING.iter().any(|order| {
        query.match_indices(order).any(|(at, _)| {
            let before = query[..at].chars().next_back();
            let behind = query[at + order.len()..].trim_start();
            let is_whole = !query[at + order.len()..].starts_with(is_name);
            let is_data = before.is_some_and(|c| is_name(c) || matches!(c, '.' | '$' | '"' | '@' | '-' | '/'));
            let is_told = *order == "modulemeta" || behind.starts_with(['"', '#']);
            is_whole && !is_data && is_told
        })
    })
}

/// `load("a.yaml")` names a file; what it is given otherwise may be any.
pub(super) fn yq(rest: &[ShellWord]) -> Meaning {
    let names_other = |query: &str| {
        query.split("load").skip(1).any(|behind| {
            let argument = behind.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
            let Some(argument) = argument.strip_prefix('(').map(str::trim_start) else { return false };
            let named = argument.strip_prefix('"').and_then(|text| text.split_once('"'));
            named.is_none_or(|(name, behind)| name.contains('\\') || !behind.trim_start().starts_with(')'))
        })
    };
    Meaning { reads_any: rest.iter().any(|word| names_other(&word.text)), ..Meaning::default() }
}

#[cfg(test)]
mod tests {
    use super::super::super::shell::Script;
    use super::*;

    fn reads_any(line: &str) -> bool {
        let script = Script::read(line);
        let (first, rest) = script.commands[0].words.split_first().unwrap();
        if first.text == "yq" { yq(rest).reads_any } else { jq(rest, || None).reads_any }
    }

    #[test]
    fn a_query_that_loads_files_may_load_any() {
        for line in [
            "jq -n 'import \"key\" as $k {search: \"secrets\"}; $k'",
            "jq -n 'include \"key\"; .'",
            "jq -n 'def f: 1;import\"key\" as $k; $k'",
            "jq -L secrets 'include #x\n\"key\"; .' f",
            "jq -n '\"key\" | modulemeta'",
            "jq -n -f /dev/stdin",
            "gojq --from-file=/dev/stdin",
            "yq -n 'load(\"sec\" + \"rets/key\")'",
            "yq -n 'load_str( .a )' f",
        ] {
            assert!(reads_any(line), "{line}");
        }
        for line in [
            "jq .import package.json",
            "jq '.include[0]' tsconfig.json",
            "jq '{import: .a, include}' x",
            "jq '.[\"import\"]' x",
            "jq --arg import x '$import' f",
            "jq -r '.exports.\"./x\".import' package.json",
            "jq .reimport x",
            "jq -f a.jq b.json",
            "yq '.a = load(\"b.yaml\")' c",
            "yq .payload x",
        ] {
            assert!(!reads_any(line), "{line}");
        }
    }
}
