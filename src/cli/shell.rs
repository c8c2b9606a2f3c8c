//! Words as a shell reads them back, for lines that people copy.

/// The word itself where it is plain, else in quotes.
pub(super) fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_comes_out_of_the_shell_as_it_went_in() {
        for text in ["/usr/bin/x", "", "two words", "it's", "$HOME `id` \"x\" \\ *", "ä\n"] {
            let script = format!("printf %s {}", word(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
        assert_eq!(word("/usr/bin/x"), "/usr/bin/x");
    }
}
