//! The text formats, as they are and compressed.

use std::io::Write;

use kalmia_data::Format;

use super::reading::read_all;
use super::table::{jsonl, separated};
use super::{Target, unchanged};
use crate::random::Random;

const CSV_WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r",
    b",",
    b";",
    b"\t",
    b"|",
    b"\"",
    b"\"\"",
    b"NA",
    b"NaN",
    b"inf",
    b"1e400",
    b"-0",
    b"1,5",
    b"true",
    b"2024-01-31",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
    b"y",
    b"x",
    b"#",
    b"5%",
    b"007",
    b"99999999999999999999",
    b"\xc3",
    b"?",
];

/// Comma-separated text.
pub const CSV: Target = Target {
    name: "csv",
    seeds: || vec![separated(40, ',', "\n"), separated(5, ',', "\r\n"), b"y,x\n1,2\n".to_vec()],
    words: CSV_WORDS,
    finish: unchanged,
    run: |bytes| read_all("t.csv", bytes, None),
};

/// Separated text in gzip and zstd, mutated before and after compression.
pub const STREAM: Target = Target {
    name: "stream",
    seeds: || vec![separated(40, '\t', "\n"), separated(9, '\t', "\r\n")],
    words: CSV_WORDS,
    finish: compressed,
    run: |bytes| read_all("t", bytes, Some(Format::Tsv)),
};

fn compressed(random: &mut Random, bytes: Vec<u8>) -> Vec<u8> {
    let mut packed = match random.below(3) {
        0 => bytes,
        1 => gzip(&bytes),
        _ => zstd::stream::encode_all(&bytes[..], 1).expect("memory takes all bytes"),
    };
    if random.once_in(4) {
        crate::mutate::mutate(random, &mut packed, &[], &[]);
    }
    packed
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all bytes")
}

/// One JSON object per line.
pub const JSONL: Target = Target {
    name: "jsonl",
    seeds: || vec![jsonl(40), b"{\"y\":1,\"x\":\"2\"}\n{\"y\":0}\n".to_vec()],
    words: &[
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b":",
        b",",
        b"null",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"true",
        b"1e999",
        b"\\u0000",
        b"\\ud800",
        b"\"y\"",
        b"\"x\":",
        b"\n",
        b"-0",
        b"{}",
        b"\"new\":1,",
        b"18446744073709551616",
    ],
    finish: unchanged,
    run: |bytes| read_all("t.jsonl", bytes, None),
};

/// Lines of `label index:value ...`.
pub const LIBSVM: Target = Target {
    name: "libsvm",
    seeds: || {
        let line = |i: usize| format!("{} 1:{}.5 {}:-2e-3 # row\n", i % 2, i, i + 2);
        vec![(0..30).map(line).collect::<String>().into_bytes(), b"+1 3:1\n-1\n".to_vec()]
    },
    words: &[
        b":",
        b" ",
        b"\n",
        b"1:1",
        b"0:0",
        b"4294967295:1",
        b"4294967296:1",
        b"qid:1",
        b"#",
        b"-1",
        b"1:inf",
        b"2:",
        b":2",
    ],
    finish: unchanged,
    run: |bytes| read_all("t.svm", bytes, Some(Format::Libsvm)),
};
