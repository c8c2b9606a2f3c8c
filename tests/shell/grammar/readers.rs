//! Commands that read a file or a folder, and the ways to name it.

use std::sync::LazyLock;

use super::super::rng::Rng;
use super::targets::simple;
use super::{Stage, filled};

/// `F` is the file.
static READERS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("readers.txt").lines().collect());

/// `G` is a folder that holds it, at any depth.
static FOLDERS: LazyLock<Vec<&str>> =
    LazyLock::new(|| SHORT.iter().copied().chain(include_str!("folders.txt").lines()).collect());

const SHORT: &[&str] = &[
    "mv G s2",
    "mv G s2 && cat s2/key.pem",
    "cp -r G s2",
    "cp -a G s2",
    "cp -R G /tmp",
    "cp -rt /tmp G",
    "tar cf out G",
    "tar -C G -cf out .",
    "tar czf - G",
    "zip -qr out G",
    "grep -r . G",
    "grep -R k G",
    "grep -rn k G",
    "diff -r G src",
    "find G -type f -exec cat {} +",
    "find G -type f -exec cat {} \\;",
    "find G -type f | xargs cat",
    "find G -type f -print0 | xargs -0 cat",
    "find G -name '*.pem' -exec cp {} /tmp/out \\;",
    "find G -type f -execdir cat {} \\;",
    "cd G && cat *",
    "cd G; cat key.pem id_rsa",
    "(cd G; cat *)",
    "pushd G; cat *",
    "cd -- G && cat ./*",
    "cd G && tar cf - . > /tmp/o",
    "env -C G cat key.pem id_rsa",
    "for f in G/*; do cat $f; done",
    "cat G/*",
    "cat G/?*",
    "cat G/*[a-z]",
    "head G/*",
    "shopt -s globstar; cat G/**",
    "ln -s G l; cat l/*",
    "cp -al G s2",
    "mv -T G s2",
    "mv -t src G",
    "rsync -a G s2",
    "ls G | (cd G; xargs cat)",
    "cd G\ncat *",
    "find G -size -9 -fprintf out %p -exec head {} +",
    "CDPATH=.:..; cd G; cat *",
    "x=G; cat $x/*",
    "awk 1 G/*",
    "md5sum G/*",
    "grep -s k G/* G/.*",
    "git grep --untracked k -- G",
    "git grep --no-index k G",
    "git -C G grep --no-index k",
    "git grep --no-index k ':(glob)G/**'",
    "git diff --no-index G src",
    "git diff --no-index src G",
    "find G -type f | cpio -o > out",
    "find G -type f | tar cf out -T -",
    "find G -type f -print0 | tar cf out --null --files-from=-",
    "find G -type f -print0 | wc --files0-from=-",
    "find G -type f -print0 | sort --files0-from=-",
    "find G -type f | while read -r f; do cat \"$f\"; done",
    "find G -type f | git hash-object --stdin-paths",
    "ls G/* | xargs head -n 1",
    "cd G && git grep --no-index k",
    "cd G && grep -r k",
    "cd G && xargs cat <<<'key.pem id_rsa'",
    "cd G && for f in ./*; do cat $f; done",
    "pushd G && tar cf - * > /tmp/o",
    "cd G && cd . && cat *",
    "cd G/../G && cat *",
    "zip -qr - G > out",
    "grep -re k G",
    "grep --recurs k G",
    "cp --recurs G s2",
    "tar --creat --fil=out G",
    "diff --recurs G src",
];

/// The denied file, named in other ways.
const PATHS: &[&str] = &[
    "secrets/key.pem",
    "~/.ssh/id_rsa",
    "./secrets/key.pem",
    "secrets//key.pem",
    "secrets/../secrets/key.pem",
    "src/../secrets/key.pem",
    "$PWD/secrets/key.pem",
    "$HOME/.ssh/id_rsa",
    "${HOME}/.ssh/id_rsa",
    "../.ssh/id_rsa",
    "../project/secrets/key.pem",
    "@W@/home/.ssh/id_rsa",
    "@W@/home/project/secrets/key.pem",
    "/proc/self/cwd/secrets/key.pem",
    "/proc/self/root@W@/home/.ssh/id_rsa",
    "/proc/$$/cwd/secrets/key.pem",
    "secrets/*",
    "secrets/*.pem",
    "s*/k*",
    "s[e]crets/key.pem",
    "secrets/key.{pem,x}",
    "{secrets,x}/key.pem",
    "*/key.pem",
    "?ecrets/?ey.pem",
    "secre\"\"ts/key.pem",
    "'secrets/key.pem'",
    "secrets/k\\ey.pem",
    "$'secrets/key.pem'",
    "~+/secrets/key.pem",
    "${PWD}/secrets/key.pem",
    "\"$PWD\"/secrets/key.pem",
    "~/.ssh/*",
    "~/.s*/id_rsa",
    "~root/.ssh/id_rsa",
    "/../..@W@/home/.ssh/id_rsa",
    "$(echo secrets/key.pem)",
    "`pwd`/secrets/key.pem",
    "${none:-secrets/key.pem}",
    "/proc/self/root$PWD/secrets/key.pem",
    "/proc/1/root$HOME/.ssh/id_rsa",
    "/proc/thread-self/root${PWD}/secrets/key.pem",
    "/proc/$BASHPID/root\"$(pwd)\"/secrets/key.pem",
    "/proc/self/task/$$/root$PWD/secrets/key.pem",
    "/proc/self/c?d/secrets/key.pem",
    "${PWD%/*}/project/secrets/key.pem",
    "${HOME%/*}/home/.ssh/id_rsa",
    "/${PWD#/}/secrets/key.pem",
    "${PWD:0}/secrets/key.pem",
    "${PWD/project/project}/secrets/key.pem",
    "/proc/$BASHPID/root${PWD%/*}/.ssh/id_rsa",
];

const DIRECTORIES: &[&str] = &[
    "secrets",
    "~/.ssh",
    "./secrets/",
    "../.ssh",
    "$HOME/.ssh",
    "secrets/.",
    "@W@/home/.ssh",
    "/proc/self/cwd/secrets",
    "sec*ts",
    "s*s",
    "*ets/",
    "[s]ecrets",
    "{secrets,x}",
    "../*/secrets",
    "~/.s*",
    ".",
];

/// What every folder is tried with.
const IN_FOLDERS: [&str; 3] = ["cat G/*", "cd G && cat *", "grep -r . G"];

/// Other tools than Bash, with the line that does the same.
const TOOLS: &[(&str, &str)] = &[
    ("Grep", r#"{"pattern": ".", "path": "secrets", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": ".", "path": "./secrets/", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": ".", "path": "@W@/home/.ssh", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": ".", "path": "secrets/key.pem", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": ".", "path": "src/../secrets", "output_mode": "content"}"#),
    ("Read", r#"{"file_path": "@W@/home/.ssh/id_rsa"}"#),
    ("Read", r#"{"file_path": "@W@/home/project/src/../secrets/key.pem"}"#),
    ("Read", r#"{"file_path": "@W@/home/project/secrets/key.pem"}"#),
];

pub(super) fn size() -> usize {
    (READERS.len() + FOLDERS.len()) * 2 + PATHS.len() + DIRECTORIES.len() * IN_FOLDERS.len()
}

/// One command for a file, one for a folder, and one for each with a pattern.
pub(super) fn plain() -> Vec<usize> {
    let (readers, folders) = (READERS.len(), FOLDERS.len());
    let folder = |name: &str| FOLDERS.iter().position(|template| *template == name).map(|at| readers + at);
    let pattern = PATHS.iter().position(|path| *path == "s*/k*").map(|at| readers + folders + at);
    [Some(0), folder("cd G && cat *"), folder("grep -r . G"), pattern].into_iter().flatten().collect()
}

pub(super) fn make(at: usize, rng: &mut Rng) -> (&'static str, Stage, String) {
    let (readers, folders) = (READERS.len(), FOLDERS.len());
    // Each command with a plain name, each name with a plain command, and any two.
    let (template, name, path) = match at {
        at if at < readers => (READERS[at], READERS[at], PATHS[at % 2]),
        at if at < readers + folders => (FOLDERS[at - readers], FOLDERS[at - readers], DIRECTORIES[0]),
        at if at < readers + folders + PATHS.len() => ("cat F", "cat F", PATHS[at - readers - folders]),
        at if at < readers + folders + PATHS.len() + DIRECTORIES.len() * IN_FOLDERS.len() => {
            let at = at - readers - folders - PATHS.len();
            let template = IN_FOLDERS[at % IN_FOLDERS.len()];
            (template, template, DIRECTORIES[at / IN_FOLDERS.len()])
        }
        at if at % 3 == 0 => {
            let template = *rng.pick(&FOLDERS);
            (template, template, *rng.pick(DIRECTORIES))
        }
        _ => {
            let template = *rng.pick(&READERS);
            (template, template, *rng.pick(PATHS))
        }
    };
    let plain = path == PATHS[0] || path == PATHS[1] || path == DIRECTORIES[0];
    let name = if plain { name.to_owned() } else { format!("{name}, as {path}") };
    // An address needs the whole path; a text in another language knows no ~.
    let whole = match path {
        "~/.ssh/id_rsa" | "secrets/key.pem" if template.contains("://F") => "@W@/home/.ssh/id_rsa",
        "~/.ssh/id_rsa"
            if template.contains("\"F\"")
                || template.contains("'cat F'")
                || template.contains("r F")
                || template.contains("=F")
                || template.contains("@F") =>
        {
            "../.ssh/id_rsa"
        }
        path => path,
    };
    let line = filled(&filled(template, 'F', whole), 'G', path);
    let is_simple = !template.contains(['\'', '"', '|', ';', '<', '$', '&', '(', '{', '\n']);
    ("Bash", if is_simple { simple(&line) } else { Stage::Script(line) }, name)
}

pub(super) fn tools() -> usize {
    TOOLS.len()
}

pub(super) fn make_tool(at: usize, _: &mut Rng) -> (&'static str, Stage, String) {
    let (tool, input) = TOOLS[at];
    (tool, Stage::Script(input.to_owned()), format!("{tool} {input}"))
}
