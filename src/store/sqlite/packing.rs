//! The step from a row for each record to a row for each commit. All in one transaction: a process that is killed over it
//! leaves the journal as it was.

use rusqlite::{Connection, Row};

use super::form::{self, NewRecord};
use super::write::{INSERT, LARGE_ROW};
use crate::store::Seq;
use crate::store::chain::Skeleton;

/// No index: whoever appends knows what comes after what, and nobody else appends. See `index` for reading.
const CREATE: &str = "
    CREATE TABLE batch (
        first_seq INTEGER PRIMARY KEY, -- of its first record; the others follow without a gap
        count     INTEGER NOT NULL,    -- of its records
        bytes     BLOB NOT NULL        -- the records
    ) STRICT;
";
const RECORDS: &str = "
    SELECT seq, writer, subject, after, at, body, digest, chain, salt, bytes FROM record ORDER BY seq";

/// How often it is told how far it is.
const TOLD_EVERY: u64 = 100_000;

pub(super) fn pack(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(CREATE)?;
    let all: u64 = connection.query_row("SELECT count(*) FROM record", [], |row| row.get(0).map(i64::cast_unsigned))?;
    {
        let mut statement = connection.prepare(RECORDS)?;
        let mut rows = statement.query([])?;
        let mut packing = Packing { connection, writer: vec![], first: Seq(0), count: 0, row: vec![] };
        let mut packed = 0;
        while let Some(row) = rows.next()? {
            packing.take(row)?;
            packed += 1;
            if packed % TOLD_EVERY == 0 {
                tracing::info!(packed, all, "upgrading the journal");
            }
        }
        packing.finish_row()?;
    }
    connection.execute_batch("DROP TABLE record")
}

/// The row being filled.
struct Packing<'a> {
    connection: &'a Connection,
    writer: Vec<u8>,
    first: Seq,
    count: u64,
    row: Vec<u8>,
}

impl Packing<'_> {
    /// What somebody has changed, removed or put in is taken over as it is, for `verify` to find.
    fn take(&mut self, record: &Row<'_>) -> rusqlite::Result<()> {
        let bytes = |column| Ok::<_, rusqlite::Error>(record.get_ref(column)?.as_bytes_or_null()?);
        let (seq, after): (Seq, Seq) = (record.get(0)?, record.get(3)?);
        let writer = bytes(1)?.unwrap_or_default();
        let follows = seq.0 == self.first.0 + self.count && writer == self.writer && self.row.len() < LARGE_ROW;
        if self.count == 0 || !follows {
            self.finish_row()?;
            writer.clone_into(&mut self.writer);
            self.first = seq;
            form::begin(&mut self.row, writer);
        }
        let at: i64 = record.get(4)?;
        let skeleton = Skeleton {
            writer,
            subject: bytes(2)?.unwrap_or_default(),
            after: after.0,
            at: at.cast_unsigned(),
            body: bytes(5)?.unwrap_or_default(),
            digest: bytes(6)?,
        };
        let salt = bytes(8)?.unwrap_or_default();
        let payload = bytes(9)?.map(|payload| (salt, payload));
        form::put(&mut self.row, &NewRecord { skeleton, chain: bytes(7)?.unwrap_or_default(), payload });
        self.count += 1;
        Ok(())
    }

    fn finish_row(&mut self) -> rusqlite::Result<()> {
        if self.count > 0 {
            let mut insert = self.connection.prepare_cached(INSERT)?;
            insert.execute((self.first, self.count.cast_signed(), self.row.as_slice()))?;
            self.count = 0;
        }
        Ok(())
    }
}
