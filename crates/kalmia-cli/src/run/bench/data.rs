//! Generated rows: a label that depends on nine numbers.

use crate::error::{Failure, Result};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Numbers a row, the label included.
const COLUMNS: usize = 10;

/// A folder that goes when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one in the system's place for temporaries.
    pub fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("kalmia-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(Failure::output(&path))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Rows from a 64-bit linear congruential generator.
pub struct Generator(u64);

impl Generator {
    /// The header of the CSV.
    pub const HEADER: &str = "x1,x2,x3,x4,x5,x6,x7,x8,x9,y\n";

    /// Always the same rows.
    pub fn new() -> Self {
        Self(1)
    }

    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nine numbers to six decimals, and a label that is 1 more often where their alternating sum
    /// is large.
    pub fn row(&mut self) -> [f64; COLUMNS] {
        let mut row = [0.0; COLUMNS];
        for value in &mut row[..COLUMNS - 1] {
            *value = ((self.uniform() - 0.5) * 2e6).round() / 1e6;
        }
        let score: f64 =
            row.iter().enumerate().map(|(i, v)| if i % 2 == 0 { *v } else { -v }).sum();
        row[COLUMNS - 1] = f64::from(score + 4.0 * (self.uniform() - 0.5) > 0.0);
        row
    }

    /// A line of the CSV.
    pub fn line(&mut self, out: &mut impl Write) -> io::Result<()> {
        write_line(out, &self.row())
    }
}

fn write_line(out: &mut impl Write, row: &[f64; COLUMNS]) -> io::Result<()> {
    row[..COLUMNS - 1].iter().try_for_each(|value| write!(out, "{value:.6},"))?;
    writeln!(out, "{}", row[COLUMNS - 1])
}

/// Writes rows as CSV until it has so many bytes, and the same rows as Parquet; how many rows.
pub fn write_both(csv: &Path, parquet: &Path, bytes: u64) -> Result<u64> {
    let mut text =
        BufWriter::with_capacity(1 << 20, File::create(csv).map_err(Failure::output(csv))?);
    text.write_all(Generator::HEADER.as_bytes()).map_err(Failure::output(csv))?;
    let mut writer: Option<ArrowWriter<File>> = None;
    let wrong = |error: parquet::errors::ParquetError| Failure::Output {
        path: parquet.into(),
        reason: io::Error::other(error),
    };
    let (mut generator, mut line, mut written, mut rows) = (Generator::new(), Vec::new(), 0, 0);
    let mut columns = vec![Vec::new(); COLUMNS];
    loop {
        let done = written >= bytes;
        if done || columns[0].len() == 65_536 {
            let names = Generator::HEADER.trim_end().split(',');
            let arrays = names.zip(&mut columns).map(|(name, v)| {
                (name, Arc::new(Float64Array::from(std::mem::take(v))) as ArrayRef)
            });
            let batch = RecordBatch::try_from_iter(arrays)
                .map_err(|error| Failure::Other(error.to_string()))?;
            let open = match &mut writer {
                Some(open) => open,
                None => {
                    let file = File::create(parquet).map_err(Failure::output(parquet))?;
                    writer.insert(ArrowWriter::try_new(file, batch.schema(), None).map_err(wrong)?)
                }
            };
            open.write(&batch).map_err(wrong)?;
        }
        if done {
            break;
        }
        let row = generator.row();
        line.clear();
        write_line(&mut line, &row)
            .and_then(|()| text.write_all(&line))
            .map_err(Failure::output(csv))?;
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        written += line.len() as u64;
        rows += 1;
    }
    text.flush().map_err(Failure::output(csv))?;
    if let Some(open) = writer {
        open.close().map_err(wrong)?;
    }
    Ok(rows)
}
