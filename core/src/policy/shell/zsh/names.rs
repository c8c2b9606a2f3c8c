//! Names that have a meaning of their own to zsh.

/// What zsh keeps its aliases, functions, folders and files in, and what it finds programs by.
const MEANING: [&str; 32] = [
    "ARGV0",
    "NULLCMD",
    "READNULLCMD",
    "STTY",
    "TMPPREFIX",
    "aliases",
    "argv",
    "cdpath",
    "chpwd_functions",
    "commands",
    "dirstack",
    "dis_aliases",
    "dis_functions",
    "fpath",
    "functions",
    "functions_source",
    "galiases",
    "histchars",
    "mapfile",
    "module_path",
    "nameddirs",
    "options",
    "path",
    "periodic_functions",
    "precmd_functions",
    "preexec_functions",
    "saliases",
    "termcap",
    "userdirs",
    "zshaddhistory_functions",
    "zshexit_functions",
    "zsh_directory_name_functions",
];

/// Names whose value zsh itself makes of what a line says.
const VALUES: [&str; 15] = [
    "MATCH",
    "dirstack",
    "funcfiletrace",
    "funcsourcetrace",
    "funcstack",
    "functrace",
    "history",
    "historywords",
    "jobdirs",
    "jobtexts",
    "match",
    "parameters",
    "reply",
    "widgets",
    "zsh_eval_context",
];

/// Whether setting a name does more than to keep a value.
pub(crate) fn has_meaning(name: &str) -> bool {
    MEANING.contains(&name)
}

/// Whether nobody can tell what a name holds by what the line sets it to.
pub(super) fn is_made_by_zsh(name: &str) -> bool {
    has_meaning(name) || VALUES.contains(&name)
}

/// Builtins and words of zsh that bash has not got, and that run something, or change what other words mean.
const OWN_WORDS: &str = "- autoload bindkey bye cap chdir clone compctl disable echotc echoti emulate enable end fc float \
    foreach functions getln integer limit nocorrect private pushln r repeat sched setopt sysopen sysread \
    sysseek syswrite ttyctl unfunction unhash unlimit unsetopt vared zargs zcalc zcompile zcp zed zformat zle zln zmodload \
    zmv zparseopts zpty zregexparse zselect zsocket zstat zstyle zsystem ztcp";

/// Whether a word changes what others mean, or does something that bash knows by another name.
pub(crate) fn changes_shell(word: &str) -> bool {
    word.starts_with("zf_") || OWN_WORDS.split_whitespace().any(|own| own == word)
}
