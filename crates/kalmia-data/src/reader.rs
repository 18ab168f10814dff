//! From inputs to blocks: the object that a caller holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::block::Block;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::input::{Fingerprint, Input};
use crate::options::{Mode, SourceOptions};
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

/// Reads inputs in order, encodes their rows and hands them out in blocks.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
///
/// let input = Input::memory("flights.csv", *b"late,miles,carrier\n1,300,AA\n0,120,UA\n");
/// let encoder = Encoder::new(EncoderOptions::target("late"));
/// let mut reader = Reader::open(vec![input], SourceOptions::default(), encoder, Mode::Learn)?;
/// let mut block = Block::new();
/// assert!(reader.next_block(&mut block)?);
/// assert_eq!(block.y, [1.0, 0.0]);
/// assert_eq!(block.row(1), [1.0, 120.0, 1.0]);
/// let names: Vec<_> = reader.encoder().features().iter().map(|f| &*f.name).collect();
/// assert_eq!(names, ["(intercept)", "miles", "carrier=UA"]);
/// assert!(!reader.next_block(&mut block)?);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
pub struct Reader {
    encoder: Encoder,
    mode: Mode,
    stage: Stage,
    threaded: bool,
    block_rows: usize,
    position: Position,
    inputs: Vec<Input>,
    done: Arc<AtomicU64>,
    total: Option<u64>,
}

/// Where the batches come from.
enum Stage {
    /// The kinds are not settled, or reading is on this thread.
    Here(Box<Parser>, Box<Batch>),
    Ahead(Ahead),
    /// The end, or an error.
    Over,
}

impl Reader {
    /// Opens the first input and chooses the columns, or finds those of an encoder that already
    /// knows them.
    pub fn open(
        inputs: Vec<Input>,
        options: SourceOptions,
        mut encoder: Encoder,
        mode: Mode,
    ) -> Result<Self> {
        if options.block_rows == 0 || options.block_rows > 1 << 24 {
            return Err(Error::Setting(format!(
                "blocks of {} rows: give 1 to 2^24",
                options.block_rows
            )));
        }
        let Some(first) = inputs.first().map(|input| input.name().to_owned()) else {
            return Err(Error::NoMatch { pattern: String::new() });
        };
        if mode != Mode::Learn && !encoder.is_settled() {
            return Err(Error::Setting("an encoder that has seen no rows cannot predict".into()));
        }
        let (threaded, block_rows) = (options.threaded, options.block_rows);
        let mut parser = Parser::new(inputs, options);
        if encoder.is_new()
            && let Some((names, sparse)) = parser.header()?
        {
            encoder.choose(&first, names, sparse)?;
        }
        parser.bind(encoder.slots(mode), encoder.sparse)?;
        parser.header()?;
        let (done, inputs) = (parser.done(), parser.inputs().to_vec());
        let total = inputs.iter().map(Input::size).sum();
        let stage = Stage::Here(Box::new(parser), Box::default());
        Ok(Self {
            encoder,
            mode,
            stage,
            threaded,
            block_rows,
            position: Position::default(),
            inputs,
            done,
            total,
        })
    }

    /// Reads the next block; false at the end. After an error the reader is at its end, and the
    /// encoder is as it was after the block before.
    pub fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        let outcome = self.try_next(block);
        if !matches!(outcome, Ok(true)) {
            self.stage = Stage::Over;
        }
        outcome
    }

    fn try_next(&mut self, block: &mut Block) -> Result<bool> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Over => Ok(false),
            Stage::Here(mut parser, mut batch) => {
                parser.fill(&mut batch)?;
                if !self.encoder.is_settled() {
                    if batch.rows == 0 {
                        return Err(Error::NoRows { file: self.inputs[0].name().into() });
                    }
                    self.encoder.settle(&mut batch)?;
                    parser.bind(self.encoder.slots(self.mode), self.encoder.sparse)?;
                }
                let more = self.encode(&mut batch, block)?;
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
                let more = self.encode(&mut batch, block)?;
                ahead.recycle(batch);
                self.stage = Stage::Ahead(ahead);
                Ok(more)
            }
        }
    }

    fn encode(&mut self, batch: &mut Batch, block: &mut Block) -> Result<bool> {
        if batch.rows == 0 {
            return Ok(false);
        }
        self.encoder.encode(batch, block, self.mode)?;
        self.position = batch.end;
        Ok(true)
    }

    /// Passes over up to `rows` data rows without decoding them; how many there were. To be called
    /// before the first block.
    pub fn skip_rows(&mut self, rows: u64) -> Result<u64> {
        let parser = self.parser()?;
        let skipped = parser.skip(rows)?;
        self.position = parser.position();
        Ok(skipped)
    }

    /// Goes to a position reached in an earlier reading of the same inputs, without reading the
    /// inputs before it. To be called before the first block, with the encoder of that position.
    pub fn seek(&mut self, to: Position) -> Result<()> {
        let parser = self.parser()?;
        parser.seek(to)?;
        self.position = parser.position();
        Ok(())
    }

    fn parser(&mut self) -> Result<&mut Parser> {
        match &mut self.stage {
            Stage::Here(parser, _) => Ok(parser),
            _ => Err(Error::Setting("rows can be passed over only before the first block".into())),
        }
    }

    /// The place after the last block.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The encoder as it is after the last block.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The encoder as it is after the last block.
    pub fn into_encoder(self) -> Encoder {
        self.encoder
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
        for (i, before) in earlier.iter().enumerate() {
            let changed =
                |what: &str| Err(Error::Changed { file: before.name.clone(), what: what.into() });
            let Some(input) = self.inputs.get(i) else { return changed("it is no longer given") };
            let now = input.fingerprint()?;
            match (&before.content, &now.content) {
                _ if now.name != before.name => return changed("another name is in its place"),
                (Some((a, _)), Some((b, _))) if a != b => {
                    return changed(&format!("{a} bytes then, {b} bytes now"));
                }
                (a, b) if a != b => return changed("its bytes differ"),
                _ => {}
            }
        }
        match self.inputs.get(earlier.len()) {
            Some(extra) => Err(Error::Changed {
                file: extra.name().into(),
                what: "it was not given then".into(),
            }),
            None => Ok(()),
        }
    }
}
