//! A browser of this machine, opened at an address that is nobody else's business.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;

use super::environment;
use crate::processes;

/// The program that opens a browser, where someone sits in front of one.
pub(super) fn opener() -> Option<&'static str> {
    let is_set = |name: &str| environment(name).is_some_and(|value| !value.is_empty());
    let is_remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    match () {
        () if is_remote => None,
        () if cfg!(target_os = "macos") => Some("open"),
        () => (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some("xdg-open"),
    }
}

/// A file that sends a browser on: the link stands in it, and in no list of processes. It is gone when this is dropped.
pub(super) struct RedirectFile(PathBuf);

impl RedirectFile {
    /// None where the program does not start.
    pub(super) fn open(folder: &Path, url: &str, program: &str) -> anyhow::Result<Option<Self>> {
        forget_older(folder);
        let redirect = Self(folder.join(format!("{FILE_START}{}{FILE_END}", std::process::id())));
        let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        let page = format!(
            "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
             <meta http-equiv=refresh content=\"0;url={url}\"><title>Portcullis</title>"
        );
        drop(std::fs::remove_file(&redirect.0));
        let writing = || format!("writing {}", redirect.0.display());
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&redirect.0).with_context(writing)?;
        file.write_all(page.as_bytes()).with_context(writing)?;
        let mut command = std::process::Command::new(program);
        command.arg(&redirect.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Err(error) = command.spawn() {
            tracing::warn!("{program} does not start ({error}), so that no browser is opened");
            return Ok(None);
        }
        Ok(Some(redirect))
    }
}

/// How the names of such files begin and end.
const FILE_START: &str = "open-";
const FILE_END: &str = ".html";

/// Removes the files of those that were killed. The links in them have run out, or soon will have.
fn forget_older(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(FILE_START)?.strip_suffix(FILE_END));
        if number.and_then(|number| number.parse().ok()).is_some_and(|process| !processes::is_alive(process)) {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}
