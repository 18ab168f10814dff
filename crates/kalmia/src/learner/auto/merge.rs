//! Two default learners made one.

use super::bank::Bank;
use super::dispersion::Kind;
use super::{Auto, AutoDrift, Stage, scale};
use crate::covariance::{Covariance, Factored, Kernel};
use crate::error::{Error, Result};
use crate::family::Family;
use crate::learner::merge::inverse;
use crate::learner::{Learner, Merged};
use crate::linalg::{Buffer, dot};

impl<F: Family + PartialEq> Auto<F> {
    /// The learner after the rows of both. Where one of them is still in its warm-up the other
    /// learns its rows, which is exact; else each member of `self` takes over the information that
    /// `other`'s best member gathered beyond its prior. That information is exact for normal noise,
    /// but the members' weights stay those of `self`, so the result counts as approximate.
    pub fn merge(&self, other: &Self) -> Result<Merged<Self>> {
        let intercepts = self.scales.has_intercept() == other.scales.has_intercept();
        if self.family != other.family
            || self.dim != other.dim
            || self.drift != other.drift
            || !intercepts
        {
            return Err(Error::State(
                "only learners with the same family, features, intercept and drift can be merged"
                    .into(),
            ));
        }
        let walks =
            |auto: &Self| auto.drift == AutoDrift::Adapt || matches!(auto.stage, Stage::Walking(_));
        if walks(self) || walks(other) {
            return Err(Error::State(
                "learners that follow a drift cannot be merged: their rows have an order".into(),
            ));
        }
        for (short, long) in [(other, self), (self, other)] {
            if let Some(kept) = &short.kept {
                let mut merged = long.clone();
                merged.learn(kept.rows(self.dim)?)?;
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
        let (dim, level) = (self.dim, self.level[0]);
        self.scales.adopt(&other.scales, |j, scale| {
            bank.members
                .iter_mut()
                .for_each(|m| m.set_prior(j, scale::variance(level * m.p, scale)));
        });
        for member in &mut bank.members {
            let mut precision = inverse(&member.covariance.matrix(), dim)?;
            let mut weighted = product(&precision, &member.theta[..dim]);
            let normal = self.dispersion.kind == Kind::Normal;
            let before = dot(&weighted, &member.theta);
            precision.iter_mut().zip(&gathered.precision).for_each(|(a, b)| *a += b);
            weighted.iter_mut().zip(&gathered.weighted).for_each(|(a, b)| *a += b);
            let covariance = inverse(&precision, dim)?;
            let theta = product(&covariance, &weighted);
            // completing the square: what the two fits leave, plus what they disagree on
            let disagreement =
                if normal { before + gathered.square - dot(&weighted, &theta) } else { 0.0 };
            member.residual += gathered.residual + disagreement;
            member.theta = Buffer::from_slice(&theta);
            member.covariance = Factored::from_matrix(&covariance, dim)?;
        }
        self.dispersion.rows += other.dispersion.rows;
        self.count += other.count;
        bank.mean(&mut self.mean);
        Ok(())
    }
}

/// What a learner's best member knows beyond its prior.
struct Gathered {
    precision: Vec<f64>,
    weighted: Vec<f64>,
    /// $\theta^\top\Lambda\theta$ of the member (its prior has mean 0), where the dispersion needs
    /// it.
    square: f64,
    residual: f64,
}

impl Gathered {
    fn of<F: Family>(auto: &Auto<F>, bank: &Bank<Factored>) -> Result<Self> {
        let (dim, best) = (auto.dim, bank.best());
        let mut precision = inverse(&best.covariance.matrix(), dim)?;
        let weighted = product(&precision, &best.theta[..dim]);
        let square =
            if auto.dispersion.kind == Kind::Normal { dot(&weighted, &best.theta) } else { 0.0 };
        let prior = inverse(&auto.prior(best.p)?.matrix(), dim)?;
        precision.iter_mut().zip(&prior).for_each(|(a, b)| *a -= b);
        Ok(Self { precision, weighted, square, residual: best.residual })
    }
}

fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(v.len()).map(|row| dot(row, v)).collect()
}
