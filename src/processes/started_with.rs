//! The environment that a process was started with. What it, or a project it works in, has set since is not in it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

#[cfg(target_os = "linux")]
use super::stat::read_of;

/// The variables that a process was started with, as far as this user may see them.
pub(crate) type StartedWith = HashMap<OsString, OsString>;

/// None where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn started_with(pid: u32) -> Option<StartedWith> {
    let environment = read_of(pid, "environ")?;
    Some(environment.split(|byte| *byte == 0).filter_map(variable).collect())
}

/// Some of them, by their names. Of two with one name the last counts.
#[cfg(target_os = "linux")]
pub(super) fn variables_of<const COUNT: usize>(pid: u32, names: [&str; COUNT]) -> Option<[Option<OsString>; COUNT]> {
    let environment = read_of(pid, "environ")?;
    let value = |name: &str| {
        let of_name = |entry: &'_ [u8]| -> Option<OsString> {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(OsStr::from_bytes(value).to_owned())
        };
        environment.split(|byte| *byte == 0).filter_map(of_name).next_back()
    };
    Some(names.map(value))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn variables_of<const COUNT: usize>(pid: u32, names: [&str; COUNT]) -> Option<[Option<OsString>; COUNT]> {
    let mut all = started_with(pid)?;
    Some(names.map(|name| all.remove(OsStr::new(name))))
}

/// None where the system does not tell. What `ps` prints has no marks between its words, so a value ends where the next
/// word looks like a variable.
#[cfg(not(target_os = "linux"))]
pub(crate) fn started_with(pid: u32) -> Option<StartedWith> {
    let output =
        std::process::Command::new("ps").args(["-E", "-ww", "-o", "command=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let is_variable = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut entries: Vec<String> = vec![];
    for word in text.trim_end().split(' ') {
        match entries.last_mut() {
            Some(entry) if !is_variable(word) => *entry = format!("{entry} {word}"),
            _ => entries.push(word.to_owned()),
        }
    }
    let found: StartedWith = entries.iter().filter_map(|entry| variable(entry.as_bytes())).collect();
    // The system shows the environments of some programs to nobody.
    (!found.is_empty()).then_some(found)
}

fn variable(entry: &[u8]) -> Option<(OsString, OsString)> {
    let at = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    Some((word(&entry[..at]), word(&entry[at + 1..])))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_shows_what_it_was_started_with_and_not_what_it_set_since() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "export B=later; echo; read x"])
            .env("A", "a=b c")
            .env_remove("B")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Read only when the shell is there: before, it is a copy of this process.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let found = started_with(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.get(OsStr::new("A")).map(OsString::as_os_str), Some(OsStr::new("a=b c")));
        assert_eq!(found.get(OsStr::new("B")), None);
        let some = variables_of(std::process::id(), ["PATH", "PAT", "NO_SUCH_VARIABLE"]).unwrap();
        assert_eq!(some, [std::env::var_os("PATH"), None, None]);
    }
}
