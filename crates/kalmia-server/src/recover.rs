//! The start: models from their snapshots, and what the log holds since then.

use crate::declaration::Declaration;
use crate::hosted::{Hosted, Kind, Learned, Live, ServedRows, catch_panic, learn_entry};
use crate::snapshots::Snapshots;
use crate::store::{Sequences, open_database, sql};
use kalmia_data::{Table, TableSchema};
use rusqlite::Connection;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::atomic::Ordering;

/// What a data folder holds.
pub struct Recovered {
    /// The models, up to date.
    pub models: Vec<Hosted>,
    /// The database.
    pub connection: Connection,
    /// The last sequence number of each model.
    pub sequences: Sequences,
    /// The files beside it.
    pub snapshots: Snapshots,
    /// Locked as long as it is open.
    pub folder_lock: File,
}

/// Opens a data folder, which is made if it does not exist.
pub fn recover(folder: &Path) -> Result<Recovered, String> {
    let place = |error: std::io::Error| format!("cannot use {}: {error}", folder.display());
    let snapshots = Snapshots::open(folder.join("snapshots")).map_err(place)?;
    let folder_lock = File::create(folder.join("lock")).map_err(place)?;
    match folder_lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(format!(
                "another kalmia serves {}; stop it first, or choose another --data",
                folder.display()
            ));
        }
        Err(TryLockError::Error(error)) => return Err(place(error)),
    }
    snapshots.sweep();
    let connection = open_database(&folder.join("kalmia.db"))?;
    let mut sequences = Sequences::default();
    let database = |error: rusqlite::Error| format!("cannot read kalmia.db: {error}");
    let mut models = Vec::new();
    for row in sql::models(&connection).map_err(database)? {
        let last = sql::last_sequence(&connection, row.id).map_err(database)?.unwrap_or(0);
        let Found { hosted, sequence } = model(&connection, &snapshots, &row).map_err(database)?;
        sequences.set(row.id, last.max(sequence));
        let pending = sql::count_pending(&connection, row.id).map_err(database)?;
        hosted.pending.store(pending, Ordering::Relaxed);
        if let Some(damage) = hosted.damage() {
            crate::log::error(&format!("model `{}` is not served: {damage}", row.name));
        }
        models.push(hosted);
    }
    for orphan in sql::orphans(&connection).map_err(database)? {
        sql::trim_log(&connection, orphan, i64::MAX as u64, usize::MAX >> 1).map_err(database)?;
    }
    Ok(Recovered { models, connection, sequences, snapshots, folder_lock })
}

/// A model, and the last entry that it knows.
struct Found {
    hosted: Hosted,
    sequence: u64,
}

impl Found {
    fn damaged(row: &sql::ModelRow, declaration: Declaration, damage: String) -> Self {
        let hosted = Hosted::damaged(row.id, row.name.clone(), declaration, damage);
        Self { hosted, sequence: 0 }
    }
}

/// A model, from its newest snapshot that can be read. Those that the database lists come first: a
/// file that it does not list is there after a stop between two steps, or in a backup.
fn model(
    connection: &Connection,
    snapshots: &Snapshots,
    row: &sql::ModelRow,
) -> rusqlite::Result<Found> {
    let declaration = match Declaration::stored(row.declaration.as_bytes()) {
        Ok(declaration) => declaration,
        Err(error) => {
            let damage = format!("its declaration cannot be read: {}", error.message);
            return Ok(Found::damaged(row, Declaration::unknown(), damage));
        }
    };
    let mut problems = Vec::new();
    let listed = sql::snapshots(connection, row.id)?;
    let mut others = snapshots.files(row.id);
    others.retain(|sequence| !listed.contains(sequence));
    for sequence in listed.into_iter().chain(others) {
        match snapshots.read(row.id, sequence) {
            Ok(live) => {
                for problem in &problems {
                    let name = &row.name;
                    crate::log::error(&format!(
                        "model `{name}`: {problem}; using the snapshot before it and the log"
                    ));
                }
                return replayed(connection, row, declaration, live);
            }
            Err(problem) => problems.push(problem),
        }
    }
    Ok(match problems.first() {
        None => {
            let hosted = Hosted::new(row.id, row.name.clone(), declaration, None);
            Found { hosted, sequence: 0 }
        }
        Some(problem) => {
            Found::damaged(row, declaration, format!("no snapshot can be read: {problem}"))
        }
    })
}

/// A model after the entries of the log that its snapshot does not know.
fn replayed(
    connection: &Connection,
    row: &sql::ModelRow,
    declaration: Declaration,
    mut live: Live,
) -> rusqlite::Result<Found> {
    let schema = live.model.encoder().table_schema();
    let first = live.sequence;
    let mut bytes = 0;
    let mut damage = None;
    let mut outcomes = Vec::new();
    sql::replay(connection, row.id, first, |entry| {
        if damage.is_some() {
            return Ok(());
        }
        bytes += entry.rows.len() as u64;
        match learn_again(&mut live, &schema, entry) {
            Ok(Some(outcome)) => outcomes.push(outcome),
            Ok(None) => {}
            Err(problem) => damage = Some(problem),
        }
        Ok(())
    })?;
    for Outcome { sequence, key, answer, refused } in outcomes {
        if refused {
            sql::refuse(connection, row.id, sequence, &answer)?;
        }
        if let Some(key) = key {
            sql::set_answer(connection, row.id, &key, &answer)?;
        }
    }
    Ok(match damage {
        Some(damage) => Found::damaged(row, declaration, damage),
        None => {
            let sequence = live.sequence;
            let hosted = Hosted::new(row.id, row.name.clone(), declaration, Some(live));
            crate::hosted::lock(&hosted.snapshot).sequence = first;
            hosted.log_bytes.store(bytes, Ordering::Relaxed);
            Found { hosted, sequence }
        }
    })
}

/// What the database must learn of an entry that was learned again.
struct Outcome {
    sequence: u64,
    key: Option<String>,
    answer: String,
    refused: bool,
}

/// Learns an entry as it was learned, or would have been, before the stop.
fn learn_again(
    live: &mut Live,
    schema: &TableSchema,
    entry: sql::LogRow,
) -> Result<Option<Outcome>, String> {
    let sequence = entry.sequence;
    if sequence != live.sequence + 1 {
        return Err(format!("the log lacks the entries {} to {}", live.sequence + 1, sequence - 1));
    }
    if entry.refused.is_some() {
        live.sequence = sequence;
        return Ok(None);
    }
    let unreadable = |problem: String| format!("entry {sequence} of the log: {problem}");
    let kind = Kind::from_number(entry.kind)
        .ok_or_else(|| unreadable(format!("its kind {} is not known", entry.kind)))?;
    let table = Table::from_bytes(&entry.rows, schema, "log")
        .map_err(|error| unreadable(error.to_string()))?;
    let served = entry.served.as_deref().unwrap_or_default();
    let served = ServedRows::from_bytes(entry.kind, served)
        .filter(|served| kind != Kind::Labelled || served.len() == table.rows())
        .ok_or_else(|| unreadable("it lacks the predictions that were served".into()))?;
    let outcome = |learned: Learned| {
        let key = entry.key.clone().filter(|_| !learned.is_plain())?;
        let answer = serde_json::to_string(&learned).unwrap_or_default();
        Some(Outcome { sequence, key: Some(key), answer, refused: false })
    };
    let learned = catch_panic(|| learn_entry(live, sequence, kind, &table, &served));
    Ok(match learned.map_err(unreadable)? {
        Ok(learned) => outcome(learned),
        Err(error) => {
            let answer = error.to_json();
            Some(Outcome { sequence, key: entry.key, answer, refused: true })
        }
    })
}
