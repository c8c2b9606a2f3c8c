//! Commands in texts that a program may run: recipes of make, orders to an editor, what a variable or an option says.
//!
//! Their files count as those of the line's own commands do. A text that is no script costs nothing but a look: words of
//! code in another language become names of files that are not there.

use super::code::runs_its_words;
use super::environment::is_command;
use super::shell::{Piece, Script, ShellWord};
use super::starts::starts;
use super::suspects::{Found, Suspect, Suspects};

/// How deep a text is looked for in a text, how many there may be, and how long all of them together.
const DEEPEST: usize = 3;
const MOST: usize = 64;
const LONGEST: usize = 20_000;

/// What makes a text more than a name.
const CODE: [char; 13] = [' ', '\t', '\n', '<', '>', '|', '&', ';', '!', '$', '`', '*', '?'];

impl Suspects {
    /// The same with the commands in texts, for whoever looks for files.
    pub(crate) fn with_texts(&self) -> Self {
        let mut wide = self.clone();
        let mut seen = vec![];
        let mut texts: Vec<String> = self.found.iter().flat_map(texts_of).collect();
        for _ in 0..DEEPEST {
            let mut next = vec![];
            for text in texts.iter().flat_map(|text| beginnings(text)) {
                let length: usize = seen.iter().map(String::len).sum();
                if seen.len() >= MOST || length + text.len() > LONGEST || seen.contains(&text) {
                    continue;
                }
                let found = wide.found_in(&text);
                next.extend(found.iter().flat_map(texts_of));
                for command in &found {
                    let starts = starts(&command.words).into_iter().map(|start| command.words[start..].to_vec());
                    wide.commands.extend(starts.map(|words| Suspect { words, takes_more: false }));
                }
                wide.found.extend(found);
                seen.push(text);
            }
            texts = next;
        }
        wide
    }

    fn found_in(&mut self, text: &str) -> Vec<Found> {
        let script = Script::read(text);
        let commands = script.commands.iter();
        commands.map(|command| Found { is_nested: true, ..self.opened(command, &script) }).collect()
    }
}

/// The texts that a command may run, or hand to something that does.
fn texts_of(command: &Found) -> Vec<String> {
    let words = command.words.iter().skip(1).filter(|_| runs_its_words(command));
    let set = command.assignments.iter().filter(|(name, _)| is_command(name)).map(|(_, value)| value);
    let given = command.given.iter().filter(|_| runs_its_words(command)).cloned();
    // What the shell fills in is for others to judge: here it is what stands there in quotes.
    let is_quoted = |word: &&ShellWord| word.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    let is_code = |text: &String| text.contains(CODE);
    words.chain(set).filter(is_quoted).map(ShellWord::script).chain(given).filter(is_code).collect()
}

/// A text, and what follows where it changes the folder, whatever stands before.
fn beginnings(text: &str) -> Vec<String> {
    let text = text.replace("$$", "$");
    let moves = ["cd ", "pushd "].into_iter().flat_map(|order| text.match_indices(order).map(|(at, _)| at));
    let mut texts: Vec<String> = moves.filter(|at| *at > 0).take(4).map(|at| text[at..].to_owned()).collect();
    texts.push(text);
    texts
}
