//! Stored, forged and refused: what the state of a wide learner goes through.

use super::{text, wide};
use crate::common::sparse_batch::SparseBatch;
use kalmia::learner::{AnyState, WideState};
use kalmia::{AnyFamily, AnyLearner, Bernoulli, DriftMode, Error, Learner, Wide, file};

#[test]
fn a_stored_learner_continues_bit_for_bit() {
    let folder = std::env::temp_dir().join(format!("kalmia-wide-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("wide.kalmia");
    let mut members_left = false;
    for (family, drift) in [
        ("bernoulli", DriftMode::Off),
        ("bernoulli", DriftMode::Adapt),
        ("gaussian", DriftMode::Off),
        ("poisson", DriftMode::Adapt),
    ] {
        let family: AnyFamily = family.parse().unwrap();
        let batch = text(&family, 300, 8300, 3);
        let start = Wide::builder(family).intercept().numbers(1).drift(drift);
        let mut whole = start.build().unwrap();
        let mut stopped = whole.clone();
        let mut from = 0;
        for to in [1, 2, 60, 127, 128, 129, 1000, 4095, 4096, 4097, 8192, 8300] {
            whole.learn_sparse(batch.slice(from, to).rows()).unwrap();
            stopped.learn_sparse(batch.slice(from, to).rows()).unwrap();
            file::save(&path, "wide", &stopped.state(), file::Metadata::new()).unwrap();
            let state: WideState<AnyFamily> = file::load(&path, "wide").unwrap().state;
            assert_eq!(state, stopped.state());
            stopped = Wide::restore(state).unwrap();
            from = to;
        }
        members_left |= whole.weights().len() < 8;
        assert_eq!(whole.core_features(), 32);
        assert!(whole.state() == stopped.state(), "{family:?} {drift:?}");
        let any = AnyLearner::Wide(Box::new(whole));
        let text = serde_json::to_string(&any.state()).unwrap();
        let back: AnyState = serde_json::from_str(&text).unwrap();
        assert!(AnyLearner::restore(back).unwrap().state() == any.state());
    }
    assert!(members_left);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_refused_batch_changes_nothing() {
    for rows in [0, 50, 300] {
        let family = AnyFamily::from(Bernoulli);
        let batch = text(&family, 30, 320, 4);
        let mut wide = wide(family);
        if rows > 0 {
            wide.learn_sparse(batch.slice(0, rows).rows()).unwrap();
        }
        let before = wide.state();
        let good = batch.slice(300, 320);
        let mut refused = |change: &dyn Fn(&mut SparseBatch), row: usize| {
            let mut bad = good.clone();
            change(&mut bad);
            let error = wide.learn_sparse(bad.rows()).unwrap_err();
            assert_eq!(error.row(), Some(row), "{error}");
            assert!(wide.state() == before, "{error}");
        };
        refused(&|bad| bad.values[30] = f64::NAN, row_of(&good, 30));
        refused(&|bad| bad.values[31] = f64::INFINITY, row_of(&good, 31));
        refused(&|bad| bad.values[32] = 1e130, row_of(&good, 32));
        refused(&|bad| bad.y[7] = 0.3, 7);
        refused(&|bad| bad.weight[8] = -1.0, 8);
        refused(&|bad| bad.weight[9] = f64::NAN, 9);
        // legal, but without room
        let limit = wide.dim() - wide.numbers() + 15;
        wide = wide.with_limit(limit);
        let error = wide.learn_sparse(new_features(&good).rows()).unwrap_err();
        assert!(matches!(error, Error::TooManyFeatures { row: 1, .. }), "{error}");
        wide = wide.with_limit(u32::MAX as usize);
        assert!(wide.state() == before);
        wide.learn_sparse(good.rows()).unwrap();
        assert_eq!(wide.count(), (rows + 20) as u64);
    }
}

fn row_of(batch: &SparseBatch, entry: usize) -> usize {
    batch.starts.iter().rposition(|&start| start <= entry).unwrap()
}

/// Each row brings features that no row had.
fn new_features(batch: &SparseBatch) -> SparseBatch {
    let mut new = SparseBatch::default();
    for i in 0..batch.len() as u32 {
        let entries: Vec<(u32, f64)> = (0..10).map(|j| (1000 + 20 * i + j, 1.0)).collect();
        new.push(&entries, batch.y[i as usize]);
    }
    new
}

/// A state with one number or text replaced, by its path.
fn forged(state: &WideState<AnyFamily>, path: &str, value: serde_json::Value) -> bool {
    let mut json = serde_json::to_value(state).unwrap();
    let place = json.pointer_mut(path).unwrap_or_else(|| panic!("no {path}"));
    *place = value;
    let state: Result<WideState<AnyFamily>, _> = serde_json::from_value(json);
    state.is_ok_and(|state| Wide::restore(state).is_ok())
}

#[test]
fn forged_states_are_refused() {
    use serde_json::json;
    let family = AnyFamily::from(Bernoulli);
    for rows in [100, 300] {
        let mut wide = wide(family);
        wide.learn_sparse(text(&family, 60, rows, 7).rows()).unwrap();
        let state = wide.state();
        let json = serde_json::to_value(&state).unwrap();
        let core = json["core"]["slots"].as_array().unwrap().len();
        assert!(core > 2);
        assert!(forged(&state, "/count", json!(rows)));
        let mut three = json["members"].as_array().unwrap().clone();
        three.truncate(3);
        let mut cases = vec![
            ("/members", json!(three)),
            ("/members", json!([])),
            ("/members/0/weight", json!(-1.0)),
            ("/members/0/assumption/share", json!(0.0)),
            ("/members/0/assumption/prior_size", json!(-1.0)),
            ("/members/0/residual", json!(-1.0)),
            ("/count", json!(u64::MAX)),
            ("/core/size", json!(1)),
            ("/core/size", json!(5000)),
            ("/core/slots/0", json!(100_000)),
            ("/core/slots/0", json["core"]["slots"][1].clone()),
            ("/core/means", json!([])),
            ("/core/covariance/0", json!(-1.0)),
            ("/core/covariance/0", json!(null)),
            ("/core/covariance", json!([1.0])),
            ("/tail/indices/0", json["tail"]["indices"][1].clone()),
            ("/tail/indices/0", json!(1)),
            ("/tail/indices", json!([])),
            ("/tail/seen", json!([1])),
            ("/tail/last_rows", json!([1])),
            ("/tail/scales/0", json!(0.0)),
            ("/tail/scales/0", json!(-1.0)),
            ("/tail/scales", json!([1.0])),
            ("/tail/records", json!([1.0])),
            ("/tail/records/0", json!(null)),
            ("/tail/records/8", json!(-1.0)),
            ("/tail/records/8", json!(0.0)),
            ("/scales/mean", json!([0.0])),
            ("/dispersion/kind", json!("normal")),
            ("/dispersion/guess", json!(0.0)),
            ("/intercept_mean", json!(null)),
        ];
        if rows == 100 {
            cases.extend([
                ("/warm_up/entries/0", json!(100_000)),
                ("/warm_up/y/0", json!(0.5)),
                ("/warm_up/y", json!([])),
                ("/warm_up/weight/0", json!(-1.0)),
                ("/warm_up/offset", json!([0.0])),
                ("/warm_up/indices/1", json["warm_up"]["indices"][0].clone()),
                ("/warm_up/values/0", json!(1e200)),
            ]);
        } else {
            cases.push((
                "/warm_up",
                json!({"entries": [], "indices": [], "values": [1.0],
                "y": [], "weight": [], "offset": []}),
            ));
        }
        for (path, value) in cases {
            assert!(!forged(&state, path, value.clone()), "{path} {value}");
        }
    }
}
