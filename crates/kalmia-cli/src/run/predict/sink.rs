//! Where predictions go: CSV text or a Parquet file.

use super::{COLUMNS, Line};
use arrow_array::builder::{Float64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a Parquet batch.
const BATCH: usize = 65_536;

/// A table being written, row after row.
pub struct Sink<'a> {
    form: Form<'a>,
    names: Vec<String>,
}

enum Form<'a> {
    Csv(csv::Writer<Box<dyn Write + 'a>>),
    /// The bytes are gathered in memory a row group at a time, then handed on.
    Parquet {
        file: &'a mut dyn Write,
        writer: Option<ArrowWriter<Vec<u8>>>,
        texts: Vec<StringBuilder>,
        numbers: Vec<Float64Builder>,
    },
}

impl<'a> Sink<'a> {
    /// Text.
    pub fn csv(out: Box<dyn Write + 'a>) -> Self {
        Self { form: Form::Csv(csv::Writer::from_writer(out)), names: Vec::new() }
    }

    /// A Parquet file.
    pub fn parquet(file: &'a mut dyn Write) -> Self {
        Self { form: Form::Parquet { file, writer: None, texts: Vec::new(), numbers: Vec::new() }, names: Vec::new() }
    }

    /// Names the columns: those kept, then those of the prediction.
    pub fn head(&mut self, kept: &[String]) -> io::Result<()> {
        self.names = kept.iter().cloned().chain(COLUMNS.map(String::from)).collect();
        match &mut self.form {
            Form::Csv(out) => out.write_record(&self.names).map_err(system),
            Form::Parquet { texts, numbers, .. } => {
                texts.resize_with(kept.len(), StringBuilder::new);
                numbers.resize_with(COLUMNS.len(), Float64Builder::new);
                Ok(())
            }
        }
    }

    /// One row; without a prediction its fields are empty.
    pub fn row<'t>(&mut self, kept: impl Iterator<Item = &'t [u8]>, line: Option<&Line>) -> io::Result<()> {
        match &mut self.form {
            Form::Csv(out) => {
                for text in kept {
                    out.write_field(text).map_err(system)?;
                }
                match line {
                    Some(line) => line.values().into_iter().try_for_each(|value| out.write_field(value.to_string())),
                    None => COLUMNS.iter().try_for_each(|_| out.write_field("")),
                }
                .and_then(|()| out.write_record(None::<&[u8]>))
                .map_err(system)?;
            }
            Form::Parquet { texts, numbers, .. } => {
                kept.zip(texts).for_each(|(text, column)| column.append_value(String::from_utf8_lossy(text)));
                let values = line.map(Line::values);
                numbers.iter_mut().enumerate().for_each(|(i, column)| column.append_option(values.map(|v| v[i])));
                if numbers[0].values_slice().len() >= BATCH {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Form::Parquet { file, writer, texts, numbers } = &mut self.form else { return Ok(()) };
        let arrays = texts.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let arrays: Vec<ArrayRef> =
            arrays.chain(numbers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef)).collect();
        let columns = self.names.iter().zip(arrays).map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(io::Error::other)?;
        let open = match writer {
            Some(open) => open,
            None => writer.insert(ArrowWriter::try_new(Vec::new(), batch.schema(), None).map_err(io::Error::other)?),
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

/// The system's own error, which tells a closed pipe.
fn system(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
