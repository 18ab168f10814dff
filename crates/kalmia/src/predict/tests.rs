//! Predictions against closed forms, brute-force sums and simulation.

use super::*;
use crate::family::{AnyFamily, Bernoulli, Binomial, Gamma, Gaussian, Poisson};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;

/// The Gaussian family without its closed forms, so that the integrals have to find them.
#[derive(Debug, Clone)]
struct Hidden(Gaussian);

impl Family for Hidden {
    fn name(&self) -> &str {
        "hidden"
    }
    fn domain(&self) -> &str {
        self.0.domain()
    }
    fn canonical(&self, y: f64) -> Option<f64> {
        self.0.canonical(y)
    }
    fn loss(&self, y: f64, u: f64) -> f64 {
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
        self.0.cdf(u, y)
    }
    fn sample<R: Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
        self.0.sample(u, rng)
    }
}

/// $E[f(u)]$ by the trapezoid rule on a grid far finer than any feature of `f`.
fn brute(m: f64, s: f64, step: f64, f: impl Fn(f64) -> f64) -> f64 {
    let deviation = s.sqrt();
    let mut sum = 0.0;
    let n = (10.0 * deviation / step).ceil() as i64;
    for k in -n..=n {
        let v = k as f64 * step;
        sum += (-0.5 * v * v / s).exp() * f(m + v);
    }
    sum * step / (TAU * s).sqrt()
}

#[test]
fn integrals_find_the_closed_forms_of_the_gaussian() {
    for noise in [0.01, 1.0, 30.0] {
        let family = Gaussian::new(noise).unwrap();
        for (m, s) in [(0.0, 1e-20), (-3.0, 1e-4), (2.0, 0.7), (0.5, 100.0), (1e4, 1e6)] {
            let exact = Prediction::new(family, m, s).unwrap();
            let found = Prediction::new(Hidden(family), m, s).unwrap();
            assert!((found.mean - m).abs() < 1e-9 * (1.0 + m.abs() + s.sqrt()));
            for z in [-40.0, -3.0, -0.2, 0.0, 1.7, 6.0, 200.0] {
                let y = m + z * (noise + s).sqrt();
                assert!((found.cdf(y) - exact.cdf(y)).abs() < 1e-10, "noise={noise} s={s} z={z}");
                let a = found.log_density(y);
                let b = exact.log_density(y);
                assert!(
                    (a - b).abs() < 1e-9 * (1.0 + b.abs()),
                    "noise={noise} s={s} z={z}: {a} {b}"
                );
            }
            for level in [0.1, 0.9, 0.999] {
                let a = found.interval(level).unwrap();
                let b = exact.interval(level).unwrap();
                let scale = (noise + s).sqrt() * 1e-6;
                assert!(
                    (a.lower - b.lower).abs() < scale && (a.upper - b.upper).abs() < scale,
                    "{a:?} {b:?}"
                );
                assert!((exact.cdf(b.upper) - exact.cdf(b.lower) - level).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn moderated_probability_is_the_integral() {
    for s in [1e-8, 0.01, 0.3, 1.0, 1.1, 9.0, 15.9, 16.1, 100.0, 1e4] {
        for m in [-40.0, -6.0, -0.7, 0.0, 0.3, 12.0] {
            let next = Prediction::new(Bernoulli, m, s).unwrap();
            let step = 0.05 * s.sqrt().min(1.0);
            let truth = brute(m, s, step, |u| Bernoulli.mean(u));
            assert!((next.mean - truth).abs() < 1e-10, "m={m} s={s}: {} {truth}", next.mean);
            let one = next.log_density(1.0).exp();
            let zero = next.log_density(-1.0).exp();
            assert!(
                (one - truth).abs() < 1e-10 && (one + zero - 1.0).abs() < 1e-10,
                "m={m} s={s}: {one} {truth}"
            );
            assert!((next.cdf(0.0) - zero).abs() < 1e-10);
            if s <= 1.0 {
                assert!(
                    (one / next.mean - 1.0).abs() < 1e-9,
                    "the tail keeps its relative accuracy: m={m} s={s}"
                );
            }
        }
    }
}

#[test]
fn counts_sum_to_one_and_intervals_are_exact_on_them() {
    let families: [AnyFamily; 3] =
        [Poisson.into(), Binomial::new(40).unwrap().into(), Bernoulli.into()];
    for family in families {
        for (m, s) in [(-1.0, 0.5), (0.4, 2.0), (2.0, 0.01), (1.0, 0.0)] {
            let next = Prediction::new(family, m, s).unwrap();
            let masses: Vec<f64> =
                (0..4000).map(|k| next.log_density(f64::from(k)).exp()).collect();
            let mean: f64 = masses.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
            assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{family:?} m={m} s={s}");
            assert!(
                (mean / next.mean - 1.0).abs() < 2e-3,
                "{family:?} m={m} s={s}: {mean} {}",
                next.mean
            );
            let below = |y: f64| masses.iter().take((y + 1.0) as usize).sum::<f64>();
            for y in [0.0, 1.0, 7.0] {
                assert!((next.cdf(y) - below(y)).abs() < 1e-9, "{family:?} m={m} s={s} y={y}");
            }
            for level in [0.3, 0.8, 0.99] {
                let Interval { lower: low, upper: high } = next.interval(level).unwrap();
                let tail = 0.5 * (1.0 - level);
                assert_eq!((low.fract(), high.fract()), (0.0, 0.0));
                assert!(
                    below(low) >= tail && below(high) >= 1.0 - tail,
                    "{family:?} m={m} s={s} level={level}"
                );
                assert!(
                    low == 0.0 || below(low - 1.0) < tail,
                    "{family:?} m={m} s={s} level={level}: {low}"
                );
                assert!(
                    high == 0.0 || below(high - 1.0) < 1.0 - tail,
                    "{family:?} m={m} s={s}: {high}"
                );
            }
        }
    }
}

#[test]
fn skewed_and_narrow_likelihoods_are_not_missed() {
    // A cliff in a wide plateau, a spike far in the tail of a wide belief, and a spike in a narrow
    // one.
    for (y, m, s, step) in [
        (0.0, 3.0, 1e6, 0.02),
        (0.0, -40.0, 100.0, 0.01),
        (1e4, 0.0, 25.0, 1e-4),
        (500.0, 6.0, 0.01, 1e-4),
    ] {
        let next = Prediction::new(Poisson, m, s).unwrap();
        let peak = if y == 0.0 { 0.0 } else { Poisson.loss(y, f64::ln(y)) };
        let truth = brute(m, s, step, |u| (peak - Poisson.loss(y, u)).exp()).ln() - peak
            + Poisson.log_base(y);
        let got = next.log_density(y);
        assert!((got - truth).abs() < 1e-8, "y={y} m={m} s={s}: {got} {truth}");
    }
}

#[test]
fn intervals_cover_what_is_simulated() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let families: [AnyFamily; 4] = [
        Gamma::new(0.4).unwrap().into(),
        Gamma::new(3.0).unwrap().into(),
        Poisson.into(),
        Gaussian::new(2.0).unwrap().into(),
    ];
    let n = 20_000;
    for family in families {
        for (m, s) in [(0.5, 0.2), (2.0, 1.5)] {
            let next = Prediction::new(family, m, s).unwrap();
            let Interval { lower: low, upper: high } = next.interval(0.8).unwrap();
            let mean = next.mean_interval(0.8).unwrap();
            let expected =
                next.cdf(high) - next.cdf(if family.discrete() { low - 1.0 } else { low });
            assert!(
                expected >= 0.8 - 1e-9 && (family.discrete() || expected <= 0.8 + 1e-9),
                "{family:?}: {expected}"
            );
            let mut inside = 0;
            let mut mean_inside = 0;
            for _ in 0..n {
                let z: f64 = rng.sample(rand_distr::StandardNormal);
                let u = m + s.sqrt() * z;
                let y = family.sample(u, &mut rng);
                inside += i32::from(low <= y && y <= high);
                mean_inside +=
                    i32::from(mean.lower <= family.mean(u) && family.mean(u) <= mean.upper);
            }
            let error = |share: f64| 5.0 * (share * (1.0 - share) / f64::from(n)).sqrt();
            let share = |count: i32| f64::from(count) / f64::from(n);
            assert!(
                (share(inside) - expected).abs() < error(expected),
                "{family:?} m={m} s={s}: {}",
                share(inside)
            );
            assert!((share(mean_inside) - 0.8).abs() < error(0.8), "{family:?} m={m} s={s}");
        }
    }
}

#[test]
fn gamma_density_is_the_slope_of_its_distribution() {
    let next = Prediction::new(Gamma::new(0.7).unwrap(), 0.3, 0.8).unwrap();
    for y in [0.05, 0.4, 1.3, 6.0] {
        let h = 1e-3 * y;
        let slope = (8.0 * (next.cdf(y + h) - next.cdf(y - h))
            - (next.cdf(y + 2.0 * h) - next.cdf(y - 2.0 * h)))
            / (12.0 * h);
        assert!((next.log_density(y).exp() / slope - 1.0).abs() < 1e-6, "{y}");
    }
}

/// Student's law is the normal one with its precision integrated over $\tau \sim \Gamma(\nu/2,
/// \nu/2)$.
#[test]
fn learned_noise_is_the_normal_prediction_over_a_gamma_precision() {
    let m = 0.4;
    let s = 0.5;
    let noise = 1.7;
    let y = 2.9;
    for dof in [1.0, 3.0, 40.0] {
        let next = Prediction::new(Gaussian::new(noise).unwrap(), m, s)
            .unwrap()
            .with_degrees_of_freedom(dof)
            .unwrap();
        let prior = Gamma::new(2.0 / dof).unwrap();
        let over_precision = |f: &dyn Fn(&Prediction<Gaussian>) -> f64| {
            let step = 0.01;
            let weight = |t: f64| (prior.log_density(t.exp(), 0.0) + t).exp();
            let at = |t: f64| {
                Prediction::new(Gaussian::new(noise / t.exp()).unwrap(), m, s / t.exp()).unwrap()
            };
            (-6000..500)
                .map(|k| f64::from(k) * step)
                .map(|t| step * weight(t) * f(&at(t)))
                .sum::<f64>()
        };
        assert!((next.cdf(y) - over_precision(&|p| p.cdf(y))).abs() < 1e-10, "{dof}");
        assert!(
            (next.log_density(y).exp() - over_precision(&|p| p.log_density(y).exp())).abs() < 1e-10,
            "{dof}"
        );
        let Interval { lower: low, upper: high } = next.interval(0.95).unwrap();
        assert!((next.cdf(low) - 0.025).abs() < 1e-12 && (next.cdf(high) - 0.975).abs() < 1e-12);
        let Interval { lower: low, upper: high } = next.mean_interval(0.95).unwrap();
        assert!((next.linear_cdf(high) - next.linear_cdf(low) - 0.95).abs() < 1e-12);
        if dof > 2.0 {
            let variance = over_precision(&|p| p.linear_variance);
            assert!(
                (next.linear_variance / variance - 1.0).abs() < 1e-8,
                "{dof}: {} {variance}",
                next.linear_variance
            );
        }
    }
    let normal = Prediction::new(Gaussian::default(), 0.0, 1.0).unwrap();
    let nearly = normal.clone().with_degrees_of_freedom(1e9).unwrap();
    assert!(
        (nearly.interval(0.9).unwrap().upper - normal.interval(0.9).unwrap().upper).abs() < 1e-8
    );
    assert!((nearly.log_density(2.0) - normal.log_density(2.0)).abs() < 1e-6);
}

#[test]
fn mixture_averages_its_members() {
    let parts = |weights: [f64; 3]| {
        let ends = [(-1.0, 0.2), (0.5, 2.0), (3.0, 0.0)];
        weights
            .into_iter()
            .zip(ends.map(|(m, s)| Prediction::new(Poisson, m, s).unwrap()))
            .collect::<Vec<_>>()
    };
    let mixture = MixturePrediction::new(parts([1.0, 2.0, 1.0])).unwrap();
    let total: f64 = (0..3000).map(|k| mixture.log_density(f64::from(k)).exp()).sum();
    assert!((total - 1.0).abs() < 1e-6);
    let Interval { lower: low, upper: high } = mixture.interval(0.9).unwrap();
    assert!(mixture.cdf(high) >= 0.95 && mixture.cdf(high - 1.0) < 0.95);
    assert!(mixture.cdf(low) >= 0.05 && mixture.cdf(low - 1.0) < 0.05);
    let by_hand = -0.25 + 0.5 * 0.5 + 0.25 * 3.0;
    assert!((mixture.linear - by_hand).abs() < 1e-15);
    let second = 0.25 * (1.0 + 0.2) + 0.5 * (0.25 + 2.0) + 0.25 * 9.0;
    assert!((mixture.linear_variance - (second - by_hand * by_hand)).abs() < 1e-14);

    let alone = MixturePrediction::new(parts([0.0, 5.0, 0.0])).unwrap();
    let member = Prediction::new(Poisson, 0.5, 2.0).unwrap();
    assert_eq!(alone.parts().len(), 1);
    assert_eq!(alone.interval(0.8).unwrap(), member.interval(0.8).unwrap());
    assert_eq!(alone.mean_interval(0.8).unwrap(), member.mean_interval(0.8).unwrap());
    assert_eq!(alone.log_density(2.0), member.log_density(2.0));
    for weights in [[0.0, 0.0, 0.0], [1.0, -1.0, 1.0], [f64::NAN, 1.0, 1.0]] {
        assert!(MixturePrediction::new(parts(weights)).is_err());
    }
}

#[test]
fn bad_arguments_are_named() {
    let name = |result: Result<Interval>| match result.unwrap_err() {
        crate::Error::Parameter { name, .. } => name,
        other => panic!("{other}"),
    };
    let next = Prediction::new(Bernoulli, 0.0, 1.0).unwrap();
    for level in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
        assert_eq!(name(next.interval(level)), "level");
        assert_eq!(name(next.mean_interval(level)), "level");
    }
    assert!(Prediction::new(Bernoulli, f64::NAN, 1.0).is_err());
    assert!(Prediction::new(Bernoulli, 0.0, -1.0).is_err());
    assert!(Prediction::new(Bernoulli, 0.0, f64::INFINITY).is_err());
    assert!(next.clone().with_degrees_of_freedom(3.0).is_err());
    assert_eq!(next.log_density(0.5), f64::NEG_INFINITY);
}

#[test]
fn extreme_beliefs_give_finite_answers() {
    let families: [AnyFamily; 5] = [
        Gaussian::default().into(),
        Bernoulli.into(),
        Binomial::new(9).unwrap().into(),
        Poisson.into(),
        Gamma::default().into(),
    ];
    for family in families {
        for (m, s) in [(1e4, 1.0), (-1e4, 1.0), (0.0, 1e6), (5.0, 1e-300), (-700.0, 100.0)] {
            let next = Prediction::new(family, m, s).unwrap();
            let Interval { lower: low, upper: high } = next.interval(0.9).unwrap();
            assert!(
                next.mean.is_finite() && low <= high && !low.is_nan() && !high.is_nan(),
                "{family:?} m={m} s={s}"
            );
            assert!(!next.log_density(1.0).is_nan(), "{family:?} m={m} s={s}");
        }
    }
}

/// Under a flat belief a count between the ends has the mass $\int p(y\mid u)\,du$ times the
/// belief's density: $n/(y(n-y))$ of $n$ trials, $1/y$ of a Poisson law.
#[test]
fn a_belief_of_any_width_gives_counts_their_mass() {
    let density = |u: f64, m: f64, s: f64| (-0.5 * (u - m).powi(2) / s).exp() / (TAU * s).sqrt();
    for s in [1e-3, 0.1, 1.0, 100.0, 1e4, 4e6, 1e8, 1e10] {
        for m in [-30.0, 0.0, 1.0, 500.0] {
            let next = Prediction::new(Binomial::new(7).unwrap(), m, s).unwrap();
            let masses: Vec<f64> = (0..=7).map(|k| next.log_density(f64::from(k)).exp()).collect();
            assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-8, "m={m} s={s}: {masses:?}");
            for (y, mass) in (1..7).map(f64::from).zip(&masses[1..]).filter(|_| s >= 1e8) {
                let flat = 7.0 / (y * (7.0 - y)) * density(0.0, m, s);
                assert!((mass / flat - 1.0).abs() < 1e-4, "m={m} s={s} y={y}: {mass} {flat}");
            }
        }
    }
    let count = Prediction::new(Poisson, 12.5, 1e6).unwrap().log_density(64.0);
    assert!((count - (density(64f64.ln(), 12.5, 1e6) / 64.0).ln()).abs() < 1e-5, "{count}");
    let label = Prediction::new(Bernoulli, 1573.0, 7e8).unwrap().log_density(0.0);
    assert!((label - brute(1573.0, 7e8, 0.5, |u| Bernoulli.mean(-u)).ln()).abs() < 1e-8, "{label}");
}

#[test]
fn a_quantile_of_a_mixture_inverts_its_distribution_function() {
    // members differ in belief and, for the Gaussian and Gamma families, in dispersion
    let member = |name: &str, m: f64, s: f64| {
        Prediction::new(name.parse::<AnyFamily>().unwrap(), m, s).unwrap()
    };
    for names in [
        ["gaussian:0.3", "gaussian:4", "gaussian:1"],
        ["gamma:0.2", "gamma:3", "gamma:1"],
        ["poisson"; 3],
        ["binomial:9"; 3],
    ] {
        let parts = vec![
            (1e-6, member(names[0], -1.0, 0.5)),
            (0.3, member(names[1], 0.4, 0.05)),
            (0.7, member(names[2], 0.9, 0.4)),
        ];
        let mixture = MixturePrediction::new(parts).unwrap();
        for q in [0.01, 0.025, 0.25, 0.5, 0.75, 0.975, 0.99] {
            let y = mixture.quantile(q);
            let at = mixture.cdf(y);
            if names[0].starts_with("ga") {
                assert!((at - q).abs() < 1e-7, "{names:?}, {q}: {at}");
            } else {
                assert!(at >= q - 1e-9 && mixture.cdf(y - 1.0) < q, "{names:?}, {q}: {y}");
            }
        }
    }
}
