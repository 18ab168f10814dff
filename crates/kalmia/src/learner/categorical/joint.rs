//! The joint belief about all classes that exact sums give, and the learner that starts from it.

use super::Categorical;
use super::member::Member;
use super::mixture::Mixture;
use crate::covariance::{Factored, FactoredBelief, Kernel};
use crate::error::{Error, Result, require, require_len};
use crate::learner::PriorPrecision;
use crate::learner::auto::DriftMode;
use crate::learner::auto::member_prior::{PRIOR_SIZES, PRIOR_WEIGHTS};
use crate::linalg::{Buffer, cholesky_lower};
use serde::{Deserialize, Serialize};

/// The share of the variance that a polished member believes, if there are three classes or more.
/// Its belief is around the mode, and the probabilities there are those of a batch fit. Averaged
/// over all of the variance they would be far too cautious where classes are easy to tell apart: on
/// digits the held-out loss would nearly double.
const POLISHED_SHARE: f64 = 0.02;

/// The covariance of the coefficients of each class against class 0, class after class. It holds
/// until the next row, because members keep a belief per class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Joint {
    dim: usize,
    /// The lower triangle, row after row.
    #[serde(with = "crate::covariance::packed")]
    lower: Vec<f64>,
}

impl Joint {
    /// From a symmetric matrix, row after row.
    fn new(dim: usize, size: usize, matrix: &[f64]) -> Self {
        let lower = (0..size).flat_map(|i| &matrix[i * size..][..=i]).copied().collect();
        Self { dim, lower }
    }

    /// Checks a restored value.
    pub fn check(&self, classes: usize, dim: usize) -> Result<()> {
        let size = dim * (classes - 1);
        require_len("features", self.dim, dim)?;
        require_len("joint", self.lower.len(), size * (size + 1) / 2)?;
        self.lower.iter().try_for_each(|&v| require(v.is_finite(), "joint", v, "must be finite"))
    }

    /// An entry of the covariance between features `i` of class `k` and `j` of class `l`; 0 if one
    /// is class 0, which is compared with itself.
    fn entry(&self, k: usize, i: usize, l: usize, j: usize) -> f64 {
        if k == 0 || l == 0 {
            return 0.0;
        }
        let a = (k - 1) * self.dim + i;
        let b = (l - 1) * self.dim + j;
        let (row, column) = if a < b { (b, a) } else { (a, b) };
        self.lower[row * (row + 1) / 2 + column]
    }

    /// The covariance of the differences of some classes from another, class after class.
    pub fn of_differences(&self, classes: &[usize], reference: usize) -> Vec<f64> {
        let dim = self.dim;
        let size = dim * classes.len();
        let entry = |at: usize| {
            let (row, column) = (at / size, at % size);
            let (k, l) = (classes[row / dim], classes[column / dim]);
            let (i, j) = (row % dim, column % dim);
            let own = self.entry(k, i, l, j) + self.entry(reference, i, reference, j);
            own - self.entry(k, i, reference, j) - self.entry(reference, i, l, j)
        };
        let mut matrix: Vec<f64> = (0..size * size).map(entry).collect();
        symmetrize(&mut matrix, size);
        matrix
    }

    /// The lower triangular root, column after column.
    pub fn root(&self, classes: usize) -> Result<Vec<f64>> {
        let size = self.dim * (classes - 1);
        let mut root = vec![0.0; size * size];
        let mut lower = self.lower.iter();
        for i in 0..size {
            for (j, &entry) in (0..=i).zip(&mut lower) {
                root[j * size + i] = entry;
            }
        }
        cholesky_lower(&mut root, size, "covariance")?;
        Ok(root)
    }
}

/// Rounding may differ between the two halves.
fn symmetrize(matrix: &mut [f64], dim: usize) {
    for i in 0..dim {
        for j in 0..i {
            let mean = 0.5 * (matrix[i * dim + j] + matrix[j * dim + i]);
            matrix[i * dim + j] = mean;
            matrix[j * dim + i] = mean;
        }
    }
}

impl Categorical {
    /// Refuses a learner that follows a drift.
    pub(super) fn require_static(&self) -> Result<()> {
        if self.is_following() || self.drift == DriftMode::Adapt {
            return Err(Error::State(
                "learners that follow a drift cannot be merged or polished: the order of their \
                 rows matters"
                    .into(),
            ));
        }
        Ok(())
    }

    /// The heaviest member, the first of several.
    pub(super) fn best(&self) -> &Member {
        let members = &self.mixture.members;
        let heaviest = members.iter().map(|member| member.standing.weight).fold(0.0, f64::max);
        members.iter().find(|member| member.standing.weight == heaviest).unwrap_or(&members[0])
    }

    /// After a second look: the member whose prior predicted the rows best in one pass. Weights
    /// then show which belief predicts best, and under wide priors the most probable coefficients
    /// do not.
    fn best_looked(&self) -> Option<&Member> {
        let looked = self.mixture.members.iter().filter_map(|member| {
            let size = PRIOR_SIZES.iter().position(|&size| size == member.prior_size);
            let prior = size.map_or(0.0, |at| PRIOR_WEIGHTS[at].ln());
            Some((member, member.prior_evidence? + prior))
        });
        looked.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(member, _)| member)
    }

    /// The member with the prior of a polish.
    fn best_prior(&self) -> &Member {
        self.best_looked().unwrap_or_else(|| self.best())
    }

    /// The coefficients to start a polish from, of each class against class 0, class after class.
    /// After a second look they are those of the member with the prior of the polish: under wider
    /// priors means are far from the most probable coefficients.
    pub fn polishing_start(&self) -> Vec<f64> {
        let Some(Member { blocks, .. }) = self.best_looked() else {
            return self.coefficients_against_first();
        };
        let first = blocks[0].coefficients();
        let others = blocks.iter().skip(1);
        others.flat_map(|own| own.coefficients().iter().zip(first).map(|(a, b)| a - b)).collect()
    }

    /// The coefficients of each class against class 0, class after class.
    pub fn coefficients_against_first(&self) -> Vec<f64> {
        let members = &self.mixture.members;
        let difference = |at: usize| {
            let class = 1 + at / self.dim;
            let j = at % self.dim;
            members
                .iter()
                .map(|m| m.standing.weight * (m.blocks[class].theta[j] - m.blocks[0].theta[j]))
                .sum()
        };
        (0..(self.classes - 1) * self.dim).map(difference).collect()
    }

    /// The prior that predicted best, about the coefficients of each class. Refuses fewer than two
    /// classes, and a learner that follows a drift.
    pub(crate) fn fitted_prior(&self) -> Result<PriorPrecision> {
        require(self.classes > 1, "classes", self.classes as f64, "must be at least 2")?;
        self.require_static()?;
        let best = self.best_prior();
        self.prior_precision(best.prior_size, best.basis)
    }

    /// One member with this belief about the coefficients of each class against class 0, and the
    /// prior that predicted best.
    ///
    /// The blocks have the covariance of the coefficients less their mean over the classes, times
    /// $K/(K-1)$. So differences have the joint variance if all classes are alike, and always if
    /// there are two.
    pub(crate) fn with_joint(
        mut self,
        against_first: &[f64],
        covariance: &[f64],
        rows: u64,
    ) -> Result<Self> {
        self.require_static()?;
        let best = self.best_prior();
        let size = best.prior_size;
        let basis = best.basis;
        let means = centered_means(against_first, self.dim);
        let blocks = centered_covariances(covariance, self.dim, self.classes);
        let blocks = means.iter().zip(blocks).map(|(mean, covariance)| {
            Ok(FactoredBelief {
                theta: Buffer::from_slice(mean),
                covariance: Factored::from_matrix(&covariance, self.dim)?,
            })
        });
        let mut member = Member::new(size, basis, blocks.collect::<Result<_>>()?);
        if self.classes > 2 {
            member.variance_share = POLISHED_SHARE;
        }
        self.joint = Some(Joint::new(self.dim, against_first.len(), covariance));
        // its weight is 1
        self.become_static(Mixture::with_weights(vec![member]), rows);
        Ok(self)
    }

    /// The learner with another drift mode, which begins to watch now. Refuses a learner that
    /// follows a drift already.
    pub fn with_drift_mode(mut self, drift: DriftMode) -> Result<Self> {
        if self.is_following() && drift != self.drift {
            return Err(Error::State(
                "the learner follows a drift already; its mode cannot change".into(),
            ));
        }
        if drift != self.drift {
            self.drift = drift;
            self.mixture.watch = None;
            if self.warm_up.is_none() {
                self.start_watch();
            }
        }
        Ok(self)
    }

    /// Takes members from elsewhere, after `rows` rows.
    pub(super) fn become_static(&mut self, mixture: Mixture, rows: u64) {
        self.mixture = mixture;
        self.warm_up = None;
        self.remembered = None;
        self.follows_from = None;
        self.count = rows;
        self.start_watch();
    }
}

/// The coefficients of all classes, which add up to 0, from those against class 0.
fn centered_means(against_first: &[f64], dim: usize) -> Vec<Vec<f64>> {
    let classes = (against_first.len() / dim + 1) as f64;
    let mean = |j: usize| against_first.iter().skip(j).step_by(dim).sum::<f64>() / classes;
    let first: Vec<f64> = (0..dim).map(|j| -mean(j)).collect();
    let others = against_first
        .chunks_exact(dim)
        .map(|own| own.iter().zip(&first).map(|(own, first)| own + first).collect());
    std::iter::once(first.clone()).chain(others).collect()
}

/// $K/(K-1)$ times the covariance of the coefficients of each class less the mean of all, from that
/// of the coefficients against class 0.
fn centered_covariances(covariance: &[f64], dim: usize, classes: usize) -> Vec<Vec<f64>> {
    let others = classes - 1;
    let size = others * dim;
    let count = classes as f64;
    // with the sum over all classes: of each, and of all
    let mut with_sum = vec![vec![0.0; dim * dim]; others];
    let mut of_sum = vec![0.0; dim * dim];
    for (at, row) in covariance.chunks_exact(size).enumerate() {
        let i = at % dim;
        let own = &mut with_sum[at / dim][i * dim..][..dim];
        for block in row.chunks_exact(dim) {
            own.iter_mut().zip(block).for_each(|(sum, entry)| *sum += entry);
        }
        let own = &with_sum[at / dim][i * dim..][..dim];
        of_sum[i * dim..][..dim].iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let factor = count / (count - 1.0);
    let mut found: Vec<Vec<f64>> =
        vec![of_sum.iter().map(|sum| factor * sum / (count * count)).collect()];
    for (k, with_sum) in with_sum.iter().enumerate() {
        let entry = |at: usize| {
            let i = at / dim;
            let j = at % dim;
            let own = covariance[(k * dim + i) * size + k * dim + j];
            let shared = (with_sum[i * dim + j] + with_sum[j * dim + i]) / count;
            factor * (own - shared + of_sum[at] / (count * count))
        };
        found.push((0..dim * dim).map(entry).collect());
    }
    for matrix in &mut found {
        symmetrize(matrix, dim);
    }
    found
}
