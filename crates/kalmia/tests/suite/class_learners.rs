//! What all learners of classes promise: those of dense rows, of ordered levels and of sparse rows.
//! Each is driven as an [`AnyCategorical`], which only passes calls on.

use crate::categorical::data::Rows4;
use crate::common::sparse_batch::SparseBatch;
use crate::common::{assert_close, rng};
use crate::ordinal::data::Rows3;
use crate::wide_classes::data::text;
use kalmia::learner::{AnyCategorical, AnyCategoricalState, ClassRow};
use kalmia::{
    Categorical, DriftMode, Error, Inputs, Ordinal, Result, Rows, SparseInputs, SparseRows,
    WideCategorical,
};

/// Indices of the rows before which the warm-up takes scales anew: they are predicted at scales
/// that the row itself takes part in.
const RESCALED: [usize; 9] = [0, 1, 2, 3, 7, 15, 31, 63, 127];

struct Case {
    name: &'static str,
    untrained: AnyCategorical,
    /// Draws rows by a seed.
    draw: fn(u64, usize) -> SparseBatch,
    /// Features of a row.
    dim: usize,
    /// Whether the first one is a constant.
    constant: bool,
    /// Rows until members have been reviewed.
    rows: usize,
}

fn cases() -> Vec<Case> {
    let wide = |drift: DriftMode| Case {
        name: "wide",
        untrained: WideCategorical::builder(6)
            .intercept()
            .numbers(1)
            .drift(drift)
            .build()
            .unwrap()
            .into(),
        draw: |seed, rows| text(6, 400, rows, seed),
        dim: 402,
        constant: true,
        rows: 2500,
    };
    let mut cases = dense_cases();
    cases.extend([wide(DriftMode::Off), wide(DriftMode::Detect)]);
    cases
}

/// The learners that have a covariance of all features.
fn dense_cases() -> Vec<Case> {
    let classes = Case {
        name: "classes",
        untrained: Categorical::builder(3, 4).intercept().build().unwrap().into(),
        draw: |seed, rows| {
            let data = Rows4::draw(&mut rng(seed), 3, rows);
            SparseBatch::of_dense(4, &data.x, &data.y)
        },
        dim: 4,
        constant: true,
        rows: 700,
    };
    let levels = Case {
        name: "levels",
        untrained: Ordinal::builder(5, 3).build().unwrap().into(),
        draw: |seed, rows| {
            let data = Rows3::five(&mut rng(seed), rows);
            SparseBatch::of_dense(3, &data.x, &data.y)
        },
        dim: 3,
        constant: false,
        rows: 700,
    };
    vec![classes, levels]
}

impl Case {
    fn learned(&self, batch: &SparseBatch) -> AnyCategorical {
        let mut learner = self.untrained.clone();
        learn(&mut learner, batch.rows()).unwrap();
        learner
    }

    /// A row without a constant, with one if the learner needs it.
    fn row(&self, x: &[f64]) -> Vec<f64> {
        self.constant.then_some(1.0).into_iter().chain(x.iter().copied()).collect()
    }
}

fn learn(learner: &mut AnyCategorical, rows: SparseRows<'_>) -> Result<()> {
    learner.learn_sparse_growing(rows, learner.classes(), None)
}

fn learn_dense(learner: &mut AnyCategorical, rows: Rows<'_>) -> Result<()> {
    learner.learn_growing(rows, learner.classes(), None)
}

fn predict(learner: &AnyCategorical, x: &[f64]) -> Result<Vec<f64>> {
    match learner {
        AnyCategorical::Dense(dense) => dense.predict(x),
        AnyCategorical::Wide(wide) => wide.predict(x),
        AnyCategorical::Ordinal(ordinal) => ordinal.predict(x),
    }
}

/// The loss of each row before it was learned.
fn losses(learner: &mut AnyCategorical, rows: SparseRows<'_>) -> Vec<f64> {
    let mut losses = Vec::new();
    let mut keep = |row: &ClassRow<'_>| losses.push(row.loss);
    learner.learn_sparse_growing(rows, learner.classes(), Some(&mut keep)).unwrap();
    losses
}

#[test]
fn batches_rows_and_a_stored_state_give_the_same_bits() {
    for case in cases() {
        let batch = (case.draw)(3, case.rows);
        let mut whole = case.untrained.clone();
        let expected = losses(&mut whole, batch.rows());
        let mut pieces = case.untrained.clone();
        let mut found = Vec::new();
        let mut i = 0;
        // during the warm-up and after it; reviews are after 512 and, of wide learners, 2048 rows
        let ends = [1, 2, 7, 60, 107, 129, 147, 148, 448, 449, 700, 2049, 2500];
        for end in ends.into_iter().filter(|&end| end <= case.rows) {
            let json = serde_json::to_string(&pieces.state()).unwrap();
            let state: AnyCategoricalState = serde_json::from_str(&json).unwrap();
            assert_eq!(state, pieces.state(), "{}", case.name);
            pieces = AnyCategorical::restore(state).unwrap();
            found.extend(losses(&mut pieces, batch.slice(i, end).rows()));
            i = end;
        }
        assert_eq!(i, case.rows);
        assert_eq!(found, expected, "{}", case.name);
        assert_eq!(pieces.state(), whole.state(), "{}", case.name);
        assert_eq!(whole.count(), case.rows as u64);
        let reviewed = whole.wide().is_none_or(|wide| wide.weights().len() < 8);
        assert!(reviewed, "a review has passed");
    }
}

/// What observers see is what a prediction said before the row, and nothing of the row itself. A
/// wide learner rounds to `f32`, by how much depends on the rows; its own suite has some.
#[test]
fn rows_are_predicted_before_they_are_learned() {
    for case in dense_cases() {
        let batch = (case.draw)(4, 400);
        let mut learner = case.untrained.clone();
        for i in 0..batch.len() {
            let row = batch.slice(i, i + 1);
            let mut before = Vec::new();
            let mut take = |_: usize, probabilities: &[f64]| {
                before = probabilities.to_vec();
                Ok(())
            };
            learner.predict_sparse(SparseInputs::new(row.matrix()), &mut take).unwrap();
            let mut seen = Vec::new();
            let mut watch = |observed: &ClassRow<'_>| {
                seen = observed.probabilities.to_vec();
                assert_eq!(observed.class, row.y[0] as usize);
                assert_eq!(observed.loss, -seen[observed.class].ln());
            };
            learner.learn_sparse_growing(row.rows(), learner.classes(), Some(&mut watch)).unwrap();
            if !RESCALED.contains(&i) {
                assert_close(&seen, &before, 1e-9, &format!("{}, row {i}", case.name));
            }
            let sum: f64 = seen.iter().sum();
            assert!((sum - 1.0).abs() < 1e-12 && seen.iter().all(|p| *p > 0.0), "{seen:?}");
        }
    }
}

/// Features outside the core of a wide learner depend on their units a little; its own suite says
/// how much.
#[test]
fn the_scale_of_a_feature_does_not_matter() {
    for case in dense_cases() {
        let batch = (case.draw)(9, 400);
        let first = u32::from(case.constant);
        let last = case.dim as u32 - 1;
        let scaled = batch.clone().with_values(|j, x| match j {
            _ if j == first => 3e5 * x,
            _ if j == last => 1e-7 * x,
            _ => x,
        });
        let a = losses(&mut case.untrained.clone(), batch.rows());
        let b = losses(&mut case.untrained.clone(), scaled.rows());
        assert_close(&a, &b, 1e-7, case.name);
    }
}

#[test]
fn refused_rows_change_nothing() {
    for case in cases() {
        let mut learner = case.learned(&(case.draw)(11, 200));
        let before = learner.state();
        let known = learner.classes() as f64;
        let good = case.row(&[0.1, 0.2, 0.3]);
        let dim = good.len();
        let bad = [good.clone(), case.row(&[0.1, f64::NAN, 0.3])].concat();
        let refused = learn_dense(&mut learner, Rows::new(dim, &bad, &[0.0, 1.0]).unwrap());
        assert!(
            matches!(refused, Err(Error::Feature { row: 1, column, .. }) if column == dim - 2),
            "{refused:?}"
        );
        let x = [good.clone(), good.clone()].concat();
        for class in [known, -1.0, 0.5, f64::NAN, f64::INFINITY] {
            let refused = learn_dense(&mut learner, Rows::new(dim, &x, &[0.0, class]).unwrap());
            assert!(matches!(refused, Err(Error::Target { row: 1, .. })), "{class}: {refused:?}");
        }
        let two = Rows::new(dim, &x, &[0.0, 1.0]).unwrap();
        let weight = learn_dense(&mut learner, two.with_weights(&[1.0, -1.0]).unwrap());
        assert!(matches!(weight, Err(Error::RowExtra { row: 1, .. })), "{weight:?}");
        let offset = learn_dense(&mut learner, two.with_offsets(&[0.0, 0.5]).unwrap());
        assert!(matches!(offset, Err(Error::RowExtra { row: 1, .. })), "{offset:?}");
        if learner.dense_dim().is_some() {
            let narrow = Rows::new(dim - 1, &good[1..], &[0.0]).unwrap();
            let narrow = learn_dense(&mut learner, narrow);
            assert!(matches!(narrow, Err(Error::Length { .. })), "{narrow:?}");
            assert!(predict(&learner, &good[1..]).is_err());
        }
        assert_eq!(learner.state(), before, "{}", case.name);
        // legal numbers that overflow on the way
        let huge = [case.row(&[1e110, -1e110, 1e115]), case.row(&[1e119, 1e119, -1e119])].concat();
        if learn_dense(&mut learner, Rows::new(dim, &huge, &[1.0, 0.0]).unwrap()).is_err() {
            assert_eq!(learner.state(), before, "{}", case.name);
        }
        let shifted = Inputs::new(dim, &good).unwrap().with_offsets(&[1.0]).unwrap();
        assert!(learner.predict_many(shifted, &mut |_, _| Ok(())).is_err());
    }
}

#[test]
fn damaged_states_are_refused() {
    for case in dense_cases() {
        let learner = case.learned(&(case.draw)(12, 200));
        let state = serde_json::to_value(learner.state()).unwrap();
        let mut damages: Vec<(&str, serde_json::Value)> = vec![
            ("/dim", 5.into()),
            ("/members/0/weight", (-1.0).into()),
            ("/members/0/prior_size", 0.0.into()),
        ];
        damages.extend(match learner.ordinal() {
            Some(_) => vec![
                ("/levels", 4.into()),
                ("/levels", 1.into()),
                ("/begins_with_constant", true.into()),
            ],
            None => vec![("/classes", 4.into())],
        });
        for (place, value) in damages {
            let mut damaged = state.clone();
            *damaged.pointer_mut(place).unwrap() = value;
            let parsed: AnyCategoricalState = serde_json::from_value(damaged).unwrap();
            assert!(AnyCategorical::restore(parsed).is_err(), "{}: {place}", case.name);
        }
    }
}

/// Features move to the core of a wide learner by their share of all rows, so there a difference
/// remains; its own suite says how large it is.
#[test]
fn a_row_of_weight_0_is_predicted_only() {
    for case in dense_cases() {
        let batch = (case.draw)(13, 300);
        let mut with = case.untrained.clone();
        let mut without = case.untrained.clone();
        for i in 0..batch.len() {
            let row = batch.slice(i, i + 1);
            let mut weightless = row.clone();
            weightless.weight = vec![0.0];
            learn(&mut without, row.rows()).unwrap();
            learn(&mut with, weightless.rows()).unwrap();
            learn(&mut with, row.rows()).unwrap();
            learn(&mut with, weightless.rows()).unwrap();
        }
        let x = &batch.dense(case.dim)[..case.dim];
        let a = predict(&with, x).unwrap();
        let b = predict(&without, x).unwrap();
        assert_close(&a, &b, 1e-12, case.name);
        assert_eq!(with.count(), 900);
    }
}

#[test]
fn sparse_rows_are_dense_rows() {
    for case in cases() {
        let batch = (case.draw)(15, 300);
        let sparse = case.learned(&batch);
        let mut dense = case.untrained.clone();
        let x = batch.dense(case.dim);
        learn_dense(&mut dense, Rows::new(case.dim, &x, &batch.y).unwrap()).unwrap();
        assert_eq!(sparse.state(), dense.state(), "{}", case.name);
    }
}

#[test]
fn predictions_of_many_rows_are_those_of_single_ones() {
    for case in cases() {
        let batch = (case.draw)(18, 600);
        let learner = case.learned(&batch);
        let x = batch.dense(case.dim);
        let inputs = Inputs::new(case.dim, &x).unwrap();
        let mut seen = 0;
        learner
            .predict_many(inputs, &mut |i, probabilities| {
                assert_eq!(i, seen);
                seen += 1;
                assert_close(probabilities, &predict(&learner, inputs.x(i))?, 1e-12, case.name);
                assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, 600);
        assert!(learner.memory(3) > 0 && learner.memory(30) > learner.memory(3));
        learner.require_copy().unwrap();
    }
}
