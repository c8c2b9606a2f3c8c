//! Files: where patterns begin, how deep they reach, and where links lead.

use super::*;
use Decision::{Allow, Ask, Deny};

#[test]
fn a_path_begins_where_it_says() {
    check(
        Mode::Default,
        &[
            (&["allow Edit(//home/ann/p/src/**)"], "Edit src/a", Allow),
            (&["allow Edit(//tmp/**)"], "Write /tmp/a/b", Allow),
            (&["allow Edit(//tmp/**)"], "Write /tmpx/a", Ask),
            (&["allow Read(~/notes/*.md)"], "Read ~/notes/a.md", Allow),
            (&["allow Read(~/notes/*.md)"], "Read /home/ann/notes/a.md", Allow),
            (&["allow Read(~/notes/*.md)"], "Read ~/notes/a/b.md", Ask),
            (&["allow Read(~/notes/**)"], "Read ~/notes/a/b.md", Allow),
            // `/x` of the user's file is below the folder of that file.
            (&["allow Edit(/src/**)"], "Edit src/a", Ask),
            (&["allow Read(/x)"], "Read ~/.config/portcullis/x", Allow),
            (&["allow Edit(src/**)"], "Edit src/a/b", Allow),
            (&["allow Edit(./src/**)"], "Edit src/a/b", Allow),
            (&["allow Edit(src/**)"], "Edit lib/src/a", Ask),
            (&["allow Edit(src/*)"], "Edit src/a", Allow),
            (&["allow Edit(src/*.rs)"], "Edit src/a/b.rs", Ask),
            (&["allow Edit(src/**/*.rs)"], "Edit src/a/b.rs", Allow),
            (&["allow Edit(src/**/*.rs)"], "Edit src/b.rs", Allow),
            (&["allow Edit(*.md)"], "Edit a.md", Allow),
            (&["allow Edit(*.md)"], "Edit docs/a.md", Allow),
            (&["allow Edit(*.md)"], "Edit ../a.md", Ask),
            (&["allow Edit(src)"], "Edit src/a", Allow),
            (&["allow Edit(src/)"], "Edit src/a", Allow),
            (&["allow Edit(a/b.txt)"], "Edit c/a/b.txt", Ask),
            (&["allow Edit(**)"], "Edit any/thing", Allow),
            (&["allow Edit(src/**)"], "Edit src/../x", Ask),
            (&["allow Edit(src/**)"], "Edit src", Ask),
            (&["allow Edit(../q/**)"], "Edit /home/ann/q/a", Allow),
            (&["allow Edit(src/../lib/**)"], "Edit lib/a", Allow),
            (&["deny Read(./src/../.env)"], "Read .env", Deny),
            (&["deny Read(//home/ann/x/../p/.env)"], "Read .env", Deny),
        ],
    );
}

#[test]
fn what_is_denied_is_denied_at_any_depth_and_for_writing_as_well() {
    check(
        Mode::Default,
        &[
            (&["deny Read(.env)"], "Read .env", Deny),
            (&["deny Read(.env)"], "Read a/b/.env", Deny),
            (&["deny Read(.env)"], "Read .env.example", Allow),
            (&["deny Read(./.env)"], "Read .env", Deny),
            (&["deny Read(.env)"], "Write .env", Deny),
            (&["deny Read(.env)"], "Edit a/.env", Deny),
            (&["deny Read(.env)"], "NotebookEdit a/.env", Deny),
            (&["ask Read(.env)"], "Read .env", Ask),
            (&["ask Read(.env)", "allow Edit(**)"], "Write .env", Allow),
            (&["deny Read(secrets/**)"], "Read secrets/a", Deny),
            (&["deny Read(secrets/**)"], "Read lib/secrets/a", Deny),
            (&["deny Read(a/secrets/**)"], "Read b/a/secrets/x", Allow),
            (&["deny Edit(src/**)"], "Write lib/src/x", Deny),
            (&["deny Edit(src/**)"], "Read src/x", Allow),
            (&["deny Read(secrets/**)"], "Grep secrets/a", Deny),
            (&["deny Read(secrets/)"], "Glob secrets", Deny),
            (&["deny Read(//etc/**)", "allow Read"], "Read /etc/passwd", Deny),
            (&["deny Read(~/.ssh/**)", "allow Read"], "Read ~/.ssh/id", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash cat .env", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash head -n1 ./a/.env", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash grep -f.env x", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash grep KEY .env", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash echo $(cat .env)", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash ls < .env", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash cp .env x", Deny),
            (&["deny Read(~/.ssh/**)", "allow Bash"], "Bash cat $HOME/.ssh/id", Deny),
            (&["deny Edit(src/**)", "allow Bash"], "Bash touch src/x", Deny),
            (&["deny Edit(src/**)", "allow Bash"], "Bash sed -i s/a/b/ src/x", Deny),
            (&["deny Edit(src/**)", "allow Bash"], "Bash tee src/x", Deny),
            (&["deny Read(-x)", "allow Bash"], "Bash cat -- -x", Deny),
            (&["deny Edit(x/**)", "allow Bash"], "Bash cp a.txt x", Deny),
            (&["deny Edit(x/a.txt)", "allow Bash"], "Bash cp src/a.txt x/", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash dd if=.env of=x", Deny),
            (&["deny Read(.env)", "allow Bash"], "Bash sort .env", Deny),
            (&["deny Edit(src/**)", "allow Bash"], "Bash sed -n p src/x", Allow),
            (&["deny Edit(src/**)", "allow Bash"], "Bash sed -e s/i/j/ src/x", Allow),
            (&["deny Read(--)", "allow Bash"], "Bash cat -- --", Deny),
            (&["deny Edit(-secret)", "allow Bash"], "Bash echo x > -secret", Deny),
        ],
    );
}

#[test]
fn edit_covers_writing_and_read_covers_searching() {
    check(
        Mode::Default,
        &[
            (&["allow Edit(src/**)"], "Write src/a", Allow),
            (&["allow Edit(src/**)"], "MultiEdit src/a", Allow),
            (&["allow Edit(src/**)"], "NotebookEdit src/a.ipynb", Allow),
            (&["deny Edit"], "Write src/a", Deny),
            (&["deny Edit", "allow Bash"], "Bash ls > x", Deny),
            (&["ask Edit", "allow Write"], "Write src/a", Ask),
            // Without a path a rule means its tool alone, as seen with the real CLI.
            (&["allow Edit"], "Edit src/a", Allow),
            (&["allow Edit"], "Write src/a", Ask),
            (&["allow Write"], "Write /tmp/a", Allow),
            (&["allow Write"], "Edit src/a", Ask),
            (&["allow Write(src/**)"], "Write src/a", Ask),
            (&["deny Write(src/**)"], "Read src/a", Allow),
            (&["allow Glob(//etc/**)"], "Glob /etc", Ask),
            (&["allow Read(//etc/**)"], "Grep /etc/x", Allow),
            (&["allow Read(//etc/hosts)"], "Bash cat /etc/hosts", Allow),
            (&["allow Bash(cat *)"], "Bash cat /etc/hosts", Ask),
            (&["allow Bash(cat *)"], "Bash cat a.txt", Allow),
            (&["allow Bash(touch *)"], "Bash touch ../x", Ask),
            (&["allow Bash(touch *)"], "Bash touch x", Allow),
            (&["allow Bash(cp *)"], "Bash cp a.txt ../x", Ask),
        ],
    );
}

/// `link` leads out of the project, `inner` to another file in it, and `/ext` into it.
fn follow(path: &str) -> Option<String> {
    let leads = |from: &str, to: &str| path.strip_prefix(from).map(|rest| format!("{to}{rest}"));
    leads("/home/ann/p/link", "/srv/out")
        .or_else(|| leads("/home/ann/p/inner", "/home/ann/p/src"))
        .or_else(|| leads("/ext", "/home/ann/p/src"))
        .or_else(|| leads("/home/ann/p/lib/..", "/usr"))
        .or_else(|| leads("/home/ann/p/hk/..", "/home/ann/p/.git"))
        .or_else(|| leads("/home/ann/p/src/..", "/home/ann/p"))
        .or_else(|| leads("/home/ann/p/..", "/home/ann"))
        .or_else(|| leads("/home/ann/p/hooks", "/home/ann/p/.git/hooks"))
        .or_else(|| (!path.contains("unknown")).then(|| path.to_owned()))
}

#[test]
fn a_link_is_allowed_by_both_ends_and_denied_by_either() {
    let cases: &[(Mode, &[&str], &str, Decision)] = &[
        (Mode::Default, &[], "Read link", Ask),
        (Mode::Default, &[], "Read link/a", Ask),
        (Mode::Default, &[], "Read inner/a", Allow),
        (Mode::Default, &[], "Read /ext/a", Ask),
        (Mode::Default, &["allow Read(//srv/**)"], "Read link/a", Ask),
        (Mode::Default, &["allow Read(link/**)"], "Read link/a", Ask),
        (Mode::Default, &["allow Read(//**)"], "Read link/a", Allow),
        (Mode::Default, &["deny Read(//srv/**)"], "Read link/a", Deny),
        (Mode::Default, &["deny Read(link/**)"], "Read link/a", Deny),
        (Mode::Default, &["deny Read(src/**)"], "Read inner/a", Deny),
        (Mode::Default, &["deny Read(src/**)"], "Bash cat inner/a", Deny),
        (Mode::Default, &[], "Bash cat link/a", Ask),
        (Mode::Default, &[], "Bash cat inner/a", Allow),
        (Mode::Default, &[], "Bash cd link && ls", Ask),
        (Mode::Default, &[], "Bash ls link", Ask),
        (Mode::AcceptEdits, &[], "Write link/a", Ask),
        (Mode::AcceptEdits, &[], "Write inner/a", Allow),
        (Mode::AcceptEdits, &[], "Write hooks/a", Ask),
        (Mode::AcceptEdits, &[], "Bash touch link/a", Ask),
        (Mode::AcceptEdits, &[], "Bash touch inner/a", Allow),
        (Mode::AcceptEdits, &[], "Bash ls > link/a", Ask),
        (Mode::Default, &["allow Read(//**)"], "Read unknown", Ask),
        (Mode::Default, &["allow Edit(**)"], "Write hooks/a", Ask),
        (Mode::Default, &["allow Edit(hooks/**)"], "Write hooks/a", Ask),
        (Mode::Default, &["allow Edit(inner/**)"], "Write inner/a", Ask),
        (Mode::Default, &[], "Bash cat src/../x", Allow),
        (Mode::Default, &[], "Bash cat ./lib/../x", Ask),
        (Mode::Default, &[], "Bash cat < lib/../x", Ask),
        (Mode::Default, &["deny Read(//usr/**)"], "Bash cat lib/../x", Deny),
        (Mode::Default, &["deny Read(lib/**)"], "Bash cat lib/../x", Ask),
        (Mode::Default, &["allow Read(//home/ann/**)"], "Bash cat ../x", Allow),
        (Mode::AcceptEdits, &[], "Bash echo x > src/../x", Allow),
        (Mode::AcceptEdits, &[], "Bash cp sub/link src", Allow),
        (Mode::AcceptEdits, &[], "Bash cp sub/link .", Ask),
        (Mode::AcceptEdits, &[], "Bash echo x > lib/../x", Ask),
        (Mode::BypassPermissions, &[], "Bash echo x > hk/../config", Ask),
        (Mode::BypassPermissions, &[], "Bash cp a hk/../config", Ask),
        (Mode::BypassPermissions, &[], "Bash echo x > src/../x", Allow),
    ];
    for (mode, written, text, expected) in cases {
        let context = context();
        let call = call(text).followed(&context, follow);
        let ruling = decide(&rules(written), *mode, &context, &call);
        assert_eq!(ruling.decision, *expected, "{mode:?} {written:?} {text}: {}", ruling.why);
    }
}

#[test]
fn paths_of_a_project_file_begin_at_its_project_and_those_of_the_command_line_where_it_was_started() {
    let decided = |origin, base: &str, text: &str| {
        let source = RuleSource { origin, place: None, base: base.to_owned() };
        let rules = RuleSet { rules: vec![Rule::new(Allow, "Edit(/src/**)", source).unwrap()] };
        let mut context = context();
        context.cwd = "/home/ann/p/src".to_owned();
        let call = call(text).followed(&context, |path| Some(path.to_owned()));
        decide(&rules, Mode::Default, &context, &call).decision
    };
    let project = Origin::Project { trusted: true };
    assert_eq!(decided(project, "/home/ann/p", "Edit a"), Allow);
    assert_eq!(decided(project, "/home/ann/p", "Edit /home/ann/p/src/a"), Allow);
    assert_eq!(decided(project, "/home/ann/p", "Edit src/a"), Allow);
    assert_eq!(decided(project, "/home/ann/q", "Edit a"), Ask);
    assert_eq!(decided(Origin::CommandLine, "/elsewhere", "Edit a"), Allow);
    assert_eq!(decided(Origin::Session, "/elsewhere", "Edit ../a"), Ask);
}

#[test]
fn added_folders_are_worked_in_like_the_first() {
    let mut context = context();
    context.folders.push("/srv/more".to_owned());
    let decided = |mode, text: &str| {
        let call = call(text).followed(&context, |path| Some(path.to_owned()));
        decide(&RuleSet::default(), mode, &context, &call).decision
    };
    assert_eq!(decided(Mode::Default, "Read /srv/more/a"), Allow);
    assert_eq!(decided(Mode::Default, "Bash cat /srv/more/a"), Allow);
    assert_eq!(decided(Mode::Default, "Read /srv/moreover"), Ask);
    assert_eq!(decided(Mode::AcceptEdits, "Write /srv/more/a"), Allow);
}

#[test]
fn a_working_folder_behind_a_link_is_the_same_folder() {
    let mut context = Context::of("/srv/link", Some("/home/ann"));
    context.leads = [("/srv/link".to_owned(), "/home/bob/p".to_owned())].into();
    context.folders.push("/home/bob/p".to_owned());
    let cases: &[(Mode, &[&str], &str, Decision)] = &[
        (Mode::Default, &["deny Read(a/b)"], "Read a/b", Deny),
        (Mode::Default, &["deny Read(a/b)"], "Read /home/bob/p/a/b", Deny),
        (Mode::Default, &["deny Read(a/b)"], "Bash cat /home/bob/p/a/b", Deny),
        (Mode::Default, &["allow Edit(src/**)"], "Edit src/a", Allow),
        (Mode::Default, &["allow Edit(/src/**)"], "Edit src/a", Ask),
        (Mode::Default, &["allow Edit(src/**)"], "Edit a", Ask),
        (Mode::BypassPermissions, &[], "Bash rm -rf /home/bob/p", Ask),
        (Mode::BypassPermissions, &[], "Bash rm -rf /home/bob", Ask),
        (Mode::BypassPermissions, &[], "Bash rm -rf ../p", Ask),
        (Mode::BypassPermissions, &[], "Bash rm -rf src", Allow),
    ];
    let follow = |path: &str| {
        let real = path.strip_prefix("/srv/link").map(|below| format!("/home/bob/p{below}"));
        Some(real.unwrap_or_else(|| path.to_owned()))
    };
    for (mode, written, text, expected) in cases {
        let call = call(text).followed(&context, follow);
        let ruling = decide(&rules(written), *mode, &context, &call);
        assert_eq!(ruling.decision, *expected, "{mode:?} {written:?} {text}: {}", ruling.why);
    }
}

#[test]
fn what_a_command_is_told_to_pass_over_is_not_read() {
    let lines = [
        ("find . -not -name .env", Allow),
        ("find . ! -name .env -type f", Allow),
        ("du -sh --exclude=.env src", Allow),
        ("diff -r --exclude=.env a b", Allow),
        ("find . -name .env", Deny),
        ("find . ! -not -name .env", Deny),
        ("diff --exclude=x .env b", Deny),
        ("grep -e --exclude=x .env", Deny),
    ];
    let lines = lines.map(|(line, expected)| (format!("Bash {line}"), expected));
    let cases: Vec<(&str, Decision)> = lines.iter().map(|(line, expected)| (line.as_str(), *expected)).collect();
    check_each(Mode::Default, &["allow Bash", "deny Read(.env)"], &cases);
}
