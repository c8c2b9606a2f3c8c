//! Commands that remove the home, the root or what lies right below it.

use std::sync::LazyLock;

use super::super::rng::Rng;
use super::targets::simple;
use super::{Stage, filled};

/// `D` is a folder that must stay.
const REMOVERS: &[&str] = &[
    "rm -rf D",
    "rm -r -f D",
    "rm -fr -- D",
    "rm --recursive --force D",
    "rm -Rfv D",
    "rm -rf --no-preserve-root D",
    "rm -rf a.txt D",
    "rm -rf D/*",
    "rm -rf D/*/ D/*.*",
    "rm -rf D/?*",
    "rm -rf D/* D/.[!.]*",
    "rm -rf D/{*,.*}",
    "rm -rf D/[a-z]*",
    "rm -rf D/**",
    "rm -rf D/",
    "rm -rf D//",
    "rm -rf D/.//*",
    "rm -rf \"D\"/*",
    "find D -delete",
    "find D -mindepth 1 -delete",
    "find D -type f -delete",
    "find D -depth -exec rm -rf {} \\;",
    "find D -exec rm -rf {} +",
    "find D -maxdepth 1 -exec rm -r {} \\;",
    "find D/* -delete",
    "find D -type f -print0 | xargs -0 rm",
    "find D -type f | xargs rm -f",
    "find D -type f -exec unlink {} \\;",
    "mv D /tmp/x",
    "mv D x",
    "mv D ../../x",
    "mv D/* /tmp",
    "mv -t /tmp D/*",
    "mv D @W@/x",
    "mv -T D @W@/x",
    "cd D && rm -rf *",
    "cd D; rm -rf ./*",
    "cd D && rm -rf -- * .[!.]*",
    "cd D && find . -delete",
    "cd D && find . -mindepth 1 -delete",
    "(cd D && rm -rf *)",
    "pushd D && rm -r ./*",
    "cd D\nrm -rf *",
    "env -C D find . -delete",
    "env -C D sh -c 'rm -rf *'",
    "env --chdir=D find -delete",
    "ls -A D | (cd D; xargs rm -rf)",
    "ls -d D/* | xargs rm -rf",
    "echo D/* | xargs rm -rf",
    "printf '%s\\0' D/* | xargs -0 rm -rf",
    "echo D | xargs rm -rf",
    "xargs rm -rf <<<D",
    "for f in D/*; do rm -rf \"$f\"; done",
    "while read -r f; do rm -rf \"$f\"; done < <(ls -d D/*)",
    "x=D; rm -rf $x",
    "x=D; rm -rf ${x}/*",
    "x=D; rm -rf \"$x\"/*",
    "a=(D/*); rm -rf \"${a[@]}\"",
    "set -- D/*; rm -rf \"$@\"",
    "rm -rf $(echo D)",
    "rm -rf `echo D`",
    "f() { rm -rf \"$1\"; }; f D",
    "eval rm -rf D",
    "bash -c 'rm -rf \"$1\"' _ D",
    "tar cf /dev/null --remove-files D",
    "rsync -a --delete src/ D/",
    "perl -e 'system(\"rm -rf D\")'",
    "find D -exec sh -c 'rm -rf \"$1\"' _ {} \\;",
    "sudo rm -rf D",
    "sudo find D -delete",
    "busybox rm -rf D",
    "trap 'rm -rf D' EXIT",
    "rm -rf D &",
    "mv D /dev/shm/x || mv D /tmp/x",
    "for x in D; do find $x -delete; done",
    "shopt -s dotglob; rm -rf D/*",
    "unlink D/x; rm -rf D/*",
    "ln -s D l; rm -rf l/*",
    "ln -s D l; find l/ -delete",
    "chmod -R 0 D; rm -rf D/*",
];

const PLACES: &[&str] = &[
    "~",
    "$HOME",
    "\"$HOME\"",
    "${HOME}",
    "${HOME%/}",
    "${HOME:?}",
    "${HOME:-x}",
    "~/",
    "~/.",
    "~root",
    "@W@/home",
    "@W@/home/",
    "..",
    "../",
    "../../home",
    "../.",
    "../../../..@W@/home",
    "$PWD/..",
    "~+/..",
    "$(dirname $PWD)",
    "`cd; pwd`",
    "$(echo ~)",
    "@W@",
    "@W@/h*",
    "@W@/{home,x}",
    "/proc/self/root@W@/home",
    "/proc/self/cwd/..",
    "/proc/self/cwd/../../home",
    "${PWD%/*}",
    "/home",
    "/opt",
    "/srv/",
    "/home/",
    "//home",
    "/./opt",
    "/{opt,srv}",
    "/o?t",
    "/proc/self/root/home",
    "/tmp/../opt",
    "/",
    "/.",
    "//",
    "/proc/self/root",
    "/usr/..",
];

/// From another folder the name of what is critical is short.
static ELSEWHERE: LazyLock<Vec<&str>> =
    LazyLock::new(|| SHORT.iter().copied().chain(include_str!("removals.txt").lines()).collect());

const SHORT: &[&str] = &[
    "env -C / rm -rf home",
    "env -C / find opt -delete",
    "env --chdir=/ rm -rf srv",
    "cd / && rm -rf home",
    "cd /; rm -rf opt",
    "cd /; rm -rf ./*",
    "pushd /; rm -rf home",
    "cd .. && rm -rf *",
    "cd ..; find . -delete",
    "cd ../..; rm -rf home",
    "env -C .. sh -c 'rm -rf *'",
    "cd; rm -rf *",
    "cd; find . -mindepth 1 -delete",
    "cd ~; rm -rf $PWD",
    "cd && rm -rf ./*",
    "env -C / mv home tmp/x",
    "cd / && mv opt tmp/x",
    "cd - ; cd ..; rm -rf docs photo.jpg notes.txt project",
    "sudo env -C / rm -rf home",
    "(cd /; rm -r home)",
    "cd /tmp/..; rm -rf opt",
    "cd /usr/..; rm -rf opt",
    "tar -C / -cf /dev/null --remove-files home",
    "find -L /home /opt -delete",
    "cd /;ls | grep -x opt | xargs rm -rf",
    "sh -c 'cd /; rm -rf home'",
    "CDPATH=/; cd opt; rm -rf *",
    "set -- /; cd $1; rm -rf home",
];

/// What every place is tried with.
const PLAIN: [&str; 3] = ["rm -rf D", "find D -delete", "mv D /tmp/x"];

pub(super) fn size() -> usize {
    REMOVERS.len() * 2 + PLACES.len() * PLAIN.len() + ELSEWHERE.len()
}

/// One command for each way in which folders are removed.
pub(super) fn plain() -> Vec<usize> {
    let plain = ["rm -rf D", "find D -delete", "mv D @W@/x", "cd D && rm -rf *"];
    plain.into_iter().filter_map(|plain| REMOVERS.iter().position(|template| *template == plain)).collect()
}

pub(super) fn make(at: usize, rng: &mut Rng) -> (&'static str, Stage, String) {
    let (removers, places) = (REMOVERS.len(), PLACES.len() * PLAIN.len());
    let (template, place) = match at {
        at if at < removers => (REMOVERS[at], PLACES[0]),
        at if at < removers + places => (PLAIN[(at - removers) % PLAIN.len()], PLACES[(at - removers) / PLAIN.len()]),
        at if at < removers + places + ELSEWHERE.len() => (ELSEWHERE[at - removers - places], ""),
        _ => (*rng.pick(REMOVERS), *rng.pick(PLACES)),
    };
    let name = if matches!(place, "" | "~") { template.to_owned() } else { format!("{template}, D as {place}") };
    let line = if place.is_empty() { template.to_owned() } else { filled(template, 'D', place) };
    let is_simple = !template.contains(['\'', '"', '|', ';', '<', '>', '$', '&', '(', '\n'])
        && !line.contains(['"', ' ', '`'])
        || template == "rm -rf D" && !line.contains("$(");
    ("Bash", if is_simple { simple(&line) } else { Stage::Script(line) }, name)
}
