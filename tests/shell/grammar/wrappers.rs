//! Programs and builtins that run the command behind their own options and operands.

use super::super::rng::Rng;
use super::{Family, Stage, quoted};

struct Wrapper {
    name: &'static str,
    alone: &'static [&'static str],
    valued: &'static [(&'static str, &'static str)],
    /// What stands between the options and the command.
    operands: &'static str,
}

const fn wrapper(
    name: &'static str,
    alone: &'static [&'static str],
    valued: &'static [(&'static str, &'static str)],
    operands: &'static str,
) -> Wrapper {
    Wrapper { name, alone, valued, operands }
}

const WRAPPERS: [Wrapper; 31] = [
    wrapper("flock", &["-n", "-x", "-o", "-F", "--verbose"], &[("-w", "5"), ("-E", "3"), ("--timeout", "5")], "l"),
    wrapper("ssh", &["-q", "-T", "-A", "-4"], &[("-p", "22"), ("-l", "me"), ("-o", "A=b"), ("-i", "key")], "host"),
    wrapper("sudo", &["-n", "-E", "-H"], &[("-u", "root"), ("-g", "root"), ("-p", "x")], ""),
    wrapper(
        "env",
        &["-i PATH=$PATH HOME=$HOME", "-", "--"],
        &[("-u", "X"), ("-C", "."), ("--chdir", "."), ("--unset", "X")],
        "",
    ),
    wrapper("env", &[], &[("-u", "A")], "A=1 B=2"),
    wrapper("nice", &[], &[("-n", "5"), ("--adjustment", "5"), ("-", "5")], ""),
    wrapper("ionice", &["-t"], &[("-c", "3"), ("--class", "3")], ""),
    wrapper("nohup", &["--"], &[], ""),
    wrapper(
        "timeout",
        &["--foreground", "-v", "--preserve-status"],
        &[("-k", "1"), ("-s", "9"), ("--signal", "TERM")],
        "5",
    ),
    wrapper("stdbuf", &[], &[("-o", "L"), ("-i", "0"), ("--output", "0")], ""),
    wrapper("setsid", &["-w", "-f"], &[], ""),
    wrapper("taskset", &["-a"], &[], "1"),
    wrapper("taskset", &[], &[], "-c 0"),
    wrapper("chrt", &[], &[], "-o 0"),
    wrapper("prlimit", &[], &[("--nofile", "64"), ("-n", "64")], ""),
    wrapper("setarch", &["-v"], &[], "-R"),
    wrapper("ssh-agent", &[], &[], ""),
    wrapper("setpriv", &["--no-new-privs"], &[("--bounding-set", "+all")], ""),
    wrapper("chroot", &[], &[("--userspec", "0")], "/ env -C $PWD"),
    wrapper("unshare", &["-m", "-u"], &[], ""),
    wrapper("time", &["-p"], &[], ""),
    wrapper("/usr/bin/time", &["-v", "-p"], &[("-f", "%e"), ("-o", "t")], ""),
    wrapper("command", &["-p env PATH=$PATH", "--"], &[], ""),
    wrapper("builtin", &[], &[], "command"),
    wrapper("exec", &["-c env PATH=@W@/bin:/usr/bin:/bin HOME=@W@/home"], &[("-a", "x")], ""),
    wrapper("eval", &["--"], &[], ""),
    wrapper("strace", &["-f", "-qq"], &[("-o", "t"), ("-e", "trace=none")], ""),
    wrapper("start-stop-daemon", &[], &[], "-S -x /usr/bin/env --"),
    wrapper("xargs", &["-r", "-t", "-0"], &[("-n", "1"), ("-I", "Z"), ("-P", "2"), ("-a", "a.txt")], ""),
    wrapper("find", &["-H", "-P"], &[], ". -maxdepth 0 -exec"),
    wrapper("find", &[], &[], "-maxdepth 0 -ok"),
];

/// What may stand before a command and is none: redirections and assignments.
const PREFIXES: [&str; 16] = [
    "{fd}>f",
    "{fd}</dev/null",
    ">f",
    "2>f",
    "2>&1",
    "</dev/null",
    "<<<x",
    "&>f",
    "&>>f",
    "3<>f",
    ">|f",
    "A=1",
    "A+=1",
    "A=1 B=2 >f",
    "a[0]=1",
    "A= B=\"x y\"",
];

/// Words that stand for the command and its words, from their own places.
const POSITIONS: [(&str, &str); 16] = [
    (r#"bash -c '"$@"' _"#, ""),
    (r#"bash -c '$0 "$@"'"#, ""),
    (r#"sh -c 'exec "$@"' sh"#, ""),
    (r#"bash -c '"${@:1}"' _"#, ""),
    (r#"bash -c 'command "$@"' _"#, ""),
    (r#"bash -c 'eval "$*"' _"#, ""),
    (r#"bash -c 'f() { "$@"; }; f "$@"' _"#, ""),
    ("set --", r#"; "$@""#),
    ("set -- x", r#"; shift; "$@""#),
    ("f() { \"$@\"; }; f", ""),
    ("f() { shift; $*; }; f x", ""),
    ("a=(", r#"); "${a[@]}""#),
    ("a=(", "); ${a[*]}"),
    ("printf '%s\\0'", " | xargs -0 env"),
    ("echo", " | xargs env"),
    ("printf '%q '", " | sh"),
];

pub(super) const FAMILY: Family = Family { size: || WRAPPERS.len() * 3 + PREFIXES.len() + POSITIONS.len() + 1, apply };

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let Stage::Simple(words) = stage else { return None };
    if at < WRAPPERS.len() * 3 {
        return Some(around(&WRAPPERS[at / 3], at % 3, rng, words));
    }
    let at = at - WRAPPERS.len() * 3;
    if let Some(prefix) = PREFIXES.get(at) {
        let whole = [vec![(*prefix).to_owned()], words.clone()].concat();
        return Some((Stage::Simple(whole), format!("{prefix} CMD")));
    }
    if let Some((before, after)) = POSITIONS.get(at - PREFIXES.len()) {
        return Some((Stage::Script(format!("{before} {}{after}", words.join(" "))), format!("{before} CMD{after}")));
    }
    Some((Stage::Simple(vec!["env".to_owned(), "-S".to_owned(), quoted(&words.join(" "))]), "env -S 'CMD'".to_owned()))
}

/// The wrapper with none, one or two of its options, in one of the ways in which a value can be written.
fn around(wrapper: &Wrapper, options: usize, rng: &mut Rng, command: &[String]) -> (Stage, String) {
    let mut words = vec![wrapper.name.to_owned()];
    let mut name = vec![wrapper.name.to_owned()];
    if options > 0 && !wrapper.valued.is_empty() {
        let (option, value) = rng.pick(wrapper.valued);
        match (option.starts_with("--"), rng.chance(2)) {
            (true, true) => words.push(format!("{option}={value}")),
            (false, true) => words.push(format!("{option}{value}")),
            _ if *option == "-" => words.push(format!("{option}{value}")),
            _ => words.extend([(*option).to_owned(), (*value).to_owned()]),
        }
        name.push(format!("{option} V"));
    }
    if options != 1 && !wrapper.alone.is_empty() && (options == 2 || rng.chance(2)) {
        let option = *rng.pick(wrapper.alone);
        words.push(option.to_owned());
        name.push(option.to_owned());
    }
    if !wrapper.operands.is_empty() {
        words.push(wrapper.operands.to_owned());
        name.push(wrapper.operands.to_owned());
    }
    words.extend(command.iter().cloned());
    name.push("CMD".to_owned());
    match wrapper.name {
        "find" => words.push("\\;".to_owned()),
        "xargs" => words.insert(0, "echo y |".to_owned()),
        _ => {}
    }
    (Stage::Simple(words), name.join(" "))
}
