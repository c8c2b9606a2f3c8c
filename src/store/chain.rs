//! The chain that makes tampering visible: each record is hashed together with the one its writer wrote before.
//!
//! There is no secret in it. Whoever can write the journal can also hash it anew from a changed record on, and only a
//! head noted somewhere else tells. A journal has one writer: a second one would have a chain of its own, which nothing
//! holds to the first, and its records could be put anywhere.

use sha2::{Digest, Sha256};

use super::{ErasedPayload, Seq, Verified, VerifyError};

pub(super) type Hash = [u8; 32];
pub(super) type Salt = [u8; 16];

/// What the first record is chained to.
pub(super) const GENESIS: Hash = [0; 32];

/// Everything of a record that must not change and is known before it is written. The sequence is not: a shared
/// journal gives it out on arrival. `after` and the order of the chain stand for it.
#[derive(Clone, Copy)]
pub(super) struct Skeleton<'a> {
    pub(super) writer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// 0 for the first record of its subject.
    pub(super) after: u64,
    pub(super) at: u64,
    pub(super) body: &'a [u8],
    /// Of the payload, if there ever was one.
    pub(super) digest: Option<&'a [u8]>,
}

impl Skeleton<'_> {
    pub(super) fn chained_to(&self, previous: &Hash) -> Hash {
        let mut hasher = Sha256::new_with_prefix(previous);
        framed(&mut hasher, self.writer);
        framed(&mut hasher, self.subject);
        hasher.update(self.after.to_le_bytes());
        hasher.update(self.at.to_le_bytes());
        framed(&mut hasher, self.body);
        match self.digest {
            None => hasher.update([0]),
            Some(digest) => {
                hasher.update([1]);
                framed(&mut hasher, digest);
            }
        }
        hasher.finalize().into()
    }
}

/// With its length before it, so that bytes cannot move from one field to the next unseen.
fn framed(hasher: &mut Sha256, field: &[u8]) {
    hasher.update((field.len() as u64).to_le_bytes());
    hasher.update(field);
}

/// Stands for a payload in the chain. The salt is erased with the payload, so that a short or likely payload cannot be
/// guessed back from its digest.
pub(super) fn digest(salt: &[u8], payload: &[u8]) -> Hash {
    Sha256::new_with_prefix(salt).chain_update(payload).finalize().into()
}

/// A record as it was found.
pub(super) struct Found<'a> {
    pub(super) seq: Seq,
    pub(super) skeleton: Skeleton<'a>,
    pub(super) chain: &'a [u8],
    /// Salt and bytes, unless erased.
    pub(super) payload: Option<(&'a [u8], &'a [u8])>,
}

/// More payloads that were erased are not listed one by one.
const MOST_ERASED: usize = 100_000;

/// Walks a journal from its first record to its last.
pub(super) struct Walk {
    last: Seq,
    /// The chain's end.
    head: Hash,
    /// Who wrote the first record, and so all of them.
    writer: Option<Vec<u8>>,
    /// What retention has erased: everything up to a record, if it is from before a moment.
    pub(super) retired: Option<(Seq, u64)>,
    /// Payloads that something else has erased.
    erased: Vec<ErasedPayload>,
    /// The head noted earlier, until it is met.
    missing: Option<Hash>,
}

impl Walk {
    pub(super) fn towards(head: Option<&str>) -> Result<Self, VerifyError> {
        let noted = match head {
            None => None,
            Some(text) => Some(from_hex(text).ok_or_else(|| VerifyError::NotAHead(text.to_owned()))?),
        };
        let missing = noted.filter(|head| *head != GENESIS);
        Ok(Self { last: Seq(0), head: GENESIS, writer: None, retired: None, erased: vec![], missing })
    }

    pub(super) fn step(&mut self, found: &Found<'_>) -> Result<(), VerifyError> {
        let expected = Seq(self.last.0 + 1);
        if found.seq != expected {
            return Err(VerifyError::Broken { seq: expected, what: "missing" });
        }
        let broken = |what| Err(VerifyError::Broken { seq: found.seq, what });

        let skeleton = &found.skeleton;
        let writer = self.writer.get_or_insert_with(|| skeleton.writer.to_vec());
        if writer != skeleton.writer {
            return broken("put in by another writer than that of this journal");
        }
        let hash = skeleton.chained_to(&self.head);
        if hash != found.chain {
            return broken("changed, or not where it was written");
        }
        match (skeleton.digest, found.payload) {
            (Some(kept), Some((salt, bytes))) if digest(salt, bytes) != kept => {
                return broken("its payload was changed");
            }
            (None, Some(_)) => return broken("its payload was added later"),
            (Some(_), None) if !self.is_retired(found) && self.erased.len() < MOST_ERASED => {
                let subject = String::from_utf8_lossy(skeleton.subject).into_owned();
                self.erased.push(ErasedPayload { seq: found.seq, subject });
            }
            _ => {}
        }
        self.missing = self.missing.filter(|head| *head != hash);
        self.last = found.seq;
        self.head = hash;
        Ok(())
    }

    fn is_retired(&self, found: &Found<'_>) -> bool {
        self.retired.is_some_and(|(upto, before)| found.seq <= upto && found.skeleton.at < before)
    }

    pub(super) fn arrive(self) -> Result<Verified, VerifyError> {
        if self.missing.is_some() {
            let what = "missing: the noted head is not in the journal, so its tail was cut off or written anew";
            return Err(VerifyError::Broken { seq: Seq(self.last.0 + 1), what });
        }
        Ok(Verified { records: self.last.0, head: to_hex(&self.head), erased: self.erased })
    }
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Hash> {
    let digits = text.trim().chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Writes one record of each writer in turn, each on the chain of its own, then walks those that `keep` keeps.
    fn walk(writers: &[&str], keep: impl Fn(u64) -> bool) -> Result<Verified, VerifyError> {
        let mut heads: HashMap<&str, Hash> = HashMap::new();
        let mut walk = Walk::towards(None)?;
        let mut seq = Seq(0);
        for (at, writer) in (1..).zip(writers) {
            let skeleton = Skeleton { writer: writer.as_bytes(), subject: b"", after: 0, at, body: b"", digest: None };
            let head = heads.entry(writer).or_insert(GENESIS);
            *head = skeleton.chained_to(head);
            if keep(at) {
                seq = Seq(seq.0 + 1);
                walk.step(&Found { seq, skeleton, chain: head.as_slice(), payload: None })?;
            }
        }
        walk.arrive()
    }

    #[test]
    fn the_records_of_a_second_writer_are_found() {
        assert_eq!(walk(&["ann", "ann", "ann"], |_| true).unwrap().records, 3);
        for writers in [["ann", "bob", "ann"], ["ann", "ann", "bob"]] {
            assert!(matches!(walk(&writers, |_| true), Err(VerifyError::Broken { .. })));
        }
        let missing = walk(&["ann", "ann", "ann"], |at| at != 2);
        assert!(matches!(missing, Err(VerifyError::Broken { seq: Seq(2), .. })), "{missing:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_head_or_not(text in "[0-9a-fA-F g]{0,70}|.{0,70}") {
            if let Ok(walk) = Walk::towards(Some(&text)) {
                let read = walk.missing.unwrap_or(GENESIS);
                proptest::prop_assert_eq!(to_hex(&read), text.trim().to_ascii_lowercase());
            }
        }
    }

    #[test]
    fn a_byte_that_moves_to_the_next_field_changes_the_hash() {
        let hash = |writer: &[u8], subject: &[u8], body: &[u8], digest: Option<&[u8]>| {
            Skeleton { writer, subject, after: 0, at: 0, body, digest }.chained_to(&GENESIS)
        };
        let hashes = [
            hash(b"ab", b"c", b"", None),
            hash(b"a", b"bc", b"", None),
            hash(b"a", b"b", b"c", None),
            hash(b"a", b"b", b"", Some(b"c")),
            hash(b"a", b"b", b"c", Some(b"")),
        ];
        for (place, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..place].contains(hash));
        }
    }
}
