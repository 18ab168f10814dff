//! Generated rows: nine numbers and a label that depends on them.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Numbers per row, including the label.
const COLUMNS: usize = 10;

/// Rows per Parquet batch.
const BATCH_ROWS: usize = 65_536;

/// A folder below `target/tmp`, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates it.
    pub fn new() -> Self {
        let name = format!("bench-files-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("target/tmp can be written");
        Self(path)
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

/// Rows from a 64-bit linear congruential generator, the same in every run.
pub struct Generator(u64);

impl Generator {
    /// The first line of the CSV.
    pub const HEADER: &str = "x1,x2,x3,x4,x5,x6,x7,x8,x9,y\n";

    /// Starts at the first row.
    pub fn new() -> Self {
        Self(1)
    }

    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nine numbers with six decimals, and a label that is 1 more often when their alternating sum
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

    /// Writes the next row as a line of CSV.
    pub fn line(&mut self, out: &mut impl Write) -> io::Result<()> {
        write_line(out, &self.row())
    }
}

fn write_line(out: &mut impl Write, row: &[f64; COLUMNS]) -> io::Result<()> {
    row[..COLUMNS - 1].iter().try_for_each(|value| write!(out, "{value:.6},"))?;
    writeln!(out, "{}", row[COLUMNS - 1])
}

/// Columns as one Arrow batch; leaves them empty.
fn batch(columns: &mut [Vec<f64>]) -> RecordBatch {
    let names = Generator::HEADER.trim_end().split(',');
    let arrays = names.zip(columns).map(|(name, values)| {
        (name, Arc::new(Float64Array::from(std::mem::take(values))) as ArrayRef)
    });
    RecordBatch::try_from_iter(arrays).expect("columns of equal length")
}

/// Writes rows as CSV until the file has at least `bytes` bytes, and the same rows as Parquet.
/// Returns the number of rows.
pub fn write_both(csv: &Path, parquet: &Path, bytes: u64) -> u64 {
    let file = File::create(csv).expect("the folder can be written");
    let mut text = BufWriter::with_capacity(1 << 20, file);
    text.write_all(Generator::HEADER.as_bytes()).expect("room for the CSV");
    let mut columns = vec![Vec::new(); COLUMNS];
    let file = File::create(parquet).expect("the folder can be written");
    let mut table = ArrowWriter::try_new(file, batch(&mut columns).schema(), None)
        .expect("a schema of plain numbers");
    let mut generator = Generator::new();
    let mut line = Vec::new();
    let mut written = 0;
    let mut rows = 0;
    while written < bytes {
        let row = generator.row();
        line.clear();
        write_line(&mut line, &row).and_then(|()| text.write_all(&line)).expect("room for the CSV");
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        written += line.len() as u64;
        rows += 1;
        if columns[0].len() == BATCH_ROWS {
            table.write(&batch(&mut columns)).expect("room for the Parquet file");
        }
    }
    text.flush().expect("room for the CSV");
    table.write(&batch(&mut columns)).expect("room for the Parquet file");
    table.close().expect("room for the Parquet file");
    rows
}
