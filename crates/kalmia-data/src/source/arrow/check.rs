//! Checks the lengths that an Arrow IPC message declares, before anything is allocated for them.

use std::collections::HashMap;

use arrow_ipc::{DictionaryBatch, Message, RecordBatch};
use arrow_schema::ArrowError;

/// Bytes that one record batch, or all dictionaries together, may need once decoded. More is
/// accepted only if the file is large itself: of [`MAX_RATIO`] times its own bytes.
const MAX_DECODED_BYTES: u64 = 1 << 30;
/// How far compression may plausibly reduce a large batch.
const MAX_RATIO: u64 = 16;
/// Most rows of a batch: columns of nulls need no bytes at all.
const MAX_BATCH_ROWS: i64 = 1 << 32;
/// The length of a compressed buffer that is stored as it is.
const NOT_COMPRESSED: i64 = -1;
/// Bytes of the length before a compressed buffer.
const PREFIX_BYTES: u64 = 8;

type Checked<T> = Result<T, ArrowError>;

/// The length of a message's body. `size` is that of the whole file as stored, 0 if unknown.
pub(super) fn check_body(message: &Message<'_>, size: u64) -> Checked<u64> {
    let len = message.bodyLength();
    let limit = MAX_DECODED_BYTES.max(size);
    match u64::try_from(len) {
        Ok(len) if len <= limit => Ok(len),
        Ok(len) => Err(too_large("a message", len, limit)),
        Err(_) => Err(refused(format!("a message has a body of {len} bytes"))),
    }
}

/// Refuses buffers outside of the body, and a batch that would need too much memory.
pub(super) fn check_batch(batch: &RecordBatch<'_>, body: &[u8]) -> Checked<()> {
    let decoded = decoded_bytes(batch, body)?;
    let limit = limit(body);
    if decoded > limit {
        return Err(too_large("a record batch", decoded, limit));
    }
    Ok(())
}

/// The decoded bytes of the dictionaries kept, by their number in the schema.
#[derive(Default)]
pub(super) struct Dictionaries {
    bytes: HashMap<i64, u64>,
}

impl Dictionaries {
    /// Checks a dictionary as [`check_batch`] does, together with those before it.
    pub fn check(&mut self, dictionary: &DictionaryBatch<'_>, body: &[u8]) -> Checked<()> {
        let Some(batch) = dictionary.data() else {
            return Err(refused("a dictionary holds nothing".into()));
        };
        let decoded = decoded_bytes(&batch, body)?;
        let bytes = self.bytes.entry(dictionary.id()).or_default();
        *bytes = if dictionary.isDelta() { bytes.saturating_add(decoded) } else { decoded };
        let total = self.bytes.values().fold(0_u64, |sum, &bytes| sum.saturating_add(bytes));
        let limit = limit(body);
        if total > limit {
            return Err(too_large("its dictionaries", total, limit));
        }
        Ok(())
    }
}

/// What a body of these bytes may become.
fn limit(body: &[u8]) -> u64 {
    MAX_DECODED_BYTES.max((body.len() as u64).saturating_mul(MAX_RATIO))
}

/// The bytes of all buffers once they are decoded.
fn decoded_bytes(batch: &RecordBatch<'_>, body: &[u8]) -> Checked<u64> {
    if !(0..=MAX_BATCH_ROWS).contains(&batch.length()) {
        return Err(refused(format!("a batch has {} rows", batch.length())));
    }
    let compressed = batch.compression().is_some();
    let mut total = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let outside = || {
            let bytes = body.len();
            refused(format!(
                "{} bytes at {} are not inside of a body of {bytes} bytes",
                buffer.length(),
                buffer.offset()
            ))
        };
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let len = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let end = start.checked_add(len).ok_or_else(outside)?;
        let stored = body.get(start..end).ok_or_else(outside)?;
        let decoded = if compressed && len > 0 { uncompressed_bytes(stored)? } else { len as u64 };
        total = total.saturating_add(decoded);
    }
    Ok(total)
}

/// The length that a compressed buffer declares.
fn uncompressed_bytes(stored: &[u8]) -> Checked<u64> {
    let Some((prefix, rest)) = stored.split_first_chunk::<{ PREFIX_BYTES as usize }>() else {
        return Err(refused("a compressed buffer is shorter than its length".into()));
    };
    match i64::from_le_bytes(*prefix) {
        NOT_COMPRESSED => Ok(rest.len() as u64),
        len => u64::try_from(len)
            .map_err(|_| refused(format!("a compressed buffer declares {len} bytes"))),
    }
}

fn too_large(what: &str, bytes: u64, limit: u64) -> ArrowError {
    refused(format!(
        "{what} would need {bytes} bytes of memory, more than {limit}; write smaller batches"
    ))
}

fn refused(what: String) -> ArrowError {
    ArrowError::IpcError(what)
}
