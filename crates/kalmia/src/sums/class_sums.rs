//! Exact sums over rows of several classes at fixed coefficients.

use super::class_terms::ClassWorker;
use super::row_terms::MAX_TERM;
use super::totals::{Scalars, Totals, refuse_unlike};
use super::triangle::{self, PIECE_ROWS, Triangle};
use super::{MAX_WORKER_BYTES, MIN_SHARE_WORK};
use crate::error::{Error, Result, require, require_len};
use crate::learner::{Merged, check_class_rows};
use crate::linalg::{Threads, require_memory};
use crate::rows::{MAX_FEATURE, Rows};
use serde::{Deserialize, Serialize};

/// Most coefficients of all classes but one. More would take gigabytes and a Newton step of
/// minutes.
pub const MAX_CLASS_COEFFICIENTS: usize = 6000;

/// As [`Sums`](super::Sums), for several classes: gradient, information and deviance of the softmax
/// likelihood at fixed coefficients, and on request the squared scores.
///
/// Rows determine differences between classes only. So the coefficients are those of each class
/// against class 0, class after class: $(K-1)d$ of them for $K$ classes of $d$ features. The
/// information is the square matrix of all of them, with the blocks
/// $\sum w\,p_k(\delta_{kl}-p_l)\,xx^\top$.
///
/// Sums add **exactly**, whatever the parts and their order, and have the precision of
/// [`Sums`](super::Sums). A row costs about $((K-1)d)^2$ operations.
///
/// ```
/// use kalmia::sums::{ClassSums, Next, Polish, PriorPrecision};
/// use kalmia::Rows;
///
/// // the shares of three classes: 1, 2 and 3 of 6 rows
/// let y = [0.0, 1.0, 1.0, 2.0, 2.0, 2.0];
/// let mut newton = Polish::new(PriorPrecision::flat(2));
/// let mut theta = vec![0.0, 0.0];
/// let fit = loop {
///     let mut sums = ClassSums::new(3, &theta)?;
///     sums.add(Rows::new(1, &[1.0; 6], &y)?)?;
///     match newton.step_classes(&sums)? {
///         Next::Again(next) => theta = next,
///         Next::Done(fit) => break fit,
///     }
/// };
/// assert!((fit.coefficients()[0] - 2f64.ln()).abs() < 1e-6);
/// assert!((fit.coefficients()[1] - 3f64.ln()).abs() < 1e-6);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClassSums {
    classes: usize,
    theta: Vec<f64>,
    with_scores: bool,
    threads: Threads,
    scalars: Scalars,
    /// One per core that was used so far; at least one.
    workers: Vec<ClassWorker>,
}

/// Everything that [`ClassSums`] need to be merged or continued elsewhere; as
/// [`SumsState`](super::SumsState).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassSumsState {
    /// Number of classes.
    pub classes: usize,
    /// $\theta$: the coefficients of each class but the first.
    pub theta: Vec<f64>,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the weights.
    pub weight: f64,
    /// The deviance.
    pub deviance: f64,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// The lower triangle of the information, column after column.
    #[serde(with = "crate::covariance::packed")]
    pub information: Vec<f64>,
    /// The lower triangle of the squared scores, or empty.
    #[serde(with = "crate::covariance::packed")]
    pub squared_scores: Vec<f64>,
}

impl ClassSums {
    /// No rows yet. `theta` has the coefficients of classes 1, 2 and so on against class 0, equally
    /// many for each, finite and at most 1e120 in size. Refuses fewer than two classes, and more
    /// than [`MAX_CLASS_COEFFICIENTS`] coefficients.
    pub fn new(classes: usize, theta: &[f64]) -> Result<Self> {
        require(classes > 1, "classes", classes as f64, "must be at least 2")?;
        let dim = theta.len() / (classes - 1);
        require_len("theta", theta.len(), dim.max(1) * (classes - 1))?;
        require_class_coefficients(classes, dim)?;
        for &value in theta {
            let legal = value.abs() <= MAX_FEATURE;
            require(legal, "theta", value, "must be finite, at most 1e120 in size")?;
        }
        require_memory(Triangle::bytes(theta.len()))?;
        Ok(Self {
            classes,
            theta: theta.to_vec(),
            with_scores: false,
            threads: Threads::all(),
            scalars: Scalars::default(),
            workers: vec![ClassWorker::new(Totals::zeros(theta.len(), false), classes - 1)],
        })
    }

    /// With the sum of squared scores; as [`Sums::with_scores`](super::Sums::with_scores).
    pub fn with_scores(mut self) -> Result<Self> {
        if self.rows() > 0 {
            return Err(Error::State(
                "squared scores must be asked for before the first row".into(),
            ));
        }
        require_memory(Triangle::bytes(self.theta.len()))?;
        self.with_scores = true;
        self.workers = vec![self.empty_worker()];
        Ok(self)
    }

    /// With at most this many cores; 0 counts as 1. The default is all cores. Only rounding depends
    /// on it.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads).unwrap_or(Threads::ONE);
        self
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.theta.len() / (self.classes - 1)
    }

    /// The coefficients at which the sums are taken, of each class but the first.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.scalars().rows
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.scalars().weight()
    }

    /// $-2\sum w\ln p$ of the rows' classes.
    pub fn deviance(&self) -> f64 {
        self.scalars().deviance()
    }

    /// $\sum w\,(p_k-y_k)\,x$, class after class.
    pub fn gradient(&self) -> Vec<f64> {
        Totals::gradient_of(self.theta.len(), self.totals())
    }

    /// $\sum w\,p_k(\delta_{kl}-p_l)\,xx^\top$, row after row of the matrix of all coefficients.
    pub fn information(&self) -> Vec<f64> {
        let packed = Totals::information_of(self.theta.len(), self.totals());
        triangle::unpacked(&packed, self.theta.len())
    }

    /// $\sum w^2(p_k-y_k)(p_l-y_l)\,xx^\top$, row after row; `None` without
    /// [`with_scores`](Self::with_scores).
    pub fn squared_scores(&self) -> Option<Vec<f64>> {
        self.with_scores.then(|| triangle::unpacked(&self.packed_scores(), self.theta.len()))
    }

    /// Empty without scores.
    fn packed_scores(&self) -> Vec<f64> {
        if !self.with_scores {
            return Vec::new();
        }
        Totals::scores_of(self.theta.len(), self.totals())
    }

    pub(super) fn scalars(&self) -> Scalars {
        let mut total = self.scalars.clone();
        self.workers.iter().for_each(|worker| total.absorb(&worker.scalars));
        total
    }

    fn totals(&self) -> impl Iterator<Item = &Totals> {
        self.workers.iter().map(|worker| &worker.totals)
    }

    fn empty_worker(&self) -> ClassWorker {
        let totals = Totals::zeros(self.theta.len(), self.with_scores);
        ClassWorker::new(totals, self.classes - 1)
    }

    /// Adds rows, whose targets are indices of classes. Offsets must be 0. A batch with an illegal
    /// row is refused as a whole. After the first batch, one core allocates nothing but what `gemm`
    /// takes for each product.
    pub fn add(&mut self, rows: Rows<'_>) -> Result<()> {
        let remedy = "sums are over the classes that they were made for";
        let moderate = check_class_rows(&rows, self.dim(), self.classes, remedy)?;
        if self.with_scores && !moderate {
            require_summable(&rows)?;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let shares = self.shares(rows.len());
        while self.workers.len() < shares {
            self.workers.push(self.empty_worker());
        }
        let share_rows = rows.len().div_ceil(shares).next_multiple_of(PIECE_ROWS);
        let theta = &self.theta;
        let threads = if shares == 1 { Threads::ONE } else { self.threads };
        let parts = self.workers.iter_mut().zip((0..rows.len()).step_by(share_rows));
        threads.each(parts, |(worker, first)| {
            worker.add(theta, rows.slice(first..rows.len().min(first + share_rows)));
        });
        Ok(())
    }

    /// Cores that so many rows are worth.
    fn shares(&self, rows: usize) -> usize {
        let matrices = 1 + usize::from(self.with_scores);
        let work = rows.saturating_mul(self.theta.len() * self.theta.len() * matrices);
        let fitting = MAX_WORKER_BYTES / (Triangle::bytes(self.theta.len()) * matrices).max(1);
        self.threads.count().min(work / MIN_SHARE_WORK).min(fitting).max(1)
    }

    /// Adds the sums over other rows, which is exact: equal, to rounding, to the sums over all
    /// rows. Refused with [`Error::State`] if the classes, the coefficients or the squared scores
    /// differ.
    pub fn merge(&mut self, other: &Self) -> Result<Merged<()>> {
        let differs = if self.classes != other.classes {
            Some(format!("are of {} and {} classes", self.classes, other.classes))
        } else if self.theta != other.theta {
            Some("are at different coefficients".into())
        } else if self.with_scores != other.with_scores {
            Some("differ in whether they have squared scores".into())
        } else {
            None
        };
        refuse_unlike(differs)?;
        for worker in &other.workers {
            self.workers[0].totals.absorb(&worker.totals);
        }
        self.scalars.absorb(&other.scalars());
        Ok(Merged::Exact(()))
    }

    /// The state, to be stored or shipped.
    pub fn state(&self) -> ClassSumsState {
        ClassSumsState {
            classes: self.classes,
            theta: self.theta.clone(),
            rows: self.rows(),
            weight: self.weight(),
            deviance: self.deviance(),
            gradient: self.gradient(),
            information: Totals::information_of(self.theta.len(), self.totals()),
            squared_scores: self.packed_scores(),
        }
    }

    /// Sums that continue from a state. Refuses what [`Sums::restore`](super::Sums::restore) does.
    pub fn restore(state: ClassSumsState) -> Result<Self> {
        let mut sums = Self::new(state.classes, &state.theta)?;
        let totals = Totals::restore(
            state.theta.len(),
            &state.gradient,
            &state.information,
            &state.squared_scores,
        )?;
        sums.with_scores = totals.scores.is_some();
        let numbers = [state.weight, state.weight, state.deviance, 0.0];
        sums.scalars = Scalars::restore(state.rows, numbers)?;
        sums.workers = vec![ClassWorker::new(totals, state.classes - 1)];
        Ok(sums)
    }
}

/// Refuses more coefficients than Newton's method can take.
pub(super) fn require_class_coefficients(classes: usize, dim: usize) -> Result<()> {
    let count = dim.saturating_mul(classes - 1);
    if count <= MAX_CLASS_COEFFICIENTS {
        return Ok(());
    }
    Err(Error::State(format!(
        "{classes} classes of {dim} features have {count} coefficients of all classes but one; \
         exact sums take at most {MAX_CLASS_COEFFICIENTS}, because their information is a matrix \
         of all of them: leave features out, or keep the model of one pass"
    )))
}

/// Refuses rows whose squared scores could overflow.
fn require_summable(rows: &Rows<'_>) -> Result<()> {
    for i in 0..rows.len() {
        let score = rows.observation(i).weight * MAX_FEATURE;
        if score * score > MAX_TERM {
            let quantity = "the squared score";
            return Err(Error::Overflow { row: i, quantity, value: score * score });
        }
    }
    Ok(())
}
