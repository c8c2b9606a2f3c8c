//! The gate as a service: the file it is started by, and the commands that are given, to a manager that only notes them.

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A `systemctl` that notes what it is told and knows whether the service runs.
const SYSTEMCTL: &str = r#"#!/bin/sh
shift
echo "$*" >>"$HOME/told"
case $1 in
    enable) touch "$HOME/runs" ;;
    disable) rm -f "$HOME/runs" ;;
    is-active) test -e "$HOME/runs" ;;
esac
"#;

fn unit(home: &Home) -> PathBuf {
    home.user().join(".config/systemd/user/portcullis.service")
}

fn told(home: &Home) -> Vec<String> {
    let told = fs::read_to_string(home.user().join("told")).unwrap_or_default();
    fs::remove_file(home.user().join("told")).ok();
    let asks = ["is-active", "show-environment"];
    told.lines().filter(|line| !asks.iter().any(|ask| line.starts_with(ask))).map(str::to_owned).collect()
}

/// With that `systemctl`, or with none that answers.
fn run(home: &Home, answers: bool, words: &[&str]) -> Ran {
    let bin = home.user().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = if answers { SYSTEMCTL } else { "#!/bin/sh\nexit 1\n" };
    fs::write(bin.join("systemctl"), script).unwrap();
    fs::set_permissions(bin.join("systemctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(words);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE)
}

#[test]
#[cfg(target_os = "linux")]
fn a_service_is_shown_installed_started_and_removed() {
    let home = Home::new();
    let ran = run(&home, true, &["service", "install"]).ok();
    let text = fs::read_to_string(unit(&home)).unwrap();
    let program = home.user().join(".local/bin/portcullis");
    assert!(text.contains(&format!("ExecStart=\"{}\" serve\n", program.display())), "{text}");
    assert!(text.contains(&format!("Environment=\"PORTCULLIS_HOME={}\"\n", home.folder().display())), "{text}");
    assert!(!text.contains(home.token()), "no secret is written down");
    assert!(ran.stdout.contains("  Restart=on-failure\n") && program.exists(), "{}", ran.stdout);
    assert_eq!(told(&home), ["daemon-reload", "enable --now portcullis.service"]);

    assert!(run(&home, true, &["service", "install", "--yes"]).ok().stdout.contains("nothing to change"));
    assert_eq!(told(&home), [""; 0]);
    let shown = run(&home, true, &["service", "status", "--json"]).ok().json();
    assert_eq!((&shown["installed"], &shown["state"]), (&true.into(), &"running".into()));

    run(&home, true, &["service", "uninstall"]).ok();
    assert_eq!(told(&home), ["disable --now portcullis.service", "daemon-reload"]);
    assert!(!unit(&home).exists());
    assert!(run(&home, true, &["service", "uninstall"]).ok().stdout.contains("nothing to change"));
    assert_eq!(run(&home, true, &["service", "status"]).status.code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_service_manager_the_commands_are_printed() {
    let home = Home::new();
    let ran = run(&home, false, &["service", "install"]).ok();
    assert!(ran.stdout.contains("  systemctl --user enable --now portcullis.service\n"), "{}", ran.stdout);
    assert!(unit(&home).exists());
    let shown = run(&home, false, &["service", "status", "--json"]);
    assert_eq!(shown.json()["state"], "unknown: the service manager does not answer");
    let ran = run(&home, false, &["service", "uninstall"]).ok();
    assert!(ran.stdout.contains("  systemctl --user disable --now portcullis.service\n"), "{}", ran.stdout);
    assert!(!unit(&home).exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_foreign_unit_file_is_not_changed() {
    let home = Home::new();
    fs::create_dir_all(unit(&home).parent().unwrap()).unwrap();
    fs::write(unit(&home), "[Service]\nExecStart=/bin/true\n").unwrap();
    for words in [&["service", "install"], &["service", "uninstall"]] {
        let ran = run(&home, true, words);
        assert!(ran.stderr.contains("was not written by portcullis") && ran.stderr.contains("--force"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(unit(&home)).unwrap(), "[Service]\nExecStart=/bin/true\n");
    assert_eq!(told(&home), [""; 0]);
}

#[test]
fn completions_are_printed_for_every_shell() {
    let home = Home::new();
    for (shell, sign) in [
        ("bash", "complete -F _portcullis"),
        ("zsh", "#compdef portcullis"),
        ("fish", "complete -c portcullis"),
        ("elvish", "edit:completion:arg-completer[portcullis]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let ran = home.run(&["completions", shell]).ok();
        assert!(ran.stdout.contains(sign) && ran.stdout.contains("uninstall"), "{shell}");
    }
    assert_eq!(home.run(&["completions", "cmd"]).status.code(), Some(2));
}
