//! Helpers of the tests of sparse rows: options, inputs, and rows as lists of entries.

use super::Reading;
use kalmia_data::{Block, EncoderOptions, FIRST_UNNAMED, Input, SparseBlock, WideRows};

/// Sparse rows, target `y`.
pub fn wide() -> EncoderOptions {
    EncoderOptions { wide: WideRows::Always, ..EncoderOptions::target("y") }
}

pub fn text_column() -> EncoderOptions {
    EncoderOptions { text: vec!["review".into()], ..wide() }
}

pub fn csv(text: impl AsRef<[u8]>) -> Vec<Input> {
    vec![Input::memory("t.csv", text.as_ref())]
}

pub fn svm(text: &str) -> Vec<Input> {
    vec![Input::memory("t.svm", text.as_bytes())]
}

/// One entry of a row: index and the bits of the value.
pub type Entries = Vec<(u32, f64)>;

pub fn sparse(block: &Block) -> &SparseBlock {
    let rows = block.sparse.as_ref().unwrap();
    assert!(block.x.is_empty() && block.row(0).is_empty());
    assert_eq!((rows.rows(), rows.starts.len()), (block.rows(), block.rows() + 1));
    assert_eq!(
        (rows.indices.len(), rows.values.len()),
        (rows.starts[rows.rows()], rows.indices.len())
    );
    rows
}

/// All rows of a reading, checked to ascend and to have no zero beyond the numbers.
pub fn rows(reading: &Reading) -> Vec<Entries> {
    let numbers = reading.encoder.number_features();
    let mut all = Vec::new();
    for block in &reading.blocks {
        let rows = sparse(block);
        for i in 0..rows.rows() {
            let row = rows.row(i);
            assert!(row.indices.is_sorted_by(|a, b| a < b), "{:?}", row.indices);
            assert!((0..numbers as u32).eq(row.indices[..numbers].iter().copied()));
            assert!(row.values[numbers..].iter().all(|&v| v != 0.0));
            assert!(row.values.iter().all(|v| v.is_finite()));
            all.push(row.indices.iter().copied().zip(row.values.iter().copied()).collect());
        }
    }
    all
}

/// The hashes of each row, without the intercept.
pub fn hashes(reading: &Reading) -> Vec<Vec<u32>> {
    let hashed =
        |row: Entries| row.into_iter().filter(|e| e.0 >= FIRST_UNNAMED).collect::<Vec<_>>();
    let unit = |entries: Entries| {
        assert!(entries.iter().all(|e| e.1 == 1.0));
        entries.into_iter().map(|e| e.0 - FIRST_UNNAMED).collect()
    };
    rows(reading).into_iter().map(hashed).map(unit).collect()
}

/// Rows with everything at once.
pub fn mixed(count: usize) -> String {
    let mut text = String::from("y,review,a,town\n");
    for i in 0..count {
        let review = ["Good plot, good cast", "NA", "bad plot", "ok"][i % 4];
        text += &format!("{},\"{review} no{}\",{}.5,t{}\n", i % 2, i % 13, i, i * i % 17);
    }
    text.replace("NA no1\"", "\"")
}
