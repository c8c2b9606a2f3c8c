//! What a line makes of the folders that everybody has, and names that stand in it in parts.

use super::certainty::{never_passes, passes_in_bypass};

#[test]
fn what_is_made_of_the_folder_one_works_in_is_known_or_may_be_anything() {
    never_passes(
        &["allow Bash", "deny Read(~/.ssh/**)", "deny Read(secrets/**)"],
        &[
            "x=$PWD; cat ${x%/*}/.ssh/id",
            "x=$PWD/src; cat ${x%/*/*}/.ssh/id",
            "export x=$PWD; cat ${x%/*}/.ssh/id",
            "declare x=$PWD; cat < ${x%/*}/.ssh/id",
            "printf -v x %s $PWD; cat ${x%/*}/.ssh/id",
            "for x in $PWD; do cat ${x%/*}/.ssh/id; done",
            "a=($PWD); cat ${a%/*}/.ssh/id",
            "f() { cat ${1%/*}/.ssh/id; }; f $PWD",
            "x=$PWD; cd ${x%/*}; cat .ssh/id",
            "x=$PWD; grep -r key ${x%/*}/.ssh",
            "cat ${PWD/p/.ssh}/id",
            "x=$PWD; y=${x/p/.ssh}; cat $y/id",
            "cat ${HOME/*/secrets}/key",
            "cat ${PATH/*/secrets}/key",
            "cat ${SHELL//*/\"secrets/key\"}",
            "x=$PATH; cat ${x/*/secrets}/key",
            "cd src; x=${PWD%/*}; cat ${x%/*}/.ssh/id",
            "cd src; x=${PWD%/*}; cat ${x%p}.ssh/id",
            "cat ${$/*/secrets}/key ${x}",
            "cat ${#:+secrets}/key",
            "cat ${?/?/s}ecrets/key",
            "x=${-/*/secrets}; cat $x/key",
            "cat ${@:-secrets}/key",
            "cd ${$+secrets}; cat key",
            "curl -sK- <<< \"url=file://$PWD/secrets/key\"",
            "cat < {s..s}ecrets/key",
            "cat se{a..q..2}rets/key sec{r..r}ets/key",
        ],
    );
    never_passes(
        &["allow Bash"],
        &[
            "x=$PWD; echo x >> ${x%/*}/.bashrc",
            "echo x >> ${PWD/%p/.bashrc}",
            "x=$PWD; y=${x/p/p/.git/config}; echo x >> $y",
            "cd ${PWD::1}; rm -rf opt",
            "cd ${PWD%%/a*}/ && rm -rf opt",
            "x=$PWD; cd ${x%/*} && rm -rf p",
            "mv ${PATH/*/\\/opt} /tmp/x",
            "mv ${PWD/p/..} /tmp/x",
            "echo > .env{r..r}c",
            "git symbolic-ref config refs/heads/x",
            "git update-ref hooks/pre-commit HEAD",
            "git update-ref --stdin",
            "X=init git --config-env=alias.z=X z --separate-git-dir=../gd",
            "X=init git --config-env alias.z=X z --separate-git-dir=../gd",
        ],
    );
    never_passes(&["allow Bash", "ask Edit(src/**)"], &["touch ${PATH/*/src}/n", "echo > sr{c..c}/n"]);
    passes_in_bypass(
        &["deny Read(~/.ssh/**)", "deny Read(secrets/**)", "ask Edit(gen/**)"],
        &[
            "x=$PWD; cat ${x##*/}.txt",
            "x=$PWD; ls ${x%/}/src",
            "for f in ./*.c; do cc -c $f -o ${f%.c}.o; done",
            "f=./a.tar.gz; echo ${f##*.} ${f%.tar.gz}; tar tf ${f#./}",
            "docker build -t app:${GIT_SHA:0:7} docker",
            "docker build -t ${IMAGE//\\//-} docker",
            "echo ${PWD/#$HOME/\\~}",
            "for i in {1..100}; do curl -s localhost:8080/$i; done",
            "mkdir -p build/{01..12}",
            "git symbolic-ref --short HEAD",
            "git symbolic-ref HEAD refs/heads/main",
            "git update-ref refs/heads/x HEAD",
            "echo x > out.txt 2>&1",
        ],
    );
}

#[test]
fn what_git_and_code_remove_is_not_the_home() {
    never_passes(
        &["allow Bash"],
        &[
            "cd ~ && git rm -rf .",
            "git -C ~ rm -rfq :/",
            "git --work-tree=$HOME rm -r '*'",
            "git rm -rf ~",
            "git rm -rf ..",
            "cd ~; hg purge --all",
            "cd ~; svn cleanup --remove-unversioned",
            "tmpreaper 1d ~",
            "find ~ -type f | perl -lne unlink",
            "cd ~; perl -e 'for (<*>) { unlink }'",
            "cd ~; python3 -c 'import os; [*map(os.unlink, os.listdir())]'",
        ],
    );
    passes_in_bypass(
        &["deny Bash(danger *)"],
        &[
            "git rm -rf .",
            "git rm -r --cached .",
            "git rm -r src/old",
            "git rm $(git ls-files --deleted)",
            "hg purge",
            "perl -e 'unlink \"build/a.o\"'",
            "tmpreaper 1d /tmp/x",
        ],
    );
}
