//! What sums over rows are: the single numbers, and the vectors and matrices of one core.

use super::triangle::{Triangle, packed_len};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::linalg::{Carried, carry};

/// The sums that are single numbers. On the stack: every call makes some.
#[derive(Debug, Clone, Default)]
pub(super) struct Scalars {
    pub rows: u64,
    /// Weight, number of rows that the dispersion rests on, deviance, Pearson's statistic.
    high: [f64; 4],
    low: [f64; 4],
}

impl Scalars {
    /// From numbers of elsewhere. Refuses negative ones, and those that are not finite.
    pub fn restore(rows: u64, sums: [f64; 4]) -> Result<Self> {
        require_count("rows", rows)?;
        for value in sums {
            let legal = value >= 0.0 && value.is_finite();
            require(legal, "sums", value, "must be finite, 0 or more")?;
        }
        Ok(Self { rows, high: sums, low: [0.0; 4] })
    }

    pub fn add(&mut self, sums: &[f64; 4]) {
        carry(&mut self.high, &mut self.low, sums);
    }

    fn value(&self, i: usize) -> f64 {
        self.high[i] + self.low[i]
    }

    pub fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.add(&other.high);
        self.add(&other.low);
    }

    pub fn weight(&self) -> f64 {
        self.value(0)
    }

    /// Sum of the weights, or number of rows if the weight of a row is its number of trials.
    pub fn effective_rows(&self) -> f64 {
        self.value(1)
    }

    pub fn deviance(&self) -> f64 {
        self.value(2)
    }

    pub fn pearson(&self) -> f64 {
        self.value(3)
    }
}

/// Gradient, information and squared scores.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    pub gradient: Carried,
    pub information: Triangle,
    pub scores: Option<Triangle>,
}

impl Totals {
    pub fn zeros(dim: usize, with_scores: bool) -> Self {
        Self {
            gradient: Carried::zeros(dim),
            information: Triangle::zeros(dim),
            scores: with_scores.then(|| Triangle::zeros(dim)),
        }
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.gradient.len()
    }

    /// Adds the sums of another.
    pub fn absorb(&mut self, other: &Self) {
        self.gradient.absorb(&other.gradient);
        self.information.absorb(&other.information);
        if let (Some(own), Some(others)) = (&mut self.scores, &other.scores) {
            own.absorb(others);
        }
    }

    /// The gradient of several cores, each number rounded once.
    pub fn gradient_of<'a>(dim: usize, parts: impl Iterator<Item = &'a Self>) -> Vec<f64> {
        let mut total = Carried::zeros(dim);
        parts.for_each(|part| total.absorb(&part.gradient));
        total.values()
    }

    /// The packed information of several cores.
    pub fn information_of<'a>(dim: usize, parts: impl Iterator<Item = &'a Self>) -> Vec<f64> {
        Triangle::total(dim, parts.map(|part| &part.information))
    }

    /// The packed squared scores of several cores.
    pub fn scores_of<'a>(dim: usize, parts: impl Iterator<Item = &'a Self>) -> Vec<f64> {
        Triangle::total(dim, parts.filter_map(|part| part.scores.as_ref()))
    }

    /// From numbers of elsewhere; without squared scores if there are none. Refuses lengths that do
    /// not fit, and numbers that are not finite.
    pub fn restore(
        dim: usize,
        gradient: &[f64],
        information: &[f64],
        squared_scores: &[f64],
    ) -> Result<Self> {
        require_len("gradient", gradient.len(), dim)?;
        require_len("information", information.len(), packed_len(dim))?;
        if !squared_scores.is_empty() {
            require_len("squared_scores", squared_scores.len(), packed_len(dim))?;
        }
        for &value in gradient.iter().chain(information).chain(squared_scores) {
            require(value.is_finite(), "sums", value, "must be finite")?;
        }
        let triangle = |packed: &[f64]| Triangle::from_packed(dim, Carried::from_values(packed));
        Ok(Self {
            gradient: Carried::from_values(gradient),
            information: triangle(information),
            scores: (!squared_scores.is_empty()).then(|| triangle(squared_scores)),
        })
    }
}

/// Refuses sums that differ in something.
pub(super) fn refuse_unlike(differs: Option<String>) -> Result<()> {
    match differs {
        None => Ok(()),
        Some(differs) => Err(Error::State(format!(
            "the sums {differs}; only sums of one model at the same coefficients can be merged"
        ))),
    }
}
