//! Programs of a line whose names are not certain: by a variable, by a pattern, or in a text that something may run.

use super::code;
use super::receivers;
use crate::policy::commands::awk;
use crate::policy::commands::command::name_of;
use crate::policy::commands::sed;
use crate::policy::lines::starts::{WITH_A_WORD, starts};
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::{ANY, Piece, ShellWord};
use crate::policy::words::values::is_literal;

impl Suspects {
    /// Notes the programs whose names are not certain. What the line sets must be known before.
    pub(crate) fn name_programs(&mut self) {
        self.variables_in_texts = self.variables.clone();
        for command in std::mem::take(&mut self.found) {
            for start in starts(&command.words) {
                self.program(&command.words, start);
                let scripts = receivers::scripts_named(&command.words, start, &self.variables);
                self.programs.extend(scripts.into_iter().filter(|shape| !is_literal(shape)));
            }
            let quoted = code::commands(&command, &mut self.variables_in_texts);
            self.programs.extend(code::programs(&quoted, &self.variables_in_texts));
            self.quoted.extend(quoted);
            self.found.push(command);
        }
    }

    /// Notes the program of a command where its name is not certain.
    fn program(&mut self, words: &[ShellWord], start: usize) {
        let Some(word) = words.get(start) else { return };
        // What is put in the place of {} is a name from elsewhere.
        let replaced = |word: &ShellWord| start > 0 && word.text.contains("{}");
        if replaced(word) {
            self.unseen = Some("which program it starts is not said");
            return;
        }
        let first = words.first().map_or("", |word| name_of(&word.text));
        let is_own = start > 0 && WITH_A_WORD.contains(&first) && words[1..start].iter().all(ShellWord::is_flag);
        let shapes = |word: &ShellWord| self.variables.shapes(word);
        let evaluated = name_of(&word.text) == "eval"
            && words[start + 1..].iter().flat_map(shapes).any(|shape| shape.contains(ANY));
        let rest = &words[start + 1..];
        let is_any = |shape: &String| awk::may_begin_with_any(awk::behind_option(shape));
        let is_made = match name_of(&word.text) {
            name if awk::is_awk(name) => awk::codes(rest).into_iter().any(|code| shapes(code).iter().any(is_any)),
            "sed" | "gsed" => sed::may_run_any(rest, &self.variables),
            _ => false,
        };
        if evaluated || is_made {
            self.unseen = Some("it runs a text that nobody can read here");
        }
        if is_own || word.is_literal {
            return;
        }
        // The name of a folder that the line itself may have made.
        let is_folder = |piece: &Piece| matches!(piece, Piece::MadeOf(name, _) if matches!(name.as_str(), "PWD" | "OLDPWD" | "DIRSTACK"));
        if word.pieces.iter().any(is_folder) {
            self.unseen = Some("which program it starts is not certain");
        }
        for shape in self.variables.spellings(word) {
            let name = shape.trim_start().split([' ', '\t', '\n']).next().unwrap_or_default();
            let name = name_of(name);
            // What a command prints may be a program with words of its own.
            let splits = !word.is_quoted && word.pieces.contains(&Piece::Unknown);
            if !is_literal(name) || shape != word.text {
                let name = if splits { ANY.to_string() } else { name.to_owned() };
                if name == ANY.to_string() {
                    self.unseen = Some("which program it starts is not certain");
                }
                self.programs.push(name);
            }
        }
    }
}
