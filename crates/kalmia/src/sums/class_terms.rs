//! What rows of several classes add to the sums: probabilities, slopes and curvatures of a piece
//! of rows, and the sums of one core.

use super::totals::{Scalars, Totals};
use super::triangle::{PIECE_ROWS, Triangle};
use crate::linalg::{Buffer, View, ViewMut, multiply};
use crate::math::ln_1p;
use crate::rows::Rows;

/// The sums of one core, with its scratch.
///
/// With $p_k$ the probability of class $k$ at a row, and $y_k$ whether it is the row's class, the
/// gradient has the blocks $\sum w(p_k-y_k)x$ and the information has
/// $\sum w\,p_k(\delta_{kl}-p_l)\,xx^\top$.
#[derive(Debug, Clone)]
pub(super) struct ClassWorker {
    pub totals: Totals,
    pub scalars: Scalars,
    scratch: Scratch,
}

/// Numbers of one piece of rows, for the classes after the first.
#[derive(Debug, Clone)]
struct Scratch {
    /// $u_k$, then $w(p_k-y_k)$, class after class within a row.
    slope: Vec<f64>,
    /// $\sqrt w\,p_k$ and $\sqrt{w\,p_k(1-p_k)}$.
    below: Vec<f64>,
    within: Vec<f64>,
    /// The features times these, class after class within a row.
    scaled_below: Buffer,
    scaled_within: Buffer,
    partial_gradient: Vec<f64>,
}

impl ClassWorker {
    /// For `others` classes after the first.
    pub fn new(totals: Totals, others: usize) -> Self {
        let dim = totals.dim();
        let numbers = || vec![0.0; others * PIECE_ROWS];
        let rows = || Buffer::zeros(Triangle::row_stride(dim) * PIECE_ROWS);
        Self {
            scratch: Scratch {
                slope: numbers(),
                below: numbers(),
                within: numbers(),
                scaled_below: rows(),
                scaled_within: rows(),
                partial_gradient: vec![0.0; dim],
            },
            totals,
            scalars: Scalars::default(),
        }
    }

    /// Adds rows, whose numbers are legal; `theta` has the coefficients of each class but the
    /// first.
    pub fn add(&mut self, theta: &[f64], rows: Rows<'_>) {
        for first in (0..rows.len()).step_by(PIECE_ROWS) {
            self.add_piece(theta, rows.slice(first..rows.len().min(first + PIECE_ROWS)));
        }
    }

    fn add_piece(&mut self, theta: &[f64], rows: Rows<'_>) {
        let dim = rows.dim();
        let n = rows.len();
        let others = theta.len() / dim;
        let Self { totals: Totals { gradient, information, scores }, scalars, scratch, .. } = self;
        let x = View::columns(rows.features(), dim, n, dim);
        multiply(
            ViewMut::columns(&mut scratch.slope, others, n, others),
            false,
            1.0,
            View::columns(theta, dim, others, dim).t(),
            x,
        );
        scratch.fill(rows, others, scalars);
        let slope = &scratch.slope[..n * others];
        multiply(
            ViewMut::columns(&mut scratch.partial_gradient, dim, others, dim),
            false,
            1.0,
            x,
            View::columns(slope, others, n, others).t(),
        );
        gradient.add(0, &scratch.partial_gradient);
        let stride = Triangle::row_stride(theta.len());
        spread(rows, others, &scratch.below, &mut scratch.scaled_below, stride);
        spread(rows, others, &scratch.within, &mut scratch.scaled_within, stride);
        information.add_blocks(dim, &scratch.scaled_within, &scratch.scaled_below, n);
        if let Some(scores) = scores {
            spread(rows, others, slope, &mut scratch.scaled_below, stride);
            scores.add(&scratch.scaled_below, n);
        }
    }
}

impl Scratch {
    /// Turns the linear predictors of the rows into slopes and curvatures, and counts the rows.
    fn fill(&mut self, rows: Rows<'_>, others: usize, scalars: &mut Scalars) {
        let mut sums = [0.0; 4];
        for i in 0..rows.len() {
            let observation = rows.observation(i);
            let weight = observation.weight;
            let places = i * others..(i + 1) * others;
            let row = ClassTerms {
                class: observation.y as usize,
                weight,
                slope: &mut self.slope[places.clone()],
                below: &mut self.below[places.clone()],
                within: &mut self.within[places],
            };
            let deviance = 2.0 * weight * row.fill();
            for (sum, term) in sums.iter_mut().zip([weight, weight, deviance, 0.0]) {
                *sum += term;
            }
        }
        scalars.add(&sums);
        scalars.rows += rows.len() as u64;
    }
}

/// One row.
struct ClassTerms<'a> {
    class: usize,
    weight: f64,
    slope: &'a mut [f64],
    below: &'a mut [f64],
    within: &'a mut [f64],
}

impl ClassTerms<'_> {
    /// From the linear predictors in `slope`, that of class 0 being 0; returns minus the logarithm
    /// of the probability of the row's class. No difference of nearly equal numbers is taken: of a
    /// class that is nearly certain, the others are summed.
    fn fill(self) -> f64 {
        let mut leader = 0;
        let mut top = 0.0;
        for (k, &u) in self.slope.iter().enumerate() {
            if u > top || u.is_nan() {
                leader = k + 1;
                top = u;
            }
        }
        let own = if self.class == 0 { 0.0 } else { self.slope[self.class - 1] };
        let first = (-top).exp();
        // of all classes but the leader
        let mut rest = if leader == 0 { 0.0 } else { first };
        for (k, u) in self.slope.iter_mut().enumerate() {
            *u = (*u - top).exp();
            if k + 1 != leader {
                rest += *u;
            }
        }
        let total = 1.0 + rest;
        let root = self.weight.sqrt();
        let terms = self.slope.iter_mut().zip(self.below).zip(self.within);
        for (k, ((slope, below), within)) in terms.enumerate() {
            let p = *slope / total;
            let other = if k + 1 == leader { rest } else { total - *slope } / total;
            *below = root * p;
            *within = root * (p * other).sqrt();
            *slope = self.weight * if k + 1 == self.class { -other } else { p };
        }
        if self.class == leader { ln_1p(rest) } else { total.ln() + (top - own) }
    }
}

/// Each row's features times each of its factors, `others` per row; rows `stride` apart.
fn spread(rows: Rows<'_>, others: usize, factors: &[f64], scaled: &mut [f64], stride: usize) {
    let dim = rows.dim();
    for i in 0..rows.len() {
        let x = rows.x(i);
        let targets = scaled[i * stride..][..others * dim].chunks_exact_mut(dim);
        for (target, &factor) in targets.zip(&factors[i * others..]) {
            target.iter_mut().zip(x).for_each(|(target, x)| *target = factor * x);
        }
    }
}
