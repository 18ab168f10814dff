//! Reads Apache Parquet: only the used columns are decoded, and skipped rows are not.

use std::ops::Range;
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
use super::{Cut, Cuts, Plan, Source, footer};
use crate::batch::Batch;
use crate::error::{ColumnProblem, Error, FormatProblem, Result};
use crate::input::{Input, Seekable};
use crate::options::{Format, SourceOptions};
use crate::part::Before;
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
    /// The row groups that are read.
    groups: Range<usize>,
    /// Rows in them.
    rows: u64,
    /// Bytes in the file, or in the part of it.
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
        let all = 0..meta.metadata().num_row_groups();
        let mut pending = Pending::new(file);
        let (groups, rows) = match input.part() {
            Some(part) => {
                pending.rows_before = part.before.rows;
                let groups = part.groups.start.min(all.end)..part.groups.end.min(all.end);
                let rows = groups.clone().map(|group| rows_of(&meta, group));
                (groups, rows.fold(0, u64::saturating_add))
            }
            None => (all, meta.metadata().file_metadata().num_rows().max(0) as u64),
        };
        Ok(Self {
            input: input.clone(),
            meta,
            names,
            columns: Vec::new(),
            reader: None,
            pending,
            groups,
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
        let groups = self.groups.clone();
        let meta = self.meta.clone();
        match seekable(&self.input)? {
            Seekable::File(f) => guard(file, "Parquet", || decoder(f, meta, columns, groups, row)),
            Seekable::Memory(bytes) => {
                let bytes = Bytes::from_owner(bytes);
                guard(file, "Parquet", || decoder(bytes, meta, columns, groups, row))
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
    groups: Range<usize>,
    row: usize,
) -> ParquetResult<ParquetRecordBatchReader> {
    let used = columns.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(i, _)| i);
    let mask = ProjectionMask::roots(meta.parquet_schema(), used);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reader, meta);
    let builder = builder.with_projection(mask).with_row_groups(groups.collect());
    builder.with_batch_size(DECODED_ROWS).with_offset(row).build()
}

/// The rows of a row group.
fn rows_of(meta: &ArrowReaderMetadata, group: usize) -> u64 {
    meta.metadata().row_group(group).num_rows().max(0) as u64
}

/// The ends of row groups at or after each of `targets`, which ascend. A group counts in proportion
/// to its compressed bytes.
pub(super) fn cuts(input: &Input, options: &SourceOptions, targets: &[u64]) -> Result<Cuts> {
    let file = Parquet::open(input, options, &Arc::default())?;
    let weight = |group| file.meta.metadata().row_group(group).compressed_size().max(0) as u128;
    let groups = file.groups.end;
    let total = file.groups.clone().map(weight).sum::<u128>().max(1);
    let mut targets = targets.iter().copied().peekable();
    let mut places: Vec<Cut> = Vec::new();
    let mut rows = 0;
    let mut done = 0;
    for group in file.groups.clone() {
        let last = places.last().map_or(0, |cut| cut.before.rows);
        let bytes = (done * u128::from(file.size) / total) as u64;
        if rows > last && rows < file.rows && targets.peek().is_some_and(|&at| at <= bytes) {
            // A large group may hold several targets.
            while targets.next_if(|&at| at <= bytes).is_some() {}
            places.push(Cut { before: Before { bytes, rows, lines: 0 }, group });
        }
        rows = rows.saturating_add(rows_of(&file.meta, group));
        done += weight(group);
    }
    let end = Cut { before: Before { bytes: file.size, rows, lines: 0 }, group: groups };
    Ok(Cuts { format: Format::Parquet, header: None, places, end })
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
