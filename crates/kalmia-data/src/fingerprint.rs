//! Size and hash of a file: a reading resumes only on the same bytes.

use std::io::{Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};

use crate::error::Change;

/// The bytes that a fingerprint hashes at each end.
const HASHED: u64 = 64 << 10;

/// What a file looked like, to detect a changed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The name the file was given by.
    pub name: String,
    /// Size and hash; `None` for standard input and record batches.
    pub content: Option<Content>,
}

/// Size and hash of a file. It guards against mistakes, not against forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Content {
    /// Size in bytes.
    pub bytes: u64,
    /// FNV-1a hash of the first and last 64 KiB.
    pub hash: u64,
}

impl From<(u64, u64)> for Content {
    fn from((bytes, hash): (u64, u64)) -> Self {
        Self { bytes, hash }
    }
}

impl From<Content> for (u64, u64) {
    fn from(content: Content) -> Self {
        (content.bytes, content.hash)
    }
}

impl Content {
    /// The content of a part of the file: a part that begins or ends elsewhere is another.
    pub(crate) fn of_part(self, start: u64, bytes: u64) -> Self {
        let ends = [start.to_le_bytes(), bytes.to_le_bytes()].concat();
        Self { hash: hashed(self.hash, &ends), ..self }
    }
}

impl Fingerprint {
    /// How this input differs from what it was `then`.
    pub(crate) fn change_since(&self, then: &Self) -> Option<Change> {
        if self.name != then.name {
            return Some(Change::Name);
        }
        match (then.content, self.content) {
            (Some(then), Some(now)) if then.bytes != now.bytes => {
                Some(Change::Size { then: then.bytes, now: now.bytes })
            }
            (then, now) => (then != now).then_some(Change::Content),
        }
    }
}

/// Hashes a file of `size` bytes.
pub(crate) fn content_of(file: &mut (impl Read + Seek), size: u64) -> std::io::Result<Content> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for start in [0, size.saturating_sub(HASHED)] {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(HASHED).read_to_end(&mut bytes)?;
        hash = hashed(hash, &bytes);
    }
    Ok(Content { bytes: size, hash })
}

/// The FNV-1a hash of what was hashed before and these bytes.
fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
