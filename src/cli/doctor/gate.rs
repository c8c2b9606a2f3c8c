//! The program, its folders and settings, and the gate with its port, token, journal and disk.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use portcullis_wire::api::{SessionView, Status};

use super::finding::{Blocks, Finding, Level};
use crate::cli::client::Client;
use crate::cli::setup::place::{self, Place};
use crate::cli::{VERSION, configuration, environment, lock};
use crate::config::{Config, Listen, Paths, look_at_token};
use crate::failure::Failure;
use crate::processes::holder_of_port;
use crate::store::{Glance, StoreConfig};

pub(super) struct GateFindings {
    pub(super) findings: Vec<Finding>,
    pub(super) is_running: bool,
    pub(super) sessions: Vec<SessionView>,
}

/// Checks one after the other, each after those it depends on.
pub(super) async fn look(paths: &Paths) -> GateFindings {
    let mut findings = vec![program()];
    findings.extend(folders(paths));
    let config = configuration(paths, None);
    findings.push(settings(paths, &config));
    let config = config.unwrap_or_default();
    let (gate, found) = gate(paths).await;
    findings.push(found);
    findings.push(port(&config, gate.as_ref()));
    findings.push(token(paths, &config));
    findings.push(journal(paths, gate.is_some()));
    findings.extend(disk(&paths.state_dir));
    // With any of these there is no gate, or none that takes anything.
    for finding in findings.iter_mut().filter(|finding| finding.level == Level::Fail) {
        finding.blocks = Some(Blocks::Gate);
    }
    let sessions = match &gate {
        Some(_) => Client::new(paths).get("/api/v1/sessions").await.unwrap_or_default(),
        None => vec![],
    };
    GateFindings { findings, is_running: gate.is_some(), sessions }
}

fn program() -> Finding {
    const CHECK: &str = "program";
    let program = match place::this_program() {
        Ok(program) => program,
        Err(error) => return Finding::error(CHECK, &error),
    };
    let bin = place::bin_folder(&environment);
    let shown = program.display();
    match (place::why_it_will_not_stay(&program, bin.as_deref()), place::choose(&program, &environment)) {
        (None, _) => Finding::ok(CHECK, format!("portcullis {VERSION}, {shown}")),
        // What is registered is the copy.
        (Some(because), Ok(Place::There(copy))) => Finding::ok(
            CHECK,
            format!("portcullis {VERSION}, {shown}: it {because}, and the same program stays in {}", copy.display()),
        ),
        (Some(because), _) => Finding::warn(
            CHECK,
            format!("portcullis {VERSION}, {shown}: it {because}"),
            "`portcullis install` copies it to a folder where it stays and registers the copy",
        ),
    }
}

fn folders(paths: &Paths) -> Vec<Finding> {
    const CHECK: &str = "folders";
    let finding = |(folder, looked): (&Path, Result<bool, Failure>)| match looked {
        Ok(true) => Finding::ok(CHECK, format!("only you can write to {}", folder.display())),
        Ok(false) => {
            Finding::note(CHECK, format!("{} does not exist yet; the first start creates it", folder.display()))
        }
        Err(error) => Finding::error(CHECK, &error.into()),
    };
    paths.look().into_iter().map(finding).collect()
}

fn settings(paths: &Paths, config: &anyhow::Result<Config>) -> Finding {
    const CHECK: &str = "configuration";
    let file = paths.config_file.display();
    match config {
        Ok(_) if paths.config_file.exists() => Finding::ok(CHECK, format!("{file} is valid")),
        Ok(_) => Finding::ok(CHECK, format!("all defaults; {file} does not exist")),
        Err(error) => Finding::error(CHECK, error),
    }
}

async fn gate(paths: &Paths) -> (Option<Status>, Finding) {
    const CHECK: &str = "gate";
    let Some(holder) = lock::holder(&paths.lock_file) else {
        let what = "not running; the first session starts one, which stops when idle";
        return (
            None,
            Finding::ok(CHECK, what).with("`portcullis up` or `portcullis service install` starts one that stays"),
        );
    };
    let gate = match Client::new(paths).status().await {
        Ok(gate) => gate,
        Err(error) => {
            let what = format!("process {} holds the lock and does not answer: {error:#}", holder.pid);
            let remedy = format!("if this does not change, `kill {}`; no accepted event is lost", holder.pid);
            return (None, Finding::fail(CHECK, what, remedy));
        }
    };
    let what = format!("portcullis {} runs (pid {}) and answers on {}", gate.version, gate.pid, gate.socket);
    let found = if gate.version == VERSION {
        Finding::ok(CHECK, what)
    } else {
        let what = format!("{what}, but this is portcullis {VERSION}");
        Finding::warn(CHECK, what, "`portcullis stop`; the next session starts one of this version")
    };
    (Some(gate), found)
}

fn port(config: &Config, gate: Option<&Status>) -> Finding {
    const CHECK: &str = "port";
    const REMEDY: &str =
        "stop what holds it, or choose another with PORTCULLIS_LISTEN or `listen` in the configuration";
    if let Some(gate) = gate {
        return match (&gate.listen, &gate.listen_problem) {
            (Some(address), _) => Finding::ok(CHECK, format!("the gate listens on http://{address}")),
            (None, Some(problem)) => {
                Finding::warn(CHECK, format!("{problem}; the gate only listens on its Unix socket"), REMEDY)
            }
            (None, None) => Finding::ok(CHECK, "off: the gate only listens on its Unix socket"),
        };
    }
    let Listen::Addr(address) = config.listen else {
        return Finding::ok(CHECK, "off: a gate will only listen on its Unix socket");
    };
    match TcpListener::bind(address) {
        Ok(_) => Finding::ok(CHECK, format!("{address} is free")),
        Err(error) => {
            let holder = holder_of_port(address).unwrap_or_else(|| error.to_string());
            let what = format!("{address} is taken by {holder}; a gate would only listen on its Unix socket");
            Finding::warn(CHECK, what, REMEDY)
        }
    }
}

fn token(paths: &Paths, config: &Config) -> Finding {
    const CHECK: &str = "token";
    if config.token.is_some() {
        return Finding::ok(CHECK, "the owner's token comes from PORTCULLIS_TOKEN");
    }
    let file = paths.token_file.display();
    match look_at_token(paths) {
        Ok(true) => Finding::ok(CHECK, format!("only you can read {file}")),
        Ok(false) => Finding::note(CHECK, format!("{file} does not exist yet; the first start creates it")),
        Err(error) => Finding::error(CHECK, &error.into()),
    }
}

fn journal(paths: &Paths, is_open: bool) -> Finding {
    const CHECK: &str = "journal";
    let file = paths.journal.display();
    let open = if is_open { ", open in the gate" } else { "" };
    match StoreConfig::at(&paths.journal).glance() {
        Ok(Glance::Missing) => Finding::note(CHECK, format!("{file} does not exist yet; the first start creates it")),
        Ok(Glance::Ours { version, known }) if version <= known => {
            Finding::ok(CHECK, format!("{file}, version {version} of {known}{}{open}", size(&paths.journal)))
        }
        Ok(Glance::Ours { version, known }) => Finding::fail(
            CHECK,
            format!("{file} has version {version}; this portcullis knows versions up to {known}"),
            "install the newer portcullis again",
        ),
        Ok(Glance::Unsettled) if is_open => Finding::ok(CHECK, format!("{file}{open}")),
        Ok(Glance::Unsettled) => Finding::note(CHECK, format!("{file} has no header yet; the next start checks it")),
        Ok(Glance::Foreign) => Finding::fail(
            CHECK,
            format!("{file} is damaged or not a journal"),
            format!("move {file} aside with its -wal and -shm files, to start a new journal"),
        ),
        Err(error) => Finding::fail(
            CHECK,
            format!("{file} cannot be read: {error}"),
            "the file and its folder must belong to the user who runs portcullis",
        ),
    }
}

fn size(path: &Path) -> String {
    path.metadata().map(|about| format!(", {} KiB", about.size().div_ceil(1024))).unwrap_or_default()
}

/// Where the journal is, or will be.
fn disk(folder: &Path) -> Option<Finding> {
    const CHECK: &str = "disk";
    const LITTLE: u64 = 1 << 30;
    const NONE: u64 = 64 << 20;
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let about = rustix::fs::statvfs(there).ok()?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let what = format!("{} MiB free for the journal in {}", free >> 20, there.display());
    let remedy = "free some space: events that cannot be written are refused";
    Some(match free {
        ..NONE => Finding::fail(CHECK, what, remedy),
        NONE..LITTLE => Finding::warn(CHECK, what, remedy),
        LITTLE.. => Finding::ok(CHECK, what),
    })
}
