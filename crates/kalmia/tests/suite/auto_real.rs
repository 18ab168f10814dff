//! The default learner on the real data sets of the repository.

use crate::common::{rng, uniform};
use crate::real::real;
use kalmia::predict::Interval;
use kalmia::{
    Auto, Bernoulli, Ekf, Family, Filter, Gaussian, Learner, Poisson, Predict, Prior, RowView, Rows,
};

/// The rows in another order.
fn shuffled(seed: u64, dim: usize, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut order: Vec<usize> = (0..y.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, (uniform(&mut rng) * (i + 1) as f64) as usize);
    }
    (
        order.iter().flat_map(|&i| x[i * dim..][..dim].to_vec()).collect(),
        order.iter().map(|&i| y[i]).collect(),
    )
}

fn mean_loss(learner: &mut dyn Learner, x: &[f64], y: &[f64]) -> f64 {
    let mut total = 0.0;
    learner
        .learn_observed(
            Rows::new(learner.dim(), x, y).unwrap(),
            Some(&mut |s: &RowView<'_>| total += s.loss),
        )
        .unwrap();
    assert!(learner.coefficients().iter().all(|v| v.is_finite()));
    total / y.len() as f64
}

#[test]
fn raw_real_features_are_learned_where_the_plain_filter_fails() {
    // Limits are shares of the constant predictor's loss. One pass, first rows included, cannot
    // come close to a batch fit; digits has more features per row (65 in 1797) and so a larger
    // share.
    for (name, share) in
        [("examples/breast_cancer.csv", 0.19), ("crates/kalmia/tests/data/real/digits.csv", 0.36)]
    {
        let (dim, x, y) = real(name);
        let ones = y.iter().sum::<f64>() / y.len() as f64;
        let limit = -share * (ones * ones.ln() + (1.0 - ones) * (1.0 - ones).ln());
        let mut plain = 0.0;
        for seed in 0..4 {
            let (x, y) =
                if seed == 0 { (x.clone(), y.clone()) } else { shuffled(seed, dim, &x, &y) };
            let auto = mean_loss(&mut Auto::new(Bernoulli, dim).unwrap(), &x, &y);
            let centered =
                mean_loss(&mut Auto::builder(Bernoulli, dim).intercept().build().unwrap(), &x, &y);
            let ekf = mean_loss(
                &mut Filter::new(Bernoulli, Ekf, Prior::isotropic(dim, 1.0).unwrap()).unwrap(),
                &x,
                &y,
            );
            println!(
                "{name}, order {seed}: auto {auto:.4}, centered {centered:.4}, plain {ekf:.3}"
            );
            plain = ekf.max(plain);
            assert!(auto < limit && centered < limit, "{name}: {auto} {centered}");
        }
        assert!(plain > 2.0, "{name}: the plain filter has {plain}");
    }
}

fn batch() -> serde_json::Value {
    let path = format!("{}/tests/data/real/batch_results.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn real_counts_reach_the_batch_fit() {
    let (dim, x, y) = real("examples/randhie.csv.gz");
    let rows = Rows::new(dim, &x, &y).unwrap();
    let mut auto = Auto::new(Poisson, dim).unwrap();
    auto.learn(rows).unwrap();
    let deviance = |y: f64, m: f64| 2.0 * (if y > 0.0 { y * (y / m).ln() } else { 0.0 } - (y - m));
    let mean: f64 = (0..y.len())
        .map(|i| deviance(y[i], Poisson.mean(auto.linear(rows.x(i)).unwrap())))
        .sum::<f64>()
        / y.len() as f64;
    let expected = batch()["randhie"]["mean_deviance"].as_f64().unwrap();
    println!("mean deviance {mean:.4}, batch {expected:.4}");
    assert!(mean <= 1.02 * expected);
}

#[test]
fn the_noise_is_learned() {
    let (dim, x, y) = real("crates/kalmia/tests/data/real/diabetes.csv");
    let mut auto = Auto::builder(Gaussian::default(), dim).intercept().build().unwrap();
    let mut covered = 0;
    for i in 0..y.len() {
        let row = Rows::new(dim, &x[i * dim..][..dim], &y[i..=i]).unwrap();
        let Interval { lower: low, upper: high } =
            auto.predict(row.x(0), 0.0).unwrap().interval(0.9).unwrap();
        covered += usize::from((low..=high).contains(&y[i]));
        auto.learn(row).unwrap();
    }
    let share = covered as f64 / y.len() as f64;
    assert!((0.85..=0.95).contains(&share), "90 % intervals hold {share}");
    let batch = &batch()["diabetes"];
    let variance = batch["residual_variance"].as_f64().unwrap();
    assert!(
        (auto.dispersion() / variance - 1.0).abs() < 0.05,
        "{} against {variance}",
        auto.dispersion()
    );
    for (j, (own, expected)) in auto
        .standard_errors()
        .unwrap()
        .iter()
        .zip(batch["standard_errors"].as_array().unwrap())
        .enumerate()
    {
        let ratio = own / expected.as_f64().unwrap();
        // the prior shrinks the collinear serum measurements; no error may come out larger than
        // without it
        assert!((0.2..1.1).contains(&ratio), "coefficient {j}: {ratio}");
    }
}
