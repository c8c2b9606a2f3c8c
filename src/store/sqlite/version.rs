//! Versions of the journal's schema, and the steps from each to the next.

use rusqlite::{Connection, TransactionBehavior};

use super::packing::pack;

/// "Port": says that a SQLite database is a journal.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"Port");

/// From one version to the next.
#[derive(Clone, Copy)]
pub(super) enum UpgradeStep {
    Sql(&'static str),
    /// The records of a commit become one row.
    Pack,
}

/// The first step makes version 1 of an empty file, the second makes version 2 of that. What was released is never
/// changed, only added to.
pub(super) const STEPS: &[UpgradeStep] = &[UpgradeStep::Sql(APART), UpgradeStep::Sql(TOGETHER), UpgradeStep::Pack];

/// Payloads in a table of their own: a page more to be written for each append.
const APART: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('writer', randomblob(16));

    CREATE TABLE record (
        seq     INTEGER PRIMARY KEY,
        subject TEXT NOT NULL,
        after   INTEGER NOT NULL, -- seq of the subject's record before this one; 0: this is its first
        at      INTEGER NOT NULL, -- milliseconds since 1970
        writer  BLOB NOT NULL,
        body    BLOB NOT NULL,
        digest  BLOB,             -- SHA-256 of salt and payload; NULL: there never was a payload
        chain   BLOB NOT NULL     -- SHA-256 of the writer's record before this one, and of this one
    ) STRICT;
    -- Of two who append after the same record, the second is turned away here.
    CREATE UNIQUE INDEX record_after ON record (subject, after);

    CREATE TABLE payload (
        seq   INTEGER PRIMARY KEY,
        salt  BLOB, -- NULL: erased
        bytes BLOB  -- NULL: erased
    ) STRICT;
";

/// Each payload in the row of its record. Rows are written anew in their order: were they made larger where they lie,
/// copies of their neighbours would stay in the unused part of a page, where no erasure finds them.
const TOGETHER: &str = "
    CREATE TABLE record_and_payload (
        seq     INTEGER PRIMARY KEY,
        subject TEXT NOT NULL,
        after   INTEGER NOT NULL, -- seq of the subject's record before this one; 0: this is its first
        at      INTEGER NOT NULL, -- milliseconds since 1970
        writer  BLOB NOT NULL,
        body    BLOB NOT NULL,
        digest  BLOB,             -- SHA-256 of salt and payload; NULL: there never was a payload
        chain   BLOB NOT NULL,    -- SHA-256 of the writer's record before this one, and of this one
        salt    BLOB,             -- NULL: erased, or never there
        bytes   BLOB              -- the payload; NULL: the same
    ) STRICT;
    INSERT INTO record_and_payload
    SELECT seq, subject, after, at, writer, body, digest, chain, salt, bytes
    FROM record LEFT JOIN payload USING (seq) ORDER BY seq;
    DROP TABLE payload;
    DROP TABLE record;
    ALTER TABLE record_and_payload RENAME TO record;
    -- Of two who append after the same record, the second is turned away here.
    CREATE UNIQUE INDEX record_after ON record (subject, after);
";

/// Which version a file has: 0 when it is empty, `None` when it is not ours.
pub(super) fn recognise(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION_ID {
        return version(connection).map(Some);
    }
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = application == 0 && tables == 0 && version(connection)? == 0;
    Ok(empty.then_some(0))
}

/// Takes the steps that are still to be taken, all or none.
pub(super) fn upgrade(connection: &mut Connection, steps: &[UpgradeStep]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // The version is looked up again, because another process may have been faster.
    let taken = version(&transaction)? as usize;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    for (version, step) in (1_u32..).zip(steps).skip(taken) {
        match step {
            UpgradeStep::Sql(sql) => transaction.execute_batch(sql)?,
            UpgradeStep::Pack => pack(&transaction)?,
        }
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
