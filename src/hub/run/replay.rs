//! The state, read anew from the journal, and single records of it.

use std::sync::Arc;

use anyhow::Context as _;
use portcullis_core::{Event, EventId, Limits, Moment, Record, State, Subject};
use portcullis_wire::record::{self, RecordPayload};

use super::super::Trouble;
use super::super::heads::Heads;
use super::super::roster::Roster;
use super::{HubLoop, journal, snapshot};
use crate::store::{self, Records, Seq, Store, Stored};

impl HubLoop {
    /// The state held what the journal refused. Until it has been read anew nothing may rest on it.
    pub(super) fn reload_or_break(&mut self) {
        if let Some(why) = self.store.failure() {
            // What can be read may never have reached the disk.
            self.broken = Some(why.to_owned());
            return;
        }
        self.broken = self.reload().err().map(|error| format!("{error:#}"));
        if let Some(why) = &self.broken {
            tracing::error!(%why, "the journal cannot be read again");
        }
    }

    /// Makes the state anew from the journal.
    pub(super) fn reload(&mut self) -> anyhow::Result<()> {
        let read = read_state(self.store.records(), self.state.limits(), &self.version)?;
        (self.state, self.heads, self.snapshot_at) = (read.state, read.heads, read.snapshot.0);
        self.due = None;
        self.safe = self.safe.min(self.state.arrivals());
        self.tell_roster.send_replace(Arc::new(Roster::of(&self.state)));
        Ok(())
    }
}

/// What the journal comes to.
pub(super) struct ReadState {
    pub(super) state: State,
    pub(super) heads: Heads,
    /// Up to this record it was in a snapshot.
    pub(super) snapshot: Seq,
}

/// Whether a journal that no gate has open knows of a session that ran commands.
pub(crate) fn knows_agents(store: &Store, version: &str) -> anyhow::Result<bool> {
    let ReadState { state, .. } = read_state(store.records(), &Limits::default(), version)?;
    Ok(state.all_sessions().any(|session| session.about.runs_commands))
}

pub(super) fn read_state(records: Records<'_>, limits: &Limits, version: &str) -> anyhow::Result<ReadState> {
    let restored = snapshot::restored(records, limits, version);
    let empty = || ReadState { state: State::new(limits.clone()), heads: Heads::default(), snapshot: Seq(0) };
    let mut read = restored.unwrap_or_else(empty);
    let mut unreadable = None;
    records.replay(read.snapshot, &mut |stored| match read_record(&stored) {
        Ok(record) => {
            read.state.apply(Moment(stored.at), &record);
            read.heads.moved(record.subject(), stored.seq, &read.state);
        }
        Err(error) => drop(unreadable.get_or_insert(error)),
    })?;
    unreadable.map_or(Ok(read), Err)
}

/// An event whole, as it was received.
pub(in crate::hub) fn read_event(records: Records<'_>, event: EventId) -> Result<Option<Arc<Event>>, Trouble> {
    let stored = records.read(&Subject::Event(event).to_string()).map_err(journal)?;
    let Some(first) = stored.first() else { return Ok(None) };
    match read_record(first).map_err(|error| Trouble::Journal(format!("{error:#}")))? {
        Record::Received { event, .. } => Ok(Some(event)),
        _ => Ok(None),
    }
}

pub(crate) fn read_record(stored: &Stored) -> anyhow::Result<Record> {
    let payload = match &stored.payload {
        store::Payload::None => RecordPayload::None,
        store::Payload::Kept(bytes) => RecordPayload::Kept(bytes),
        store::Payload::Erased => RecordPayload::Erased,
    };
    let at = Moment(stored.at);
    record::read(at, &stored.body, payload).with_context(|| format!("record {} of {}", stored.seq.0, stored.subject))
}
