//! Predictions of the mixture, and growth by a feature.

use super::Auto;
use super::bank::MemberBelief;
use super::mean::{LinearBelief, predicted_mean};
use crate::error::{Result, require};
use crate::family::{Family, FastPaths};
use crate::learner::Predict;
use crate::predict::{MixturePrediction, Prediction};
use crate::rows::check_features;

impl<F: Family> Auto<F> {
    /// A member's prediction, with `unseen` features that no row had, each of the prior's size
    /// whatever its value.
    fn member_prediction(
        &self,
        belief: MemberBelief,
        offset: f64,
        unseen: f64,
    ) -> Result<Prediction<F>> {
        let dispersion = self.dispersion.estimate(belief.residual);
        let s = belief.variance + unseen * belief.prior_size * self.prior_scale.slopes;
        let family = self.family.fast().with_dispersion_unchecked(dispersion);
        let prediction = Prediction::new(family, belief.linear + offset, dispersion * s)?;
        let degrees = self.dispersion.degrees();
        if degrees.is_finite() {
            return prediction.with_degrees_of_freedom(degrees);
        }
        Ok(prediction)
    }
}

impl<F: Family> Predict for Auto<F> {
    type Family = F;
    type Prediction = MixturePrediction<F>;

    fn family(&self) -> F {
        self.family.fast().with_dispersion_unchecked(self.dispersion())
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<MixturePrediction<F>> {
        check_features(x, self.dim)?;
        require(offset.is_finite(), "offset", offset, "must be finite")?;
        let mut seen = x.to_vec();
        let mut unseen = 0.0;
        self.scales.clone().complete(x, |j, _| {
            seen[j] = 0.0;
            unseen += 1.0;
        });
        let member = |belief: MemberBelief| {
            Ok((belief.weight, self.member_prediction(belief, offset, unseen)?))
        };
        let parts =
            self.stage.beliefs(&seen).into_iter().map(member).collect::<Result<Vec<_>>>()?;
        let mixture = MixturePrediction::new(parts)?;
        let belief = |(weight, prediction): &(f64, Prediction<F>)| LinearBelief {
            weight: *weight,
            linear: prediction.linear,
            variance: prediction.linear_variance,
        };
        let mean = predicted_mean(&self.family, mixture.parts().iter().map(belief));
        Ok(mixture.with_mean(mean))
    }

    fn covariance_entry(&self, i: usize, j: usize) -> Option<f64> {
        Some(self.stage.entry(&self.dispersion, &self.mean, i, j))
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.dispersion.degrees()
    }

    /// The first value of the feature other than zero sets its scale.
    fn grow(&mut self) -> Result<()> {
        if let Some(rows) = &mut self.warm_up {
            rows.grow(self.dim);
        }
        self.dim += 1;
        self.scales.grow();
        self.mean.push(0.0);
        self.stage.grow(self.prior_scale.slopes);
        Ok(())
    }
}
