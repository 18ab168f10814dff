//! An observation under its family: loss, derivatives, and the validation of a batch.

use super::{Family, FastPaths};
use crate::error::{Error, Result, require_len};
use crate::math::{Likelihood, Potential};
use crate::rows::{MAX_FEATURE, MAX_MODERATE, MAX_WEIGHT, Observation, Rows, first_beyond};

impl Observation {
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

/// $u \mapsto w\,\ell(y, u+o)$ of one observation.
pub(crate) struct RowLoss<'a, F> {
    pub family: &'a F,
    pub observation: &'a Observation,
}

impl<F: Family> Potential for RowLoss<'_, F> {
    #[inline(always)]
    fn loss(&self, u: f64) -> f64 {
        self.observation.loss(self.family, u)
    }

    #[inline(always)]
    fn derivatives(&self, u: f64) -> (f64, f64) {
        self.observation.derivatives(self.family, u)
    }

    #[inline(always)]
    fn likelihood(&self, u: f64) -> Option<Likelihood> {
        let Observation { y, weight, offset } = *self.observation;
        if weight == 1.0 { self.family.fast().likelihood(y, u + offset) } else { None }
    }

    #[inline(always)]
    fn offset(&self) -> f64 {
        self.observation.offset
    }
}

impl Rows<'_> {
    /// Checks every number of every row: learners call it first, so that a refused batch changes
    /// nothing.
    pub fn validate<F: Family>(&self, family: &F, dim: usize) -> Result<()> {
        self.check(family, dim).map(|_| ())
    }

    /// [`Rows::validate`], and whether all numbers are at most [`MAX_MODERATE`] in size.
    pub(crate) fn check<F: Family>(&self, family: &F, dim: usize) -> Result<bool> {
        let features = self.check_features(dim)?;
        Ok(self.check_observations(family)? && features)
    }

    /// Checks the features; whether all are at most [`MAX_MODERATE`] in size.
    pub(crate) fn check_features(&self, dim: usize) -> Result<bool> {
        require_len("row", self.dim(), dim)?;
        let x = self.features();
        let all = moderate(x);
        if !all && let Some(at) = first_beyond(MAX_FEATURE, x) {
            return Err(Error::Feature {
                row: at / self.dim(),
                column: at % self.dim(),
                value: x[at],
            });
        }
        Ok(all)
    }

    /// Checks targets, weights and offsets; whether all are at most [`MAX_MODERATE`] in size.
    pub(crate) fn check_observations<F: Family>(&self, family: &F) -> Result<bool> {
        for (row, &value) in self.targets().iter().enumerate() {
            if family.canonical(value).is_none() {
                return Err(Error::Target {
                    row,
                    value,
                    family: family.name().to_owned(),
                    expected: family.domain().to_owned(),
                });
            }
        }
        self.check_extras()?;
        // weights are: `MAX_WEIGHT` is no larger
        Ok(moderate(self.targets()) && self.offsets().is_none_or(moderate))
    }

    /// Checks weights and offsets.
    pub(crate) fn check_extras(&self) -> Result<()> {
        check_extra("weight", self.weights(), "a number from 0 to 1e30", |weight| {
            (0.0..=MAX_WEIGHT).contains(&weight)
        })?;
        check_extra("offset", self.offsets(), "a finite number, at most 1e120 in size", |offset| {
            offset.abs() <= MAX_FEATURE
        })
    }
}

/// Whether all values are at most [`MAX_MODERATE`] in size.
fn moderate(values: &[f64]) -> bool {
    first_beyond(MAX_MODERATE, values).is_none()
}

/// Refuses the first illegal weight or offset.
#[inline]
fn check_extra(
    name: &'static str,
    values: Option<&[f64]>,
    expected: &'static str,
    legal: fn(f64) -> bool,
) -> Result<()> {
    let Some(values) = values else { return Ok(()) };
    match values.iter().position(|&value| !legal(value)) {
        Some(row) => Err(Error::RowExtra { row, name, value: values[row], expected }),
        None => Ok(()),
    }
}
