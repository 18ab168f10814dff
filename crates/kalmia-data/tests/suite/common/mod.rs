//! Small helpers that the tests share: reading everything, and tables written in every format.
#![allow(dead_code)]

pub mod sparse;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};

use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, Result, SourceOptions};

/// A fixed seed makes every run the same.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(count)
    }
}

/// All blocks of a reading, and the encoder after it.
#[derive(Debug)]
pub struct Reading {
    pub blocks: Vec<Block>,
    pub encoder: Encoder,
}

impl Reading {
    pub fn names(&self) -> Vec<&str> {
        self.encoder.features().iter().map(|f| &*f.name).collect()
    }

    /// All rows, with the zeros that features of later blocks stand for.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        let padded = |block: &Block, i| {
            let mut row = block.row(i).to_vec();
            row.resize(self.encoder.dim(), 0.0);
            row
        };
        self.blocks.iter().flat_map(|b| (0..b.rows()).map(move |i| padded(b, i))).collect()
    }

    pub fn y(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(|b| b.y.iter().copied()).collect()
    }
}

/// Reads everything that is left.
pub fn drain(mut reader: Reader, mut encoder: Encoder) -> Result<Reading> {
    let mut blocks = Vec::new();
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block)? {
        blocks.push(block.clone());
    }
    Ok(Reading { blocks, encoder })
}

/// Reads everything with this encoder.
pub fn read_with(
    inputs: Vec<Input>,
    source: SourceOptions,
    mut encoder: Encoder,
    mode: Mode,
) -> Result<Reading> {
    let reader = Reader::open(inputs, source, &mut encoder, mode)?;
    drain(reader, encoder)
}

pub fn read(inputs: Vec<Input>, source: SourceOptions, encoder: EncoderOptions) -> Result<Reading> {
    read_with(inputs, source, Encoder::new(encoder), Mode::Learn)
}

/// Reads a CSV text with target `y` in blocks of four rows.
pub fn csv(text: &str, encoder: EncoderOptions) -> Result<Reading> {
    read(vec![Input::memory("t.csv", text.as_bytes())], blocks_of(4), encoder)
}

pub fn blocks_of(block_rows: usize) -> SourceOptions {
    SourceOptions { block_rows, ..SourceOptions::default() }
}

/// The bits of every number of every block: equal means identical.
pub fn bits(reading: &Reading) -> Vec<(usize, Vec<u64>)> {
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let all = |b: &Block| {
        [
            bits(&b.x),
            bits(&b.y),
            bits(b.weight.as_deref().unwrap_or(&[])),
            bits(b.offset.as_deref().unwrap_or(&[])),
        ]
        .concat()
    };
    reading.blocks.iter().map(|b| (b.dim, all(b))).collect()
}

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Missing,
    Number(f64),
    Truth(bool),
    Text(String),
}

/// A table whose columns have one type each.
#[derive(Debug, Clone)]
pub struct Table {
    pub names: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// As separated text; `quote_all` quotes what needs no quotes too.
    pub fn separated(&self, delimiter: char, quote_all: bool, newline: &str) -> Vec<u8> {
        let quoted = |text: &str| {
            if quote_all || text.contains([delimiter, '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let field = |cell: &Cell| match cell {
            // Quoted, since a line with nothing on it is no row.
            Cell::Missing => if quote_all { "\"\"" } else { "NA" }.to_owned(),
            Cell::Number(v) => quoted(&v.to_string()),
            Cell::Truth(v) => quoted(&v.to_string()),
            Cell::Text(v) => quoted(v),
        };
        let line = |fields: Vec<String>| fields.join(&delimiter.to_string()) + newline;
        let mut out = line(self.names.iter().map(|n| quoted(n)).collect());
        self.rows.iter().for_each(|row| out += &line(row.iter().map(field).collect()));
        out.into_bytes()
    }

    pub fn jsonl(&self) -> Vec<u8> {
        let value = |cell: &Cell| match cell {
            Cell::Missing => serde_json::Value::Null,
            Cell::Number(v) => (*v).into(),
            Cell::Truth(v) => (*v).into(),
            Cell::Text(v) => v.clone().into(),
        };
        let mut out = Vec::new();
        for row in &self.rows {
            // Written by hand, because members must keep their order.
            let members = self
                .names
                .iter()
                .zip(row)
                .map(|(n, cell)| format!("{}:{}", serde_json::json!(n), value(cell)));
            out.extend_from_slice(
                format!("{{{}}}\n", members.collect::<Vec<_>>().join(",")).as_bytes(),
            );
        }
        out
    }

    #[cfg(feature = "arrow")]
    pub fn record_batch(&self) -> arrow_array::RecordBatch {
        use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray};
        use std::sync::Arc;
        let column = |i: usize| -> ArrayRef {
            let cells = || self.rows.iter().map(|row| &row[i]);
            match cells().find(|cell| **cell != Cell::Missing) {
                Some(Cell::Truth(_)) => Arc::new(
                    cells()
                        .map(|c| if let Cell::Truth(v) = c { Some(*v) } else { None })
                        .collect::<BooleanArray>(),
                ),
                Some(Cell::Text(_)) => Arc::new(
                    cells()
                        .map(|c| if let Cell::Text(v) = c { Some(v) } else { None })
                        .collect::<StringArray>(),
                ),
                _ => Arc::new(
                    cells()
                        .map(|c| if let Cell::Number(v) = c { Some(*v) } else { None })
                        .collect::<Float64Array>(),
                ),
            }
        };
        let columns = self.names.iter().enumerate().map(|(i, name)| (name, column(i), true));
        arrow_array::RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[cfg(feature = "columnar")]
    pub fn parquet(&self, group_rows: usize) -> Vec<u8> {
        let batch = self.record_batch();
        let mut out = Vec::new();
        let properties = parquet::file::properties::WriterProperties::builder()
            .set_max_row_group_row_count(Some(group_rows))
            .build();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut out, batch.schema(), Some(properties))
                .unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        out
    }

    #[cfg(feature = "columnar")]
    pub fn ipc(&self, file: bool) -> Vec<u8> {
        let batch = self.record_batch();
        let half = batch.num_rows() / 2;
        let mut out = Vec::new();
        let parts = [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
        if file {
            let mut writer =
                arrow_ipc::writer::FileWriter::try_new(&mut out, &batch.schema()).unwrap();
            parts.iter().for_each(|part| writer.write(part).unwrap());
            writer.finish().unwrap();
        } else {
            let mut writer =
                arrow_ipc::writer::StreamWriter::try_new(&mut out, &batch.schema()).unwrap();
            parts.iter().for_each(|part| writer.write(part).unwrap());
            writer.finish().unwrap();
        }
        out
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}
