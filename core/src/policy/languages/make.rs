//! Makefiles that stand in a line: by `--eval`, or from the input. What their variables make of a recipe is not worked out.

use super::super::shell::{Piece, ShellWord};
use super::input::is_input;
use super::{Meaning, ProgramInput, values};
use crate::policy::words::options;

/// What gives a name or a line another meaning.
const CHANGES: [&str; 6] = ["SHELL", "define", "RECIPEPREFIX", "ONESHELL", "load ", "guile"];

pub(super) fn meaning(rest: &[ShellWord], input: &ProgramInput) -> Meaning {
    let mut texts: Vec<String> = values(rest, "E", &["--eval"]).into_iter().map(str::to_owned).collect();
    let is_fed = |word: &ShellWord| {
        let glued = options::value(&word.text, "f", &["--file", "--makefile"]);
        is_input(&word.text) || glued.is_some_and(is_input)
    };
    if rest.iter().any(is_fed) {
        let Some(given) = input.texts() else { return Meaning::unclear() };
        texts.extend(given);
    }
    let is_changed = |word: &ShellWord| {
        let shell =
            word.text.strip_prefix("SHELL=").map(|shell| matches!(shell, "/bin/sh" | "/bin/bash" | "sh" | "bash"));
        shell == Some(false) || word.text.starts_with(".SHELLFLAGS")
    };
    // A makefile, or a line of one, that another program prints.
    let is_given = |(at, word): (usize, &ShellWord)| {
        let is_eval = |text: &str| text.starts_with("--ev") || text.starts_with("-E");
        let is_line = is_eval(&word.text) || at > 0 && is_eval(&rest[at - 1].text);
        let is_file = |text: &str| matches!(text, "-f" | "--file" | "--makefile");
        let is_any = word.pieces.iter().all(|piece| *piece == Piece::Unknown) && !word.pieces.is_empty();
        word.is_made_file()
            || is_line && word.pieces.contains(&Piece::Unknown)
            || is_any && at > 0 && is_file(&rest[at - 1].text)
    };
    let is_unclear = !texts.is_empty() && rest.iter().any(is_changed) || rest.iter().enumerate().any(is_given);
    let mut meaning = Meaning { is_unclear, ..Meaning::default() };
    texts.iter().for_each(|text| read(text, &mut meaning));
    meaning
}

fn read(text: &str, meaning: &mut Meaning) {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        plain += before;
        if let Some(shell) = behind.strip_prefix("(shell ").and_then(|shell| shell.split_once(')')) {
            meaning.run(shell.0);
            meaning.is_unclear |= shell.0.contains(['$', '(']);
            rest = shell.1;
            continue;
        }
        // `$$` is a dollar for the shell, and these are the names of what is built.
        let Some(next) = behind.chars().next() else { break };
        match next {
            '$' => plain.push('$'),
            '@' | '<' | '^' | '*' | '?' | '+' => plain.push('x'),
            _ => meaning.is_unclear = true,
        }
        rest = &behind[next.len_utf8()..];
    }
    plain += rest;
    meaning.is_unclear |= CHANGES.iter().any(|word| plain.contains(word));
    for line in plain.lines() {
        let recipe = match line.strip_prefix('\t') {
            Some(recipe) => Some(recipe),
            None => line.split_once("!=").or_else(|| line.split_once(';')).map(|(_, recipe)| recipe),
        };
        if let Some(recipe) = recipe {
            meaning.run(recipe.trim_start_matches([' ', '\t', '@', '-', '+']));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_a_line_for_a_shell_unless_it_is_put_together() {
        let of = |text: &str| {
            let mut meaning = Meaning::default();
            read(text, &mut meaning);
            meaning
        };
        assert_eq!(of("all: ; @ls x").lines, ["ls x"]);
        assert_eq!(of("all:\n\t-cc -o $@ $<").lines, ["cc -o x x"]);
        assert_eq!(of("x := $(shell date)").lines, ["date"]);
        for text in ["a:;$Xm x", "a:;$(X)m x", "$(shell $X y)", "SHELL=x", "$(eval x)"] {
            assert!(of(text).is_unclear, "{text}");
        }
    }
}
