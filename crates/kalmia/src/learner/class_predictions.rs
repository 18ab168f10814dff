//! The walk over rows to predict that learners of classes share.

use super::labels::PREDICTED_ROWS;
use crate::error::{Result, require};
use crate::rows::Inputs;

/// Takes the index of a row and the probability of each class in it.
pub(super) type TakeProbabilities<'a> = dyn FnMut(usize, &[f64]) -> Result<()> + 'a;

/// Calls `take` for each row, in order. `add_block` adds the probabilities of a block of rows, row
/// after row, to zeros.
pub(super) fn predict_in_blocks(
    inputs: Inputs<'_>,
    classes: usize,
    take: &mut TakeProbabilities<'_>,
    mut add_block: impl FnMut(Inputs<'_>, &mut [f64]),
) -> Result<()> {
    let mut mixed = Vec::new();
    for (first, rows) in inputs.blocks(PREDICTED_ROWS) {
        mixed.clear();
        mixed.resize(rows.len() * classes, 0.0);
        add_block(rows, &mut mixed);
        for (i, probabilities) in mixed.chunks_exact(classes).enumerate() {
            take(first + i, probabilities)?;
        }
    }
    Ok(())
}

/// The probabilities of a single row; `predict_many` predicts it.
pub(super) fn predict_one(
    predict_many: impl FnOnce(&mut TakeProbabilities<'_>) -> Result<()>,
) -> Result<Vec<f64>> {
    let mut probabilities = Vec::new();
    predict_many(&mut |_, predicted| {
        probabilities.extend_from_slice(predicted);
        Ok(())
    })?;
    Ok(probabilities)
}

/// Refuses offsets other than 0; `expected` says why.
pub(super) fn refuse_offsets(
    mut offsets: impl Iterator<Item = f64>,
    expected: &'static str,
) -> Result<()> {
    offsets.try_for_each(|offset| require(offset == 0.0, "offset", offset, expected))
}

/// Refuses a class that has no odds against others.
pub(super) fn require_rival(class: usize, classes: usize) -> Result<()> {
    require(classes > 1, "classes", classes as f64, "must be at least 2")?;
    require(class < classes, "class", class as f64, "must be below classes()")
}
