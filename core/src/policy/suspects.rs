//! Every command that a line may run: its own, those they start, and those in quotes for something to run. Too many
//! rather than too few, since this is for finding what is to be denied; and where it would be too much, it says so.

use std::collections::BTreeSet;

use super::command::{is_shell, name_of, text};
use super::shell::{Joint, Redirect, Script, ShellCommand, Word};

/// Programs behind which another command may stand.
const BEFORE_ANOTHER: [&str; 36] = [
    "sudo",
    "doas",
    "env",
    "exec",
    "eval",
    "xargs",
    "watch",
    "setsid",
    "ionice",
    "flock",
    "nice",
    "timeout",
    "time",
    "stdbuf",
    "nohup",
    "command",
    "builtin",
    "noglob",
    "chroot",
    "unshare",
    "strace",
    "ltrace",
    "parallel",
    "busybox",
    "nsenter",
    "taskset",
    "chrt",
    "script",
    "unbuffer",
    "su",
    "pkexec",
    "systemd-run",
    "setpriv",
    "runuser",
    "toybox",
    "ssh",
];

/// How deep a script in quotes is looked for in a script in quotes.
const DEEPEST: usize = 4;

/// How much text all suspects together may have: what one line can make us look at, for each rule.
const MOST_TEXT: usize = 60_000;

#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// The words of each command.
    pub(crate) commands: Vec<Vec<Word>>,
    /// Of all the commands.
    pub(crate) redirects: Vec<Redirect>,
    /// Why there may be more than were looked at.
    pub(crate) unfinished: Option<&'static str>,
    text: usize,
    /// Scripts in quotes that were read.
    scripts: BTreeSet<String>,
}

impl Suspects {
    pub(crate) fn of(script: &Script) -> Self {
        let mut suspects = Self::default();
        let mut scripts = suspects.look(&script.commands);
        for _ in 0..DEEPEST {
            let read: Vec<ShellCommand> = scripts.iter().flat_map(|script| suspects.read(script)).collect();
            scripts = suspects.look(&read);
        }
        if scripts.iter().any(|script| !suspects.scripts.contains(script)) {
            suspects.unfinished = Some("scripts in quotes are nested too deep");
        }
        suspects
    }

    fn read(&mut self, script: &str) -> Vec<ShellCommand> {
        if !self.scripts.insert(script.to_owned()) || !self.has_room_for(script.len()) {
            return vec![];
        }
        let script = Script::read(script);
        if script.commands.is_empty() && !script.is_readable() {
            self.unfinished = Some("a script in quotes cannot be read");
        }
        script.commands
    }

    fn has_room_for(&mut self, more: usize) -> bool {
        self.text += more;
        if self.text > MOST_TEXT {
            self.unfinished = Some("it holds more commands in commands than are looked at");
        }
        self.text <= MOST_TEXT
    }

    /// Takes in commands and what they start; the texts that they may run as scripts are still to be read.
    fn look(&mut self, commands: &[ShellCommand]) -> Vec<String> {
        // Those that stand there plainly come first, so that no other can take their room.
        let opened: Vec<Vec<Word>> = commands.iter().map(|command| self.opened(command)).collect();
        for (command, words) in commands.iter().zip(&opened) {
            self.redirects.extend(command.redirects.iter().cloned());
            self.take(words);
        }
        let mut scripts = vec![];
        let fed = commands.iter().any(|command| command.joint == Joint::Pipe && has_shell(&command.words));
        for (command, words) in commands.iter().zip(&opened) {
            let first = words.first().map_or("", |word| name_of(&word.text));
            if fed && matches!(first, "echo" | "printf") {
                scripts.push(text(&words[1..]));
            }
            if has_shell(words) {
                scripts.extend(command.redirects.iter().filter_map(Redirect::given).map(str::to_owned));
            }
            for (at, start) in starts(words).into_iter().enumerate() {
                if at > 0 && !self.take(&words[start..]) {
                    break;
                }
                scripts.extend(scripts_of(&words[start..]));
            }
        }
        scripts
    }

    fn take(&mut self, words: &[Word]) -> bool {
        let room = !words.is_empty() && self.has_room_for(words.iter().map(|word| word.raw.len() + 1).sum());
        if room {
            self.commands.push(words.to_vec());
        }
        room
    }

    /// The words of a command, with `{a,b}` as the words it makes.
    fn opened(&mut self, command: &ShellCommand) -> Vec<Word> {
        let mut words = vec![];
        for word in &command.words {
            if word.is_literal {
                words.push(word.clone());
                continue;
            }
            let (made, all) = word.unbraced();
            if !all {
                self.unfinished = Some("braces make more words than are looked at");
            }
            if made.len() == 1 {
                words.push(word.clone());
            } else {
                words.extend(made.into_iter().map(|text| Word { raw: text.clone(), text, ..word.clone() }));
            }
        }
        words
    }
}

fn has_shell(words: &[Word]) -> bool {
    words.iter().any(|word| is_shell(&word.text))
}

/// Where in the words a command may begin: at their beginning, and behind each program that starts another.
fn starts(words: &[Word]) -> BTreeSet<usize> {
    let mut starts = BTreeSet::new();
    let mut todo = vec![0];
    while let Some(start) = todo.pop() {
        let Some(first) = words.get(start) else { continue };
        if !starts.insert(start) {
            continue;
        }
        let name = name_of(&first.text);
        let rest = words.iter().enumerate().skip(start + 1);
        if name == "find" {
            let executes = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            todo.extend(rest.clone().filter(|(_, word)| executes(word)).map(|(at, _)| at + 1));
        }
        if BEFORE_ANOTHER.contains(&name) {
            // Behind flags and what may belong to them.
            let mut after_flag = true;
            for (at, word) in rest {
                if !word.is_flag() && !word.text.contains('=') {
                    todo.push(at);
                    if !after_flag && !word.text.starts_with(|c: char| c.is_ascii_digit()) {
                        break;
                    }
                }
                after_flag = word.is_flag();
            }
        }
    }
    starts
}

/// What a command may run as a script: `sh -c '…'`, `eval …`, and words with blanks behind what starts others.
fn scripts_of(words: &[Word]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    if name == "eval" {
        return vec![text(rest)];
    }
    let mut scripts = vec![];
    if is_shell(name) {
        let has_c = |word: &Word| word.is_flag() && !word.text.starts_with("--") && word.text.contains('c');
        let behind = rest.iter().skip_while(|word| !has_c(word)).skip(1);
        scripts.extend(behind.filter(|word| !word.is_flag()).map(|word| word.text.clone()).next());
    }
    if is_shell(name) || BEFORE_ANOTHER.contains(&name) || matches!(name, "trap" | "alias") {
        for word in rest.iter().filter(|word| word.text.contains([' ', '\t', '\n', ';'])) {
            // `--split-string=…` and `-S…` as well.
            let value = word.text.split_once('=').map(|(_, value)| value);
            let glued = word.text.get(2..).filter(|_| word.is_flag());
            scripts.extend([Some(word.text.as_str()), value, glued].into_iter().flatten().map(str::to_owned));
        }
    }
    scripts
}
