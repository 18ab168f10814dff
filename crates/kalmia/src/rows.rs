//! A batch of rows as the learners see it: row-major features with targets, weights and offsets.

use crate::error::{Error, Result, require_len};
use crate::family::Family;

/// Largest feature accepted, so that $x^\top P x$ stays finite.
pub const LARGEST: f64 = 1e120;

/// Numbers up to this size cannot overflow a recursion whose rule is safe.
pub(crate) const MODERATE: f64 = 1e30;

/// What is observed in one row beside its features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The target, in the family's canonical coding (see [`Family::canonical`]).
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

    /// $(w\,\ell'(y, m+o),\; w\,\ell''(y, m+o))$.
    #[inline(always)]
    pub fn derivatives<F: Family>(&self, family: &F, m: f64) -> (f64, f64) {
        let (first, second) = family.derivatives(self.y, m + self.offset);
        (self.weight * first, self.weight * second)
    }

    /// $w\,\ell(y, m+o)$.
    #[inline(always)]
    pub fn loss<F: Family>(&self, family: &F, m: f64) -> f64 {
        self.weight * family.loss(self.y, m + self.offset)
    }
}

/// Where the first number stands that is not finite or larger than `limit`. Whole runs are judged
/// without a branch, in SIMD.
fn first_beyond(limit: f64, x: &[f64]) -> Option<usize> {
    let beyond = |v: &f64| v.is_nan() || v.abs() > limit;
    let run = pulp::Arch::new().dispatch(FirstRun { limit, x })?;
    x[RUN * run..].iter().position(beyond).map(|at| RUN * run + at)
}

/// Numbers judged at once.
const RUN: usize = 64;

/// The first run of numbers with one beyond the limit.
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
    match first_beyond(LARGEST, x) {
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

    /// Whether there is no row.
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

    /// Checks every number of every row, so that a batch is refused before anything is learned from
    /// it.
    pub fn validate<F: Family>(&self, family: &F, dim: usize) -> Result<()> {
        self.check(family, dim).map(|_| ())
    }

    /// [`Rows::validate`], and whether all numbers are of moderate size, at most $10^{30}$.
    pub(crate) fn check<F: Family>(&self, family: &F, dim: usize) -> Result<bool> {
        require_len("row", self.dim, dim)?;
        let moderate = |values: &[f64]| first_beyond(MODERATE, values).is_none();
        let mut all = moderate(self.x);
        if !all && let Some(at) = first_beyond(LARGEST, self.x) {
            return Err(Error::Feature {
                row: at / self.dim,
                column: at % self.dim,
                value: self.x[at],
            });
        }
        for (row, &value) in self.y.iter().enumerate() {
            if family.canonical(value).is_none() {
                return Err(Error::Target {
                    row,
                    value,
                    family: family.name(),
                    expected: family.domain(),
                });
            }
        }
        let bad = |values: Option<&[f64]>, legal: fn(f64) -> bool| {
            values.and_then(|v| v.iter().position(|&v| !legal(v)).map(|row| (row, v[row])))
        };
        if let Some((row, value)) = bad(self.weight, |w| w.is_finite() && w >= 0.0) {
            return Err(Error::RowExtra {
                row,
                name: "weight",
                value,
                expected: "a finite number, 0 or more",
            });
        }
        if let Some((row, value)) = bad(self.offset, |o| o.abs() <= LARGEST) {
            return Err(Error::RowExtra {
                row,
                name: "offset",
                value,
                expected: "a finite number",
            });
        }
        all &= moderate(self.y)
            && self.weight.is_none_or(moderate)
            && self.offset.is_none_or(moderate);
        Ok(all)
    }
}
