//! Reads Apache Parquet: only the used columns are decoded, and skipped rows are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::ChunkReader;

use super::arrow::{Pending, check_types, guard, names, text_kind};
use super::{Plan, Source, footer};
use crate::batch::Batch;
use crate::error::{ColumnProblem, Error, FormatProblem, Result};
use crate::input::{Input, Seekable};
use crate::options::SourceOptions;
use crate::text::TextKind;

/// Rows decoded at a time.
const DECODED_ROWS: usize = 4096;

pub(super) struct Parquet {
    input: Input,
    meta: ArrowReaderMetadata,
    names: Vec<String>,
    /// For each column of the file, its slot.
    columns: Vec<Option<usize>>,
    reader: Option<ParquetRecordBatchReader>,
    pending: Pending,
    /// Rows in the file.
    rows: u64,
    /// Bytes in the file.
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
        footer::check(&mut seekable(input)?, file)?;
        let meta = match seekable(input)? {
            Seekable::File(f) => guard(file, "Parquet", || metadata(&f))?,
            Seekable::Memory(bytes) => {
                guard(file, "Parquet", || metadata(&Bytes::from_owner(bytes)))?
            }
        };
        let names = names(meta.schema(), file, options)?;
        let rows = meta.metadata().file_metadata().num_rows().max(0) as u64;
        Ok(Self {
            input: input.clone(),
            meta,
            names,
            columns: Vec::new(),
            reader: None,
            pending: Pending::new(file),
            rows,
            size,
            done: done.clone(),
        })
    }

    /// Refuses used columns that are compressed in a way that is not built in.
    fn check_codecs(&self, plan: &Plan) -> Result<()> {
        let groups = self.meta.metadata().row_groups();
        let columns = self.meta.parquet_schema();
        for column in groups.iter().take(1).flat_map(|group| group.columns().iter().enumerate()) {
            let (leaf, chunk) = column;
            let codec = chunk.compression();
            if matches!(codec, Compression::BROTLI(_) | Compression::LZO)
                && plan.slot(columns.get_column_root_idx(leaf)).is_some()
            {
                let column = chunk.column_path().string();
                let name = codec.to_string();
                let codec = name.split('(').next().unwrap_or(&name).to_lowercase();
                let problem = ColumnProblem::Codec { codec };
                return Err(Error::Column { file: self.input.name().into(), column, problem });
            }
        }
        Ok(())
    }

    /// Starts decoding at the current row.
    fn start(&self) -> Result<ParquetRecordBatchReader> {
        let file = self.input.name();
        let row = self.pending.row as usize;
        let columns = &self.columns;
        let meta = self.meta.clone();
        match seekable(&self.input)? {
            Seekable::File(f) => guard(file, "Parquet", || decoder(f, meta, columns, row)),
            Seekable::Memory(bytes) => {
                let bytes = Bytes::from_owner(bytes);
                guard(file, "Parquet", || decoder(bytes, meta, columns, row))
            }
        }
    }

    /// Makes the decoder start anew at the current row.
    fn restart(&mut self) {
        self.reader = None;
        self.pending.clear();
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
    columns: &[Option<usize>],
    row: usize,
) -> ParquetResult<ParquetRecordBatchReader> {
    let used = columns.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(i, _)| i);
    let mask = ProjectionMask::roots(meta.parquet_schema(), used);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reader, meta);
    builder.with_projection(mask).with_batch_size(DECODED_ROWS).with_offset(row).build()
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
        self.check_codecs(plan)?;
        let places: Vec<_> = plan.columns.iter().copied().filter(Option::is_some).collect();
        self.columns = plan.columns.clone();
        if self.pending.bind(plan, places) {
            self.restart();
        }
        Ok(())
    }

    fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<()> {
        let start = self.pending.row;
        let end = batch.rows + rows;
        while batch.rows < end && self.advance()? {
            self.pending.take(batch, end - batch.rows)?;
        }
        let part = (self.pending.row - start) as f64 / self.rows.max(1) as f64;
        self.done.fetch_add((part * self.size as f64) as u64, Ordering::Relaxed);
        Ok(())
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        let skipped = rows.min(self.rows.saturating_sub(self.pending.row));
        self.pending.row += skipped;
        self.restart();
        Ok(skipped)
    }
}
