//! Lines whose meaning lies on the disk: what files and lists hold, what is in a folder, and what an archive would bring.

use super::*;
use Decision::{Allow, Ask};

const LAXEST: Mode = Mode::BypassPermissions;

/// A disk with some files in it.
struct Files(&'static [(&'static str, &'static str)]);

impl Disk for Files {
    fn follow(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }

    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let (_, text) = self.0.iter().find(|(name, _)| *name == path)?;
        Some(text.lines().map(str::to_owned).collect())
    }

    fn walk(&self, folder: &str, each: &mut dyn FnMut(&str)) -> bool {
        self.0.iter().filter(|(name, _)| name.starts_with(folder)).for_each(|(name, _)| each(name));
        true
    }
}

/// A project with what a rule denies, and files that guard it.
const GUARDED: Files = Files(&[
    ("/home/ann/p/.claude/settings.json", "{}"),
    ("/home/ann/p/.env", ""),
    ("/home/ann/p/src/a.c", ""),
    ("/home/ann/p/src/.env", ""),
    ("/home/ann/p/Cargo.lock", ""),
]);

const ON_DISK: Files = Files(&[
    ("/home/ann/p/a.txt", "hi"),
    ("/home/ann/p/list", "src/a"),
    ("/home/ann/p/d/list", "src/a"),
    ("/home/ann/p/d/.hidden", ""),
    ("/home/ann/p/usr.txt", "/usr"),
    ("/home/ann/p/key.txt", "secrets/key.pem"),
    ("/home/ann/p/good.patch", "--- a/x\n+++ b/x"),
    ("/home/ann/p/bad.patch", "--- a/.mcp.json\n+++ b/.mcp.json"),
    ("/home/ann/p/indented.patch", "  --- a/.mcp.json\n  +++ b/.mcp.json"),
    ("/home/ann/p/mail.patch", "Content-Transfer-Encoding: base64\n\nLS0tIGEv"),
    ("/home/ann/q/.mcp.json", "{}"),
    ("/home/ann/r/x.txt", ""),
]);

fn on_disk(line: &str) -> Judgement {
    let rules = rules(&["allow Bash", "deny Read(secrets/**)"]);
    let context = context();
    let call = PreparedCall::of(&rules, &context, call(&format!("Bash {line}")), &ON_DISK);
    call.decide(&rules, LAXEST)
}

/// A disk of which no more is looked at after a folder with too much in it.
#[derive(Default)]
struct Tired(std::cell::Cell<bool>);

impl Disk for Tired {
    fn follow(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }

    fn walk(&self, folder: &str, each: &mut dyn FnMut(&str)) -> bool {
        let is_large = folder == "/";
        if !is_large && !self.0.get() {
            each("/home/ann/p/.mcp.json");
        }
        self.0.set(self.0.get() || is_large);
        !self.0.get()
    }
}

#[test]
fn a_search_of_everything_hides_nothing_of_what_is_where_one_works() {
    let rules = rules(&["allow Bash"]);
    for line in [
        "find / -name zzz -exec touch {} +; find . -name '.mc*' -exec rm {} +",
        "find / -name zzz -exec touch {} +; git restore ':/.mc*'",
    ] {
        let context = context();
        let call = PreparedCall::of(&rules, &context, call(&format!("Bash {line}")), &Tired::default());
        assert_eq!(call.decide(&rules, LAXEST).decision, Ask, "{line}");
    }
}

#[test]
fn a_removal_counts_whatever_else_reads_the_folder() {
    for (rule, line, expected) in [
        ("ask Edit(d/list)", "rm -r d", Ask),
        ("ask Edit(d/list)", "grep -r x d; rm -r d", Ask),
        ("ask Edit(d/list)", "diff -r d e || rm -rf d", Ask),
        ("ask Edit(d/list)", "chmod -R a+w d && grep -r x d", Ask),
        ("ask Edit(d/.hidden)", "rg x d; rm -r d", Ask),
        ("ask Edit(d/list)", "grep -r x d; rm -r e", Allow),
        ("ask Edit(d/list)", "grep -r x d; rm d/other", Allow),
        ("ask Read(d/list)", "rm -r d", Allow),
    ] {
        let (rules, context) = (rules(&["allow Bash", rule]), context());
        let call = PreparedCall::of(&rules, &context, call(&format!("Bash {line}")), &ON_DISK);
        assert_eq!(call.decide(&rules, LAXEST).decision, expected, "{rule}: {line}");
    }
}

#[test]
fn what_a_file_holds_counts_only_where_the_line_does_not_change_it_before() {
    for line in [
        "sed -i 's#hi#/usr#' a.txt; read x < a.txt; mv $x y",
        "mv usr.txt a.txt; read x < a.txt; mv $x y",
        "cp key.txt a.txt; cat $(cat a.txt)",
        "mv key.txt a.txt; xargs cat < a.txt",
        "ln -sf usr.txt a.txt; xargs -a a.txt mv -t y",
        "tee a.txt < usr.txt; read x < a.txt; mv $x y",
        "sort -o a.txt usr.txt; read x < a.txt; mv $x y",
        "dd if=usr.txt of=a.txt; read x < a.txt; mv $x y",
        "curl -o a.txt h; read x < a.txt; mv $x y",
        "make; read x < a.txt; mv $x y",
        "env make; xargs cat < a.txt",
        "mv e d; xargs cat < d/list",
        ". ./x.sh; xargs cat < a.txt",
        "sort -oa.txt key.txt; xargs cat < a.txt",
        "mv bad.patch good.patch; git apply good.patch",
        "xargs -a list -a key.txt cat",
        "tar cf x --remove-files -T usr.txt",
        "git apply good.patch bad.patch",
        "patch -p1 < indented.patch",
        "git am mail.patch",
        "tar c -C ../q . | tar x",
        "tar cf - -C ~/q .mcp.json | tar xf - -C .",
        "tar c -C src . | tar x -C /tmp/z; tar c -C ../q . | tar x",
        "tar -C ../q -cf - . | tar -x -f /dev/stdin",
        "tar -C ../q -cf q.tar . && tar -xf q.tar",
        "cp -r ../q/. .",
        "rsync -a ../q/ ./",
        "cp -rT ../q .",
        "cp -rt . ../q/.",
        "cp -r --target-directory=. ../q/.",
        "cp -rS.bat ../q/. .",
    ] {
        let ruling = on_disk(line);
        assert_ne!(ruling.decision, Allow, "{line}: {}", ruling.why);
    }
    for line in [
        "xargs cat < list",
        "mkdir -p out; while read f; do cp $f out; done < list",
        "rm -f x.log; xargs -a list cat",
        "git apply good.patch",
        "patch -p1 < good.patch && make",
        "cp -r ../r/. .",
        "cp -r ../q/. ../r/",
        "cp -rt ../r ../q/.",
    ] {
        let ruling = on_disk(line);
        assert_eq!(ruling.decision, Allow, "{line}: {}", ruling.why);
    }
}

#[test]
fn an_archive_is_not_unpacked_unasked_where_its_files_decide_for_people() {
    for (expected, lines) in [
        (
            Ask,
            &[
                "tar xf a.tar -C ~",
                "tar -xzf a.tgz --directory=$HOME",
                "tar xf a.tar -C /",
                "cd ~ && tar xf /tmp/a.tar",
                "unzip a.zip -d ~",
                "unzip -o a.zip -d/etc",
                "7z x a.7z -o$HOME",
                "bsdtar -xf a -C ~",
                "python3 -m zipfile -e a.zip ~",
                "tar -xzf a.tgz -C/etc",
                "tar -xzvfsrc.tgz -C ~",
                "tar --extract -Icat -f a.tar -C ~",
                "tar xf a.tar -C /home",
                "unzip -Ppass a.zip -d ~",
                "7z -y x a.7z -o$HOME",
                "cd ~; ls; unzip /tmp/a.zip",
                "curl -sL https://h/x.tgz | tar xz -C ~",
                // The same words for another machine hide nothing of what is done here.
                "tar xzf a.tgz -C / ; ssh host 'tar xzf a.tgz -C /'",
                "bash -c 'tar x\"z\"f a.tgz -C /'; ssh host 'tar xzf a.tgz -C /'",
                "ssh -o 'ProxyCommand=tar xzf a.tgz -C /' host",
                // Whatever way leads there.
                "cd && tar xf /tmp/a.tar",
                "cd -- ~; unzip /tmp/a.zip",
                "builtin cd ~; tar xf /tmp/a.tar",
                "cd ~; env tar xf /tmp/a.tar; cd /tmp",
                "cd ~; cd /tmp; cd -; tar xf a.tar",
                "f() { tar xf /tmp/a.tar; }; cd ~; f",
                "tar xf a.tar; bash -c 'cd ~; tar xf a.tar'",
                "cd ~ && 7z x /tmp/a.7z",
                "cd ~ && unrar x /tmp/a.rar",
                "cd ~ && jar xf /tmp/a.jar",
                // Options as these programs read them.
                "unzip site -d ~",
                "unzip data -d ~",
                "tar xf a.tar --dir ~",
                "tar xf a.tar -C ~ -- -O .bashrc",
                "tar xf a.tar -C ~ --suffix -O",
                "tar xf a.tar -C ~ --suffix --to-stdout",
            ][..],
        ),
        (
            Allow,
            &[
                "tar xf a.tar",
                "tar tf a.tar",
                "tar xzf a.tgz -C build",
                "unzip a.zip",
                "unzip -l ~/a.zip",
                "tar xOf layer.tar /etc",
                "tar xf a.tar --exclude=/etc",
                "cd ~ && ls; cd /tmp/p && tar xf a.tar",
                "tar xf a.tar && cd ~ && ls",
                "tar cz . | ssh host 'tar xz -C /'",
                "docker exec c bash -c \"tar xzf /tmp/x.tgz -C /usr\"",
                "7z x a.7z -oout",
                "tar xf a.tar -O",
                "unzip -p a.zip x",
                "pushd build && make; popd; tar xf a.tar",
                "env tar xf a.tar; cd ~ && ls",
                "ssh -p 22 host 'cd / && tar xz'",
            ][..],
        ),
    ] {
        for line in lines {
            assert_eq!(on_disk(line).decision, expected, "{line}");
        }
    }
}

#[test]
fn git_puts_files_unasked_only_where_one_works() {
    for (expected, lines) in [
        (
            Ask,
            &[
                "git --work-tree=.. reset --hard",
                "git --work-tree=../../ann checkout -f",
                "git --work-tree /home/ann checkout .",
                "git --work-tree=../ restore .",
                "git --work-tree=/etc switch -f main",
                "git --work-tree=/ switch --discard-changes main",
                "git --work-tree=$HOME stash",
                "git --work-tree=.. read-tree -u --reset HEAD",
                "git --work-tree=.. checkout-index -fa",
                "git checkout-index -fa --prefix=../",
                "git checkout-index -fa --prefix $HOME/",
                "GIT_WORK_TREE=~ git checkout -f",
                "export GIT_WORK_TREE=$HOME; git checkout -f",
                "git -c core.worktree=$HOME checkout -f",
                "W=~ git --config-env=core.worktree=W checkout -f",
                "W=~ git --config-env core.workTree=W checkout -f",
                "GIT_CONFIG_PARAMETERS=\"'core.worktree=$HOME'\" git checkout -f",
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.worktree GIT_CONFIG_VALUE_0=/home/ann git checkout -f",
                "git config core.worktree ~ && git checkout -f",
                "git -C ~ init && git -C ~ fetch $PWD main && git -C ~ checkout -f FETCH_HEAD",
                "cd ~ && git init && git fetch /home/ann/p main && git reset --hard FETCH_HEAD",
                "cd; git pull",
                "pushd ~; git stash pop; popd",
                "bash -c 'cd ~; git checkout -f'",
                "cd ~; bash -c 'git checkout -f'",
                "f() { git checkout -f; }; cd ~; f",
                "env -C ~ git checkout -f",
                "ln -s ~ h; git -C h checkout -f",
                "ln -s ~ h; cd h; git checkout -f",
                "echo ~ | xargs -I{} git -C {} checkout -f",
                "echo checkout -f | xargs git -C ~",
                "git -C .. -C .. -C ann checkout -f",
                "git -C / checkout -f",
                "git -C ~/.config pull",
                "git -C ~/.config/nvim pull",
                "git -C ~ co -f",
                "git -C ~ submodule update --init",
                "git -C ~ lfs pull",
                "git -C ~ sparse-checkout disable",
                "git worktree add -f ~ main",
                "git worktree add ../.config main",
                "git clone x ~/.config",
                "git clone -b main https://h/x.git ~/.oh-my-zsh",
                "GIT_WORK_TREE=~ git clone x y",
                "gh repo clone a/x ~/.config",
                "git -c alias.c=clone c x ~/.config",
                "for d in ~ ..; do git -C $d pull; done",
                "git archive --prefix=. HEAD mcp.json npmrc | tar x",
                "git archive --prefix=../. HEAD bashrc | tar xPf -",
                "git archive --prefix=../ HEAD .bashrc | tar xPf -",
                "git archive --prefix . -o a.tar HEAD; tar xf a.tar",
                "git archive --prefix=.git/ho HEAD oks | bsdtar xf -",
                "git archive --add-virtual-file=.npmrc:x HEAD a | tar x",
            ][..],
        ),
        (
            Allow,
            &[
                "git reset --hard",
                "git checkout -f main && git pull",
                "git -C . checkout main",
                "git -C sub pull",
                "git -C ../other pull --rebase",
                "git -C ~/src/other checkout main",
                "git --work-tree=/home/ann/p checkout .",
                "git --work-tree=build checkout main -- docs",
                "git --work-tree=../r checkout main",
                "cd ~/src/other && git pull",
                "cd ~; cd src/other; git pull",
                "cd sub && make; cd ..; git pull",
                "cd sub && make && cd .. && git checkout main",
                "for d in a b; do cd $d; git pull; cd ..; done",
                "for d in a b; do git -C $d pull; done",
                "pushd sub; make; popd; git checkout main",
                "git clone https://h/x.git",
                "git clone https://h/x.git ../x",
                "git clone https://h/x.git ~/src/library",
                "cd ~ && git clone https://h/x.git && cd x && git checkout main",
                "git worktree add ../p-feature feature",
                "git worktree add .worktrees/x -b x && cd .worktrees/x && git pull",
                "git --git-dir=$HOME/.dotfiles --work-tree=$HOME status",
                "git --git-dir=$HOME/.dotfiles --work-tree=$HOME commit -m x",
                "git -C ~ status",
                "git -C / log",
                "GIT_WORK_TREE=~ git diff",
                "cd $(git rev-parse --show-toplevel) && git checkout main",
                "git checkout-index -fa --prefix=build/",
                "git archive --prefix=p-1.0/ HEAD | gzip > p.tgz",
                "git archive --prefix=p-1.0/ HEAD | tar x -C /tmp/x",
                "git archive HEAD src | tar x -C build",
                "git archive --prefix=.p/ -o p.tar HEAD",
            ][..],
        ),
    ] {
        let wrong: Vec<String> = lines
            .iter()
            .map(|line| (line, on_disk(line)))
            .filter(|(_, ruling)| ruling.decision != expected)
            .map(|(line, ruling)| format!("{line}: {}", ruling.why))
            .collect();
        assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn git_is_asked_about_by_what_it_does_and_where_however_it_is_told() {
    let ways: [fn(&str, &str) -> String; 8] = [
        |place, order| format!("git --work-tree={place} {order}"),
        |place, order| format!("git --work-tree {place} {order}"),
        |place, order| format!("git -C {place} {order}"),
        |place, order| format!("git -c core.worktree={place} {order}"),
        |place, order| format!("GIT_WORK_TREE={place} git {order}"),
        |place, order| format!("env -C {place} git {order}"),
        |place, order| format!("cd {place} && git {order}"),
        |place, order| format!("bash -c 'cd {place}; git {order}'"),
    ];
    let deciding = ["/home/ann", "$HOME", "..", "../../ann", "/", "/etc", "/usr", "/home", "/home/ann/.config"];
    let others = [".", "sub", "/home/ann/p", "../q", "/home/ann/src/x", "/tmp/x"];
    let changing = ["checkout -f", "reset --hard", "restore .", "switch main", "stash pop", "pull", "merge x", "co x"];
    let keeping = ["status", "log -3", "diff", "add a", "commit -m x", "fetch", "branch", "ls-files", "rev-parse HEAD"];
    let lines = |places: &[&str], orders: &[&str]| {
        let pairs = places.iter().flat_map(|place| orders.iter().map(move |order| (*place, *order)));
        pairs.flat_map(|(place, order)| ways.iter().map(move |way| way(place, order))).collect::<Vec<_>>()
    };
    let asked = lines(&deciding, &changing);
    // `env` may do anything to a folder in which protected ones lie.
    let (_, plain) = deciding.split_last().unwrap();
    let passing = [lines(&others, &changing), lines(&others, &keeping), lines(plain, &keeping)].concat();
    let wrong: Vec<&String> = asked.iter().filter(|line| on_disk(line).decision == Allow).collect();
    assert!(wrong.is_empty(), "passes: {wrong:#?}");
    let wrong: Vec<&String> = passing.iter().filter(|line| on_disk(line).decision != Allow).collect();
    assert!(wrong.is_empty(), "asked for: {wrong:#?}");
}

#[test]
fn what_narrows_a_search_or_a_cleaning_is_read() {
    let rules = rules(&["allow Bash", "deny Read(.env)", "deny Read(.claude/**)", "deny Read(~/.ssh/**)"]);
    let context = context();
    let passes = |line: &str| {
        let call = PreparedCall::of(&rules, &context, call(&format!("Bash {line}")), &GUARDED);
        call.decide(&rules, LAXEST).decision == Allow
    };
    let passing = [
        "rg main -g '*.c'",
        "rg main -g'*.c' src",
        "rg -n --glob='*.c' main",
        "rg -g '!*.lock' main",
        "rg --glob '!target' -g '*.rs' main",
        "rg -n 'a b' -g 'src/*.c'",
        "rg main -g 'docs/**'",
        "git clean -fd build",
        "git clean -fdx ./build/ target",
    ];
    let asked = [
        "rg main -g '*'",
        "rg main -g '.e*'",
        "rg main -g '*env'",
        "rg main -g '{a,.env}'",
        "rg main -g '[.]env'",
        "rg main -g 'src/**'",
        "rg main -g '**'",
        "rg main -g '!*.lock' -g '.env'",
        "rg main --iglob '*.ENV'",
        "rg --hidden main -g '!*.lock'",
        "rg -u main -g '!*.lock'",
        "rg -L main -g '*.c'",
        "rg -e --glob='*.c'",
        "rg main -g '*.c' -g '{a,.env}'",
        "rg --hidden main -g '!x' -g '#x'",
        "rg --hidden main -g ''",
        "rg main -g '' -g .env",
        "rg -ug '!x' main",
        "git clean -fd",
        "git clean -fd .",
        "git clean -fd .claude",
        "git clean -fd .CLAUDE/settings.json",
        "git clean -fd '*.json'",
        "git clean -fd build/..",
        "git clean -fd $X",
    ];
    let wrong: Vec<&str> = passing.into_iter().filter(|line| !passes(line)).collect();
    assert!(wrong.is_empty(), "asked for: {wrong:?}");
    let wrong: Vec<&str> = asked.into_iter().filter(|line| passes(line)).collect();
    assert!(wrong.is_empty(), "passes: {wrong:?}");
}
