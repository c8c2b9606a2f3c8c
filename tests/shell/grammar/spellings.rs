//! Other ways to write one word of a command, and words that come from elsewhere in the line.

use super::super::rng::Rng;
use super::{Family, Stage, is_literal};

/// A word as it is written instead, and what has to be said before the command. `W` is the word, `H` and `T` its first
/// letter and the rest, `U` the word in capitals, `R` reversed, `X` its bytes in hexadecimal, `P` where the program lies.
const SPELLINGS: [(&str, &str); 84] = [
    ("", "'W'"),
    ("", "\"W\""),
    ("", "H\"T\""),
    ("", "H''T"),
    ("", "\\HT"),
    ("", "H\\\nT"),
    ("", "$'X'"),
    ("", "$\"W\""),
    ("", "$(echo W)"),
    ("", "`echo W`"),
    ("", "$(printf '%s%s' H T)"),
    ("", "$(printf 'X')"),
    ("", "$(rev <<<R)"),
    ("", "$(<<<W cat)"),
    ("", "$(tr A-Z a-z <<<U)"),
    ("", "$(printf %s H T)"),
    ("X=$(echo H)T", "$X"),
    ("X=H$(echo T)", "$X"),
    ("X=`echo H`T", "$X"),
    ("for X in $(echo H)T; do :; done", "$X"),
    ("", "$(pwd)/W"),
    ("", "\"$(git rev-parse --show-toplevel)/W\""),
    ("", "${none:-W}"),
    ("", "${none-W}"),
    ("", "H${none}T"),
    ("", "H$@T"),
    ("", "H$(:)T"),
    ("", "${none:=W}"),
    ("X=W", "$X"),
    ("X=W", "${X}"),
    ("X=W", "\"$X\""),
    ("X=T", "H$X"),
    ("X=xxW", "${X#xx}"),
    ("X=Wxx", "${X%xx}"),
    ("X=xxW", "${X:2}"),
    ("X=H+T", "${X/+/}"),
    ("X=U", "${X,,}"),
    ("X=W", "${X@P}"),
    ("X=W Y=X", "${!Y}"),
    ("declare -n Y=X; X=W", "$Y"),
    ("X=(x W)", "${X[1]}"),
    ("X=(W)", "${X[@]}"),
    ("declare -A X=([k]=W)", "${X[k]}"),
    ("read -r X <<<W", "$X"),
    ("read -r X < <(echo W)", "$X"),
    ("printf -v X %s%s H T", "$X"),
    ("mapfile -t X <<<W", "${X[0]}"),
    ("set -- W", "$1"),
    ("export X=W", "$X"),
    ("for X in W; do :; done", "$X"),
    ("[[ W =~ .* ]]", "${BASH_REMATCH[0]}"),
    ("IFS=:; X=W", "$X"),
    ("f() { X=W; }; f", "$X"),
    ("f() { X=$1$2; }; f H T", "$X"),
    ("X=$(echo W)", "$X"),
    ("getopts :a: X -W; X=W", "$X"),
    ("X=W", "$\\\nX"),
    ("X=W", "\"$\\\nX\""),
    ("XY=W", "$X\\\nY"),
    ("", "$\\\n(echo W)"),
    ("", "\"$\\\n(echo W)\""),
    ("function W { X=$FUNCNAME; }; W", "$X"),
    ("BASH_ARGV0=W", "$0"),
    ("", "$(seq 0)W"),
    ("", "$(true)W"),
    ("", "$(hostname | head -0)W"),
    ("", "\"$1\"W"),
    ("X=$(pgrep none)W", "$X"),
    ("", "$(hostname | sed \"s,.*,H+T,;s,[+],,\")"),
    ("", "$(nproc | tr 0-9 x | sed \"s,.*,R,\" | rev)"),
    ("", "$(date | sed 's,.*,W,')"),
    ("", "$(id -u | perl -ne 'print q(H).q(T)')"),
    ("trap 'X=${BASH_COMMAND##* }' DEBUG; : W; trap - DEBUG", "$X"),
    ("", "{H..H}T"),
    // Made of folders that everybody has, and of copies of them.
    ("", "${PWD/*/W}"),
    ("", "${PATH/*/W}"),
    ("X=$PWD", "${X/*/W}"),
    ("X=$PWD; Y=${X%/*}", "$Y/project/W"),
    ("for X in $PWD; do :; done", "${X%/*}/project/W"),
    ("", "${PWD::1}proc/self/cwd/W"),
    ("cd src; X=${PWD%/*}; cd ..", "${X%/*}/project/W"),
    ("", "${$/*/W}"),
    ("", "${#:+W}"),
    ("", "${@:-W}"),
];

/// Names of variables in the templates, of which no letter stands for anything.
const VARIABLES: [&str; 2] = ["PWD", "PATH"];

/// For a program alone: it is found by a path, a pattern, or a name that the shell has for it.
const PROGRAMS: [(&str, &str); 15] = [
    ("", "P"),
    ("", "@W@/bin/../bin/W"),
    ("", "D/H*"),
    ("", "D/?T"),
    ("", "D/[H]T"),
    ("", "D/{x,W}"),
    ("cd D", "./H*T"),
    ("shopt -s extglob", "D/@(W|x)"),
    ("", "$(command -v W)"),
    ("", "$(type -P W)"),
    ("alias X=W\n", "X"),
    ("hash -p P X", "X"),
    ("PATH+=:/x", "W"),
    ("mkdir -p /tmp/W; cd /tmp/W", "${PWD##*/}"),
    ("mkdir -p /tmp/W; cd /tmp/W; cd /", "${OLDPWD##*/}"),
];

/// For several words at once.
const WHOLES: [(&str, &str); 9] = [
    ("", "{C}"),
    ("", "{,C}"),
    ("X=\"A\"", "$X"),
    ("IFS=,; X=\"C\"", "$X"),
    ("X='A'", "${X[*]}"),
    ("", "$(echo A)"),
    ("", "`echo A`"),
    ("alias X='A'\n", "X"),
    ("read -ra X <<<\"A\"", "\"${X[@]}\""),
];

/// The command with its last words taken from stdin.
const GIVEN: [&str; 7] = [
    "echo T | xargs H",
    "printf '%s\\n' T | xargs H",
    "printf '%s\\0' T | xargs -0 H",
    "xargs H <<<\"T\"",
    "xargs -I{} H {} <<<T",
    "echo T | while read -r X; do H $X; done",
    "H $(cat <<<\"T\")",
];

pub(super) const FAMILY: Family =
    Family { size: || SPELLINGS.len() + PROGRAMS.len() + WHOLES.len() + GIVEN.len() * 2, apply };

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let Stage::Simple(words) = stage else { return None };
    if let Some((before, spelling)) = SPELLINGS.get(at) {
        // A word in the middle as well: a subcommand, a file.
        let literal: Vec<usize> = (0..words.len()).filter(|at| is_plain(&words[*at])).collect();
        let index = if literal.is_empty() { return None } else { *rng.pick(&literal) };
        let which = match index {
            0 => "program",
            _ => "word",
        };
        return Some(spelled(words, index, before, spelling, which));
    }
    let at = at - SPELLINGS.len();
    if let Some((before, spelling)) = PROGRAMS.get(at) {
        let index = words.iter().position(|word| is_plain(word) && !word.contains('/'))?;
        return Some(spelled(words, index, before, spelling, "program"));
    }
    let at = at - PROGRAMS.len();
    if !words.iter().all(|word| is_literal(word) || word == "~") {
        return None;
    }
    if let Some((before, spelling)) = WHOLES.get(at) {
        let fill = |text: &str| text.replace('A', &words.join(" ")).replace('C', &words.join(","));
        return Some((after(&fill(before), fill(spelling)), format!("all words: {before} {spelling}")));
    }
    let at = at - WHOLES.len();
    let line = GIVEN[at / 2];
    // Right behind the program, and anywhere.
    let cut = if at.is_multiple_of(2) { 1 } else { 1 + rng.below(words.len() - 1) };
    if words.len() < 2 {
        return None;
    }
    let (head, tail) = words.split_at(cut);
    // One `{}` stands for one word.
    if line.contains("{}") && tail.len() > 1 {
        return None;
    }
    let text = line.replace('H', "\u{1}").replace('T', &tail.join(" ")).replace('\u{1}', &head.join(" "));
    Some((Stage::Script(text), format!("last words: {line}")))
}

fn is_plain(word: &str) -> bool {
    is_literal(word) && !word.starts_with('-') && word.len() > 1
}

fn spelled(words: &[String], index: usize, before: &str, spelling: &str, which: &str) -> (Stage, String) {
    let word = &words[index];
    let fill = |text: &str| fill(text, word);
    let mut words = words.to_vec();
    words[index] = fill(spelling);
    (
        after(&fill(before), words.join(" ")).simple_if(before.is_empty(), words),
        format!("{which} as {before} {spelling}"),
    )
}

impl Stage {
    fn simple_if(self, alone: bool, words: Vec<String>) -> Self {
        if alone { Self::Simple(words) } else { self }
    }
}

fn after(before: &str, command: String) -> Stage {
    Stage::Script(match before {
        "" => command,
        before if before.ends_with('\n') => format!("{before}{command}"),
        before => format!("{before}; {command}"),
    })
}

/// Letters of the templates that stand for parts of the word, and only those: `W` in `@W@` stays.
fn fill(template: &str, word: &str) -> String {
    let (head, tail) = word.split_at(1);
    let path = match word {
        "danger" | "git" | "npm" | "kubectl" | "docker" | "ssh" | "sudo" => format!("@W@/bin/{word}"),
        _ => format!("/usr/bin/{word}"),
    };
    let hexadecimal: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let folder = path.rsplit_once('/').map_or("/usr/bin", |(folder, _)| folder).to_owned();
    let letters: Vec<char> = template.chars().collect();
    let mut filled = String::new();
    let is_in_name = |at: usize| {
        VARIABLES.iter().any(|name| {
            let mut begins = (at + 1).saturating_sub(name.len())..=at;
            begins.any(|from| letters[from..].iter().collect::<String>().starts_with(name) && from + name.len() > at)
        })
    };
    for (at, letter) in letters.iter().enumerate() {
        if is_in_name(at) {
            filled.push(*letter);
            continue;
        }
        let near = |step: isize| at.checked_add_signed(step).and_then(|at| letters.get(at)).copied().unwrap_or(' ');
        let part = match letter {
            'W' if near(-1) == '@' => "W",
            'W' => word,
            // Names of variables and functions, and options of the shell, are no parts.
            'H' | 'T' | 'U' | 'R' | 'P' | 'D'
                if near(-1).is_ascii_uppercase() && near(-1) != 'H' && near(-1) != 'T' =>
            {
                filled.push(*letter);
                continue;
            }
            'A' if near(1) == '-' => "A",
            'H' if near(1) != '_' && near(1) != '[' => head,
            'T' => tail,
            'U' => &word.to_uppercase(),
            'R' => &word.chars().rev().collect::<String>(),
            'P' if near(1) != 'A' && near(-1) != '@' && near(-1) != '-' => &path,
            'D' if near(1) == '/' => &folder,
            'X' if near(-1) == '\'' && near(1) == '\'' => &hexadecimal,
            other => {
                filled.push(*other);
                continue;
            }
        };
        filled.push_str(part);
    }
    filled
}
