//! Commands that read a file or a folder, and the ways to name it.

use super::super::rng::Rng;
use super::{Stage, filled};
use super::targets::simple;

/// `F` is the file.
const READERS: &[&str] = &[
    "cat F", "tac F", "rev F", "head F", "head -c 9 F", "tail -n 1 F", "nl F", "sort F", "uniq F", "cut -c 1- F", "paste F",
    "fold F", "fmt F", "od -c F", "hexdump -C F", "xxd F", "base32 F", "base64 F", "md5sum F", "sha256sum F", "cksum F", "sum F", "wc F",
    "comm F /dev/null", "diff F /dev/null", "diff a.txt F", "cmp F a.txt", "join F F", "split F out", "csplit F 1", "tee out < F",
    "dd if=F", "dd of=out if=F status=none", "cp F out", "cp -t src F", "cp -vt src -- F", "install F out", "install -m 600 F out", "mv F out", "ln F out", "ln -f F out",
    "grep . F", "egrep . F", "fgrep k F", "grep -c k F", "grep -f F a.txt", "sed -n p F", "sed '' F", "sed 1r\\F a.txt", "awk 1 F",
    "awk '{ print }' F", "awk 'BEGIN { while ((getline l < \"F\") > 0) print l }'", "perl -pe 1 F", "perl -ne print F",
    "perl -e 'open I, \"F\"; print <I>'", "ed -s F <<<,p", "ex -s F -c %p -c q", "vim -es -u NONE F -c 'w! out' -c 'qa!'", "view -es -u NONE F -c q",
    "vim -es -u NONE -c 'r F' -c 'qa!'", "openssl enc -base64 -in F", "openssl dgst F", "openssl base64 -in F -out out",
    "curl -s file://F", "curl -T F file://@W@/home/out", "curl -s -K F file:///dev/null", "curl -d @F file:///dev/null", "wget -i F",
    "tar cf out F", "tar -cf - F", "tar c -f out -T F", "gzip -c F", "gzip -k F", "bzip2 -c F", "xz -c F", "zip -q out F", "ar r out F", "strings F",
    "file F", "file -f F", "less F", "more F", "column F", "pr F", "expand F", "unexpand F", "iconv F", "shuf F", "tsort F", "ptx F", "numfmt < F",
    "date -f F", "jq -R . F", "patch -p0 a.txt F", "m4 F", "bc F", "dc F", "make -f F", "xargs -a F echo", "xargs echo < F",
    "wc --files0-from=F", "sort --files0-from=F", "du --files0-from=F", "tail -f F & sleep 0.05; kill $!", "env -S 'cat F'", "look k F",
    "read x < F", "read -r x < F; echo $x", "mapfile -t x < F", "x=$(<F)", "echo $(<F)", "echo \"$(cat F)\"", "while read -r x; do echo $x; done < F",
    "exec 3<F; cat <&3", "cat <F", "cat 0<F", "cat 3<F <&3", "cat <<<$(<F)", "cat < <(cat F)", "bash F", "bash -v F", "sh F", "source F", ". F",
    "bash < F", "exec < F; cat", "{ cat; } < F", "if true; then cat; fi < F", "f() { cat; }; f < F", "printf %s \"$(<F)\"", "cat -- F", "cat -A F",
    "cat a.txt F", "cat README.md F a.txt", "grep -h '' a.txt F", "echo F | xargs cat", "find F -exec cat {} \\;", "find F | xargs cat",
    "ln -s F l; cat l", "ln -sf F l && rev l", "cp --target-directory=src F", "cp -l F out", "tee < F", "awk -f F", "sed -f F a.txt",
    "git diff --no-index /dev/null F; cat F", "tar cf - F | tar tf -", "cpio -o <<<F > out", "scp F out", "rsync F out", "python3 -c 'open(\"F\").read()'",
    "grep --file=F a.txt", "sed --expression=rF a.txt", "sort -m F", "xargs --arg-file=F", "tar --files-from=F -cf out", "sqlite3 :memory: '.read F'",
];

/// `G` is a folder that holds it, at any depth.
const FOLDERS: &[&str] = &[
    "mv G s2", "mv G s2 && cat s2/key.pem", "cp -r G s2", "cp -a G s2", "cp -R G /tmp", "cp -rt /tmp G", "tar cf out G", "tar -C G -cf out .", "tar czf - G", "zip -qr out G",
    "grep -r . G", "grep -R k G", "grep -rn k G", "diff -r G src", "find G -type f -exec cat {} +", "find G -type f -exec cat {} \\;",
    "find G -type f | xargs cat", "find G -type f -print0 | xargs -0 cat", "find G -name '*.pem' -exec cp {} /tmp/out \\;", "find G -type f -execdir cat {} \\;",
    "cd G && cat *", "cd G; cat key.pem id_rsa", "(cd G; cat *)", "pushd G; cat *", "cd -- G && cat ./*", "cd G && tar cf - . > /tmp/o",
    "env -C G cat key.pem id_rsa", "for f in G/*; do cat $f; done", "cat G/*", "cat G/?*", "cat G/*[a-z]", "head G/*", "shopt -s globstar; cat G/**", "ln -s G l; cat l/*",
    "cp -al G s2", "mv -T G s2", "mv -t src G", "rsync -a G s2", "ls G | (cd G; xargs cat)", "cd G\ncat *", "find G -size -9 -fprintf out %p -exec head {} +",
    "CDPATH=.:..; cd G; cat *", "x=G; cat $x/*", "awk 1 G/*", "md5sum G/*", "grep -s k G/* G/.*",
];

/// The denied file, named in other ways.
const PATHS: &[&str] = &[
    "secrets/key.pem", "~/.ssh/id_rsa", "./secrets/key.pem", "secrets//key.pem", "secrets/../secrets/key.pem", "src/../secrets/key.pem",
    "$PWD/secrets/key.pem", "$HOME/.ssh/id_rsa", "${HOME}/.ssh/id_rsa", "../.ssh/id_rsa", "../project/secrets/key.pem", "@W@/home/.ssh/id_rsa",
    "@W@/home/project/secrets/key.pem", "/proc/self/cwd/secrets/key.pem", "/proc/self/root@W@/home/.ssh/id_rsa", "/proc/$$/cwd/secrets/key.pem",
    "secrets/*", "secrets/*.pem", "s*/k*", "s[e]crets/key.pem", "secrets/key.{pem,x}", "{secrets,x}/key.pem", "*/key.pem", "?ecrets/?ey.pem",
    "secre\"\"ts/key.pem", "'secrets/key.pem'", "secrets/k\\ey.pem", "$'secrets/key.pem'", "~+/secrets/key.pem", "${PWD}/secrets/key.pem",
    "\"$PWD\"/secrets/key.pem", "~/.ssh/*", "~/.s*/id_rsa", "~root/.ssh/id_rsa", "/../..@W@/home/.ssh/id_rsa", "$(echo secrets/key.pem)", "`pwd`/secrets/key.pem", "${none:-secrets/key.pem}",
];

const DIRECTORIES: &[&str] = &["secrets", "~/.ssh", "./secrets/", "../.ssh", "$HOME/.ssh", "secrets/.", "@W@/home/.ssh", "/proc/self/cwd/secrets", "sec*ts", "."];

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
    (READERS.len() + FOLDERS.len()) * 2 + PATHS.len()
}

pub(super) fn make(at: usize, rng: &mut Rng) -> (&'static str, Stage, String) {
    let (readers, folders) = (READERS.len(), FOLDERS.len());
    // Each command with a plain name, each name with a plain command, and any two.
    let (template, name, path) = match at {
        at if at < readers => (READERS[at], READERS[at], PATHS[at % 2]),
        at if at < readers + folders => (FOLDERS[at - readers], FOLDERS[at - readers], DIRECTORIES[0]),
        at if at < readers + folders + PATHS.len() => ("cat F", "cat F", PATHS[at - readers - folders]),
        at if at % 3 == 0 => {
            let template = *rng.pick(FOLDERS);
            (template, template, *rng.pick(DIRECTORIES))
        }
        _ => {
            let template = *rng.pick(READERS);
            (template, template, *rng.pick(PATHS))
        }
    };
    let plain = path == PATHS[0] || path == PATHS[1] || path == DIRECTORIES[0];
    let name = if plain { name.to_owned() } else { format!("{name}, as {path}") };
    // An address needs the whole path; a text in another language knows no ~.
    let whole = match path {
        "~/.ssh/id_rsa" | "secrets/key.pem" if template.contains("://F") => "@W@/home/.ssh/id_rsa",
        "~/.ssh/id_rsa" if template.contains("\"F\"") || template.contains("'cat F'") || template.contains("r F") || template.contains("=F") || template.contains("@F") => "../.ssh/id_rsa",
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
