//! Languages in which people write programs. Such code is not understood: it counts what it says plainly.

use super::super::shell::ShellWord;
use super::{Meaning, ProgramInput, is_input, values};
use crate::policy::commands::erasing::{REMOVES_FILES, REMOVES_FOLDERS, interprets};
use crate::policy::lines::suspects::Found;
use crate::policy::texts::feeding::starts_programs;

/// What code of a language says when it starts programs, or takes what it does from elsewhere.
const STARTS: [(&str, &[&str]); 5] = [
    (
        "emacs",
        &[
            "process",
            "shell",
            "delete",
            "rename",
            "write",
            "insert-file",
            "copy",
            "load",
            "eval",
            "funcall",
            "apply",
            "intern",
            "find-file",
            "append",
            "make-",
            "set-file",
            "getenv",
            "read",
        ],
    ),
    ("gnuplot", &["system", "!", "`", "load", "eval", "call", "|"]),
    ("expect", &["spawn", "exec", "send", "system", "open", "eval", "source", "subst"]),
    ("tclsh", &["file delete", "file rename", "exec", "open", "eval", "source", "load", "subst"]),
    ("m4", &["syscmd", "esyscmd", "indir", "builtin", "include"]),
];

/// Whether a program of the table is told nothing that starts others.
pub(super) fn says_nothing_of_programs(name: &str, rest: &[ShellWord], input: &ProgramInput) -> Meaning {
    let mut texts: Vec<String> = match name {
        "emacs" => values(rest, "f", &["--eval", "-eval", "--execute", "-execute", "--funcall", "-funcall"]),
        "gnuplot" => values(rest, "e", &[]),
        "expect" => values(rest, "c", &[]),
        _ => vec![],
    }
    .into_iter()
    .map(str::to_owned)
    .collect();
    // Without a script of their own they run what they read.
    let is_script = |word: &ShellWord| !word.is_flag() && !is_input(&word.text);
    let is_fed = !rest.iter().any(is_script) || rest.iter().any(|word| is_input(&word.text));
    if name != "emacs" && is_fed && *input == ProgramInput::Unknown {
        return Meaning::unclear();
    }
    texts.extend(input.texts().filter(|_| name != "emacs").unwrap_or_default());
    let marks = STARTS.iter().find(|(program, _)| *program == name).map_or(&[][..], |(_, marks)| marks);
    Meaning { is_unclear: texts.iter().any(|text| marks.iter().any(|mark| text.contains(mark))), ..Meaning::default() }
}

/// Code that is not handed over by an option that says so, and code that removes what it does not name.
pub(super) fn code(name: &str, rest: &[ShellWord], command: &Found, input: impl Fn() -> ProgramInput) -> Meaning {
    if !interprets(std::slice::from_ref(&ShellWord::plain(name))) {
        return Meaning::default();
    }
    let piped = input().texts().filter(|_| command.given.is_empty()).unwrap_or_default();
    let words = rest.iter().map(|word| word.text.as_str());
    let texts = words.chain(command.given.iter().chain(&piped).map(String::as_str));
    if name.starts_with("perl") && texts.clone().any(removes_topic) {
        return Meaning::unclear();
    }
    let texts: Vec<&str> = texts.filter(|text| text.contains([' ', '(', '\n', ';'])).collect();
    let is_module = rest.iter().any(|word| word.text.starts_with("-m"));
    let starts = || is_module && texts.iter().any(|text| starts_programs(name, text));
    Meaning { is_unclear: starts() || texts.iter().any(|text| removes_what_it_makes(text)), ..Meaning::default() }
}

/// Whether code of perl removes what `$_` is: `unlink;`, `unlink for …`, `{ rmdir }`.
fn removes_topic(code: &str) -> bool {
    let is_bare = |at: usize, remover: &str| {
        let begins = !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$@%&>:\"'-./".contains(c));
        let behind = code[at + remover.len()..].trim_start();
        let word = behind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let goes_on = matches!(word, "and" | "for" | "foreach" | "if" | "or" | "unless" | "until" | "while");
        begins && (goes_on || behind.is_empty() || behind.starts_with([';', '}', ')', '|', '&', '?', ':']))
    };
    ["unlink", "rmdir"].into_iter().any(|remover| code.match_indices(remover).any(|(at, _)| is_bare(at, remover)))
}

/// Whether code removes something that it does not name in quotes, and that is none of its words.
fn removes_what_it_makes(code: &str) -> bool {
    let removers = REMOVES_FOLDERS.iter().chain(&REMOVES_FILES);
    removers.into_iter().any(|remover| {
        let mut from = 0;
        while let Some(at) = code[from..].find(remover).map(|at| from + at) {
            from = at + remover.len();
            if !is_named(&code[..at], &code[from..]) && !is_picked(code, &code[..at], &code[from..]) {
                return true;
            }
        }
        false
    })
}

/// Whether what is removed is a name of its own for what patterns in quotes stand for, in folders in quotes: that is looked up
/// on the disk.
fn is_picked(code: &str, before: &str, behind: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let argument = behind.find('(').map_or("", |at| &behind[at + 1..]);
    let argument = argument.split([')', ',']).next().unwrap_or_default().trim();
    let receiver =
        before.trim_end_matches('.').rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let has_name = if argument.is_empty() { before.ends_with('.') && is_name(receiver) } else { is_name(argument) };
    let calls = |function: &str| {
        let calls: Vec<&str> = code.split(function).skip(1).collect();
        let is_said = |behind: &&str| behind.split([')', ',']).next().is_some_and(|name| is_quoted(name.trim()));
        (!calls.is_empty(), calls.iter().all(is_said))
    };
    let ((globs, named), (_, below)) = (calls("glob("), calls("Path("));
    has_name && globs && named && below
}

/// Whether what is removed stands in quotes behind the name of the function, or before it: `Path('x').unlink()`.
fn is_named(before: &str, behind: &str) -> bool {
    let name: usize = behind.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(behind.len());
    let behind = &behind[name..];
    // It is handed to something that calls it: `map(os.unlink, names)`.
    let head = before.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')).trim_end();
    let is_imported = before.rsplit([';', '\n']).next().is_some_and(|statement| statement.contains("import"));
    if head.ends_with(['(', ',']) && behind.trim_start().starts_with([',', ')']) && !is_imported {
        return false;
    }
    // Without brackets it is a call where a blank and something to remove follow.
    let makes = ["map", "grep", "sort", "reverse", "join", "keys", "values", "split"];
    let is_what = |text: &&str| {
        text.starts_with(['"', '\'', 'q', '@', '$', '<', 'g']) || makes.iter().any(|it| text.starts_with(it))
    };
    let bare = || behind.strip_prefix(' ').filter(is_what);
    let Some(argument) = behind.trim_start().strip_prefix('(').or_else(bare) else { return true };
    let argument = argument.trim_start_matches([' ', '(', '[', '\n']);
    if argument.starts_with(')') || argument.starts_with("missing_ok") {
        let receiver = before.trim_end_matches('.').strip_suffix(')').and_then(|text| text.rsplit_once('('));
        return receiver.is_some_and(|(_, name)| is_quoted(name));
    }
    // Its own words stand in the line.
    if ["sys.argv", "process.argv", "@ARGV", "ARGV", "argv"].iter().any(|words| argument.starts_with(words)) {
        return true;
    }
    let argument = argument.strip_prefix('r').filter(|text| text.starts_with(['"', '\''])).unwrap_or(argument);
    let Some(quote) = argument.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else { return false };
    let Some(end) = argument[1..].find(quote).map(|end| end + 2) else { return false };
    let behind = argument[end..].trim_start();
    is_quoted(&argument[..end]) && (behind.is_empty() || behind.starts_with([',', ')', ']', ';', '"', '\'', '}', '\n']))
}

/// Whether this is one text in quotes, in which nothing is filled in.
fn is_quoted(text: &str) -> bool {
    let inside = ['"', '\'', '`'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inside.is_some_and(|text| !text.contains(['\\', '$', '{', '#', '"', '\'', '`']))
}

#[cfg(test)]
mod tests {
    use super::{removes_topic, removes_what_it_makes};

    #[test]
    fn perl_removes_what_it_goes_through() {
        for code in ["unlink", "unlink;", "unlink for <*>", "for (<*>) { unlink }", "unlink or rmdir", "sub { rmdir; }"]
        {
            assert!(removes_topic(code), "{code}");
        }
        for code in
            ["unlink 'a'", "unlink($x)", "print 'unlink'", "$unlink;", "unlinked", "rmdir 'x' for 1", "a/unlink"]
        {
            assert!(!removes_topic(code), "{code}");
        }
    }

    #[test]
    fn what_is_removed_is_named_or_it_may_be_anything() {
        for code in [
            "import shutil; shutil.rmtree('build')",
            "import os; os.remove(\"a.txt\")",
            "os.unlink(sys.argv[1])",
            "fs.rmSync('dist', {recursive: true})",
            "Path('x').unlink()",
            "unlink \"victim\"",
            "from shutil import rmtree",
            "from shutil import (copy, rmtree)",
            "print('truncated')",
            "[p.unlink() for p in pathlib.Path('.').rglob('*.py[co]')]",
            "[os.remove(f) for f in glob.glob('build/*.o')]",
        ] {
            assert!(!removes_what_it_makes(code), "{code}");
        }
        for code in [
            "shutil.rmtree(os.environ['HO'+'ME'])",
            "shutil.rmtree(chr(46))",
            "fs.rmSync(process.env['HO'+'ME'])",
            "[p.unlink() for p in x]",
            "Path('a'+'b').unlink()",
            "[p.unlink() for p in Path(x).rglob('*')]",
            "[os.remove(f) for f in glob.glob('a'+'b')]",
            "os.remove('a'+'b')",
            "os.remove(f'{x}')",
            "[*map(os.unlink, os.listdir())]",
            "fs.readdirSync('.').forEach(fs.unlinkSync)",
            "rmtree(\"$x\")",
            "END { unlink map { \"a$_\" } x }",
        ] {
            assert!(removes_what_it_makes(code), "{code}");
        }
    }
}
