//! What the priors of the default learner promise: intervals of the intercept and of overdispersed
//! counts that hold, a loss near that of the better kind of prior, and calm first rows.

use crate::common::{Rng, centered, rng, uniform};
use kalmia::{
    Auto, Bernoulli, Binomial, Family, Gamma, Gaussian, Learner, Poisson, Predict, RowView, Rows,
};

/// A normal variable, by the sum of twelve uniform ones.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

/// Share of 95 % intervals that hold the intercept, and of those that hold a slope, over
/// replicates of `rows` rows with standard normal features.
fn coverage<F: Family>(
    family: &F,
    intercept: f64,
    slopes: usize,
    rows: usize,
    replicates: u64,
    sample: impl Fn(f64, &mut Rng) -> f64,
) -> [f64; 2] {
    let mut hits = [0.0; 2];
    for seed in 0..replicates {
        let mut rng = rng(seed);
        let truth: Vec<f64> =
            (0..slopes).map(|_| 0.6 * normal(&mut rng) / (slopes as f64).sqrt()).collect();
        let dim = slopes + 1;
        let mut x = Vec::new();
        let mut y = Vec::new();
        for _ in 0..rows {
            let row: Vec<f64> = (0..slopes).map(|_| normal(&mut rng)).collect();
            let u = intercept + row.iter().zip(&truth).map(|(x, t)| x * t).sum::<f64>();
            x.push(1.0);
            x.extend(row);
            y.push(sample(u, &mut rng));
        }
        let mut auto = Auto::builder(family.clone(), dim).intercept().build().unwrap();
        auto.learn(Rows::new(dim, &x, &y).unwrap()).unwrap();
        let errors = auto.standard_errors().unwrap();
        let holds = |j: usize, truth: f64| {
            f64::from((auto.coefficients()[j] - truth).abs() <= 1.98 * errors[j])
        };
        hits[0] += holds(0, intercept);
        hits[1] +=
            truth.iter().enumerate().map(|(j, &t)| holds(j + 1, t)).sum::<f64>() / slopes as f64;
    }
    hits.map(|hits| hits / replicates as f64)
}

/// Four standard errors below the level, for `replicates` independent intervals.
fn least(replicates: u64) -> f64 {
    0.95 - 4.0 * (0.95 * 0.05 / replicates as f64).sqrt()
}

#[test]
fn intervals_of_an_intercept_hold() {
    let noise = |u: f64, rng: &mut Rng| u + normal(rng);
    let found = coverage(&Gaussian::default(), 0.7, 40, 200, 100, noise);
    assert!(found[0] >= least(100) && found[1] >= 0.9, "Gaussian: {found:?}");
    let labels = |u: f64, rng: &mut Rng| Bernoulli.sample(u, rng);
    let found = coverage(&Bernoulli, -2.0, 20, 1500, 60, labels);
    assert!(found[0] >= least(60) && found[1] >= 0.9, "Bernoulli: {found:?}");
    let counts = |u: f64, rng: &mut Rng| Poisson.sample(u, rng);
    let found = coverage(&Poisson, 0.7, 20, 300, 60, counts);
    assert!(found[0] >= least(60) && found[1] >= 0.9, "Poisson: {found:?}");
}

#[test]
fn intervals_from_overdispersed_counts_hold() {
    // variance = 5 times the mean
    let negative_binomial = |u: f64, rng: &mut Rng| {
        let factor = Gamma::new(4.0 / u.exp()).unwrap().sample(0.0, rng);
        Poisson.sample(u + factor.ln(), rng)
    };
    let found = coverage(&Poisson, 1.0, 4, 1000, 60, negative_binomial);
    assert!(found[0] >= least(60) && found[1] >= 0.9, "negative binomial: {found:?}");
    // 20 trials whose chance is shared: the variance is about 5 times that of a binomial
    let shared = |u: f64, rng: &mut Rng| Binomial::new(20).unwrap().sample(u + normal(rng), rng);
    let found = coverage(&Binomial::new(20).unwrap(), 0.0, 4, 1000, 60, shared);
    // a chance that varies draws slopes and intercept towards 0, by far less than an interval here
    assert!(found[0] >= least(60), "shared chance: {found:?}");
}

#[test]
fn the_dispersion_of_counts_is_learned() {
    let dispersion = |y: &dyn Fn(f64, &mut Rng) -> f64| {
        let mut rng = rng(5);
        let mut auto = Auto::builder(Poisson, 2).intercept().build().unwrap();
        for _ in 0..40 {
            let z: Vec<f64> = (0..100).map(|_| centered(&mut rng)).collect();
            let x: Vec<f64> = z.iter().flat_map(|z| [1.0, *z]).collect();
            let y: Vec<f64> = z.iter().map(|z| y(1.0 + 0.5 * z, &mut rng)).collect();
            auto.learn(Rows::new(2, &x, &y).unwrap()).unwrap();
        }
        auto.dispersion()
    };
    let pure = dispersion(&|u, rng| Poisson.sample(u, rng));
    assert!((1.0..1.08).contains(&pure), "{pure}");
    let wide = dispersion(&|u, rng| {
        let factor = Gamma::new(5.0 / u.exp()).unwrap().sample(0.0, rng);
        Poisson.sample(u + factor.ln(), rng)
    });
    assert!((wide / 6.0 - 1.0).abs() < 0.15, "{wide}");
}

/// A rate with its exposure as weight is the count with the logarithm of the exposure as offset.
#[test]
fn rates_have_the_dispersion_of_their_counts() {
    let mut rng = rng(9);
    let mut x = Vec::new();
    let mut counts = Vec::new();
    let mut exposures = Vec::new();
    for _ in 0..3000 {
        let z = centered(&mut rng);
        let exposure = 0.1 + 0.3 * uniform(&mut rng);
        let u = 2.0 + 0.5 * z + f64::ln(exposure);
        let factor = Gamma::new(2.0 / u.exp()).unwrap().sample(0.0, &mut rng);
        x.extend([1.0, z]);
        counts.push(Poisson.sample(u + factor.ln(), &mut rng));
        exposures.push(exposure);
    }
    let rates: Vec<f64> = counts.iter().zip(&exposures).map(|(y, e)| y / e).collect();
    let offsets: Vec<f64> = exposures.iter().map(|e| e.ln()).collect();
    let learned = |rows: Rows<'_>| {
        let mut auto = Auto::builder(Poisson, 2).intercept().build().unwrap();
        auto.learn(rows).unwrap();
        auto
    };
    let by_rate = learned(Rows::new(2, &x, &rates).unwrap().with_weights(&exposures).unwrap());
    let by_count = learned(Rows::new(2, &x, &counts).unwrap().with_offsets(&offsets).unwrap());
    assert!((by_count.dispersion() / 3.0 - 1.0).abs() < 0.2, "{}", by_count.dispersion());
    let found = [by_rate.dispersion(), by_count.dispersion()];
    assert!((found[0] / found[1] - 1.0).abs() < 0.02, "{found:?}");
    let errors = [&by_rate, &by_count].map(|auto| auto.standard_errors().unwrap());
    for j in 0..2 {
        assert!((errors[0][j] / errors[1][j] - 1.0).abs() < 0.02, "{errors:?}");
        let distance = (by_rate.coefficients()[j] - by_count.coefficients()[j]).abs();
        assert!(distance < 0.1 * errors[1][j], "{distance}");
    }
}

/// Pixels, words: a feature is 0 or far from it, and zero means that nothing is there.
#[test]
fn near_the_better_kind_of_prior() {
    let loss = |dim: usize, intercept: bool, x: &[f64], y: &[f64]| {
        let mut auto = Auto::builder(Bernoulli, dim).with_intercept(intercept).build().unwrap();
        let mut loss = 0.0;
        let mut watch = |seen: &RowView<'_>| loss += seen.loss;
        auto.learn_observed(Rows::new(dim, x, y).unwrap(), Some(&mut watch)).unwrap();
        loss
    };
    for seed in 0..4 {
        let mut rng = rng(seed);
        let features = 30;
        let truth: Vec<f64> = (0..features).map(|_| 0.4 * normal(&mut rng)).collect();
        let mut raw = Vec::new();
        let mut with_constant = Vec::new();
        let mut y = Vec::new();
        for _ in 0..600 {
            // a common size, so that sums of many features matter most
            let size = 12.0 + uniform(&mut rng);
            let row: Vec<f64> = (0..features).map(|_| size + 0.3 * centered(&mut rng)).collect();
            let u: f64 = row.iter().zip(&truth).map(|(x, t)| x * t).sum();
            y.push(f64::from(uniform(&mut rng) < Bernoulli.mean(u)));
            with_constant.push(1.0);
            with_constant.extend_from_slice(&row);
            raw.extend(row);
        }
        let without = loss(features, false, &raw, &y);
        let with = loss(features + 1, true, &with_constant, &y);
        // weight of the right member: a twelfth at least, and the intercept costs a little
        assert!(with <= without + 12f64.ln() + 2.0, "{seed}: {with} {without}");
    }
}
