//! Opens Arrow IPC as a stream of record batches: the file format is that stream between a magic
//! word and a footer that is not needed.
//!
//! Messages are framed here and decoded by the crate `arrow-ipc`. Between the two every declared
//! length is checked ([`check`]), because the decoder allocates what a message declares.

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use super::check::{Dictionaries, check_batch, check_body};
use super::{Batches, guard};
use crate::error::{Error, Result};
use crate::options::SourceOptions;

const MAGIC: &[u8] = b"ARROW1\0\0";
const FORMAT: &str = "Arrow IPC";
/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;
/// Marks a message in the current version of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes reserved before any of a message's bytes have arrived.
const MAX_RESERVED_BYTES: u64 = 1 << 20;

type Stream = Box<dyn Read + Send>;

/// Opens a stream; `size` is that of the file as stored, if it is known.
pub(in crate::source) fn open_ipc(
    mut stream: Stream,
    file: &str,
    size: Option<u64>,
    options: &SourceOptions,
) -> Result<Batches> {
    let mut head = word(&mut stream, file)?;
    if head.is_empty() {
        return Err(Error::Empty { file: file.into() });
    }
    if head == MAGIC {
        // The magic word is padded with zeros to the writer's alignment.
        head = word(&mut stream, file)?;
        while head == [0; 8] {
            head = word(&mut stream, file)?;
        }
    }
    let stream: Stream = Box::new(Cursor::new(head).chain(stream));
    let stream = BufReader::with_capacity(BUFFER_BYTES, stream);
    let reader = guard(file, FORMAT, || Messages::open(stream, size.unwrap_or(0)))?;
    Batches::open(Box::new(reader), file, FORMAT, options)
}

/// The next eight bytes, fewer at the end.
fn word(stream: &mut Stream, file: &str) -> Result<Vec<u8>> {
    let mut word = Vec::new();
    let read = stream.by_ref().take(8).read_to_end(&mut word);
    read.map_err(|source| Error::Io { file: file.into(), source })?;
    Ok(word)
}

/// The record batches of a stream of messages.
struct Messages {
    stream: BufReader<Stream>,
    /// Bytes of the file as stored, 0 if unknown.
    size: u64,
    schema: SchemaRef,
    values: HashMap<i64, ArrayRef>,
    dictionaries: Dictionaries,
    meta: Vec<u8>,
}

type Decoded<T> = std::result::Result<T, ArrowError>;

impl Messages {
    /// Reads the schema, which comes first.
    fn open(mut stream: BufReader<Stream>, size: u64) -> Decoded<Self> {
        let mut meta = Vec::new();
        if !next_meta(&mut stream, &mut meta)? {
            return Err(damaged("it holds no schema"));
        }
        let message = parse(&meta)?;
        let schema = message.header_as_schema().ok_or_else(|| damaged("it has no schema first"))?;
        let schema = Arc::new(try_fb_to_schema(schema)?);
        next_body(&mut stream, check_body(&message, size)?)?;
        let (values, dictionaries) = Default::default();
        Ok(Self { stream, size, schema, values, dictionaries, meta })
    }

    /// The next record batch; dictionaries before it are kept.
    fn next_batch(&mut self) -> Decoded<Option<RecordBatch>> {
        while next_meta(&mut self.stream, &mut self.meta)? {
            let message = parse(&self.meta)?;
            let body = next_body(&mut self.stream, check_body(&message, self.size)?)?;
            let version = message.version();
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch();
                    let batch = batch.ok_or_else(|| damaged("a batch has no header"))?;
                    check_batch(&batch, &body)?;
                    let schema = self.schema.clone();
                    let decoded = read_record_batch(
                        &body.into(),
                        batch,
                        schema,
                        &self.values,
                        None,
                        &version,
                    )?;
                    return Ok(Some(decoded));
                }
                MessageHeader::DictionaryBatch => {
                    let dictionary = message.header_as_dictionary_batch();
                    let dictionary =
                        dictionary.ok_or_else(|| damaged("a dictionary has no header"))?;
                    self.dictionaries.check(&dictionary, &body)?;
                    read_dictionary(
                        &body.into(),
                        dictionary,
                        &self.schema,
                        &mut self.values,
                        &version,
                    )?;
                }
                _ => return Err(damaged("a message is neither a batch nor a dictionary")),
            }
        }
        Ok(None)
    }
}

impl Iterator for Messages {
    type Item = Decoded<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl RecordBatchReader for Messages {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Reads the header of the next message; false at the end, with or without its mark.
fn next_meta(stream: &mut impl Read, meta: &mut Vec<u8>) -> Decoded<bool> {
    let mut len = [0; 4];
    if let Err(error) = stream.read_exact(&mut len) {
        let at_end = error.kind() == std::io::ErrorKind::UnexpectedEof;
        return if at_end { Ok(false) } else { Err(error.into()) };
    }
    if len == CONTINUATION {
        stream.read_exact(&mut len)?;
    }
    match i32::from_le_bytes(len) {
        0 => Ok(false),
        len @ 1.. => {
            meta.clear();
            read_exactly(stream, len as u64, meta)?;
            Ok(true)
        }
        _ => Err(damaged("a message has a negative length")),
    }
}

fn next_body(stream: &mut impl Read, len: u64) -> Decoded<Vec<u8>> {
    let mut body = Vec::new();
    read_exactly(stream, len, &mut body)?;
    Ok(body)
}

/// Reads `len` bytes into memory that grows with the bytes that arrive.
fn read_exactly(stream: &mut impl Read, len: u64, into: &mut Vec<u8>) -> Decoded<()> {
    into.reserve_exact(len.min(MAX_RESERVED_BYTES) as usize);
    let read = stream.take(len).read_to_end(into)? as u64;
    if read < len {
        return Err(damaged(&format!("it ends {} bytes too early", len - read)));
    }
    Ok(())
}

fn parse(meta: &[u8]) -> Decoded<Message<'_>> {
    root_as_message(meta).map_err(|error| damaged(&format!("a message is damaged: {error}")))
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(what.into())
}
