//! How the records of one commit stand in one row: one after the other, each with a byte that says what became of its
//! payload. Nothing in a row ever moves: to erase a payload, zeros are written over it where it is.
//!
//! ```text
//! row     = form (1) · length of writer (1) · writer · record …
//! record  = at (8) · after (8) · chain (32) · length of subject (4) · length of body (4) · mark (1) · subject · body
//!           and with a payload: digest (32) · length of salt (1) · length of payload (4) · salt · payload
//! ```
//!
//! Numbers have their lowest byte first.

use std::ops::Range;

use crate::store::chain::{Found, Skeleton};
use crate::store::{Payload, Seq, Stored};

/// The only form so far.
const FORM: u8 = 1;

/// What became of a payload.
const NEVER: u8 = 0;
const KEPT: u8 = 1;
pub(super) const ERASED: u8 = 2;

/// A record to be put into a row. Its salt goes with its payload.
pub(super) struct NewRecord<'a> {
    pub(super) skeleton: Skeleton<'a>,
    pub(super) chain: &'a [u8],
    /// Salt and bytes, unless there never were any or they have been erased.
    pub(super) payload: Option<(&'a [u8], &'a [u8])>,
}

/// Begins the row of a writer.
pub(super) fn begin(row: &mut Vec<u8>, writer: &[u8]) {
    row.clear();
    let length = u8::try_from(writer.len()).unwrap_or(u8::MAX);
    row.extend([FORM, length]);
    row.extend(&writer[..usize::from(length)]);
}

/// Puts a record behind those that are in the row. A length is cut to what its field holds; such a record then fails its
/// verification, and is larger than anything that is let in.
pub(super) fn put(row: &mut Vec<u8>, record: &NewRecord<'_>) {
    let NewRecord { skeleton, chain, payload } = record;
    row.extend_from_slice(&skeleton.at.to_le_bytes());
    row.extend_from_slice(&skeleton.after.to_le_bytes());
    row.extend_from_slice(&fixed::<32>(chain));
    row.extend_from_slice(&length(skeleton.subject));
    row.extend_from_slice(&length(skeleton.body));
    row.push(match (skeleton.digest, payload) {
        (None, None) => NEVER,
        (_, Some(_)) => KEPT,
        (Some(_), None) => ERASED,
    });
    row.extend_from_slice(skeleton.subject);
    row.extend_from_slice(skeleton.body);
    if skeleton.digest.is_some() || payload.is_some() {
        let (salt, bytes) = payload.unwrap_or_default();
        row.extend_from_slice(&fixed::<32>(skeleton.digest.unwrap_or_default()));
        row.push(u8::try_from(salt.len()).unwrap_or(u8::MAX));
        row.extend_from_slice(&length(bytes));
        row.extend_from_slice(salt);
        row.extend_from_slice(bytes);
    }
}

fn length(field: &[u8]) -> [u8; 4] {
    u32::try_from(field.len()).unwrap_or(u32::MAX).to_le_bytes()
}

fn fixed<const N: usize>(field: &[u8]) -> [u8; N] {
    field.try_into().unwrap_or([0; N])
}

/// The row is not one that this program writes.
#[derive(Debug, thiserror::Error)]
#[error("the row of record {} is damaged", .0.0)]
pub(super) struct Malformed(pub(super) Seq);

/// A record as it is in its row.
pub(super) struct RowRecord<'a> {
    pub(super) seq: Seq,
    pub(super) skeleton: Skeleton<'a>,
    pub(super) chain: &'a [u8],
    payload: Option<(&'a [u8], &'a [u8])>,
    /// Where the byte is that says what became of its payload.
    pub(super) mark: usize,
    /// Where salt and payload are.
    pub(super) secret: Range<usize>,
}

impl<'a> RowRecord<'a> {
    pub(super) fn found(self) -> Found<'a> {
        Found { seq: self.seq, skeleton: self.skeleton, chain: self.chain, payload: self.payload }
    }

    pub(super) fn stored(&self) -> Stored {
        let payload = match (self.skeleton.digest, self.payload) {
            (None, _) => Payload::None,
            (Some(_), None) => Payload::Erased,
            (Some(_), Some((_, bytes))) => Payload::Kept(bytes.to_vec()),
        };
        let Skeleton { subject, at, body, .. } = self.skeleton;
        let subject = String::from_utf8_lossy(subject).into_owned();
        Stored { seq: self.seq, subject, at, body: body.to_vec(), payload }
    }

    /// How large the payload is that is still there.
    pub(super) fn kept(&self) -> Option<usize> {
        self.payload.map(|(_, bytes)| bytes.len())
    }
}

/// The records of one row, in order.
pub(super) struct RowRecords<'a> {
    row: &'a [u8],
    at: usize,
    writer: &'a [u8],
    next: Seq,
}

impl<'a> RowRecords<'a> {
    pub(super) fn of(first: Seq, row: &'a [u8]) -> Result<Self, Malformed> {
        let mut records = Self { row, at: 0, writer: &[], next: first };
        let writer = (records.byte() == Some(FORM)).then(|| records.byte()).flatten();
        records.writer = writer.and_then(|length| records.cut(usize::from(length))).ok_or(Malformed(first))?;
        Ok(records)
    }

    fn cut(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.row.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.cut(1)?.first().copied()
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.cut(N)?.try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        self.number().map(|number| u32::from_le_bytes(number) as usize)
    }

    fn read(&mut self) -> Option<RowRecord<'a>> {
        let at = u64::from_le_bytes(self.number()?);
        let after = u64::from_le_bytes(self.number()?);
        let chain = self.cut(32)?;
        let (subject, body) = (self.length()?, self.length()?);
        let mark = self.at;
        let kind = self.byte()?;
        let (subject, body) = (self.cut(subject)?, self.cut(body)?);
        let (mut digest, mut payload, mut secret) = (None, None, self.at..self.at);
        if kind != NEVER {
            digest = Some(self.cut(32)?);
            let (salt, bytes) = (usize::from(self.byte()?), self.length()?);
            let start = self.at;
            let there = (self.cut(salt)?, self.cut(bytes)?);
            secret = start..self.at;
            payload = match kind {
                KEPT => Some(there),
                ERASED => None,
                _ => return None,
            };
        }
        let skeleton = Skeleton { writer: self.writer, subject, after, at, body, digest };
        Some(RowRecord { seq: self.next, skeleton, chain, payload, mark, secret })
    }
}

impl<'a> Iterator for RowRecords<'a> {
    type Item = Result<RowRecord<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.row.len() {
            return None;
        }
        let record = self.read().ok_or(Malformed(self.next));
        match record {
            Ok(_) => self.next = Seq(self.next.0 + 1),
            // Nothing behind it can be made out.
            Err(_) => self.at = self.row.len(),
        }
        Some(record)
    }
}

impl From<Malformed> for rusqlite::Error {
    fn from(malformed: Malformed) -> Self {
        Self::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, malformed.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_records_or_not(bytes in prop::collection::vec(any::<u8>(), 0..400), sound in any::<bool>()) {
            let row = if sound { [&[FORM, 0], bytes.as_slice()].concat() } else { bytes };
            if let Ok(records) = RowRecords::of(Seq(1), &row) {
                prop_assert!(records.count() <= row.len());
            }
        }

        #[test]
        fn records_are_read_as_they_were_written(
            records in prop::collection::vec((".{0,20}", ".{0,40}", prop::option::of(".{0,40}"), any::<bool>()), 0..8)
        ) {
            let mut row = vec![];
            begin(&mut row, b"ann");
            for (subject, body, payload, erased) in &records {
                let digest = payload.as_ref().map(|_| &[7; 32][..]);
                let skeleton =
                    Skeleton { writer: b"ann", subject: subject.as_bytes(), after: 3, at: 4, body: body.as_bytes(), digest };
                let payload = payload.as_ref().filter(|_| !erased).map(|payload| (&b"salt"[..], payload.as_bytes()));
                put(&mut row, &NewRecord { skeleton, chain: &[9; 32], payload });
            }
            let found: Vec<_> = RowRecords::of(Seq(1), &row).unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(found.len(), records.len());
            for (place, (record, (subject, body, payload, erased))) in found.iter().zip(&records).enumerate() {
                let stored = record.stored();
                prop_assert_eq!((stored.seq, &stored.subject, stored.at), (Seq(place as u64 + 1), subject, 4));
                prop_assert_eq!(stored.body, body.as_bytes());
                prop_assert_eq!(stored.payload, match payload {
                    None => Payload::None,
                    Some(_) if *erased => Payload::Erased,
                    Some(text) => Payload::Kept(text.clone().into_bytes()),
                });
            }
        }
    }
}
