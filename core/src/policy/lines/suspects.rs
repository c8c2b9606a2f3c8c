//! Every command that a line may run: its own, those they start, and those in quotes for something to run. Too many
//! rather than too few, since this is for finding what is to be denied; and where it would be too much, it says so.

use std::collections::{BTreeMap, BTreeSet};

use super::conditions::parted;
use super::perhaps::Flow;
use super::shifting::shifts;
use super::starts::{scripts_of, starts, starts_behind_unknown, takes_from_elsewhere};
use crate::policy::commands::client::another_agent;
use crate::policy::commands::command::in_this_shell;
use crate::policy::commands::inert::is_inert;
use crate::policy::languages;
use crate::policy::shell::{
    Joint, Piece, Redirect, Script, SessionShell, ShellCommand, ShellWord, Way, assignment, doubt,
};
use crate::policy::texts::dialects::{changes_shell, may_start_another, read_otherwise};
use crate::policy::texts::feeding;
use crate::policy::texts::receivers;
use crate::policy::texts::reckoning::runs_unknown;
use crate::policy::texts::set_by_read::texts_to_read;
use crate::policy::texts::zsh_words::own_to_zsh;
use crate::policy::words::values::Variables;

/// How deep a script in quotes is looked for in a script in quotes.
const DEEPEST: usize = 4;

/// How often what names stand for is looked at again, before it may be anything.
const ROUNDS: usize = 6;

/// How much text all suspects together may have: what one line can make us look at, for each rule.
const MOST_TEXT: usize = 60_000;

/// A command that may run.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) words: Vec<ShellWord>,
    /// More words come from elsewhere.
    pub(crate) takes_more: bool,
    /// It stands behind a program that is not known to start it.
    pub(crate) is_behind_unknown: bool,
}

/// A command as it stands in the line, or in a script in it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// With `{a,b}` as the words it makes.
    pub(crate) words: Vec<ShellWord>,
    pub(crate) assignments: Vec<(String, ShellWord)>,
    pub(crate) redirects: Vec<Redirect>,
    /// The texts that are its input.
    pub(crate) given: Vec<String>,
    pub(crate) joint: Joint,
    pub(crate) is_nested: bool,
    /// It may be one of a group, with the input of the group.
    pub(crate) is_grouped: bool,
    /// It may be run more than once.
    pub(crate) is_repeated: bool,
    /// It stands in a text of which nobody knows whether something runs it.
    pub(crate) is_in_text: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    pub(crate) commands: Vec<Suspect>,
    pub(crate) found: Vec<Found>,
    pub(crate) variables: Variables,
    /// The names of programs that are not certain, as shapes.
    pub(crate) programs: Vec<String>,
    /// Commands in texts that something may run, as far as they are not certain.
    pub(crate) quoted: Vec<Vec<ShellWord>>,
    /// What names may stand for there.
    pub(crate) variables_in_texts: Variables,
    /// Why something may be run that does not stand in the line, for rules on commands.
    pub(crate) computed: Option<&'static str>,
    /// Why something may be run that nobody can read here.
    pub(crate) unseen: Option<&'static str>,
    /// Something in it may be taken for text that is a command.
    pub(crate) is_unsure: bool,
    /// Why there may be more than were looked at.
    pub(crate) unfinished: Option<&'static str>,
    pub(crate) flow: Flow,
    /// Texts that a shell may reckon with.
    pub(crate) reckoned: Vec<String>,
    /// The first of the commands are those that stand in the line itself, in their order: this many.
    pub(crate) plain: usize,
    /// Behind them are those that they start, up to here.
    pub(crate) in_line: usize,
    /// What is told to other machines is left out.
    pub(super) is_of_here: bool,
    /// Which shell runs the line. Texts in it are read as by that shell as well.
    shell: SessionShell,
    /// The names of functions that it defines.
    functions: BTreeSet<String>,
    text: usize,
    /// Scripts in quotes that were read.
    scripts: BTreeSet<String>,
    /// What is the input of such scripts, where it stands in the line or comes from another program.
    fed: BTreeMap<String, languages::HandedOn>,
}

impl Suspects {
    pub(crate) fn of(script: &Script) -> Self {
        Self::read_from(script, false)
    }

    pub(super) fn read_from(script: &Script, is_of_here: bool) -> Self {
        let mut suspects = Self { is_of_here, shell: script.shell, ..Self::default() };
        let mut scripts = suspects.look(&parted(script));
        suspects.plain = suspects.found.iter().filter(|command| !command.words.is_empty()).count();
        suspects.in_line = suspects.commands.len();
        for _ in 0..DEEPEST {
            let mut next = vec![];
            for script in scripts {
                next.extend(suspects.read(&script));
            }
            scripts = next;
        }
        if scripts.iter().any(|script| !suspects.scripts.contains(script)) {
            suspects.unfinished = Some("scripts in quotes are nested too deep");
        }
        suspects.learn_all();
        let filled = suspects.filled_scripts();
        if !filled.is_empty() {
            filled.iter().for_each(|script| drop(suspects.read(script)));
            suspects.learn_all();
        }
        suspects.fill_in();
        suspects.name_programs();
        suspects.unseen = suspects.unseen.or(shifts(&suspects.found)).or(changes_shell(&suspects.found));
        suspects.unseen = suspects.unseen.or_else(|| runs_unknown(&suspects));
        if script.shell == SessionShell::MayBeZsh {
            let plain = &suspects.found[..script.commands.len().min(suspects.found.len())];
            suspects.unseen = suspects.unseen.or(own_to_zsh(plain, &suspects.variables));
        }
        if suspects.is_unsure {
            suspects.unseen = suspects.unseen.or(may_start_another(&suspects.found));
        }
        suspects.computed = receivers::computed(&suspects);
        suspects.flow = Flow::of(&suspects);
        suspects
    }

    pub(crate) fn read(&mut self, script: &str) -> Vec<String> {
        if !self.scripts.insert(script.to_owned()) || !self.has_room_for(script.len()) {
            return vec![];
        }
        let input = self.fed.get(script).cloned();
        let mut script = Script::read_in(script, self.shell);
        if let Some(input) = input {
            input.open_for(&mut script);
        }
        if !script.is_readable() {
            if script.commands.is_empty() {
                self.unfinished = Some("a script in quotes cannot be read");
            }
            self.is_unsure = true;
            let hides = |why: &&'static str| [doubt::SPLIT, doubt::EXTENDED, doubt::STACK, doubt::CASE].contains(why);
            self.unseen = self.unseen.or(script.doubts.iter().copied().find(hides));
        }
        self.look(&script)
    }

    fn has_room_for(&mut self, more: usize) -> bool {
        self.text += more;
        if self.text > MOST_TEXT {
            self.unfinished = Some("it holds more commands in commands than are looked at");
        }
        self.text <= MOST_TEXT
    }

    /// Takes in commands and what they start; the texts that they may run as scripts are still to be read.
    fn look(&mut self, script: &Script) -> Vec<String> {
        let script = &self.told_here(script);
        self.is_unsure |= script.is_unsure;
        self.reckoned.extend(script.reckoned.iter().cloned());
        self.functions.extend(script.functions.iter().cloned());
        script.commands.iter().for_each(|command| self.variables.learn(&command.assignments, &command.words));
        // Those that stand there plainly come first, so that no other can take their room.
        let found: Vec<Found> = script.commands.iter().map(|command| self.opened(command, script)).collect();
        for command in &found {
            self.take(&command.words, false);
        }
        let mut scripts = feeding::scripts(&found);
        scripts.extend(reckoned(&found));
        for command in &found {
            scripts.extend(self.start(command, &found));
        }
        self.found.extend(found);
        scripts
    }

    /// Takes in what a command starts, and says which texts it may run.
    pub(crate) fn start(&mut self, command: &Found, all: &[Found]) -> Vec<String> {
        let mut scripts = vec![];
        let behind_unknown = starts_behind_unknown(&command.words);
        for start in starts(&command.words) {
            let words = &command.words[start..];
            let takes_more = command.words[..start].iter().any(takes_from_elsewhere);
            if start > 0 && !self.take(words, takes_more) {
                break;
            }
            if let Some(suspect) = self.commands.last_mut().filter(|_| behind_unknown.contains(&start)) {
                suspect.is_behind_unknown = true;
            }
            self.unseen = self.unseen.or(feeding::unseen(words, command, all));
            self.unseen = self.unseen.or(read_otherwise(words, command, all));
            self.unseen = self.unseen.or(another_agent(words));
            let from = scripts.len();
            scripts.extend(scripts_of(words));
            let meaning = languages::meaning(words, command, all);
            let unclear =
                meaning.is_unclear.then_some("it has a text in another language, and what that runs cannot be told");
            self.unseen = self.unseen.or(unclear);
            scripts.extend(meaning.lines);
            self.feed(&scripts[from..], command, all);
        }
        scripts
    }

    /// Notes what the commands of scripts find as their input. A script that was read without it is read again.
    fn feed(&mut self, scripts: &[String], command: &Found, all: &[Found]) {
        if scripts.is_empty() {
            return;
        }
        let Some(input) = languages::handed_on(command, all) else { return };
        for script in scripts {
            if self.fed.insert(script.clone(), input.clone()).is_none() {
                self.scripts.remove(script);
            }
        }
    }

    /// Learns what names stand for wherever they are set: a loop goes round, and a function is called later than it stands.
    fn learn_all(&mut self) {
        let texts = texts_to_read(&self.found);
        let mut before = Variables::default();
        for round in 0..ROUNDS {
            before = self.variables.clone();
            self.found.iter().for_each(|command| self.variables.learn_read(command, &texts));
            for command in &self.found {
                let Some((first, rest)) = in_this_shell(&command.words).split_first() else { continue };
                if self.functions.contains(&first.text) {
                    self.variables.learn_words(rest);
                } else if first.text == "set" {
                    // Options stand before the words, and `-` or `--` between them.
                    let is_option = |word: &&ShellWord| word.is_known() && word.text.starts_with(['-', '+']);
                    let is_end = |word: &ShellWord| matches!(word.text.as_str(), "-" | "--");
                    let end = rest.iter().position(is_end).map(|at| at + 1);
                    let options = rest.iter().take_while(is_option).count();
                    let words = end.filter(|end| *end <= options).unwrap_or(options);
                    self.variables.learn_words(&rest[words..]);
                }
            }
            for command in &self.found {
                // What is added to itself grows only where it is done again.
                let grows = |(name, value): &(String, ShellWord)| value.pieces.contains(&Piece::Variable(name.clone()));
                let grown = |word: &ShellWord| assignment(word).is_some_and(|one| grows(&one));
                if round == 0
                    || command.is_repeated
                    || !command.assignments.iter().any(grows) && !command.words.iter().any(grown)
                {
                    self.variables.learn(&command.assignments, &command.words);
                }
            }
            if self.variables == before {
                return;
            }
        }
        self.variables.forget_changed(&before);
    }

    pub(crate) fn take(&mut self, words: &[ShellWord], takes_more: bool) -> bool {
        let room = !words.is_empty() && self.has_room_for(words.iter().map(|word| word.raw.len() + 1).sum());
        if room {
            self.commands.push(Suspect { words: words.to_vec(), takes_more, is_behind_unknown: false });
        }
        room
    }

    /// A command with `{a,b}` as the words it makes.
    pub(crate) fn opened(&mut self, command: &ShellCommand, script: &Script) -> Found {
        let mut open = |word: &ShellWord| {
            let (made, all) = word.opened();
            if !all {
                self.unfinished = Some("braces make more words than are looked at");
            }
            made
        };
        let words = command.words.iter().flat_map(&mut open).collect();
        // bash refuses several names there, and zsh takes all of them.
        let redirects = command.redirects.iter().flat_map(|redirect| {
            let names = if redirect.way == Way::Given { vec![redirect.target.clone()] } else { open(&redirect.target) };
            names.into_iter().map(move |target| Redirect { target, ..redirect.clone() })
        });
        let redirects = redirects.collect();
        let texts = command.heredocs.iter().filter_map(|place| script.texts.get(*place).cloned());
        let given = texts.chain(command.redirects.iter().filter_map(Redirect::given)).collect();
        Found {
            words,
            assignments: command.assignments.clone(),
            redirects,
            given,
            joint: command.joint,
            is_nested: command.is_nested,
            is_grouped: script.has_groups,
            is_repeated: script.repeats,
            is_in_text: false,
        }
    }
}

/// Commands in quotes that are run where the text around them is reckoned, as in `test -v 'a[$(x)]'`.
fn reckoned(found: &[Found]) -> Vec<String> {
    let mut scripts = vec![];
    for command in found {
        let words = command.words.iter().filter(|_| !is_inert(&command.words));
        let values = command.assignments.iter().map(|(_, value)| value);
        for word in words.chain(values) {
            let text = word.script();
            if text.contains("$(") || text.contains('`') {
                scripts.push(format!(": \"{}\"", text.replace('"', "")));
            }
        }
    }
    scripts
}
