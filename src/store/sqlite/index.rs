//! Which records each subject has: a file beside the journal that makes reading a subject fast. It holds nothing that is
//! not in the journal, may be deleted at any time, and is not looked at when it does not fit.
//!
//! Only the thread for checkpoints fills it, thousands of records at a time. What it does not have yet is looked for in
//! the rows themselves; small journals have no index at all.

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};

use super::files::{beside, make_private};
use super::read::RowReader;
use super::write::{Tail, Transaction};
use crate::store::Seq;

/// How many records the index may lack before it is worth filling. So many are gone through in a few milliseconds.
const WORTHWHILE: u64 = 10_000;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS entry (
        subject BLOB NOT NULL,
        seq     INTEGER NOT NULL,
        PRIMARY KEY (subject, seq)
    ) STRICT, WITHOUT ROWID;
    -- How far it is filled: up to this record of the journal, which has this place in its chain.
    CREATE TABLE IF NOT EXISTS filled (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, chain BLOB) STRICT;
";
const FILLED: &str = "SELECT seq, chain FROM filled";
const SET_FILLED: &str = "INSERT OR REPLACE INTO filled VALUES (1, ?1, ?2)";
const SEQS: &str = "SELECT seq FROM entry WHERE subject = ?1 ORDER BY seq";
const INSERT: &str = "INSERT OR IGNORE INTO entry VALUES (?1, ?2)";

pub(super) struct Index {
    path: PathBuf,
    /// Opened when it is first needed.
    connection: RefCell<Option<Connection>>,
}

impl Index {
    pub(super) fn of(journal: &Path) -> Self {
        Self { path: beside(journal, ".index"), connection: RefCell::new(None) }
    }

    /// Where the subject's records are, and up to which record of the journal that is all of them. An index that is not
    /// there, cannot be read or does not fit knows of none.
    pub(super) fn look_up(&self, journal: &RowReader<'_>, subject: &str) -> (Vec<Seq>, Seq) {
        let found = self.with_opened(|index| {
            let Some(filled) = filled(index)?.filter(|filled| fits(journal, filled)) else {
                return Ok((vec![], Seq(0)));
            };
            let mut statement = index.prepare_cached(SEQS)?;
            let seqs = statement.query_map([subject.as_bytes()], |row| row.get(0))?;
            let seqs = seqs.filter(|seq| seq.as_ref().is_ok_and(|seq| *seq <= filled.last) || seq.is_err());
            Ok((seqs.collect::<rusqlite::Result<_>>()?, filled.last))
        });
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %self.path.display(), "the journal's index cannot be read");
            self.give_up(&error);
            (vec![], Seq(0))
        })
    }

    fn with_opened<T: Default>(&self, look: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let mut opened = self.connection.borrow_mut();
        if opened.is_none() && self.path.exists() {
            *opened = Some(open(&self.path)?);
        }
        opened.as_ref().map_or_else(|| Ok(T::default()), look)
    }

    /// Takes it away when it is damaged inside, so that it is made anew.
    fn give_up(&self, error: &rusqlite::Error) {
        self.connection.take();
        if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
            && let Err(error) = self.remove()
        {
            tracing::warn!(%error, path = %self.path.display(), "the journal's damaged index cannot be removed");
        }
    }

    /// Takes in what was appended, if it is enough to be worth it, for as long as it `is_wanted`.
    pub(super) fn fill(&self, journal: &RowReader<'_>, is_wanted: &dyn Fn() -> bool) -> rusqlite::Result<()> {
        let filled = self.fill_up(journal, is_wanted);
        if let Err(error) = &filled {
            self.give_up(error);
        }
        filled
    }

    fn fill_up(&self, journal: &RowReader<'_>, is_wanted: &dyn Fn() -> bool) -> rusqlite::Result<()> {
        let tail = Tail::look_up(journal.connection)?;
        if !self.path.exists() {
            // Someone has taken it away.
            self.connection.take();
        }
        let known = self.with_opened(filled).unwrap_or_else(|error| {
            tracing::warn!(%error, "the journal's index is made anew");
            None
        });
        let known = match known {
            Some(known) if fits(journal, &known) => known.last,
            _ => Seq(0),
        };
        if tail.last.0 < known.0 + WORTHWHILE {
            return Ok(());
        }
        if known == Seq(0) {
            self.start_anew().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        }
        let opened = self.connection.borrow();
        let Some(index) = opened.as_ref() else { return Ok(()) };
        let mut upto = known;
        while upto < tail.last && is_wanted() {
            upto = fill_some(index, journal, upto)?;
        }
        Ok(())
    }

    fn remove(&self) -> std::io::Result<()> {
        remove_all(&self.path)
    }

    fn start_anew(&self) -> std::io::Result<()> {
        let mut opened = self.connection.borrow_mut();
        opened.take();
        self.remove()?;
        // Made whole under another name: the loop looks into the index meanwhile, and would wait for its tables.
        let draft = beside(&self.path, ".new");
        remove_all(&draft)?;
        make_private(&draft)?;
        let made = open(&draft)
            .and_then(|index| index.execute_batch(SCHEMA).and_then(|()| index.close().map_err(|(_, error)| error)));
        made.map_err(std::io::Error::other)?;
        fs::rename(&draft, &self.path)?;
        *opened = Some(open(&self.path).map_err(std::io::Error::other)?);
        Ok(())
    }
}

fn remove_all(index: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        match fs::remove_file(beside(index, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let index = Connection::open_with_flags(path, flags)?;
    index.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    index.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(index)
}

fn filled(index: &Connection) -> rusqlite::Result<Option<Tail>> {
    index.query_row(FILLED, [], |row| Ok(Tail { last: row.get(0)?, chain: row.get(1)? })).optional()
}

/// Whether the journal has the record up to which an index was filled or a snapshot made: else it was put in the place of
/// another.
pub(super) fn fits(journal: &RowReader<'_>, filled: &Tail) -> bool {
    let same = journal.record(filled.last, |_, record| record.chain == filled.chain);
    matches!(same, Ok(Some(true)))
}

/// One transaction: the next records after `upto`. Says how far it came.
fn fill_some(index: &Connection, journal: &RowReader<'_>, upto: Seq) -> rusqlite::Result<Seq> {
    let transaction = Transaction::begin(index)?;
    let mut insert = transaction.prepare_cached(INSERT)?;
    let (mut filled, mut failed) = (None, None);
    journal.each(upto, |record| {
        if let Err(error) = insert.execute((record.skeleton.subject, record.seq)) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        filled = Some((record.seq, record.chain.to_vec()));
        if record.seq.0 >= upto.0 + WORTHWHILE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    drop(insert);
    if let Some(error) = failed {
        return Err(error);
    }
    let Some((last, chain)) = filled else { return Ok(Seq(u64::MAX)) };
    transaction.prepare_cached(SET_FILLED)?.execute((last, chain))?;
    transaction.commit()?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{impatient, place};
    use super::*;
    use crate::store::story::appending;

    const SUBJECTS: u64 = 300;

    /// More records than an index may lack, of a few subjects in turn.
    fn write_many(path: &Path) {
        let mut journal = impatient(path);
        let mut last = vec![None; SUBJECTS as usize];
        while last[0].is_none_or(|last| last <= WORTHWHILE + 10 * SUBJECTS) {
            let append = |(number, last): (usize, &Option<u64>)| appending(&format!("ask/{number}"), *last, &["x"]);
            let appends: Vec<_> = last.iter().enumerate().map(append).collect();
            last = journal.append(&appends).into_iter().map(|answer| Some(answer.unwrap().0)).collect();
        }
    }

    #[test]
    fn with_an_index_or_without_or_with_one_that_does_not_fit_a_subject_has_the_same_records() {
        let (_folder, path) = place();
        impatient(&path).append(&[appending("ask/few", None, &["x"])])[0].clone().unwrap();
        let journal = impatient(&path);
        journal.index.fill(&journal.reader(), &|| true).unwrap();
        assert!(!journal.index.path.exists(), "a small journal needs none");
        drop(journal);

        write_many(&path);
        let journal = impatient(&path);
        let without = journal.reader().seqs_of("ask/7").unwrap();
        assert!(without.len() as u64 > WORTHWHILE / SUBJECTS);
        assert_eq!(journal.index.look_up(&journal.reader(), "ask/7"), (vec![], Seq(0)));

        journal.index.fill(&journal.reader(), &|| true).unwrap();
        let (indexed, upto) = journal.index.look_up(&journal.reader(), "ask/7");
        assert_eq!((&indexed, upto), (&without, Tail::look_up(&journal.connection).unwrap().last));

        // What comes later is found beside it, by another connection too.
        let mut later = impatient(&path);
        let last = without.last().map(|last| last.0);
        let answer = later.append(&[appending("ask/7", last, &["later"])])[0].clone().unwrap();
        assert_eq!(later.reader().last_of("ask/7").unwrap(), Some(answer));
        assert_eq!(journal.reader().seqs_of("ask/7").unwrap().len(), without.len() + 1);
        assert_eq!(later.erase("ask/7").unwrap().payloads, without.len() + 1);
        drop((journal, later));
        let index = fs::read(beside(&path, ".index")).unwrap();
        let holds = |what: &[u8]| index.windows(what.len()).any(|bytes| bytes == what);
        assert!(holds(b"ask/7") && !holds(b", in full"), "subjects, and not what people wrote");

        // Of another journal, of none at all, and of no form.
        let (_elsewhere, other) = place();
        write_many(&other);
        let beside_it = beside(&other, ".index");
        for found in [index, b"no index".to_vec(), vec![]] {
            fs::write(&beside_it, found).unwrap();
            let journal = impatient(&other);
            let (found, upto) = journal.index.look_up(&journal.reader(), "ask/7");
            assert_eq!((found.len(), upto), (0, Seq(0)));
            assert_eq!(journal.reader().seqs_of("ask/7").unwrap().len(), without.len());
            journal.index.fill(&journal.reader(), &|| true).unwrap();
            assert_eq!(journal.index.look_up(&journal.reader(), "ask/7").0.len(), without.len(), "made anew");
        }
    }

    #[test]
    fn an_index_that_is_damaged_inside_is_made_anew() {
        let (_folder, path) = place();
        write_many(&path);
        let whole = {
            let journal = impatient(&path);
            journal.index.fill(&journal.reader(), &|| true).unwrap();
            journal.reader().seqs_of("ask/7").unwrap()
        };
        // The pages behind the first hold neither the schema nor how far it is filled.
        let beside_it = beside(&path, ".index");
        let mut index = fs::read(&beside_it).unwrap();
        let behind = 3 * 4096;
        assert!(index.len() > 2 * behind);
        index[behind..].fill(0xff);
        fs::write(&beside_it, &index).unwrap();

        let journal = impatient(&path);
        assert_eq!(journal.reader().seqs_of("ask/7").unwrap(), whole, "looked for in the journal itself");
        assert!(!beside_it.exists(), "taken away");
        journal.index.fill(&journal.reader(), &|| true).unwrap();
        assert_eq!(journal.index.look_up(&journal.reader(), "ask/7").0, whole, "made anew");
    }

    #[test]
    fn an_index_that_somebody_did_not_finish_making_is_made_anew() {
        let (_folder, path) = place();
        write_many(&path);
        let draft = beside(&path, ".index.new");
        fs::write(&draft, b"no index").unwrap();
        let journal = impatient(&path);
        journal.index.fill(&journal.reader(), &|| true).unwrap();
        let (indexed, _) = journal.index.look_up(&journal.reader(), "ask/7");
        assert_eq!(indexed, journal.reader().seqs_of("ask/7").unwrap());
        assert!(!indexed.is_empty() && !draft.exists());
    }

    #[test]
    fn an_index_is_filled_no_further_than_it_is_wanted() {
        let (_folder, path) = place();
        write_many(&path);
        let journal = impatient(&path);
        let asked = std::cell::Cell::new(0);
        let once = || asked.replace(asked.get() + 1) == 0;
        journal.index.fill(&journal.reader(), &once).unwrap();
        let (_, upto) = journal.index.look_up(&journal.reader(), "ask/7");
        assert_eq!((asked.get(), upto), (2, Seq(WORTHWHILE)));
    }
}
