//! Merges two default learners.

use super::bank::Bank;
use super::dispersion::Kind;
use super::{Auto, DriftMode, Stage, scale};
use crate::covariance::{Covariance, Factored, Kernel};
use crate::error::{Error, Result};
use crate::family::{Family, FastPaths};
use crate::learner::{Learner, Merged};
use crate::linalg::{Buffer, inverse};
use crate::math::dot;

impl<F: Family + PartialEq> Auto<F> {
    /// Merges the rows of both. If one learner is still in its warm-up, the other learns its rows,
    /// which is exact. Otherwise each member of `self` adds the information that `other`'s best
    /// member has beyond its prior. That information is exact for normal noise, but the weights
    /// stay those of `self`, so the result counts as approximate. Learners that follow a drift are
    /// refused.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        let intercepts = self.scales.has_intercept() == other.scales.has_intercept();
        let shapeless = |auto: &Self| auto.family.fast().with_shape_unchecked(1.0);
        if shapeless(self) != shapeless(other)
            || self.dim != other.dim
            || self.drift != other.drift
            || !intercepts
        {
            return Err(Error::State(
                "only learners with the same family, features, intercept and drift can be merged"
                    .into(),
            ));
        }
        let follows = |auto: &Self| auto.drift == DriftMode::Adapt || !auto.stage.is_static();
        if follows(self) || follows(other) {
            return Err(Error::State(
                "learners that follow a drift cannot be merged: the order of their rows matters"
                    .into(),
            ));
        }
        for (short, long) in [(other, self), (self, other)] {
            if let Some(rows) = &short.warm_up {
                let mut merged = long.clone();
                merged.learn(rows.rows(self.dim)?)?;
                return Ok(Merged::Exact(merged));
            }
        }
        let mut merged = self.clone();
        merged.absorb(other)?;
        Ok(Merged::Approximate(merged))
    }

    fn absorb(&mut self, other: &Self) -> Result<()> {
        let (Stage::Static(bank), Stage::Static(theirs)) = (&mut self.stage, &other.stage) else {
            return Err(Error::State(
                "a member of a mixture that follows a drift cannot be merged".into(),
            ));
        };
        let gathered = Gathered::of(other, theirs)?;
        let dim = self.dim;
        let slopes = self.prior.scale.slopes;
        self.scales.adopt(&other.scales, |j, scale| {
            bank.members
                .iter_mut()
                .for_each(|m| m.set_prior(j, scale::variance(slopes * m.p, scale)));
        });
        for member in &mut bank.members {
            let mut precision = inverse(&member.covariance.matrix(), dim, "covariance")?;
            let mut weighted = product(&precision, &member.theta[..dim]);
            let normal = self.dispersion.kind == Kind::Normal;
            let before = dot(&weighted, &member.theta);
            precision.iter_mut().zip(&gathered.precision).for_each(|(a, b)| *a += b);
            weighted.iter_mut().zip(&gathered.weighted).for_each(|(a, b)| *a += b);
            let covariance = inverse(&precision, dim, "covariance")?;
            let theta = product(&covariance, &weighted);
            // completing the square: the residuals of the two fits, plus their disagreement
            let disagreement =
                if normal { before + gathered.square - dot(&weighted, &theta) } else { 0.0 };
            member.residual += gathered.residual + disagreement;
            member.theta = Buffer::from_slice(&theta);
            member.covariance = Factored::from_matrix(&covariance, dim)?;
        }
        self.dispersion.rows += other.dispersion.rows;
        let shape = &mut self.dispersion.shape;
        if let Some(family) = shape.merged(&self.family, &other.dispersion.shape, &other.family) {
            self.family = family;
            self.dispersion.take_unit(&self.family);
        }
        self.count += other.count;
        bank.mean(&mut self.mean);
        Ok(())
    }
}

/// The information of a learner's best member beyond its prior.
struct Gathered {
    precision: Vec<f64>,
    weighted: Vec<f64>,
    /// $\theta^\top\Lambda\theta$ of the member less that of its prior.
    square: f64,
    residual: f64,
}

impl Gathered {
    fn of<F: Family>(auto: &Auto<F>, bank: &Bank<Factored>) -> Result<Self> {
        let dim = auto.dim;
        let best = bank.best();
        let mut precision = inverse(&best.covariance.matrix(), dim, "covariance")?;
        let mut weighted = product(&precision, &best.theta[..dim]);
        let mut square = dot(&weighted, &best.theta);
        let prior = auto.prior_covariance(best.p, best.basis, None)?;
        let prior = inverse(&prior.matrix(), dim, "covariance")?;
        let start = auto.prior_mean();
        let weighted_start = product(&prior, &start[..dim]);
        square -= dot(&weighted_start, &start);
        precision.iter_mut().zip(&prior).for_each(|(a, b)| *a -= b);
        weighted.iter_mut().zip(&weighted_start).for_each(|(a, b)| *a -= b);
        Ok(Self { precision, weighted, square, residual: best.residual })
    }
}

fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(v.len()).map(|row| dot(row, v)).collect()
}
