//! Examples in the help of commands. A test parses each, so that none goes out of date.

/// A command by its words, and the lines that its help ends with.
pub(super) const EXAMPLES: [(&str, &[&str]); 13] = [
    (
        "run",
        &[
            "portcullis run \"make the tests pass\"",
            "portcullis run                                # talk line by line; /exit ends it",
            "portcullis run --output json \"summarize\" | jq .result",
            "git diff | portcullis run -                    # the prompt from standard input",
            "portcullis run --resume ID \"and now the docs\"",
        ],
    ),
    ("ask", &["portcullis ask list", "portcullis ask show abcde", "portcullis ask allow abcde"]),
    (
        "ask allow",
        &[
            "portcullis ask allow abcde",
            "portcullis ask allow abcde --scope session      # also what is like it, until the session ends",
            "portcullis ask allow abcde --input '{\"command\": \"npm test\"}'",
        ],
    ),
    ("ask deny", &["portcullis ask deny abcde --why \"not on a Friday\""]),
    ("say", &["portcullis say \"the build is red\"", "portcullis say --session api \"run the tests again\""]),
    (
        "rules",
        &[
            "portcullis rules list",
            "portcullis rules check Bash 'npm test'",
            "portcullis rules add ask 'Bash(git push *)'",
            "portcullis rules remove 'Bash(git push *)'",
        ],
    ),
    (
        "rules check",
        &[
            "portcullis rules check Bash 'npm test && rm -rf build'",
            "portcullis rules check --mode acceptEdits Edit src/main.rs",
            "portcullis rules check --allow 'Bash(make *)' Bash 'make all'",
            "portcullis rules check mcp__github__create_issue '{\"title\": \"x\"}'",
        ],
    ),
    (
        "rules add",
        &[
            "portcullis rules add allow 'Bash(npm test *)'",
            "portcullis rules add deny 'Read(.env)' --why \"secrets\"",
            "portcullis rules add ask 'WebFetch(domain:example.com)' --project",
        ],
    ),
    ("rules remove", &["portcullis rules remove 'Bash(npm test *)'", "portcullis rules remove 3"]),
    (
        "token add",
        &[
            "portcullis token add ci --role sender --expires 30d",
            "portcullis token add rita --role reviewer --label api",
        ],
    ),
    (
        "mcp",
        &[
            "portcullis mcp list",
            "portcullis mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
            "portcullis mcp add --transport http docs https://example.org/mcp",
            "portcullis mcp tools files",
            "portcullis mcp call files read_file '{\"path\": \"README.md\"}'",
        ],
    ),
    ("install", &["portcullis install --hooks"]),
    ("completions", &["portcullis completions bash", "portcullis completions zsh"]),
];

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::super::command;
    use super::*;

    /// A line of a shell as its words: quotes, a comment, and what stands before and behind a pipe.
    fn words(line: &str) -> Option<Vec<String>> {
        let start = line.find("portcullis ")?;
        let (mut words, mut word, mut quote, mut any) = (vec![], String::new(), None, false);
        for letter in line[start..].chars() {
            match (quote, letter) {
                (Some(open), letter) if open == letter => quote = None,
                (None, '\'' | '"') => (quote, any) = (Some(letter), true),
                (None, '#' | '|' | '>' | ';' | '&') if word.is_empty() => break,
                (None, letter) if letter.is_whitespace() => {
                    if any || !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                    any = false;
                }
                (_, letter) => word.push(letter),
            }
        }
        if any || !word.is_empty() {
            words.push(word);
        }
        Some(words)
    }

    fn wrong(line: &str) -> Option<String> {
        let words = words(line)?;
        match command().try_get_matches_from(&words) {
            Err(error) if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                Some(format!("{line}: {error}"))
            }
            _ => None,
        }
    }

    #[test]
    fn every_example_is_a_command_that_exists() {
        let wrong: Vec<String> =
            EXAMPLES.iter().flat_map(|(_, lines)| lines.iter()).filter_map(|line| wrong(line)).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for (path, _) in EXAMPLES {
            let mut found = &command();
            for word in path.split(' ') {
                found = found.find_subcommand(word).unwrap_or_else(|| panic!("{path}"));
            }
            assert!(found.get_after_help().is_some_and(|text| text.to_string().contains("Examples:")), "{path}");
        }
        assert!(self::wrong("portcullis rules check --nonsense").is_some(), "what does not parse is seen");
    }

    /// Lines of `sh` blocks that begin with our name.
    fn commands_of(page: &str) -> Vec<&str> {
        let (mut inside, mut lines) = (false, vec![]);
        for line in page.lines() {
            match line.trim() {
                "```sh" | "```bash" => inside = true,
                "```" => inside = false,
                line if inside && line.starts_with("portcullis ") => lines.push(line),
                _ => {}
            }
        }
        lines
    }

    #[test]
    fn every_command_of_the_readme_and_the_guide_exists() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let guide = std::fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
        let pages: Vec<_> = guide.chain([root.join("README.md"), root.join("README.zh-CN.md")]).collect();
        let (mut seen, mut found) = (0, vec![]);
        for page in pages {
            let text = std::fs::read_to_string(&page).unwrap();
            for line in commands_of(&text) {
                seen += 1;
                found.extend(wrong(line).map(|wrong| format!("{}: {wrong}", page.display())));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(seen > 30, "only {seen} commands were found");
    }
}
