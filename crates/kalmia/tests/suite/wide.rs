//! The mixture for sparse rows: invariances, storing, merging, refusals, and how well it predicts.

mod ftrl;
mod odd;
mod states;

use crate::common::sparse_batch::SparseBatch;
use crate::common::{Rng, centered, gap, rng, uniform};
use kalmia::learner::Merged;
use kalmia::predict::Predictive;
use kalmia::{
    AnyFamily, Bernoulli, DriftMode, Error, Family, Learner, Predict, RowView, SparseInputs, Wide,
};

/// Rows with a constant, a number and some of `features` words; targets of `family`.
fn text(family: &AnyFamily, features: u32, rows: usize, seed: u64) -> SparseBatch {
    let mut rng = rng(seed);
    let effect = |j: u32| 1.5 * ((f64::from(j) * 0.7).sin());
    let mut batch = SparseBatch::default();
    for _ in 0..rows {
        let number = 3.0 + 2.0 * centered(&mut rng);
        let mut entries = vec![(0, 1.0), (1, number)];
        let mut u = -0.2 + 0.3 * (number - 3.0);
        for j in words(&mut rng, features, 5) {
            let x = 0.5 + uniform(&mut rng);
            entries.push((j + 2, x));
            u += 0.5 * effect(j) * x;
        }
        batch.push(&entries, family.sample(u, &mut rng));
    }
    batch
}

/// Different words in ascending order, the first ones frequent.
fn words(rng: &mut Rng, features: u32, count: usize) -> Vec<u32> {
    skewed_words(rng, features, count, 3)
}

/// The larger `skew`, the more rows the first words have.
fn skewed_words(rng: &mut Rng, features: u32, count: usize, skew: i32) -> Vec<u32> {
    let mut words: Vec<u32> =
        (0..count).map(|_| (f64::from(features) * uniform(rng).powi(skew)) as u32).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn wide(family: AnyFamily) -> Wide<AnyFamily> {
    Wide::builder(family).intercept().numbers(1).build().unwrap()
}

fn families() -> Vec<AnyFamily> {
    crate::common::families()
}

fn means(wide: &Wide<AnyFamily>, batch: &SparseBatch) -> Vec<f64> {
    let mut means = Vec::new();
    wide.predict_sparse(SparseInputs::new(batch.matrix()), &mut |_, prediction| {
        means.push(prediction.mean());
        Ok(())
    })
    .unwrap();
    means
}

/// The sum of the losses of the rows from `first` on.
fn loss(wide: &mut Wide<AnyFamily>, batch: &SparseBatch, first: usize) -> f64 {
    let mut total = 0.0;
    let mut add = |row: &RowView<'_>| {
        if row.index >= first {
            total += row.loss;
        }
    };
    wide.learn_sparse_observed(batch.rows(), Some(&mut add)).unwrap();
    total
}

#[test]
fn the_units_of_features_and_the_origin_of_numbers_do_not_matter() {
    for family in families() {
        let batch = text(&family, 40, 300, 1);
        let train = batch.slice(0, 250);
        let test = batch.slice(250, 300);
        let mut plain = wide(family);
        plain.learn_sparse(train.rows()).unwrap();
        let expected = means(&plain, &test);
        let changes: [&dyn Fn(u32, f64) -> f64; 4] = [
            &|j, x| if j > 1 && j % 3 == 0 { 1e-6 * x } else { x },
            &|j, x| if j > 1 && j % 3 == 0 { 1e6 * x } else { x },
            &|j, x| if j == 1 { 1e3 * x } else { x },
            &|j, x| if j == 1 { 40.0 - 0.1 * x } else { x },
        ];
        for (k, change) in changes.into_iter().enumerate() {
            let mut other = wide(family);
            other.learn_sparse(train.clone().with_values(change).rows()).unwrap();
            let found = means(&other, &test.clone().with_values(change));
            let gap = gap(&found, &expected, 1e-3);
            assert!(gap < 1e-5, "{family:?}, change {k}: {gap}");
        }
    }
}

#[test]
fn how_rows_are_cut_into_calls_does_not_matter() {
    for family in families() {
        let batch = text(&family, 60, 260, 2);
        let learned = |cut: usize| {
            let mut wide = wide(family);
            for from in (0..batch.len()).step_by(cut) {
                let part = batch.slice(from, (from + cut).min(batch.len()));
                wide.learn_sparse(part.rows()).unwrap();
            }
            wide.state()
        };
        let one = learned(1);
        assert!(one == learned(7) && one == learned(100) && one == learned(260), "{family:?}");
    }
}

#[test]
fn the_limit_names_the_row_and_counts_neither_known_features_nor_zeros() {
    let mut wide = Wide::builder(AnyFamily::from(Bernoulli)).limit(3).build().unwrap();
    let mut batch = SparseBatch::default();
    batch.push(&[(5, 1.0), (9, 0.0), (11, 1.0)], 1.0);
    batch.push(&[(5, 1.0), (7, 1.0)], 0.0);
    batch.push(&[(5, 1.0), (6, 0.0), (7, 1.0), (11, 2.0)], 0.0);
    wide.learn_sparse(batch.rows()).unwrap();
    assert_eq!(wide.features(), [5, 11, 7]);
    wide.learn_sparse(batch.rows()).unwrap();
    batch.push(&[(5, 1.0), (8, 1.0)], 1.0);
    let state = wide.state();
    let error = wide.learn_sparse(batch.rows()).unwrap_err();
    assert_eq!(error, Error::TooManyFeatures { row: 3, limit: 3 });
    assert!(wide.state() == state && error.to_string().contains("more than 3 features"));
}

#[test]
fn rows_of_weight_zero_change_the_count_alone() {
    for rows in [40, 300, 5000] {
        let family = AnyFamily::from(Bernoulli);
        let batch = text(&family, 100, rows, 5);
        let mut wide = wide(family);
        wide.learn_sparse(batch.rows()).unwrap();
        let mut ignored = text(&family, 200, 40, 6);
        ignored.weight.fill(0.0);
        let mut other = wide.clone();
        let mut losses = 0.0;
        let mut add = |row: &RowView<'_>| losses += row.loss;
        other.learn_sparse_observed(ignored.rows(), Some(&mut add)).unwrap();
        assert!(losses > 0.0 && losses.is_finite());
        assert_eq!(other.count(), wide.count() + 40);
        let edited = |wide: &Wide<AnyFamily>| {
            let mut state = serde_json::to_value(wide.state()).unwrap();
            state.as_object_mut().unwrap().remove("count");
            state
        };
        assert_eq!(edited(&wide), edited(&other), "{rows} rows");
    }
    // rows of weight 0 from one review to the next drop no member
    let family = AnyFamily::from(Bernoulli);
    let mut wide = wide(family);
    wide.learn_sparse(text(&family, 100, 4096, 5).rows()).unwrap();
    let members = wide.weights();
    let mut ignored = text(&family, 3, 4200, 6);
    ignored.weight.fill(0.0);
    wide.learn_sparse(ignored.rows()).unwrap();
    assert_eq!(wide.weights(), members);
}

#[test]
fn learners_merge_during_the_warm_up_and_are_refused_afterwards() {
    for family in families() {
        let batch = text(&family, 40, 500, 8);
        let learned = |from: usize, to: usize| {
            let mut wide = wide(family);
            wide.learn_sparse(batch.slice(from, to).rows()).unwrap();
            wide
        };
        let long = learned(0, 400);
        let short = learned(400, 500);
        let all = learned(0, 500).state();
        for merged in [long.merge(&short).unwrap(), short.merge(&long).unwrap()] {
            let Merged::Exact(merged) = merged else { panic!("exact") };
            assert!(merged.state() == all, "{family:?}");
        }
        let error = long.merge(&learned(100, 400)).unwrap_err();
        assert!(error.to_string().contains("128 rows"), "{error}");
        let other = Wide::new(family).unwrap();
        assert!(long.merge(&other).unwrap_err().to_string().contains("intercept"));
    }
}

#[test]
fn pruning_drops_exactly_the_features_below_the_threshold() {
    let family = AnyFamily::from(Bernoulli);
    let mut model = wide(family);
    let batch = text(&family, 400, 2000, 9);
    assert_eq!(model.prune(2.0).unwrap(), 0);
    model.learn_sparse(batch.slice(0, 1500).rows()).unwrap();
    assert!(model.prune(f64::NAN).is_err() && model.prune(-1.0).is_err());
    let features = model.features();
    let coefficients = model.coefficients().to_vec();
    let errors = model.standard_errors().unwrap();
    let fixed: Vec<u32> = {
        let state = serde_json::to_value(model.state()).unwrap();
        let slots = state["core"]["slots"].as_array().unwrap().clone();
        slots.iter().map(|slot| features[2 + slot.as_u64().unwrap() as usize]).collect()
    };
    assert_eq!(fixed.len(), model.core_features());
    let stays = |i: &usize| {
        *i < 2 || fixed.contains(&features[*i]) || coefficients[*i].abs() >= 0.8 * errors[*i]
    };
    let expected: Vec<usize> = (0..features.len()).filter(stays).collect();
    assert_eq!(model.prune(0.0).unwrap(), 0);
    let mut small = model.clone();
    assert_eq!(small.prune(0.8).unwrap(), features.len() - expected.len());
    assert!(expected.len() > 50 && expected.len() + 50 < features.len());
    let kept: Vec<u32> = expected.iter().map(|&i| features[i]).collect();
    assert_eq!(small.features(), kept);
    let same: Vec<f64> = expected.iter().map(|&i| coefficients[i]).collect();
    assert_eq!(*small.coefficients(), same);
    assert!(Wide::restore(small.state()).unwrap().state() == small.state());
    let mut also = Wide::restore(small.state()).unwrap();
    small.learn_sparse(batch.slice(1500, 2000).rows()).unwrap();
    also.learn_sparse(batch.slice(1500, 2000).rows()).unwrap();
    assert!(small.state() == also.state());
    assert!(small.dim() > kept.len(), "dropped features may come back");
}

#[test]
fn a_learner_that_may_drift_follows_coefficients_that_flip() {
    let mut rng = rng(10);
    let mut batch = SparseBatch::default();
    let n = 16_000;
    for i in 0..n {
        let sign = if i < n / 2 { 2.0 } else { -2.0 };
        let words = words(&mut rng, 60, 4);
        let u: f64 = words.iter().map(|&j| sign * (f64::from(j) * 1.3).sin()).sum();
        let entries: Vec<(u32, f64)> = words.iter().map(|&j| (j, 1.0)).collect();
        batch.push(&entries, f64::from(uniform(&mut rng) < 1.0 / (1.0 + (-u).exp())));
    }
    let second_half = |drift: DriftMode| {
        let builder = Wide::builder(AnyFamily::from(Bernoulli)).drift(drift);
        loss(&mut builder.build().unwrap(), &batch, n / 2) / (n / 2) as f64
    };
    let off = second_half(DriftMode::Off);
    let adapt = second_half(DriftMode::Adapt);
    println!("loss over the second half: {off:.4} without drift, {adapt:.4} with it");
    assert!(adapt < 0.8 * off, "{adapt} {off}");
}
