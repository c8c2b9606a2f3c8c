//! Words from outside in commands that people are told to paste: to a shell, each is one word and nothing else.

/// The words for the end of a command. Behind `--` where one of them would be taken for an option.
pub fn shell_words(words: &[impl AsRef<str>]) -> String {
    let dashes = words.iter().any(|word| word.as_ref().starts_with('-')).then(|| "--".to_owned());
    let words = words.iter().map(|word| shell_word(word.as_ref()));
    dashes.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The text as one word, in quotes where it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@+,%=".contains(letter);
    // In zsh a word that begins with `=` is the path of a program.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("'");
    for letter in word.chars() {
        match letter {
            '\'' => quoted.push_str("'\\''"),
            // In fish it would keep the quotes open.
            '\\' => quoted.push_str("'\\\\'"),
            letter => quoted.push(letter),
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_as_more_than_a_word_is_in_quotes() {
        for (word, wanted) in [
            ("docs", "docs"),
            ("https://example.org/mcp", "https://example.org/mcp"),
            ("", "''"),
            ("docs; touch ~/x", "'docs; touch ~/x'"),
            ("$(touch x)`y`\"", "'$(touch x)`y`\"'"),
            ("it's", "'it'\\''s'"),
            ("a\\", "'a'\\\\''"),
            ("a\nb", "'a\nb'"),
            ("~", "'~'"),
            ("=ls", "'=ls'"),
            ("服务", "'服务'"),
        ] {
            assert_eq!(shell_word(word), wanted);
        }
        assert_eq!(shell_words(&["docs", "read file"]), "docs 'read file'");
        assert_eq!(shell_words(&["docs", "--all"]), "-- docs --all");
    }
}
