//! What `read`, `mapfile` and `readarray` make of texts that stand in the line.

use crate::policy::commands::command::{in_this_shell, name_of};
use crate::policy::lines::suspects::Found;
use crate::policy::names::printing::with_blanks;
use crate::policy::shell::{ANY, ShellWord, Way};
use crate::policy::words::values::{MOST, Variables};

/// Longer texts are not taken apart for what `read` makes of them.
const LONGEST_TEXT: usize = 4_096;

impl Variables {
    /// `read X` and `mapfile X`: of what they are given, [`Self::learn_read`] knows more.
    pub(crate) fn fill_in(&mut self, builtin: &str, rest: &[ShellWord]) {
        for word in filled_names(builtin, rest) {
            if word.is_known() {
                self.forget_named(&word);
            } else {
                self.sets_any = true;
            }
        }
    }

    /// Takes in what `read` and its like may make of texts that stand in the line.
    pub(crate) fn learn_read(&mut self, command: &Found, texts: &[String]) {
        let Some((first, rest)) = in_this_shell(&command.words).split_first() else { return };
        let builtin = first.text.as_str();
        if !matches!(builtin, "read" | "mapfile" | "readarray") || texts.is_empty() {
            return;
        }
        let cuts = if builtin == "read" { ['d', 'n', 'N', 'i'].as_slice() } else { ['d', 'C'].as_slice() };
        let is_cut = rest.iter().any(|word| word.is_flag() && word.text.contains(cuts));
        let separators = command.assignments.iter().find(|(name, _)| name == "IFS").map(|(_, value)| value);
        let is_odd = is_cut || separators.is_some_and(|value| !value.is_known());
        let separators = separators.map_or(String::new(), |value| value.text.clone());
        let is_end = |c: char| c.is_whitespace() || separators.contains(c);
        let mut values = vec![];
        for text in texts.iter().filter(|_| !is_odd) {
            if text.len() > LONGEST_TEXT {
                values.push(ANY.to_string());
                continue;
            }
            for shape in self.values_of(&ShellWord::read(text)) {
                for line in shape.lines().map(str::trim) {
                    values.push(line.to_owned());
                    let starts = line.char_indices().filter(|(_, c)| is_end(*c)).map(|(at, c)| at + c.len_utf8());
                    values.extend(starts.map(|at| line[at..].trim().to_owned()));
                    values.extend(line.split(is_end).map(str::to_owned));
                }
            }
        }
        values.extend(values.clone().iter().filter(|value| value.contains('\\')).map(|value| value.replace('\\', "")));
        values.sort();
        values.dedup();
        for word in filled_names(builtin, rest) {
            if !word.is_known() {
                self.has_references = true;
            } else if is_odd || values.len() > MOST {
                self.unfollowed.insert(word.text.clone());
            } else {
                self.filled.insert(word.text.clone());
                self.add_values(&word.text, values.clone());
            }
        }
    }
}

/// The names that `read` and its like fill in.
pub(super) fn filled_names(builtin: &str, rest: &[ShellWord]) -> Vec<ShellWord> {
    let with_a_value = if builtin == "read" { "dinNptua" } else { "dnOsucC" };
    let mut names = vec![];
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        if !word.is_flag() {
            names.push(word.clone());
            continue;
        }
        // The value of the last letter is the next word; that of `-a` is a name.
        let is_name = builtin == "read" && word.text.ends_with('a');
        if word.text.ends_with(|c| with_a_value.contains(c)) {
            let value = rest.next().filter(|_| is_name);
            names.extend(value.cloned());
        }
    }
    if names.is_empty() {
        names.push(ShellWord::plain(if builtin == "read" { "REPLY" } else { "MAPFILE" }));
    }
    names
}

/// The texts in a line that `read` may get: what commands are given, and what they print as it stands.
pub(crate) fn texts_to_read(found: &[Found]) -> Vec<String> {
    let prints =
        |command: &&Found| command.words.first().is_some_and(|word| matches!(name_of(&word.text), "echo" | "printf"));
    let printed = found.iter().filter(prints).flat_map(|command| {
        let words: Vec<String> = command.words[1..].iter().map(ShellWord::script).collect();
        let parted: Vec<String> = words.iter().map(|word| with_blanks(word).replace(' ', "\n")).collect();
        [vec![words.join(" ")], words, parted].concat()
    });
    // As it is written, with what stands there in the place of a name that is not set.
    let redirects = found.iter().flat_map(|command| &command.redirects);
    let written = redirects.filter(|redirect| redirect.way == Way::Given).map(|redirect| &redirect.target.raw);
    let written = written.filter(|raw| raw.contains("${")).map(|raw| raw.trim_matches('"').to_owned());
    let given = found.iter().flat_map(|command| command.given.iter().cloned());
    let mut texts: Vec<String> = given.chain(written).chain(printed).collect();
    texts.sort();
    texts.dedup();
    texts
}
