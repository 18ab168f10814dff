//! Short sums against long ones, quantiles against the distribution, and the cost of both.

use super::*;
use crate::family::{AnyFamily, Bernoulli, Binomial, Gamma, Poisson};
use crate::family::{CdfTransition, FastPaths};
use crate::predict::{MixturePrediction, Prediction, Predictive};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn families() -> [AnyFamily; 8] {
    [
        Gamma::default().into(),
        Gamma::new(0.01).unwrap().into(),
        Gamma::new(5.0).unwrap().into(),
        Poisson.into(),
        Binomial::new(7).unwrap().into(),
        Binomial::new(1000).unwrap().into(),
        Binomial::proportion().into(),
        Bernoulli.into(),
    ]
}

/// Against the trapezoid rule with a hundred times as many nodes.
#[test]
fn short_sums_are_the_long_ones() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for family in families() {
        for _ in 0..30 {
            let m: f64 = rng.random_range(-5.0..5.0);
            let s: f64 = 10f64.powf(rng.random_range(-6.0..1.5));
            let y = family
                .quantile(m + s.sqrt() * rng.random_range(-3.0..3.0), rng.random_range(0.01..0.99));
            let h = 0.001;
            let n = 9000;
            let node = |k: i32| {
                (-0.5 * (f64::from(k) * h).powi(2)).exp()
                    * family.cdf(m + s.sqrt() * f64::from(k) * h, y)
            };
            let long = (-n..=n).map(node).sum::<f64>() * h / TAU.sqrt();
            let short = cdf(&family, y, m, s).expect("these families have a transition");
            assert!((short - long).abs() < 1e-10, "{family:?} y={y} m={m} s={s}: {short} {long}");
        }
    }
}

/// A transition that is a step beside the belief leaves the belief's own distribution.
#[test]
fn a_belief_far_wider_than_the_transition_decides_alone() {
    for (m, s) in [(3.0, 1e4), (-40.0, 1e6)] {
        for y in [1.0, 30.0, 1e6] {
            // E ln G of a gamma variable G of large shape is the logarithm of its mean
            let sharp = Gamma::new(1e-9).unwrap();
            let short = cdf(&sharp, y, m, s).unwrap();
            let belief = normal_cdf((y.ln() - m) / s.sqrt());
            assert!((short - belief).abs() < 1e-11, "y={y} m={m} s={s}: {short} {belief}");
        }
    }
}

#[test]
fn quantiles_invert_the_distribution() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
    for family in families() {
        for i in 0..40 {
            let m = rng.random_range(-5.0..7.0);
            let s = if i == 0 { 0.0 } else { 10f64.powf(rng.random_range(-6.0..2.5)) };
            let alone = Prediction::new(family, m, s).unwrap();
            let other = Prediction::new(family, m + rng.random_range(-2.0..2.0), 2.0 * s).unwrap();
            let mixture = MixturePrediction::new(vec![(0.7, alone.clone()), (0.3, other)]).unwrap();
            for q in [1e-3, 0.05, 0.4, 0.5, 0.95, 0.999] {
                for next in [&alone as &dyn Predictive, &mixture] {
                    let y = next.quantile(q);
                    let p = next.cdf(y);
                    let before =
                        if family.discrete() { next.cdf(y - 1.0) } else { next.cdf(y) - 1e-10 };
                    assert!(
                        p >= q - 1e-10 && before < q + 1e-10,
                        "{family:?} m={m} s={s} q={q}: {y} {before} {p}"
                    );
                }
            }
        }
    }
}

/// Counts the evaluations of the family.
#[derive(Debug, Clone)]
struct Counted(AnyFamily, Arc<AtomicUsize>);

impl Family for Counted {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn domain(&self) -> &str {
        self.0.domain()
    }
    fn canonical(&self, y: f64) -> Option<f64> {
        self.0.canonical(y)
    }
    fn loss(&self, y: f64, u: f64) -> f64 {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.loss(y, u)
    }
    fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
        self.0.derivatives(y, u)
    }
    fn log_base(&self, y: f64) -> f64 {
        self.0.log_base(y)
    }
    fn mean(&self, u: f64) -> f64 {
        self.0.mean(u)
    }
    fn variance(&self, u: f64) -> f64 {
        self.0.variance(u)
    }
    fn quantile(&self, u: f64, q: f64) -> f64 {
        self.0.quantile(u, q)
    }
    fn cdf(&self, u: f64, y: f64) -> f64 {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.cdf(u, y)
    }
    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        self.0.sample(u, rng)
    }
    fn moderated_mean(&self, m: f64, s: f64) -> f64 {
        self.0.moderated_mean(m, s)
    }
    fn discrete(&self) -> bool {
        self.0.discrete()
    }
    fn largest_linear(&self) -> f64 {
        self.0.largest_linear()
    }
    fn fast(&self) -> impl FastPaths<Family = Self> {
        CountedTransition(self)
    }
}

/// The transition alone, so that nothing else of the family is faster than counted.
struct CountedTransition<'a>(&'a Counted);

impl FastPaths for CountedTransition<'_> {
    type Family = Counted;
    fn family(&self) -> &Counted {
        self.0
    }
    fn cdf_transition(&self, y: f64) -> Option<CdfTransition> {
        self.0.0.cdf_transition(y)
    }
}

/// Counts too large to be exact: their law is that of $e^u$.
#[test]
fn astronomic_counts_end_the_search() {
    for (m, s) in [(30.0, 1.0), (80.0, 1.0), (200.0, 0.01), (1.0, 2e3), (150.0, 1e-6)] {
        let interval = Prediction::new(Poisson, m, s).unwrap().interval(0.9).unwrap();
        let z = normal_quantile(0.95);
        let expected =
            [m - z * s.sqrt(), m + z * s.sqrt()].map(|u: f64| if u > 25.0 { u } else { f64::NAN });
        for (y, u) in [interval.lower, interval.upper]
            .into_iter()
            .zip(expected)
            .filter(|(_, u)| u.is_finite())
        {
            assert!((y.ln() - u).abs() < 1e-6, "m={m} s={s}: {y:e} {u}");
        }
    }
}

#[test]
fn an_interval_takes_few_evaluations() {
    for family in families() {
        for (m, s) in [(-2.0, 0.01), (0.3, 1.0), (3.0, 1e-4), (2.0, 0.3), (4.0, 4.0)] {
            let asked = Arc::new(AtomicUsize::new(0));
            let next = Prediction::new(Counted(family, Arc::clone(&asked)), m, s).unwrap();
            next.interval(0.9).unwrap();
            assert!(asked.load(Ordering::Relaxed) < 1000, "{family:?} m={m} s={s}: {asked:?}");
        }
    }
}
