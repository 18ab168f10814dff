//! An entry of the log on its way into the model, and what is answered for it.

use super::{ServedRows, lock};
use crate::admission::Admitted;
use crate::error::{ApiError, Result};
use crate::prediction::Prediction;
use kalmia_data::Table;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;
use utoipa::ToSchema;

/// How an entry is learned. It is part of the state: rows that are learned one by one and rows that
/// are learned as a batch may differ in their last bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As batches.
    Batch,
    /// Row by row, each predicted before it is learned.
    Predicted,
    /// As batches, of rows that were predicted earlier.
    Labelled,
}

/// The numbers of [`Kind::Labelled`] in the log; which one says what was served
/// ([`ServedRows::log_kind`](super::ServedRows::log_kind)).
const LABELLED: [i64; 2] = [2, 3];

impl Kind {
    /// The number in the log.
    pub fn number(self) -> i64 {
        match self {
            Self::Batch => 0,
            Self::Predicted => 1,
            Self::Labelled => LABELLED[1],
        }
    }

    /// The kind of a number in the log.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Batch),
            1 => Some(Self::Predicted),
            labelled if LABELLED.contains(&labelled) => Some(Self::Labelled),
            _ => None,
        }
    }
}

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Learned {
    /// The number of this request in the model's log.
    pub sequence: u64,
    /// Rows learned.
    pub rows: u64,
    /// Whether an earlier request with the same key was answered with this.
    pub duplicate: bool,
    /// Rows left out for a missing value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
    /// JSON members that are no columns of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// What was predicted before each row was learned; null for a row left out, and before any
    /// class is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<Option<Prediction>>>,
    /// The predictions as they were served, for rows whose labels came later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
}

/// The loss of predictions as they were served.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct Served {
    /// Rows.
    pub rows: u64,
    /// Mean loss.
    pub loss: f64,
}

impl Learned {
    /// Of a request whose rows were all learned.
    pub fn plain(sequence: u64, rows: u64) -> Self {
        Self {
            sequence,
            rows,
            duplicate: false,
            skipped: None,
            ignored: Vec::new(),
            predictions: None,
            served: None,
        }
    }

    /// Whether there is nothing to say beyond sequence and rows.
    pub fn is_plain(&self) -> bool {
        *self == Self::plain(self.sequence, self.rows)
    }
}

/// An entry that is in the log and is to be learned.
pub struct Entry {
    pub sequence: u64,
    pub kind: Kind,
    pub table: Table,
    /// What was served for each row of a [`Kind::Labelled`] entry.
    pub served: ServedRows,
    /// The idempotency key, held until the answer is known.
    pub key: Option<KeyInUse>,
    pub reply: Reply,
}

/// Who waits for an answer, and the room that the request takes until then.
pub struct Reply {
    pub answer: oneshot::Sender<Result<Learned>>,
    /// Held for its `Drop`.
    pub _admitted: Admitted,
}

impl Reply {
    /// Answers; nobody listens if the client is gone.
    pub fn send(self, outcome: std::result::Result<Learned, ApiError>) {
        let _ = self.answer.send(outcome);
    }
}

/// The keys of requests that are being learned.
#[derive(Debug, Clone, Default)]
pub struct KeysInUse(Arc<Mutex<HashSet<String>>>);

/// A key that is in use; free again when dropped.
#[derive(Debug)]
pub struct KeyInUse {
    key: String,
    keys: KeysInUse,
}

impl KeysInUse {
    /// Takes a key; `None` if it is in use.
    pub fn take(&self, key: String) -> Option<KeyInUse> {
        let free = lock(&self.0).insert(key.clone());
        free.then(|| KeyInUse { key, keys: self.clone() })
    }
}

impl KeyInUse {
    /// The key.
    pub fn as_str(&self) -> &str {
        &self.key
    }
}

impl Drop for KeyInUse {
    fn drop(&mut self) {
        lock(&self.keys.0).remove(&self.key);
    }
}
