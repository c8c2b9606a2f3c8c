//! What decides about calls, as a whole: our configuration, state and program, Claude Code's folder, and the folders above
//! them.

use super::*;
use Decision::{Allow, Ask};

/// A home in which everything of ours lies where it usually does.
fn at_home() -> Context {
    let ours = [".config/portcullis", ".local/state/portcullis", ".local/bin/portcullis"];
    Context { ours: ours.map(|place| format!("/home/ann/{place}")).to_vec(), ..context() }
}

#[track_caller]
fn check_lines(context: &Context, expected: Decision, lines: &[&str]) {
    let rules = rules(&["allow Bash"]);
    let mut wrong = vec![];
    for mode in [Mode::Default, Mode::BypassPermissions] {
        for line in lines {
            let call = call(&format!("Bash {line}")).followed(context, |path| Some(path.to_owned()));
            let ruling = decide(&rules, mode, context, &call);
            if ruling.decision != expected {
                wrong.push(format!("{mode:?}: {line}: {:?}, not {expected:?} ({})", ruling.decision, ruling.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each way to take a folder away, or to give it other rights, with `DIR` for the folder.
const TAKING: [&str; 37] = [
    "mv DIR /tmp/x",
    "mv -t /tmp DIR",
    "mv -T DIR elsewhere",
    "mv -f src DIR /tmp",
    "mv --exchange src DIR",
    "exch src DIR",
    "rename a b DIR",
    "rm -rf DIR",
    "rm -rf DIR/",
    "rm -rf DIR/*",
    "rm -r DIR/.[!.]* DIR/*",
    "rmdir DIR",
    "sudo rm -rf DIR",
    "busybox rm -rf DIR",
    "bash -c 'rm -rf DIR'",
    "trash DIR",
    "gio trash DIR",
    "cd DIR && rm -rf *",
    "cd DIR && rm -rf .",
    "cd DIR/.. && mv DIR x",
    "find DIR -delete",
    "find DIR -maxdepth 0 -exec mv {} /tmp/x \\;",
    "find DIR -maxdepth 0 | xargs -I{} mv {} /tmp/x",
    "echo DIR | xargs rm -rf",
    "d=DIR; rm -rf $d",
    "for d in DIR; do mv $d /tmp; done",
    "rsync -a --delete src/ DIR/",
    "rsync -a --remove-source-files DIR/ /tmp/x",
    "tar cf /tmp/x.tar --remove-files DIR",
    "zip -rm /tmp/x.zip DIR",
    "chmod -R 777 DIR",
    "chmod 000 DIR",
    "chown -R nobody DIR",
    "chattr -R +i DIR",
    "setfacl -R -m u:x:rwx DIR",
    "python3 -c 'import shutil; shutil.rmtree(\"DIR\")'",
    "python3 -c 'from pathlib import Path; Path(\"DIR\").rename(\"x\")'",
];

#[test]
fn a_folder_in_which_our_files_lie_is_not_taken_away_unasked() {
    let above =
        ["~/.config", "~/.local", "~/.local/bin", "~/.local/state", "~/.claude", "$HOME/.config", "/home/ann/.local"];
    for folder in above {
        let lines: Vec<String> = TAKING.iter().map(|line| line.replace("DIR", folder)).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.contains("\"$HOME")).collect();
        check_lines(&at_home(), Ask, &lines);
    }
    check_lines(
        &at_home(),
        Ask,
        &[
            "rm -rf ~/.conf*",
            "rm -rf ~/.c*",
            "rm -rf ~/.l*/bin",
            "rm -rf ~/.{config,cache}",
            "mv ~/.CONFIG /tmp",
            "cd ~ && mv .config x",
            "cd ~ && rm -rf .local",
            "mv ../.config ../.c",
            "perl -MFile::Copy -e 'move(\"/home/ann/.config\", \"/tmp/x\")'",
            "python3 -c 'import os; os.chmod(\"/home/ann/.config\", 0)'",
            "cp x $(which portcullis)",
            "p=$(command -v portcullis); cp x \"$p\"",
            "which portcullis | xargs -I{} cp x {}",
            "echo > $(which portcullis)",
            "(cd ..; mv .local/bin .local/b2)",
            "python3 -c 'from pathlib import Path; Path.home().rename(\"../h2\")'",
            "python3 -c 'from pathlib import Path; Path.home().replace(\"../h2\")'",
            "node -e 'fs.rename(os.homedir(), \"/h2\", () => {})'",
            "ruby -e 'File.rename(Dir.home, \"/h2\")'",
            "php -r 'rename(getenv(\"HOME\"), \"/h2\");'",
        ],
    );
}

#[test]
fn what_lies_beside_our_files_is_taken_away_as_before() {
    for folder in ["~/.config/app", "~/.local/share", "~/.local/bin/tool", "~/.cache", "src", "../other"] {
        let without = ["for d", "cd DIR"];
        let lines = TAKING.iter().filter(|line| !without.iter().any(|one| line.starts_with(one)));
        let lines: Vec<String> = lines.map(|line| line.replace("DIR", folder)).collect();
        let before = context();
        for line in &lines {
            let rules = rules(&["allow Bash"]);
            let decided = |context: &Context| {
                let call = call(&format!("Bash {line}")).followed(context, |path| Some(path.to_owned()));
                decide(&rules, Mode::BypassPermissions, context, &call).decision
            };
            assert_eq!(decided(&at_home()), decided(&before), "{line}");
        }
    }
    check_lines(
        &at_home(),
        Allow,
        &[
            "rm -rf ~/.cache/x",
            "mv ~/.local/bin/tool /tmp",
            "chmod +x ~/.local/bin/tool",
            "rm -rf ~/.config/app ~/.local/share/app",
            "chmod -R u+w .",
            "rm -rf build/x",
            "rsync -a --delete ~/.config/ /tmp/backup/",
            "python3 -c 'import os; os.chmod(\"x.sh\", 0o755)'",
            "python3 -c 'import pandas; df.rename(columns={\"a\": \"b\"}).to_csv(\"x.csv\")'",
            "python3 -c 'print(open(\"x\").read().replace(\"/\", \"-\"))'",
        ],
    );
}

#[test]
fn our_files_are_found_by_where_their_links_lead() {
    let mut context = at_home();
    context.ours.push("/home/ann/dot/config/portcullis".to_owned());
    context.claude.push("/home/ann/dot/claude".to_owned());
    check_lines(
        &context,
        Ask,
        &[
            "rm -rf ~/dot",
            "mv ~/dot/config /tmp",
            "mv ~/dot/claude /tmp",
            "echo {} > ~/dot/claude/settings.json",
            "chmod -R 777 ~/dot/config",
        ],
    );
    check_lines(&context, Allow, &["rm -rf ~/dot/other", "tee ~/dot/claude/plans/a.md"]);
    // A link that a project holds.
    let rules = rules(&["allow Bash"]);
    let follow = |path: &str| Some(path.replace("/home/ann/p/link", "/home/ann/.config"));
    for line in ["rm -rf link/", "chmod -R 777 link", "find link/ -delete"] {
        let call = call(&format!("Bash {line}")).followed(&context, follow);
        assert_eq!(decide(&rules, Mode::BypassPermissions, &context, &call).decision, Ask, "{line}");
    }
}

/// A disk with these files, and the folders that they lie in.
struct Tree;

const FILES: [&str; 22] = [
    "/etc/hosts",
    "/home/ann/.bashrc",
    "/home/ann/.config/app/conf",
    "/home/ann/.config/portcullis/rules.toml",
    "/home/ann/.local/bin/portcullis",
    "/home/ann/.local/state/portcullis/journal.db",
    "/home/ann/backup/old",
    "/home/ann/p/bin/portcullis",
    "/home/ann/p/bin/tool",
    "/home/ann/p/etc/profile.d/a.sh",
    "/home/ann/p/fine/app/conf",
    "/home/ann/p/fine/.git/config",
    "/home/ann/p/git/git/config",
    "/home/ann/p/home/.config/portcullis/rules.toml",
    "/home/ann/p/later/autostart/a.desktop",
    "/home/ann/p/linked/.config",
    "/home/ann/p/shell/.bashrc",
    "/home/ann/p/src/main.rs",
    "/home/ann/p/state/portcullis/journal.db",
    "/home/ann/p/units/systemd/user/a.service",
    "/home/ann/p/x/portcullis/rules.toml",
    "/usr/local/bin/other",
];

impl Disk for Tree {
    fn follow(&self, path: &str) -> Option<String> {
        let path = path.replace("/home/ann/p/way", "/home/ann/.config");
        Some(path.replace("/home/ann/p/linked/.config", "/home/ann/p/x"))
    }

    fn expand(&self, pattern: &str) -> Option<Vec<String>> {
        let parts: Vec<&str> = pattern.split('/').collect();
        let fits = |file: &&&str| {
            let names: Vec<&str> = file.split('/').collect();
            let is_hidden = |part: &str, name: &str| name.starts_with('.') && !part.starts_with('.');
            let is_one = |(part, name): (&&str, &&str)| is_part(part, name) && !is_hidden(part, name);
            names.len() >= parts.len() && parts.iter().zip(&names).all(is_one)
        };
        let made =
            FILES.iter().filter(fits).map(|file| file.split('/').take(parts.len()).collect::<Vec<_>>().join("/"));
        Some(made.collect::<std::collections::BTreeSet<_>>().into_iter().collect())
    }

    fn is_folder(&self, path: &str) -> bool {
        FILES.iter().any(|file| file.starts_with(&format!("{}/", path.trim_end_matches('/'))))
    }

    fn walk(&self, folder: &str, each: &mut dyn FnMut(&str)) -> bool {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        for file in FILES.iter().filter(|file| file.starts_with(&folder)) {
            let ends = file.match_indices('/').map(|(at, _)| at).filter(|at| *at >= folder.len());
            ends.for_each(|at| each(&file[..at]));
            each(file);
        }
        true
    }
}

#[track_caller]
fn check_on_disk(context: &Context, expected: Decision, lines: &[&str]) {
    let rules = rules(&["allow Bash"]);
    let mut wrong = vec![];
    for line in lines {
        let call = PreparedCall::of(&rules, context, call(&format!("Bash {line}")), &Tree);
        for mode in [Mode::Default, Mode::BypassPermissions] {
            let ruling = call.decide(&rules, mode);
            // What is not plain is for default mode to ask for.
            let is_plain = !matches!(ruling.mandatory_asks.first(), Some(MandatoryAsk::NotPlain(_)));
            if ruling.decision != expected && (is_plain || mode != Mode::Default) {
                wrong.push(format!("{mode:?}: {line}: {:?}, not {expected:?} ({})", ruling.decision, ruling.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each way to put what is in one folder into another.
const POURING: [&str; 24] = [
    "cp -rT FROM INTO",
    "cp -r FROM/. INTO/",
    "cp -a FROM/. INTO",
    "cp -r FROM/* INTO/",
    "cp -rt INTO FROM/.",
    "cp -r FROM/. INTO --suffix .bak",
    "rsync -a FROM/ INTO/",
    "rsync -a FROM/ INTO --exclude x",
    "mv FROM/* INTO",
    "mv -T FROM INTO",
    "tar c -C FROM . | tar x -C INTO",
    "tar cf - -C FROM . | (cd INTO && tar xf -)",
    "cd FROM && cp -r . INTO",
    "cd FROM && tar c . | tar x -C INTO",
    "cd INTO && cp -r ~/p/FROM/. .",
    "d=INTO; cp -r FROM/. $d",
    "for f in FROM/*; do cp -r $f INTO; done",
    "sudo cp -r FROM/. INTO",
    "busybox cp -r FROM/. INTO",
    "bash -c 'cp -r FROM/. INTO'",
    "ditto FROM INTO",
    "scp -r FROM/. INTO",
    "find FROM -mindepth 1 -maxdepth 1 -exec cp -r {} INTO \\;",
    "find FROM -mindepth 1 -maxdepth 1 | xargs cp -rt INTO",
];

#[test]
fn nothing_lands_unasked_where_it_decides_for_people() {
    let poured = [
        ("x", "~/.config"),
        ("git", "~/.config"),
        ("later", "~/.config"),
        ("units", "$HOME/.config"),
        ("state", "~/.local/state"),
        ("bin", "~/.local/bin"),
        ("etc", "/etc"),
        ("x", "way"),
    ];
    let mut lines: Vec<String> = vec![];
    for (from, into) in poured {
        // A shell fills in no name in these quotes.
        let ways = POURING.iter().filter(|way| !(into.contains('$') && way.contains('\'')));
        // Into the folder one is in leads nothing from elsewhere.
        let ways = ways.filter(|way| into != "way" || !way.contains("cd FROM"));
        lines.extend(ways.map(|way| way.replace("FROM", from).replace("INTO", into)));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check_on_disk(&at_home(), Ask, &lines);
    check_on_disk(
        &at_home(),
        Ask,
        &[
            "cp -r home/. ~",
            "cp -r home/.config ~",
            "mv home/.config ~/",
            "rsync -a home/.config ~",
            "rsync -a home/ ~",
            "rsync -aR home/./.config/portcullis ~",
            "cd home && cp -r --parents .config/portcullis ~",
            "cp -r shell/. ~/",
            "cp -rL linked/. ~",
            "rsync -aL linked/ ~",
            "mv bin/portcullis ~/.local/bin/",
            "mv -t ~/.local/bin bin/portcullis",
            "install -m 755 bin/portcullis ~/.local/bin",
            "install -t ~/.local/bin bin/portcullis",
            "cp bin/* ~/.local/bin/",
            "ln -sf $PWD/bin/portcullis ~/.local/bin/",
            "ln -s $PWD/x/portcullis ~/.config",
            "ln -sfn $PWD/x ~/.config",
            "ln -sT $PWD/x ~/.config",
            "ln -sfn elsewhere ~/.local/bin",
            "ln -s /tmp/.config ~/",
            "cd ~ && ln -sf /tmp/.config",
            "cp -rT x ~/.config/../.config",
            // What nobody can look into.
            "git clone https://h/x y && cp -r y/. ~/.config",
            "mkdir -p y/portcullis && echo x > y/portcullis/rules.toml && cp -r y/. ~/.config",
            "cp -r $(mktemp -d)/. ~/.config",
            "rsync -a host:x/ ~/.config/",
            "scp -r host:x/. ~/.config",
            "tar xf a.tar -C ~/.config",
            "tar xzf a.tgz -C ~/.local",
            "curl -sL https://h/x.tgz | tar xz -C ~/.local/bin",
            "unzip a.zip -d ~/.config",
            "cd ~/.config && unzip /tmp/a.zip",
            "bsdtar -xf a -C ~/.config",
            "7z x a.7z -o$HOME/.config",
            "cd ~/.config && cpio -id < a.cpio",
            "find x | cpio -pdm ~/.config",
            "cd x && pax -rw . ~/.config",
            "cd ~/.config && borg extract repo::a",
            "gio copy x/portcullis ~/.config",
            "kioclient move ~/.config /tmp",
            "umount ~/.config",
            "rclone copy r:x ~/.config",
            "unison x ~/.config -batch",
            "stow -t ~/.config x",
            "mount --bind x ~/.config",
            "bindfs x ~/.local/bin",
            "docker cp c:/x/. ~/.config",
            "aws s3 sync s3://b/x ~/.config",
            "python3 -c 'import shutil; shutil.copytree(\"x\", \"/home/ann/.config\", dirs_exist_ok=True)'",
            "python3 -c 'import tarfile; tarfile.open(\"a.tar\").extractall(\"/home/ann/.config\")'",
            "node -e 'fs.cpSync(\"x\", \"/home/ann/.config\", {recursive: true})'",
        ],
    );
}

#[test]
fn what_decides_for_nobody_lands_where_it_is_told() {
    check_on_disk(
        &at_home(),
        Allow,
        &[
            "cp -r fine/app ~/.config/",
            "cp -r fine/. ~/backup",
            "cp -r src ~/backup/",
            "cp src/main.rs ~",
            "ls -l $(which portcullis)",
            "cp src/main.rs $(which tool)",
            "cp bin/tool ~/.local/bin/",
            "cargo build --release && cp target/release/tool ~/.local/bin/",
            "mv bin/tool ~/.local/bin/",
            "install -m 755 bin/tool ~/.local/bin",
            "ln -s $PWD/bin/tool ~/.local/bin/",
            "ln -s $PWD/bin/tool ~/.local/bin",
            "ln -sf ../p/bin/tool ~/.local/bin/tool",
            "rsync -a src/ /tmp/x/",
            "rsync -a src host:/tmp",
            "rsync -a ~/.config/ ~/backup/",
            "cp -r ~/.config ~/backup",
            "cp -r . /tmp/x",
            "cp -r src/. build/",
            "mv src/main.rs src/lib.rs",
            "tar xzf a.tgz -C ~/.local/share",
            "unzip a.zip -d ~/backup",
            "tar xzf go.tgz -C /usr/local",
            "rclone copy src r:x",
            "docker cp c:/x/a.txt .",
            "mkdir -p ~/.config/app && cp -r fine/app/. ~/.config/app",
            "python3 -c 'import shutil; shutil.copytree(\"src\", \"build\")'",
        ],
    );
}
