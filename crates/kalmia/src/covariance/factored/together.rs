//! Several factored beliefs that learn the same rows together: the step of each may depend on what
//! all of them predict.
//!
//! One sweep per belief and row applies the step of the row before and projects the next row, so a
//! row costs as many passes over the matrices as there are beliefs.

use super::Factored;
use super::row::PairInFlight;
use crate::covariance::pairs::Pairs;
use crate::covariance::{Covariance, Kernel};
use crate::error::Result;
use crate::linalg::{Buffer, vector};
use crate::math::arch;
use crate::rule::LinearRow;
use pulp::{Simd, WithSimd};

/// A belief $N(\theta, P)$ with $P$ in factors.
#[derive(Debug, Clone)]
pub struct FactoredBelief {
    /// $\theta$, padded.
    pub theta: Buffer,
    /// $P$.
    pub covariance: Factored,
}

impl FactoredBelief {
    /// The coefficients without padding.
    pub fn coefficients(&self) -> &[f64] {
        &self.theta[..self.covariance.dim()]
    }

    /// One more coefficient, independent of the others, of mean 0.
    pub fn grow(&mut self, variance: f64) {
        let dim = self.covariance.dim();
        self.covariance.grow(variance);
        let mut theta = Buffer::zeros(dim + 1);
        theta[..dim].copy_from_slice(&self.theta[..dim]);
        self.theta = theta;
    }
}

/// `decide(i, rows)`: sets the step of each belief for row `i`.
pub type DecideTogether<'a> = dyn FnMut(usize, &mut [LinearRow]) -> Result<()> + 'a;

/// Learns the rows of `x` in order. `rows` is scratch, one per belief. An error of `decide` stops
/// at that row, and the beliefs then hold the rows before it.
pub fn learn_together(
    beliefs: &mut [FactoredBelief],
    rows: &mut [LinearRow],
    x: &[f64],
    decide: &mut DecideTogether<'_>,
) -> Result<()> {
    debug_assert_eq!(beliefs.len(), rows.len());
    let dim = beliefs.first().map_or(0, |belief| belief.covariance.dim());
    if dim == 0 {
        return Ok(());
    }
    arch().dispatch(LearnTogether { dim, beliefs, rows, x, decide })
}

struct LearnTogether<'a, 'd> {
    dim: usize,
    beliefs: &'a mut [FactoredBelief],
    rows: &'a mut [LinearRow],
    x: &'a [f64],
    decide: &'a mut DecideTogether<'d>,
}

impl WithSimd for LearnTogether<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<()> {
        let Self { dim, beliefs, rows, x, decide } = self;
        let mut pending = false;
        for (i, x) in x.chunks_exact(dim).enumerate() {
            for (belief, row) in beliefs.iter_mut().zip(&mut *rows) {
                prepare(simd, belief, row, x, i, pending)?;
            }
            decide(i, rows)?;
            for (belief, row) in beliefs.iter_mut().zip(&*rows) {
                PairInFlight::of(&mut belief.covariance).take_step(simd, 0, i, row.s, row.step)?;
            }
            pending = true;
        }
        if pending {
            for (belief, row) in beliefs.iter_mut().zip(&*rows) {
                let mut flight = PairInFlight::of(&mut belief.covariance);
                flight.sweep::<S, true, false>(simd, 1);
                vector::axpy(simd, row.step.gain, flight.direction(0), &mut belief.theta);
            }
        }
        Ok(())
    }
}

/// Applies the pending step of the row before, if there is one, and reads the next row.
#[inline(always)]
fn prepare<S: Simd>(
    simd: S,
    belief: &mut FactoredBelief,
    row: &mut LinearRow,
    x: &[f64],
    i: usize,
    pending: bool,
) -> Result<()> {
    let mut flight = PairInFlight::of(&mut belief.covariance);
    flight.load(simd, x);
    if pending {
        flight.sweep::<S, true, true>(simd, 1);
        vector::axpy(simd, row.step.gain, flight.direction(0), &mut belief.theta);
    } else {
        flight.sweep::<S, false, true>(simd, 1);
    }
    row.s = flight.variance(simd, 0, i)?;
    row.m = vector::dot(simd, &belief.theta, flight.x(0));
    Ok(())
}
