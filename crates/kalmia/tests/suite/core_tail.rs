//! The core + tail covariance: a diagonal filter, a factored one, and what lies between.

use crate::common::{Data, Rng, centered, gap, rng, uniform};
use kalmia::covariance::Covariance;
use kalmia::learner::{Drift, Merged};
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, CoreTail, Error, Factored, Family, Filter, Learner, Predict, Prior, Rows, Rule,
    SparseMatrix, SparseRows, Truncated,
};

type Any<C> = Filter<AnyFamily, AnyRule, C>;

pub fn rules() -> [AnyRule; 4] {
    let truncated = AnyRule::Truncated(Truncated::new(0.3, 0.2).unwrap());
    [AnyRule::Ekf, truncated, AnyRule::Implicit, AnyRule::MomentMatch]
}

fn filter<C: Covariance>(family: AnyFamily, rule: AnyRule, dim: usize) -> Any<C> {
    let variances = (0..dim).map(|j| 0.1 + 0.05 * (j % 7) as f64).collect();
    let mean: Vec<f64> = (0..dim).map(|j| 0.01 * (j % 5) as f64).collect();
    let prior = Prior::diagonal(variances).unwrap().with_mean(&mean).unwrap();
    Filter::with_covariance(family, rule, prior).unwrap()
}

/// Rows of which most numbers are 0; the first features are frequent.
fn thin(data: &mut Data, rng: &mut Rng) {
    for row in data.x.chunks_mut(data.dim) {
        for (j, x) in row.iter_mut().enumerate() {
            if uniform(rng) > 2.0 / (1.0 + j as f64) {
                *x = 0.0;
            }
        }
    }
}

fn drawn(family: &AnyFamily, dim: usize, rows: usize) -> Data {
    let mut rng = rng(dim as u64);
    let mut data = Data::draw(&mut rng, family, dim, rows);
    thin(&mut data, &mut rng);
    data
}

#[test]
fn without_a_core_it_is_the_diagonal_filter() {
    for family in crate::common::families() {
        for rule in rules() {
            let data = drawn(&family, 12, 60);
            let mut diagonal = filter::<CoreTail<0>>(family, rule, 12);
            let mut theta = diagonal.coefficients().to_vec();
            let mut v: Vec<f64> = (0..12).map(|j| diagonal.prior().variance(j)).collect();
            diagonal.learn(data.rows()).unwrap();
            for i in 0..60 {
                let x = data.rows().x(i);
                let mut observation = data.rows().observation(i);
                observation.y = family.canonical(observation.y).unwrap();
                let m = (0..12).map(|j| theta[j] * x[j]).sum();
                let s = (0..12).map(|j| v[j] * x[j] * x[j]).sum();
                let step = rule.step(&family, &observation, m, s, i as u64 + 1);
                for j in 0..12 {
                    theta[j] += step.gain * v[j] * x[j];
                    v[j] -= step.contraction * (v[j] * x[j]).powi(2);
                }
            }
            let label = format!("{family:?} {rule:?}");
            assert!(gap(&diagonal.coefficients(), &theta, 1e-3) < 1e-12, "{label}");
            let variances: Vec<f64> = (0..12).map(|j| diagonal.covariance().entry(j, j)).collect();
            assert!(gap(&variances, &v, 0.0) < 1e-12, "{label}");
        }
    }
}

#[test]
fn with_all_in_the_core_it_is_the_factored_form_bit_for_bit() {
    for family in crate::common::families() {
        for rule in rules() {
            for (dim, cut) in [(1, 7), (7, 3), (40, 64)] {
                let data = drawn(&family, dim, 64);
                let mut core = filter::<CoreTail<64>>(family, rule, dim);
                let mut factored = filter::<Factored>(family, rule, dim);
                for from in (0..64).step_by(cut) {
                    let rows = data.rows().slice(from..(from + cut).min(64));
                    core.learn(rows).unwrap();
                    factored.learn(rows).unwrap();
                }
                let label = format!("{family:?} {rule:?} d = {dim}");
                assert_eq!(core.coefficients(), factored.coefficients(), "{label}");
                assert_eq!(core.covariance().matrix(), factored.covariance().matrix(), "{label}");
                let x = data.rows().x(3);
                assert_eq!(core.predict(x, 0.1), factored.predict(x, 0.1), "{label}");
                assert_eq!(
                    core.covariance().log_det().unwrap(),
                    factored.covariance().log_det().unwrap()
                );
            }
        }
    }
}

/// A core next to a tail, against the full recursion with the covariances between core and tail and
/// within the tail set to 0 after each row.
#[test]
fn a_core_beside_a_tail_is_the_recursion_without_the_other_covariances() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let dim = 20;
    let data = drawn(&family, dim, 300);
    for rule in rules() {
        let mut filter = filter::<CoreTail<4>>(family, rule, dim);
        let mut theta = filter.coefficients().to_vec();
        let mut p = filter.covariance().matrix();
        for i in 0..300 {
            let rows = data.rows().slice(i..i + 1);
            let core: Vec<usize> =
                filter.covariance().core_features().iter().map(|&j| j as usize).collect();
            filter.learn(rows).unwrap();
            let x = rows.x(0);
            let px: Vec<f64> = p.chunks(dim).map(|row| crate::common::dot(row, x)).collect();
            let m = crate::common::dot(&theta, x);
            let s = crate::common::dot(&px, x);
            let mut observation = rows.observation(0);
            observation.y = family.canonical(observation.y).unwrap();
            let step = rule.step(&family, &observation, m, s, i as u64 + 1);
            for a in 0..dim {
                theta[a] += step.gain * px[a];
                for b in 0..dim {
                    if a == b || (core.contains(&a) && core.contains(&b)) {
                        p[a * dim + b] -= step.contraction * px[a] * px[b];
                    }
                }
            }
        }
        assert_eq!(filter.covariance().core_features().len(), 4);
        assert!(gap(&filter.coefficients(), &theta, 1e-3) < 1e-11, "{rule:?}");
        assert!(gap(&filter.covariance().matrix(), &p, 0.0) < 1e-11, "{rule:?}");
    }
}

#[test]
fn a_restored_filter_continues_bit_for_bit() {
    fn check<const M: usize>(drift: Drift) {
        for family in crate::common::families() {
            let data = drawn(&family, 20, 120);
            let mut whole = filter::<CoreTail<M>>(family, AnyRule::MomentMatch, 20);
            whole = whole.with_drift(drift.clone()).unwrap();
            let mut stopped = whole.clone();
            for (from, to) in [(0, 30), (30, 31), (31, 80), (80, 120)] {
                whole.learn(data.rows().slice(from..to)).unwrap();
                stopped.learn(data.rows().slice(from..to)).unwrap();
                let text = serde_json::to_string(&stopped.state()).unwrap();
                stopped = Any::restore(serde_json::from_str(&text).unwrap()).unwrap();
            }
            assert_eq!(whole.state(), stopped.state(), "{M} {family:?} {drift:?}");
            let other = Filter::<AnyFamily, AnyRule, Factored>::restore(whole.state());
            assert!(matches!(other, Err(Error::State(_))));
        }
    }
    for drift in [
        Drift::Off,
        Drift::Forget { factor: 0.98 },
        Drift::Walk { variances: (0..20).map(|j| 1e-3 * (j % 3) as f64).collect() },
    ] {
        check::<0>(drift.clone());
        check::<8>(drift.clone());
        check::<64>(drift);
    }
}

#[test]
fn drift_of_a_diagonal_filter_is_that_of_the_factored_one_on_single_features() {
    // with one feature per row the covariance of every form stays diagonal
    let family: AnyFamily = "poisson".parse().unwrap();
    for drift in [Drift::Forget { factor: 0.9 }, Drift::Walk { variances: vec![1e-2; 6] }] {
        let mut data = Data::draw(&mut rng(3), &family, 6, 80);
        for (i, row) in data.x.chunks_mut(6).enumerate() {
            row.iter_mut().enumerate().for_each(|(j, x)| *x *= f64::from(j == i % 6));
        }
        let mut tail = filter::<CoreTail<2>>(family, AnyRule::Implicit, 6);
        let mut full = filter::<Factored>(family, AnyRule::Implicit, 6);
        tail = tail.with_drift(drift.clone()).unwrap();
        full = full.with_drift(drift.clone()).unwrap();
        tail.learn(data.rows()).unwrap();
        full.learn(data.rows()).unwrap();
        assert!(gap(&tail.coefficients(), &full.coefficients(), 1e-3) < 1e-11, "{drift:?}");
        let gap = gap(&tail.covariance().matrix(), &full.covariance().matrix(), 0.0);
        assert!(gap < 1e-11, "{drift:?}");
        assert!(tail.covariance().core_features().is_empty());
    }
}

#[test]
fn full_priors_and_merges_need_a_core_of_all_features() {
    let family: AnyFamily = "gaussian".parse().unwrap();
    let full = Prior::full(vec![1.0, 0.5, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0], 3).unwrap();
    let small: Result<Any<CoreTail<2>>, Error> =
        Filter::with_covariance(family, AnyRule::Ekf, full.clone());
    let message = small.unwrap_err().to_string();
    assert!(message.contains("a core of 2 features") && message.contains("of 3"), "{message}");
    let large: Any<CoreTail<3>> = Filter::with_covariance(family, AnyRule::Ekf, full).unwrap();
    assert_eq!(large.covariance().entry(0, 1), 0.5);
    let diagonal = Prior::full(vec![1.0, 0.0, 0.0, 2.0], 2).unwrap();
    let tail: Any<CoreTail<1>> = Filter::with_covariance(family, AnyRule::Ekf, diagonal).unwrap();
    assert_eq!(tail.covariance().matrix(), [1.0, 0.0, 0.0, 2.0]);

    let data = drawn(&family, 9, 40);
    let [mut a, mut b, mut all] = [(); 3].map(|_| filter::<CoreTail<9>>(family, AnyRule::Ekf, 9));
    a.learn(data.rows().slice(0..15)).unwrap();
    b.learn(data.rows().slice(15..40)).unwrap();
    all.learn(data.rows()).unwrap();
    let Merged::Exact(merged) = a.merge(&b).unwrap() else { panic!("exact") };
    assert!(gap(&merged.coefficients(), &all.coefficients(), 1.0) < 1e-9);
    let tail = filter::<CoreTail<8>>(family, AnyRule::Ekf, 9);
    let refused = tail.merge(&tail).unwrap_err();
    assert!(refused.to_string().contains("a core of 8 features"), "{refused}");
    // refused before a matrix of 10^12 numbers is asked for
    let wide = filter::<CoreTail>(family, AnyRule::Ekf, 1_000_000);
    assert!(wide.merge(&wide).is_err());
}

#[test]
fn features_come_and_go() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    for dim in [3, 4, 5, 20] {
        let data = drawn(&family, dim, 60);
        let mut grown = filter::<CoreTail<4>>(family, AnyRule::MomentMatch, dim);
        grown.learn(data.rows().slice(0..30)).unwrap();
        let before = grown.state();
        grown.grow().unwrap();
        grown.grow_with(0.37).unwrap();
        assert_eq!(grown.covariance().entry(dim + 1, dim + 1), 0.37);
        grown.shrink().unwrap();
        grown.shrink().unwrap();
        assert_eq!(grown.state(), before, "d = {dim}");
        // the last feature has been learned
        let used = data.x.chunks(dim).take(30).any(|x| x[dim - 1] != 0.0);
        assert_eq!(grown.shrink().is_err(), used, "d = {dim}");
        grown = Filter::restore(before).unwrap();
        grown.grow().unwrap();
        let wide: Vec<f64> =
            data.x.chunks(dim).flat_map(|x| x.iter().copied().chain([0.5])).collect();
        grown.learn(Rows::new(dim + 1, &wide, &data.y).unwrap()).unwrap();
        assert!(grown.coefficients()[dim] != 0.0);
    }
}

#[test]
fn refused_sparse_rows_change_nothing() {
    let family: AnyFamily = "poisson".parse().unwrap();
    let mut filter = filter::<CoreTail<2>>(family, AnyRule::Ekf, 10);
    let mut rng = rng(4);
    for _ in 0..20 {
        let values = [1.0 + uniform(&mut rng), centered(&mut rng), 0.5];
        let x = SparseMatrix::new(&[0, 3], &[1, 4, 7], &values).unwrap();
        filter.learn_sparse(SparseRows::new(x, &[2.0]).unwrap()).unwrap();
    }
    let before = filter.state();
    let mut refused = |indices: &[u32], values: &[f64], y: &[f64]| {
        let x = SparseMatrix::new(&[0, 2, 4], indices, values).unwrap();
        let error = filter.learn_sparse(SparseRows::new(x, y).unwrap()).unwrap_err();
        assert_eq!(filter.state(), before, "{error}");
        error
    };
    let error = refused(&[1, 2, 3, 4], &[1.0, 1.0, 1.0, f64::NAN], &[1.0, 1.0]);
    assert!(matches!(error, Error::Feature { row: 1, column: 4, .. }), "{error}");
    let error = refused(&[1, 2, 3, 10], &[1.0; 4], &[1.0, 1.0]);
    assert!(matches!(error, Error::SparseIndex { row: 1, index: 10, .. }), "{error}");
    assert!(matches!(refused(&[1, 2, 3, 4], &[1.0; 4], &[1.0, -1.0]), Error::Target { .. }));
    refused(&[1, 2, 3, 4], &[1.0, 1.0, 1e130, 1.0], &[1.0, 1.0]);
    // the second row diverges after the first was learned
    let error = refused(&[1, 9, 8, 9], &[1e-6, 1.0, 1.0, 1.0], &[1e9, 1.0]);
    assert!(matches!(error, Error::Diverged { row: 1, .. }), "{error}");
}

#[test]
fn a_million_features_cost_what_a_row_has() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let dim = 1_000_000;
    let prior = Prior::isotropic(dim, 1.0).unwrap();
    let mut filter: Any<CoreTail> =
        Filter::with_covariance(family, AnyRule::MomentMatch, prior).unwrap();
    let mut rng = rng(5);
    // one row per call: work in proportion to the number of features would take minutes
    for i in 0..20_000u32 {
        let second = 10 + (uniform(&mut rng) * 999_000.0) as u32;
        let indices = [i % 3, second];
        let x = SparseMatrix::new(&[0, 2], &indices, &[1.0, 1.0]).unwrap();
        filter.learn_sparse(SparseRows::new(x, &[f64::from(i % 3 == 0)]).unwrap()).unwrap();
    }
    assert!(filter.covariance().core_features()[..3].iter().all(|&j| j < 3));
    assert!(filter.coefficients()[0] > 1.0 && filter.coefficients()[1] < -1.0);
    assert!(filter.covariance().log_det().unwrap() < 0.0);
}
