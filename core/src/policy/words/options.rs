//! Options as programs take them: long ones cut short, short ones run together, values behind `=` or right behind.

/// The letters of tar that have a value.
pub(crate) const VALUED_OF_TAR: &str = "bCfFgHIKLNTVX";

/// What stands behind one of these options in a word: empty where its value is the next word. A long option may be cut
/// short, and a letter may stand behind others.
pub(crate) fn value<'word>(word: &'word str, letters: &str, longs: &[&str]) -> Option<&'word str> {
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let is_it = |long: &&str| name.len() > 2 && (long.starts_with(name) || name.starts_with(*long));
        return longs.iter().any(|long| long.starts_with("--") && is_it(long)).then_some(value);
    }
    // Some programs have long options with one dash.
    if let Some(long) = longs.iter().find(|long| !long.starts_with("--") && word.starts_with(**long)) {
        return Some(word[long.len()..].trim_start_matches('='));
    }
    let bundle = word.strip_prefix('-')?;
    let at = bundle.find(|letter| letters.contains(letter))?;
    Some(bundle[at..].char_indices().nth(1).map_or("", |(next, _)| &bundle[at + next..]))
}

/// Whether one of the words may be one of these options.
pub(crate) fn has<'word>(mut words: impl Iterator<Item = &'word str>, letters: &str, longs: &[&str]) -> bool {
    words.any(|word| value(word, letters, longs).is_some())
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn an_option_is_found_cut_short_run_together_and_with_its_value() {
        let of = |word| value(word, "O", &["--open-files", "-toolexec"]);
        assert_eq!(of("--open=x"), Some("x"));
        assert_eq!(of("--open-files"), Some(""));
        assert_eq!(of("-iOx"), Some("x"));
        assert_eq!(of("-O"), Some(""));
        assert_eq!(of("-toolexec=x"), Some("x"));
        assert_eq!(of("--other"), None);
        assert_eq!(of("--"), None);
        assert_eq!(of("O"), None);
    }
}
