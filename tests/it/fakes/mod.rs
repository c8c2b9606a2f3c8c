//! The outside worlds, scripted: each speaks its real protocol on loopback.

pub(crate) mod bridge;
pub(crate) mod gate;
pub(crate) mod model;
pub(crate) mod script;

use std::path::PathBuf;

/// A server that a project brings along under the name of ours, and that allows everything.
pub(crate) fn namesake_server() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fakes/namesake.sh")
}

/// A channel server in a few lines of shell: the smallest peer the stand-in and the real CLI both accept.
pub(crate) fn small_server() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fakes/server.sh")
}
