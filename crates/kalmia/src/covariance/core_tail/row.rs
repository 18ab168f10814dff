//! One row of the core + tail form: split between the two, decided once, learned by both.

use super::{CORE, CoreTail, SEEN_BEFORE_CORE};
use crate::covariance::{Covariance, Decide, Kernel};
use crate::error::Result;
use crate::linalg::{Buffer, Threads, require_memory};
use crate::rule::Step;
use crate::sparse::SparseMatrix;

/// A feature of the tail and its value.
#[derive(Debug, Clone, Copy)]
struct Entry {
    index: usize,
    x: f64,
}

/// The current row in two parts, and the core's coefficients.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    tail: Vec<Entry>,
    /// Places of the core that the row has.
    touched: Vec<usize>,
    /// The row's features of the core; zeros between rows.
    x: Vec<f64>,
    theta: Buffer,
}

impl Scratch {
    /// For a core of `size` features.
    pub fn new(size: usize) -> Self {
        Self { x: vec![0.0; size], theta: Buffer::zeros(size), ..Self::default() }
    }

    /// For a core of another size.
    pub fn resize(&mut self, size: usize) {
        self.x.resize(size, 0.0);
        if self.theta.len() != Buffer::padded(size) {
            self.theta = Buffer::zeros(size);
        }
    }

    /// Room for a number per feature of the core. The caller leaves zeros.
    pub fn row(&mut self, size: usize) -> &mut [f64] {
        &mut self.x[..size]
    }
}

impl<const M: usize> CoreTail<M> {
    /// Splits a row between core and tail; zeros are left out.
    #[inline(always)]
    pub(super) fn take_row(&mut self, row: impl Iterator<Item = (u32, f64)>) {
        let Scratch { tail, touched, x: core, .. } = &mut self.scratch;
        tail.clear();
        touched.clear();
        for (index, x) in row.filter(|(_, x)| *x != 0.0) {
            let index = index as usize;
            let place = self.places[index];
            if place & CORE == 0 {
                tail.push(Entry { index, x });
            } else {
                let at = (place & !CORE) as usize;
                touched.push(at);
                core[at] = x;
            }
        }
    }

    /// Learns sparse rows; an error leaves the rows before it learned.
    pub(super) fn learn_sparse_rows(
        &mut self,
        theta: &mut Buffer,
        x: SparseMatrix<'_>,
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        for i in 0..x.len() {
            self.take_row(x.row(i).iter());
            self.learn_row(theta, i, decide, threads)?;
        }
        Ok(())
    }

    /// Learns the row of the last [`take_row`](Self::take_row). An error of `decide` changes
    /// nothing.
    pub(super) fn learn_row(
        &mut self,
        theta: &mut Buffer,
        i: usize,
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        let mut m = 0.0;
        let mut s = 0.0;
        for &Entry { index, x } in &self.scratch.tail {
            m += theta[index] * x;
            s += self.variances[index] * x * x;
        }
        let step = if self.scratch.touched.is_empty() {
            decide(i, m, s)?
        } else {
            let mut taken = Step::NONE;
            let tail_s = s;
            let mut with_tail = |_: usize, core_m: f64, core_s: f64| {
                s = core_s + tail_s;
                taken = decide(i, core_m + m, s)?;
                let curvature = taken.curvature / (1.0 + taken.curvature * tail_s);
                Ok(Step { curvature, ..taken })
            };
            self.learn_core(theta, &mut with_tail, threads)?;
            taken
        };
        self.move_tail(theta, step, s);
        if step != Step::NONE {
            self.count_row();
        }
        Ok(())
    }

    /// The core learns its part of the row.
    fn learn_core(
        &mut self,
        theta: &mut Buffer,
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        let Self { members, core, scratch, .. } = self;
        for (own, &j) in scratch.theta.iter_mut().zip(members.iter()) {
            *own = theta[j as usize];
        }
        let learned = core.learn(&mut scratch.theta, &scratch.x, decide, threads);
        scratch.touched.iter().for_each(|&at| scratch.x[at] = 0.0);
        learned?;
        for (own, &j) in scratch.theta.iter().zip(members.iter()) {
            theta[j as usize] = *own;
        }
        Ok(())
    }

    /// $\theta_j \mathrel{+}= g\,v_jx_j$ and $v_j \mathrel{-}= c\,(v_jx_j)^2$. The latter is
    /// written as $v_j(1+\alpha(s-v_jx_j^2))/(1+\alpha s)$, which stays positive.
    fn move_tail(&mut self, theta: &mut Buffer, step: Step, s: f64) {
        let alpha = step.curvature;
        let shrinkage = 1.0 / (1.0 + alpha * s);
        for &Entry { index, x } in &self.scratch.tail {
            let v = &mut self.variances[index];
            theta[index] += step.gain * (*v * x);
            let others = (s - *v * x * x).max(0.0);
            *v = (*v * ((1.0 + alpha * others) * shrinkage)).max(f64::MIN_POSITIVE);
        }
    }

    /// Counts the row for its features of the tail, and moves frequent ones to the core. A row with
    /// one feature says nothing of covariances and does not count; this also leaves out the unit
    /// rows of forgetting.
    fn count_row(&mut self) {
        let mut tail = std::mem::take(&mut self.scratch.tail);
        if tail.len() + self.scratch.touched.len() > 1 {
            for &Entry { index, .. } in &tail {
                let seen = (self.places[index] + 1).min(SEEN_BEFORE_CORE + 1);
                self.places[index] = seen;
                let has_room = self.core.dim() < M;
                if seen > SEEN_BEFORE_CORE
                    && has_room
                    && require_memory(self.core.growth_bytes()).is_ok()
                {
                    self.promote(index);
                }
            }
        }
        tail.clear();
        self.scratch.tail = tail;
    }
}
