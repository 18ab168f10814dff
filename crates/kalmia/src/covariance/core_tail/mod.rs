//! `P` for very many features: a covariance of the frequent ones, a variance for each of the
//! others.

mod kernel;
mod parts;
mod row;
#[cfg(test)]
mod tests;
mod undo;

use super::{Covariance, Factored, Kernel};
use crate::error::Result;
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
/// use kalmia::{Bernoulli, CoreTail, Filter, Learner, MomentMatch, Prior, SparseMatrix,
/// SparseRows};
///
/// let prior = Prior::isotropic(1_000_000, 1.0)?;
/// let mut filter: Filter<_, _, CoreTail> = Filter::with_covariance(Bernoulli, MomentMatch,
/// prior)?; let x = SparseMatrix::new(&[0, 2, 4], &[7, 90_000, 7, 999_999], &[1.0; 4])?;
/// filter.learn_sparse(SparseRows::new(x, &[1.0, 0.0])?)?; assert!(filter.coefficients()[90_000] >
/// 0.0);
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
