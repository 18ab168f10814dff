//! Reads a stream of record batches.

use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;

use super::{Pending, check_types, guard, names, text_kind};
use crate::batch::Batch;
use crate::error::Result;
use crate::options::SourceOptions;
use crate::source::{Plan, Source};
use crate::text::TextKind;

pub(in crate::source) struct Batches {
    file: String,
    /// The format that errors name.
    format: &'static str,
    reader: Box<dyn RecordBatchReader + Send>,
    schema: SchemaRef,
    names: Vec<String>,
    pending: Pending,
}

impl Batches {
    pub fn open(
        reader: Box<dyn RecordBatchReader + Send>,
        file: &str,
        format: &'static str,
        options: &SourceOptions,
    ) -> Result<Self> {
        let schema = reader.schema();
        let names = names(&schema, file, options)?;
        let pending = Pending::new(file);
        Ok(Self { file: file.into(), format, reader, schema, names, pending })
    }

    /// Decodes until rows are pending; false at the end.
    fn advance(&mut self) -> Result<bool> {
        while self.pending.len() == 0 {
            match guard(&self.file, self.format, || self.reader.next().transpose())? {
                Some(decoded) => self.pending.put(decoded),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Source for Batches {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn text_kind(&self, i: usize) -> TextKind {
        text_kind(&self.schema, i)
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        self.pending.bind(plan, plan.columns.clone());
        check_types(&self.schema, &self.file, plan)
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let end = batch.rows + rows;
        while batch.rows < end && self.advance()? {
            self.pending.take(batch, end - batch.rows)?;
        }
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let mut skipped = 0;
        while skipped < rows && self.advance()? {
            skipped += self.pending.skip(rows - skipped);
        }
        Ok(skipped)
    }
}
