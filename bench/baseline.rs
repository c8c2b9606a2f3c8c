//! The server everything is compared with: Bun and the MCP SDK, fetched once per lock file as `./check` fetches peers.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, ensure};

const FILES: [(&str, &str); 3] = [
    ("package.json", include_str!("baseline/package.json")),
    ("package-lock.json", include_str!("baseline/package-lock.json")),
    ("webhook.ts", include_str!("baseline/webhook.ts")),
];

/// Bun, and the server it runs.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    pub(crate) bun: PathBuf,
    pub(crate) server: PathBuf,
}

impl Baseline {
    /// Installs it if it is not there, with the exact contents the lock names and without running their scripts.
    pub(crate) fn bring() -> anyhow::Result<Self> {
        let peers = cache()?.join("peers");
        let mut hasher = DefaultHasher::new();
        FILES.hash(&mut hasher);
        let folder = peers.join(format!("bench-{:016x}", hasher.finish()));
        if !folder.exists() {
            fs::create_dir_all(&peers)?;
            install(&peers, &folder)?;
        }
        let bun = folder.join("node_modules/@oven").join(platform()?).join("bin/bun");
        ensure!(bun.exists(), "{} is missing: remove {} and try again", bun.display(), folder.display());
        Ok(Self { bun, server: folder.join("webhook.ts") })
    }
}

/// The folder `./check` keeps its peers in.
fn cache() -> anyhow::Result<PathBuf> {
    if let Some(cache) = env::var_os("PORTCULLIS_CACHE") {
        return Ok(cache.into());
    }
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    Ok(caches.context("there is no HOME to keep the baseline in: set PORTCULLIS_CACHE")?.join("portcullis-check"))
}

fn install(peers: &Path, folder: &Path) -> anyhow::Result<()> {
    eprintln!("installing the baseline (once): Bun and the MCP SDK");
    let draft = tempfile::Builder::new().prefix(".bench.").tempdir_in(peers)?;
    for (name, text) in FILES {
        fs::write(draft.path().join(name), text)?;
    }
    let npm = Command::new("npm")
        .args(["ci", "--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"])
        .current_dir(draft.path())
        .status()
        .context("starting npm: is it installed?")?;
    ensure!(npm.success(), "npm could not install the baseline: is the registry reachable?");
    // Another run may have been faster, and its folder is as good.
    if let Err(error) = fs::rename(draft.path(), folder)
        && !folder.exists()
    {
        return Err(error).context("putting the baseline in its place");
    }
    Ok(())
}

fn platform() -> anyhow::Result<&'static str> {
    let musl = cfg!(target_env = "musl");
    Ok(match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") if musl => "bun-linux-x64-musl",
        ("linux", "x86_64") => "bun-linux-x64",
        ("linux", "aarch64") if musl => "bun-linux-aarch64-musl",
        ("linux", "aarch64") => "bun-linux-aarch64",
        ("macos", "aarch64") => "bun-darwin-aarch64",
        ("macos", "x86_64") => "bun-darwin-x64",
        (system, processor) => anyhow::bail!("no Bun is pinned for {system} on {processor}"),
    })
}
