//! Apache Parquet: only the used columns are decoded, and rows passed over are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::ChunkReader;

use super::columnar::{Pending, check_types, guard, names, text_kind};
use super::{Plan, Source};
use crate::batch::Batch;
use crate::error::{Error, FormatProblem, Result};
use crate::input::{Input, Seekable};
use crate::options::SourceOptions;
use crate::text::TextKind;

/// Rows decoded at a time.
const DECODED: usize = 4096;

pub(super) struct Parquet {
    input: Input,
    meta: ArrowReaderMetadata,
    names: Vec<String>,
    plan: Plan,
    /// The slot of each column decoded.
    places: Vec<Option<usize>>,
    reader: Option<ParquetRecordBatchReader>,
    pending: Pending,
    row: u64,
    rows: u64,
    size: u64,
    done: Arc<AtomicU64>,
}

impl Parquet {
    pub fn open(input: &Input, options: &SourceOptions, done: &Arc<AtomicU64>) -> Result<Self> {
        let file = input.name();
        let Some(size) = input.size() else {
            return Err(not_seekable(input));
        };
        if size == 0 {
            return Err(Error::Empty { file: file.into() });
        }
        let meta = match seekable(input)? {
            Seekable::File(f) => guard(file, "Parquet", || metadata(&f))?,
            Seekable::Memory(bytes) => {
                guard(file, "Parquet", || metadata(&Bytes::from_owner(bytes)))?
            }
        };
        let names = names(meta.schema(), file, options)?;
        let rows = meta.metadata().file_metadata().num_rows().max(0) as u64;
        let (plan, places, pending) = Default::default();
        let (input, done) = (input.clone(), done.clone());
        Ok(Self {
            input,
            meta,
            names,
            plan,
            places,
            reader: None,
            pending,
            row: 0,
            rows,
            size,
            done,
        })
    }

    /// Starts decoding at the present row.
    fn start(&self) -> Result<ParquetRecordBatchReader> {
        let (row, places, meta) = (self.row as usize, &self.plan.columns, self.meta.clone());
        match seekable(&self.input)? {
            Seekable::File(f) => {
                guard(self.input.name(), "Parquet", || decoder(f, meta, places, row))
            }
            Seekable::Memory(bytes) => guard(self.input.name(), "Parquet", || {
                decoder(Bytes::from_owner(bytes), meta, places, row)
            }),
        }
    }

    /// Decodes until rows are pending; false at the end.
    fn advance(&mut self) -> Result<bool> {
        if self.reader.is_none() {
            self.reader = Some(self.start()?);
        }
        let Some(reader) = self.reader.as_mut() else { return Ok(false) };
        while self.pending.len() == 0 {
            match guard(self.input.name(), "Parquet", || reader.next().transpose())? {
                Some(batch) => self.pending.put(batch),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn seekable(input: &Input) -> Result<Seekable> {
    input.open_seekable()?.ok_or_else(|| not_seekable(input))
}

fn not_seekable(input: &Input) -> Error {
    Error::Format { file: input.name().into(), problem: FormatProblem::NotSeekable }
}

fn metadata(reader: &impl ChunkReader) -> ParquetResult<ArrowReaderMetadata> {
    ArrowReaderMetadata::load(reader, ArrowReaderOptions::new())
}

fn decoder<R: ChunkReader + 'static>(
    reader: R,
    meta: ArrowReaderMetadata,
    places: &[Option<usize>],
    row: usize,
) -> ParquetResult<ParquetRecordBatchReader> {
    let used = places.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(i, _)| i);
    let mask = ProjectionMask::roots(meta.parquet_schema(), used);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reader, meta);
    builder.with_projection(mask).with_batch_size(DECODED).with_offset(row).build()
}

impl Source for Parquet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn text_kind(&self, i: usize) -> TextKind {
        text_kind(self.meta.schema(), i)
    }

    fn bind(&mut self, plan: &Plan) -> Result<()> {
        check_types(self.meta.schema(), self.input.name(), plan)?;
        let places: Vec<_> = plan.columns.iter().copied().filter(Option::is_some).collect();
        if places != self.places {
            // Another choice of columns: the decoder starts anew at this row.
            (self.reader, self.pending) = (None, Pending::default());
        }
        (self.plan, self.places) = (plan.clone(), places);
        Ok(())
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let (start, end) = (self.row, batch.rows + rows);
        while batch.rows < end && self.advance()? {
            let wanted = end - batch.rows;
            self.pending.take(
                self.input.name(),
                &self.places,
                &self.plan,
                &mut self.row,
                batch,
                wanted,
            )?;
        }
        let part = (self.row - start) as f64 / self.rows.max(1) as f64;
        self.done.fetch_add((part * self.size as f64) as u64, Ordering::Relaxed);
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let skipped = rows.min(self.rows.saturating_sub(self.row));
        self.row += skipped;
        (self.reader, self.pending) = (None, Pending::default());
        Ok(skipped)
    }
}
