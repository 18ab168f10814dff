//! Predictions of the mixture, and growth by a feature.

use super::Auto;
use super::bank::MemberBelief;
use super::coefficients::RowBeliefs;
use super::dispersion::{Dispersion, Kind};
use super::mean::{LinearBelief, predicted_mean};
use super::stage::each_bank;
use crate::error::{Result, require, require_len};
use crate::family::{Family, FastPaths};
use crate::learner::Predict;
use crate::learner::labels::{PREDICTED_ROWS, predict_labels};
use crate::linalg::row_products;
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::{Inputs, check_features};

/// A member's prediction from its belief in units of the dispersion.
pub(in crate::learner) fn member_prediction<F: Family>(
    family: &F,
    dispersion: &Dispersion,
    belief: MemberBelief,
    offset: f64,
) -> Result<Prediction<F>> {
    let estimate = dispersion.estimate(belief.residual);
    let family = family.fast().with_dispersion_unchecked(estimate);
    let prediction = Prediction::new(family, belief.linear + offset, estimate * belief.variance)?;
    let degrees = dispersion.degrees();
    if degrees.is_finite() {
        return prediction.with_degrees_of_freedom(degrees);
    }
    if dispersion.kind == Kind::Quasi {
        return prediction.with_overdispersion(estimate);
    }
    Ok(prediction)
}

/// Replaces the mean where a vague belief of an unbounded mean would dominate the average.
pub(in crate::learner) fn moderate<F: Family>(family: &F, mixture: &mut MixturePrediction<F>) {
    if family.bounded_gradient() || family.normal_noise().is_some() {
        return;
    }
    let belief = |(weight, prediction): &(f64, Prediction<F>)| LinearBelief {
        weight: *weight,
        linear: prediction.linear,
        variance: prediction.linear_variance,
    };
    mixture.mean = predicted_mean(family, mixture.parts().iter().map(belief));
}

impl<F: Family> Auto<F> {
    /// The variance of the linear predictor at `x` that is reported in place of the members', if
    /// there is one.
    fn reported_variance(&self, x: &[f64], scaled: &mut Vec<f64>) -> Option<f64> {
        let sandwich = self.sandwich.as_ref()?;
        sandwich.variance(&self.scales, x, self.dispersion.rows, scaled)
    }

    /// A member's belief with the variance that is reported, in units of the dispersion.
    fn with_reported(&self, belief: MemberBelief, reported: Option<f64>) -> MemberBelief {
        let Some(variance) = reported else { return belief };
        MemberBelief { variance: variance / self.dispersion.estimate(belief.residual), ..belief }
    }

    /// A member's prediction, with `unseen` features that no row had, each of the prior's size
    /// whatever its value.
    fn member_prediction(
        &self,
        belief: MemberBelief,
        offset: f64,
        unseen: f64,
    ) -> Result<Prediction<F>> {
        let variance = belief.variance + unseen * belief.prior_size * self.prior.scale.slopes;
        let belief = MemberBelief { variance, ..belief };
        member_prediction(&self.family, &self.dispersion, belief, offset)
    }

    /// The rows without features that no row had, and how many each row has of them, unseen levels
    /// included.
    fn seen_features<'a>(
        &self,
        rows: Inputs<'a>,
        seen: &'a mut Vec<f64>,
        unseen: &mut [f64],
    ) -> &'a [f64] {
        for (i, unseen) in unseen[..rows.len()].iter_mut().enumerate() {
            *unseen = f64::from(rows.unseen(i));
        }
        if !self.scales.incomplete() {
            return rows.features();
        }
        seen.clear();
        seen.extend_from_slice(rows.features());
        for (x, unseen) in seen.chunks_exact_mut(self.dim).zip(unseen) {
            *unseen += self.scales.hide_unseen(x);
        }
        seen
    }
}

impl<F: Family> Predict for Auto<F> {
    type Family = F;
    type Prediction = MixturePrediction<F>;

    fn family(&self) -> F {
        self.family.fast().with_dispersion_unchecked(self.loss_divisor())
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<F>> {
        check_features(x, self.dim)?;
        require(offset.is_finite(), "offset", offset, "must be finite")?;
        let mut seen = x.to_vec();
        let unseen = self.scales.hide_unseen(&mut seen);
        let member = |belief: MemberBelief| {
            Ok((belief.weight, self.member_prediction(belief, offset, unseen)?))
        };
        let reported = self.reported_variance(&seen, &mut Vec::new());
        let beliefs = self.stage.beliefs(&seen).into_iter();
        let beliefs = beliefs.map(|belief| self.with_reported(belief, reported));
        let parts = beliefs.map(member).collect::<Result<Vec<_>>>()?;
        let mut mixture = MixturePrediction::new(parts)?;
        moderate(&self.family, &mut mixture);
        Ok(mixture)
    }

    fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &MixturePrediction<F>) -> Result<()>,
    ) -> Result<()> {
        inputs.check(self.dim)?;
        let mut beliefs = RowBeliefs::default();
        let mut seen = Vec::new();
        let mut unseen = vec![0.0; PREDICTED_ROWS.min(inputs.len())];
        let mut scaled = Vec::new();
        let mut parts = Vec::new();
        let mut mixture = None;
        for (first, rows) in inputs.blocks(PREDICTED_ROWS) {
            let n = rows.len();
            let x = self.seen_features(rows, &mut seen, &mut unseen);
            each_bank!(&self.stage, bank => {
                bank.beliefs_of_rows(x, n, &mut beliefs, self.threads);
                for (i, unseen) in unseen[..n].iter().enumerate() {
                    let row = &x[i * self.dim..][..self.dim];
                    let reported = self.reported_variance(row, &mut scaled);
                    for k in 0..bank.members.len() {
                        let belief = bank.belief_of_row(&beliefs, k, i);
                        let belief = self.with_reported(belief, reported);
                        let part = self.member_prediction(belief, rows.offset(i), *unseen)?;
                        parts.push((belief.weight, part));
                    }
                    let mixture = MixturePrediction::refill(&mut mixture, parts.drain(..))?;
                    moderate(&self.family, mixture);
                    take(first + i, mixture)?;
                }
            });
        }
        Ok(())
    }

    fn predict_means(&self, inputs: Inputs<'_>, means: &mut [f64]) -> Result<()> {
        require_len("means", means.len(), inputs.len())?;
        // the mean of a normal y is linear in the coefficients
        if self.family.normal_noise().is_none() || self.scales.incomplete() {
            return self.predict_many(inputs, &mut |i, prediction| {
                means[i] = prediction.mean;
                Ok(())
            });
        }
        inputs.check(self.dim)?;
        let mut centered = Vec::new();
        let mut theta = vec![0.0; self.dim];
        each_bank!(&self.stage, bank => {
            bank.centered_mean(&mut theta);
            for (first, rows) in inputs.blocks(PREDICTED_ROWS) {
                let x = bank.centered_rows(rows.features(), self.dim, &mut centered);
                let means = &mut means[first..first + rows.len()];
                row_products(x, self.dim, &theta, means);
                means.iter_mut().enumerate().for_each(|(i, mean)| *mean += rows.offset(i));
            }
        });
        Ok(())
    }

    fn predict_labels(&self, inputs: Inputs<'_>, labels: &mut [bool]) -> Result<()> {
        let beliefs = each_bank!(&self.stage, bank => bank.label_beliefs());
        match beliefs.filter(|_| !self.scales.incomplete()) {
            Some(beliefs) => predict_labels(self, inputs, &beliefs, labels),
            None => predict_labels(self, inputs, &[], labels),
        }
    }

    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        let rows = self.dispersion.rows;
        let sandwich = self.sandwich.as_ref();
        Some(match sandwich.and_then(|sandwich| sandwich.entry(&self.scales, i, j, rows)) {
            Some(within) => within + self.stage.between(&self.mean, i, j),
            None => self.stage.entry(&self.dispersion, &self.mean, i, j),
        })
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.dispersion.degrees()
    }

    /// The first value of the feature other than zero sets its scale.
    fn grow(&mut self) -> Result<()> {
        self.stage.require_growth()?;
        if let Some(rows) = &mut self.warm_up {
            rows.grow(self.dim);
        }
        self.dim += 1;
        self.scales.grow();
        self.mean.push(0.0);
        self.stage.grow(self.prior.scale.slopes);
        let variance = self.unseen_variance();
        if let Some(sandwich) = &mut self.sandwich {
            sandwich.grow(variance);
        }
        Ok(())
    }

    fn shrink(&mut self) -> Result<()> {
        self.drop_last()
    }
}
