//! Growth can be undone: the learner is then what it was, to the last bit.

use crate::common::{Data, rng};
use kalmia::covariance::{Covariance, Dense, Factored};
use kalmia::learner::DriftMode;
use kalmia::{
    AnyFamily, Auto, AveragedSgd, Bernoulli, Error, Filter, Learner, MomentMatch, Poisson, Predict,
    Prior, Rows,
};

/// Around the dimensions at which a matrix changes its layout.
const DIMS: [usize; 9] = [1, 7, 8, 15, 16, 31, 32, 33, 40];

fn data(dim: usize, rows: usize) -> Data {
    Data::draw(&mut rng(21), &AnyFamily::Bernoulli(Bernoulli), dim, rows)
}

/// Three features come, a row is refused, and they go.
fn grow_and_shrink<L: Predict>(learner: &mut L) {
    for _ in 0..3 {
        learner.grow().unwrap();
    }
    let x = vec![0.25; learner.dim()];
    let refused = Rows::new(x.len(), &x, &[3.0]).unwrap();
    assert!(learner.learn(refused).is_err());
    for _ in 0..3 {
        learner.shrink().unwrap();
    }
}

/// Coefficients and the upper triangle, which are all that decides.
fn belief(learner: &impl Predict) -> Vec<f64> {
    let dim = learner.dim();
    let entries = (0..dim).flat_map(|j| (0..=j).map(move |i| (i, j)));
    let covariance = entries.map(|(i, j)| learner.covariance_entry(i, j).unwrap());
    learner.coefficients().iter().copied().chain(covariance).collect()
}

/// The same beliefs after the same rows; `exact` if the states are equal to the last bit.
fn same(a: &impl Predict, b: &impl Predict, exact: bool, label: &str) {
    for (a, b) in belief(a).into_iter().zip(belief(b)) {
        let bound = if exact { 0.0 } else { 1e-9 * (1.0 + b.abs()) };
        assert!((a - b).abs() <= bound, "{label}: {a} and {b}");
    }
}

fn filters<C: Covariance>() {
    // the dense form makes mirrored entries equal when it grows
    let exact = C::NAME == "factored";
    for dim in DIMS {
        let label = format!("{} d = {dim}", C::NAME);
        let data = data(dim, 40);
        let prior = Prior::isotropic(dim, 2.0).unwrap();
        let mut filter = Filter::with_covariance::<C>(Bernoulli, MomentMatch, prior).unwrap();
        filter.learn(data.rows().slice(0..20)).unwrap();
        let mut twin = filter.clone();
        grow_and_shrink(&mut filter);
        assert!(!exact || filter.state() == twin.state(), "{label}");
        assert_eq!(filter.prior(), twin.prior(), "{label}");
        same(&filter, &twin, true, &label);
        filter.learn(data.rows().slice(20..40)).unwrap();
        twin.learn(data.rows().slice(20..40)).unwrap();
        same(&filter, &twin, exact, &label);
        // features that come afterwards find a clean place
        grow_and_shrink(&mut filter);
        filter.grow().unwrap();
        twin.grow().unwrap();
        let x = vec![0.5; dim + 1];
        for learner in [&mut filter, &mut twin] {
            learner.learn(Rows::new(dim + 1, &x, &[1.0]).unwrap()).unwrap();
        }
        same(&filter, &twin, exact, &label);
        assert!(matches!(filter.shrink(), Err(Error::State(_))), "{label}: the feature is used");
    }
}

#[test]
fn filters_are_what_they_were() {
    filters::<Dense>();
    filters::<Factored>();
}

#[test]
fn the_default_learner_is_what_it_was() {
    for (drift, rows) in [
        (DriftMode::Detect, 0),
        (DriftMode::Detect, 1),
        (DriftMode::Detect, 5),
        (DriftMode::Detect, 300),
        (DriftMode::Adapt, 100),
        (DriftMode::Adapt, 600),
    ] {
        for dim in DIMS {
            let mut data = data(dim, rows + 20);
            data.x.iter_mut().step_by(dim).for_each(|x| *x = 1.0);
            let mut auto = Auto::builder(Bernoulli, dim).intercept().drift(drift).build().unwrap();
            auto.learn(data.rows().slice(0..rows)).unwrap();
            let mut twin = auto.clone();
            grow_and_shrink(&mut auto);
            let label = format!("{drift:?}, {rows} rows, d = {dim}");
            // random-walk members are dense
            let exact = !auto.is_following();
            assert!(!exact || auto.state() == twin.state(), "{label}");
            same(&auto, &twin, true, &label);
            assert_eq!(auto.dim(), dim);
            auto.learn(data.rows().slice(rows..rows + 20)).unwrap();
            twin.learn(data.rows().slice(rows..rows + 20)).unwrap();
            same(&auto, &twin, exact, &label);
            grow_and_shrink(&mut auto);
            auto.grow().unwrap();
            twin.grow().unwrap();
            let x = vec![0.5; dim + 1];
            for learner in [&mut auto, &mut twin] {
                learner.learn(Rows::new(dim + 1, &x, &[1.0]).unwrap()).unwrap();
            }
            same(&auto, &twin, exact, &label);
            assert!(matches!(auto.shrink(), Err(Error::State(_))), "{label}: the feature is used");
        }
    }
}

#[test]
fn the_constant_and_nothing_stay() {
    let mut auto = Auto::builder(Poisson, 1).intercept().build().unwrap();
    assert!(matches!(auto.shrink(), Err(Error::State(_))));
    let mut empty = Auto::builder(Poisson, 0).build().unwrap();
    assert!(matches!(empty.shrink(), Err(Error::State(_))));
    let mut sgd = AveragedSgd::new(Bernoulli, 2, 10, 0.1).unwrap();
    assert!(matches!(sgd.shrink(), Err(Error::State(_))));
}
