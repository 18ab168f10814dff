//! Many features, which are learned in blocks of rows.

use super::data::losses;
use crate::common::{centered, rng};
use kalmia::learner::CategoricalState;
use kalmia::{Categorical, Rows};

const DIM: usize = 105;
const ROWS: usize = 700;

/// Rows of three classes that three features determine, with noise.
fn data() -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(31);
    let mut x = Vec::new();
    let mut y = Vec::new();
    for _ in 0..ROWS {
        let row: Vec<f64> =
            std::iter::once(1.0).chain((1..DIM).map(|_| 2.0 * centered(&mut rng))).collect();
        let level = |k: usize| row[k + 1] + centered(&mut rng.clone());
        let class = (0..3).max_by(|&a, &b| level(a).total_cmp(&level(b))).unwrap();
        x.extend(row);
        y.push(class as f64);
    }
    (x, y)
}

fn learner() -> Categorical {
    Categorical::builder(3, DIM).intercept().build().unwrap()
}

#[test]
fn how_rows_are_cut_changes_rounding_only_and_a_stored_state_nothing() {
    let (x, y) = data();
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut whole = learner();
    let expected = losses(&mut whole, rows);
    let mut stored = learner();
    let mut straight = learner();
    let mut found = Vec::new();
    let mut i = 0;
    for size in [1, 130, 5, 100, 13, 1, 300, 150] {
        stored = Categorical::restore({
            let text = serde_json::to_string(&stored.state()).unwrap();
            serde_json::from_str::<CategoricalState>(&text).unwrap()
        })
        .unwrap();
        found.extend(losses(&mut stored, rows.slice(i..i + size)));
        straight.learn(rows.slice(i..i + size)).unwrap();
        i += size;
    }
    assert_eq!(i, ROWS);
    assert_eq!(stored.state(), straight.state());
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "row {i}: {a} is not {b}");
    }
    // cut at multiples of a block after the warm-up: the same bits
    let mut aligned = learner();
    for (from, to) in [(0, 160), (160, 192), (192, 448), (448, ROWS)] {
        aligned.learn(rows.slice(from..to)).unwrap();
    }
    assert_eq!(aligned.state(), whole.state());
}

#[test]
fn huge_features_in_a_block_are_learned_as_in_single_rows() {
    let (mut x, y) = data();
    let mut learner = learner();
    learner.learn(Rows::new(DIM, &x[..300 * DIM], &y[..300]).unwrap()).unwrap();
    let before = learner.state();
    for bad in [300, 377] {
        x[bad * DIM + 4] = 1e118;
        x[(bad + 1) * DIM + 7] = -1e119;
    }
    let rows = Rows::new(DIM, &x, &y).unwrap();
    let mut single = Categorical::restore(before).unwrap();
    for i in 300..500 {
        single.learn(rows.slice(i..i + 1)).unwrap();
    }
    learner.learn(rows.slice(300..500)).unwrap();
    for i in [0, 100, 450] {
        let a = learner.predict(rows.x(i)).unwrap();
        let b = single.predict(rows.x(i)).unwrap();
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() <= 1e-8, "row {i}: {a} is not {b}");
        }
    }
}
