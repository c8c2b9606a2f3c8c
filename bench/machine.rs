//! What this machine is, and what a process has used of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use anyhow::Context as _;

/// Cores, kernel, file system and load: read a figure together with these.
pub(crate) fn describe(folder: &Path) -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let system = output("uname", &["-srm"]);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    let files = output("df", &["--output=fstype", &folder.display().to_string()]);
    let files = files.lines().last().unwrap_or("?");
    format!("{cores} cores, {system}, journal on {files}, load {load}")
}

/// The commit that is measured, and whether anything was changed since.
pub(crate) fn revision() -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let commit = output("git", &["-C", root, "rev-parse", "--short", "HEAD"]);
    let changed = output("git", &["-C", root, "status", "--porcelain", "--untracked-files=no"]);
    let commit = if commit.is_empty() { "unknown".to_owned() } else { commit };
    if changed.is_empty() { commit } else { format!("{commit} and changes") }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

/// Resident memory in megabytes; none where there is no /proc.
pub(crate) fn resident(pid: u32) -> Option<f64> {
    kilobytes(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// Memory in megabytes, where what several processes share counts for each in part; none where there is no /proc.
pub(crate) fn proportional(pid: u32) -> Option<f64> {
    kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

fn kilobytes(file: &str, name: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Seconds of processor time that all threads of a process have used.
pub(crate) fn processor_seconds(pid: u32) -> Option<f64> {
    /// The kernel has counted in these for /proc since before there were other clocks.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the last parenthesis may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let [user, system] = [fields.get(11)?, fields.get(12)?];
    Some((user.parse::<f64>().ok()? + system.parse::<f64>().ok()?) / TICKS_A_SECOND)
}

/// A thousand listeners need as many open files.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}

/// What `./check peers` says in this variable.
pub(crate) fn peer(name: &str) -> anyhow::Result<PathBuf> {
    let missing = || format!("{name} is not set: eval \"$(./check peers)\"");
    std::env::var_os(name).map(PathBuf::from).with_context(missing)
}
