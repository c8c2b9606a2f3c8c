//! What erases more than files: code that removes whole folders, and writes to disks themselves.

use super::command::name_of;
use super::inert::is_inert;
use crate::policy::files::touching::Touch;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::ShellWord;

/// What code says when it removes a folder with all that is in it.
pub(crate) const REMOVES_FOLDERS: [&str; 17] = [
    "rmtree",
    "remove_tree",
    "removedirs",
    "rm_rf",
    "rm_r",
    "rmSync",
    "rmdirSync",
    "fs.rm",
    "promises.rm",
    "RemoveAll",
    "remove_dir_all",
    "emptyDir",
    "removeSync",
    "rimraf",
    "deltree",
    ".rm(",
    "send2trash",
];
/// What it says when it removes files, one by one.
pub(crate) const REMOVES_FILES: [&str; 5] = ["unlink", "os.remove", "File.delete", "rm_f", "truncate"];
/// What it says when it moves what it is given.
const MOVES: [&str; 10] = [
    "rename(",
    "rename ",
    "os.rename",
    "os.replace",
    // What a text replaces is something else.
    "home().replace(",
    "expanduser().replace(",
    "shutil.move",
    "renameSync",
    "FileUtils.mv",
    "File::Copy",
];
/// What it says when it gives files other rights.
const CHANGES_RIGHTS: [&str; 5] = ["chmod(", "chmod ", "chmodSync", "chown(", "chownSync"];
/// How it says the home, and the folder it is in.
const HOME: [&str; 7] = ["expanduser", "homedir", "Path.home", "Dir.home", "HOME", "getpwuid", "USERPROFILE"];
const HERE: [&str; 5] = ["getcwd", "process.cwd", "Dir.pwd", "Path.cwd", "__dirname"];

/// Code in a line that removes, with the words that may name what. What it removes is one of the texts in it, or one of
/// the words behind it.
pub(crate) struct RemovingCode {
    pub(crate) words: Vec<ShellWord>,
    /// It goes through folders, and removes files: that of the folder one works in may be meant.
    pub(crate) spares_here: bool,
}

/// Everything in a line that is code and removes.
pub(crate) fn codes(suspects: &Suspects) -> Vec<RemovingCode> {
    let runs_code = |command: &&Found| !is_inert(&command.words) && command.words.iter().any(is_interpreter);
    suspects.found.iter().filter(runs_code).flat_map(code).collect()
}

/// Whether a command runs code of another language than a shell's.
pub(crate) fn interprets(words: &[ShellWord]) -> bool {
    words.iter().take(4).any(is_interpreter)
}

fn is_interpreter(word: &ShellWord) -> bool {
    let languages =
        ["python", "perl", "ruby", "node", "deno", "bun", "php", "lua", "osascript", "pypy", "tsx", "ts-node"];
    languages.iter().any(|language| name_of(&word.text).starts_with(language))
}

/// The texts that stand in quotes in the code of a command.
pub(crate) fn strings(command: &Found) -> Vec<String> {
    let texts = command.words.iter().skip(1).map(|word| word.text.as_str());
    let codes = texts.filter(|text| text.contains(['(', ' '])).chain(command.given.iter().map(String::as_str));
    let is_name = |text: &String| !text.contains([' ', '\n', '(', ',', ';']) && text.len() < 200;
    codes.flat_map(quoted).filter(is_name).take(200).collect()
}

fn code(command: &Found) -> Option<RemovingCode> {
    let texts =
        || command.words.iter().skip(1).map(|word| word.text.as_str()).chain(command.given.iter().map(String::as_str));
    let says = |marks: &[&str]| texts().any(|text| marks.iter().any(|mark| text.contains(mark)));
    let folders = says(&REMOVES_FOLDERS) || says(&MOVES);
    if !folders && !says(&REMOVES_FILES) && !says(&CHANGES_RIGHTS) {
        return None;
    }
    let mut words: Vec<ShellWord> = texts().flat_map(quoted).map(|text| ShellWord::read(&text)).collect();
    words.extend(command.words.iter().skip(1).filter(|word| !word.text.contains(['(', ' '])).cloned());
    if says(&HOME) {
        words.push(ShellWord::plain("~"));
    }
    if says(&HERE) {
        words.push(ShellWord::plain("."));
    }
    Some(RemovingCode { words, spares_here: !folders })
}

/// What code says when it puts what lies elsewhere into a folder.
const FILLS_FOLDERS: [&str; 9] =
    ["copytree", "copy_tree", "cpSync", "fs.cp(", "cp_r", "dircopy", "extractall", "unpack_archive", "extract_all"];

/// What code may fill so: the texts in it, and the home where it says that.
pub(crate) fn fills_by_code(suspects: &Suspects) -> Vec<ShellWord> {
    let runs_code = |command: &&Found| !is_inert(&command.words) && command.words.iter().any(is_interpreter);
    let filling = suspects.found.iter().filter(runs_code).filter(|command| {
        let texts = command.words.iter().skip(1).map(|word| &word.text).chain(&command.given);
        texts.into_iter().any(|text| FILLS_FOLDERS.iter().any(|mark| text.contains(mark)))
    });
    let texts = |command: &Found| {
        let says_home = command.words.iter().map(|word| &word.text).chain(&command.given);
        let home = says_home.into_iter().any(|text| text.contains("Path.home()") || text.contains("Dir.home"));
        strings(command).into_iter().chain(home.then(|| "~".to_owned())).collect::<Vec<_>>()
    };
    filling.flat_map(texts).map(|text| ShellWord::plain(&text)).collect()
}

/// The texts that stand in quotes in code, and those in brackets of perl's own.
fn quoted(code: &str) -> Vec<String> {
    let mut texts = vec![];
    for quote in ['\'', '"', '`'] {
        texts.extend(code.split(quote).skip(1).step_by(2).filter(|text| !text.is_empty()).map(str::to_owned));
    }
    texts
}

/// Commands that remove what no file is left of, whatever their words say.
pub(crate) fn erases(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |names: &[&str]| rest.iter().any(|word| names.iter().any(|name| word.text.starts_with(name)));
    match name_of(&first.text) {
        "lvremove" | "vgremove" | "pvremove" | "userdel" | "deluser" | "cryptsetup" => true,
        "zpool" | "zfs" => has(&["destroy"]),
        "btrfs" => has(&["delete"]),
        // What lies where it unpacks goes, with all that is in it.
        "tar" | "gtar" => has(&["--recursiv"]) && !has(&["--recursion"]),
        "diskutil" => has(&["erase", "reformat", "partition", "zero", "secureErase"]),
        name => name == "mkfs" || name.starts_with("mkfs."),
    }
}

/// Whether a file is a disk itself, or a part of one.
pub(crate) fn is_disk(touch: &Touch) -> bool {
    const DISKS: [&str; 14] =
        ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "loop", "mem", "zd"];
    let device = touch.path.strip_prefix("/dev/").unwrap_or_default();
    let device = device.strip_prefix("disk/").unwrap_or(device);
    touch.may_change && !device.is_empty() && DISKS.iter().any(|disk| device.starts_with(disk))
}

/// Commands that leave of all the files they are given less than there was, or nothing that anybody may read.
pub(crate) fn changes_all(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let short = |letters: &[char]| {
        rest.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letters))
    };
    let long = |begin: &str| rest.iter().any(|word| word.text.starts_with(begin));
    match name_of(&first.text) {
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chcon" | "setfattr" => true,
        "rename" | "prename" | "perl-rename" | "file-rename" => true,
        "truncate" | "tee" => true,
        "sed" | "perl" | "ruby" => short(&['i']) || long("--in"),
        "gzip" | "bzip2" | "xz" | "zstd" => short(&['r']) || long("--rec") || long("--rm"),
        _ => false,
    }
}
