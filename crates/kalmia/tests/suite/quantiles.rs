//! Several quantiles at once: order, the summed pinball loss, shares below each level, storing.

use crate::common::{dot, rng, uniform};
use kalmia::learner::{QuantileRow, Quantiles, QuantilesState};
use kalmia::{
    Auto, Inputs, Learner, Predict, Quantile, RowView, Rows, SparseInputs, SparseMatrix, SparseRows,
};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// Skewed noise whose size grows with a feature: every quantile has other coefficients.
fn skewed(n: usize, dim: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let theta: Vec<f64> = (0..dim)
        .map(|_| {
            let z: f64 = StandardNormal.sample(&mut rng);
            0.5 * z
        })
        .collect();
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..n {
        let mut row = vec![1.0, 2.0 * uniform(&mut rng)];
        row.extend((2..dim).map(|_| -> f64 { StandardNormal.sample(&mut rng) }));
        let noise: f64 = Exp1.sample(&mut rng);
        y.push(dot(&row, &theta) + (0.5 + row[1]) * (noise - 1.0));
        x.extend(row);
    }
    (x, y)
}

fn learner(levels: &[f64], dim: usize) -> Quantiles {
    Quantiles::builder(levels, dim).intercept().build().unwrap()
}

fn single(level: f64, dim: usize) -> Auto<Quantile> {
    Auto::builder(Quantile::new(level).unwrap(), dim).intercept().build().unwrap()
}

fn pinball(level: f64, y: f64, prediction: f64) -> f64 {
    Quantile::new(level).unwrap().pinball(y, prediction)
}

#[test]
fn each_level_holds_its_share_of_the_targets() {
    let (x, y) = skewed(20_000, 11, 1);
    let levels = [0.1, 0.5, 0.9];
    let mut learner = learner(&levels, 11);
    let mut below = [0; 3];
    let mut count = |row: &QuantileRow<'_>| {
        for (below, prediction) in below.iter_mut().zip(row.predictions) {
            *below += usize::from(row.observation.y < *prediction);
        }
    };
    learner.learn_observed(Rows::new(11, &x, &y).unwrap(), Some(&mut count)).unwrap();
    let shares = below.map(|below| below as f64 / y.len() as f64);
    println!("{shares:?}");
    for (share, level) in shares.into_iter().zip(levels) {
        assert!((share - level).abs() < 0.006, "{level}: {share}");
    }
}

/// Levels close to each other and few rows: lines cross, predictions do not, and sorting saves
/// exactly what the theory says.
#[test]
fn predictions_never_cross_and_sorting_never_costs() {
    let levels = [0.45, 0.5, 0.52, 0.55, 0.9];
    let mut crossed = 0;
    for seed in 0..5 {
        let (x, y) = skewed(120, 5, 10 + seed);
        let mut all = learner(&levels, 5);
        let mut together = Vec::new();
        let mut note = |row: &QuantileRow<'_>| together.push(row.predictions.to_vec());
        all.learn_observed(Rows::new(5, &x, &y).unwrap(), Some(&mut note)).unwrap();
        let mut apart = vec![Vec::new(); y.len()];
        for level in levels {
            let mut note = |row: &RowView<'_>| apart[row.index].push(row.mean);
            single(level, 5)
                .learn_observed(Rows::new(5, &x, &y).unwrap(), Some(&mut note))
                .unwrap();
        }
        for ((sorted, raw), y) in together.iter().zip(&apart).zip(&y) {
            assert!(sorted.is_sorted());
            crossed += usize::from(!raw.is_sorted());
            let loss = |all: &[f64]| -> f64 {
                levels.iter().zip(all).map(|(level, q)| pinball(*level, *y, *q)).sum()
            };
            // a sum over levels falls by the difference of the scalar products
            let saved = dot(&levels, sorted) - dot(&levels, raw);
            assert!(saved >= -1e-12 && (loss(raw) - loss(sorted) - saved).abs() < 1e-9);
        }
        let mut rng = rng(seed);
        for _ in 0..300 {
            let mut far: Vec<f64> = (0..5).map(|_| 1e6 * (uniform(&mut rng) - 0.5)).collect();
            far[0] = 1.0;
            let found = all.predict(&far, 3.0).unwrap();
            assert!(found.is_sorted() && found.iter().all(|q| q.is_finite()));
        }
    }
    assert!(crossed > 10, "nothing to sort: {crossed}");
}

#[test]
fn one_level_is_a_single_learner() {
    let (x, y) = skewed(700, 4, 20);
    let rows = Rows::new(4, &x, &y).unwrap();
    let mut all = learner(&[0.8], 4);
    let mut one = single(0.8, 4);
    all.learn(rows).unwrap();
    one.learn(rows).unwrap();
    assert!(all.learners()[0].state() == one.state());
    let row = &x[40..44];
    assert_eq!(all.predict(row, 0.5).unwrap(), [one.predict(row, 0.5).unwrap().mean]);
}

#[test]
fn cuts_and_growth_do_not_matter_and_a_stored_state_goes_on_bit_for_bit() {
    let (x, y) = skewed(2500, 3, 30);
    let mut whole = learner(&[0.9, 0.2], 3);
    assert_eq!(whole.levels(), [0.2, 0.9]);
    let mut pieces = whole.clone();
    let mut stored = whole.clone();
    let mut seen = 0;
    let mut count = |_: &QuantileRow<'_>| seen += 1;
    whole.learn_observed(Rows::new(3, &x, &y).unwrap(), Some(&mut count)).unwrap();
    for (x, y) in x.chunks(3 * 61).zip(y.chunks(61)) {
        pieces.learn(Rows::new(3, x, y).unwrap()).unwrap();
        stored.learn(Rows::new(3, x, y).unwrap()).unwrap();
        let text = serde_json::to_string(&stored.state()).unwrap();
        let state: QuantilesState = serde_json::from_str(&text).unwrap();
        stored = Quantiles::restore(state).unwrap();
    }
    assert_eq!((seen, whole.count(), whole.dim()), (2500, 2500, 3));
    assert!(stored.state() == pieces.state());
    for (one, other) in whole.learners().iter().zip(pieces.learners()) {
        let one = one.coefficients();
        let other = other.coefficients();
        assert!(one.iter().zip(&*other).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    let before = whole.predict(&x[..3], 0.0).unwrap();
    whole.grow().unwrap();
    assert_eq!(whole.dim(), 4);
    let grown: Vec<f64> = x[..3].iter().copied().chain([0.0]).collect();
    assert_eq!(whole.predict(&grown, 0.0).unwrap(), before);
}

#[test]
fn many_rows_and_sparse_rows_are_predicted_as_one_by_one() {
    let (x, y) = skewed(1500, 3, 40);
    let starts: Vec<usize> = (0..=1500).map(|i| 3 * i).collect();
    let indices: Vec<u32> = (0..4500).map(|i| i % 3).collect();
    let sparse = SparseMatrix::new(&starts, &indices, &x).unwrap();
    let mut dense_learner = learner(&[0.25, 0.75], 3);
    let mut sparse_learner = dense_learner.clone();
    dense_learner.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    sparse_learner.learn_sparse(SparseRows::new(sparse, &y).unwrap(), None).unwrap();
    assert!(dense_learner.state() == sparse_learner.state());
    let mut found = Vec::new();
    let mut take = |i: usize, predictions: &[f64]| {
        assert_eq!(i, found.len());
        found.push(predictions.to_vec());
        Ok(())
    };
    dense_learner.predict_many(Inputs::new(3, &x).unwrap(), &mut take).unwrap();
    let mut again = Vec::new();
    dense_learner
        .predict_sparse(SparseInputs::new(sparse), &mut |_, predictions| {
            again.push(predictions.to_vec());
            Ok(())
        })
        .unwrap();
    assert_eq!(found, again);
    for (row, found) in x.chunks(3).zip(&found) {
        let one = dense_learner.predict(row, 0.0).unwrap();
        assert!(one.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

#[test]
fn bad_levels_rows_and_states_are_refused() {
    let refused = |levels: &[f64]| Quantiles::builder(levels, 2).build().unwrap_err().to_string();
    assert!(refused(&[]).contains("levels"));
    assert!(refused(&[0.5, 0.1, 0.5]).contains("only once"));
    assert!(refused(&[0.5, f64::NAN]).contains("tau"));
    assert!(refused(&[0.0]).contains("tau"));
    let (x, y) = skewed(200, 3, 50);
    let mut all = learner(&[0.3, 0.6], 3);
    all.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
    let before = all.state();
    let mut wrong = y.clone();
    wrong[150] = f64::NAN;
    assert!(all.learn(Rows::new(3, &x, &wrong).unwrap()).is_err());
    assert!(all.state() == before);
    let state = serde_json::to_value(&before).unwrap();
    let damaged = |change: &dyn Fn(&mut Vec<serde_json::Value>)| {
        let mut state = state.clone();
        change(state["levels"].as_array_mut().unwrap());
        Quantiles::restore(serde_json::from_value(state).unwrap()).is_err()
    };
    assert!(!damaged(&|_| ()));
    assert!(damaged(&|levels| levels.clear()));
    assert!(damaged(&|levels| levels.reverse()));
    assert!(damaged(&|levels| levels[1] = levels[0].clone()));
    assert!(damaged(&|levels| levels[0]["count"] = 199.into()));
}
