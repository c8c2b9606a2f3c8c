//! The names under which rules and clients know the tools of servers: `mcp__server__tool`.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// Clients refuse longer names.
const LONGEST: usize = 64;
/// How much of a hash tells two names apart.
const HASH: usize = 8;

/// The name of a tool among all tools of all servers, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolName {
    pub(crate) full: String,
    /// Why it is not just put together from its parts, where it is not.
    pub(crate) note: Option<&'static str>,
}

/// Names for tools, each given as its server and its own name, in the same order.
pub(crate) fn names(tools: &[(&str, &str)]) -> Vec<ToolName> {
    let plain: Vec<String> = tools.iter().map(|(server, tool)| joined(server, tool)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    let name = |((server, tool), plain): (&(&str, &str), &String)| {
        let collides = counts.get(plain.as_str()).is_some_and(|count| *count > 1);
        // The one that is called so keeps its name.
        let is_written_so = !server.contains("__") && *plain == format!("mcp__{server}__{tool}");
        match () {
            () if collides && !is_written_so => {
                ToolName { full: hashed(plain, server, tool), note: Some("another tool has this name") }
            }
            () if plain.len() > LONGEST => {
                ToolName { full: hashed(plain, server, tool), note: Some("the name was too long") }
            }
            () => ToolName { full: plain.clone(), note: None },
        }
    };
    tools.iter().zip(&plain).map(name).collect()
}

fn joined(server: &str, tool: &str) -> String {
    format!("{}{}", beginning(server), normalised(tool))
}

/// How the names of all tools of a server begin.
fn beginning(server: &str) -> String {
    format!("mcp__{}__", normalised(server))
}

/// How much of a name says that it is of this server; nothing where it cannot be. Of two servers it is rather of the one that
/// says more of it.
pub(crate) fn may_be_of(full: &str, server: &str) -> Option<usize> {
    let mut beginning = beginning(server);
    beginning.truncate(LONGEST - HASH - 1);
    full.starts_with(&beginning).then_some(beginning.len())
}

/// Whether the joined name can be of no other server and tool: a rule by that name means them, and nobody else.
pub(crate) fn is_told_apart(server: &str, tool: &str) -> bool {
    let ends_with_one = server.starts_with('_') || server.ends_with('_') || tool.starts_with('_');
    normalised(server) == server && !server.contains("__") && !normalised(tool).contains("__") && !ends_with_one
}

/// Every letter that a name cannot have becomes an underscore.
fn normalised(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let letters: String = name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect();
    match name.starts_with("claude.ai ") {
        true => letters.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_"),
        false => letters,
    }
}

/// The start of a name, and a hash of what it stands for.
fn hashed(plain: &str, server: &str, tool: &str) -> String {
    let digest = Sha256::digest(format!("{server}\n{tool}").as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(HASH).collect();
    let start: String = plain.chars().take(LONGEST - HASH - 1).collect();
    format!("{start}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(tools: &[(&str, &str)]) -> Vec<String> {
        names(tools).into_iter().map(|name| name.full).collect()
    }

    #[test]
    fn a_name_that_can_be_read_in_two_ways_is_known() {
        assert!(is_told_apart("bank", "pay") && is_told_apart("my-db", "get_all"));
        for (server, tool) in [("bank_", "pay"), ("bank__evil", "pay"), ("bank", "evil__pay"), ("bank", "_pay")] {
            assert!(!is_told_apart(server, tool), "{server} {tool}");
        }
        assert!(!is_told_apart("ba nk", "pay") && !is_told_apart("ba.nk", "pay"));
    }

    #[test]
    fn a_name_says_of_which_server_it_may_be() {
        let of = |server: &str, full: &str| may_be_of(full, server).is_some();
        assert!(of("github", "mcp__github__create_issue") && !of("git", "mcp__github__create_issue"));
        assert!(of("my.server", "mcp__my_server__x") && of("claude.ai My  Drive", "mcp__claude_ai_My_Drive__x"));
        assert!(may_be_of("mcp__a__b__c", "a__b") > may_be_of("mcp__a__b__c", "a"));
        let long = "x".repeat(70);
        assert!(of(&long, &full(&[(&long, "y")])[0]));
    }

    #[test]
    fn names_are_put_together_from_letters_that_clients_take() {
        assert_eq!(full(&[("my-db", "query")]), ["mcp__my-db__query"]);
        assert_eq!(full(&[("t", "weird.tool name!")]), ["mcp__t__weird_tool_name_"]);
        assert_eq!(full(&[("claude.ai My  Drive", "x")]), ["mcp__claude_ai_My_Drive__x"]);
        assert_eq!(full(&[("a-b", "x"), ("a_b", "x")]), ["mcp__a-b__x", "mcp__a_b__x"]);
    }

    #[test]
    fn two_tools_never_have_one_name() {
        let found = names(&[("s", "a.b"), ("s", "a_b"), ("s", "a b"), ("a__b", "c"), ("a", "b__c")]);
        let all: std::collections::BTreeSet<&str> = found.iter().map(|name| name.full.as_str()).collect();
        assert_eq!(all.len(), 5, "{found:?}");
        assert_eq!(found[1], ToolName { full: "mcp__s__a_b".to_owned(), note: None });
        assert!(found[0].note.is_some() && found[2].note.is_some(), "{found:?}");
        assert_eq!(found[4].full, "mcp__a__b__c");
    }

    #[test]
    fn the_end_of_a_long_name_is_a_hash() {
        let (one, two) = ("x".repeat(100), format!("{}y", "x".repeat(99)));
        let found = names(&[("server", &one), ("server", &two)]);
        assert!(found.iter().all(|name| name.full.len() == LONGEST && name.note.is_some()), "{found:?}");
        assert_ne!(found[0].full, found[1].full);
        assert!(found[0].full.starts_with("mcp__server__xxx"));
    }
}
