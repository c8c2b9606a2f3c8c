//! Commands whose output surely holds no command: numbers, and what stands in files and in the system.
//!
//! What a file holds is not the line's ([`super::reckoning`]): a line that has a file run is not asked for either. What the line
//! says itself, and something turns round, decodes or puts together, may be anything.

use crate::policy::commands::command::name_of;
use crate::policy::commands::git::GitLine;
use crate::policy::commands::inert::{is_inert, started};
use crate::policy::lines::suspects::Found;
use crate::policy::shell::{Joint, Piece, Redirect, ShellCommand, ShellWord, Way};
use crate::policy::words::values::Variables;

/// Programs that print numbers, whatever they read, where all their words are options.
const COUNTERS: [&str; 3] = ["wc", "nproc", "cksum"];

/// Programs that print what is in files, their names, or how the system is: nothing of it is made out of other text.
const READERS: [&str; 50] = [
    "cat", "tac", "head", "tail", "cut", "sort", "uniq", "nl", "wc", "grep", "egrep", "fgrep", "rg", "ls", "find",
    "du", "df", "stat", "id", "date", "nproc", "seq", "pgrep", "ps", "lsof", "free", "uptime", "uname", "hostname",
    "whoami", "pwd", "basename", "dirname", "realpath", "readlink", "echo", "printf", "true", "false", "test", "[",
    "[[", ":", "sleep", "git", "jq", "cksum", "md5sum", "comm", "cd",
];

/// What prints numbers or a name of the system, and takes no text.
const SYSTEM: [&str; 7] = ["getconf", "tput", "arch", "tty", "pidof", "sysctl", "expr"];

/// A command as far as it prints something.
pub(super) struct NumberPrinter<'a> {
    words: &'a [ShellWord],
    redirects: &'a [Redirect],
    given: Vec<String>,
    joint: Joint,
    /// What it prints gets somewhere in the line.
    is_kept: bool,
}

impl<'a> NumberPrinter<'a> {
    /// One of the commands of a text that stands in the brackets of `$(…)`.
    pub(super) fn in_brackets(command: &'a ShellCommand, texts: &[String]) -> Self {
        let heredocs = command.heredocs.iter().filter_map(|place| texts.get(*place).cloned());
        let given = heredocs.chain(command.redirects.iter().filter_map(Redirect::given)).collect();
        Self { words: &command.words, redirects: &command.redirects, given, joint: command.joint, is_kept: true }
    }

    /// The commands of a whole line: those count whose output gets into a word, a pipe or a file.
    pub(super) fn of_line(found: &'a [Found]) -> Vec<Self> {
        let of = |(at, command): (usize, &'a Found)| {
            let is_piped = found.get(at + 1).is_some_and(|next| next.joint == Joint::Pipe);
            let writes = |redirect: &Redirect| redirect.way == Way::Out && !redirect.target.text.starts_with("/dev/");
            Self {
                words: &command.words,
                redirects: &command.redirects,
                given: command.given.clone(),
                joint: command.joint,
                is_kept: command.is_nested
                    || is_piped
                    || !command.given.is_empty()
                    || command.redirects.iter().any(writes),
            }
        };
        found.iter().enumerate().map(of).collect()
    }
}

/// Whether a known text has no command in it that reckoning with it would run.
pub(super) fn is_harmless_text(text: &str) -> bool {
    let has_command = text.contains('$') && text.contains(['(', '{']);
    !has_command && !text.contains('`') && !hides_signs(text)
}

/// Whether a text has `\044` in it, which is a `$` in a prompt and in what printf makes: for a sign that can be seen there is
/// no need to write it so.
pub(super) fn hides_signs(text: &str) -> bool {
    text.split('\\').skip(1).any(|part| {
        let digits: String = part.chars().take(3).take_while(|c| c.is_digit(8)).collect();
        u32::from_str_radix(&digits, 8).is_ok_and(|made| (0x20..0x7f).contains(&made))
    })
}

/// Whether nothing that these print may hold a command, if the names that are noted hold none.
pub(super) fn prints_nothing_to_run(
    printers: &[NumberPrinter<'_>],
    variables: &Variables,
    names: &mut Vec<String>,
) -> bool {
    // Parts that are harmless one by one are none together.
    let mut text = String::new();
    let mut is_counted = false;
    for printer in printers.iter().rev() {
        let is_last = printer.is_kept && counts(printer.words);
        if !is_last && !is_counted && printer.is_kept && !printer.is_plain(variables, names, &mut text) {
            return false;
        }
        is_counted = (is_last || is_counted) && printer.joint == Joint::Pipe;
    }
    // bc prints texts that it is told to, and gets them from the one before it.
    let reckons =
        |printer: &NumberPrinter<'_>| started(printer.words).first().is_some_and(|word| name_of(&word.text) == "bc");
    is_harmless_text(&text) && (!printers.iter().any(reckons) || !text.contains('"') && !text.contains("print"))
}

fn counts(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = started(words).split_first() else { return false };
    let is_option = |word: &ShellWord| word.is_flag() && word.is_known() && !word.text.starts_with("--files");
    let is_count = |word: &ShellWord| {
        let letters = word.text.strip_prefix('-').filter(|letters| letters.contains('c')).unwrap_or("?");
        word.is_known() && letters.chars().all(|c| "cinvwxEFPHhsaor".contains(c)) || word.text == "--count"
    };
    first.is_known()
        && match name_of(&first.text) {
            name if COUNTERS.contains(&name) => rest.iter().all(is_option),
            "grep" | "egrep" | "fgrep" => {
                rest.iter().any(is_count) && rest.iter().filter(|word| !word.is_flag()).count() < 3
            }
            "awk" | "gawk" | "mawk" => {
                matches!(rest, [one] if matches!(one.text.as_str(), "END{print NR}" | "END {print NR}" | "END { print NR }"))
            }
            // What it loads is thrown away.
            "curl" => {
                let says = |text: &str| rest.iter().any(|word| word.is_known() && word.text == text);
                says("-o") && says("/dev/null") && (says("%{http_code}") || says("%{response_code}"))
            }
            _ => false,
        }
}

impl NumberPrinter<'_> {
    /// Whether it prints what it finds as it stands. Its texts are added to those of the others, and its names noted.
    fn is_plain(&self, variables: &Variables, names: &mut Vec<String>, text: &mut String) -> bool {
        for given in &self.given {
            ShellWord::read(given).take_in(variables, names, text);
            text.push_str(&without_names(given));
        }
        self.redirects
            .iter()
            .filter(|redirect| matches!(redirect.way, Way::In | Way::Given))
            .for_each(|one| one.target.take_in(variables, names, text));
        let words = started(self.words);
        let Some((first, rest)) = words.split_first() else { return true };
        if !first.is_known() {
            return false;
        }
        let name = name_of(&first.text);
        let code = match name {
            "awk" | "gawk" | "mawk" => rest.iter().position(|word| !word.is_flag()),
            _ => None,
        };
        let own = rest.iter().enumerate().filter(|(at, _)| Some(*at) != code);
        own.for_each(|(_, word)| word.take_in(variables, names, text));
        let escapes = |letters: &str| {
            let behind = |text: &str| text.split('\\').skip(1).any(|part| part.starts_with(|c| letters.contains(c)));
            rest.iter().any(|word| behind(&word.text)) || behind(text)
        };
        match name {
            "read" | "mapfile" | "readarray" | "for" | "in" | "select" | "case" | "while" | "until" | "let" => true,
            "awk" | "gawk" | "mawk" => {
                code.is_some_and(|at| rest[at].is_known() && prints_fields(&rest[at].text)) && is_inert(words)
            }
            "sed" => !escapes("xodc") && is_inert(words),
            "tr" => !escapes("xuU01234567") && turns_nothing_into_signs(rest),
            "jq" => {
                !escapes("u")
                    && !rest.iter().any(|word| {
                        ["implode", "@base", "fromjson", "format", "env", "ENV", "@uri"]
                            .iter()
                            .any(|part| word.text.contains(part))
                    })
            }
            "git" => prints_of_repository(words) && !text.contains("%x") && !decodes_signs(text),
            "bc" => true,
            "command" => rest.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")),
            name if SYSTEM.contains(&name) => true,
            name => {
                READERS.contains(&name)
                    && !escapes("xuU01234567e")
                    && (is_inert(words) || matches!(name, "[[" | "[" | "test"))
            }
        }
    }
}

impl ShellWord {
    /// Adds the text of a word and of the names in it, and notes these names.
    fn take_in(&self, variables: &Variables, names: &mut Vec<String>, text: &mut String) {
        for piece in &self.pieces {
            let name = match piece {
                Piece::Text(own) => {
                    text.push_str(own);
                    continue;
                }
                Piece::Variable(name) => name,
                Piece::MadeOf(name, operator) => {
                    text.push_str(operator);
                    name
                }
                Piece::Unknown | Piece::Glob(_) => continue,
            };
            let name = name.trim_start_matches('!').trim_end_matches("[]");
            variables.values.get(name).into_iter().flatten().for_each(|value| text.push_str(value));
            names.push(name.to_owned());
        }
    }
}

/// A text without `${x}`, which is what a name holds, and is looked at on its own.
fn without_names(text: &str) -> String {
    let mut parts = text.split("${");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match part.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((_, behind)) => left.push_str(behind),
            None => left.extend(["${", part]),
        }
    }
    left
}

/// Whether git prints what it keeps.
fn prints_of_repository(words: &[ShellWord]) -> bool {
    let sub = GitLine::read(&words[1..]).filter(|line| line.code().next().is_none());
    let sub = sub.and_then(|line| line.words.first()).map_or("", |sub| sub.text.as_str());
    is_inert(words)
        || matches!(
            sub,
            "rev-list" | "rev-parse" | "ls-files" | "for-each-ref" | "cat-file" | "merge-base" | "describe"
        )
}

/// Whether git would make a sign out of its number in a format: `%24` is a `$` there.
fn decodes_signs(text: &str) -> bool {
    text.split('%').skip(1).any(|part| {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        code.is_some_and(|code| (0x20..0x7f).contains(&code))
    })
}

/// Whether code in awk prints parts of what it reads, and texts of its own that are no part of a command.
fn prints_fields(code: &str) -> bool {
    let texts = code.split('"').skip(1).step_by(2);
    let is_plain = |text: &str| !text.contains(['$', '(', '`', '\\', '[', '{']) && !text.contains("%c");
    // A format that is read is no text of the code.
    let has_format = |part: &str| part.trim_start_matches([' ', '(']).starts_with('"');
    texts.into_iter().all(is_plain)
        && code.split("printf").skip(1).all(has_format)
        && !code.contains("sprintf")
        && !code.contains("ENVIRON")
}

/// Whether `tr` leaves letters out, or puts letters and digits in the place of others.
fn turns_nothing_into_signs(rest: &[ShellWord]) -> bool {
    let sets: Vec<&ShellWord> = rest.iter().filter(|word| !word.is_flag()).collect();
    let Some(into) = sets.get(1) else { return true };
    let leaves_out = rest.iter().any(|word| word.is_flag() && word.text.contains('d'));
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | ',' | ';' | ':' | '.' | '\\' | '[' | ']');
    let is_range = matches!(into.text.as_str(), "a-z" | "A-Z" | "[:lower:]" | "[:upper:]");
    leaves_out || is_range || into.is_known() && into.text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use crate::policy::lines::suspects::Suspects;
    use crate::policy::shell::Script;

    fn is_asked_for(line: &str) -> bool {
        Suspects::of(&Script::read(line)).unseen.is_some()
    }

    #[test]
    fn a_text_that_the_line_hides_is_not_reckoned_with() {
        for way in [
            "echo $((x))",
            "((x))",
            "(( y = x + 1 ))",
            "let y=x",
            "let \"y = x\"",
            "declare -i y=$x",
            "declare -i y; y=$x",
            "typeset -i y; read y <<<\"$x\"",
            "echo ${a[x]}",
            "echo ${a[$x]}",
            "a[x]=1",
            "a=([$x]=1)",
            "[[ $x -eq 1 ]]",
            "[[ 1 -lt x ]]",
            "test -v \"$x\"",
            "[ -v $x ]",
            "printf -v \"$x\" 1",
            "read \"$x\" <<<1",
            "echo ${y:x}",
            "echo ${y:0:$x}",
            "echo $[x]",
            "for ((i=x; i<2; i++)); do :; done",
            "declare \"$x=1\"",
            "wait -p \"$x\" -n",
            "echo ${!x}",
            "echo ${x@P}",
            "declare -n r=$x; echo $r",
            "declare -a b=\"$x\"",
            "RANDOM=$x",
            "OPTIND=$x",
            "PS4=$x; set -x; :",
            "compgen -W \"$x\"",
            "y=x; echo $((y))",
            "y=\"1 + $x\"; echo $((y))",
            "set -- $x; echo $(($1))",
            "f() { echo $(($1)); }; f \"$x\"",
            "export x; bash -c 'echo $((x))'",
            "for z in $x; do echo $((z)); done",
        ] {
            for hidden in [
                "x=$(rev <<<'])x regnad($[a')",
                "read x < <(base64 -d <<<YQ==)",
                "x=`tr a-c '!-#' <<<abc`",
                "printf -v x '\\x61'",
            ] {
                let line = format!("{hidden}; {way}");
                assert!(is_asked_for(&line), "{line}");
            }
        }
        for line in [
            "rev <<<abc | while read x; do echo $((x)); done",
            "rev <<<abc > f; x=$(<f); echo $((x))",
            "rev <<<abc > f; x=$(cat f); echo $((x))",
            "rev <<<abc > f; read x < f; echo $((x))",
            "for x in $(rev <<<abc); do echo $((x)); done",
            "echo $(( $(rev <<<abc) ))",
            "[[ $(rev <<<abc) -eq 1 ]]",
            "x='a[$(dan'; y='ger x)]'; z=$x$y; echo $((z))",
            "x=$(echo 'a[@(danger)]' | sed 's/@/$/'); echo $((x))",
            "x='a[@(danger)]'; y=$(echo \"$x\" | sed 's/@/$/'); echo $((y))",
            "x=$(awk 'BEGIN { printf \"%c\", 36 }'); echo $((x))",
            "x=$(python3 -c 'print(1)'); echo $((x))",
            "x='\\044(danger)'; : \"${x@P}\"",
            "x='\\140danger\\140'; : \"${x@P}\"",
            "PS4='\\044(d\\141nger)'; set -x; ls",
            "PS1='\\044(d\\141nger)' bash --norc -i <<<ls",
            "export PS4='\\044(d\\141nger)'; set -x; ls",
            "mkdir danger; cd danger; ${PWD##*/}",
            "for y in '$(danger)'; do : ${y@P}; done",
            "y='$'; y+='(danger)'; : ${y@P}",
            "x='@(danger)'; y=${x/@/$}; : ${y@P}",
            "read y <<<'$(danger)'; : ${y@P}",
            "y=$(cat f); : ${y@P}",
            "x=$(rev <<<eteled-); find . \"$x\"",
            "find . -type f $(tr a-c d-f <<<abc)",
            "read x <<<'a[$(danger)]'; [[ $x -eq 1 ]]",
            "read -a x <<<'a[$(danger)]'; [[ $x -gt 1 ]]",
            "while read -r x; do [[ $x -gt 1 ]] && echo y; done <<<'a[$(danger)]'",
            "[[ $(cat <<<'a[$(danger)]') -gt 1 ]]",
            "read -r x <<<'a[$(git push x)]'; echo $((x))",
            "x=$(cat <<<'a[$(git push x)]'); echo $((x))",
            "x=$(sed s/Z// <<<'Za[$(git push x)]'); [[ x -eq 1 ]]",
            "for c in 'a[' '$' '(' 'danger)]'; do s=$s$c; done; echo $((s))",
            "x=$(rev <<<abc); [[ a == b || x -eq 1 ]]",
            "x=$(rev <<<abc); [[ -n $PWD && x -gt 1 ]]",
            "x=$(rev <<<abc); [[ (x -eq 1) ]]",
            "rev <<<abc | tee f; x=$(cat f); echo $((x))",
            "rev <<<abc > f; cp f g; x=$(cat g); echo $((x))",
            "rev <<<abc > f; x=$(cat src/../f); echo $((x))",
            "rev <<<abc > /dev/shm/f; x=$(cat /dev/shm/f); echo $((x))",
            "exec 3< <(rev <<<abc); x=$(cat <&3); echo $((x))",
            "a='a[$'; b='(danger)]'; z=$a$(true)$b; echo $((z))",
            "x=\"a[$(echo '$')(danger)]\"; echo $((x))",
            "x='a[Q(danger)]'; read x <<<\"${x//Q/$}\"; echo $((x))",
            "x=$(echo ')' >/dev/null; rev <<<abc); echo $((x))",
            "x=$((rev <<<abc) ); echo $((x))",
            "x=$(rev <<<abc); : declare -A a; a[$x]=1",
            "x=$(rev <<<abc); declare -A ab; a[$x]=1",
            "x=$(rev <<<abc); declare -A a; unset a; a[$x]=1",
            "x=$(rev <<<abc); echo ${a[b[0]]:x}",
            "x=$(rev <<<abc); a=(1\t[x]=1)",
            "x=$(rev <<<abc); read PS4 <<<\"$x\"; set -x; ls",
            "for PS4 in \"$(rev <<<abc)\"; do set -x; ls; done",
            ": \"$(rev <<<abc)\"; echo $(($_))",
            "[[ $(rev <<<abc) =~ .* ]]; echo $((BASH_REMATCH))",
            "x=$(rev <<<abc | grep '-e[gc]'); echo $((x))",
            "x='a[\\x24(danger)]'; y=$(echo -e \"$x\"); echo $((y))",
            "x=$(command -p rev <<<abc); echo $((x))",
            "x=$(git branch --format='a[%24(danger)]'); echo $((x))",
            "x=$(awk '{printf $0, 36}' <<<'a[%c(danger)]'); echo $((x))",
        ] {
            assert!(is_asked_for(line), "{line}");
        }
    }

    #[test]
    fn numbers_and_what_files_hold_are_reckoned_with() {
        for line in [
            "echo $((i+1))",
            "i=1; echo $((i + 1))",
            "for ((i=0; i<3; i++)); do echo $i; done",
            "n=$(wc -l < a.txt); echo $((n+1))",
            "n=$(cat a.txt | wc -l); echo $((n+1))",
            "n=$(python3 x.py | wc -l); echo $((n+1))",
            "n=$(cat a.txt); echo $((n+1))",
            "n=$(jq .x a.txt); echo $((n+1))",
            "n=$(grep -c x a.txt); ((n++)); echo $n",
            "while read -r n; do s=$((s+n)); done < a.txt; echo $s",
            "du -k * | while read a b; do s=$((s+a)); done",
            "kubectl get pods | while read name rest; do i=$((i+1)); done",
            "n=$(ls | wc -l); if [[ $n -gt 3 ]]; then echo x; fi",
            "n=$(df / | awk 'NR==2{print $5}' | tr -d %); if (( n > 80 )); then echo x; fi",
            "start=$(date +%s); sleep 1; end=$(date +%s); echo $((end-start))",
            "echo $(( $(date +%s) - start ))",
            "n=$(stat -c %s a.txt); echo $((n/1024))",
            "for i in $(seq 1 3); do echo $((i*2)); done",
            "for i in {1..3}; do echo $((i*2)); done",
            "arr=(a b c); for i in \"${!arr[@]}\"; do echo ${arr[$i]}; done",
            "arr=(a b c); for ((i=0;i<${#arr[@]};i++)); do echo ${arr[i]}; done",
            "f() { echo $(($1 + 1)); }; f 3",
            "n=$(curl -s -o /dev/null -w '%{http_code}' localhost); [[ $n -eq 200 ]] && echo ok",
            "x=$(rev <<<abc); i=$((i+1)); echo $x",
            "x=$(node -p 1); [ $x -eq 1 ]",
            "v=1.2.3; IFS=. read -r a b c <<<\"$v\"; echo $((c+1))",
            "v=$(git describe --tags); IFS=. read -r a b c <<<\"$v\"; echo $((c+1))",
            "n=$(git rev-list --count HEAD); echo $((n - 1))",
            "declare -A m; while read k; do m[$k]=1; done < <(node x.js)",
            "x=abc; echo ${x:0:2}",
            "n=$(sed -n 's/^v\\([0-9]*\\).*/\\1/p' a.txt); echo $((n+1))",
            "n=$(nproc); make -j$((n*2))",
            "n=$(echo '1 + 2' | bc); echo $((n))",
            "n=$(cat a.txt) 2>/dev/null; echo $((n+1))",
            "d=$(git rev-parse --show-toplevel); find \"$d\" -name x",
            "x=$(cat f); find . -name \"$x\"; find . -type f -exec grep \"$x\" {} +",
            "PS1='\\[\\033[01;32m\\]\\u\\[\\033[0m\\]$ ' bash --norc",
            "echo \"a[b] ((c))\"; x=$(rev <<<abc); echo $x",
        ] {
            assert!(!is_asked_for(line), "{line}");
        }
    }
}
