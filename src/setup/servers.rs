//! Any server's entry in Claude Code's files: put in and taken out, and not a byte besides.

use std::path::Path;

use portcullis_core::shell_words;

use super::entry::{self, Exchanged, Under};
use super::file::{Audience, UserFile, Wrote};
use super::json::{Node, Unfit};
use super::lock::ChangeLock;
use super::target::{overtaken, unfit_file};
use crate::config::Paths;
use crate::failure::Failure;

/// Adds a server under a name that is free.
pub(crate) fn add(
    paths: &Paths,
    file: &Path,
    under: Under<'_>,
    name: &str,
    node: &Node,
    audience: Audience,
) -> anyhow::Result<()> {
    change(paths, file, audience, |file| {
        let unfit = |unfit| unfit_file(file, &unfit);
        is_plain_json(file.text()).map_err(unfit)?;
        let put = entry::put_new(file.text(), under, name, node).map_err(unfit)?;
        put.ok_or_else(|| {
            let word = shell_words(&[name]);
            let hint = format!("remove it first (`portcullis mcp remove {word}`), or choose another name");
            Failure::new(format!("{} already has a server {name:?}", file.in_words()), hint)
        })
    })
}

/// Takes a server out; false where there is none of this name.
pub(crate) fn remove(paths: &Paths, file: &Path, under: Under<'_>, name: &str) -> anyhow::Result<bool> {
    let mut is_there = false;
    change(paths, file, Audience::OwnerAlone, |file| {
        let unfit = |unfit| unfit_file(file, &unfit);
        is_there = entry::find(file.text(), under, name).map_err(unfit)? != entry::Found::Nothing;
        entry::take_out(file.text(), under, name, 0).map_err(unfit)
    })?;
    Ok(is_there)
}

/// A server's entry as it is written; none where there is none of this name.
pub(crate) fn written(file: &Path, under: Under<'_>, name: &str) -> anyhow::Result<Option<String>> {
    let file = UserFile::read(file)?;
    Ok(entry::written(file.text(), under, name).map_err(|unfit| unfit_file(&file, &unfit))?)
}

/// Puts another entry in the place of a server's.
pub(crate) fn replace(paths: &Paths, file: &Path, under: Under<'_>, name: &str, node: &Node) -> anyhow::Result<()> {
    exchange(paths, file, under, name, Exchanged::Node(node))
}

/// Puts back what was written in the place of a server's entry, to the byte.
pub(crate) fn put_back(paths: &Paths, file: &Path, under: Under<'_>, name: &str, written: &str) -> anyhow::Result<()> {
    exchange(paths, file, under, name, Exchanged::Written(written))
}

fn exchange(paths: &Paths, file: &Path, under: Under<'_>, name: &str, exchanged: Exchanged<'_>) -> anyhow::Result<()> {
    change(paths, file, Audience::OwnerAlone, |file| {
        entry::exchange(file.text(), under, name, exchanged).map_err(|unfit| unfit_file(file, &unfit))
    })
}

/// Whoever starts the servers reads no comments and no commas too many: next to them an entry would be written for nobody.
fn is_plain_json(text: &str) -> Result<(), Unfit> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(());
    }
    serde_json::from_str::<serde_json::Value>(text).map(drop).map_err(|error| {
        let (line, column, words) = (error.line(), error.column(), error.to_string());
        let what = words.split(" at line ").next().unwrap_or(&words).to_owned();
        Unfit::NoJson { line, column, what }
    })
}

/// Claude Code writes its file too, whenever it likes: then the change is made anew, to what it wrote.
fn change(
    paths: &Paths,
    path: &Path,
    audience: Audience,
    mut edit: impl FnMut(&UserFile) -> Result<String, Failure>,
) -> anyhow::Result<()> {
    let _lock = ChangeLock::take(paths)?;
    for _ in 0..10 {
        let file = UserFile::read(path)?;
        let after = edit(&file)?;
        if after == file.text() || file.write(&after, audience)? == Wrote::Done {
            return Ok(());
        }
    }
    Err(overtaken(path).into())
}
