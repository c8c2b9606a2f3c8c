//! Orders to databases and debuggers, which are known by their first word. One that is not known may run anything.

use super::{Meaning, ProgramInput};

/// Orders to sqlite that start nothing. A file that one of them names is a word of the line.
const SQLITE: &str = ".backup .bail .binary .cd .changes .clone .databases .dbinfo .dump .echo .eqp .exit .explain .expert \
    .fullschema .headers .help .import .indexes .indices .lint .mode .nullvalue .once .open .output .print .prompt .quit .read \
    .restore .save .schema .separator .sha3sum .show .stats .tables .timeout .timer .version .width";
/// The same for psql, without the backslash.
const PSQL: &str = "c conninfo connect d d+ da db dC dd df df+ di dl dm dn dn+ do dp dt dt+ du du+ dv dx dy echo encoding g gx h l \
    l+ password pset q qecho s sf sv t timing x z";
/// Orders to gdb and lldb.
const DEBUGGER: &str = "attach b backtrace br break breakpoint bt c cont continue delete detach disable disas disassemble \
    display down exit f file finish frame handle help i info k kill list n next ni nexti q quit r register run s si start step \
    stepi tbreak thread up version watch where x";
/// What a debugger may be told to set.
const SETTINGS: &str = "args auto-load breakpoint confirm disable-randomization follow-fork-mode height history listsize \
    non-stop pagination print scheduler-locking style verbose width";

fn is_one_of(word: &str, names: &str) -> bool {
    names.split_whitespace().any(|name| name == word)
}

/// The first word of an order, and what stands behind it.
fn parted(order: &str) -> (&str, &str) {
    order.split_once([' ', '\t']).map_or((order, ""), |(name, rest)| (name, rest.trim()))
}

pub(super) fn sqlite(texts: &[&str], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    let Some(given) = input.texts() else { return Meaning::unclear() };
    for text in texts.iter().map(|text| (*text).to_owned()).chain(given) {
        let (orders, sql): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.trim_start().starts_with('.'));
        for order in orders {
            let (name, argument) = parted(order.trim_start());
            match name {
                ".shell" | ".system" => meaning.run(argument),
                // A name behind a bar is a program; with a backslash another letter is meant.
                name if is_one_of(name, SQLITE) && !argument.contains(['|', '\\']) => {}
                _ => meaning.is_unclear = true,
            }
        }
        let sql = sql.join("\n").to_lowercase();
        meaning.is_unclear |= ["load_extension", "edit("].iter().any(|name| sql.contains(name));
        meaning.reads_any |= calls_with_a_made_name(&sql, "readfile") || sql.contains("fsdir");
        meaning.changes_any |= calls_with_a_made_name(&sql, "writefile");
        meaning.changes_any |= ["attach", "vacuum"].iter().any(|word| sql.contains(word)) && sql.contains("||");
    }
    meaning
}

/// Whether a function is called with anything but a name in quotes.
fn calls_with_a_made_name(sql: &str, function: &str) -> bool {
    sql.split(function).skip(1).any(|behind| {
        let argument =
            behind.trim_start().strip_prefix('(').map(str::trim_start).and_then(|name| name.strip_prefix('\''));
        let behind = argument.and_then(|name| name.split_once('\'')).map(|(_, behind)| behind.trim_start());
        !behind.is_some_and(|behind| behind.starts_with([',', ')']))
    })
}

pub(super) fn psql(texts: &[&str], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    for text in texts.iter().map(|text| (*text).to_owned()).chain(input.texts().unwrap_or_default()) {
        for behind in text.split('\\').skip(1) {
            let (name, argument) = parted(behind.lines().next().unwrap_or_default());
            match behind.strip_prefix('!') {
                Some(_) if text.matches('\\').count() == 1 => {
                    meaning.run(behind.lines().next().unwrap_or_default()[1..].trim());
                }
                Some(_) => meaning.is_unclear = true,
                None => meaning.is_unclear |= !is_one_of(name, PSQL) || argument.contains(['`', '|']),
            }
        }
        // With `copy … program` the server starts one; letters of its name may be numbers.
        meaning.is_unclear |= text.to_lowercase().contains("program") && text.to_lowercase().contains("copy");
    }
    meaning
}

pub(super) fn mysql(texts: &[&str], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    for text in texts.iter().map(|text| (*text).to_owned()).chain(input.texts().unwrap_or_default()) {
        for line in text.lines().flat_map(|line| line.split(';')) {
            let (name, argument) = parted(line.trim());
            match name.to_lowercase().as_str() {
                "system" => meaning.run(argument),
                "pager" | "tee" | "edit" => meaning.is_unclear = true,
                _ => {}
            }
        }
        meaning.is_unclear |= ["\\!", "\\P", "\\e", "\\T"].iter().any(|order| text.contains(order));
    }
    meaning
}

pub(super) fn debugger(texts: &[&str], input: &ProgramInput) -> Meaning {
    let mut meaning = Meaning::default();
    let Some(given) = input.texts() else { return Meaning::unclear() };
    for order in texts.iter().copied().chain(given.iter().map(String::as_str)).flat_map(str::lines) {
        let order = order.trim();
        let (name, argument) = parted(order);
        let base = name.split('/').next().unwrap_or_default();
        match (base, order.strip_prefix('!')) {
            (_, Some(line)) => meaning.run(line),
            ("shell", _) => meaning.run(argument),
            ("" | "echo", _) if !order.contains('\\') => {}
            // What is printed may be a call.
            ("p" | "print" | "output" | "display" | "watch", _) if !argument.contains(['(', '=', '{', '\\']) => {}
            ("thread", _) if argument.starts_with("apply") => {
                let is_trace = argument
                    .split_whitespace()
                    .next_back()
                    .is_some_and(|word| is_one_of(word, "bt full where backtrace"));
                meaning.is_unclear |= !is_trace;
            }
            ("set", _) => meaning.is_unclear |= !is_one_of(parted(argument).0, SETTINGS),
            ("x" | "b" | "break" | "br" | "tbreak" | "watch", _) => {
                meaning.is_unclear |= argument.contains(['(', '=']) || argument.contains(" if ");
            }
            (base, _) if is_one_of(base, DEBUGGER) => meaning.is_unclear |= argument.contains(['`', '|', '$']),
            _ => meaning.is_unclear = true,
        }
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_known_by_their_first_word() {
        let none = ProgramInput::Own;
        for text in [".tables", ".mode list", "select * from t where a='x'", ".schema t", "select readfile('a.txt')"] {
            assert_eq!(sqlite(&[text], &none), Meaning::default(), "{text}");
        }
        for text in [".once |sh", ".output |sh", ".load x", ".exp x", "select load_extension('x')"] {
            assert!(sqlite(&[text], &none).is_unclear, "{text}");
        }
        assert!(sqlite(&["select readfile('a'||'b')"], &none).reads_any);
        assert_eq!(sqlite(&[".shell ls x"], &none).lines, ["ls x"]);
        for text in ["bt", "thread apply all bt", "set pagination off", "info threads", "run", "break main", "p x"] {
            assert_eq!(debugger(&[text], &none), Meaning::default(), "{text}");
        }
        for text in ["eval \"shell %c\",1", "python x", "p system(\"x\")", "pipe x | sh", "source x", "set $a=1"] {
            assert!(debugger(&[text], &none).is_unclear, "{text}");
        }
        assert_eq!(debugger(&["shell ls"], &none).lines, ["ls"]);
        for text in ["\\dt", "select 1", "\\d t", "\\l"] {
            assert_eq!(psql(&[text], &none), Meaning::default(), "{text}");
        }
        for text in ["\\o |sh", "copy t from program E'x'", "\\set x `y`", "\\gexec"] {
            assert!(psql(&[text], &none).is_unclear, "{text}");
        }
    }
}
