//! Programs that run what their options, their words or their input say.

use super::command::is_shell;

/// Options whose value a program runs: letters of short ones, and long ones.
const OPTIONS: [(&str, &str, &[&str]); 44] = [
    ("bind", "x", &[]),
    ("bun", "e", &["--eval"]),
    ("compgen", "CF", &[]),
    ("complete", "CF", &[]),
    ("cargo", "", &["--config"]),
    ("deno", "", &["--eval"]),
    ("emacs", "", &["--eval", "-eval", "--execute", "--funcall"]),
    ("ex", "c", &["--cmd"]),
    ("expect", "c", &[]),
    ("fd", "xX", &["--exec", "--exec-batch"]),
    ("flock", "c", &["--command"]),
    ("gdb", "", &["-ex", "-iex", "--ex", "--eval-command"]),
    ("go", "", &["-toolexec", "-exec", "-vettool"]),
    ("hash", "p", &[]),
    ("lua", "el", &[]),
    ("mapfile", "C", &[]),
    ("readarray", "C", &[]),
    ("npx", "c", &["--call"]),
    ("npm", "c", &["--call"]),
    ("make", "", &["--eval"]),
    ("gmake", "", &["--eval"]),
    ("man", "PH", &["--pager", "--html"]),
    ("nc", "ec", &["--exec", "--sh-exec"]),
    ("node", "epr", &["--eval", "--print", "--require", "--import"]),
    ("nvim", "cS", &["--cmd"]),
    ("perl", "eE", &[]),
    ("php", "r", &["--run"]),
    ("python", "c", &[]),
    ("rg", "", &["--pre", "--hostname-bin"]),
    ("rsync", "e", &["--rsh", "--rsync-path"]),
    ("ruby", "er", &[]),
    ("scp", "So", &[]),
    ("script", "c", &["--command"]),
    ("sftp", "SoD", &[]),
    ("sort", "", &["--compress-program"]),
    ("split", "", &["--filter"]),
    ("sqlite3", "", &["-cmd"]),
    ("ssh", "o", &[]),
    ("su", "c", &["--command", "--session-command"]),
    ("tar", "IF", &TAR),
    ("vi", "cS", &["--cmd"]),
    ("vim", "cS", &["--cmd"]),
    ("wget", "e", &["--use-askpass", "--execute"]),
    ("zip", "", &["-TT", "--unzip-command"]),
];

const TAR: [&str; 7] = [
    "--use-compress-program",
    "--checkpoint-action",
    "--to-command",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
];

/// Of these the programs whose values are lines for a shell.
pub(crate) const RUN_LINES: [&str; 17] = [
    "bind",
    "compgen",
    "complete",
    "flock",
    "man",
    "mapfile",
    "nc",
    "npm",
    "npx",
    "readarray",
    "rsync",
    "script",
    "sort",
    "split",
    "su",
    "tar",
    "zip",
];

/// Programs that run code they read from their input, unless a file is named or an option gives it.
pub(crate) const RUN_INPUT: [&str; 16] = [
    "ed", "ex", "vi", "vim", "nvim", "view", "gdb", "sqlite3", "psql", "mysql", "m4", "dc", "ftp", "gnuplot", "expect",
    "tclsh",
];

/// Programs that run a program or a script that they are given by name.
const RUN_A_FILE: [&str; 14] = [
    "source",
    ".",
    "python",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "deno",
    "bun",
    "tclsh",
    "expect",
    "osascript",
    "hash",
];

/// Subcommands, and programs of their own, behind which a program is named.
pub(crate) const RUNNERS: [(&str, &[&str]); 44] = [
    ("bwrap", &[]),
    ("caffeinate", &[]),
    ("ccache", &[]),
    ("chpst", &[]),
    ("cpulimit", &[]),
    ("daemonize", &[]),
    ("dbus-run-session", &[]),
    ("dumb-init", &[]),
    ("firejail", &[]),
    ("genv", &[]),
    ("gnice", &[]),
    ("gosu", &[]),
    ("gtimeout", &[]),
    ("numactl", &[]),
    ("perf", &["stat", "record", "trace"]),
    ("prlimit", &[]),
    ("proot", &[]),
    ("rlwrap", &[]),
    ("setarch", &[]),
    ("tini", &[]),
    ("valgrind", &[]),
    ("xvfb-run", &[]),
    ("asdf", &["exec"]),
    ("bundle", &["exec"]),
    ("bunx", &[]),
    ("conda", &["run"]),
    ("entr", &[]),
    ("gem", &["exec"]),
    ("hatch", &["run"]),
    ("mise", &["exec", "x"]),
    ("npm", &["exec", "x"]),
    ("npx", &[]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("screen", &[]),
    ("tmux", &["new", "new-session", "new-window", "split-window", "send-keys", "send"]),
    ("uv", &["run", "tool"]),
    ("uvx", &[]),
    ("yarn", &["exec", "dlx"]),
];

/// Programs that make a text out of another.
pub(crate) const TRANSFORMERS: [&str; 22] = [
    "rev", "tr", "base64", "base32", "basenc", "xxd", "od", "printf", "sed", "awk", "gawk", "mawk", "perl", "python",
    "python3", "ruby", "node", "openssl", "cut", "gzip", "expr", "jq",
];

/// Whether a program runs the file that it is given by name.
pub(crate) fn runs_a_file(name: &str) -> bool {
    is_shell(name) || RUN_A_FILE.iter().any(|program| name.strip_prefix(*program).is_some_and(is_version))
}

fn is_version(rest: &str) -> bool {
    rest.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The options of a program whose value it runs: letters of short ones, and long ones.
pub(crate) fn options_of(name: &str) -> (&'static str, &'static [&'static str]) {
    let is_it = |program: &str| name == program || name.strip_prefix(program).is_some_and(is_version);
    let found = OPTIONS.iter().find(|(program, _, _)| is_it(program));
    found.map_or(("", &[]), |(_, letters, longs)| (*letters, *longs))
}
