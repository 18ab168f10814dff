//! `P` for very many features: a covariance of the frequent ones, a variance for each of the others.

mod parts;
mod row;
#[cfg(test)]
mod tests;
mod undo;

use super::{Covariance, Decide, Factored, Kernel, SparseKernel, check_matrix, check_variances};
use crate::error::{Error, Result};
use crate::linalg::{Buffer, Threads};
use crate::sparse::{SparseMatrix, SparseRow};
use row::Scratch;

/// Rows that a feature must exceed before it moves from the tail to the core.
const SEEN_BEFORE_CORE: u32 = 16;

/// The bit of a place that marks the core.
const CORE: u32 = 1 << 31;

/// A core of at most `M` features that share a [`Factored`] covariance, and a tail: every other
/// feature has a variance of its own and counts as independent.
///
/// Use it for a single filter, of any rule, on sparse rows with too many features for a full
/// covariance: memory is $O(d + M^2)$, and a sparse row costs $O(\mathrm{nnz} + M^2)$. The learner
/// that needs no settings on such rows is [`Wide`](crate::Wide). Standard errors of correlated
/// features outside the core are too small.
///
/// A feature that more than 16 rows had beside others moves to the core while there is room, with
/// its variance as its diagonal entry, so nothing is lost. Rows with that feature alone do not
/// count: they say nothing of covariances. If `M` is at least the number of features, all are in
/// the core from the start, and results are those of [`Factored`], bit for bit. `M = 0` is the
/// diagonal filter.
///
/// With $x_c$ the features of the core, a row has
///
/// $$m = \theta^\top x, \qquad s = x_c^\top P x_c + \sum_{j \in \text{tail}} v_jx_j^2.$$
///
/// The rule gives one step of gain $g$, curvature $\alpha$ and contraction $c = \alpha/(1+\alpha
/// s)$. The tail moves by $\theta_j \mathrel{+}= g\,v_jx_j$ and $v_j \mathrel{-}= c\,(v_jx_j)^2$.
/// The core learns its part of the row with the curvature $\alpha' = \alpha/(1+\alpha s_t)$, $s_t$
/// being the tail's part of $s$: its own contraction is then $\alpha'/(1+\alpha'(s-s_t)) =
/// \alpha/(1+\alpha s) = c$, so $P_c \mathrel{-}= c\,(P_cx_c)(P_cx_c)^\top$ exactly.
///
/// Process noise ([`Drift::Walk`](crate::learner::Drift::Walk)) and forgetting touch every feature
/// in each row, so with them sparse rows are learned as dense ones.
///
/// ```
/// use kalmia::{Bernoulli, CoreTail, Filter, Learner, MomentMatch, Prior, SparseMatrix, SparseRows};
///
/// let prior = Prior::isotropic(1_000_000, 1.0)?;
/// let mut filter: Filter<_, _, CoreTail> = Filter::with_covariance(Bernoulli, MomentMatch, prior)?;
/// let x = SparseMatrix::new(&[0, 2, 4], &[7, 90_000, 7, 999_999], &[1.0; 4])?;
/// filter.learn_sparse(SparseRows::new(x, &[1.0, 0.0])?)?;
/// assert!(filter.coefficients()[90_000] > 0.0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug)]
pub struct CoreTail<const M: usize = 64> {
    /// Per feature: its place in the core, marked by [`CORE`], or the rows that had it.
    places: Vec<u32>,
    /// Per feature its variance; not used for those of the core.
    variances: Vec<f64>,
    /// The features of the core.
    members: Vec<u32>,
    core: Factored,
    /// Whether the core has all features in their order.
    whole: bool,
    scratch: Scratch,
}

/// A clone gets scratch of its own. `clone_from` allocates nothing if the dimensions agree.
impl<const M: usize> Clone for CoreTail<M> {
    fn clone(&self) -> Self {
        Self {
            places: self.places.clone(),
            variances: self.variances.clone(),
            members: self.members.clone(),
            core: self.core.clone(),
            whole: self.whole,
            scratch: Scratch::new(self.members.len()),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.places.clone_from(&source.places);
        self.variances.clone_from(&source.variances);
        self.members.clone_from(&source.members);
        self.core.clone_from(&source.core);
        self.whole = source.whole;
        self.scratch.resize(self.members.len());
    }
}

impl<const M: usize> PartialEq for CoreTail<M> {
    fn eq(&self, other: &Self) -> bool {
        self.places.len() == other.places.len() && self.parts() == other.parts()
    }
}

impl<const M: usize> CoreTail<M> {
    /// All features in the core.
    fn all_in_core(core: Factored) -> Self {
        let dim = core.dim();
        Self {
            places: (0..dim as u32).map(|at| at | CORE).collect(),
            variances: vec![0.0; dim],
            members: (0..dim as u32).collect(),
            core,
            whole: true,
            scratch: Scratch::new(dim),
        }
    }

    /// The features of the core, in the order in which they came.
    pub fn core_features(&self) -> &[u32] {
        &self.members
    }

    /// The place of feature `j` in the core, if it is there.
    #[inline(always)]
    fn core_place(&self, j: usize) -> Option<usize> {
        let place = self.places[j];
        (place & CORE != 0).then_some((place & !CORE) as usize)
    }

    /// The features of the tail.
    fn tail(&self) -> impl Iterator<Item = usize> {
        (0..self.places.len()).filter(|&j| self.places[j] & CORE == 0)
    }

    /// Sets what follows from the members.
    fn settle(&mut self) {
        self.whole = self.members.len() == self.places.len()
            && self.members.iter().enumerate().all(|(at, &j)| at == j as usize);
        self.scratch.resize(self.members.len());
    }

    /// Moves a feature of the tail to the core.
    fn promote(&mut self, j: usize) {
        self.core.grow(self.variances[j]);
        self.variances[j] = 0.0;
        self.places[j] = self.members.len() as u32 | CORE;
        self.members.push(j as u32);
        self.settle();
    }
}

impl<const M: usize> Covariance for CoreTail<M> {
    const NAME: &'static str = "core_tail";

    fn dim(&self) -> usize {
        self.places.len()
    }

    fn variance(&self, x: &[f64]) -> f64 {
        if self.whole {
            return self.core.variance(x);
        }
        let core = self.core.variance_of(|at| x[self.members[at] as usize]);
        self.tail().fold(core, |s, j| s + self.variances[j] * x[j] * x[j])
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        match (self.core_place(i), self.core_place(j)) {
            (Some(i), Some(j)) => self.core.entry(i, j),
            (None, None) if i == j => self.variances[j],
            _ => 0.0,
        }
    }

    fn square_root(&self) -> Result<Vec<f64>> {
        let dim = self.dim();
        let size = self.members.len();
        let core = self.core.square_root()?;
        let mut factor = vec![0.0; dim * dim];
        for (column, &k) in core.chunks_exact(size.max(1)).zip(&self.members) {
            for (value, &i) in column.iter().zip(&self.members) {
                factor[k as usize * dim + i as usize] = *value;
            }
        }
        for j in self.tail() {
            factor[j * dim + j] = self.variances[j].sqrt();
        }
        Ok(factor)
    }

    fn log_det(&self) -> Result<f64> {
        Ok(self.tail().fold(self.core.log_det()?, |sum, j| sum + self.variances[j].ln()))
    }
}

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
