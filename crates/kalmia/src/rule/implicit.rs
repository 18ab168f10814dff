//! The exact scalar MAP step: the linear predictor moves to where prior and row balance, and so
//! cannot overshoot.

use super::Rule;
use crate::family::{Family, RowLoss};
use crate::math::{Potential, find_mode};
use crate::rows::Observation;
use crate::step::Step;

/// $g = -\ell'(m^+)$, $\alpha = \ell''(m^+)$, where $m^+ = m - s\,\ell'(m^+)$.
///
/// $\ell$ is convex, so $m^+$ exists, is unique, and lies between $m$ and the minimizer of $\ell$.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Implicit;

impl Rule for Implicit {
    fn name(&self) -> &'static str {
        "implicit"
    }

    fn is_kalman(&self) -> bool {
        true
    }

    #[inline]
    fn step<F: Family>(
        &self,
        family: &F,
        observation: &Observation,
        m: f64,
        s: f64,
        _t: u64,
    ) -> Step {
        if observation.weight == 0.0 {
            return Step::NONE;
        }
        let loss = RowLoss { family, observation };
        let mode = find_mode(&loss, m, s, loss.derivatives(m));
        Step::bounded(mode.gain, mode.second, s)
    }

    fn can_diverge<F: Family>(&self, _family: &F) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{AnyFamily, Bernoulli, Binomial, Gamma, Gaussian, Poisson};
    use crate::rule::moments;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Far beyond the cap of the log link too: the residual changes its sign at the root, and no
    /// integral about it is lost.
    #[test]
    fn no_belief_is_too_wide_and_no_predictor_too_far() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let families: [AnyFamily; 6] = [
            Gaussian::default().into(),
            Bernoulli.into(),
            Binomial::new(50).unwrap().into(),
            Poisson.into(),
            Gamma::default().into(),
            Gamma::new(0.01).unwrap().into(),
        ];
        for i in 0..30_000 {
            let reach = [1e3, 1e3, 1e6, 1e12][i % 4];
            let m = rng.random_range(-reach..reach);
            let s = 10f64.powf(rng.random_range(-12.0..20.0));
            let weight = if i % 3 == 0 { 1.0 } else { 10f64.powf(rng.random_range(-3.0..6.0)) };
            for family in families {
                let y = match family {
                    AnyFamily::Bernoulli(_) => f64::from(rng.random::<bool>()),
                    AnyFamily::Binomial(_) => f64::from(rng.random_range(0..=50)),
                    AnyFamily::Poisson(_) => {
                        f64::from(rng.random_range(0..3)) * f64::from(rng.random_range(1..100_000))
                    }
                    _ => 10f64.powf(rng.random_range(-8.0..8.0)),
                };
                let row = Observation { y, weight, offset: 0.0 };
                let step = Implicit.step(&family, &row, m, s, 1);
                let tilted = moments(&family, &row, m, s);
                let context = || format!("{family:?} {row:?} m {m:e} s {s:e}: {step:?} {tilted:?}");
                for step in [step, tilted.step] {
                    assert!(step.gain.is_finite() && step.contraction.is_finite(), "{}", context());
                    assert!(step.curvature >= 0.0 && step.curvature.is_finite(), "{}", context());
                }
                let evidence = tilted.evidence.ln();
                assert!(!evidence.is_nan() && evidence < f64::INFINITY, "{}", context());

                let d = (s * step.gain).abs();
                let sign = step.gain.signum();
                let residual = |d: f64| d + sign * s * row.derivatives(&family, m + sign * d).0;
                let near = 1e-9 * d + 1e-14 * m.abs();
                let slope = row.derivatives(&family, m + sign * d).0;
                let solved = (slope + step.gain).abs() <= 1e-9 * slope.abs();
                assert!(
                    solved || (residual((d - near).max(0.0)) <= 0.0 && residual(d + near) >= 0.0),
                    "{}",
                    context()
                );
            }
        }
    }
}
