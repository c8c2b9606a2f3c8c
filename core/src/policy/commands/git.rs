//! What git makes of its words: its own subcommands, the options before them, and where it starts other programs.
//!
//! What is no subcommand of git's own may be an alias for any of them, or a program.

use crate::policy::shell::ShellWord;

/// The subcommands that come with git, and those that many have next to it.
const OWN: &str = "add am annotate apply archimport archive bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit \
    commit-graph commit-tree config count-objects credential credential-cache credential-store cvsexportcommit cvsimport \
    cvsserver daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch \
    fetch-pack filter-branch fmt-merge-msg for-each-ref format-patch fsck fsck-objects gc get-tar-commit-id \
    gitk grep gui hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb \
    interpret-trailers lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file \
    merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-resolve merge-subtree merge-tree mergetool \
    mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs patch-id pickaxe prune \
    prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote remote-ext remote-fd \
    remote-ftp remote-ftps remote-http remote-https repack replace replay request-pull rerere reset restore rev-list \
    rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage \
    stash status stripspace submodule subtree svn switch symbolic-ref tag unpack-file unpack-objects update-index \
    update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged \
    worktree write-tree";

/// Subcommands that only handle files, versions and messages, apart from the options of [`STARTERS`].
const HANDLERS: &str = "add am apply blame branch checkout cherry-pick clean clone commit describe diff fetch grep init log \
    ls-files ls-remote merge mv pull push reflog remote reset restore rev-parse revert rm shortlog show stash status switch \
    tag worktree";

/// Options with which a subcommand starts a program that they name: letters of short ones, and long ones.
pub(super) const STARTERS: [(&str, &str, &[&str]); 13] = [
    ("archive", "", &["--exec", "--remote"]),
    ("clone", "uc", &["--upload-pack", "--config", "--template"]),
    ("difftool", "x", &["--extcmd"]),
    ("fetch", "", &["--upload-pack"]),
    ("fetch-pack", "", &["--upload-pack", "--exec"]),
    ("grep", "O", &["--open-files-in-pager"]),
    ("init", "", &["--template"]),
    ("ls-remote", "", &["--upload-pack", "--exec"]),
    ("pull", "", &["--upload-pack"]),
    ("push", "", &["--receive-pack", "--exec"]),
    ("rebase", "x", &["--exec"]),
    ("send-pack", "", &["--receive-pack", "--exec"]),
    ("send-email", "", &["--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"]),
];

/// Other subcommands that do what one does, with the word that says so.
const SAME: [(&str, &str, &str); 7] = [
    ("push", "send-pack", ""),
    ("push", "http-push", ""),
    ("push", "subtree", "push"),
    ("push", "lfs", "push"),
    ("push", "svn", "dcommit"),
    ("push", "p4", "submit"),
    ("commit", "commit-tree", ""),
];

/// Settings that only say how something looks or is stored. Any other may name a program.
const DATA_KEYS: &str = "advice. am. apply. blame. branch. checkout. clone. color. column. commit.gpgsign commit.verbose \
    commit.cleanup commit.status core.abbrev core.autocrlf core.bare core.bigfilethreshold core.commentchar \
    core.compression core.eol core.filemode core.fscache core.ignorecase core.logallrefupdates core.longpaths \
    core.precomposeunicode core.preloadindex core.protecthfs core.protectntfs core.quotepath core.safecrlf \
    core.sharedrepository core.sparsecheckout core.symlinks core.untrackedcache core.whitespace \
    diff.algorithm diff.colormoved diff.context diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext \
    diff.mnemonicprefix diff.noprefix diff.renamelimit diff.renames diff.submodule diff.wserrorhighlight feature. fetch. \
    format.pretty gc. grep. http. i18n. index. init.defaultbranch log. merge.conflictstyle merge.ff merge.renamelimit \
    notes. pack. protocol.version pull. push. rebase.autosquash rebase.autostash rebase.updaterefs rerere. safe. \
    stash. status. submodule.recurse submodule.fetchjobs tag.gpgsign tag.sort transfer. user. versionsort. worktree.";

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// The words from the subcommand on, with the settings given before it. None where an option is not known.
pub(crate) struct GitLine<'words> {
    pub(crate) words: &'words [ShellWord],
    pub(crate) settings: Vec<&'words ShellWord>,
}

impl<'words> GitLine<'words> {
    /// Of the words behind `git`.
    pub(crate) fn read(rest: &'words [ShellWord]) -> Option<Self> {
        let mut settings = vec![];
        let mut words = rest;
        loop {
            words = match words {
                [flag, value, more @ ..] if matches!(flag.text.as_str(), "-c" | "--config-env") => {
                    settings.push(value);
                    more
                }
                [flag, _, more @ ..]
                    if matches!(
                        flag.text.as_str(),
                        "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source"
                    ) =>
                {
                    more
                }
                [flag, more @ ..] if flag.is_flag() => {
                    let name = flag.text.split('=').next().unwrap_or_default();
                    match name {
                        "--config-env" => settings.push(flag),
                        "--git-dir"
                        | "--work-tree"
                        | "--namespace"
                        | "--super-prefix"
                        | "--attr-source"
                        | "-p"
                        | "-P"
                        | "--paginate"
                        | "--no-pager"
                        | "--bare"
                        | "--no-replace-objects"
                        | "--literal-pathspecs"
                        | "--glob-pathspecs"
                        | "--noglob-pathspecs"
                        | "--icase-pathspecs"
                        | "--no-optional-locks"
                        | "--no-advice"
                        | "--no-lazy-fetch"
                        | "--version"
                        | "-v"
                        | "--help"
                        | "-h" => {}
                        _ => return None,
                    }
                    more
                }
                _ => return Some(Self { words, settings }),
            };
        }
    }

    /// Whether the subcommand is one of git's own, which no alias can be.
    pub(crate) fn is_own(&self) -> bool {
        self.words.first().is_none_or(|sub| sub.is_known() && has(OWN, &sub.text))
    }

    /// The settings that may name a program.
    pub(crate) fn code(&self) -> impl Iterator<Item = &'words ShellWord> {
        self.settings.iter().copied().filter(|setting| names_code(&setting.text))
    }
}

/// Whether a setting, `key=value` or its key alone, may name a program.
pub(crate) fn names_code(setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_program = ["hook", "command", "program", "helper", "cmd"].iter().any(|end| key.ends_with(end));
    is_program
        || !DATA_KEYS.split_whitespace().any(|known| key == known || known.ends_with('.') && key.starts_with(known))
}

/// A subcommand, for a rule on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subcommand {
    /// Another one of git's own.
    Other,
    Same,
    /// An alias or a program, or one that does the same.
    Unknown,
}

/// What the first of the words may be for a rule on a subcommand.
pub(crate) fn subcommand(words: &[ShellWord], wanted: &str) -> Subcommand {
    let Some((word, rest)) = words.split_first() else { return Subcommand::Other };
    let does = |said: &str| said.is_empty() || rest.iter().any(|word| word.text == said || !word.is_known());
    let is_same = |text: &str| SAME.iter().any(|(one, other, said)| *one == wanted && *other == text && does(said));
    match word.text.as_str() {
        text if !word.is_known() || !has(OWN, text) && text != wanted => Subcommand::Unknown,
        text if text == wanted => Subcommand::Same,
        text if is_same(text) || text.starts_with("remote-") => Subcommand::Unknown,
        _ => Subcommand::Other,
    }
}

/// A subcommand that only handles files, versions and messages, with nothing that makes git start programs.
pub(crate) fn is_inert(rest: &[ShellWord]) -> bool {
    let Some(line) = GitLine::read(rest) else { return false };
    if line.code().next().is_some() {
        return false;
    }
    let Some((sub, words)) = line.words.split_first() else { return true };
    let is_verb = |word: &&ShellWord| matches!(word.text.as_str(), "get" | "set" | "unset" | "list");
    let key = words.iter().filter(|word| !word.is_flag()).find(|word| !is_verb(word));
    let sets = sub.text == "config" && key.is_none_or(|key| key.is_known() && !names_code(&key.text));
    let starts = |word: &ShellWord| word.text.contains("ext::") || started_by(&sub.text, word).is_some();
    (has(HANDLERS, &sub.text) || sets) && !words.iter().any(starts)
}

/// Whether an address is a command that git runs to get there, or a setting may make one of it.
pub(crate) fn is_run(word: &str) -> bool {
    let setting = word.to_ascii_lowercase();
    // Another beginning may be put in the place of one, and then an address is a command.
    let is_plain = |url: &str| ["http", "ssh:", "git:", "git@", "file:"].iter().any(|begin| url.starts_with(begin));
    let is_renamed = setting.contains(".insteadof=") && setting.strip_prefix("url.").is_some_and(|url| !is_plain(url));
    let is_allowed = setting.starts_with("protocol.") && setting.ends_with("allow=always");
    word.starts_with("ext::") || word.contains("=ext::") || is_renamed || is_allowed
}

/// What stands behind the option in a word with which a subcommand starts a program; empty where it is the next word.
pub(crate) fn started_by<'word>(sub: &str, word: &'word ShellWord) -> Option<&'word str> {
    let (_, letters, longs) = STARTERS.iter().find(|(name, _, _)| *name == sub)?;
    crate::policy::words::options::value(&word.text, letters, longs)
}
