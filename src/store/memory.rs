//! A journal that dies with its process: for tests, and for a gate that shall leave no trace.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::chain::{self, Found, GENESIS, Hash, Salt, Skeleton, Walk};
use super::{
    Append, Entry, Payload, Refused, Safety, Seq, Snapshot, StoreError, Stored, Verified, VerifyError, WrittenAppends,
};

/// Whoever waits for what was written to be safe, in the order of the writing.
pub(crate) type Syncs = std::sync::mpsc::Receiver<tokio::sync::oneshot::Sender<Result<(), String>>>;

/// There is only one writer, and nobody it could be mistaken for.
const WRITER: &[u8] = b"memory";

#[derive(Default)]
pub(crate) struct Memory {
    /// All records; the first has sequence 1.
    records: Vec<Record>,
    /// Where the records of each subject are. Changed together with `records`.
    subjects: HashMap<String, Vec<usize>>,
    /// What every append is refused with, while a test wants that.
    pub(super) refusal: Arc<Mutex<Option<Refused>>>,
    /// How many appends were refused with it.
    pub(super) refused: Arc<AtomicUsize>,
    /// Tells a test who waits to be safe.
    syncs: Option<std::sync::mpsc::Sender<tokio::sync::oneshot::Sender<Result<(), String>>>>,
    /// The last that was kept.
    snapshot: Option<Snapshot>,
}

struct Record {
    subject: String,
    after: u64,
    at: u64,
    body: Vec<u8>,
    digest: Option<Hash>,
    chain: Hash,
    /// `None` when there never was one, or when it has been erased.
    payload: Option<(Salt, Arc<[u8]>)>,
}

impl Memory {
    pub(super) fn syncing() -> (Self, Syncs) {
        let (sender, syncs) = std::sync::mpsc::channel();
        (Self { syncs: Some(sender), ..Self::default() }, syncs)
    }

    pub(super) fn write(&mut self, appends: &[Append]) -> WrittenAppends {
        let answers = appends.iter().map(|append| self.append_one(append.clone())).collect();
        let Some(syncs) = &self.syncs else { return WrittenAppends { answers, safety: Safety::Now } };
        let (tell, told) = tokio::sync::oneshot::channel();
        syncs.send(tell).ok();
        WrittenAppends { answers, safety: Safety::Later(told) }
    }

    fn append_one(&mut self, append: Append) -> Result<Seq, Refused> {
        if append.entries.is_empty() {
            return Err(Refused::nothing_to_append());
        }
        if let Some(refusal) = self.refusal.lock().ok().and_then(|refusal| refusal.clone()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(refusal);
        }
        let last = self.places(&append.subject).last().copied().map(seq_at);
        if last != append.after {
            return Err(Refused::Conflict { last });
        }
        // All salts are drawn first, so that nothing is half written when there are none to be had.
        let mut salts = vec![Salt::default(); append.entries.len()];
        getrandom::fill(salts.as_flattened_mut()).map_err(StoreError::doing("drawing salts"))?;

        let places = self.subjects.entry(append.subject.clone()).or_default();
        let mut after = last.unwrap_or(Seq(0));
        for (entry, salt) in append.entries.into_iter().zip(salts) {
            let previous = self.records.last().map_or(GENESIS, |record| record.chain);
            let place = self.records.len();
            self.records.push(Record::chained_to(&previous, append.subject.clone(), after, entry, salt));
            places.push(place);
            after = seq_at(place);
        }
        Ok(after)
    }

    pub(super) fn replay(&self, after: Seq, each: &mut dyn FnMut(Stored)) {
        self.after(after).for_each(each);
    }

    pub(super) fn pick(&self, seqs: &[Seq], each: &mut dyn FnMut(Stored)) {
        self.after(Seq(0)).filter(|stored| seqs.contains(&stored.seq)).for_each(each);
    }

    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        self.snapshot.clone()
    }

    pub(super) fn keep_snapshot(&mut self, upto: Seq, bytes: Vec<u8>) -> bool {
        let ends_there = self.records.len() as u64 == upto.0;
        if ends_there {
            self.snapshot = Some(Snapshot { upto, bytes });
        }
        ends_there
    }

    pub(super) fn read(&self, subject: &str) -> Vec<Stored> {
        self.places(subject).iter().map(|&place| self.records[place].stored(seq_at(place))).collect()
    }

    pub(super) fn page(&self, after: Seq, limit: usize) -> Vec<Stored> {
        self.after(after).take(limit).collect()
    }

    pub(super) fn erase(&mut self, subject: &str) -> usize {
        let places = self.subjects.get(subject).into_iter().flatten();
        places.filter_map(|&place| self.records[place].payload.take()).count()
    }

    pub(super) fn verify(&self, head: Option<&str>) -> Result<Verified, VerifyError> {
        let mut walk = Walk::towards(head)?;
        for (place, record) in self.records.iter().enumerate() {
            walk.step(&record.found(seq_at(place)))?;
        }
        walk.arrive()
    }

    pub(super) fn head(&self) -> String {
        chain::to_hex(&self.records.last().map_or(GENESIS, |record| record.chain))
    }

    fn places(&self, subject: &str) -> &[usize] {
        self.subjects.get(subject).map_or(&[], Vec::as_slice)
    }

    fn after(&self, after: Seq) -> impl Iterator<Item = Stored> {
        let skipped = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.records.iter().enumerate().skip(skipped).map(|(place, record)| record.stored(seq_at(place)))
    }
}

fn seq_at(place: usize) -> Seq {
    Seq(place as u64 + 1)
}

impl Record {
    fn chained_to(previous: &Hash, subject: String, after: Seq, entry: Entry, salt: Salt) -> Self {
        let Entry { at, body, payload } = entry;
        let digest = payload.as_ref().map(|payload| chain::digest(&salt, payload));
        let payload = payload.map(|payload| (salt, payload));
        let mut record = Self { subject, after: after.0, at, body, digest, chain: GENESIS, payload };
        record.chain = record.skeleton().chained_to(previous);
        record
    }

    fn skeleton(&self) -> Skeleton<'_> {
        Skeleton {
            writer: WRITER,
            subject: self.subject.as_bytes(),
            after: self.after,
            at: self.at,
            body: &self.body,
            digest: self.digest.as_ref().map(Hash::as_slice),
        }
    }

    fn found(&self, seq: Seq) -> Found<'_> {
        let payload = self.payload.as_ref().map(|(salt, bytes)| (salt.as_slice(), bytes.as_ref()));
        Found { seq, skeleton: self.skeleton(), chain: &self.chain, payload }
    }

    fn stored(&self, seq: Seq) -> Stored {
        let payload = match (&self.digest, &self.payload) {
            (None, _) => Payload::None,
            (Some(_), None) => Payload::Erased,
            (Some(_), Some((_, bytes))) => Payload::Kept(bytes.to_vec()),
        };
        Stored { seq, subject: self.subject.clone(), at: self.at, body: self.body.clone(), payload }
    }
}
