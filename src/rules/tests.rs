//! Rules from files: taken whole or not at all, trusted by a person, read again when they change.

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_core::policy::Given;

use super::*;

mod written;

struct Place {
    _root: tempfile::TempDir,
    project: PathBuf,
    paths: Paths,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        for folder in ["home", "user", "project/.git", "project/.portcullis"] {
            fs::create_dir_all(real.join(folder)).unwrap();
        }
        let variables = [("PORTCULLIS_HOME", real.join("home")), ("HOME", real.join("user"))];
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let paths = Paths::from_env(&find).unwrap();
        Self { _root: root, project: real.join("project"), paths }
    }

    fn user_file(&self, text: &str) {
        fs::write(&self.paths.rules_file, text).unwrap();
    }

    fn config(&self, text: &str) {
        fs::write(&self.paths.config_file, text).unwrap();
    }

    fn project_file(&self, text: &str) -> PathBuf {
        let path = self.project.join(IN_PROJECT);
        fs::write(&path, text).unwrap();
        path
    }

    fn rules(&self) -> Rules {
        Rules::open(&self.paths, &self.project)
    }
}

fn decided(rules: &Rules, folder: &Path, tool: &str, field: &str, value: &str) -> Decision {
    let around = rules.around(folder, &[], Some("project"), SessionShell::Bash);
    let call = Call::new(tool, [(field.to_owned(), Given::Text(value.to_owned()))].into());
    rules.decide(Mode::Default, &around, call).decision
}

fn command(rules: &Rules, place: &Place, command: &str) -> Decision {
    decided(rules, &place.project, "Bash", "command", command)
}

const ALLOW_MAKE: &str = "[[rule]]\nallow = \"Bash(make *)\"\n";
const DENY_MAKE: &str = "[[rule]]\ndeny = \"Bash(make *)\"\n";
const ALLOW_ALL: &str = "[[rule]]\nallow = \"Bash\"\n[[rule]]\nallow = \"Edit(//**)\"\n[[rule]]\nallow = \"Read(//**)\"\n\
                         [[rule]]\nallow = \"Write\"\n[[rule]]\nallow = \"WebFetch\"\n";

#[test]
fn without_files_there_are_no_rules() {
    let place = Place::new();
    let rules = place.rules().load().unwrap();
    assert!(rules.snapshot().rules.is_empty() && rules.files().is_empty());
    assert_eq!(command(&rules, &place, "ls"), Decision::Allow);
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
}

#[test]
fn a_changed_file_counts_at_the_next_call() {
    let place = Place::new();
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
    place.user_file(ALLOW_MAKE);
    assert_eq!(command(&rules, &place, "make"), Decision::Allow);
    place.user_file(DENY_MAKE);
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
    fs::remove_file(&place.paths.rules_file).unwrap();
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
}

#[test]
fn a_file_that_cannot_be_taken_leaves_the_old_rules_in_place() {
    let place = Place::new();
    place.user_file(DENY_MAKE);
    let rules = place.rules().load().unwrap();
    place.user_file("[[rule]]\nallow = \"Bash(make *)\"\nno_match = [\"make all\"]\n");
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
    assert!(rules.problem().is_some());
    place.user_file(ALLOW_MAKE);
    assert_eq!(command(&rules, &place, "make"), Decision::Allow);
    assert!(rules.problem().is_none());
}

#[test]
fn where_the_rules_were_never_readable_everything_is_asked_for() {
    let place = Place::new();
    place.user_file("[[rule]]\nallow = 1\n");
    let rules = place.rules();
    for line in ["ls", "make"] {
        assert_eq!(command(&rules, &place, line), Decision::Ask, "{line}");
    }
    let around = rules.around(&place.project, &[], None, SessionShell::Bash);
    let ruling = rules.decide(Mode::BypassPermissions, &around, Call::new("Anything", Default::default()));
    assert_eq!(ruling.decision, Decision::Ask);
    assert!(ruling.why.contains("the rules cannot be read") && ruling.why.contains("line 2"), "{}", ruling.why);
    assert!(place.rules().load().is_err());
}

/// `[projects."FOLDER"]` of the configuration.
fn project_table(folder: &Path, lists: &str) -> String {
    format!("[projects.{:?}]\n{lists}\n", folder.display().to_string())
}

#[test]
fn rules_of_the_configuration_count_in_their_project_and_below_and_nowhere_else() {
    let place = Place::new();
    place.config(&project_table(&place.project, "allow = [\"Bash(make *)\"]\ndeny = [\"Bash(make bad)\"]"));
    let below = place.project.join("src/deep");
    fs::create_dir_all(&below).unwrap();
    for folder in [&place.project, &below] {
        let rules = Rules::open(&place.paths, folder).load().unwrap();
        assert_eq!(decided(&rules, folder, "Bash", "command", "make all"), Decision::Allow);
        assert_eq!(decided(&rules, folder, "Bash", "command", "make bad"), Decision::Deny);
        let [file] = rules.files().try_into().unwrap();
        assert_eq!((file.path, file.origin, file.rules.len()), (place.paths.config_file.clone(), Origin::User, 2));
        assert_eq!(file.rules[1].line, 3);
    }
    let elsewhere = place.project.with_file_name("project-2");
    fs::create_dir(&elsewhere).unwrap();
    let rules = Rules::open(&place.paths, &elsewhere).load().unwrap();
    assert_eq!(decided(&rules, &elsewhere, "Bash", "command", "make all"), Decision::Ask);
    assert!(rules.files().is_empty());
}

#[test]
fn a_misspelt_list_of_a_project_makes_everything_asked_for() {
    let place = Place::new();
    place.config(&project_table(&place.project, "denny = [\"Bash(curl *)\"]"));
    assert!(place.rules().load().is_err());
    place.config(&project_table(&place.project, "mode = \"plan\"\ndeny = [\"Bash(curl *)\"]"));
    let rules = place.rules().load().unwrap();
    assert_eq!(decided(&rules, &place.project, "Bash", "command", "curl x"), Decision::Deny);
}

#[test]
fn a_path_in_a_rule_of_the_configuration_begins_at_its_project() {
    let place = Place::new();
    place.config(&project_table(&place.project, "deny = [\"Edit(/secret/**)\"]"));
    let rules = place.rules().load().unwrap();
    let file = place.project.join("secret/a").display().to_string();
    assert_eq!(decided(&rules, &place.project, "Edit", "file_path", &file), Decision::Deny);
}

#[test]
fn a_changed_configuration_counts_at_the_next_call_and_a_mistake_in_its_projects_leaves_the_old_rules() {
    let place = Place::new();
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
    place.config(&project_table(&place.project, "deny = [\"Bash(make *)\"]"));
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
    place.config(&project_table(&place.project, "deny = [\"Bash(\"]"));
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
    let problem = in_words(&rules.problem().unwrap());
    assert!(problem.contains("line 2: \"Bash(\" is no rule"), "{problem}");
    // A mistake elsewhere in the file is for the gate to report.
    place.config(&format!("listne = 1\n{}", project_table(&place.project, "allow = [\"Bash(make *)\"]")));
    assert_eq!(command(&rules, &place, "make"), Decision::Allow);
    assert!(rules.problem().is_none());
}

#[test]
fn a_clone_with_rules_that_allow_everything_changes_no_decision() {
    let place = Place::new();
    let calls = [
        ("Bash", "command", "make"),
        ("Bash", "command", "ls"),
        ("Bash", "command", "curl https://evil.org"),
        ("Write", "file_path", "a"),
        ("Read", "file_path", "/etc/passwd"),
        ("WebFetch", "url", "https://evil.org/"),
    ];
    let all = |rules: &Rules| calls.map(|(tool, field, value)| decided(rules, &place.project, tool, field, value));
    let before = all(&place.rules());
    place.project_file(ALLOW_ALL);
    let rules = place.rules();
    assert_eq!(all(&rules), before);
    assert_eq!(rules.snapshot().rules.len(), 5, "they were read");
}

#[test]
fn a_project_is_trusted_as_it_is_and_not_as_it_becomes() {
    let place = Place::new();
    let file = place.project_file(ALLOW_MAKE);
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
    let mut trusted = Trusted::read(&place.paths.trust_file);
    trusted.add(&file, ALLOW_MAKE);
    trusted.write(&place.paths.trust_file).unwrap();
    assert_eq!(command(&rules, &place, "make"), Decision::Allow);
    place.project_file(&format!("{ALLOW_MAKE}\n[[rule]]\nallow = \"Bash(npm *)\"\n"));
    assert_eq!(command(&rules, &place, "make"), Decision::Ask);
    // What only tightens counts at once.
    place.project_file(DENY_MAKE);
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
    place.user_file(ALLOW_MAKE);
    assert_eq!(command(&rules, &place, "make"), Decision::Deny);
}

#[test]
fn a_project_that_holds_our_own_files_is_never_trusted() {
    let place = Place::new();
    let inside = place.project.join("home");
    fs::create_dir(&inside).unwrap();
    let variables = [("PORTCULLIS_HOME", &inside)];
    let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
    let paths = Paths::from_env(&find).unwrap();
    let file = place.project_file(ALLOW_MAKE);
    let mut trusted = Trusted::default();
    trusted.add(&file, ALLOW_MAKE);
    trusted.write(&paths.trust_file).unwrap();
    assert_eq!(command(&Rules::open(&paths, &place.project), &place, "make"), Decision::Ask);
}

#[test]
fn links_on_the_disk_are_followed_before_anything_is_decided() {
    let place = Place::new();
    let outside = place.project.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, place.project.join("link")).unwrap();
    let elsewhere = place.project.parent().unwrap().join("elsewhere");
    std::os::unix::fs::symlink(&place.project, &elsewhere).unwrap();
    let rules = place.rules();
    let read = |folder: &Path, path: &str| decided(&rules, folder, "Read", "file_path", path);
    assert_eq!(read(&place.project, "link/x"), Decision::Ask);
    assert_eq!(read(&place.project, "src/x"), Decision::Allow);
    // The session itself may work behind a link.
    assert_eq!(read(&elsewhere, "src/x"), Decision::Allow);
    assert_eq!(read(&elsewhere, "link/x"), Decision::Ask);
    assert_eq!(command(&rules, &place, "cat link/x"), Decision::Ask);
    // Above a link is above where it leads, which the text does not show.
    assert_eq!(command(&rules, &place, "cat link/../x"), Decision::Ask);
    fs::create_dir(place.project.join("src")).unwrap();
    assert_eq!(command(&rules, &place, "cat src/../x"), Decision::Allow);
    place.user_file("[[rule]]\ndeny = \"Read(a/b)\"\n[[rule]]\nallow = \"Edit(src/**)\"\n");
    let rules = place.rules();
    let real = place.project.join("a/b");
    assert_eq!(decided(&rules, &elsewhere, "Read", "file_path", real.to_str().unwrap()), Decision::Deny);
    assert_eq!(decided(&rules, &elsewhere, "Edit", "file_path", "src/x"), Decision::Allow);
    let removal = format!("rm -rf {}", place.project.display());
    let around = rules.around(&elsewhere, &[], None, SessionShell::Bash);
    let call = Call::new("Bash", [("command".to_owned(), Given::Text(removal))].into());
    assert_eq!(rules.decide(Mode::BypassPermissions, &around, call).decision, Decision::Ask);
}

#[test]
fn our_own_files_are_never_written_unasked() {
    let place = Place::new();
    place.user_file("[[rule]]\nallow = \"Edit(//**)\"\n");
    let rules = place.rules();
    let write = |path: &Path| decided(&rules, &place.project, "Write", "file_path", path.to_str().unwrap());
    assert_eq!(write(&place.project.join("x")), Decision::Allow);
    // The program that the hooks run is one of them.
    let program = std::env::current_exe().unwrap();
    let files = [&place.paths.rules_file, &place.paths.trust_file, &place.paths.config_file, &place.paths.journal];
    for ours in files.into_iter().chain([&program]) {
        assert_eq!(write(ours), Decision::Ask, "{}", ours.display());
    }
    assert_eq!(write(&place.project.join(IN_PROJECT)), Decision::Ask);
}

#[test]
fn a_large_file_of_a_project_costs_little_time_and_is_asked_for() {
    let place = Place::new();
    place.user_file("[[rule]]\ndeny = \"Bash(make *)\"\n");
    let one = |at: usize| format!("[[rule]]\ndeny = \"Bash(*a*b*{at})\"\nmatch = [\"a b {at}\"]\n");
    let large: String = (0..15_000).map(one).collect();
    assert!(large.len() > 800_000 && large.len() < 1 << 20, "{}", large.len());
    let many: String = (0..201).map(|at| format!("[[rule]]\ndeny = \"Bash(x{at})\"\n")).collect();
    for text in [large, many] {
        place.project_file(&text);
        let rules = place.rules();
        assert_eq!(command(&rules, &place, "make"), Decision::Deny, "the user's own rules come first");
        assert_eq!(command(&rules, &place, "ls"), Decision::Ask);
        assert_eq!(rules.snapshot().rules.len(), 2);
    }
}

#[test]
fn what_lies_in_a_folder_is_looked_at_before_something_goes_into_it() {
    let place = Place::new();
    place.user_file("[[rule]]\ndeny = \"Read(secrets/*.pem)\"\n[[rule]]\nallow = \"Bash\"\n");
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "grep -R x ."), Decision::Allow);
    fs::create_dir_all(place.project.join("secrets")).unwrap();
    fs::write(place.project.join("secrets/key.pem"), "x").unwrap();
    fs::create_dir_all(place.project.join("src")).unwrap();
    std::os::unix::fs::symlink("../secrets/key.pem", place.project.join("src/link")).unwrap();
    let lines = [
        "grep -R x .",
        "grep -R x src",
        "mv secrets s2",
        "tar c .",
        "find . -name '*.pem' -exec cat {} +",
        "cp src/link x",
    ];
    for line in lines {
        assert_ne!(command(&rules, &place, line), Decision::Allow, "{line}");
    }
    assert_ne!(command(&rules, &place, "cat */key.pem"), Decision::Allow);
    for line in ["ls", "find . -name x", "pytest ."] {
        assert_eq!(command(&rules, &place, line), Decision::Allow, "{line}");
    }
    assert_ne!(decided(&rules, &place.project, "Grep", "path", "."), Decision::Allow);
}

#[test]
fn where_there_is_too_much_to_look_at_somebody_is_asked() {
    let place = Place::new();
    place.user_file("[[rule]]\nallow = \"Bash\"\n[[rule]]\ndeny = \"Read(**/key.pem)\"\n");
    let rules = place.rules().load().unwrap();
    let many = place.project.join("a/b/c/d");
    for folder in 0..40 {
        let folder = many.join(folder.to_string());
        fs::create_dir_all(&folder).unwrap();
        (0..300).for_each(|file| fs::write(folder.join(file.to_string()), "").unwrap());
    }
    // Each of them alone is not too much.
    assert_eq!(command(&rules, &place, "grep -r x a"), Decision::Allow);
    assert_eq!(command(&rules, &place, "grep -r x a a/b a/b/c a/b/c/d"), Decision::Ask);
    // A pattern for more files than are looked at.
    fs::create_dir(place.project.join("q")).unwrap();
    (0..1_300).for_each(|file| fs::write(place.project.join("q").join(file.to_string()), "").unwrap());
    let bypassing = |line: &str| {
        let around = rules.around(&place.project, &[], None, SessionShell::Bash);
        let call = Call::new("Bash", [("command".to_owned(), Given::Text(line.to_owned()))].into());
        rules.decide(Mode::BypassPermissions, &around, call)
    };
    assert_eq!(bypassing("cat q/*").decision, Decision::Ask);
    assert_eq!(bypassing("cat q/1*").decision, Decision::Allow, "{}", bypassing("cat q/1*").why);
    // Searches of the folder they are in.
    fs::create_dir(place.project.join("secrets")).unwrap();
    fs::write(place.project.join("secrets/key.pem"), "").unwrap();
    fs::remove_dir_all(place.project.join("a")).unwrap();
    for line in [
        "rg -C 3 KEY",
        "rg -t py KEY",
        "rg -g '*.pem' KEY",
        "ag -A 2 KEY",
        "grep -rn -A 3 KEY",
        "grep -r -e A -e B",
        "true | grep -r KEY",
        "git grep KEY",
        "git grep --no-index KEY",
    ] {
        assert_ne!(bypassing(line).decision, Decision::Allow, "{line}");
    }
    // The glob of the fourth takes in no key.
    for line in
        ["rg -n KEY q", "grep -rn -A 3 KEY q", "grep -rne A q", "rg -g '*.rs' KEY", "git grep KEY -- q", "ls | rg KEY"]
    {
        assert_eq!(bypassing(line).decision, Decision::Allow, "{line}: {}", bypassing(line).why);
    }
}

/// Each mistake leaves what stands beside it, and what the mistaken rule itself denies where that can be read.
#[test]
fn a_session_that_starts_with_a_mistake_in_its_rules_holds_to_what_can_be_read() {
    const GOOD: &str = "[[rule]]\ndeny = \"Bash(make *)\"\n\n[[rule]]\nask = \"Bash(rm *)\"\nquorum = 3\n\n\
                        [[rule]]\nallow = \"Bash(ls *)\"\n";
    for mistake in [
        "[[rule]]\ndenny = \"Bash(touch *)\"\n",
        "[[rule]]\ndeny = \"Bash(touch *\"\n",
        "[[rule]]\ndeny = \"Bash(touch *)\n",
        "[[rule]\ndeny = \"Bash(touch *)\"\n",
        "[[rule]]\nallow = \"Bash(touch *)\"\nno_match = [\"touch x\"]\n",
        "rules = 7\n",
        "\u{0}\n",
    ] {
        for text in [format!("{mistake}{GOOD}"), format!("{GOOD}{mistake}")] {
            let place = Place::new();
            place.user_file(&text);
            let rules = place.rules();
            assert_eq!(command(&rules, &place, "make all"), Decision::Deny, "{text}");
            assert_eq!(command(&rules, &place, "ls -l"), Decision::Ask, "no allow rule counts: {text}");
            let around = rules.around(&place.project, &[], None, SessionShell::Bash);
            let call = portcullis_wire::tools::call("Bash", &serde_json::json!({"command": "rm x"}));
            let ruling = rules.decide(Mode::BypassPermissions, &around, call);
            assert_eq!((ruling.decision, ruling.quorum), (Decision::Ask, Some(3)), "{text}");
            assert!(in_words(&rules.problem().unwrap()).contains("line "), "{text}");
        }
    }
    let place = Place::new();
    place.user_file(
        "[[rule]]\ndeny = \"Bash(make *)\"\nwhy = because\n[[rule]]\nask = \"Bash(rm *)\"\nquorum = \"two\"\n",
    );
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make all"), Decision::Deny, "its pattern can be read");
    place.user_file("[[rule]]\nallow = \"Bash(ls *)\"\n");
    assert_eq!(command(&rules, &place, "ls -l"), Decision::Allow, "it was repaired");
}

#[test]
fn a_mistake_in_the_configuration_leaves_what_its_projects_deny() {
    let place = Place::new();
    let table = project_table(&place.project, "deny = [\"Bash(make *)\"]\nallow = [\"Bash(ls *)\"]");
    place.config(&format!("{table}\n[projects.\"/x\"]\ndeny = [\"Bash(\n"));
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make all"), Decision::Deny);
    assert_eq!(command(&rules, &place, "ls -l"), Decision::Ask);
}

/// A judgement for each example would take its time before anyone had counted them.
#[test]
fn the_examples_of_an_untrusted_file_are_counted_before_one_is_run() {
    let place = Place::new();
    let list: Vec<String> = (0..60).map(|number| format!("\"make {number}\"")).collect();
    // The last one is wrong: whoever runs it says so.
    let rule = format!("[[rule]]\ndeny = \"Bash(make *)\"\nmatch = [{}, \"ls\"]\n", list.join(", "));
    place.project_file(&rule.repeat(4));
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "ls"), Decision::Ask);
    assert!(rules.problem().is_none(), "no example was run");
    place.project_file(&rule);
    assert_eq!(command(&rules, &place, "ls"), Decision::Ask);
    assert!(in_words(&rules.problem().unwrap()).contains("ls"));
}

/// `zip` and others go through links unless they are told not to, and remove what they find there.
#[test]
fn a_link_in_a_folder_that_is_removed_through_its_links_counts_as_what_it_leads_to() {
    let place = Place::new();
    place.user_file("[[rule]]\nallow = \"Bash\"\n[[rule]]\ndeny = \"Read(secrets/**)\"\n");
    for folder in ["d/e", "plain", "secrets", "linked"] {
        fs::create_dir_all(place.project.join(folder)).unwrap();
    }
    fs::write(place.project.join("secrets/key"), "k").unwrap();
    let home = place.paths.user_home().unwrap();
    std::os::unix::fs::symlink(home, place.project.join("d/e/link")).unwrap();
    std::os::unix::fs::symlink("../secrets", place.project.join("linked/s")).unwrap();
    let rules = place.rules().load().unwrap();
    let ruling = |line: &str| {
        let around = rules.around(&place.project, &[], None, SessionShell::Bash);
        let call = portcullis_wire::tools::call("Bash", &serde_json::json!({"command": line}));
        rules.decide(Mode::BypassPermissions, &around, call)
    };
    for line in [
        "zip -rm x.zip d",
        "zip -rmq ../x.zip .",
        "find -L d -delete",
        "find d -follow -delete",
        "cd d && find -L . -delete",
        "tar chf x.tar --remove-files d",
        "tar -cf x.tar --dereference --remove-files d",
        "rsync -aL --remove-source-files d/ out/",
        "bash -c 'find -L d -delete'",
        // Read, and not removed.
        "zip -r x.zip linked",
        "tar -chf x.tar linked",
        "cp -rL linked out",
        "rsync -aL linked/ out/",
        "find -L linked -type f -exec cat {} +",
        "grep -R k linked",
    ] {
        assert_ne!(ruling(line).decision, Decision::Allow, "{line}");
    }
    for line in [
        "zip -rmy x.zip d",
        "find d -delete",
        "tar cf x.tar --remove-files d",
        "zip -rm x.zip plain",
        "find -L plain -delete",
        "rm -rf d",
        "zip -r x.zip plain",
    ] {
        assert_eq!(ruling(line).decision, Decision::Allow, "{line}: {}", ruling(line).why);
    }
}

/// A pipe that nobody writes to would make whoever opens it wait for ever.
#[test]
fn a_pipe_in_place_of_the_projects_file_is_a_problem_and_no_wait() {
    let place = Place::new();
    place.user_file("[[rule]]\ndeny = \"Bash(make *)\"\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.project.join(IN_PROJECT),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let rules = place.rules();
    assert_eq!(command(&rules, &place, "make all"), Decision::Deny);
    assert_eq!(command(&rules, &place, "ls"), Decision::Ask, "what the project wants is not known");
    assert!(rules.problem().is_some());
}
