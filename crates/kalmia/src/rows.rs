//! A borrowed batch of rows: row-major features with targets, weights and offsets.

use crate::error::{Error, Result, require_len};

/// Largest absolute value of a feature, a target or an offset: $x^\top P x$ then stays finite.
pub const MAX_FEATURE: f64 = 1e120;

/// Largest weight of a row: as many rows as this, or exposures and precisions of any unit. Above it
/// the information that a row adds would overflow.
pub const MAX_WEIGHT: f64 = 1e30;

/// Largest absolute value that cannot overflow a recursion whose rule is safe.
pub(crate) const MAX_MODERATE: f64 = 1e30;

/// What is observed in one row beside its features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The target, in the family's canonical coding.
    pub y: f64,
    /// Multiplies the loss.
    pub weight: f64,
    /// Added to the linear predictor.
    pub offset: f64,
}

impl Observation {
    /// A row of weight 1 and offset 0.
    pub fn new(y: f64) -> Self {
        Self { y, weight: 1.0, offset: 0.0 }
    }
}

/// The index of the first number that is NaN or above `limit` in size. Whole runs are checked
/// without a branch, in SIMD. A single row is done before the instructions would be chosen.
#[inline]
pub(crate) fn first_beyond(limit: f64, x: &[f64]) -> Option<usize> {
    let beyond = |v: &f64| v.is_nan() || v.abs() > limit;
    if x.len() < RUN {
        let within = x.iter().fold(true, |all, v| all & (v.abs() <= limit));
        return if within { None } else { x.iter().position(beyond) };
    }
    let run = crate::math::arch().dispatch(FirstRun { limit, x })?;
    x[RUN * run..].iter().position(beyond).map(|at| RUN * run + at)
}

/// Numbers checked at once.
const RUN: usize = 64;

/// The search for the first run that has a number beyond the limit.
struct FirstRun<'a> {
    limit: f64,
    x: &'a [f64],
}

impl pulp::WithSimd for FirstRun<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Option<usize> {
        for (i, run) in self.x.chunks(RUN).enumerate() {
            let mut all = true;
            for v in run {
                all &= v.abs() <= self.limit;
            }
            if !all {
                return Some(i);
            }
        }
        None
    }
}

/// Checks the features of one row.
pub(crate) fn check_features(x: &[f64], dim: usize) -> Result<()> {
    require_len("x", x.len(), dim)?;
    match first_beyond(MAX_FEATURE, x) {
        Some(column) => Err(Error::Feature { row: 0, column, value: x[column] }),
        None => Ok(()),
    }
}

/// Borrowed rows: `x` holds row after row, each of `dim` features.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    dim: usize,
    x: &'a [f64],
    y: &'a [f64],
    weight: Option<&'a [f64]>,
    offset: Option<&'a [f64]>,
}

impl<'a> Rows<'a> {
    /// Rows of `dim` features; `x.len()` must be `dim * y.len()`.
    pub fn new(dim: usize, x: &'a [f64], y: &'a [f64]) -> Result<Self> {
        require_len("x", x.len(), dim * y.len())?;
        Ok(Self { dim, x, y, weight: None, offset: None })
    }

    /// Targets, weights and offsets alone.
    pub(crate) fn without_features(self) -> Self {
        Self { dim: 0, x: &[], ..self }
    }

    /// The same observations with `dim` features each.
    pub(crate) fn with_dense(self, dim: usize, x: &'a [f64]) -> Result<Self> {
        require_len("x", x.len(), dim * self.y.len())?;
        Ok(Self { dim, x, ..self })
    }

    /// The same rows with other features.
    pub(crate) fn with_features(mut self, x: &'a [f64]) -> Self {
        debug_assert_eq!(x.len(), self.x.len());
        self.x = x;
        self
    }

    /// With a weight per row (multiplies the loss).
    pub fn with_weights(mut self, weight: &'a [f64]) -> Result<Self> {
        require_len("weight", weight.len(), self.y.len())?;
        self.weight = Some(weight);
        Ok(self)
    }

    /// With an offset per row (added to the linear predictor).
    pub fn with_offsets(mut self, offset: &'a [f64]) -> Result<Self> {
        require_len("offset", offset.len(), self.y.len())?;
        self.offset = Some(offset);
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All features, row after row.
    pub fn features(&self) -> &'a [f64] {
        self.x
    }

    /// The features of row `i`.
    #[inline(always)]
    pub fn x(&self, i: usize) -> &'a [f64] {
        &self.x[i * self.dim..(i + 1) * self.dim]
    }

    /// Target, weight and offset of row `i`, the target as given.
    #[inline(always)]
    pub fn observation(&self, i: usize) -> Observation {
        Observation {
            y: self.y[i],
            weight: self.weight.map_or(1.0, |w| w[i]),
            offset: self.offset.map_or(0.0, |o| o[i]),
        }
    }

    /// All targets, as given.
    pub(crate) fn targets(&self) -> &'a [f64] {
        self.y
    }

    /// All weights, if given.
    pub(crate) fn weights(&self) -> Option<&'a [f64]> {
        self.weight
    }

    /// All offsets, if given.
    pub(crate) fn offsets(&self) -> Option<&'a [f64]> {
        self.offset
    }

    /// The rows of a range.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self {
            dim: self.dim,
            x: &self.x[range.start * self.dim..range.end * self.dim],
            y: &self.y[range.clone()],
            weight: self.weight.map(|w| &w[range.clone()]),
            offset: self.offset.map(|o| &o[range.clone()]),
        }
    }
}

/// Borrowed rows to predict: features row after row, with offsets and unseen levels.
///
/// ```
/// use kalmia::{Bernoulli, Ekf, Filter, Inputs, Predict, Prior};
///
/// let filter = Filter::new(Bernoulli, Ekf, Prior::isotropic(2, 1.0)?)?;
/// let mut means = [0.0; 2];
/// filter.predict_means(Inputs::new(2, &[1.0, 0.3, 1.0, -2.0])?, &mut means)?;
/// assert!(means.iter().all(|mean| (mean - 0.5).abs() < 1e-12));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    dim: usize,
    x: &'a [f64],
    len: usize,
    offset: Option<&'a [f64]>,
    unseen: Option<&'a [u32]>,
}

impl<'a> Inputs<'a> {
    /// Rows of `dim` features, at least 1; `x.len()` must be a multiple of `dim`.
    pub fn new(dim: usize, x: &'a [f64]) -> Result<Self> {
        let len = x.len() / dim.max(1);
        require_len("x", x.len(), dim * len)?;
        Ok(Self { dim, x, len, offset: None, unseen: None })
    }

    /// `len` rows of `dim` features, which may be 0.
    pub(crate) fn of_len(dim: usize, x: &'a [f64], len: usize) -> Self {
        debug_assert_eq!(x.len(), dim * len);
        Self { dim, x, len, offset: None, unseen: None }
    }

    /// The same rows with `dim` features each, `dim` numbers per row.
    pub(crate) fn with_dense(self, dim: usize, x: &'a [f64]) -> Self {
        debug_assert_eq!(x.len(), dim * self.len);
        Self { dim, x, ..self }
    }

    /// With an offset per row (added to the linear predictor).
    pub fn with_offsets(mut self, offset: &'a [f64]) -> Result<Self> {
        require_len("offset", offset.len(), self.len)?;
        self.offset = Some(offset);
        Ok(self)
    }

    /// With the number of levels per row that no row had: each adds the prior variance of a
    /// coefficient to the linear predictor. Learners without a covariance ignore it.
    pub fn with_unseen(mut self, unseen: &'a [u32]) -> Result<Self> {
        require_len("unseen", unseen.len(), self.len)?;
        self.unseen = Some(unseen);
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// All features, row after row.
    pub fn features(&self) -> &'a [f64] {
        self.x
    }

    /// The features of row `i`.
    pub fn x(&self, i: usize) -> &'a [f64] {
        &self.x[i * self.dim..(i + 1) * self.dim]
    }

    /// The offset of row `i`.
    pub fn offset(&self, i: usize) -> f64 {
        self.offset.map_or(0.0, |offset| offset[i])
    }

    /// The number of unseen levels of row `i`.
    pub fn unseen(&self, i: usize) -> u32 {
        self.unseen.map_or(0, |unseen| unseen[i])
    }

    /// The rows of a range.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self {
            dim: self.dim,
            x: &self.x[range.start * self.dim..range.end * self.dim],
            len: range.len(),
            offset: self.offset.map(|offset| &offset[range.clone()]),
            unseen: self.unseen.map(|unseen| &unseen[range]),
        }
    }

    /// Blocks of at most `rows` rows, in order, each with the index of its first row.
    pub(crate) fn blocks(self, rows: usize) -> impl Iterator<Item = (usize, Self)> {
        let firsts = (0..self.len).step_by(rows);
        firsts.map(move |first| (first, self.slice(first..self.len.min(first + rows))))
    }

    /// Checks all features and offsets for a learner of `dim` coefficients.
    pub(crate) fn check(&self, dim: usize) -> Result<()> {
        require_len("x", self.dim, dim)?;
        if let Some(at) = first_beyond(MAX_FEATURE, self.x) {
            let row = at / self.dim;
            return Err(Error::Feature { row, column: at % self.dim, value: self.x[at] });
        }
        match self.offset.and_then(|offset| first_beyond(f64::MAX, offset)) {
            Some(at) => crate::error::require(false, "offset", self.offset(at), "must be finite"),
            None => Ok(()),
        }
    }
}
