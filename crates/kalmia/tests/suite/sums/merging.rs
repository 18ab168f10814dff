//! Merges of many beliefs: exact for normal noise, close after one polish otherwise, and a test
//! that finds the shard that differs.

use super::{centered, dot, gap, near, rng};
use crate::common::{Data, Matrix};
use kalmia::sums::{Belief, Next, Polish, Polished, PriorPrecision, Sums, merge_many, polish};
use kalmia::{
    AnyFamily, Auto, Bernoulli, Ekf, Factored, Family, Filter, Gaussian, Learner, MomentMatch,
    Prior, Rows,
};

fn sums_at(theta: &[f64], rows: Rows<'_>) -> Sums<Bernoulli> {
    let mut sums = Sums::new(Bernoulli, theta).unwrap();
    sums.add(rows).unwrap();
    sums
}

fn best(prior: &PriorPrecision, rows: Rows<'_>) -> Polished {
    let mut newton = Polish::new(prior.clone()).with_tolerance(1e-8).unwrap();
    let mut theta = vec![0.0; rows.dim()];
    loop {
        match newton.step(&sums_at(&theta, rows)).unwrap() {
            Next::Again(next) => theta = next,
            Next::Done(done) => return *done,
        }
    }
}

fn shards(rows: Rows<'_>, prior: &Prior, count: usize) -> Vec<Belief> {
    let n = rows.len();
    (0..count)
        .map(|k| {
            let mut filter = Filter::new(Bernoulli, MomentMatch, prior.clone()).unwrap();
            filter.learn(rows.slice(k * n / count..(k + 1) * n / count)).unwrap();
            Belief::of(&filter).unwrap()
        })
        .collect()
}

/// The rows in the order of a feature.
fn sorted(data: &Data, feature: usize) -> Data {
    let d = data.dim;
    let mut order: Vec<usize> = (0..data.y.len()).collect();
    order.sort_by(|&a, &b| data.x[a * d + feature].total_cmp(&data.x[b * d + feature]));
    Data {
        x: order.iter().flat_map(|&i| &data.x[i * d..][..d]).copied().collect(),
        y: order.iter().map(|&i| data.y[i]).collect(),
        ..data.clone()
    }
}

/// Root mean square of the differences in standard errors.
fn distance(a: &[f64], best: &Polished) -> f64 {
    let errors = best.standard_errors();
    let squares = a.iter().zip(best.coefficients()).zip(errors).map(|((a, b), e)| (a - b) / e);
    (squares.map(|z| z * z).sum::<f64>() / a.len() as f64).sqrt()
}

#[test]
fn one_polish_brings_merged_shards_to_the_maximum() {
    let data = Data::logistic(11, 200_000, 2.0, 31);
    let prior = Prior::isotropic(11, 100.0).unwrap();
    let precision = PriorPrecision::of(&prior).unwrap();
    for (order, data) in [("alike", data.clone()), ("sorted", sorted(&data, 1))] {
        let best = best(&precision, data.plain());
        for count in [8, 32, 128] {
            let beliefs = shards(data.plain(), &prior, count);
            let pooled = merge_many(&precision, &beliefs).unwrap();
            let merged = distance(pooled.belief.mean(), &best);
            let sums = sums_at(pooled.belief.mean(), data.plain());
            let polished = polish(&precision, &sums).unwrap();
            let after = distance(polished.coefficients(), &best);
            println!("{order}, {count} shards: {merged:.4} merged, {after:.5} after one polish");
            // the step tells how far the merge was off
            near(polished.moved().rms, merged, 0.2, 0.01);
            assert!(after <= 0.01, "{order} {count}: {after}");
            assert!(after <= 0.1 * merged, "{order} {count}: {after} {merged}");
        }
    }
}

#[test]
fn normal_noise_merges_exactly_in_any_order() {
    let family = Gaussian::new(2.5).unwrap();
    let dim = 5;
    let data = Data::draw(&mut rng(32), &AnyFamily::from(family), dim, 600);
    let prior = Prior::isotropic(dim, 2.0).unwrap().with_mean(&[0.3; 5]).unwrap();
    let blank: Filter<_, _, Factored> = Filter::new(family, Ekf, prior.clone()).unwrap();
    let learned = |range: std::ops::Range<usize>| {
        let mut filter = blank.clone();
        filter.learn(data.rows().slice(range)).unwrap();
        filter
    };
    let whole = learned(0..600);
    let filters: Vec<_> = (0..6).map(|k| learned(100 * k..100 * (k + 1))).collect();
    for order in [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]] {
        let many: Vec<_> = order.iter().map(|&k| &filters[k]).collect();
        let result = Filter::merge_many(&many).unwrap();
        assert!(result.merged.is_exact());
        assert_eq!(result.heterogeneity.degrees, 25);
        let merged = result.merged.into_inner();
        assert_eq!(merged.count(), 600);
        assert!(gap(&merged.coefficients(), &whole.coefficients(), 0.0) < 1e-11);
        let expected = Belief::of(&whole).unwrap();
        let found = Belief::of(&merged).unwrap();
        assert!(gap(found.covariance(), expected.covariance(), 0.0) < 1e-11);
    }
    let other = Filter::new(family, Ekf, Prior::isotropic(dim, 3.0).unwrap()).unwrap();
    assert!(Filter::merge_many(&[&whole, &other]).is_err());
    assert!(Filter::<Gaussian, Ekf, Factored>::merge_many(&[]).is_err());
    // one filter is itself
    let one = Filter::merge_many(&[&whole]).unwrap();
    assert_eq!((one.heterogeneity.degrees, one.heterogeneity.p_value), (0, 1.0));
    assert!(gap(&one.merged.into_inner().coefficients(), &whole.coefficients(), 0.0) < 1e-12);
}

#[test]
fn q_is_its_definition() {
    let dim = 3;
    let mut rng = rng(33);
    let prior = PriorPrecision::diagonal(vec![0.1, -0.2, 0.0], &[0.5, 0.0, 1.0]).unwrap();
    let beliefs: Vec<Belief> = (0..4)
        .map(|_| {
            let mut precision = Matrix::new(prior.matrix().to_vec());
            for _ in 0..6 {
                let x: Vec<f64> = (0..dim).map(|_| centered(&mut rng)).collect();
                precision = precision.plus_outer(5.0, &x);
            }
            let mean = (0..dim).map(|_| centered(&mut rng)).collect();
            Belief::new(mean, precision.inverse().a).unwrap()
        })
        .collect();
    let pooled = merge_many(&prior, &beliefs).unwrap();
    let mut precision = Matrix::new(prior.matrix().to_vec());
    let mut weighted = precision.times(prior.mean());
    let mut gains = Vec::new();
    for belief in &beliefs {
        let own = Matrix::new(belief.covariance().to_vec()).inverse();
        let gain: Vec<f64> = own.a.iter().zip(prior.matrix()).map(|(a, b)| a - b).collect();
        let more = own.times(belief.mean());
        let base = Matrix::new(prior.matrix().to_vec()).times(prior.mean());
        (0..dim).for_each(|j| weighted[j] += more[j] - base[j]);
        precision.a.iter_mut().zip(&gain).for_each(|(p, g)| *p += g);
        gains.push(Matrix::new(gain));
    }
    let mean = precision.inverse().times(&weighted);
    assert!(gap(pooled.belief.mean(), &mean, 0.0) < 1e-11);
    assert!(gap(pooled.belief.covariance(), &precision.inverse().a, 0.0) < 1e-11);
    let q: f64 = beliefs
        .iter()
        .zip(&gains)
        .map(|(belief, gain)| {
            let away: Vec<f64> = belief.mean().iter().zip(&mean).map(|(a, b)| a - b).collect();
            dot(&away, &gain.times(&away))
        })
        .sum();
    near(pooled.heterogeneity.q, q, 1e-10, 0.0);
    assert_eq!(pooled.heterogeneity.degrees, 9);
    // two degrees of freedom: the tail of chi-squared is an exponential
    let line = |mean: f64| Belief::new(vec![mean, 0.0], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
    let two = merge_many(&PriorPrecision::flat(2), &[line(0.0), line(3.0)]).unwrap();
    near(two.heterogeneity.q, 4.5, 1e-12, 0.0);
    near(two.heterogeneity.p_value, (-2.25f64).exp(), 1e-12, 0.0);
}

/// The p-value of the heterogeneity of 16 shards, of which the last `odd` have other coefficients.
fn p_value(seed: u64, odd: usize) -> f64 {
    let dim = 4;
    let mut data = Data::logistic(dim, 16 * 500, 1.0, seed);
    if odd > 0 {
        let mut rng = rng(seed + 1000);
        for i in (16 - odd) * 500..16 * 500 {
            let x = &data.x[i * dim..][..dim];
            data.y[i] = Bernoulli.sample(dot(x, &[-0.5, 0.5, 0.5, 0.5]), &mut rng);
        }
    }
    let prior = Prior::isotropic(dim, 100.0).unwrap();
    let beliefs = shards(data.plain(), &prior, 16);
    let pooled = merge_many(&PriorPrecision::of(&prior).unwrap(), &beliefs).unwrap();
    assert_eq!(pooled.heterogeneity.degrees, 60);
    pooled.heterogeneity.p_value
}

#[test]
fn chance_gives_uniform_p_values_and_an_odd_shard_a_tiny_one() {
    let mut values: Vec<f64> = (0..100).map(|seed| p_value(400 + seed, 0)).collect();
    values.sort_by(f64::total_cmp);
    // Kolmogorov's distance of 100 uniform numbers is above 0.2 with a chance of 0.0005
    let ranks = values.iter().enumerate().map(|(i, p)| (p - (i as f64 + 0.5) / 100.0).abs());
    let distance = crate::common::largest(ranks);
    assert!(distance < 0.2, "{distance}");
    for seed in 0..5 {
        let p = p_value(600 + seed, 1);
        assert!(p < 1e-6, "{p:e}");
    }
}

#[test]
fn a_level_that_a_shard_has_not_seen_does_not_count() {
    let prior = Prior::isotropic(3, 4.0).unwrap();
    let mut beliefs = Vec::new();
    for k in 0..3 {
        let mut filter = Filter::new(Gaussian::default(), Ekf, prior.clone()).unwrap();
        for i in 0..40 {
            // feature 2 is a level that only the first shard has
            let level = f64::from(k == 0 && i % 2 == 0);
            let x = [1.0, (i as f64 / 7.0).sin(), level];
            let y = [0.3 * f64::from(i % 5)];
            filter.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
        }
        beliefs.push(Belief::of(&filter).unwrap());
    }
    let pooled = merge_many(&PriorPrecision::of(&prior).unwrap(), &beliefs).unwrap();
    assert_eq!(pooled.heterogeneity.degrees, 4);
    assert!(pooled.heterogeneity.p_value > 0.0 && pooled.heterogeneity.p_value <= 1.0);
}

#[test]
fn beliefs_come_from_the_default_learner_and_bad_ones_are_refused() {
    let data = Data::logistic(3, 500, 1.0, 34);
    let mut auto = Auto::new(Bernoulli, 3).unwrap();
    auto.learn(data.plain()).unwrap();
    let belief = Belief::of(&auto).unwrap();
    let twice = merge_many(&PriorPrecision::flat(3), &[belief.clone(), belief.clone()]).unwrap();
    assert!(gap(twice.belief.mean(), belief.mean(), 0.0) < 1e-10);
    let halves: Vec<f64> = belief.covariance().iter().map(|c| 0.5 * c).collect();
    assert!(gap(twice.belief.covariance(), &halves, 0.0) < 1e-10);
    let none = merge_many(&PriorPrecision::flat(3), &[]);
    assert!(none.is_err(), "a flat prior is no belief");
    let bad = Belief::new(vec![0.0; 3], vec![f64::NAN; 9]).unwrap();
    let error = merge_many(&PriorPrecision::flat(3), &[belief, bad]).unwrap_err();
    assert!(error.to_string().contains("belief 1"), "{error}");
    assert!(Belief::new(vec![0.0; 3], vec![1.0; 8]).is_err());
}
