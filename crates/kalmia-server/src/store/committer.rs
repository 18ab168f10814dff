//! The thread that writes: groups of jobs, one transaction each.

use super::{Job, OnCommit, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::time::Instant;

/// Jobs per transaction at most.
const MAX_JOBS: usize = 1024;
/// Bytes per transaction, about, at most.
const MAX_BYTES: usize = 32 << 20;

/// The last sequence number of each model. They are given out here, because this thread alone
/// decides the order of the log.
#[derive(Debug, Default)]
pub struct Sequences {
    last: HashMap<i64, u64>,
    /// Models changed in this group, with their values before.
    undo: Vec<(i64, Option<u64>)>,
}

impl Sequences {
    /// Sets the last sequence number of a model.
    pub fn set(&mut self, model: i64, sequence: u64) {
        let before = self.last.insert(model, sequence);
        self.undo.push((model, before));
    }

    /// Forgets a model; from now on it has no next number.
    pub fn remove(&mut self, model: i64) {
        let before = self.last.remove(&model);
        self.undo.push((model, before));
    }

    /// The next sequence number of a model; `None` if there is no such model.
    pub fn next(&mut self, model: i64) -> Option<u64> {
        let next = self.last.get(&model)? + 1;
        self.set(model, next);
        Some(next)
    }

    /// Keeps the changes of this group.
    pub fn keep(&mut self) {
        self.undo.clear();
    }

    /// Takes the changes of this group back.
    fn take_back(&mut self) {
        for (model, before) in self.undo.drain(..).rev() {
            match before {
                Some(sequence) => self.last.insert(model, sequence),
                None => self.last.remove(&model),
            };
        }
    }
}

/// What a job writes to.
pub struct Writing<'a> {
    /// The transaction of the group.
    pub transaction: &'a Transaction<'a>,
    /// The sequence numbers, taken back if the transaction fails.
    pub sequences: &'a mut Sequences,
}

/// Commits groups of jobs until nobody can send any more.
pub(super) fn run(
    mut connection: Connection,
    mut sequences: Sequences,
    jobs: &Receiver<Box<dyn Job>>,
    on_commit: &OnCommit,
) {
    sequences.keep();
    while let Ok(first) = jobs.recv() {
        let mut bytes = first.bytes();
        let mut group = vec![first];
        while group.len() < MAX_JOBS && bytes < MAX_BYTES {
            let Ok(job) = jobs.try_recv() else { break };
            bytes += job.bytes();
            group.push(job);
        }
        let start = Instant::now();
        let committed = commit(&mut connection, &mut sequences, &mut group);
        match &committed {
            Ok(()) => {
                sequences.keep();
                on_commit(group.len(), start.elapsed());
            }
            Err(error) => {
                sequences.take_back();
                crate::log::error(&format!("{} requests were not written: {error}", group.len()));
            }
        }
        group.into_iter().for_each(|job| job.finish(committed.clone()));
    }
}

fn commit(
    connection: &mut Connection,
    sequences: &mut Sequences,
    group: &mut [Box<dyn Job>],
) -> Result<(), StoreError> {
    // dropped without a commit, a transaction is rolled back
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut writing = Writing { transaction: &transaction, sequences };
    for job in group {
        job.run(&mut writing)?;
    }
    Ok(transaction.commit()?)
}
