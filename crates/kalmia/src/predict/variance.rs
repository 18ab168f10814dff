//! The variance of the next `y`, by the law of total variance.

use super::{MixturePrediction, Prediction, TargetBelief};
use crate::family::Family;
use crate::math::quadrature::gaussian_expectation;

impl<F: Family> Prediction<F> {
    /// The variance of `y`: the mean of its variance given `u` plus the variance of its mean given
    /// `u`; infinite with a learned noise of 2 degrees of freedom or fewer, or if it overflows.
    pub fn variance(&self) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            let heavy = if self.dof > 2.0 { 1.0 / (1.0 - 2.0 / self.dof) } else { f64::INFINITY };
            return heavy * (noise + self.s);
        }
        if self.target.s == 0.0 {
            return self.family.variance(self.target.m);
        }
        let second = self.second_moment();
        // infinity minus an infinite square would be NaN
        if second.is_infinite() { second } else { (second - self.mean * self.mean).max(0.0) }
    }

    /// $E[y^2]$.
    fn second_moment(&self) -> f64 {
        let given = |u: f64| self.family.variance(u) + self.family.mean(u).powi(2);
        let largest = self.family.largest_linear();
        let TargetBelief { m, s } = self.target;
        if largest.is_infinite() {
            return gaussian_expectation(m, s, given);
        }
        // Such a mean grows like e^u: E[f(u)] = E[f(v) e^{2m+2s-2v}] with v ~ N(m+2s, s), which has
        // no far tail. Where f saturates, it continues as e^{2v}.
        let center = m + 2.0 * s;
        let ratio = |v: f64| given(v.min(largest)) * (m + center - 2.0 * v.min(largest)).exp();
        gaussian_expectation(center, s, ratio)
    }
}

impl<F: Family> MixturePrediction<F> {
    /// The mean squared deviation of `y` from [`MixturePrediction::mean`]: the variance within the
    /// members plus the squared distance of their means from it.
    pub fn variance(&self) -> f64 {
        self.parts()
            .iter()
            .map(|(weight, part)| weight * (part.variance() + (part.mean - self.mean).powi(2)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Bernoulli, Gamma, Gaussian, Poisson};

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-8 * b.abs(), "{a} {b}");
    }

    #[test]
    fn closed_forms_are_met() {
        for (m, s) in [(0.4f64, 0.3f64), (-1.0, 30.0)] {
            let first = (m + s / 2.0).exp();
            let second = (2.0 * m + 2.0 * s).exp();
            close(
                Prediction::new(Poisson, m, s).unwrap().variance(),
                first + second - first * first,
            );
            close(
                Prediction::new(Gamma::new(0.5).unwrap(), m, s).unwrap().variance(),
                1.5 * second - first * first,
            );
        }
        let m = 0.4;
        let s = 0.3;
        close(Prediction::new(Gaussian::new(2.0).unwrap(), m, s).unwrap().variance(), 2.3);
        let student = Prediction::new(Gaussian::new(2.0).unwrap(), m, s)
            .unwrap()
            .with_degrees_of_freedom(4.0)
            .unwrap();
        close(student.variance(), 4.6);
        let label = Prediction::new(Bernoulli, m, s).unwrap();
        close(label.variance(), label.mean * (1.0 - label.mean));
    }

    #[test]
    fn what_overflows_is_infinite_and_what_vanishes_is_zero() {
        let variances = |m: f64, s: f64| {
            let count = Prediction::new(Poisson, m, s).unwrap();
            let amount = Prediction::new(Gamma::new(0.5).unwrap(), m, s).unwrap();
            let mixed = MixturePrediction::new(vec![
                (0.5, amount.clone()),
                (0.5, Prediction::new(*amount.family(), 0.0, 0.1).unwrap()),
            ])
            .unwrap();
            [count.variance(), amount.variance(), mixed.variance()]
        };
        for (m, s) in [(0.0, 1e3), (12.5, 1e6), (-300.0, 1e10), (400.0, 100.0)] {
            assert_eq!(variances(m, s), [f64::INFINITY; 3], "m {m}, s {s}");
        }
        for (m, s) in [(-1000.0, 1.0), (-1000.0, 400.0)] {
            assert!(variances(m, s)[..2].iter().all(|v| (0.0..1e-250).contains(v)), "m {m}, s {s}");
        }
        // beyond the cap of the exponential, short of the largest number
        close(variances(0.0, 200.0)[0], 400f64.exp());
    }

    #[test]
    fn a_large_mean_costs_no_precision() {
        assert_eq!(Prediction::new(Gaussian::default(), 1e9, 0.5).unwrap().variance(), 1.5);
    }

    #[test]
    fn labels_of_a_mixture_keep_their_own_variance() {
        let part = |m: f64| Prediction::new(Bernoulli, m, 0.5).unwrap();
        let mixture = MixturePrediction::new(vec![(0.3, part(-2.0)), (0.7, part(1.0))]).unwrap();
        close(mixture.variance(), mixture.mean * (1.0 - mixture.mean));
    }
}
