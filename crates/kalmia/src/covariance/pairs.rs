//! Rows two by two: one pass over the matrix pays for a pair of rows and prepares the next, so that
//! it is loaded and stored half as often.

use super::Decide;
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::rule::Step;
use pulp::Simd;

/// A matrix with the vectors of one or two rows at hand.
pub(super) trait Pairs {
    /// Takes the features of the next one or two rows.
    fn load<S: Simd>(&mut self, simd: S, pair: &[f64]);

    /// The features of a row, padded.
    fn x(&self, row: usize) -> &[f64];

    /// One pass over the matrix: with `PAY` it learns what was settled of the first `rows` rows,
    /// with `PREPARE` it gives what the loaded ones need.
    fn pass<S: Simd, const PAY: bool, const PREPARE: bool>(&mut self, simd: S, rows: usize);

    /// $s = x^\top Px$ of a row, the `i`-th for messages.
    fn variance<S: Simd>(&mut self, simd: S, row: usize, i: usize) -> Result<f64>;

    /// What a step does to the vectors of its row.
    fn settle<S: Simd>(&mut self, simd: S, row: usize, i: usize, s: f64, step: Step) -> Result<()>;

    /// What the first row's step does to the second; returns $x^\top Px'$ before it.
    fn carry<S: Simd>(&mut self, simd: S, step: Step) -> f64;

    /// $Px$ of a row that the last pass paid for.
    fn direction(&self, row: usize) -> &[f64];
}

/// Largest $\alpha s$ of a first row: beyond it the second one, which follows by a difference,
/// would lose digits, and is prepared anew.
const SHARPEST: f64 = 100.0;

/// Learns the rows of `x`.
#[inline(always)]
pub(super) fn learn<S: Simd, P: Pairs>(
    simd: S,
    p: &mut P,
    dim: usize,
    theta: &mut Buffer,
    x: &[f64],
    first: usize,
    decide: &mut Decide<'_>,
) -> Result<()> {
    let mut pairs = x.chunks(2 * dim);
    let mut at = pairs.next();
    if let Some(pair) = at {
        p.load(simd, pair);
        p.pass::<S, false, true>(simd, pair.len() / dim);
    }
    let mut i = first;
    while let Some(pair) = at {
        let rows = pair.len() / dim;
        let m = [vector::dot(simd, theta, p.x(0)), vector::dot(simd, theta, p.x(1))];
        let (step, s) = decided(simd, p, 0, i, m[0], decide)?;
        if rows == 2 && step.curvature * s > SHARPEST {
            let second = &pair[dim..];
            p.load(simd, second);
            p.pass::<S, true, true>(simd, 1);
            vector::axpy(simd, step.gain, p.direction(0), theta);
            (at, i) = (Some(second), i + 1);
            continue;
        }
        let mut gains = [step.gain, 0.0];
        let mut outcome = Ok(());
        if rows == 2 {
            let overlap = p.carry(simd, step);
            match decided(simd, p, 1, i + 1, m[1] + step.gain * overlap, decide) {
                Ok((step, _)) => gains[1] = step.gain,
                Err(error) => outcome = Err(error),
            }
        }
        // of a pair whose second row is refused the first one is learned
        let paid = rows - usize::from(outcome.is_err());
        at = if outcome.is_ok() { pairs.next() } else { None };
        let follows = at.filter(|_| paid == 2);
        match follows {
            Some(pair) => {
                p.load(simd, pair);
                p.pass::<S, true, true>(simd, 2);
            }
            None => p.pass::<S, true, false>(simd, paid),
        }
        for (row, gain) in gains.into_iter().enumerate().take(paid) {
            vector::axpy(simd, gain, p.direction(row), theta);
        }
        if let (Some(pair), None) = (at, follows) {
            // a pair after a single row
            p.load(simd, pair);
            p.pass::<S, false, true>(simd, pair.len() / dim);
        }
        outcome?;
        i += rows;
    }
    Ok(())
}

#[inline(always)]
fn decided<S: Simd, P: Pairs>(
    simd: S,
    p: &mut P,
    row: usize,
    i: usize,
    m: f64,
    decide: &mut Decide<'_>,
) -> Result<(Step, f64)> {
    let s = p.variance(simd, row, i)?;
    let step = decide(i, m, s)?;
    p.settle(simd, row, i, s, step)?;
    Ok((step, s))
}
