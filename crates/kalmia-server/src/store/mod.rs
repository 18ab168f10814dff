//! The durable part: one SQLite database, written by one thread that commits for many requests at
//! once.
//!
//! A request becomes a [`Job`]. The thread takes all jobs that wait, runs them in one transaction,
//! commits it with one `fsync`, then finishes each job in order. So a job that is finished without
//! an error is durable, and the cost of the `fsync` is shared.

mod committer;
pub mod sql;

pub use committer::{Sequences, Writing};

use crate::error::{ApiError, Code};
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE as IOERR_SHMSIZE, SQLITE_IOERR_WRITE as IOERR_WRITE};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The version of the database's layout, in SQLite's `user_version`.
const LAYOUT: i64 = 1;

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // a full disk shows in several ways, depending on which file could not grow
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match (error.sqlite_error_code(), extended) {
            (Some(ErrorCode::DiskFull), _) | (_, Some(IOERR_WRITE | IOERR_SHMSIZE)) => {
                Self::DiskFull
            }
            _ => Self::Database(error.to_string()),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::DiskFull => Self::new(
                Code::DiskFull,
                "the disk of the service is full, so nothing can be learned; predictions go on",
            )
            .hint("free space on the disk; learning goes on by itself, so try again"),
            StoreError::Database(_) => Self::internal(error),
        }
    }
}

/// Something to be written, together with other jobs.
///
/// A job checks before it writes: what it has to refuse is kept for [`Job::finish`], and an error
/// of [`Job::run`] takes back the whole group.
pub trait Job: Send {
    /// Writes; called once.
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()>;

    /// Takes the outcome of the transaction; called once, in the order of the jobs.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);

    /// Bytes that it writes, about; bounds a group.
    fn bytes(&self) -> usize {
        0
    }
}

/// The database and its thread.
pub struct Store {
    jobs: Mutex<Option<Sender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Called after each group with the number of its jobs and the time they took.
pub type OnCommit = Box<dyn Fn(usize, Duration) + Send>;

/// Opens the database, which is made if it does not exist.
pub fn open_database(path: &Path) -> Result<Connection, String> {
    let place = |error: rusqlite::Error| format!("cannot open {}: {error}", path.display());
    let connection = Connection::open(path).map_err(place)?;
    let version: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(place)?;
    if version > LAYOUT {
        return Err(format!(
            "{} was written by a newer version of kalmia (layout {version}, this one knows \
             {LAYOUT}); use that version",
            path.display()
        ));
    }
    connection.execute_batch(sql::PRAGMAS).map_err(place)?;
    connection.execute_batch(sql::TABLES).map_err(place)?;
    connection.pragma_update(None, "user_version", LAYOUT).map_err(place)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

impl Store {
    /// Starts the thread. `sequences` are the last ones in use.
    pub fn start(connection: Connection, sequences: Sequences, on_commit: OnCommit) -> Self {
        let (jobs, receiver) = channel();
        let body = move || committer::run(connection, sequences, &receiver, &on_commit);
        let thread = std::thread::Builder::new().name("committer".into()).spawn(body);
        Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(thread.ok()) }
    }

    /// Puts a job behind those that wait. After [`Store::stop`] it is finished with an error.
    pub fn send(&self, job: Box<dyn Job>) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match &*jobs {
            Some(jobs) => jobs.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        drop(jobs);
        if let Some(job) = refused {
            job.finish(Err(StoreError::Database("the service has stopped".into())));
        }
    }

    /// Runs `write` in a transaction; its value comes back once that is durable.
    pub async fn call<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Writing<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(Call { write: Some(write), value: None, reply }));
        answer.await.unwrap_or_else(|_| Err(StoreError::Database("the service stopped".into())))
    }

    /// Writes what waits, then ends the thread.
    pub fn stop(&self) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(jobs);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // a panic of the thread was printed when it happened
            let _ = thread.join();
        }
    }
}

/// A job made of a function.
struct Call<F, T> {
    write: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T: Send> Job for Call<F, T>
where
    F: FnOnce(&mut Writing<'_>) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        if let Some(write) = self.write.take() {
            self.value = Some(write(writing)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (committed, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(StoreError::Database("a job did not run".into())),
            (Err(error), _) => Err(error),
        };
        // nobody waits for it if the client is gone
        let _ = self.reply.send(outcome);
    }
}
