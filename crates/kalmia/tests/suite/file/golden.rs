//! Every format ever released stays readable, tested on a file that was written with it.
//!
//! `KALMIA_WRITE_GOLDEN=1 cargo test -p kalmia --test suite file::golden` writes the file of the
//! current format if there is none yet.

use kalmia::covariance::Covariance;
use kalmia::file::{self, ModelFile};
use kalmia::learner::{Drift, FilterState};
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, Factored, Filter, Learner, Prior, Rows};
use serde_json::json;
use std::path::PathBuf;

const DIM: usize = 6;

type State = FilterState<AnyFamily, AnyRule>;

/// Numbers that depend only on their index: the test then depends only on the format.
fn state() -> State {
    let ramp = |len: usize, by: f64| (0..len).map(|i| (i as f64 + 1.0) / by).collect::<Vec<f64>>();
    let mut theta = ramp(DIM, 7.0);
    theta[2] = -0.0;
    FilterState {
        family: "gamma:0.3".parse().unwrap(),
        rule: "truncated".parse().unwrap(),
        form: Factored::NAME.into(),
        prior: Prior::diagonal(ramp(DIM, 3.0)).unwrap().with_mean(&ramp(DIM, -11.0)).unwrap(),
        drift: Drift::Walk { variances: ramp(DIM, 1e300) },
        count: (1 << 60) + 1,
        theta,
        covariance: ramp(DIM * (DIM + 1) / 2, 13.0),
        downweighting: None,
    }
}

fn path(format: u64) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "tests",
        "data",
        "golden",
        &format!("filter-format-{format}.kalmia"),
    ]
    .iter()
    .collect()
}

fn written(format: u64) -> PathBuf {
    let path = path(format);
    if format == file::FORMAT
        && !path.exists()
        && std::env::var_os("KALMIA_WRITE_GOLDEN").is_some_and(|value| value == "1")
    {
        let metadata = json!({"purpose": "golden file", "rows": 3}).as_object().unwrap().clone();
        file::save(&path, "filter", &state(), metadata).unwrap();
    }
    path
}

#[test]
fn the_golden_file_of_every_format_is_read() {
    for format in 1..=file::FORMAT {
        let loaded = file::load::<State>(written(format), "filter").unwrap();
        assert_eq!(loaded.state, state());
        assert!(loaded.state.theta[2].is_sign_negative());
        assert_eq!(loaded.metadata["purpose"], "golden file");
    }
}

#[test]
fn the_golden_file_of_this_format_is_written_again_byte_for_byte() {
    let bytes = std::fs::read(written(file::FORMAT)).unwrap();
    let read = ModelFile::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    let anew = ModelFile::new("filter", &state(), read.metadata().clone()).unwrap();
    assert!(read.version() != file::VERSION || anew.to_bytes() == bytes);
}

#[test]
fn a_filter_goes_on_from_a_file_as_if_never_stopped() {
    let x: Vec<f64> = (0..40 * DIM).map(|i| ((i * 37 % 101) as f64 - 50.0) / 40.0).collect();
    let y: Vec<f64> = (0..40).map(|i| f64::from(i * 13 % 7 < 3)).collect();
    let rows =
        |from: usize, to: usize| Rows::new(DIM, &x[from * DIM..to * DIM], &y[from..to]).unwrap();
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let mut whole =
        Filter::new(family, AnyRule::MomentMatch, Prior::isotropic(DIM, 10.0).unwrap()).unwrap();
    whole.learn(rows(0, 25)).unwrap();
    let bytes = ModelFile::new("filter", &whole.state(), Default::default()).unwrap().to_bytes();
    let state: State = ModelFile::from_bytes(&bytes).unwrap().state("filter").unwrap();
    let mut resumed: Filter<_, _, Factored> = Filter::restore(state).unwrap();
    whole.learn(rows(25, 40)).unwrap();
    resumed.learn(rows(25, 40)).unwrap();
    assert_eq!(resumed.count(), 40);
    let bytes = |filter: &Filter<_, _>| {
        ModelFile::new("filter", &filter.state(), Default::default()).unwrap().to_bytes()
    };
    assert_eq!(bytes(&resumed), bytes(&whole));
}
