//! Means and variances by summing the probabilities of all counts.

use super::*;
use crate::family::{AnyFamily, Binomial, Gamma, Gaussian, Poisson};
use crate::predict::Predictive;

/// Mean and variance by summing the probabilities of all counts.
fn summed(next: &Prediction<AnyFamily>, counts: u32) -> (f64, f64) {
    let masses: Vec<f64> = (0..=counts).map(|k| next.log_density(f64::from(k)).exp()).collect();
    let moment = |f: &dyn Fn(f64) -> f64| {
        masses.iter().enumerate().map(|(k, p)| f(k as f64) * p).sum::<f64>()
    };
    let mean = moment(&|k| k);
    assert!((moment(&|_| 1.0) - 1.0).abs() < 1e-7, "{next:?}");
    (mean, moment(&|k| (k - mean).powi(2)))
}

#[test]
fn the_mean_stays_and_the_variance_grows_by_phi() {
    let binomial = |n: u64| AnyFamily::from(Binomial::new(n).unwrap());
    for (family, counts) in
        [(Poisson.into(), 6000), (binomial(2), 2), (binomial(9), 9), (binomial(300), 300)]
    {
        for m in [-3.0, -1.0, 0.0, 0.4, 2.5] {
            for phi in [1.01, 1.3, 1.8, 4.0] {
                // beyond the cap, or with a tail too long to be summed
                if (counts <= 9 || m < 0.0) && phi > 1.8 {
                    continue;
                }
                let plain = Prediction::new(family, m, 0.0).unwrap();
                let wide = plain.clone().with_overdispersion(phi).unwrap();
                let (mean, variance) = summed(&wide, counts);
                let what = format!("{family:?} m {m} phi {phi}: {mean} {variance}");
                assert!((mean / plain.mean - 1.0).abs() < 1e-6, "{what}");
                assert!((variance / (phi * plain.variance()) - 1.0).abs() < 1e-4, "{what}");
                assert!((wide.variance() / (phi * plain.variance()) - 1.0).abs() < 1e-6);
                assert_eq!((wide.mean, wide.linear), (plain.mean, plain.linear));
            }
        }
    }
}

#[test]
fn a_wide_belief_keeps_its_mean_too() {
    for family in [Poisson.into(), AnyFamily::from(Binomial::new(20).unwrap())] {
        for (m, s) in [(-2.0, 0.3), (0.7, 0.01), (1.0, 0.8)] {
            let plain = Prediction::new(family, m, s).unwrap();
            let wide = plain.clone().with_overdispersion(2.0).unwrap();
            let (mean, variance) = summed(&wide, if family == Poisson.into() { 9000 } else { 20 });
            assert!((mean / plain.mean - 1.0).abs() < 1e-6, "{family:?} {m} {s}: {mean}");
            assert!((variance / wide.variance() - 1.0).abs() < 1e-4, "{family:?} {m} {s}");
            assert!(wide.variance() > 1.02 * plain.variance());
            assert_eq!(
                wide.mean_interval(0.9).unwrap(),
                plain.mean_interval(0.9).unwrap(),
                "the mean is no more uncertain"
            );
        }
    }
}

#[test]
fn quantiles_invert_the_distribution() {
    for family in [Poisson.into(), AnyFamily::from(Binomial::new(30).unwrap())] {
        let part = |m: f64, s: f64| Prediction::new(family, m, s).unwrap();
        let mixture = MixturePrediction::new(vec![(0.6, part(0.3, 0.02)), (0.4, part(1.0, 0.2))])
            .unwrap()
            .with_overdispersion(2.5)
            .unwrap();
        let alone = part(1.2, 0.1).with_overdispersion(2.5).unwrap();
        for q in [1e-6, 0.025, 0.5, 0.975, 1.0 - 1e-6] {
            for next in [&mixture as &dyn Predictive, &alone] {
                let y = next.quantile(q);
                assert!(next.cdf(y) >= q - 1e-10, "{family:?} {q}: {y}");
                assert!(next.cdf(y - 1.0) < q + 1e-10, "{family:?} {q}: {y}");
            }
        }
    }
}

#[test]
fn one_changes_no_bit_and_other_families_ignore_it() {
    let families: [AnyFamily; 6] = [
        Poisson.into(),
        Binomial::new(7).unwrap().into(),
        Binomial::proportion().into(),
        Bernoulli.into(),
        Gamma::default().into(),
        Gaussian::default().into(),
    ];
    for family in families {
        let plain = Prediction::new(family, 0.3, 0.2).unwrap();
        assert_eq!(plain.clone().with_overdispersion(1.0).unwrap(), plain);
        let wide = plain.clone().with_overdispersion(1.5).unwrap();
        let counts = matches!(family, AnyFamily::Poisson(_))
            || matches!(family, AnyFamily::Binomial(b) if b.trials() == Some(7));
        assert_eq!(wide == plain, !counts, "{family:?}");
        for phi in [0.99, -1.0, f64::NAN, f64::INFINITY] {
            assert!(plain.clone().with_overdispersion(phi).is_err());
        }
    }
}

#[test]
fn extreme_means_stay_finite() {
    for family in [Poisson.into(), AnyFamily::from(Binomial::new(12).unwrap())] {
        for m in [-700.0, -40.0, -12.0, 12.0, 40.0, 299.0, 1e4] {
            for phi in [1.0 + 1e-9, 3.0, 1e6] {
                let next = Prediction::new(family, m, 0.1).unwrap();
                let next = next.with_overdispersion(phi).unwrap();
                let TargetBelief { m: a, s } = next.target;
                assert!(a.is_finite() && s.is_finite() && s >= 0.1, "{family:?} {m} {phi}");
                let interval = next.interval(0.9).unwrap();
                assert!(interval.lower <= interval.upper, "{family:?} {m} {phi} {interval:?}");
            }
        }
    }
}
