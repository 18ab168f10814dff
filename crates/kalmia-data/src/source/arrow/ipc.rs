//! Opens Arrow IPC as a stream of record batches: the file format is that stream between a magic
//! word and a footer that is not needed.

use std::io::{BufReader, Cursor, Read};

use arrow_ipc::reader::StreamReader;

use super::{Batches, guard};
use crate::error::{Error, Result};
use crate::options::SourceOptions;

const MAGIC: &[u8] = b"ARROW1\0\0";
const FORMAT: &str = "Arrow IPC";
/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;

type Stream = Box<dyn Read + Send>;

pub(in crate::source) fn open_ipc(
    mut stream: Stream,
    file: &str,
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
    let reader = guard(file, FORMAT, || StreamReader::try_new(stream, None))?;
    Batches::open(Box::new(reader), file, FORMAT, options)
}

/// The next eight bytes, fewer at the end.
fn word(stream: &mut Stream, file: &str) -> Result<Vec<u8>> {
    let mut word = Vec::new();
    let read = stream.by_ref().take(8).read_to_end(&mut word);
    read.map_err(|source| Error::Io { file: file.into(), source })?;
    Ok(word)
}
