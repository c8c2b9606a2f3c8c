//! Tells the linker to put the functions next to each other that long-lived processes use: the system maps a program by
//! pieces of 64 KiB around each function that runs, and strewn over the whole program a tenth of it makes most of it
//! resident. `bench/order.py` writes the list. A name that is no longer there does nothing.

#![allow(clippy::print_stdout, reason = "this is how cargo is told")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LIST: &str = "bench/order.txt";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LIST}");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("PROFILE") != "release" || variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let list = Path::new(&variable("CARGO_MANIFEST_DIR")).join(LIST);
    let flags = [format!("-Wl,--symbol-ordering-file={}", list.display()), "-Wl,--no-warn-symbol-ordering".to_owned()];
    if is_known_to_the_linker(&flags) {
        for flag in flags {
            println!("cargo:rustc-link-arg-bins={flag}");
        }
    }
}

/// Of the linkers in use, not all take such a list. One that does not makes the same program, in another order.
fn is_known_to_the_linker(flags: &[String]) -> bool {
    let Some(folder) = std::env::var_os("OUT_DIR").map(PathBuf::from) else { return false };
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut probe = Command::new(rustc);
    probe.arg(&source).arg("-o").arg(program);
    probe.args(std::env::var("TARGET").map(|target| format!("--target={target}")));
    probe.args(std::env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}")));
    let own = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    probe.args(own.split('\u{1f}').filter(|flag| !flag.is_empty()));
    probe.args(flags.iter().map(|flag| format!("-Clink-arg={flag}")));
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
