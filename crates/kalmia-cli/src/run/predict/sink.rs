//! Where predictions go: separated text, JSON Lines, a Parquet file or an Arrow file.

#[cfg(feature = "columnar")]
use super::columnar::{Columnar, Kept};
use super::csv_writer::CsvWriter;
use crate::args::OutputFormat;
use kalmia_data::{MISSING, TextKind};
use kalmia_model::number_text;
use serde_json::Value;
use std::io::{self, Write};

/// The columns of an output.
pub struct Head<'a> {
    /// Names of the columns kept.
    pub kept: &'a [String],
    /// What they are.
    pub kinds: &'a [TextKind],
    /// Names of the numbers of a prediction.
    pub numbers: &'a [String],
    /// The name of the predicted label, if there is one.
    pub label: Option<&'a str>,
}

impl Head<'_> {
    fn names(&self) -> Vec<String> {
        let label = self.label.map(String::from);
        self.kept.iter().chain(self.numbers).cloned().chain(label).collect()
    }
}

/// What is written for a row.
pub struct Cells<'a> {
    /// The numbers of a prediction.
    pub numbers: &'a [f64],
    /// The predicted label, if there is one.
    pub label: Option<&'a str>,
}

/// A table being written, row after row.
pub struct Sink<'a> {
    form: Form<'a>,
    names: Vec<String>,
    kinds: Vec<TextKind>,
    /// Columns of the prediction, after those kept.
    predicted: usize,
}

enum Form<'a> {
    Separated(CsvWriter<'a>),
    Jsonl(io::BufWriter<Box<dyn Write + 'a>>),
    #[cfg(feature = "columnar")]
    Columnar(Columnar<'a>),
}

impl<'a> Sink<'a> {
    /// Writes to `out` in this format.
    pub fn new(out: Box<dyn Write + 'a>, format: OutputFormat) -> Self {
        let form = match format {
            OutputFormat::Csv => Form::Separated(CsvWriter::new(out, b',')),
            OutputFormat::Tsv => Form::Separated(CsvWriter::new(out, b'\t')),
            OutputFormat::Jsonl => Form::Jsonl(io::BufWriter::with_capacity(1 << 16, out)),
            #[cfg(feature = "columnar")]
            OutputFormat::Parquet | OutputFormat::Arrow => {
                Form::Columnar(Columnar::new(out, format == OutputFormat::Arrow))
            }
        };
        Self { form, names: Vec::new(), kinds: Vec::new(), predicted: 0 }
    }

    /// Names the columns: those kept, then those of the prediction.
    pub fn head(&mut self, head: &Head<'_>) -> io::Result<()> {
        self.names = head.names();
        self.kinds = head.kinds.to_vec();
        self.predicted = self.names.len() - head.kept.len();
        match &mut self.form {
            Form::Separated(out) => {
                self.names.iter().try_for_each(|name| out.field(name.as_bytes()))?;
                out.end()
            }
            Form::Jsonl(_) => Ok(()),
            #[cfg(feature = "columnar")]
            Form::Columnar(out) => {
                let kept = head.kinds.iter().map(Kept::new).collect();
                out.head(self.names.clone(), kept, head.numbers.len(), head.label.is_some());
                Ok(())
            }
        }
    }

    /// One row; without a prediction its fields are empty.
    pub fn row<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t [u8]>,
        cells: Option<Cells<'_>>,
    ) -> io::Result<()> {
        match &mut self.form {
            Form::Separated(out) => {
                for text in texts {
                    out.field(text)?;
                }
                match cells {
                    None => (0..self.predicted).try_for_each(|_| out.field(b""))?,
                    Some(Cells { numbers, label }) => {
                        for &value in numbers {
                            out.field(number_text(value).as_bytes())?;
                        }
                        label.map_or(Ok(()), |label| out.field(label.as_bytes()))?;
                    }
                }
                out.end()
            }
            Form::Jsonl(out) => {
                let kept = texts.zip(&self.kinds).map(|(text, kind)| kept_value(text, *kind));
                let mut row: Vec<Value> = kept.collect();
                if let Some(Cells { numbers, label }) = cells {
                    row.extend(numbers.iter().copied().map(Value::from));
                    row.extend(label.map(Value::from));
                }
                let object = self.names.iter().enumerate().map(|(i, name)| {
                    let value = row.get(i).unwrap_or(&Value::Null);
                    format!("{}:{value}", Value::from(name.as_str()))
                });
                writeln!(out, "{{{}}}", object.collect::<Vec<_>>().join(","))
            }
            #[cfg(feature = "columnar")]
            Form::Columnar(out) => out.row(texts, cells),
        }
    }

    /// Writes what is left.
    pub fn close(self) -> io::Result<()> {
        match self.form {
            Form::Separated(mut out) => out.flush(),
            Form::Jsonl(mut out) => out.flush(),
            #[cfg(feature = "columnar")]
            Form::Columnar(out) => out.close(),
        }
    }
}

/// A kept value as JSON: a number if its column has numbers, null if it is missing there.
fn kept_value(text: &[u8], kind: TextKind) -> Value {
    let text = String::from_utf8_lossy(text);
    let word = text.trim();
    match kind {
        TextKind::Text => text.into(),
        _ if MISSING.contains(&word) => Value::Null,
        TextKind::Integer => word.parse::<i64>().map_or_else(|_| word.into(), Value::from),
        TextKind::Number => word.parse::<f64>().map_or_else(|_| word.into(), Value::from),
    }
}
