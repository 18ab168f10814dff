//! Where the blocks of a pass come from: the reader itself, or its rows in random order.

use super::{Next, Start, next};
use crate::error::{Failure, Result};
use crate::interrupt;
use crate::progress::Ui;
use kalmia_data::{Block, Encoder, Position, Progress, Reader, Shuffle, Shuffled, Target};
use std::io;

/// Bytes of rows that a shuffle holds in memory; more go to temporary files.
const SHUFFLE_MEMORY: usize = 256 << 20;

/// The blocks of a pass.
pub enum Feed<'a> {
    /// In the order of the files.
    InOrder(&'a mut Reader),
    /// In random order; the reader is at its end.
    Shuffled(&'a Reader, Box<Shuffled>),
}

impl<'a> Feed<'a> {
    /// The rows of a reader that is at its end, or those that it still has.
    pub fn new(reader: &'a mut Reader, shuffled: Option<Shuffled>) -> Self {
        match shuffled {
            Some(rows) => Self::Shuffled(reader, Box::new(rows)),
            None => Self::InOrder(reader),
        }
    }

    /// The target, as far as it is known before a row is learned.
    pub fn target(&self, encoder: &Encoder) -> Result<Target> {
        let known = encoder
            .target()
            .ok_or_else(|| Failure::usage("name the target column with --target"))?;
        Ok(match self {
            Self::InOrder(_) => known.clone(),
            Self::Shuffled(_, rows) => rows.target(known),
        })
    }

    /// Takes the next block, unless a stop was asked for.
    pub fn next(&mut self, encoder: &mut Encoder, block: &mut Block) -> Result<Next> {
        match self {
            Self::InOrder(reader) => next(reader, encoder, block),
            Self::Shuffled(..) if interrupt::requested() => Ok(Next::Stop),
            Self::Shuffled(_, rows) => {
                let more = rows.next_block(block).map_err(temporary)?;
                Ok(if more { Next::Block } else { Next::End })
            }
        }
    }

    /// How far the pass is, in bytes of the inputs.
    pub fn progress(&self) -> Progress {
        match self {
            Self::InOrder(reader) => reader.progress(),
            Self::Shuffled(reader, rows) => {
                let Progress { done, total } = reader.progress();
                let share = rows.taken() as f64 / rows.rows().max(1) as f64;
                Progress { done: (share * total.unwrap_or(done) as f64) as u64, total }
            }
        }
    }

    /// The place in the inputs after the last block.
    pub fn position(&self) -> Position {
        match self {
            Self::InOrder(reader) => reader.position(),
            Self::Shuffled(reader, _) => reader.position(),
        }
    }
}

/// Takes the block of a start and everything after it, to be learned in random order. All rows
/// together decide which labels the target has; `file` is named if they do not.
pub fn shuffle(start: &mut Start, file: &str, seed: u64, ui: Ui) -> Result<Shuffled> {
    let Start { reader, encoder, block } = start;
    let mut shuffle = Shuffle::new(seed, SHUFFLE_MEMORY);
    let mut meter = ui.progress(reader.progress());
    loop {
        shuffle.add(block).map_err(temporary)?;
        meter.tick(reader.progress(), reader.position().rows, || None);
        match next(reader, encoder, block)? {
            Next::Block => {}
            Next::End => break,
            Next::Stop => {
                return Err(Failure::Interrupted(
                    "interrupted while the rows to shuffle were read; nothing was learned".into(),
                ));
            }
        }
    }
    meter.finish();
    *block = Block::new();
    let mut shuffled = shuffle.finish();
    if let Some(codes) = encoder.settle_labels(file)? {
        shuffled.recode(codes);
    }
    Ok(shuffled)
}

fn temporary(reason: io::Error) -> Failure {
    Failure::Other(format!(
        "cannot keep rows in the folder {} to shuffle them: {reason}",
        std::env::temp_dir().display()
    ))
}
