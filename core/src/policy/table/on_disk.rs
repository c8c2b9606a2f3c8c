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
