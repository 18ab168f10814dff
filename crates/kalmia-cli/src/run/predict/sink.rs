//! Where predictions go: CSV text or a Parquet file.

use super::Line;
use super::csv_writer::CsvWriter;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use kalmia_data::{MISSING, TextKind};
use kalmia_model::number_text;
use parquet::arrow::ArrowWriter;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a Parquet batch.
const BATCH: usize = 65_536;

/// A table being written, row after row.
pub struct Sink<'a> {
    form: Form<'a>,
    names: Vec<String>,
    /// Columns of the prediction, after those kept.
    numbers: usize,
}

enum Form<'a> {
    Csv(CsvWriter<'a>),
    /// Each row group is built in memory, then written.
    Parquet {
        file: &'a mut dyn Write,
        writer: Option<Box<ArrowWriter<Vec<u8>>>>,
        kept: Vec<Kept>,
        numbers: Vec<Float64Builder>,
    },
}

/// A kept column.
enum Kept {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
}

impl Kept {
    fn new(kind: &TextKind) -> Self {
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

impl<'a> Sink<'a> {
    /// Text.
    pub fn csv(out: Box<dyn Write + 'a>) -> Self {
        Self { form: Form::Csv(CsvWriter::new(out)), names: Vec::new(), numbers: 0 }
    }

    /// A Parquet file.
    pub fn parquet(file: &'a mut dyn Write) -> Self {
        Self {
            form: Form::Parquet { file, writer: None, kept: Vec::new(), numbers: Vec::new() },
            names: Vec::new(),
            numbers: 0,
        }
    }

    /// Names the columns: those kept, then those of the prediction.
    pub fn head(
        &mut self,
        names: &[String],
        kinds: &[TextKind],
        columns: &[&str],
    ) -> io::Result<()> {
        let predicted = columns.iter().map(|name| String::from(*name));
        self.names = names.iter().cloned().chain(predicted).collect();
        self.numbers = columns.len();
        match &mut self.form {
            Form::Csv(out) => {
                self.names.iter().try_for_each(|name| out.field(name.as_bytes()))?;
                out.end()
            }
            Form::Parquet { kept, numbers, .. } => {
                *kept = kinds.iter().map(Kept::new).collect();
                numbers.resize_with(columns.len(), Float64Builder::new);
                Ok(())
            }
        }
    }

    /// One row; without a prediction its fields are empty.
    pub fn row<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t [u8]>,
        line: Option<&Line>,
    ) -> io::Result<()> {
        match &mut self.form {
            Form::Csv(out) => {
                for text in texts {
                    out.field(text)?;
                }
                match line {
                    None => (0..self.numbers).try_for_each(|_| out.field(b""))?,
                    Some(line) => line
                        .values()
                        .try_for_each(|value| out.field(number_text(value).as_bytes()))?,
                }
                out.end()?;
            }
            Form::Parquet { kept, numbers, .. } => {
                kept.iter_mut().zip(texts).try_for_each(|(column, text)| column.push(text))?;
                match line {
                    None => numbers.iter_mut().for_each(Float64Builder::append_null),
                    Some(line) => numbers
                        .iter_mut()
                        .zip(line.values())
                        .for_each(|(column, value)| column.append_value(value)),
                }
                if numbers[0].values_slice().len() >= BATCH {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Form::Parquet { file, writer, kept, numbers } = &mut self.form else { return Ok(()) };
        let arrays = kept.iter_mut().map(Kept::finish);
        let arrays: Vec<ArrayRef> = arrays
            .chain(numbers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef))
            .collect();
        let columns = self.names.iter().zip(arrays).map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(io::Error::other)?;
        let open = match writer {
            Some(open) => open,
            None => {
                let new = ArrowWriter::try_new(Vec::new(), batch.schema(), None);
                writer.insert(Box::new(new.map_err(io::Error::other)?))
            }
        };
        open.write(&batch).and_then(|()| open.flush()).map_err(io::Error::other)?;
        let bytes = std::mem::take(open.inner_mut());
        file.write_all(&bytes)
    }

    /// Writes what is left.
    pub fn close(mut self) -> io::Result<()> {
        self.flush()?;
        match self.form {
            Form::Csv(mut out) => out.flush(),
            Form::Parquet { file, writer: Some(writer), .. } => {
                let bytes = writer.into_inner().map_err(io::Error::other)?;
                file.write_all(&bytes)
            }
            Form::Parquet { writer: None, .. } => Ok(()),
        }
    }
}
