//! Commands that change a file whose changes are always asked for.

use super::super::rng::Rng;
use super::{Stage, filled};
use super::targets::simple;

/// `F` is the file, `G` the folder that it is in, `a.txt` and `src/config` are others.
const WRITERS: &[&str] = &[
    "echo x > F", "echo x >> F", "echo x >| F", "echo x &> F", "echo x &>> F", "> F", ": > F", "cat a.txt > F", "exec 3> F; echo x >&3", "echo x 3>&1 1> F", "{ echo x; } > F",
    "printf x > F", "if true; then echo x; fi > F", "cat > F <<E\nx\nE", "cat <<<x > F", "echo x <> F 1<>F", "(echo x) >F", "f() { echo x; } > F; f",
    "tee F <<<x", "echo x | tee -a F", "echo x | tee a.txt F", "cp a.txt F", "cp -f a.txt F", "cp src/config -t G", "cp -tG src/config", "cp -vt G src/config", "cp -atG src/config", "cp --target-directory=G src/config", "cp -r src/. G",
    "cp --no-target-directory a.txt F", "mv a.txt F", "mv -t G src/config", "mv F out", "install a.txt F", "install -m 755 a.txt F", "install -D a.txt F", "install -t G src/config", "ln -sf a.txt F", "ln -f a.txt F", "ln -s ../a.txt G/new",
    "dd of=F if=a.txt", "dd if=a.txt of=F status=none", "truncate -s 0 F", "truncate -s0 F", "touch G/new", "mkdir G/new", "mkfifo G/new", "rm F", "rm -f F", "rm -r G", "rmdir G/hooks", "unlink F",
    "sed -i s/a/b/ F", "sed -i.bak 1d F", "sed -n 'w F' a.txt", "sed --in-place 1d F", "perl -i -pe s/a/b/ F", "perl -pi -e s/./b/ F", "awk '{ print > \"F\" }' a.txt", "awk 'BEGIN { print 1 >> \"F\" }'",
    "perl -e 'open O, \">F\"; print O 1'", "ed -s F <<<$'1d\\nw'", "vim -es -u NONE -c 'w! F' -c 'qa!' a.txt", "vim -es -u NONE F -c 'normal ox' -c wq", "ex -s F -c 1d -c wq",
    "sort -o F a.txt", "sort -oF a.txt", "sort --output=F a.txt", "uniq a.txt F", "split a.txt G/x", "split -l 1 a.txt G/", "csplit -f G/x a.txt 1", "xxd a.txt F", "xxd -r a.txt F", "base64 a.txt > F",
    "tar cf F a.txt", "tar -cf F a.txt", "tar cf - a.txt | tar xf - -C G", "tar c a.txt | tar xC G", "zip -q F.zip a.txt", "zip -q - a.txt > F", "gzip -c a.txt > F", "gzip F", "openssl rand -out F 9", "openssl base64 -in a.txt -out F",
    "curl -s -o F file://@W@/home/notes.txt", "curl -so F file://@W@/home/notes.txt", "curl -s file://@W@/home/notes.txt -D F", "curl -s --output-dir G -O file://@W@/home/notes.txt", "curl -T a.txt file://F", "wget -o F x", "wget -qO F x",
    "patch F <<<$'1d0\\n< x'", "find . -maxdepth 1 -name a.txt -exec cp {} F \\;", "find a.txt -fprint F", "find a.txt -fprintf F x", "find F -delete", "find G -name config -delete", "find . -name config -exec sed -i 1d {} +",
    "cd G && echo x > config", "cd G; touch new", "cd G && cp ../a.txt new", "pushd G && touch new", "(cd G; rm config)", "env -C G touch new", "echo a.txt | xargs -I{} cp {} F", "echo F | xargs touch -d now", "echo F | xargs rm",
    "ln -s G l; touch l/new", "ln -s F l; echo x > l", "strings a.txt > F", "shuf -o F a.txt", "iconv -o F a.txt", "fmt a.txt > F", "time -o F true", "/usr/bin/time -o F true", "script -qc true F", "strace -o F true", "flock F true", "flock G/new true",
    "make -f /dev/null --eval='all: ; touch F'", "m4 <<<\"syscmd(touch G/new)\"", "cpio -pd G <<<a.txt", "read x > F", "trap 'echo x > F' EXIT", "coproc tee F <<<x; wait", "mapfile < a.txt; printf %s \"${MAPFILE[@]}\" > F", "set -o noclobber; echo x >| F",
    "{fd}>F true", "exec {fd}>>F; echo x >&$fd", "echo x > >(cat > F); sleep 0.05", "cat a.txt | dd of=F", "logger -s x 2> F", "nohup echo x > F", "tee -a F < a.txt", "rename config x F", "tar xf <(tar c a.txt) -C G", "tar --directory=G -xf <(tar c a.txt)", "unzip -qd G out.zip", "chmod +x F; rm F",
];

const PATHS: &[(&str, &str)] = &[
    (".git/config", ".git"), (".git/hooks/pre-push", ".git/hooks"), ("~/.bashrc", ".git"), ("./.git/config", "./.git/"), (".git//config", ".git/."),
    ("src/../.git/config", "src/../.git"), ("$PWD/.git/config", "$PWD/.git"), ("$HOME/.profile", "@W@/home/project/.git"), ("../.bashrc", "../project/.git"), ("@W@/home/.bashrc", "/proc/self/cwd/.git"), (".envrc", ".git"),
    (".g*/config", ".g*"), (".git/con?ig", ".gi[t]"), (".g\"\"it/config", ".g''it"), ("~root/.bashrc", "\\.git"), ("${HOME%/}/.bashrc", "${PWD}/.git"), (".git/{config,x}", "{.git,}"), ("$(echo .git/config)", "$(echo .git)"), ("/proc/self/cwd/.git/config", "/proc/self/cwd/.git"),
];

pub(super) fn size() -> usize {
    WRITERS.len() * 2 + PATHS.len()
}

pub(super) fn make(at: usize, rng: &mut Rng) -> (&'static str, Stage, String) {
    let (template, (file, folder)) = match at {
        at if at < WRITERS.len() => (WRITERS[at], PATHS[0]),
        at if at < WRITERS.len() + PATHS.len() => ("echo x > F", PATHS[at - WRITERS.len()]),
        _ => (*rng.pick(WRITERS), *rng.pick(PATHS)),
    };
    let name = if file == PATHS[0].0 { template.to_owned() } else { format!("{template}, as {file}") };
    let whole = match file {
        ".git/config" if template.contains("://F") => "@W@/home/project/.git/config",
        "~/.bashrc" | "~root/.bashrc" if template.contains("\"") || template.contains('=') => "../.bashrc",
        file => file,
    };
    let line = filled(&filled(template, 'F', whole), 'G', folder);
    let is_simple = !template.contains(['\'', '"', '|', ';', '<', '>', '$', '&', '(', '{', '\n']);
    ("Bash", if is_simple { simple(&line) } else { Stage::Script(line) }, name)
}
