//! What a word is to the words behind it, and what a line says of its names.

/// Whether the first word of a command still comes behind this one.
pub(super) fn is_before_command(word: &str) -> bool {
    const BEFORE: [&str; 16] = [
        "!", "{", "}", "builtin", "command", "coproc", "do", "elif", "else", "exec", "if", "noglob", "then", "time",
        "until", "while",
    ];
    BEFORE.contains(&word)
}

pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default().trim_end_matches('+');
    let name = name.split('[').next().unwrap_or_default();
    word.contains('=') && !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a line may have a text in it that `echo` writes in another way in zsh.
pub(super) fn has_escapes(line: &str) -> bool {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '\\') {
            return true;
        }
    }
    false
}

/// Whether a line makes a list of a name somewhere.
pub(super) fn may_be_list(line: &str, name: &str) -> bool {
    ["=(", "+=("].iter().any(|sign| line.contains(&format!("{name}{sign}"))) || is_list(line, name)
}

/// Whether a line says that a name is a list, wherever it sets it.
pub(super) fn is_list(line: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = false;
    for (at, _) in line.match_indices(name) {
        let (before, behind) = (&line[..at], &line[at + name.len()..]);
        if before.ends_with(|c: char| is_of_name(c) || matches!(c, '$' | '{')) || behind.starts_with(is_of_name) {
            continue;
        }
        let behind = behind.trim_start_matches('+');
        let declares = || {
            let mut words = before.split_whitespace().rev();
            words.next().is_some_and(|flag| flag.starts_with('-') && flag.contains(['a', 'A']))
        };
        match behind.strip_prefix('=') {
            Some(value) if value.starts_with('(') => found = true,
            Some(_) => return false,
            None if declares() => found = true,
            // `name[x]=y` sets an element, and everything else may set the name itself.
            None if behind.starts_with('[') => {}
            None => return false,
        }
    }
    found
}
