//! Looks at the disk for whoever administers the gate: rules, what they say of a call, and the journal's chain.

use std::collections::HashSet;
use std::path::Path;

use portcullis_core::Record;
use portcullis_core::policy::{Mode, primary_field};
use portcullis_wire::api::{
    ChainView, ConfiguredModeView, DefaultModeView, NewCheck, RulingView, SetModeView, as_told,
};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::tools;
use serde_json::{Value, json};

use crate::config::{Config, Paths, claude_folder, environment};
use crate::doors::http::Inspector;
use crate::hub::read_record;
use crate::rules::{ClientRules, Rules, rule_views};
use crate::store::{ErasedPayload, Records, Seq, StoreConfig, Verified, VerifyError};

pub(super) fn inspector(paths: &Paths, config: &Config) -> Inspector {
    let (for_list, for_check, journal) = (paths.clone(), paths.clone(), paths.journal.clone());
    let for_folder = paths.clone();
    let (for_mode, config) = (paths.clone(), config.clone());
    Inspector {
        rules: Box::new(move |folder| Ok(rule_views(&open(&for_list, &for_list.at_home(&folder))?.files()))),
        check: Box::new(move |new| check(&for_check, &new)),
        folder: Box::new(move |folder| resolved(&for_folder.at_home(&folder))),
        default_mode: Box::new(move |folder, set| default_mode_view(&for_mode, &config, folder, set)),
        chain: Box::new(move |()| chain(&journal)),
    }
}

fn bad(what: impl Into<String>) -> Fault {
    Fault::new(Kind::BadRequest, what)
}

fn no_folder(folder: &Path) -> Fault {
    bad(format!("there is no folder {:?}", folder.display().to_string()))
}

fn resolved(folder: &Path) -> Result<String, Fault> {
    let found = folder.is_absolute().then(|| folder.canonicalize().ok()).flatten().filter(|found| found.is_dir());
    let named = found.as_deref().and_then(Path::to_str);
    named.map(str::to_owned).ok_or_else(|| no_folder(folder))
}

fn default_mode_view(paths: &Paths, config: &Config, folder: String, set: Option<SetModeView>) -> DefaultModeView {
    let configured = config.mode_in(Path::new(&folder), paths);
    let mode = configured.unless_nearer(set.as_ref()).to_owned();
    let from = configured.folder.map(|folder| folder.display().to_string());
    let configured = ConfiguredModeView { mode: configured.mode.to_owned(), folder: from };
    DefaultModeView { folder, mode, set, configured }
}

fn open(paths: &Paths, folder: &Path) -> Result<Rules, Fault> {
    if !folder.is_absolute() || !folder.is_dir() {
        return Err(no_folder(folder));
    }
    Rules::open(paths, folder).load().map_err(|error| bad(format!("{:#}", anyhow::Error::from(error))))
}

fn check(paths: &Paths, new: &NewCheck) -> Result<RulingView, Fault> {
    let folder = paths.at_home(Path::new(&new.folder));
    let rules = open(paths, &folder)?;
    let name = new.mode.as_deref().unwrap_or("default");
    let mode = Mode::named(name).ok_or_else(|| bad(format!("{name:?} is no mode")))?;
    let input = match (&new.input, primary_field(&new.tool)) {
        (Value::String(text), Some(field)) if !text.trim().is_empty() => json!({ field: text }),
        (Value::String(_), Some(_)) => return Err(bad("the input is empty")),
        (input @ Value::Object(_), _) => input.clone(),
        _ => return Err(bad("the input is not a JSON object")),
    };
    let label = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let around = rules.around(&folder, &[], label.as_deref(), rules.session_shell(&folder));
    // The gate holds a call by its own rules alone.
    let is_held = rules.decide(mode, &around, tools::call(&new.tool, &input)).is_held_in(mode);
    let told = |judgement| if is_held { as_told(judgement, mode) } else { judgement };
    // The client decides by its own rules as well.
    let clients = ClientRules::of(&folder, paths.user_home(), claude_folder(&environment).as_deref());
    clients.rules.into_iter().for_each(|rule| rules.add(rule));
    let ruling = told(rules.decide(mode, &around, tools::call(&new.tool, &input)));
    let trusted = rules.decide_if_trusted(mode, &around, tools::call(&new.tool, &input)).map(told);
    let not_looked_at = clients.is_incomplete.then(|| "claude_settings".to_owned()).into_iter().collect();
    let left_to_client = ruling.is_left_to_client(mode);
    Ok(RulingView { left_to_client, not_looked_at, ..RulingView::of(&ruling, trusted.as_ref()) })
}

fn chain(journal: &Path) -> Result<ChainView, Fault> {
    let failed = |error: &dyn std::fmt::Display| Fault::new(Kind::Internal, format!("reading the journal: {error}"));
    let store = StoreConfig::at(journal).open().map_err(|error| failed(&error))?;
    match verified(store.records(), None) {
        Ok(Verified { records, head, .. }) => {
            Ok(ChainView { ok: true, records: Some(records), head: Some(head), seq: None, what: None })
        }
        Err(VerifyError::Broken { seq, what }) => {
            Ok(ChainView { ok: false, records: None, head: None, seq: Some(seq.0), what: Some(what.to_owned()) })
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Walks the chain; a text that was erased must have a record that says so.
pub(crate) fn verified(records: Records<'_>, head: Option<&str>) -> Result<Verified, VerifyError> {
    let verified = records.verify(head)?;
    match unexplained(records, &verified.erased)? {
        Some(seq) => Err(VerifyError::Broken { seq, what: "its text was erased, and no record says by whom" }),
        None => Ok(verified),
    }
}

/// The first text that was erased although nobody has recorded it.
fn unexplained(records: Records<'_>, erased: &[ErasedPayload]) -> Result<Option<Seq>, VerifyError> {
    if erased.is_empty() {
        return Ok(None);
    }
    let mut redacted = HashSet::new();
    records.replay(Seq(0), &mut |stored| {
        if let Ok(Record::Redacted { what, .. }) = read_record(&stored) {
            redacted.insert(what);
        }
    })?;
    Ok(erased.iter().find(|erased| !redacted.contains(&erased.subject)).map(|erased| erased.seq))
}
