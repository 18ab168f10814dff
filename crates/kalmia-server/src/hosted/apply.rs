//! Learning what the log holds, in its order: one worker per model at a time.

use super::entry::{Entry, KeyInUse};
use super::live::{Access, Live, catch_panic, learn_entry};
use super::{Hosted, Learned, lock};
use crate::error::{ApiError, Code};
use crate::store::{Job, Store, StoreError, Writing, sql};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{RwLock, RwLockWriteGuard};

/// Entries in the order of the log.
#[derive(Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// Whether a worker takes them.
    is_drained: bool,
}

impl Hosted {
    /// Puts an entry behind those that wait, and starts a worker if none runs.
    pub fn enqueue(self: Arc<Self>, entry: Entry, store: &Arc<Store>, runtime: &Handle) {
        let mut queue = lock(&self.queue);
        queue.entries.push_back(entry);
        if !std::mem::replace(&mut queue.is_drained, true) {
            drop(queue);
            let store = store.clone();
            runtime.spawn_blocking(move || drain(&self, &store));
        }
    }

    /// Whether all entries are learned.
    pub fn is_idle(&self) -> bool {
        !lock(&self.queue).is_drained
    }

    fn next_entry(&self) -> Option<Entry> {
        let mut queue = lock(&self.queue);
        let next = queue.entries.pop_front();
        queue.is_drained = next.is_some();
        next
    }
}

/// The model behind its lock. Predictions wait for a part at most.
struct Locked<'a>(&'a RwLock<Option<Live>>);

/// The model, while nobody else can use it.
struct Guard<'a>(RwLockWriteGuard<'a, Option<Live>>);

impl Access for Locked<'_> {
    type Guard<'a>
        = Guard<'a>
    where
        Self: 'a;

    fn get(&mut self) -> Guard<'_> {
        Guard(self.0.blocking_write())
    }
}

impl Deref for Guard<'_> {
    type Target = Live;

    fn deref(&self) -> &Live {
        self.0.as_ref().expect("entries are logged for models that have columns")
    }
}

impl DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Live {
        self.0.as_mut().expect("entries are logged for models that have columns")
    }
}

/// Learns entries until none waits.
fn drain(hosted: &Arc<Hosted>, store: &Arc<Store>) {
    while let Some(entry) = hosted.next_entry() {
        let Entry { sequence, kind, table, served, key, reply } = entry;
        if let Err(error) = hosted.check() {
            reply.send(Err(error));
            continue;
        }
        // until the outcome is on its way to the database: a snapshot must come after it
        let _whole_entry = hosted.whole_entry.blocking_lock();
        let mut model = Locked(&hosted.live);
        let learned = catch_panic(|| learn_entry(&mut model, sequence, kind, &table, &served));
        let learned = learned.unwrap_or_else(|problem| {
            hosted.set_damage(format!("entry {sequence} of the log: {problem}"));
            hosted.check().and(Err(ApiError::internal(problem)))
        });
        match learned {
            Ok(learned) => {
                lock(&hosted.activity).learned(learned.rows);
                if let (Some(key), false) = (&key, learned.is_plain()) {
                    // before any snapshot that knows the entry: the jobs keep their order
                    store.send(StoreAnswer::new(hosted.id, key.as_str(), &learned, store));
                }
                drop(key);
                reply.send(Ok(learned));
            }
            Err(error) if error.code == Code::ModelDamaged => reply.send(Err(error)),
            Err(error) => {
                let hosted = hosted.clone();
                let later = Later::new(store);
                let waiting = 0;
                store.send(Box::new(Refuse {
                    hosted,
                    sequence,
                    key,
                    error,
                    reply,
                    waiting,
                    later,
                }));
            }
        }
        hosted.changed();
    }
}

/// Time after which a job is tried again that found the disk full.
const PAUSE: Duration = Duration::from_millis(500);

/// Tries a job again, because an outcome must be stored whenever there is room.
#[derive(Clone)]
struct Later {
    store: Arc<Store>,
    runtime: Handle,
}

impl Later {
    /// For jobs that are made on a thread of the runtime.
    fn new(store: &Arc<Store>) -> Self {
        Self { store: store.clone(), runtime: Handle::current() }
    }

    fn send(&self, job: Box<dyn Job>) {
        let store = self.store.clone();
        self.runtime.spawn(async move {
            tokio::time::sleep(PAUSE).await;
            store.send(job);
        });
    }
}

/// Stores an answer that does not follow from its key.
struct StoreAnswer {
    model: i64,
    key: String,
    answer: String,
    later: Later,
}

impl StoreAnswer {
    fn new(model: i64, key: &str, learned: &Learned, store: &Arc<Store>) -> Box<Self> {
        let answer = serde_json::to_string(learned).unwrap_or_default();
        Box::new(Self { model, key: key.into(), answer, later: Later::new(store) })
    }
}

impl Job for StoreAnswer {
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        sql::set_answer(writing.transaction, self.model, &self.key, &self.answer)
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        // without a full disk it is computed again on replay
        if committed == Err(StoreError::DiskFull) {
            self.later.clone().send(self);
        }
    }
}

/// Marks an entry as refused, then answers: a refused entry stays refused.
struct Refuse {
    hosted: Arc<Hosted>,
    sequence: u64,
    /// In use until the refusal is stored: a request that repeats it must not be answered before.
    key: Option<KeyInUse>,
    error: ApiError,
    reply: super::Reply,
    /// Rows that wait for a label again.
    waiting: usize,
    later: Later,
}

impl Job for Refuse {
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        let answer = self.error.to_json();
        let model = self.hosted.id;
        self.waiting = sql::refuse(writing.transaction, model, self.sequence, &answer)?;
        match &self.key {
            Some(key) => sql::set_answer(writing.transaction, model, key.as_str(), &answer),
            None => Ok(()),
        }
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        if committed == Err(StoreError::DiskFull) {
            return self.later.clone().send(self);
        }
        if committed.is_ok() {
            self.hosted.pending.fetch_add(self.waiting as u64, Ordering::Relaxed);
        }
        drop(self.key);
        self.reply.send(Err(self.error));
    }
}
