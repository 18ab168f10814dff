//! Draws from beliefs: roots of covariances, moments of draws, and what follows for rows.

use crate::common::{Rng, centered, rng, uniform};
use kalmia::covariance::Covariance;
use kalmia::learner::Sample;
use kalmia::{
    AnyFamily, AnyLearner, Auto, AveragedSgd, Dense, DriftMode, Error, Factored, Filter, Inputs,
    Learner, MomentMatch, Predict, Prior, Rows,
};

const DIM: usize = 4;
const DRAWS: usize = 40_000;

fn family(name: &str) -> AnyFamily {
    name.parse().unwrap()
}

/// Rows with a constant, and targets that every family takes.
fn rows(n: usize, name: &str, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let row = [1.0, centered(rng), 2.0 + centered(rng), centered(rng)];
        let u = 0.3 + row[1] - 0.4 * row[3] + centered(rng);
        y.push(match name {
            "bernoulli" => f64::from(uniform(rng) < 1.0 / (1.0 + (-u).exp())),
            "poisson" | "negative-binomial" => (3.0 * uniform(rng) * u.exp()).floor(),
            "gamma" => u.exp() * (0.1 + uniform(rng)),
            _ => u,
        });
        x.extend_from_slice(&row);
    }
    (x, y)
}

/// The mean and covariance of draws, against those given, in units of standard deviations.
fn check_moments(
    what: &str,
    draws: &[f64],
    mean: &[f64],
    covariance: impl Fn(usize, usize) -> f64,
) {
    let n = (draws.len() / DIM) as f64;
    let deviation = |j: usize| covariance(j, j).sqrt();
    for j in 0..DIM {
        let found = draws.iter().skip(j).step_by(DIM).sum::<f64>() / n;
        let error = (found - mean[j]) / deviation(j);
        assert!(error.abs() < 5.0 / n.sqrt(), "{what}: mean {j} is off by {error} deviations");
        for i in 0..=j {
            let product = |row: &[f64]| (row[i] - mean[i]) * (row[j] - mean[j]);
            let found = draws.chunks_exact(DIM).map(product).sum::<f64>() / n;
            let error = (found - covariance(i, j)) / (deviation(i) * deviation(j));
            assert!(error.abs() < 0.06, "{what}: covariance {i}, {j} is off by {error}");
        }
    }
}

fn check_root<C: Covariance>(covariance: &C) {
    let root = covariance.square_root().unwrap();
    for i in 0..DIM {
        for j in 0..DIM {
            let product: f64 = (0..DIM).map(|k| root[k * DIM + i] * root[k * DIM + j]).sum();
            let expected = covariance.entry(i, j);
            let scale = (covariance.entry(i, i) * covariance.entry(j, j)).sqrt();
            assert!((product - expected).abs() <= 1e-12 * scale, "{i}, {j}: {product} {expected}");
        }
    }
}

#[test]
fn a_square_root_gives_the_covariance() {
    let (x, y) = rows(60, "poisson", &mut rng(1));
    let prior = || Prior::isotropic(DIM, 3.0).unwrap();
    let learned = Rows::new(DIM, &x, &y).unwrap();
    let mut factored =
        Filter::with_covariance::<Factored>(family("poisson"), MomentMatch, prior()).unwrap();
    let mut dense =
        Filter::with_covariance::<Dense>(family("poisson"), MomentMatch, prior()).unwrap();
    factored.learn(learned).unwrap();
    dense.learn(learned).unwrap();
    check_root(factored.covariance());
    check_root(dense.covariance());
    for (what, draws) in [
        ("factored", factored.sample_coefficients(DRAWS, &mut rng(2)).unwrap()),
        ("dense", dense.sample_coefficients(DRAWS, &mut rng(3)).unwrap()),
    ] {
        check_moments(what, &draws, &factored.coefficients(), |i, j| {
            factored.covariance_entry(i, j).unwrap()
        });
    }
}

#[test]
fn draws_of_the_mixture_have_its_moments() {
    for name in ["bernoulli", "gaussian", "poisson", "gamma", "negative-binomial"] {
        for (n, drift) in [(30, DriftMode::Off), (400, DriftMode::Off), (400, DriftMode::Adapt)] {
            let (x, y) = rows(n, name, &mut rng(n as u64));
            let builder = Auto::builder(family(name), DIM).with_intercept(true).drift(drift);
            let mut auto = builder.build().unwrap();
            auto.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
            let degrees = auto.degrees_of_freedom();
            let what = format!("{name}, {n} rows, {drift:?}");
            let draws = auto.sample_coefficients(DRAWS, &mut rng(7)).unwrap();
            // Student's law is wider than its scale; members differ little after 30 rows
            let wider = if degrees.is_finite() { degrees / (degrees - 2.0) } else { 1.0 };
            check_moments(&what, &draws, &auto.coefficients(), |i, j| {
                wider * auto.covariance_entry(i, j).unwrap()
            });
        }
    }
}

#[test]
fn draws_of_targets_have_the_predictive_distribution() {
    for name in ["gaussian", "poisson", "gamma", "bernoulli", "negative-binomial"] {
        let (x, y) = rows(120, name, &mut rng(5));
        let mut auto = Auto::builder(family(name), DIM).with_intercept(true).build().unwrap();
        auto.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
        let learner = AnyLearner::Auto(auto);
        let offsets = [0.2];
        // with a level that no row had, which widens both alike
        let inputs = Inputs::new(DIM, &x[..DIM])
            .and_then(|inputs| inputs.with_offsets(&offsets))
            .and_then(|inputs| inputs.with_unseen(&[1]))
            .unwrap();
        let mut random = rng(6);
        let drawn = learner.draw(DRAWS, &mut random).unwrap();
        let targets = learner.sample_targets(inputs, &drawn, &mut random).unwrap();
        learner
            .predict_many(inputs, &mut |_, prediction| {
                for q in [0.1, 0.5, 0.9] {
                    let at = prediction.quantile(q);
                    let share = targets.iter().filter(|y| **y <= at).count() as f64 / DRAWS as f64;
                    let error = share - prediction.cdf(at);
                    assert!(error.abs() < 0.0125, "{name}, {q}: {share} {}", prediction.cdf(at));
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn rows_of_a_draw_share_its_coefficients() {
    let (x, y) = rows(50, "gaussian", &mut rng(8));
    let mut auto = Auto::new(family("gaussian"), DIM).unwrap();
    auto.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    let drawn = auto.draw(3, &mut rng(9)).unwrap();
    let means = |part: &[f64]| {
        auto.sample_means(Inputs::new(DIM, part).unwrap(), &drawn, &mut rng(1)).unwrap()
    };
    let together = means(&x[..2 * DIM]);
    let first = means(&x[..DIM]);
    let second = means(&x[DIM..2 * DIM]);
    for k in 0..3 {
        assert_eq!(together[2 * k..2 * k + 2], [first[k], second[k]]);
    }
}

#[test]
fn learners_without_a_covariance_refuse() {
    let sgd = AveragedSgd::new(family("gaussian"), DIM, 10, 0.1).unwrap();
    let refused = AnyLearner::Sgd(sgd).sample_coefficients(1, &mut rng(1));
    assert!(matches!(refused, Err(Error::State(_))), "{refused:?}");
}
