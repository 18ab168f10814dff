//! The variance of the next `y`, by the law of total variance.

use super::{Mixture, Prediction, gaussian_expectation};
use crate::family::Family;

impl<F: Family> Prediction<F> {
    /// The variance of `y`: the mean of its variance given `u` plus the variance of its mean given `u`; infinite with a learned noise of 2 degrees of freedom or fewer.
    pub fn variance(&self) -> f64 {
        self.second_moment() - self.mean * self.mean
    }

    /// $E[y^2]$.
    fn second_moment(&self) -> f64 {
        if let Some(noise) = self.family.normal_noise() {
            let heavy = if self.dof > 2.0 { 1.0 / (1.0 - 2.0 / self.dof) } else { f64::INFINITY };
            return self.mean * self.mean + heavy * (noise + self.s);
        }
        if self.s == 0.0 {
            return self.mean * self.mean + self.family.variance(self.linear);
        }
        let given = |u: f64| self.family.variance(u) + self.family.mean(u).powi(2);
        if self.family.largest_linear().is_infinite() {
            return gaussian_expectation(self.linear, self.s, given);
        }
        // such a mean grows like e^u: E[f(u)] = e^{2m+2s} E[f(v) e^{-2v}] with v ~ N(m+2s, s), of which nothing lies far out
        let centre = self.linear + 2.0 * self.s;
        (self.linear + centre).exp() * gaussian_expectation(centre, self.s, |v| given(v) * (-2.0 * v).exp())
    }
}

impl<F: Family> Mixture<F> {
    /// The variance of `y`, within the members and between them.
    pub fn variance(&self) -> f64 {
        self.parts().iter().map(|(weight, part)| weight * (part.variance() + (part.mean - self.mean).powi(2))).sum()
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
            let (first, second) = ((m + s / 2.0).exp(), (2.0 * m + 2.0 * s).exp());
            close(Prediction::new(Poisson, m, s).unwrap().variance(), first + second - first * first);
            close(Prediction::new(Gamma::new(0.5).unwrap(), m, s).unwrap().variance(), 1.5 * second - first * first);
        }
        let (m, s) = (0.4, 0.3);
        close(Prediction::new(Gaussian::new(2.0).unwrap(), m, s).unwrap().variance(), 2.3);
        let student = Prediction::new(Gaussian::new(2.0).unwrap(), m, s).unwrap().with_degrees_of_freedom(4.0).unwrap();
        close(student.variance(), 4.6);
        let label = Prediction::new(Bernoulli, m, s).unwrap();
        close(label.variance(), label.mean * (1.0 - label.mean));
    }

    #[test]
    fn labels_of_a_mixture_keep_their_own_variance() {
        let part = |m: f64| Prediction::new(Bernoulli, m, 0.5).unwrap();
        let mixture = Mixture::new(vec![(0.3, part(-2.0)), (0.7, part(1.0))]).unwrap();
        close(mixture.variance(), mixture.mean * (1.0 - mixture.mean));
    }
}
