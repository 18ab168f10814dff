//! The jobs of learning: rows that come with their targets, and labels of rows that wait.

use crate::error::{ApiError, Code};
use crate::hosted::{Entry, Hosted, ID, KeyInUse, Kind, Learned, Reply, ServedRows};
use crate::service::{Service, now};
use crate::store::sql::{self, NewEntry};
use crate::store::{Job, StoreError, Writing};
use kalmia_data::{Table, TableSchema};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The idempotency key of a request and the hash of all that it asks for.
pub struct Key {
    /// The key, in use until the request is answered.
    pub key: KeyInUse,
    /// The hash of the request.
    pub body: [u8; 32],
}

/// What becomes an entry of the log.
pub enum Rows {
    /// Rows with their targets.
    Given {
        /// The rows.
        table: Table,
        /// The rows as the log holds them.
        bytes: Vec<u8>,
        /// How they are learned.
        kind: Kind,
    },
    /// Labels of rows that wait.
    Labels {
        /// Identifiers and targets.
        labels: Table,
        /// The columns of the rows that wait.
        schema: TableSchema,
    },
}

/// Why an identifier may be unknown.
const UNKNOWN_ID_HINT: &str = "predict or choose with this `id` first; a row is labelled once, \
                               and forgotten after --label-hours";
/// What a remembered row takes in the log, about.
const LABELLED_ROW_BYTES: usize = 200;

/// Appends to the log, unless the key was seen before.
pub struct Append {
    service: Arc<Service>,
    hosted: Arc<Hosted>,
    key: Option<Key>,
    rows: Option<Rows>,
    bytes: usize,
    reply: Reply,
    decision: Decision,
}

/// What the transaction decided.
enum Decision {
    /// It did not run.
    None,
    /// There is an answer already.
    Answer(Result<Learned, ApiError>),
    /// The rows are in the log.
    Logged(Box<Logged>),
}

/// Rows that are in the log.
struct Logged {
    sequence: u64,
    table: Table,
    kind: Kind,
    served: ServedRows,
    bytes: usize,
}

impl Rows {
    /// Bytes in the log, about.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Given { bytes, .. } => bytes.len(),
            Self::Labels { labels, .. } => labels.rows() * LABELLED_ROW_BYTES,
        }
    }
}

impl Append {
    /// A job for a model.
    pub fn new(
        service: &Arc<Service>,
        hosted: &Arc<Hosted>,
        key: Option<Key>,
        rows: Rows,
        reply: Reply,
    ) -> Box<Self> {
        Box::new(Self {
            service: service.clone(),
            hosted: hosted.clone(),
            key,
            bytes: rows.bytes(),
            rows: Some(rows),
            reply,
            decision: Decision::None,
        })
    }

    /// The answer to a request whose key was seen before.
    fn earlier(
        &self,
        writing: &Writing<'_>,
    ) -> rusqlite::Result<Option<Result<Learned, ApiError>>> {
        let Some(Key { key, body }) = &self.key else { return Ok(None) };
        let known = sql::key(writing.transaction, self.hosted.id, key.as_str())?;
        Ok(known.map(|known| {
            if known.body != body {
                return Err(ApiError::new(
                    Code::KeyReused,
                    "the Idempotency-Key was used with another request",
                )
                .hint("use a new key for each request, and the same one only to repeat it"));
            }
            stored_answer(&known)
        }))
    }

    fn log(
        &self,
        writing: &mut Writing<'_>,
        table: Table,
        rows: &[u8],
        kind: Kind,
        served: ServedRows,
    ) -> rusqlite::Result<Decision> {
        let model = self.hosted.id;
        let Some(sequence) = writing.sequences.next(model) else {
            return Ok(Decision::Answer(Err(ApiError::unknown_model(&self.hosted.name))));
        };
        let numbers = (kind == Kind::Labelled).then(|| served.to_bytes());
        let key = self.key.as_ref().map(|key| key.key.as_str());
        let kind_number = served.log_kind(kind);
        let entry = NewEntry { kind: kind_number, rows, served: numbers.as_deref(), key };
        sql::append(writing.transaction, model, sequence, entry)?;
        if let Some(Key { key, body }) = &self.key {
            let count = table.rows() as u64;
            let known = sql::KeyRow { body: body.to_vec(), sequence, rows: count, answer: None };
            sql::insert_key(writing.transaction, model, key.as_str(), &known, now())?;
        }
        let logged = Logged { sequence, table, kind, served, bytes: rows.len() };
        Ok(Decision::Logged(Box::new(logged)))
    }

    /// Joins labels with their rows, which then wait no more.
    fn log_labels(
        &self,
        writing: &mut Writing<'_>,
        labels: &Table,
        schema: &TableSchema,
    ) -> rusqlite::Result<Decision> {
        let model = self.hosted.id;
        let mut joined: Option<Table> = None;
        let mut served = ServedRows::default();
        let mut ids = Vec::with_capacity(labels.rows());
        let mut seen = HashSet::new();
        for i in 0..labels.rows() {
            let refuse = |code, message: String| {
                let row = Some(i as u64 + 1);
                let column = Some(ID.into());
                let hint = (code == Code::UnknownId).then(|| UNKNOWN_ID_HINT.to_owned());
                let error = ApiError { row, column, hint, ..ApiError::new(code, message) };
                Ok(Decision::Answer(Err(error)))
            };
            let Some(id) = labels.key(i) else {
                return refuse(Code::MissingValue, format!("row {} has no `{ID}`", i + 1));
            };
            if !seen.insert(id) {
                return refuse(Code::BadRow, format!("row {}: its `{ID}` comes twice", i + 1));
            }
            let Some(pending) = sql::pending(writing.transaction, model, id)? else {
                let message = format!("row {}: no row waits under this `{ID}`", i + 1);
                return refuse(Code::UnknownId, message);
            };
            let row = Table::from_bytes(&pending.row, schema, "remembered row");
            let appended = row.and_then(|row| match &mut joined {
                Some(all) => all.append(&row),
                None => {
                    joined = Some(row);
                    Ok(())
                }
            });
            if let Err(error) = appended {
                return Ok(Decision::Answer(Err(ApiError::internal(error))));
            }
            served.push(&pending.served.0);
            ids.push(id);
        }
        let Some(mut table) = joined else {
            let error = ApiError::new(Code::BadRequest, "the request has no labels");
            return Ok(Decision::Answer(Err(error)));
        };
        if let Err(error) = table.set_targets(labels) {
            return Ok(Decision::Answer(Err(error.into())));
        }
        let rows = table.to_bytes();
        let decision = self.log(writing, table, &rows, Kind::Labelled, served)?;
        if let Decision::Logged(logged) = &decision {
            let entry = logged.sequence;
            ids.iter().try_for_each(|id| sql::take(writing.transaction, model, id, entry))?;
        }
        Ok(decision)
    }
}

/// The answer that a key stands for.
fn stored_answer(known: &sql::KeyRow) -> Result<Learned, ApiError> {
    let learned = match &known.answer {
        None => Learned::plain(known.sequence, known.rows),
        Some(answer) => match serde_json::from_str::<Learned>(answer) {
            Ok(learned) => learned,
            Err(_) => {
                let refused: Result<crate::error::ErrorBody, _> = serde_json::from_str(answer);
                return Err(refused.map_or_else(ApiError::internal, |body| body.error));
            }
        },
    };
    Ok(Learned { duplicate: true, ..learned })
}

impl Job for Append {
    fn run(&mut self, writing: &mut Writing<'_>) -> rusqlite::Result<()> {
        if let Some(answer) = self.earlier(writing)? {
            self.decision = Decision::Answer(answer);
            return Ok(());
        }
        self.decision = match self.rows.take() {
            Some(Rows::Given { table, bytes, kind }) => {
                self.log(writing, table, &bytes, kind, ServedRows::default())?
            }
            Some(Rows::Labels { labels, schema }) => self.log_labels(writing, &labels, &schema)?,
            None => Decision::None,
        };
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { service, hosted, key, reply, decision, .. } = *self;
        if let Err(error) = committed {
            return reply.send(Err(error.into()));
        }
        match decision {
            Decision::None => reply.send(Err(ApiError::internal("a job did not run"))),
            Decision::Answer(answer) => {
                drop(key);
                reply.send(answer);
            }
            Decision::Logged(logged) => {
                let Logged { sequence, table, kind, served, bytes } = *logged;
                hosted.log_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                hosted.pending.fetch_sub(served.len() as u64, Ordering::Relaxed);
                let key = key.map(|key| key.key);
                let entry = Entry { sequence, kind, table, served, key, reply };
                hosted.enqueue(entry, &service.store, &service.runtime);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}
