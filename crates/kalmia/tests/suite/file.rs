//! Tests of model files: exact round trips, deterministic bytes, refusal of everything else.

mod golden;
mod refused;
mod round_trip;

use kalmia::file::{Metadata, ModelFile};
use serde_json::json;

/// The bytes of the checksum: after the header's length and `{"__metadata__":{"checksum":"`.
const CHECKSUM: std::ops::Range<usize> = 37..45;

/// A small file with JSON, an array tensor and a scalar tensor.
fn small() -> Vec<u8> {
    let numbers: Vec<f64> = (0..17).map(|i| f64::from(i) / 3.0).collect();
    ModelFile::new("small", &(u64::MAX, "text", f64::INFINITY, numbers), metadata())
        .unwrap()
        .to_bytes()
}

fn metadata() -> Metadata {
    json!({"rows": 3, "files": ["a.csv"]}).as_object().unwrap().clone()
}

/// Gives changed bytes a valid checksum, by the rule of `docs/model-file.md`.
fn reseal(bytes: &mut [u8]) {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CHECKSUM.start]);
    crc.update(&bytes[CHECKSUM.end..]);
    bytes[CHECKSUM].copy_from_slice(format!("{:08x}", crc.finalize()).as_bytes());
}

/// Replaces text in the header, which must be there, with a new length and checksum.
fn edited(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replacen(from, to, 1);
    let mut edited = (header.len() as u64).to_le_bytes().to_vec();
    edited.extend(header.bytes());
    edited.extend(&bytes[8 + length..]);
    reseal(&mut edited);
    edited
}
