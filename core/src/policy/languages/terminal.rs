//! Terminals that other programs run in: what is typed into one is a line for its shell.

use super::super::shell::ShellWord;
use super::Meaning;
use crate::policy::commands::command::name_of;
use crate::policy::lines::suspects::Found;

/// Commands of tmux that start nothing, by their whole names.
const QUIET: &str = "attach attach-session a at capture-pane capturep choose-tree clear-history clearhist copy-mode delete-buffer \
    detach detach-client has has-session has-s kill-pane killp kill-server kill-session kill-window killw last-window \
    list-buffers list-clients list-commands list-keys list-panes list-sessions list-windows ls lsb lsc lsk lsp lsw lock move-pane \
    move-window next-window previous-window refresh rename rename-session rename-window renamew resize-pane resizep resize-window \
    rotate-window save-buffer select-layout select-pane select-window selectl selectp selectw show show-buffer show-options \
    show-environment showb showenv start start-server suspend-client swap-pane swap-window switch-client wait-for";
/// Those that start the line behind their options.
const STARTING: &str = "new new-session new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw \
    run run-shell display-popup popup";
/// Keys that leave nothing behind on the line.
const CLEARING: [&str; 8] = ["C-c", "C-d", "C-l", "C-u", "C-z", "Escape", "q", "Q"];

/// Whether tmux takes orders from its input.
pub(super) fn is_controlled(rest: &[ShellWord]) -> bool {
    let mut options = rest.iter().take_while(|word| word.text.starts_with('-'));
    options.any(|word| !word.text.starts_with("--") && word.text.contains('C'))
}

/// What tmux is told: what it starts, and what it types.
pub(super) fn tmux(rest: &[ShellWord], all: &[Found]) -> Meaning {
    let mut meaning = Meaning::default();
    let mut words = rest;
    while let [flag, behind @ ..] = words {
        match flag.text.as_str() {
            "-L" | "-S" | "-c" | "-T" => {
                meaning.is_unclear |= flag.text == "-c";
                words = behind.get(1..).unwrap_or_default();
            }
            // A configuration is a file of commands.
            "-f" => {
                meaning.is_unclear |= !behind.first().is_some_and(|file| file.is_literal && file.text == "/dev/null");
                words = behind.get(1..).unwrap_or_default();
            }
            text if text.starts_with('-') && text.chars().skip(1).all(|c| "2CDNluvV".contains(c)) => words = behind,
            _ => break,
        }
    }
    let commands: Vec<&[ShellWord]> = words.split(|word| word.text == ";").collect();
    let types =
        |words: &[ShellWord]| words.first().is_some_and(|word| matches!(word.text.as_str(), "send" | "send-keys"));
    for command in &commands {
        let Some((name, words)) = command.split_first() else { continue };
        let has_format = words.iter().any(|word| word.text.contains("#("));
        match name.text.as_str() {
            "send" | "send-keys" => typed(words, &mut meaning),
            name if QUIET.split_whitespace().any(|quiet| quiet == name) => meaning.is_unclear |= has_format,
            name if STARTING.split_whitespace().any(|starting| starting == name) => {
                meaning.is_unclear |= has_format;
                started(words, &mut meaning);
            }
            "display" | "display-message" => meaning.is_unclear |= has_format,
            "set" | "set-option" | "setw" | "set-window-option" => {
                let names_a_line =
                    |word: &ShellWord| ["command", "shell", "hook", "editor"].iter().any(|it| word.text.contains(it));
                meaning.is_unclear |= has_format || words.iter().any(names_a_line);
            }
            _ => meaning.is_unclear = true,
        }
    }
    // What is typed in two parts is one line.
    let typing = all.iter().filter(|command| command.words.first().is_some_and(|word| name_of(&word.text) == "tmux"));
    let parts = typing.filter(|command| command.words.iter().any(|word| types(std::slice::from_ref(word)))).count();
    let parts = parts.max(commands.iter().filter(|command| types(command)).count());
    meaning.is_unclear |=
        parts > 1 && !meaning.lines.is_empty() && meaning.lines.iter().any(|line| line.contains('\n'));
    meaning
}

/// The keys that are typed: words as they stand, with an Enter behind them. What is not ended may be gone on with.
fn typed(words: &[ShellWord], meaning: &mut Meaning) {
    let mut keys = vec![];
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-t" | "-N" | "-c" => drop(rest.next()),
            text if text.starts_with("-t") => {}
            text if keys.is_empty() && text.len() > 1 && text.starts_with('-') => {
                // Letters by their numbers, and what others typed.
                meaning.is_unclear |= text.contains(['H', 'M', 'X', 'F', 'K']);
            }
            _ => keys.push(word),
        }
    }
    let is_key = |text: &str| {
        let is_special = |it: &str| text.starts_with(it) && text.len() > it.len();
        ["C-", "M-", "S-", "0x", "F1", "KP"].iter().any(|it| is_special(it))
            || matches!(
                text,
                "Space" | "Tab" | "BSpace" | "Up" | "Down" | "Left" | "Right" | "Home" | "End" | "DC" | "IC"
            )
    };
    let mut line = String::new();
    for key in keys {
        match key.text.as_str() {
            text if CLEARING.contains(&text) && line.is_empty() => {}
            "Enter" | "C-m" | "C-j" => {
                meaning.run(&line);
                line.clear();
            }
            "Space" => line.push(' '),
            text if is_key(text) || !key.stands_as_it_is() => meaning.is_unclear = true,
            text => line.push_str(text),
        }
    }
    meaning.is_unclear |= !line.is_empty();
}

/// What stands behind the options of a command that starts a line.
fn started(words: &[ShellWord], meaning: &mut Meaning) {
    let mut rest = words;
    while let [flag, behind @ ..] = rest {
        if !flag.is_flag() {
            break;
        }
        let takes_a_word = flag.text.len() == 2 && "tncsxyFelpwhEST".contains(&flag.text[1..]);
        rest = if takes_a_word { behind.get(1..).unwrap_or_default() } else { behind };
    }
    let line: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    meaning.is_unclear |= rest.iter().any(|word| !word.is_known());
    meaning.run(&line.join(" "));
}

/// What screen is told. What it starts is behind its options, as with other programs that start one.
pub(super) fn screen(rest: &[ShellWord]) -> Meaning {
    let Some(at) = rest.iter().position(|word| word.text == "-X") else { return Meaning::default() };
    let is_quiet =
        rest.get(at + 1).is_some_and(|word| matches!(word.text.as_str(), "quit" | "kill" | "hardcopy" | "select"));
    Meaning { is_unclear: !is_quiet, ..Meaning::default() }
}

#[cfg(test)]
mod tests {
    use super::super::super::shell::Script;
    use super::*;

    #[test]
    fn what_is_typed_is_a_line_if_it_is_all_of_one() {
        let of = |line: &str| tmux(&Script::read(line).commands[0].words[1..], &[]);
        assert_eq!(of("tmux send-keys -t x 'npm run dev' Enter").lines, ["npm run dev"]);
        assert_eq!(of("tmux new-session -d -s x 'npm start'").lines, ["npm start"]);
        for line in
            ["tmux ls", "tmux kill-session -t x", "tmux send-keys -t x C-c", "tmux capture-pane -t x -p", "tmux"]
        {
            assert_eq!(of(line), Meaning::default(), "{line}");
        }
        for line in [
            "tmux send-keys -t x r",
            "tmux send-keys 0x72 m Enter",
            "tmux send-keys -H 72 6d",
            "tmux send-keys Up x Enter",
            "tmux if-shell x y",
            "tmux ls -F '#(x)'",
            "tmux source-file x",
            "tmux new -d sh \\; send-keys -l r \\; send-keys -l m",
        ] {
            assert!(of(line).is_unclear, "{line}");
        }
    }
}
