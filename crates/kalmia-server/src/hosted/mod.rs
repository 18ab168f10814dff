//! A model that is served: its state in memory, the entries that wait for it, and its place in the
//! database.

mod activity;
mod apply;
mod entry;
mod live;
mod served_rows;

pub use activity::PastError;
pub use entry::{Entry, KeyInUse, KeysInUse, Kind, Learned, Reply, Served};
pub use live::{LEVEL, Live, catch_panic, learn_entry};
pub use served_rows::{ServedRow, ServedRows};

use crate::declaration::Declaration;
use crate::error::{ApiError, Code, Result};
use activity::Activity;
use apply::Queue;
use kalmia_data::TableSchema;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use tokio::sync::{RwLock, RwLockReadGuard, watch};

/// The identifier column of rows that wait for their label.
pub const ID: &str = "id";

/// A served model.
pub struct Hosted {
    /// Its number in the database.
    pub id: i64,
    /// Its name in addresses.
    pub name: String,
    /// As it was declared.
    pub declaration: Declaration,
    /// The model; `None` until the first rows decide its columns.
    pub live: RwLock<Option<Live>>,
    /// Held while an entry is learned, over all of its parts: between two of them the model can
    /// predict, but is no state to keep.
    pub whole_entry: tokio::sync::Mutex<()>,
    /// Held while the first rows decide the columns.
    pub first_rows: tokio::sync::Mutex<()>,
    /// Idempotency keys of requests that are being learned.
    pub keys: KeysInUse,
    /// Rows that wait for their label.
    pub pending: AtomicU64,
    /// Grows with every change, for those who watch.
    pub changes: watch::Sender<u64>,
    /// Whether it was deleted; whoever still holds it must not write.
    pub deleted: AtomicBool,
    /// The last snapshot.
    pub snapshot: Mutex<SnapshotMark>,
    /// Bytes logged since the last snapshot.
    pub log_bytes: AtomicU64,
    schema: std::sync::RwLock<Option<TableSchema>>,
    damage: OnceLock<String>,
    queue: Mutex<Queue>,
    activity: Mutex<Activity>,
}

/// The last snapshot of a model.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotMark {
    /// The entry it was made after.
    pub sequence: u64,
    /// When this process made or read it.
    pub time: Instant,
}

/// The guard of a poisoned lock is as good as any: no lock of this crate is held over a panic that
/// leaves its data half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Access to a model that is there.
pub struct Reading<'a>(RwLockReadGuard<'a, Option<Live>>, &'a Hosted);

impl Reading<'_> {
    /// The model.
    pub fn live(&self) -> Result<&Live> {
        self.0.as_ref().ok_or_else(|| self.1.empty())
    }
}

impl Hosted {
    /// A model with its state, if it has one.
    pub fn new(id: i64, name: String, declaration: Declaration, live: Option<Live>) -> Self {
        let schema = live.as_ref().map(schema_of);
        let sequence = live.as_ref().map_or(0, |live| live.sequence);
        Self {
            id,
            name,
            declaration,
            live: RwLock::new(live),
            whole_entry: tokio::sync::Mutex::default(),
            first_rows: tokio::sync::Mutex::default(),
            keys: KeysInUse::default(),
            pending: AtomicU64::new(0),
            changes: watch::Sender::new(0),
            deleted: AtomicBool::new(false),
            snapshot: Mutex::new(SnapshotMark { sequence, time: Instant::now() }),
            log_bytes: AtomicU64::new(0),
            schema: std::sync::RwLock::new(schema),
            damage: OnceLock::new(),
            queue: Mutex::default(),
            activity: Mutex::default(),
        }
    }

    /// A model whose files are damaged; every request says so.
    pub fn damaged(id: i64, name: String, declaration: Declaration, damage: String) -> Self {
        Self { damage: OnceLock::from(damage), ..Self::new(id, name, declaration, None) }
    }

    /// What is damaged.
    pub fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// Serves the model no more: what is in memory may be half changed. Its files are as they were.
    pub fn set_damage(&self, damage: String) {
        crate::log::error(&format!("model `{}` is not served: {damage}", self.name));
        // the first damage stands
        let _ = self.damage.set(damage);
    }

    /// Refuses a damaged model.
    pub fn check(&self) -> Result<()> {
        match self.damage() {
            None => Ok(()),
            Some(damage) => Err(ApiError::new(Code::ModelDamaged, damage).hint(
                "restore the data folder from a backup, or DELETE the model and create it again",
            )),
        }
    }

    /// The columns; `None` before they are known.
    pub fn schema(&self) -> Option<TableSchema> {
        self.schema.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives an empty model its state.
    pub async fn fill(&self, live: Live) {
        let schema = schema_of(&live);
        *self.live.write().await = Some(live);
        *self.schema.write().unwrap_or_else(PoisonError::into_inner) = Some(schema);
        self.changed();
    }

    /// The model, to be looked at.
    pub async fn read(&self) -> Result<Reading<'_>> {
        self.check()?;
        Ok(Reading(self.live.read().await, self))
    }

    /// The refusal of what needs columns.
    pub fn empty(&self) -> ApiError {
        let message =
            format!("model `{}` has learned no row, so its columns are unknown", self.name);
        ApiError::new(Code::ModelEmpty, message)
            .hint("learn rows first, or declare the model with \"columns\"")
    }

    /// Tells those who watch that something changed.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Whether it was deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }

    /// Keeps a refused request for those who look.
    pub fn refused(&self, error: &ApiError) {
        lock(&self.activity).refused(error);
        self.changed();
    }

    /// Rows learned per second over the last ten seconds.
    pub fn rate(&self) -> f64 {
        lock(&self.activity).rate()
    }

    /// The last refused requests.
    pub fn errors(&self) -> Vec<PastError> {
        lock(&self.activity).errors()
    }
}

fn schema_of(live: &Live) -> TableSchema {
    live.model.encoder().table_schema().with_key(ID)
}
