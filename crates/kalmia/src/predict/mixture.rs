//! The predictive distribution of several beliefs, weighted.

use super::components::{Component, Components};
use super::{Interval, Prediction, Predictive, beyond, label_quantile, transition};
use crate::error::{Error, Result, require};
use crate::family::{Family, FastPaths};
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
    pub(super) parts: Vec<(f64, Prediction<F>)>,
}

impl<F: Family> MixturePrediction<F> {
    /// From weights (0 or more, scaled here to sum to 1) and predictions.
    pub fn new(parts: Vec<(f64, Prediction<F>)>) -> Result<Self> {
        let mut mixture =
            Self { linear: 0.0, linear_variance: 0.0, plug_in: 0.0, mean: 0.0, parts };
        mixture.summarize()?;
        Ok(mixture)
    }

    /// The mixture of these parts in the place of another, whose allocation it takes over.
    pub(crate) fn refill(
        place: &mut Option<Self>,
        parts: impl IntoIterator<Item = (f64, Prediction<F>)>,
    ) -> Result<&mut Self> {
        let mixture = place.get_or_insert_with(|| Self {
            linear: 0.0,
            linear_variance: 0.0,
            plug_in: 0.0,
            mean: 0.0,
            parts: Vec::new(),
        });
        mixture.parts.clear();
        mixture.parts.extend(parts);
        mixture.summarize()?;
        Ok(mixture)
    }

    /// Scales the weights and averages over the parts.
    fn summarize(&mut self) -> Result<()> {
        let parts = &mut self.parts;
        for &(weight, _) in &*parts {
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
        self.linear = linear;
        self.linear_variance = average(&|p| p.linear_variance + (p.linear - linear).powi(2));
        self.mean = average(&|p| p.mean);
        self.plug_in = parts[0].1.family.mean(linear);
        Ok(())
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

    /// A quantile of the mixture of standard laws; `None` if a member has none.
    fn by_components(
        &self,
        q: f64,
        component: impl Fn(&Prediction<F>, f64) -> Option<Component>,
    ) -> Option<f64> {
        let components = self.parts.iter().map(|(weight, part)| component(part, *weight));
        Components::collect(components)?.quantile(q)
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
    fn mean(&self) -> f64 {
        self.mean
    }

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
        let first = &self.parts[0].1;
        let family = &first.family;
        if family.fast().is_label() {
            let mean = self.parts.iter().map(|(weight, part)| weight * part.mean).sum();
            return label_quantile(mean, q);
        }
        if let Some(found) = self.by_components(q, Prediction::component) {
            return first.value_of(found);
        }
        let parts = self.parts.iter().map(|(weight, part)| part.part(*weight));
        if let Some(found) = transition::quantile(parts, q) {
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
        if let Some(found) = self.by_components(q, Prediction::linear_component) {
            return found;
        }
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

    fn is_saturated(&self, q: f64) -> bool {
        self.parts.iter().any(|(_, part)| part.may_saturate())
            && beyond(&self.parts[0].1.family, self.linear_quantile(q))
    }
}
