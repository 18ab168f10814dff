//! The bytes of a model file: safetensors, with a checksum of all the rest at the header's start.
//!
//! The `safetensors` crate is not used: its metadata is a hash map, so the bytes change from run to
//! run, and its reader adds up sizes unchecked.

use super::split::MAX_DEPTH;
use super::{FORMAT, ModelFile, Problem, Tensor, Tensors};
use crate::covariance::packed::{NumberType, Packed};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The header entry in which safetensors keeps texts by name.
pub(super) const METADATA: &str = "__metadata__";

/// How every header starts. `checksum` comes first in the alphabet among our names, so a writer in
/// another language that sorts its keys puts it here too.
const START: &[u8] = br#"{"__metadata__":{"checksum":""#;
/// Bytes of the number that gives the header's length.
const LENGTH: usize = 8;
/// The bytes of the checksum, eight hexadecimal digits.
const CHECKSUM: std::ops::Range<usize> = LENGTH + START.len()..LENGTH + START.len() + 8;
/// Bytes that suffice to recognize a model.
pub(super) const HEAD: usize = LENGTH + START.len();
/// Bytes of the longest header that readers of safetensors accept.
const MAX_HEADER: usize = 100_000_000;

/// Whether a file that starts with these bytes can be a model; [`HEAD`] bytes are needed.
pub(super) fn starts_as_model(bytes: &[u8]) -> bool {
    bytes.get(LENGTH..HEAD) == Some(START)
}

/// Refuses a model whose header is too long for readers of safetensors.
pub(super) fn check_header(file: &ModelFile) -> Result<(), Problem> {
    let length = header(file).len();
    if length <= MAX_HEADER {
        return Ok(());
    }
    let message = format!("text and short arrays take {length} bytes of at most {MAX_HEADER}");
    Err(Problem::Unstorable { at: "state".into(), message })
}

/// The header with a checksum of zeros, padded to align the numbers at a multiple of 8 bytes.
fn header(file: &ModelFile) -> Vec<u8> {
    let texts = BTreeMap::from([
        ("checksum", "00000000".to_owned()),
        ("format", FORMAT.to_string()),
        ("kind", file.kind.clone()),
        ("metadata", Value::Object(file.metadata.clone()).to_string()),
        ("state", file.state.to_string()),
        ("version", file.version.clone()),
    ]);
    let mut text = format!("{{\"{METADATA}\":{}", json!(texts));
    let mut start = 0;
    for (name, tensor) in &file.tensors {
        let (end, kind, shape) = match tensor {
            Tensor::Scalar(_) => (start + 8, NumberType::F64, vec![]),
            Tensor::Array(kind, bytes) => {
                (start + bytes.len(), *kind, vec![bytes.len() / kind.size()])
            }
        };
        let info = json!({"data_offsets": [start, end], "dtype": kind.name(), "shape": shape});
        text += &format!(",{}:{info}", json!(name));
        start = end;
    }
    text.push('}');
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(8), b' ');
    bytes
}

/// Writes all bytes, after a first pass for the checksum.
pub(super) fn encode(file: &ModelFile, sink: &mut dyn Write) -> io::Result<()> {
    let header = header(file);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CHECKSUM.start]);
    crc.update(&bytes[CHECKSUM.end..]);
    for tensor in file.tensors.values() {
        tensor.with_bytes(|bytes| crc.update(bytes));
    }
    bytes[CHECKSUM].copy_from_slice(format!("{:08x}", crc.finalize()).as_bytes());
    sink.write_all(&bytes)?;
    file.tensors.values().try_for_each(|tensor| tensor.with_bytes(|bytes| sink.write_all(bytes)))
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    texts: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Info>,
}

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Header {
    fn text(&self, name: &str) -> Result<&str, Problem> {
        let text = self.texts.get(name).map(String::as_str);
        text.ok_or_else(|| Problem::Header(format!("`{METADATA}` has no `{name}`")))
    }

    fn json(&self, name: &str) -> Result<Value, Problem> {
        serde_json::from_str(self.text(name)?)
            .map_err(|error| Problem::Header(format!("`{name}`: {error}")))
    }

    /// Bytes of the data. The tensors must cover them without gap or overlap, in every format.
    fn data_len(&self) -> Result<u64, Problem> {
        let mut extents: Vec<_> =
            self.tensors.iter().map(|(name, info)| (info.data_offsets, name)).collect();
        extents.sort();
        extents.iter().try_fold(0, |end, ((from, to), name)| {
            if *from == end && to >= from {
                Ok(*to)
            } else {
                Err(Problem::Header(format!("tensor `{name}` is out of place")))
            }
        })
    }
}

/// Checks and reads all bytes. The length and the checksum are checked before the format: damage is
/// then never reported as a newer version.
pub(super) fn decode(bytes: &[u8]) -> Result<ModelFile, Problem> {
    let found = bytes.len() as u64;
    if !starts_as_model(bytes) {
        return Err(if is_cut_head(bytes) {
            Problem::Truncated { expected: HEAD as u64, found }
        } else {
            Problem::NotAModel
        });
    }
    let (length, rest) = bytes.split_at(LENGTH);
    let length = u64::from_le_bytes(length.try_into().expect("8 bytes"));
    let end = length.saturating_add(LENGTH as u64);
    if end < CHECKSUM.end as u64 {
        return Err(Problem::Header(format!("its length is given as {length} bytes")));
    }
    if end > found {
        return Err(Problem::Truncated { expected: end, found });
    }
    // fits a usize because it is at most the number of bytes
    let (head, data) = rest.split_at(length as usize);
    let header: Header =
        serde_json::from_slice(head).map_err(|error| Problem::Header(error.to_string()))?;
    let expected = end.saturating_add(header.data_len()?);
    match found.cmp(&expected) {
        std::cmp::Ordering::Less => return Err(Problem::Truncated { expected, found }),
        std::cmp::Ordering::Greater => return Err(Problem::Trailing { extra: found - expected }),
        std::cmp::Ordering::Equal => check_sum(bytes)?,
    }
    check_format(&header)?;
    let metadata = match header.json("metadata")? {
        Value::Object(entries) => entries,
        _ => return Err(Problem::Header("`metadata` is not a JSON object".into())),
    };
    Ok(ModelFile {
        kind: header.text("kind")?.into(),
        version: header.text("version")?.into(),
        metadata,
        state: header.json("state")?,
        tensors: tensors(&header, data)?,
    })
}

/// Whether this is the start of a model, cut before [`HEAD`]. An empty file counts: a full disk
/// leaves such files.
fn is_cut_head(bytes: &[u8]) -> bool {
    bytes.len() < HEAD && START.starts_with(bytes.get(LENGTH..).unwrap_or_default())
}

fn check_sum(bytes: &[u8]) -> Result<(), Problem> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CHECKSUM.start]);
    crc.update(&bytes[CHECKSUM.end..]);
    let found = format!("{:08x}", crc.finalize());
    let stored = &bytes[CHECKSUM];
    if stored == found.as_bytes() {
        return Ok(());
    }
    Err(Problem::Checksum { expected: String::from_utf8_lossy(stored).into(), found })
}

fn check_format(header: &Header) -> Result<(), Problem> {
    let text = header.text("format")?;
    let found = text
        .parse()
        .map_err(|_| Problem::Header(format!("`format` is `{text}`, not a whole number")))?;
    match found {
        FORMAT => Ok(()),
        0 => Err(Problem::Header("`format` is 0, which never was".into())),
        _ => {
            let version = header.text("version").unwrap_or("unknown").into();
            Err(Problem::Newer { found, supported: FORMAT, version })
        }
    }
}

fn tensors(header: &Header, data: &[u8]) -> Result<Tensors, Problem> {
    let read = |(name, info): (&String, &Info)| {
        // in bounds and in order, as `Header::data_len` checked
        let bytes = &data[info.data_offsets.0 as usize..info.data_offsets.1 as usize];
        let len = bytes.len() as u64;
        let kind = NumberType::ALL.into_iter().find(|kind| kind.name() == info.dtype);
        let tensor = match (kind, info.shape.as_slice(), len) {
            (Some(kind), [count], _) if count.checked_mul(kind.size() as u64) == Some(len) => {
                Tensor::Array(kind, bytes.to_vec())
            }
            (Some(NumberType::F64), [], 8) => Tensor::Scalar(f64::from_bytes(bytes)),
            (_, shape, _) => {
                let dtype = &info.dtype;
                return Err(Problem::Header(format!(
                    "tensor `{name}` is {dtype} of shape {shape:?} in {len} bytes"
                )));
            }
        };
        Ok((name.clone(), tensor))
    };
    header.tensors.iter().map(read).collect()
}

// `serde_json` reads back what is nested no deeper than this
const _: () = assert!(MAX_DEPTH < 128);
