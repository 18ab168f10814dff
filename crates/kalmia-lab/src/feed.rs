//! The rows of eight replicates in pieces that end at checkpoints.

use crate::error::Result;
use crate::lanes::LANES;
use crate::workers::Workers;
use crate::world::{Block, World};
use std::ops::Range;

/// Rows drawn at a time.
const BLOCK: usize = 100;

/// Which rows a replicate has, and where it is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Feed<'a> {
    /// How the rows are drawn.
    pub world: World,
    /// Seed of the random streams.
    pub seed: u64,
    /// Ascending numbers of rows; the last one is the horizon.
    pub checkpoints: &'a [u64],
}

/// Consecutive rows of eight replicates.
pub(crate) struct Piece<'a> {
    /// The block that holds the rows.
    pub block: &'a Block,
    /// Which rows of the block.
    pub rows: Range<usize>,
    /// Time of the first row, from 1.
    pub first: u64,
    /// The index of the checkpoint that the last row reaches, if any.
    pub checkpoint: Option<usize>,
}

impl Feed<'_> {
    /// Draws the rows of a group of replicates and passes them to `learn`.
    pub fn run(&self, group: usize, workers: &Workers, mut learn: impl FnMut(Piece)) -> Result<()> {
        let mut streams = self.world.streams(self.seed, group);
        let mut block = Block::new(BLOCK);
        let mut used = BLOCK;
        let mut learned = 0u64;
        for (index, &checkpoint) in self.checkpoints.iter().enumerate() {
            while learned < checkpoint {
                if used == BLOCK {
                    workers.check()?;
                    block.fill(self.world, &mut streams);
                    used = 0;
                }
                let take = (checkpoint - learned).min((BLOCK - used) as u64) as usize;
                let first = learned + 1;
                learned += take as u64;
                learn(Piece {
                    block: &block,
                    rows: used..used + take,
                    first,
                    checkpoint: (learned == checkpoint).then_some(index),
                });
                used += take;
                workers.progress.advance((take * LANES) as u64);
            }
        }
        Ok(())
    }
}
