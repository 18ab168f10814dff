//! The tables and every statement on them.

use crate::hosted::ServedRow;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// `FULL`: a commit returns when the log is on the disk. The log is checkpointed every 16 MB.
pub(super) const PRAGMAS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = OFF;
    PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA temp_store = MEMORY;";

pub(super) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS models (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        declaration TEXT NOT NULL,
        created INTEGER NOT NULL
    );
    -- The files beside the database: models as they were after an entry of the log.
    CREATE TABLE IF NOT EXISTS snapshots (
        model INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        created INTEGER NOT NULL,
        PRIMARY KEY (model, sequence)
    ) WITHOUT ROWID;
    -- What was learned since the older snapshot, in order. `kind` is how: see hosted/entry.rs.
    CREATE TABLE IF NOT EXISTS log (
        place INTEGER PRIMARY KEY,
        model INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        rows BLOB NOT NULL,
        served BLOB,
        key TEXT,
        refused TEXT
    );
    CREATE UNIQUE INDEX IF NOT EXISTS log_order ON log (model, sequence);
    -- Idempotency keys. `answer` is there if it does not follow from the other columns.
    CREATE TABLE IF NOT EXISTS keys (
        model INTEGER NOT NULL,
        key TEXT NOT NULL,
        body BLOB NOT NULL,
        sequence INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        answer TEXT,
        created INTEGER NOT NULL,
        PRIMARY KEY (model, key)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS keys_created ON keys (created);
    -- Rows that were predicted or chosen and wait for their label. `taken` is the entry that their
    -- label became: if that is refused, they wait again. `mean` is what was served: a number, or
    -- the bytes of several.
    CREATE TABLE IF NOT EXISTS pending (
        model INTEGER NOT NULL,
        id TEXT NOT NULL,
        row BLOB NOT NULL,
        mean REAL NOT NULL,
        probability REAL,
        expires INTEGER NOT NULL,
        taken INTEGER,
        PRIMARY KEY (model, id)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS pending_taken ON pending (model, taken) WHERE taken IS NOT NULL;
    CREATE INDEX IF NOT EXISTS pending_expires ON pending (expires);";

type Result<T> = rusqlite::Result<T>;

/// A model as the database knows it.
#[derive(Debug, Clone)]
pub struct ModelRow {
    /// Never used again, also after the model is deleted.
    pub id: i64,
    /// The name in addresses.
    pub name: String,
    /// The declaration, as JSON.
    pub declaration: String,
}

/// All models.
pub fn models(connection: &Connection) -> Result<Vec<ModelRow>> {
    let mut statement = connection.prepare("SELECT id, name, declaration FROM models")?;
    let model = |row: &Row<'_>| {
        Ok(ModelRow { id: row.get(0)?, name: row.get(1)?, declaration: row.get(2)? })
    };
    statement.query_map([], model)?.collect()
}

/// Adds a model; its number.
pub fn insert_model(
    connection: &Connection,
    name: &str,
    declaration: &str,
    now: i64,
) -> Result<i64> {
    let sql = "INSERT INTO models (name, declaration, created) VALUES (?, ?, ?)";
    connection.execute(sql, params![name, declaration, now])?;
    Ok(connection.last_insert_rowid())
}

/// Removes a model and all that is small; its log goes with [`trim_log`].
pub fn delete_model(connection: &Connection, model: i64) -> Result<()> {
    for table in ["snapshots", "keys", "pending"] {
        connection.execute(&format!("DELETE FROM {table} WHERE model = ?"), [model])?;
    }
    connection.execute("DELETE FROM models WHERE id = ?", [model])?;
    Ok(())
}

/// The sequence numbers of a model's snapshots, the newest first.
pub fn snapshots(connection: &Connection, model: i64) -> Result<Vec<u64>> {
    let sql = "SELECT sequence FROM snapshots WHERE model = ? ORDER BY sequence DESC";
    connection.prepare_cached(sql)?.query_map([model], |row| row.get(0))?.collect()
}

/// Adds a snapshot.
pub fn insert_snapshot(connection: &Connection, model: i64, sequence: u64, now: i64) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO snapshots (model, sequence, created) VALUES (?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![model, sequence, now])?;
    Ok(())
}

/// Forgets snapshots before `sequence`.
pub fn delete_snapshots_before(connection: &Connection, model: i64, sequence: u64) -> Result<()> {
    let sql = "DELETE FROM snapshots WHERE model = ? AND sequence < ?";
    connection.prepare_cached(sql)?.execute(params![model, sequence])?;
    Ok(())
}

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct LogRow {
    /// Its number within the model's log.
    pub sequence: u64,
    /// How it is learned.
    pub kind: i64,
    /// The rows, as [`kalmia_data::Table::to_bytes`] writes them.
    pub rows: Vec<u8>,
    /// What was served for the rows, if labels came later.
    pub served: Option<Vec<u8>>,
    /// The idempotency key of the request.
    pub key: Option<String>,
    /// The error that the rows were refused with.
    pub refused: Option<String>,
}

/// What is appended to the log.
#[derive(Debug, Clone, Copy)]
pub struct NewEntry<'a> {
    /// How it is learned.
    pub kind: i64,
    /// The rows.
    pub rows: &'a [u8],
    /// What was served for them.
    pub served: Option<&'a [u8]>,
    /// The idempotency key.
    pub key: Option<&'a str>,
}

/// Appends to the log.
pub fn append(
    connection: &Connection,
    model: i64,
    sequence: u64,
    entry: NewEntry<'_>,
) -> Result<()> {
    let NewEntry { kind, rows, served, key } = entry;
    let sql = "INSERT INTO log (model, sequence, kind, rows, served, key)
               VALUES (?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![model, sequence, kind, rows, served, key])?;
    Ok(())
}

/// The last sequence number in a model's log; `None` if it is empty.
pub fn last_sequence(connection: &Connection, model: i64) -> Result<Option<u64>> {
    connection.query_row("SELECT max(sequence) FROM log WHERE model = ?", [model], |row| row.get(0))
}

/// Calls `take` with each entry after `sequence`, in order.
pub fn replay(
    connection: &Connection,
    model: i64,
    sequence: u64,
    mut take: impl FnMut(LogRow) -> Result<()>,
) -> Result<()> {
    let sql = "SELECT sequence, kind, rows, served, key, refused FROM log
               WHERE model = ? AND sequence > ? ORDER BY sequence";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![model, sequence])?;
    while let Some(row) = rows.next()? {
        take(LogRow {
            sequence: row.get(0)?,
            kind: row.get(1)?,
            rows: row.get(2)?,
            served: row.get(3)?,
            key: row.get(4)?,
            refused: row.get(5)?,
        })?;
    }
    Ok(())
}

/// Marks an entry as refused, so that it is never learned. The rows that it labelled wait again;
/// how many.
pub fn refuse(connection: &Connection, model: i64, sequence: u64, error: &str) -> Result<usize> {
    let sql = "UPDATE log SET refused = ? WHERE model = ? AND sequence = ?";
    connection.prepare_cached(sql)?.execute(params![error, model, sequence])?;
    let sql = "UPDATE pending SET taken = NULL WHERE model = ? AND taken = ?";
    connection.prepare_cached(sql)?.execute(params![model, sequence])
}

/// Removes at most `most` entries up to `sequence`, and the rows that they labelled; how many
/// entries.
pub fn trim_log(connection: &Connection, model: i64, sequence: u64, most: usize) -> Result<usize> {
    let sql = "DELETE FROM pending WHERE model = ? AND taken <= ?";
    connection.prepare_cached(sql)?.execute(params![model, sequence])?;
    let sql = "DELETE FROM log WHERE place IN
               (SELECT place FROM log WHERE model = ? AND sequence <= ? ORDER BY sequence LIMIT ?)";
    connection.prepare_cached(sql)?.execute(params![model, sequence, most])
}

/// Models that are deleted but still have entries in the log.
pub fn orphans(connection: &Connection) -> Result<Vec<i64>> {
    let sql = "SELECT DISTINCT model FROM log WHERE model NOT IN (SELECT id FROM models)";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// A remembered key.
#[derive(Debug, Clone)]
pub struct KeyRow {
    /// The hash of the request.
    pub body: Vec<u8>,
    /// The entry that it became.
    pub sequence: u64,
    /// Its rows.
    pub rows: u64,
    /// The answer, if it says more.
    pub answer: Option<String>,
}

/// Looks up a key.
pub fn key(connection: &Connection, model: i64, key: &str) -> Result<Option<KeyRow>> {
    let sql = "SELECT body, sequence, rows, answer FROM keys WHERE model = ? AND key = ?";
    let found = |row: &Row<'_>| {
        Ok(KeyRow {
            body: row.get(0)?,
            sequence: row.get(1)?,
            rows: row.get(2)?,
            answer: row.get(3)?,
        })
    };
    connection.prepare_cached(sql)?.query_row(params![model, key], found).optional()
}

/// Remembers a key.
pub fn insert_key(
    connection: &Connection,
    model: i64,
    key: &str,
    known: &KeyRow,
    now: i64,
) -> Result<()> {
    let KeyRow { body, sequence, rows, answer } = known;
    let sql = "INSERT INTO keys (model, key, body, sequence, rows, answer, created)
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    let values = params![model, key, body, sequence, rows, answer, now];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Stores the answer of the request with this key.
pub fn set_answer(connection: &Connection, model: i64, key: &str, answer: &str) -> Result<()> {
    let sql = "UPDATE keys SET answer = ? WHERE model = ? AND key = ?";
    connection.prepare_cached(sql)?.execute(params![answer, model, key])?;
    Ok(())
}

/// Forgets at most `most` keys made before `time`; how many.
pub fn expire_keys(connection: &Connection, time: i64, most: usize) -> Result<usize> {
    let sql = "DELETE FROM keys WHERE (model, key) IN
               (SELECT model, key FROM keys WHERE created < ? LIMIT ?)";
    connection.prepare_cached(sql)?.execute(params![time, most])
}

/// A row that waits for its label.
#[derive(Debug, Clone)]
pub struct PendingRow {
    /// The row, as [`kalmia_data::Table::to_bytes`] writes it.
    pub row: Vec<u8>,
    /// What was served for it.
    pub served: ServedRow,
}

/// Remembers a row; one under the same identifier is replaced. Whether there was none.
pub fn remember(
    connection: &Connection,
    model: i64,
    id: &str,
    pending: &PendingRow,
    probability: Option<f64>,
    expires: i64,
) -> Result<bool> {
    let known = "SELECT 1 FROM pending WHERE model = ? AND id = ? AND taken IS NULL";
    let known = connection.prepare_cached(known)?.exists(params![model, id])?;
    let sql = "INSERT OR REPLACE INTO pending (model, id, row, mean, probability, expires)
               VALUES (?, ?, ?, ?, ?, ?)";
    let PendingRow { row, served } = pending;
    let values = params![model, id, row, served, probability, expires];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(!known)
}

/// Looks up a row that waits.
pub fn pending(connection: &Connection, model: i64, id: &str) -> Result<Option<PendingRow>> {
    let sql = "SELECT row, mean FROM pending WHERE model = ? AND id = ? AND taken IS NULL";
    let found = |row: &Row<'_>| Ok(PendingRow { row: row.get(0)?, served: row.get(1)? });
    connection.prepare_cached(sql)?.query_row(params![model, id], found).optional()
}

/// Takes a row for an entry that has its label: it waits no more, unless the entry is refused.
pub fn take(connection: &Connection, model: i64, id: &str, sequence: u64) -> Result<()> {
    let sql = "UPDATE pending SET taken = ? WHERE model = ? AND id = ?";
    connection.prepare_cached(sql)?.execute(params![sequence, model, id])?;
    Ok(())
}

/// Rows of a model that wait.
pub fn count_pending(connection: &Connection, model: i64) -> Result<u64> {
    let sql = "SELECT count(*) FROM pending WHERE model = ? AND taken IS NULL";
    connection.query_row(sql, [model], |row| row.get(0))
}

/// Forgets at most `most` rows whose time is over; the model of each.
pub fn expire_pending(connection: &Connection, now: i64, most: usize) -> Result<Vec<i64>> {
    let sql = "DELETE FROM pending WHERE (model, id) IN
               (SELECT model, id FROM pending WHERE expires < ? AND taken IS NULL LIMIT ?)
               RETURNING model";
    connection.prepare_cached(sql)?.query_map(params![now, most], |row| row.get(0))?.collect()
}
