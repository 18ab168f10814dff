//! Learning what the log holds, in its order: one worker per model at a time.

use super::entry::Entry;
use super::live::{Access, Live, learn_entry};
use super::{Hosted, Learned, lock};
use crate::error::ApiError;
use crate::store::{Job, Store, StoreError, Writing, sql};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
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
fn drain(hosted: &Arc<Hosted>, store: &Store) {
    while let Some(entry) = hosted.next_entry() {
        let Entry { sequence, kind, table, served, key, reply } = entry;
        let learned = learn_entry(&mut Locked(&hosted.live), sequence, kind, &table, &served);
        match learned {
            Ok(learned) => {
                lock(&hosted.activity).learned(learned.rows);
                if let (Some(key), false) = (&key, learned.is_plain()) {
                    // before any snapshot that knows the entry: the jobs keep their order
                    store.send(Box::new(StoreAnswer::new(hosted.id, key.as_str(), &learned)));
                }
                drop(key);
                reply.send(Ok(learned));
            }
            Err(error) => {
                let key = key.map(|key| key.as_str().to_owned());
                store.send(Box::new(Refuse { model: hosted.id, sequence, key, error, reply }));
            }
        }
        hosted.changed();
    }
}

/// Stores an answer that does not follow from its key.
struct StoreAnswer {
    model: i64,
    key: String,
    answer: String,
}

impl StoreAnswer {
    fn new(model: i64, key: &str, learned: &Learned) -> Self {
        let answer = serde_json::to_string(learned).unwrap_or_default();
        Self { model, key: key.into(), answer }
    }
}

impl Job for StoreAnswer {
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        sql::set_answer(writing.transaction, self.model, &self.key, &self.answer)
    }

    // an answer that could not be stored is computed again on replay
    fn finish(self: Box<Self>, _: Result<(), StoreError>) {}
}

/// Marks an entry as refused, then answers: a refused entry stays refused.
struct Refuse {
    model: i64,
    sequence: u64,
    key: Option<String>,
    error: ApiError,
    reply: super::Reply,
}

impl Job for Refuse {
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        let answer = self.error.to_json();
        sql::refuse(writing.transaction, self.model, self.sequence, &answer)?;
        match &self.key {
            Some(key) => sql::set_answer(writing.transaction, self.model, key, &answer),
            None => Ok(()),
        }
    }

    fn finish(self: Box<Self>, _: Result<(), StoreError>) {
        self.reply.send(Err(self.error));
    }
}
