//! The predictive distribution of several beliefs, weighted.

use super::transition;
use super::{Interval, Prediction, Predictive};
use crate::error::{Error, Result, require};
use crate::family::Family;
use crate::math::smallest;

/// $\sum_k w_k\,p_k(y)$: the predictions $p_k$ of several beliefs about the same row, with weights
/// that sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct MixturePrediction<F> {
    /// Mean of the linear predictor, $\sum_k w_k m_k$.
    pub linear: f64,
    /// Its variance, within the members and between them.
    pub linear_variance: f64,
    /// Mean of `y` at [`MixturePrediction::linear`].
    pub plug_in: f64,
    /// The point prediction of `y`: the weighted mean of the members' means, or what
    /// [`MixturePrediction::with_mean`] was given.
    pub mean: f64,
    parts: Vec<(f64, Prediction<F>)>,
}

impl<F: Family> MixturePrediction<F> {
    /// From weights (0 or more, scaled here to sum to 1) and predictions.
    pub fn new(mut parts: Vec<(f64, Prediction<F>)>) -> Result<Self> {
        for &(weight, _) in &parts {
            require(
                weight >= 0.0 && weight.is_finite(),
                "weight",
                weight,
                "must be finite, 0 or more",
            )?;
        }
        let total: f64 = parts.iter().map(|part| part.0).sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::Parameter {
                name: "sum of weights",
                value: total,
                expected: "must be finite, above 0",
            });
        }
        parts.retain(|part| part.0 > 0.0);
        parts.iter_mut().for_each(|part| part.0 /= total);
        let average =
            |f: &dyn Fn(&Prediction<F>) -> f64| parts.iter().map(|(w, p)| w * f(p)).sum::<f64>();
        let linear = average(&|p| p.linear);
        let linear_variance = average(&|p| p.linear_variance + (p.linear - linear).powi(2));
        let mean = average(&|p| p.mean);
        let plug_in = parts[0].1.family.mean(linear);
        Ok(Self { linear, linear_variance, plug_in, mean, parts })
    }

    /// With another point prediction, for beliefs whose mean is dominated by a far tail;
    /// [`MixturePrediction::variance`] is then the mean squared deviation from it.
    pub fn with_mean(mut self, mean: f64) -> Self {
        self.mean = mean;
        self
    }

    /// The members with their weights.
    pub fn parts(&self) -> &[(f64, Prediction<F>)] {
        &self.parts
    }

    /// A quantile of the mixture lies between the members' quantiles.
    fn between(&self, quantile: impl Fn(&Prediction<F>) -> f64) -> Interval {
        let mut ends = Interval { lower: f64::INFINITY, upper: f64::NEG_INFINITY };
        for (_, part) in &self.parts {
            let value = quantile(part);
            ends.lower = ends.lower.min(value);
            ends.upper = ends.upper.max(value);
        }
        ends
    }
}

impl<F: Family> Predictive for MixturePrediction<F> {
    fn cdf(&self, y: f64) -> f64 {
        self.parts.iter().map(|(weight, part)| weight * part.cdf(y)).sum()
    }

    fn log_density(&self, y: f64) -> f64 {
        let terms: Vec<f64> =
            self.parts.iter().map(|(weight, part)| weight.ln() + part.log_density(y)).collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
    }

    fn quantile(&self, q: f64) -> f64 {
        if let [(_, alone)] = &self.parts[..] {
            return alone.quantile(q);
        }
        let family = &self.parts[0].1.family;
        let parts: Vec<_> = self.parts.iter().map(|(weight, part)| part.part(*weight)).collect();
        if let Some(found) = transition::quantile(&parts, q) {
            return found;
        }
        let Interval { lower, upper } = self.between(|part| part.quantile(q));
        if lower == upper {
            return lower;
        }
        let floor = family.quantile(self.linear, 0.0);
        smallest(|y| self.cdf(y), q, lower, upper, floor, family.discrete())
    }

    fn linear_quantile(&self, q: f64) -> f64 {
        let Interval { lower, upper } = self.between(|part| part.linear_quantile(q));
        if lower == upper {
            return lower;
        }
        let below =
            |v: f64| self.parts.iter().map(|(weight, part)| weight * part.linear_cdf(v)).sum();
        smallest(below, q, lower, upper, f64::NEG_INFINITY, false)
    }

    fn mean_at(&self, u: f64) -> f64 {
        self.parts[0].1.mean_at(u)
    }
}
