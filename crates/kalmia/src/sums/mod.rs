//! Exact sums over rows at fixed coefficients, the Newton step that they allow, and the merge of
//! many beliefs: what a cluster, or a second pass, needs.
//!
//! The layer stands above `learner`: it takes the prior that a learner started from, the beliefs
//! that learners have, and the type of their merges; no learner needs it.

mod belief;
mod class_polish;
mod class_sums;
mod class_terms;
mod driver;
mod newton;
mod polish;
mod row_terms;
mod state;
mod totals;
mod triangle;

pub use crate::learner::{Heterogeneity, MergedMany, PriorPrecision};
pub use belief::{Belief, Pooled, merge_many};
pub use class_polish::polish_classes;
pub use class_sums::{ClassSums, ClassSumsState, MAX_CLASS_COEFFICIENTS};
pub use driver::{Next, Polish};
pub use polish::{Moved, Polished, polish};
pub use state::SumsState;

use crate::error::{Error, Result, require, require_len};
use crate::family::{Family, FastPaths};
use crate::learner::Merged;
use crate::linalg::{Threads, require_memory};
use crate::rows::{MAX_FEATURE, Rows};
use crate::sparse::SparseRows;
use row_terms::{Kind, RowTerms, Worker};
use totals::{Scalars, Totals, refuse_unlike};
use triangle::{PIECE_ROWS, Triangle};

/// Sparse rows are written out as dense ones in pieces of about so many numbers.
const MAX_DENSIFIED: usize = 1 << 20;
/// Least work of a core that is worth its start, in operations.
const MIN_SHARE_WORK: usize = 4_000_000;
/// Operations that a row costs beside the products.
const ROW_WORK: usize = 200;
/// Most memory that all cores take for sums of their own, in bytes.
const MAX_WORKER_BYTES: usize = 1 << 30;

/// Sums over rows at fixed coefficients $\theta$: gradient $\sum w\ell'x$, information $\sum
/// w\ell''xx^\top$, deviance, Pearson's statistic, weights and rows, and on request the squared
/// scores $\sum w^2\ell'^2xx^\top$.
///
/// They add **exactly** for every family, so sums over the parts of a data set can be made on
/// several machines and [merged](Self::merge). [`polish`] turns them into the Newton step.
///
/// # Precision
///
/// How rows are cut into calls, parts and cores changes only rounding. A block of 4096 rows is a
/// matrix product; blocks, parts and merges are added with compensation, so the error does not
/// grow with the number of rows. Two ways to cut the same rows agree to $10^{-12}$ of the sum of
/// the sizes of the terms: for an entry $(j,k)$ of the information that is at most $\sqrt{I_{jj}
/// I_{kk}}$, for the gradient $\sum|w\ell'x_j|$. A gradient near the maximum is a small difference
/// of large numbers, and has fewer significant digits than that.
///
/// ```
/// use kalmia::sums::{PriorPrecision, Sums, polish};
/// use kalmia::{Gaussian, Rows};
///
/// // y = 1 + 2x, on two machines
/// let mut here = Sums::new(Gaussian::default(), &[0.0, 0.0])?;
/// here.add(Rows::new(2, &[1.0, 0.0, 1.0, 1.0], &[1.0, 3.0])?)?;
/// let mut there = Sums::new(Gaussian::default(), &[0.0, 0.0])?;
/// there.add(Rows::new(2, &[1.0, 2.0], &[5.0])?)?;
/// assert!(here.merge(&there)?.is_exact());
///
/// let fit = polish(&PriorPrecision::flat(2), &here)?;
/// assert!((fit.coefficients()[1] - 2.0).abs() < 1e-12);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sums<F> {
    family: F,
    theta: Vec<f64>,
    kind: Kind,
    with_scores: bool,
    threads: Threads,
    scalars: Scalars,
    /// One per core that was used so far; at least one.
    workers: Vec<Worker>,
    /// Scratch: what each row of a call adds.
    terms: RowTerms,
    /// Scratch: rows written out as dense ones.
    dense: Vec<f64>,
}

impl<F: Family> Sums<F> {
    /// No rows yet. `theta` must be finite, at most 1e120 in size.
    pub fn new(family: F, theta: &[f64]) -> Result<Self> {
        if !family.fast().smooth() {
            return Err(Error::Choice {
                name: "family",
                value: family.name().to_owned(),
                expected: "a family with a smooth loss: Newton's method cannot polish a quantile",
            });
        }
        for &value in theta {
            let legal = value.abs() <= MAX_FEATURE;
            require(legal, "theta", value, "must be finite, at most 1e120 in size")?;
        }
        require_memory(Triangle::bytes(theta.len()))?;
        Ok(Self {
            kind: Kind::of(&family),
            family,
            theta: theta.to_vec(),
            with_scores: false,
            threads: Threads::all(),
            scalars: Scalars::default(),
            workers: vec![Worker::new(Totals::zeros(theta.len(), false))],
            terms: RowTerms::default(),
            dense: Vec::new(),
        })
    }

    /// With the sum of squared scores, which [`Polished::robust_covariance`] needs. It costs a
    /// second matrix product per row. Refused once there are rows.
    pub fn with_scores(mut self) -> Result<Self> {
        if self.rows() > 0 {
            return Err(Error::State(
                "squared scores must be asked for before the first row".into(),
            ));
        }
        require_memory(Triangle::bytes(self.dim()))?;
        self.with_scores = true;
        self.workers = vec![Worker::new(Totals::zeros(self.dim(), true))];
        Ok(self)
    }

    /// With at most this many cores; 0 counts as 1. The default is all cores. Only rounding depends
    /// on it.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// The family.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The coefficients at which the sums are taken.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.theta.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.scalars.rows
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.scalars.weight()
    }

    /// $2\varphi\sum w\,(\ell(y,u) - \min_v\ell(y,v))$ with the family's dispersion $\varphi$ (1 if
    /// it has none), as [`deviance`](crate::evaluate::deviance) of the means.
    pub fn deviance(&self) -> f64 {
        self.scalars.deviance()
    }

    /// Pearson's statistic $\sum w\,(y-\mu)^2/V(\mu)$ at dispersion 1; 0 for labels, whose
    /// dispersion is not estimated.
    pub fn pearson(&self) -> f64 {
        self.scalars.pearson()
    }

    /// $\sum w\,\ell'(y,u)\,x$.
    pub fn gradient(&self) -> Vec<f64> {
        Totals::gradient_of(self.dim(), self.totals())
    }

    /// $\sum w\,\ell''(y,u)\,xx^\top$, row after row.
    pub fn information(&self) -> Vec<f64> {
        triangle::unpacked(&self.packed_information(), self.dim())
    }

    /// $\sum w^2\ell'(y,u)^2\,xx^\top$, row after row; `None` without
    /// [`with_scores`](Self::with_scores).
    pub fn squared_scores(&self) -> Option<Vec<f64>> {
        self.with_scores.then(|| triangle::unpacked(&self.packed_scores(), self.dim()))
    }

    fn packed_information(&self) -> Vec<f64> {
        Totals::information_of(self.dim(), self.totals())
    }

    /// Empty without scores.
    fn packed_scores(&self) -> Vec<f64> {
        if !self.with_scores {
            return Vec::new();
        }
        Totals::scores_of(self.dim(), self.totals())
    }

    fn totals(&self) -> impl Iterator<Item = &Totals> {
        self.workers.iter().map(|worker| &worker.totals)
    }

    /// Adds rows. A batch with an illegal row is refused as a whole, and so is one with numbers so
    /// large that a sum could overflow. After a first batch of the same size, a batch on one core
    /// allocates nothing but what `gemm` takes for each product.
    pub fn add(&mut self, rows: Rows<'_>) -> Result<()> {
        require_len("row", rows.dim(), self.dim())?;
        if rows.is_empty() {
            return Ok(());
        }
        let shares = self.shares(rows.len());
        while self.workers.len() < shares {
            self.workers.push(Worker::new(Totals::zeros(self.dim(), self.with_scores)));
        }
        let share_rows = rows.len().div_ceil(shares).next_multiple_of(PIECE_ROWS);
        let Self { family, theta, kind, with_scores, workers, terms, .. } = self;
        terms.reserve(rows.len());
        // first what each row adds, where a row may be refused; then the sums, which cannot fail
        let threads = if shares == 1 { Threads::ONE } else { self.threads };
        let parts = workers.iter_mut().zip(terms.shares(rows.len(), share_rows));
        threads.each(parts, |(worker, terms)| {
            let rows = rows.slice(terms.range.clone());
            worker.outcome = terms.fill(family, theta, *kind, *with_scores, rows);
        });
        let used = rows.len().div_ceil(share_rows).min(workers.len());
        let mut added = Scalars::default();
        for worker in &mut workers[..used] {
            added.absorb(&std::mem::replace(&mut worker.outcome, Ok(Scalars::default()))?);
        }
        let parts = workers.iter_mut().zip(terms.shares(rows.len(), share_rows));
        threads.each(parts, |(worker, terms)| {
            worker.add(rows.slice(terms.range.clone()), &terms);
        });
        self.scalars.absorb(&added);
        Ok(())
    }

    /// Cores that so many rows are worth.
    fn shares(&self, rows: usize) -> usize {
        let products = self.dim() * self.dim() * (1 + usize::from(self.with_scores));
        let work = rows.saturating_mul(products + ROW_WORK);
        let matrices = Triangle::bytes(self.dim()) * (1 + usize::from(self.with_scores));
        let fitting = MAX_WORKER_BYTES / matrices.max(1);
        self.threads.count().min(work / MIN_SHARE_WORK).min(fitting).max(1)
    }

    /// Adds sparse rows, written out as dense ones in pieces of at most 8 MB. An illegal row is
    /// refused before the first piece; a batch with numbers so large that a sum could overflow is
    /// refused as a whole, too.
    pub fn add_sparse(&mut self, rows: SparseRows<'_>) -> Result<()> {
        rows.features().check(self.dim() as u64)?;
        rows.observations().check_observations(&self.family)?;
        let piece = (MAX_DENSIFIED / self.dim().max(1)).clamp(1, rows.len().max(1));
        // a piece can still be refused for its size, after others were added
        let undo = (rows.len() > piece).then(|| (self.workers.clone(), self.scalars.clone()));
        let mut dense = std::mem::take(&mut self.dense);
        let mut result = Ok(());
        for first in (0..rows.len()).step_by(piece) {
            let range = first..rows.len().min(first + piece);
            dense.clear();
            dense.resize(range.len() * self.dim(), 0.0);
            for (i, x) in range.clone().zip(dense.chunks_exact_mut(self.dim().max(1))) {
                rows.x(i).iter().for_each(|(j, value)| x[j as usize] = value);
            }
            let piece = rows.observations().slice(range).with_dense(self.dim(), &dense);
            result = piece.and_then(|rows| self.add(rows)).map_err(|e| e.after_rows(first));
            if result.is_err() {
                break;
            }
        }
        self.dense = dense;
        if result.is_err()
            && let Some((workers, scalars)) = undo
        {
            self.workers = workers;
            self.scalars = scalars;
        }
        result
    }
}

impl<F: Family + PartialEq> Sums<F> {
    /// Adds the sums over other rows, which is exact for every family: equal, to rounding, to the
    /// sums over all rows. Refused with [`Error::State`] if the coefficients, the family or the
    /// squared scores differ.
    pub fn merge(&mut self, other: &Self) -> Result<Merged<()>> {
        let differs = if self.dim() != other.dim() {
            Some(format!("have {} and {} coefficients", self.dim(), other.dim()))
        } else if self.family != other.family {
            Some(format!("are of the families {:?} and {:?}", self.family, other.family))
        } else if let Some(j) = (0..self.dim()).find(|&j| self.theta[j] != other.theta[j]) {
            let (a, b) = (self.theta[j], other.theta[j]);
            Some(format!("are at different coefficients: feature {j} has {a:?} and {b:?}"))
        } else if self.with_scores != other.with_scores {
            Some("differ in whether they have squared scores".into())
        } else {
            None
        };
        refuse_unlike(differs)?;
        for worker in &other.workers {
            self.workers[0].totals.absorb(&worker.totals);
        }
        self.scalars.absorb(&other.scalars);
        Ok(Merged::Exact(()))
    }
}
