//! The internal side of the core + tail form: learning rows, dense and sparse, and changing shape.

use super::row::Scratch;
use super::{CORE, CoreTail};
use crate::covariance::{
    Covariance, Decide, Factored, Kernel, SparseKernel, check_matrix, check_variances,
};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, Threads};
use crate::sparse::{SparseMatrix, SparseRow};

impl<const M: usize> Kernel for CoreTail<M> {
    const CAN_LOSE_PRECISION: bool = false;

    fn require_any_matrix(dim: usize) -> Result<()> {
        if M >= dim {
            return Ok(());
        }
        Err(Error::State(format!(
            "a core of {M} features cannot hold a full covariance of {dim}; use a diagonal prior, \
             a larger core or the factored form"
        )))
    }

    fn from_matrix(matrix: &[f64], dim: usize) -> Result<Self> {
        if M >= dim {
            return Ok(Self::all_in_core(Factored::from_matrix(matrix, dim)?));
        }
        check_matrix(matrix, dim)?;
        let is_diagonal = |at: usize| at.is_multiple_of(dim + 1) || matrix[at] == 0.0;
        if !(0..matrix.len()).all(is_diagonal) {
            Self::require_any_matrix(dim)?;
        }
        let diagonal: Vec<f64> = matrix.iter().step_by(dim + 1).copied().collect();
        Self::from_diagonal(&diagonal)
    }

    fn from_diagonal(variances: &[f64]) -> Result<Self> {
        if M >= variances.len() {
            return Ok(Self::all_in_core(Factored::from_diagonal(variances)?));
        }
        check_variances(variances)?;
        Ok(Self {
            places: vec![0; variances.len()],
            variances: variances.to_vec(),
            members: Vec::new(),
            core: Factored::from_diagonal(&[])?,
            whole: false,
            scratch: Scratch::new(0),
        })
    }

    fn learn(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        if self.whole {
            return self.core.learn(theta, x, decide, threads);
        }
        for (i, x) in x.chunks_exact(self.dim()).enumerate() {
            self.take_row((0u32..).zip(x.iter().copied()));
            self.learn_row(theta, i, decide, threads)?;
        }
        Ok(())
    }

    /// With all features in the core, rows are those of the factored form, in exact blocks.
    fn sparse(&self) -> Option<&dyn SparseKernel> {
        if self.whole { None } else { Some(self) }
    }

    fn sparse_mut(&mut self) -> Option<&mut dyn SparseKernel> {
        if self.whole { None } else { Some(self) }
    }

    fn variances(&self, x: &[f64], s: &mut [f64], threads: Threads) {
        if self.whole {
            return self.core.variances(x, s, threads);
        }
        for (s, x) in s.iter_mut().zip(x.chunks_exact(self.dim())) {
            *s = self.variance(x);
        }
    }

    fn learn_with_process_noise(
        &mut self,
        theta: &mut Buffer,
        x: &[f64],
        q: &[f64],
        decide: &mut Decide<'_>,
        threads: Threads,
    ) -> Result<()> {
        if self.whole {
            return self.core.learn_with_process_noise(theta, x, q, decide, threads);
        }
        for (i, x) in x.chunks_exact(self.dim()).enumerate() {
            self.add_diagonal(q);
            self.learn(theta, x, &mut |_, m, s| decide(i, m, s), threads)?;
        }
        Ok(())
    }

    fn bytes(dim: usize) -> usize {
        let each = size_of::<f64>() + size_of::<u32>();
        Factored::bytes(dim.min(M)).saturating_add(dim.saturating_mul(each))
    }

    fn growth_bytes(&self) -> usize {
        let dim = self.dim();
        let each = size_of::<f64>() + size_of::<u32>();
        let lists = if dim == self.places.capacity() { 2 * dim * each } else { 0 };
        let core = if self.whole && dim < M { self.core.growth_bytes() } else { 0 };
        lists.saturating_add(core)
    }

    fn grow(&mut self, variance: f64) {
        let joins = self.whole && self.dim() < M;
        self.places.push(0);
        self.variances.push(variance);
        self.whole = false;
        if joins {
            self.promote(self.dim() - 1);
        }
    }

    fn set_untouched(&mut self, j: usize, variance: f64) {
        match self.core_place(j) {
            Some(at) => self.core.set_untouched(at, variance),
            None => self.variances[j] = variance,
        }
    }

    fn scale(&mut self, a: f64) {
        self.core.scale(a);
        self.variances.iter_mut().for_each(|v| *v *= a);
    }

    fn shrink(&mut self) {
        if let Some(at) = self.dim().checked_sub(1).and_then(|last| self.core_place(last)) {
            self.core.remove(at);
            self.members.remove(at);
            for (at, &j) in self.members.iter().enumerate().skip(at) {
                self.places[j as usize] = at as u32 | CORE;
            }
        }
        self.places.pop();
        self.variances.pop();
        self.settle();
    }

    fn add_diagonal(&mut self, q: &[f64]) {
        if self.whole {
            return self.core.add_diagonal(q);
        }
        let of_core = self.scratch.row(self.members.len());
        of_core.iter_mut().zip(&self.members).for_each(|(to, &j)| *to = q[j as usize]);
        self.core.add_diagonal(of_core);
        of_core.fill(0.0);
        for (j, q) in q.iter().enumerate().filter(|&(j, _)| self.places[j] & CORE == 0) {
            self.variances[j] += q;
        }
    }

    fn parts(&self) -> Vec<f64> {
        self.to_parts()
    }

    fn from_parts(parts: &[f64], dim: usize) -> Result<Self> {
        Self::of_parts(parts, dim)
    }
}

impl<const M: usize> SparseKernel for CoreTail<M> {
    fn learn_sparse(
        &mut self,
        theta: &mut Buffer,
        x: SparseMatrix<'_>,
        decide: &mut Decide<'_>,
        guarded: bool,
        threads: Threads,
    ) -> Result<()> {
        if guarded {
            return self.learn_guarded(theta, x, decide, threads);
        }
        self.learn_sparse_rows(theta, x, decide, threads)
    }

    fn sparse_variance(&self, x: SparseRow<'_>, scratch: &mut Vec<f64>) -> f64 {
        scratch.clear();
        scratch.resize(self.members.len(), 0.0);
        let mut tail = 0.0;
        for (j, x) in x.iter() {
            match self.core_place(j as usize) {
                Some(at) => scratch[at] = x,
                None => tail += self.variances[j as usize] * x * x,
            }
        }
        self.core.variance(scratch) + tail
    }
}
