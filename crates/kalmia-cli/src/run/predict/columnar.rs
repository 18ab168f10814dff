//! Predictions as Parquet and Arrow: batches are built in memory, then written.

use super::sink::Cells;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use kalmia_data::{MISSING, TextKind};
use parquet::arrow::ArrowWriter;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a batch.
const BATCH: usize = 65_536;

/// A kept column.
pub enum Kept {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
}

impl Kept {
    /// An empty column.
    pub fn new(kind: &TextKind) -> Self {
        match kind {
            TextKind::Text => Self::Text(StringBuilder::new()),
            TextKind::Integer => Self::Integer(Int64Builder::new()),
            TextKind::Number => Self::Number(Float64Builder::new()),
        }
    }

    /// Adds a value; a missing number is null.
    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(text);
        let word = Some(text.trim()).filter(|word| !MISSING.contains(word));
        let strange = |_| {
            io::Error::other(format!(
                "`{}` in a kept column whose values so far were numbers",
                text.trim()
            ))
        };
        match self {
            Self::Text(column) => column.append_value(&text),
            Self::Integer(column) => {
                column.append_option(word.map(str::parse).transpose().map_err(|_| strange(()))?)
            }
            Self::Number(column) => column
                .append_option(word.map(fast_float2::parse).transpose().map_err(|_| strange(()))?),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Integer(column) => Arc::new(column.finish()),
            Self::Number(column) => Arc::new(column.finish()),
        }
    }
}

/// The file, once its first batch shows the schema.
enum Writer<'a> {
    Waiting { out: Box<dyn Write + 'a>, arrow: bool },
    Parquet { out: Box<dyn Write + 'a>, writer: Box<ArrowWriter<Vec<u8>>> },
    Arrow(Box<FileWriter<Box<dyn Write + 'a>>>),
    Failed,
}

/// A Parquet or Arrow file.
pub struct Columnar<'a> {
    writer: Writer<'a>,
    names: Vec<String>,
    kept: Vec<Kept>,
    numbers: Vec<Float64Builder>,
    label: Option<StringBuilder>,
    rows: usize,
}

impl<'a> Columnar<'a> {
    /// An Arrow file, else a Parquet file.
    pub fn new(out: Box<dyn Write + 'a>, arrow: bool) -> Self {
        Self {
            writer: Writer::Waiting { out, arrow },
            names: Vec::new(),
            kept: Vec::new(),
            numbers: Vec::new(),
            label: None,
            rows: 0,
        }
    }

    /// Sets the columns.
    pub fn head(&mut self, names: Vec<String>, kept: Vec<Kept>, numbers: usize, label: bool) {
        self.names = names;
        self.kept = kept;
        self.numbers.resize_with(numbers, Float64Builder::new);
        self.label = label.then(StringBuilder::new);
    }

    /// One row; without a prediction its fields are null.
    pub fn row<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t [u8]>,
        cells: Option<Cells<'_>>,
    ) -> io::Result<()> {
        self.kept.iter_mut().zip(texts).try_for_each(|(column, text)| column.push(text))?;
        match &cells {
            None => self.numbers.iter_mut().for_each(Float64Builder::append_null),
            Some(cells) => self
                .numbers
                .iter_mut()
                .zip(cells.numbers)
                .for_each(|(column, &value)| column.append_value(value)),
        }
        if let Some(column) = &mut self.label {
            column.append_option(cells.and_then(|cells| cells.label));
        }
        self.rows += 1;
        if self.rows >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.rows = 0;
        let kept = self.kept.iter_mut().map(Kept::finish);
        let numbers = self.numbers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let label = self.label.as_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let arrays: Vec<ArrayRef> = kept.chain(numbers).chain(label).collect();
        let columns = self.names.iter().zip(arrays).map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(io::Error::other)?;
        self.writer = match std::mem::replace(&mut self.writer, Writer::Failed) {
            Writer::Waiting { out, arrow: true } => {
                let writer = FileWriter::try_new(out, &batch.schema()).map_err(io::Error::other)?;
                Writer::Arrow(Box::new(writer))
            }
            Writer::Waiting { out, arrow: false } => {
                let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None);
                Writer::Parquet { out, writer: Box::new(writer.map_err(io::Error::other)?) }
            }
            open => open,
        };
        match &mut self.writer {
            Writer::Arrow(writer) => writer.write(&batch).map_err(io::Error::other),
            Writer::Parquet { out, writer } => {
                writer.write(&batch).and_then(|()| writer.flush()).map_err(io::Error::other)?;
                out.write_all(&std::mem::take(writer.inner_mut()))
            }
            Writer::Waiting { .. } | Writer::Failed => Ok(()),
        }
    }

    /// Writes what is left and the end of the file.
    pub fn close(mut self) -> io::Result<()> {
        self.flush()?;
        match self.writer {
            Writer::Arrow(mut writer) => {
                writer.finish().map_err(io::Error::other)?;
                writer.into_inner().map_err(io::Error::other)?.flush()
            }
            Writer::Parquet { mut out, writer } => {
                out.write_all(&writer.into_inner().map_err(io::Error::other)?)?;
                out.flush()
            }
            Writer::Waiting { .. } | Writer::Failed => Ok(()),
        }
    }
}
