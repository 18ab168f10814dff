//! Writes the numbers of a block: features, then targets, weights and offsets.

use super::Encoder;
use super::encode::{ABSENT, UNSEEN};
use crate::batch::Batch;
use crate::block::Block;
use crate::error::{Error, Result, excerpt};
use crate::options::Mode;
use crate::schema::{Column, RunningMean};

impl Encoder {
    /// Writes the features of the kept rows; the number of missing values that were replaced.
    /// Without `means` none are. If the rows are learned, their values change the means.
    pub(super) fn place(
        &self,
        batch: &Batch,
        block: &mut Block,
        codes: &[Vec<u32>],
        means: &mut [RunningMean],
        learn: bool,
    ) -> u64 {
        let dim = self.features.len();
        block.dim = dim;
        block.sparse = None;
        block.x.clear();
        block.x.resize(dim * block.index.len(), 0.0);
        if dim == 0 {
            return 0;
        }
        if self.options.intercept {
            block.x.chunks_exact_mut(dim).for_each(|row| row[0] = 1.0);
        }
        let mut imputed = 0;
        for (i, column) in self.columns.iter().enumerate() {
            let numbers = &batch.columns[i].numbers;
            imputed += match (column.feature, means.get_mut(i)) {
                (None, _) => place_levels(column, &codes[i], block),
                (Some(feature), Some(mean)) => {
                    place_imputed(column, feature, numbers, mean, learn, block)
                }
                (Some(feature), None) => {
                    let rows = block.x.chunks_exact_mut(dim).zip(&block.index);
                    rows.for_each(|(row, &at)| row[feature] = numbers[at as usize]);
                    0
                }
            };
        }
        self.place_entries(batch, block);
        imputed
    }

    fn place_entries(&self, batch: &Batch, block: &mut Block) {
        let mut at = 0;
        for entry in &batch.entries {
            while at < block.index.len() && block.index[at] < entry.row {
                at += 1;
            }
            if let Some(feature) = self.keys.feature(entry.key)
                && block.index.get(at) == Some(&entry.row)
            {
                block.x[at * block.dim + feature] = entry.value;
            }
        }
    }

    /// Writes targets, weights and offsets.
    pub(super) fn place_roles(&self, batch: &Batch, block: &mut Block, mode: Mode) -> Result<()> {
        let roles = self.role_slots();
        block.y.clear();
        if let Some(target) = &self.target {
            let values = &batch.columns[roles.target];
            let refuse = |row: usize, problem| Error::Value {
                at: block.origin.location(row),
                column: target.name.clone(),
                value: excerpt(values.texts.get(row)),
                problem,
            };
            for &row in &block.index {
                match target.code(values, row as usize) {
                    Ok(y) => block.y.push(y.unwrap_or(f64::NAN)),
                    Err(_) if mode == Mode::Predict => block.y.push(f64::NAN),
                    Err(problem) => return Err(refuse(row as usize, problem)),
                }
            }
        }
        let pick = |slot: usize| {
            block.index.iter().map(|&row| batch.columns[slot].numbers[row as usize]).collect()
        };
        block.weight = roles.weight.map(pick);
        block.offset = roles.offset.map(pick);
        Ok(())
    }
}

/// Writes the features of a category; the number of missing values.
fn place_levels(column: &Column, codes: &[u32], block: &mut Block) -> u64 {
    let mut imputed = 0;
    for (row, &code) in block.x.chunks_exact_mut(block.dim).zip(codes) {
        let feature = match code {
            ABSENT => {
                imputed += 1;
                column.missing
            }
            UNSEEN => None,
            code => column.levels.feature(code),
        };
        feature.into_iter().for_each(|f| row[f] = 1.0);
    }
    imputed
}

/// Writes a number column, the mean in place of missing values; the number of missing values.
fn place_imputed(
    column: &Column,
    feature: usize,
    numbers: &[f64],
    mean: &mut RunningMean,
    learn: bool,
    block: &mut Block,
) -> u64 {
    let mut imputed = 0;
    for (row, &at) in block.x.chunks_exact_mut(block.dim).zip(&block.index) {
        let value = numbers[at as usize];
        if value.is_nan() {
            row[feature] = mean.mean;
            column.missing.into_iter().for_each(|f| row[f] = 1.0);
            imputed += 1;
            continue;
        }
        row[feature] = value;
        if learn {
            mean.observe(value);
        }
    }
    imputed
}
