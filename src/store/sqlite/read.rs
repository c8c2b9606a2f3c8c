//! Reading the journal back, and walking its chain.

use rusqlite::{OptionalExtension, Params, Row};

use super::Journal;
use super::retention::youngest_retired;
use crate::store::chain::{self, Found, GENESIS, Hash, Skeleton, Walk};
use crate::store::{Payload, Seq, StoreError, Stored, Verified, VerifyError};

macro_rules! select_records {
    ($which:literal) => {
        concat!("SELECT seq, subject, at, body, digest IS NULL, bytes FROM record ", $which)
    };
}

const PAGE: &str = select_records!("WHERE seq > ?1 ORDER BY seq LIMIT ?2");
/// A page that has grown to this many bytes takes no further record.
const LARGE_PAGE: usize = 4 << 20;
const READ: &str = select_records!("WHERE subject = ?1 ORDER BY after");
const WALK: &str = "
    SELECT seq, writer, subject, after, at, body, digest, chain, salt, bytes FROM record ORDER BY seq";
const HEAD: &str = "SELECT chain FROM record ORDER BY seq DESC LIMIT 1";

impl Journal {
    pub(super) fn replay(&self, after: Seq, each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        self.each(PAGE, (after, i64::MAX), each).map_err(StoreError::doing("replaying the journal"))
    }

    pub(super) fn page(&self, after: Seq, limit: usize) -> Result<Vec<Stored>, StoreError> {
        self.read_page(after, limit).map_err(StoreError::doing("reading a page of the journal"))
    }

    fn read_page(&self, after: Seq, limit: usize) -> rusqlite::Result<Vec<Stored>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(PAGE)?;
        let mut rows = statement.query((after, limit))?;
        let (mut page, mut bytes) = (Vec::new(), 0);
        while bytes < LARGE_PAGE
            && let Some(row) = rows.next()?
        {
            let stored = stored(row)?;
            bytes += stored.bytes();
            page.push(stored);
        }
        Ok(page)
    }

    pub(super) fn read(&self, subject: &str) -> Result<Vec<Stored>, StoreError> {
        self.all(READ, [subject]).map_err(StoreError::doing("reading a subject of the journal"))
    }

    pub(super) fn head(&self) -> Result<String, StoreError> {
        let head: Option<Hash> = self
            .connection
            .query_row(HEAD, [], |row| row.get(0))
            .optional()
            .map_err(StoreError::doing("reading the journal's head"))?;
        Ok(chain::to_hex(&head.unwrap_or(GENESIS)))
    }

    pub(super) fn verify(&self, head: Option<&str>) -> Result<Verified, VerifyError> {
        let mut walk = Walk::towards(head)?;
        let retired = self.retired().map_err(StoreError::doing("reading what was erased by age"))?;
        walk.retired = Some((Seq(retired.cast_unsigned()), youngest_retired()));
        self.walk(&mut walk).map_err(StoreError::doing("walking the journal's chain"))??;
        walk.arrive()
    }

    fn walk(&self, walk: &mut Walk) -> rusqlite::Result<Result<(), VerifyError>> {
        let mut statement = self.connection.prepare_cached(WALK)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Err(broken) = walk.step(&found(row)?) {
                return Ok(Err(broken));
            }
        }
        Ok(Ok(()))
    }

    fn all(&self, sql: &str, parameters: impl Params) -> rusqlite::Result<Vec<Stored>> {
        let mut all = Vec::new();
        self.each(sql, parameters, &mut |stored| all.push(stored))?;
        Ok(all)
    }

    fn each(&self, sql: &str, parameters: impl Params, each: &mut dyn FnMut(Stored)) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            each(stored(row)?);
        }
        Ok(())
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let never: bool = row.get(4)?;
    let payload = match (never, row.get(5)?) {
        (true, _) => Payload::None,
        (false, None) => Payload::Erased,
        (false, Some(bytes)) => Payload::Kept(bytes),
    };
    let at: i64 = row.get(2)?;
    Ok(Stored { seq: row.get(0)?, subject: row.get(1)?, at: at.cast_unsigned(), body: row.get(3)?, payload })
}

/// Borrows from the row: a journal of gigabytes is walked without copying it.
fn found<'a>(row: &'a Row<'_>) -> rusqlite::Result<Found<'a>> {
    let bytes = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes_or_null()?);
    let after: Seq = row.get(3)?;
    let at: i64 = row.get(4)?;
    let skeleton = Skeleton {
        writer: bytes(1)?.unwrap_or_default(),
        subject: bytes(2)?.unwrap_or_default(),
        after: after.0,
        at: at.cast_unsigned(),
        body: bytes(5)?.unwrap_or_default(),
        digest: bytes(6)?,
    };
    let salt = bytes(8)?.unwrap_or_default();
    let payload = bytes(9)?.map(|payload| (salt, payload));
    Ok(Found { seq: row.get(0)?, skeleton, chain: bytes(7)?.unwrap_or_default(), payload })
}
