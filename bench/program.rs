//! The program that is measured: as it is released. `cargo bench` would build one whose crates have the features that the
//! tests want: it is slower, and its functions have other names than those in `order.txt`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Builds it, where that has not been done.
pub(crate) fn released() -> anyhow::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("the folder of what is built")?;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--locked", "--package", "portcullis"]);
    let status = build.env("CARGO_TARGET_DIR", folder).current_dir(root).status().context("starting cargo")?;
    ensure!(status.success(), "cargo built no program to measure");
    Ok(folder.join("release/portcullis"))
}
