//! Rows of requests and logs: JSON documents, and tables as bytes.

use std::sync::OnceLock;

use kalmia_data::{
    Block, Encoder, EncoderOptions, Input, Missing, Mode, Reader, Result, SourceOptions, Table,
    json_lines,
};

use super::reading::GOOD;
use super::table::{jsonl, separated};
use super::{Target, outcome, unchanged};

/// Rows that a table may have.
const MAX_ROWS: usize = 1000;

/// Bodies of requests: an array of objects, or one object.
pub const JSON: Target = Target {
    name: "json",
    seeds: || {
        let lines = String::from_utf8(jsonl(12)).expect("a text");
        let rows: Vec<&str> = lines.lines().collect();
        let pretty = rows.join(" ,\r\n  ").replace(":", " :\n\t");
        let compact = format!("[{}]", rows.join(","));
        vec![format!("[\n {pretty}\n]\n").into(), compact.into(), rows[0].into(), lines.into()]
    },
    words: &[
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"\"",
        b"\\",
        b"\\\"",
        b"\n",
        b"\r",
        b":",
        b"null",
        b"NaN",
        b"\"id\":1,",
        b"\"y\":",
        b"1e999",
        b"\\ud800",
        b"[{}]",
        b"],[",
        b"},{",
        b"\xef\xbb\xbf",
    ],
    finish: unchanged,
    run: |bytes| told(read_body(bytes)),
};

/// Tables as bytes, dense and sparse.
pub const TABLE: Target = Target {
    name: "table",
    seeds: || {
        let csv = separated(9, ',', "\n");
        let encoders = encoders();
        let rows = |encoder: &Encoder, name: &str, bytes: &[u8], mode| {
            let input = Input::memory(name, bytes);
            let schema = encoder.table_schema();
            let table = Table::read(input, &SourceOptions::default(), &schema, mode, MAX_ROWS);
            table.expect("seeds are good").to_bytes()
        };
        vec![
            rows(&encoders[0], "t.csv", &csv, Mode::Learn),
            rows(&encoders[0], "t.csv", b"x,town,flag\n1,Ulm,true\n", Mode::Predict),
            rows(&encoders[1], "t.svm", SVM, Mode::Learn),
        ]
    },
    words: &[b"\x01\0", b"\xff\xff\xff\xff\x0f", b"\x80", b"\0\0\0\0\0\0\xf8\x7f", b"\x01\x03"],
    finish: unchanged,
    run: |bytes| {
        let [dense, sparse] = encoders();
        told(decode(dense, bytes).or_else(|error| decode(sparse, bytes).map_err(|_| error)))
    },
};

const SVM: &[u8] = b"1 1:1 5:2\n0\n1 2:-3\n0 7:1 4294967295:2\n";

/// What happened, as a number.
fn told(read: Result<()>) -> u64 {
    match read {
        Ok(()) => outcome(GOOD),
        Err(error) => outcome(&error.to_string()),
    }
}

/// An encoder of the seeds' columns, and one of libsvm.
fn encoders() -> &'static [Encoder; 2] {
    static ENCODERS: OnceLock<[Encoder; 2]> = OnceLock::new();
    ENCODERS.get_or_init(|| {
        let settled = |name: &str, bytes: &[u8], target: Option<&str>| {
            let options = EncoderOptions {
                target: target.map(String::from),
                missing: Missing::Mean,
                max_features: 64,
                ..EncoderOptions::default()
            };
            let mut encoder = Encoder::new(options);
            let input = vec![Input::memory(name, bytes)];
            let source = SourceOptions { threaded: false, ..SourceOptions::default() };
            let mut reader =
                Reader::open(input, source, &mut encoder, Mode::Learn).expect("seeds are good");
            reader.next_block(&mut encoder, &mut Block::new()).expect("seeds are good");
            encoder
        };
        let csv = separated(40, ',', "\n");
        [settled("t.csv", &csv, Some("y")), settled("t.svm", SVM, None)]
    })
}

fn read_body(bytes: &[u8]) -> Result<()> {
    let mut body = bytes.to_vec();
    json_lines("body", &mut body)?;
    let encoder = &encoders()[0];
    let schema = encoder.table_schema().with_key("id");
    let input = Input::memory("body.jsonl", body);
    let table = Table::read(input, &SourceOptions::default(), &schema, Mode::Learn, MAX_ROWS)?;
    assert!((1..=MAX_ROWS).contains(&table.rows()), "rows are bounded");
    assert!((0..table.rows()).all(|i| table.key(i) != Some("")), "a key is not empty");
    check(encoder, &table)
}

fn decode(encoder: &Encoder, bytes: &[u8]) -> Result<()> {
    let table = Table::from_bytes(bytes, &encoder.table_schema(), "log")?;
    check(encoder, &table)
}

/// What must hold of a table that was accepted.
fn check(encoder: &Encoder, table: &Table) -> Result<()> {
    let bytes = table.to_bytes();
    let again = Table::from_bytes(&bytes, table.schema(), "log")?;
    assert_eq!(again.to_bytes(), bytes, "bytes come back");
    let half = table.rows() / 2;
    let mut sum = table.slice(0..half);
    sum.append(&table.slice(half..table.rows()))?;
    assert_eq!(sum.to_bytes(), bytes, "halves are the whole");
    let mut block = Block::new();
    encoder.encode_for_prediction(table, &mut block)?;
    assert!(block.x.iter().all(|x| x.is_finite()), "features are finite");
    let mut learning = encoder.clone();
    let mark = learning.mark();
    let learned = learning.encode_table(table, &mut block);
    learning.undo(mark);
    assert_eq!(learning, *encoder, "rows are taken back");
    learned
}
