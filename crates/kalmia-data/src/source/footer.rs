//! Checks the counts that the footer of a Parquet file declares, because its decoder reserves
//! memory for as many elements.
//!
//! The footer is a tree in Thrift's compact protocol. A list cannot have more elements than bytes
//! are left, and a node of the schema not more children than the schema has elements. Fields must
//! have the types that the format gives them: the decoder reads some without a look at their type,
//! and would see other counts than these checks.

use std::io::{Read, Seek, SeekFrom};

use crate::error::{Error, Result};
use crate::input::Seekable;

/// Length and magic word at the end of the file.
const TAIL_BYTES: usize = 8;
const MAGIC: &[u8] = b"PAR1";
/// Structures inside of each other; those of Parquet are far fewer.
const MAX_DEPTH: usize = 32;

/// The fields of the footer and of a schema's element that are looked at.
const SCHEMA_FIELD: i64 = 2;
const CHILDREN_FIELD: i64 = 5;
/// Types of Thrift's compact protocol.
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// The types of the fields from 1 on.
const FOOTER_TYPES: [u8; 9] = [I32, LIST, I64, LIST, LIST, BINARY, LIST, STRUCT, BINARY];
const SCHEMA_TYPES: [u8; 10] = [I32, I32, I32, BINARY, I32, I32, I32, I32, I32, STRUCT];
const ROW_GROUP_TYPES: [u8; 7] = [LIST, I64, I64, LIST, I64, I64, I16];
const COLUMN_TYPES: [u8; 9] = [BINARY, I64, STRUCT, I64, I32, I64, I32, STRUCT, BINARY];
const CHUNK_TYPES: [u8; 17] = [
    I32, LIST, LIST, I32, I64, I64, I64, LIST, I64, I64, I64, STRUCT, LIST, I64, I32, STRUCT,
    STRUCT,
];

/// Refuses a footer whose counts cannot be true. Files that do not end as Parquet does are left to
/// the decoder.
pub(super) fn check(input: &mut Seekable, file: &str) -> Result<()> {
    let footer = match input {
        Seekable::File(f) => {
            of_file(f).map_err(|source| Error::Io { file: file.into(), source })?
        }
        Seekable::Memory(bytes) => of_memory(bytes).map(<[u8]>::to_vec),
    };
    let Some(footer) = footer else { return Ok(()) };
    let mut walk = Walk { rest: &footer };
    walk.structure(Place::Footer, 0).ok_or_else(|| Error::Corrupt {
        file: file.into(),
        format: "Parquet",
        reason: "its footer is damaged".into(),
    })
}

fn of_memory(bytes: &[u8]) -> Option<&[u8]> {
    let (rest, tail) = bytes.split_last_chunk::<TAIL_BYTES>()?;
    rest.get(rest.len().checked_sub(length(tail)?)?..)
}

fn of_file(file: &mut std::fs::File) -> std::io::Result<Option<Vec<u8>>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut tail = [0; TAIL_BYTES];
    let Some(end) = size.checked_sub(TAIL_BYTES as u64) else { return Ok(None) };
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut tail)?;
    let Some(start) = length(&tail).and_then(|len| end.checked_sub(len as u64)) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    file.take(end - start).read_to_end(&mut footer)?;
    Ok(Some(footer))
}

/// The length of the footer before this tail.
fn length(tail: &[u8; TAIL_BYTES]) -> Option<usize> {
    let (len, magic) = tail.split_at(4);
    (magic == MAGIC).then(|| u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize)
}

/// Where in the tree a structure stands.
#[derive(Clone, Copy)]
enum Place {
    Footer,
    /// An element of a schema of so many.
    Schema(u64),
    RowGroup,
    /// A column of a row group, and the metadata in it.
    Column,
    Chunk,
    Elsewhere,
}

impl Place {
    /// Whether a field has the type that the format gives it. Unknown fields may have any.
    fn allows(self, field: i64, kind: u8) -> bool {
        let types: &[u8] = match self {
            Self::Footer => &FOOTER_TYPES,
            Self::Schema(_) => &SCHEMA_TYPES,
            Self::RowGroup => &ROW_GROUP_TYPES,
            Self::Column => &COLUMN_TYPES,
            Self::Chunk => &CHUNK_TYPES,
            Self::Elsewhere => &[],
        };
        let known = usize::try_from(field - 1).ok().and_then(|i| types.get(i));
        known.is_none_or(|&expected| expected == kind)
    }

    /// The place of a structure, or of the structures of a list, in a field.
    fn inside(self, field: i64, count: u64) -> Self {
        match (self, field) {
            (Self::Footer, SCHEMA_FIELD) => Self::Schema(count),
            (Self::Footer, 4) => Self::RowGroup,
            (Self::RowGroup, 1) => Self::Column,
            (Self::Column, 3) => Self::Chunk,
            _ => Self::Elsewhere,
        }
    }
}

/// The bytes that are left. Every step returns `None` if they cannot be what they declare.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn structure(&mut self, place: Place, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                delta => field.checked_add(i64::from(delta))?,
            };
            let kind = head & 15;
            if !(1..=i64::from(i16::MAX)).contains(&field) || !place.allows(field, kind) {
                return None;
            }
            match (place, field, kind) {
                (Place::Schema(elements), CHILDREN_FIELD, _) => {
                    let children = self.signed()?;
                    if children < 0 || children as u64 > elements {
                        return None;
                    }
                }
                // The value of a truth value is its type.
                (_, _, 1 | 2) => {}
                _ => self.value(kind, depth, (place, field))?,
            }
        }
    }

    /// Passes over a value of this type in a field of a place.
    fn value(&mut self, kind: u8, depth: usize, at: (Place, i64)) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip(8),
            8 => {
                let len = self.unsigned()?;
                self.skip(len)
            }
            LIST | 10 => self.list(depth, at),
            11 => self.map(depth),
            STRUCT => self.structure(at.0.inside(at.1, 0), depth + 1),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize, (place, field): (Place, i64)) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.unsigned()?,
            count => u64::from(count),
        };
        if count > self.rest.len() as u64 {
            return None;
        }
        let inside = place.inside(field, count);
        let is_structure = head & 15 == STRUCT;
        if !is_structure && !matches!(inside, Place::Elsewhere) {
            return None;
        }
        for _ in 0..count {
            if is_structure {
                self.structure(inside, depth + 1)?;
            } else {
                self.value(head & 15, depth + 1, (Place::Elsewhere, 0))?;
            }
        }
        Some(())
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        let count = self.unsigned()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        if count > self.rest.len() as u64 || depth > MAX_DEPTH {
            return None;
        }
        for _ in 0..count {
            self.value(kinds >> 4, depth + 1, (Place::Elsewhere, 0))?;
            self.value(kinds & 15, depth + 1, (Place::Elsewhere, 0))?;
        }
        Some(())
    }
}
