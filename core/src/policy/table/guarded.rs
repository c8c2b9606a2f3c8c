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
    let above = ["~/.config", "~/.local", "~/.local/bin", "~/.local/state", "~/.claude", "$HOME/.config", "/home/ann/.local"];
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
    for line in ["rm -rf link/", "chmod -R 777 link", "mv link/* /tmp"] {
        let call = call(&format!("Bash {line}")).followed(&context, follow);
        assert_eq!(decide(&rules, Mode::BypassPermissions, &context, &call).decision, Ask, "{line}");
    }
}
