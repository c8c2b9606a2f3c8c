//! Orders to ed, ex and vim. Understood are those that go to lines, change text by other text, read and write files and run
//! a line for a shell; an order that works something out is not.

use super::super::shell::ShellWord;
use super::Meaning;
use super::input::ProgramInput;
use super::values;
use crate::policy::words::options;

/// Settings of vim that only change how a text looks or is written.
const SETTINGS: &str = "ai autoindent bin binary bomb cp compatible cul cursorline enc encoding eol et expandtab fdm fenc ff \
    ffs fileencoding fileformat fileformats filetype fixeol ft hls hlsearch ic ignorecase incsearch is list ma modifiable more \
    nu number paste readonly relativenumber rnu ro ruler scs shiftwidth si smartcase smartindent softtabstop sts sw swapfile \
    tabstop textwidth ts tw wrap ws wrapscan";

/// Whether this is vim, by one of its names.
pub(super) fn is_editor(name: &str) -> bool {
    let is_vim = |name: &str| ["vim", "nvim", "gvim", "mvim", "rvim"].iter().any(|vim| name.starts_with(vim));
    matches!(name, "vi" | "ex" | "view" | "nvi" | "elvis" | "rview" | "gview") || is_vim(name)
}

/// What vim is told by its options, and by its input where it has no screen.
pub(super) fn read_by_vim(name: &str, rest: &[ShellWord], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    let plus = rest.iter().filter_map(|word| word.text.strip_prefix('+'));
    for text in values(rest, "c", &["--cmd"]).into_iter().chain(plus) {
        orders(text, &mut meaning);
    }
    let has_no_screen = name == "ex" || options::has(rest.iter().map(|word| word.text.as_str()), "eEs", &[]);
    if has_no_screen {
        take_input(input, &mut meaning);
    }
    meaning
}

pub(super) fn read_by_ed(rest: &[ShellWord], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    rest.iter().filter_map(|word| word.text.strip_prefix('!')).for_each(|line| meaning.run(line));
    take_input(input, &mut meaning);
    meaning
}

fn take_input(input: &ProgramInput, meaning: &mut Meaning) {
    match input.texts() {
        Some(texts) => texts.iter().for_each(|text| orders(text, meaning)),
        None => meaning.is_unclear = true,
    }
}

/// Reads orders, one on each line. Behind some of them lines of text follow, up to one with nothing but a dot.
fn orders(text: &str, meaning: &mut Meaning) {
    let mut is_text = false;
    for line in text.lines() {
        if is_text {
            is_text = line != ".";
            continue;
        }
        match order(line, meaning) {
            Some(Next::Orders) => {}
            Some(Next::Text) => is_text = true,
            None => meaning.is_unclear = true,
        }
    }
}

enum Next {
    Orders,
    /// Lines of text follow.
    Text,
}

/// Reads the orders of one line; none where one of them is not understood.
fn order(line: &str, meaning: &mut Meaning) -> Option<Next> {
    let mut rest = line;
    loop {
        let behind = behind_address(rest)?;
        if let Some(line) = behind.strip_prefix('!') {
            // Names of files and the line before are put in the place of some characters.
            if line.contains(['%', '#', '!']) {
                return None;
            }
            // It may run what was written to a file before.
            meaning.feed(line);
            return Some(Next::Orders);
        }
        let ends = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(ends);
        let (argument, next) = argument(behind);
        rest = match name {
            "" if behind.starts_with('"') => return Some(Next::Orders),
            "" if matches!(argument.trim(), "" | "=" | "<" | ">") => next,
            "s" | "substitute" => behind_substitution(behind)?,
            "g" | "global" | "v" | "vglobal" => {
                let behind = behind.strip_prefix('!').unwrap_or(behind);
                let delimiter = behind.chars().next()?;
                behind_part(&behind[delimiter.len_utf8()..], delimiter)?
            }
            "q" | "qu" | "quit" | "qa" | "qall" | "quita" | "quitall" | "Q" | "wa" | "wall" | "wqa" | "wqall"
            | "xa" | "xall" | "u" | "undo" | "red" | "redo" | "noh" | "nohlsearch" | "H" | "h" | "P" => {
                matches!(argument.trim(), "" | "!").then_some(next)?
            }
            "w" | "write" | "wq" | "x" | "exit" | "up" | "update" | "W" | "r" | "read" | "e" | "edit" | "E" | "f"
            | "sp" | "split" | "vs" | "vsplit" | "tabe" | "tabedit" => match shell_line(behind) {
                Some(line) if line.contains(['%', '#', '!']) => return None,
                Some(line) => {
                    if matches!(name, "w" | "write" | "W") {
                        meaning.feed(line);
                    } else {
                        meaning.run(line);
                    }
                    return Some(Next::Orders);
                }
                None => is_file(argument).then_some(next)?,
            },
            "p" | "print" | "pr" | "nu" | "number" | "n" | "l" | "list" | "d" | "delete" | "j" | "join" | "k"
            | "mark" | "t" | "co" | "copy" | "m" | "move" | "y" | "yank" | "pu" | "put" | "ret" | "retab" | "le"
            | "ri" | "ce" => {
                argument.chars().all(|c| c.is_ascii_alphanumeric() || " $.,+-'!".contains(c)).then_some(next)?
            }
            "sort" => argument.chars().all(|c| c.is_ascii_alphanumeric() || " !".contains(c)).then_some(next)?,
            "se" | "set" | "setl" | "setlocal" => argument.split_whitespace().all(is_setting).then_some(next)?,
            "syn" | "syntax" | "filetype" | "colo" | "colorscheme" => {
                argument.chars().all(|c| c.is_ascii_alphabetic() || c == ' ').then_some(next)?
            }
            "a" | "append" | "i" | "insert" | "c" | "change" => {
                return argument.trim().is_empty().then_some(Next::Text);
            }
            _ => return None,
        };
        if rest.trim().is_empty() {
            return Some(Next::Orders);
        }
    }
}

/// What stands up to the bar that ends an order, and behind it.
fn argument(text: &str) -> (&str, &str) {
    text.split_once('|').unwrap_or((text, ""))
}

/// The line for a shell in `r !line` and `w !line`; `w!name` writes over a file.
fn shell_line(argument: &str) -> Option<&str> {
    argument.trim_start_matches('!').trim_start().strip_prefix('!').filter(|_| argument.starts_with([' ', '!']))
}

/// Whether an argument is a name of a file in which nothing is filled in.
fn is_file(argument: &str) -> bool {
    !argument.contains(['`', '$', '*', '?', '[', '{', '<', '\\', '!', '#', '='])
        || argument.trim() == "!"
        || argument.strip_prefix('!').is_some_and(|name| name.starts_with(' ') && is_file(name))
}

fn is_setting(word: &str) -> bool {
    let name = word.split(['=', ':', '!', '?', '&']).next().unwrap_or_default();
    let known = |name: &str| SETTINGS.split_whitespace().any(|setting| setting == name);
    known(name) || name.strip_prefix("no").is_some_and(known)
}

/// What stands behind the lines that an order is for.
fn behind_address(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches([' ', '\t', ':']);
    loop {
        let plain = rest.trim_start_matches(|c: char| c.is_ascii_digit() || ".$%,;+- \t".contains(c));
        rest = plain;
        let Some(c) = rest.chars().next() else { return Some(rest) };
        rest = match c {
            '/' | '?' => behind_part(&rest[1..], c).unwrap_or_default(),
            '\'' => rest.get(2..)?,
            _ => return Some(rest),
        };
    }
}

/// What stands behind `s/x/y/flags`. With `\=` text is worked out.
fn behind_substitution(text: &str) -> Option<&str> {
    let Some(delimiter) = text.chars().next() else { return Some(text) };
    if delimiter.is_alphanumeric() || matches!(delimiter, ' ' | '"' | '|' | '\\') {
        return None;
    }
    let Some(put) = behind_part(&text[delimiter.len_utf8()..], delimiter) else { return Some("") };
    if put.starts_with("\\=") {
        return None;
    }
    let Some(behind) = behind_part(put, delimiter) else { return Some("") };
    let flags = behind.find(|c: char| !c.is_ascii_alphanumeric() && !"&# ".contains(c)).unwrap_or(behind.len());
    let behind = &behind[flags..];
    match behind.strip_prefix('|') {
        Some(next) => Some(next),
        None => behind.is_empty().then_some(behind),
    }
}

/// What stands behind the delimiter that ends a pattern or a text.
fn behind_part(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == delimiter => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Meaning {
        let mut meaning = Meaning::default();
        orders(text, &mut meaning);
        meaning
    }

    #[test]
    fn orders_that_change_text_are_understood() {
        for text in [
            "wq",
            "q!",
            "%s/a/b/g",
            "%s/a/b/g | wq",
            "g/x/d",
            "1,5d",
            "set nu",
            "w out.txt",
            "0a\nrm x\n.\nw\nq",
            "+10",
        ] {
            assert_eq!(read(text), Meaning::default(), "{text}");
        }
    }

    #[test]
    fn lines_for_a_shell_are_found_and_what_is_worked_out_is_not_understood() {
        assert_eq!(read("r !ls src").lines, ["ls src"]);
        assert_eq!(read("g/x/r !ls").lines, ["ls"]);
        assert!(!read("%!sort -u").is_unclear && !read("w !cat").is_unclear);
        for text in [
            "call delete($HOME)",
            "norm ix",
            "w !sh",
            "%!xargs rm",
            "s/x/\\=system(y)/",
            "exe \"!r\" . \"m\"",
            "@a",
            "let @a='x'",
            "r `x`",
            "q|call x()",
            "g/x/norm y",
            "py3 x",
            "!%",
        ] {
            assert!(read(text).is_unclear, "{text}");
        }
    }
}
