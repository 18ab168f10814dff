//! From inputs to blocks: the reader that a caller holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Slot};
use crate::block::Block;
use crate::encoder::Encoder;
use crate::error::{Change, ColumnProblem, Error, Location, Result, SettingProblem, ValueProblem};
use crate::fingerprint::Fingerprint;
use crate::input::Input;
use crate::options::{BadRows, EncoderOptions, MAX_BLOCK_ROWS, Mode, SourceOptions};
use crate::parser::{Ahead, Parser};

/// A place between two rows of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    /// Data rows before it, over all inputs.
    pub rows: u64,
    /// The input it is in.
    pub file: usize,
    /// Data rows before it in that input.
    pub row: u64,
}

/// How far the reading is, in bytes of the inputs as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub done: u64,
    /// Bytes in all, unless standard input is among them.
    pub total: Option<u64>,
}

/// Reads inputs in order and encodes their rows into blocks.
///
/// The encoder stays with the caller and is passed with each call: a model that owns encoder and
/// learner uses both between blocks, for example to write a checkpoint.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
///
/// let input = Input::memory("flights.csv", *b"late,miles,carrier\n1,300,AA\n0,120,UA\n");
/// let mut encoder = Encoder::new(EncoderOptions::target("late"));
/// let options = SourceOptions::default();
/// let mut reader = Reader::open(vec![input], options, &mut encoder, Mode::Learn)?;
/// let mut block = Block::new();
/// assert!(reader.next_block(&mut encoder, &mut block)?);
/// assert_eq!(block.y, [1.0, 0.0]);
/// assert_eq!(block.row(1), [1.0, 120.0, 1.0]);
/// let names: Vec<_> = encoder.features().iter().map(|feature| &*feature.name).collect();
/// assert_eq!(names, ["(intercept)", "miles", "carrier=UA"]);
/// assert!(!reader.next_block(&mut encoder, &mut block)?);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
pub struct Reader {
    mode: Mode,
    stage: Stage,
    /// The columns that batches hold.
    slots: Vec<Slot>,
    threaded: bool,
    header: bool,
    bad_rows: BadRows,
    block_rows: usize,
    position: Position,
    inputs: Vec<Input>,
    done: Arc<AtomicU64>,
    total: Option<u64>,
    left_out: LeftOut,
    late_member: Option<LateMember>,
}

/// A JSON member that first appears after the rows that decide the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateMember {
    /// Its name.
    pub name: String,
    /// Its first row.
    pub at: Location,
}

/// The rows that could not be read, under [`crate::BadRows::Skip`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many.
    pub rows: u64,
    /// The errors of the first three, each with its place.
    pub errors: Vec<String>,
}

/// Errors kept of rows that were left out.
const MAX_ERRORS: usize = 3;

/// Where the batches come from.
enum Stage {
    /// The kinds are not settled, or reading is on this thread.
    Here(Box<Parser>, Box<Batch>),
    Ahead(Ahead),
    /// The end, or an error.
    Over,
}

impl Reader {
    /// Opens the first input. A new encoder chooses its columns from the header; one that has
    /// columns must find them there. After an error the encoder is as it was before.
    pub fn open(
        inputs: Vec<Input>,
        options: SourceOptions,
        encoder: &mut Encoder,
        mode: Mode,
    ) -> Result<Self> {
        let block_rows = options.block_rows;
        if block_rows == 0 || block_rows > MAX_BLOCK_ROWS {
            return Err(SettingProblem::BlockRows { rows: block_rows }.into());
        }
        let Some(first) = inputs.first().map(|input| input.name().to_owned()) else {
            return Err(Error::NoMatch { pattern: String::new() });
        };
        if mode != Mode::Learn && !encoder.is_settled() {
            return Err(SettingProblem::NothingLearned.into());
        }
        let threaded = options.threaded;
        let header = options.header;
        let bad_rows = options.bad_rows;
        let mut parser = Parser::new(inputs, options);
        parser.read_values(&encoder.options().na_values);
        let mut chosen = encoder.clone();
        if encoder.is_new()
            && let Some((names, sparse)) = parser.header()?
        {
            chosen.choose(&first, names, sparse)?;
        }
        let slots = chosen.slots(mode);
        parser.bind(slots.clone(), chosen.sparse)?;
        parser.header()?;
        *encoder = chosen;
        let inputs = parser.inputs().to_vec();
        Ok(Self {
            mode,
            slots,
            threaded,
            header,
            bad_rows,
            block_rows,
            position: Position::default(),
            total: inputs.iter().map(Input::size).sum(),
            inputs,
            done: parser.done(),
            left_out: LeftOut::default(),
            late_member: None,
            stage: Stage::Here(Box::new(parser), Box::default()),
        })
    }

    /// Reads the next block; false at the end. `encoder` is the one that the reader was opened
    /// with; another with the same columns and kinds, such as a copy, does as well.
    ///
    /// After an error the reader is at its end, and the encoder is as it was before the call.
    pub fn next_block(&mut self, encoder: &mut Encoder, block: &mut Block) -> Result<bool> {
        let outcome =
            self.try_next(encoder, block).map_err(|error| in_role(error, encoder.options()));
        if !matches!(outcome, Ok(true)) {
            self.stage = Stage::Over;
        }
        outcome
    }

    fn try_next(&mut self, encoder: &mut Encoder, block: &mut Block) -> Result<bool> {
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        if !encoder.has_slots(&self.slots) {
            return Err(SettingProblem::OtherEncoder.into());
        }
        match stage {
            Stage::Over => Ok(false),
            Stage::Here(mut parser, mut batch) => {
                parser.fill(&mut batch)?;
                let more = if encoder.is_settled() {
                    self.encode(encoder, &mut batch, block)?
                } else {
                    self.encode_first(encoder, &mut parser, &mut batch, block)?
                };
                self.stage = match batch.rows < self.block_rows {
                    true => Stage::Over,
                    false if self.threaded => Stage::Ahead(parser.spawn()),
                    false => Stage::Here(parser, batch),
                };
                Ok(more)
            }
            Stage::Ahead(mut ahead) => {
                let Some(batch) = ahead.next() else { return Ok(false) };
                let mut batch = batch?;
                let more = self.encode(encoder, &mut batch, block)?;
                ahead.recycle(batch);
                self.stage = Stage::Ahead(ahead);
                Ok(more)
            }
        }
    }

    /// Settles the kinds of the columns from the first block, then encodes it.
    fn encode_first(
        &mut self,
        encoder: &mut Encoder,
        parser: &mut Parser,
        batch: &mut Batch,
        block: &mut Block,
    ) -> Result<bool> {
        if batch.rows == 0 {
            return Err(Error::NoRows { file: self.inputs[0].name().into() });
        }
        let mut settled = encoder.clone();
        settled.settle(batch, self.bad_rows)?;
        self.slots = settled.slots(self.mode);
        parser.bind(self.slots.clone(), settled.sparse)?;
        let more = self
            .encode(&mut settled, batch, block)
            .map_err(|error| self.without_name(error, batch))?;
        *encoder = settled;
        Ok(more)
    }

    /// A missing value of a column without a name and without any value is the header's fault.
    fn without_name(&self, error: Error, batch: &Batch) -> Error {
        let Error::MissingValue { at, column } = error else { return error };
        let place = column.strip_prefix('c').and_then(|place| place.parse().ok());
        let slot = self.slots.iter().position(|slot| slot.name == column);
        let values = slot.and_then(|slot| batch.columns.get(slot));
        match (place, values) {
            (Some(place), Some(values)) if self.header && values.is_missing() => {
                Error::Column { file: at.file, column, problem: ColumnProblem::Unnamed { place } }
            }
            _ => Error::MissingValue { at, column },
        }
    }

    fn encode(
        &mut self,
        encoder: &mut Encoder,
        batch: &mut Batch,
        block: &mut Block,
    ) -> Result<bool> {
        if batch.rows == 0 {
            return Ok(false);
        }
        std::mem::swap(&mut block.origin, &mut batch.origin);
        encoder.encode(batch, block, self.mode)?;
        if let Some(late) = batch.late_member.take() {
            self.late_member.get_or_insert(late);
        }
        self.left_out.rows += batch.bad.len() as u64;
        let kept = MAX_ERRORS.saturating_sub(self.left_out.errors.len());
        self.left_out.errors.extend(batch.bad.drain(..).take(kept).map(|bad| bad.error));
        self.position = batch.end;
        Ok(true)
    }

    /// Skips up to `rows` data rows without decoding them; how many there were. Call it before the
    /// first block.
    pub fn skip_rows(&mut self, rows: u64) -> Result<u64> {
        let parser = self.parser()?;
        let skipped = parser.skip(rows)?;
        self.position = parser.position();
        Ok(skipped)
    }

    /// Goes to a position reached in an earlier reading of the same inputs, without reading the
    /// inputs before it. Call it before the first block, on a reader opened with the encoder of
    /// that position.
    pub fn seek(&mut self, to: Position) -> Result<()> {
        let parser = self.parser()?;
        parser.seek(to)?;
        self.position = parser.position();
        Ok(())
    }

    fn parser(&mut self) -> Result<&mut Parser> {
        match &mut self.stage {
            Stage::Here(parser, _) => Ok(parser),
            _ => Err(SettingProblem::TooLate.into()),
        }
    }

    /// The place after the last block.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The rows left out so far because they could not be read.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The first JSON member that no column takes because it appeared too late, if there is one.
    pub fn late_member(&self) -> Option<&LateMember> {
        self.late_member.as_ref()
    }

    /// Bytes read so far and in all.
    pub fn progress(&self) -> Progress {
        let done = self.done.load(Ordering::Relaxed);
        Progress { done: self.total.map_or(done, |total| done.min(total)), total: self.total }
    }

    /// What the inputs look like now.
    pub fn fingerprints(&self) -> Result<Vec<Fingerprint>> {
        self.inputs.iter().map(Input::fingerprint).collect()
    }

    /// Refuses inputs that are not those of an earlier reading.
    pub fn check_unchanged(&self, earlier: &[Fingerprint]) -> Result<()> {
        let changed = |file: &str, change| Err(Error::Changed { file: file.to_owned(), change });
        for (i, then) in earlier.iter().enumerate() {
            let Some(input) = self.inputs.get(i) else {
                return changed(&then.name, Change::Dropped);
            };
            if let Some(change) = input.fingerprint()?.change_since(then) {
                return changed(&then.name, change);
            }
        }
        match self.inputs.get(earlier.len()) {
            Some(extra) => changed(extra.name(), Change::Added),
            None => Ok(()),
        }
    }
}

/// A text among targets, weights or offsets is an error of its own: its column is no feature, so
/// reading it as categories or leaving it out does not help.
pub(crate) fn in_role(error: Error, options: &EncoderOptions) -> Error {
    match error {
        Error::Value {
            at,
            column,
            value,
            problem: problem @ (ValueProblem::NotANumber | ValueProblem::MixedNumbers),
        } => {
            let is = |role: &Option<String>| role.as_deref() == Some(&*column);
            let problem = match () {
                () if is(&options.weight) => ValueProblem::Role { what: "weights" },
                () if is(&options.offset) => ValueProblem::Role { what: "offsets" },
                () if is(&options.target) => ValueProblem::Target,
                () => problem,
            };
            Error::Value { at, column, value, problem }
        }
        other => other,
    }
}
