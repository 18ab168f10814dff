//! Snapshots: ordinary model files beside the database, from which the log goes on.
//!
//! Two snapshots of a model are kept, and the log since the older one. So if the newer file is
//! damaged, nothing is lost.

use crate::error::{ApiError, Result};
use crate::hosted::{Hosted, Live, lock};
use crate::service::{Service, now};
use crate::store::{Store, sql};
use kalmia_model::AnyModel;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::RwLockWriteGuard;
use tokio::task::JoinSet;

/// Bytes logged after which a snapshot is made before its time: they bound the log and the time of
/// a start.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// Snapshots that are made at once when the service stops.
const MAX_AT_ONCE: usize = 16;

/// The folder of the snapshots.
#[derive(Debug, Clone)]
pub struct Snapshots {
    folder: PathBuf,
}

impl Snapshots {
    /// The folder, which is made if it does not exist.
    pub fn open(folder: PathBuf) -> std::io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Removes what a killed process left half written. The folder must be locked.
    pub fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let left = entries.flatten().map(|entry| entry.path());
        let is_left = |path: &PathBuf| path.extension().is_some_and(|end| end == "kalmia-tmp");
        // a file that stays costs room on the disk and nothing else
        left.filter(is_left).for_each(|path| drop(std::fs::remove_file(path)));
    }

    /// The file of a snapshot.
    pub fn path(&self, model: i64, sequence: u64) -> PathBuf {
        self.folder.join(format!("{model}-{sequence}.kalmia"))
    }

    /// Reads a snapshot. Refuses a file that is damaged or belongs elsewhere.
    pub fn read(&self, model: i64, sequence: u64) -> std::result::Result<Live, String> {
        let path = self.path(model, sequence);
        let loaded = AnyModel::load(&path).map_err(|error| error.to_string())?;
        let live = Live::from_snapshot(loaded.content);
        if live.sequence != sequence {
            let found = live.sequence;
            return Err(format!("{} holds the model after entry {found}", path.display()));
        }
        Ok(live)
    }

    /// Writes the state before the first entry, and says so in the database.
    pub async fn write_first(&self, store: &Store, model: i64, mut live: Live) -> Result<Live> {
        live.mark();
        let path = self.path(model, 0);
        let live = tokio::task::spawn_blocking(move || -> Result<Live> {
            write(&path, &live.model.to_bytes()?)?;
            Ok(live)
        })
        .await
        .map_err(ApiError::internal)??;
        store.call(move |w| sql::insert_snapshot(w.transaction, model, 0, now())).await?;
        Ok(live)
    }

    /// The sequence numbers of all files of a model, the newest first.
    pub fn files(&self, model: i64) -> Vec<u64> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let prefix = format!("{model}-");
        let sequence =
            |name: &str| name.strip_prefix(&prefix)?.strip_suffix(".kalmia")?.parse::<u64>().ok();
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut found: Vec<_> = names.filter_map(|name| sequence(name.to_str()?)).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// Removes the files of a model, but for those that `keep` names.
    fn remove_files_except(&self, model: i64, keep: &[u64]) {
        for sequence in self.files(model) {
            if !keep.contains(&sequence) {
                // a file that stays costs room on the disk and nothing else
                let _ = std::fs::remove_file(self.path(model, sequence));
            }
        }
    }

    /// Removes all files of a model.
    pub fn remove_files(&self, model: i64) {
        self.remove_files_except(model, &[]);
    }
}

/// Writes a file atomically and durably.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    kalmia::file::replace(path, |file| file.write_all(bytes)).map_err(|error| {
        if error.kind() == std::io::ErrorKind::StorageFull {
            crate::store::StoreError::DiskFull.into()
        } else {
            ApiError::internal(format!("cannot write {}: {error}", path.display()))
        }
    })
}

/// The file of a model after a whole entry, and that entry. Predictions go on while it is made.
pub async fn current_file(hosted: &Arc<Hosted>) -> Result<(u64, Vec<u8>)> {
    let hosted = hosted.clone();
    let file = move || {
        let whole_entry = hosted.whole_entry.blocking_lock();
        let mut guard = hosted.live.blocking_write();
        if let Some(live) = guard.as_mut() {
            live.mark();
        }
        // as long as it is read, no entry can begin
        let guard = RwLockWriteGuard::downgrade(guard);
        drop(whole_entry);
        let live = guard.as_ref().ok_or_else(|| hosted.empty())?;
        Ok((live.sequence, live.model.to_bytes()?))
    };
    tokio::task::spawn_blocking(file).await.map_err(ApiError::internal)?
}

impl Service {
    /// Makes a snapshot of every model that has learned since its last one and is due.
    pub async fn snapshot_due(&self) {
        for hosted in self.models() {
            let last = *lock(&hosted.snapshot);
            let due = last.time.elapsed() >= self.config.snapshot_every
                || hosted.log_bytes.load(Ordering::Relaxed) > MAX_LOG_BYTES;
            if due {
                self.snapshot_or_log(&hosted).await;
            }
        }
    }

    /// Makes a snapshot of every model that has learned since its last one, several at a time: they
    /// then share the transactions.
    pub async fn snapshot_all(self: &Arc<Self>) {
        let mut tasks = JoinSet::new();
        for hosted in self.models() {
            if tasks.len() >= MAX_AT_ONCE {
                tasks.join_next().await;
            }
            let service = self.clone();
            tasks.spawn(async move { service.snapshot_or_log(&hosted).await });
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn snapshot_or_log(&self, hosted: &Arc<Hosted>) {
        if let Err(error) = self.snapshot(hosted).await {
            let name = &hosted.name;
            crate::log::error(&format!("no snapshot of model `{name}`: {}", error.message));
        }
    }

    /// Makes a snapshot of a model, unless its last one is as new. What it replaces goes.
    pub async fn snapshot(&self, hosted: &Arc<Hosted>) -> Result<()> {
        let last = *lock(&hosted.snapshot);
        let unchanged = |live: &Live| live.sequence == last.sequence;
        if hosted.is_deleted()
            || hosted.damage().is_some()
            || hosted.live.read().await.as_ref().is_none_or(unchanged)
        {
            return Ok(());
        }
        hosted.log_bytes.store(0, Ordering::Relaxed);
        let (sequence, bytes) = current_file(hosted).await?;
        let path = self.snapshots.path(hosted.id, sequence);
        tokio::task::spawn_blocking(move || write(&path, &bytes))
            .await
            .map_err(ApiError::internal)??;
        let id = hosted.id;
        let known = self
            .store
            .call(move |writing| {
                sql::insert_snapshot(writing.transaction, id, sequence, now())?;
                let known = sql::snapshots(writing.transaction, id)?;
                let kept = known.get(1).copied().unwrap_or(0);
                sql::delete_snapshots_before(writing.transaction, id, kept)?;
                Ok(known)
            })
            .await?;
        let kept = &known[..known.len().min(2)];
        *lock(&hosted.snapshot) = crate::hosted::SnapshotMark { sequence, time: Instant::now() };
        self.snapshots.remove_files_except(id, kept);
        match kept {
            [_, older] => self.trim(id, *older).await,
            _ => Ok(()),
        }
    }
}
