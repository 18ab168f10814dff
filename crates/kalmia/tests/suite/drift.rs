//! Coefficients that move: forgetting and the random walk against plain references, and nothing at
//! all when drift is off.

use crate::common;

use common::{Data, Matrix, dot, gap, rng};
use kalmia::covariance::Covariance;
use kalmia::learner::Drift;
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, Dense, Factored, Family, Filter, Learner, Prior, Rows, Rule};
use rand::RngExt;

type Any<C> = Filter<AnyFamily, AnyRule, C>;

fn filter<C: Covariance>(family: &AnyFamily, rule: &str, prior: &Prior) -> Any<C> {
    Filter::with_covariance(*family, rule.parse().unwrap(), prior.clone()).unwrap()
}

fn prior(dim: usize) -> Prior {
    let variances: Vec<f64> = (0..dim).map(|j| 0.2 + 0.3 * j as f64).collect();
    let mean: Vec<f64> = (0..dim).map(|j| 0.4 - 0.2 * j as f64).collect();
    Prior::diagonal(variances).unwrap().with_mean(&mean).unwrap()
}

fn off_is_static<C: Covariance>() {
    for family in common::families() {
        let data = Data::draw(&mut rng(1), &family, 5, 60);
        let mut plain = filter::<C>(&family, "moment", &prior(5));
        let mut off = filter::<C>(&family, "moment", &prior(5)).with_drift(Drift::Off).unwrap();
        let mut still = filter::<C>(&family, "moment", &prior(5))
            .with_drift(Drift::Walk { variances: vec![0.0; 5] })
            .unwrap();
        for filter in [&mut plain, &mut off, &mut still] {
            filter.learn(data.rows()).unwrap();
        }
        assert_eq!(off.state(), plain.state());
        assert!(gap(&still.coefficients(), &plain.coefficients(), 1.0) < 1e-12);
        assert!(gap(&still.covariance().matrix(), &plain.covariance().matrix(), 0.0) < 1e-12);
    }
}

#[test]
fn off_is_bit_identical_to_static() {
    off_is_static::<Dense>();
    off_is_static::<Factored>();
}

/// Forgetting in information form, with an inverse per row: an independent computation of the same
/// belief.
struct Forgetful {
    precision: Matrix,
    theta: Vec<f64>,
    prior: Prior,
    factor: f64,
    t: usize,
}

impl Forgetful {
    fn new(prior: &Prior, factor: f64) -> Self {
        let precision = Matrix::new(prior.matrix()).inverse();
        Self { precision, theta: prior.mean().to_vec(), prior: prior.clone(), factor, t: 0 }
    }

    fn learn(&mut self, family: &AnyFamily, rule: &AnyRule, rows: Rows<'_>, i: usize) {
        let d = self.theta.len();
        self.t += 1;
        let mut eta = self.precision.times(&self.theta);
        eta.iter_mut().for_each(|v| *v *= self.factor);
        self.precision.a.iter_mut().for_each(|v| *v *= self.factor);
        let share = d as f64 * (1.0 - self.factor);
        let k = share.ceil();
        for c in 0..k as usize {
            let j = (self.t * k as usize + c) % d;
            let back = share / k / self.prior.variance(j);
            self.precision.a[j * d + j] += back;
            eta[j] += back * self.prior.mean()[j];
        }
        let p = self.precision.inverse();
        self.theta = p.times(&eta);
        let x = rows.x(i);
        let mut observation = rows.observation(i);
        observation.y = family.canonical(observation.y).unwrap();
        let m = dot(&self.theta, x);
        let s = p.quadratic(x);
        let step = rule.step(family, &observation, m, s, self.t as u64);
        let v = p.times(x);
        self.theta.iter_mut().zip(&v).for_each(|(t, v)| *t += step.gain * v);
        self.precision = self.precision.plus_outer(step.curvature, x);
    }
}

fn forgetting<C: Covariance>() {
    for family in common::families() {
        for rule in ["ekf", "implicit"] {
            for (dim, factor) in [(1, 0.8), (3, 0.97), (4, 0.9), (5, 0.55)] {
                let data = Data::draw(&mut rng(2), &family, dim, 60);
                let mut reference = Forgetful::new(&prior(dim), factor);
                let mut whole = filter::<C>(&family, rule, &prior(dim))
                    .with_drift(Drift::Forget { factor })
                    .unwrap();
                let mut cut = whole.clone();
                whole.learn(data.rows()).unwrap();
                for i in 0..60 {
                    reference.learn(&family, whole.rule(), data.rows(), i);
                    cut.learn(data.rows().slice(i..i + 1)).unwrap();
                }
                let label = format!("{} {family:?} {rule} {dim}", C::NAME);
                let p = reference.precision.inverse();
                for filter in [&whole, &cut] {
                    let gaps = (
                        gap(&filter.coefficients(), &reference.theta, 1.0),
                        gap(&filter.covariance().matrix(), &p.a, 0.0),
                    );
                    assert!(gaps.0 < 1e-9 && gaps.1 < 1e-9, "{label}: {gaps:?}");
                }
            }
        }
    }
}

#[test]
fn forgetting_is_the_discounted_information_with_the_prior_fed_back() {
    forgetting::<Dense>();
    forgetting::<Factored>();
}

fn random_walk<C: Covariance>() {
    for family in common::families() {
        for rule in ["truncated", "moment"] {
            for dim in [1, 4, 9, 20] {
                let variances: Vec<f64> = (0..dim)
                    .map(|j| if j % 3 == 1 { 0.0 } else { 0.01 * (1 + j) as f64 })
                    .collect();
                let data = Data::draw(&mut rng(3), &family, dim, 60);
                let mut book =
                    common::Textbook::new(prior(dim).mean().to_vec(), prior(dim).matrix());
                let mut filter = filter::<C>(&family, rule, &prior(dim))
                    .with_drift(Drift::Walk { variances: variances.clone() })
                    .unwrap();
                for i in 0..60 {
                    (0..dim).for_each(|j| book.p[j * dim + j] += variances[j]);
                    let rows = data.rows();
                    let t = i as u64 + 1;
                    let observation = rows.observation(i);
                    common::teach(&mut book, &family, filter.rule(), rows.x(i), &observation, t);
                }
                for range in [0..1, 1..20, 20..60] {
                    filter.learn(data.rows().slice(range)).unwrap();
                }
                assert!(
                    gap(&filter.coefficients(), &book.theta, 1.0) < 1e-9,
                    "{} {family:?} {rule} {dim}",
                    C::NAME
                );
                assert!(
                    gap(&filter.covariance().matrix(), &book.p, 0.0) < 1e-9,
                    "{} {family:?} {rule} {dim}",
                    C::NAME
                );
            }
        }
    }
}

#[test]
fn a_random_walk_adds_its_variances_before_each_row() {
    random_walk::<Dense>();
    random_walk::<Factored>();
}

/// Rows that excite one direction alone: the others always keep about their prior variance.
fn wind_up<C: Covariance>(dim: usize, factor: f64, rows: usize) {
    let family: AnyFamily = "gaussian".parse().unwrap();
    let mut filter =
        filter::<C>(&family, "ekf", &prior(dim)).with_drift(Drift::Forget { factor }).unwrap();
    let mut x = vec![0.0; dim * 500];
    x.chunks_mut(dim).for_each(|x| x[0] = 1.0);
    let y = vec![1.0; 500];
    for _ in 0..rows / 500 {
        filter.learn(Rows::new(dim, &x, &y).unwrap()).unwrap();
        for j in 1..dim {
            let ratio = filter.covariance().entry(j, j) / filter.prior().variance(j);
            assert!(
                (0.3..2.72).contains(&ratio),
                "{} d = {dim}, factor {factor}, coefficient {j}: {ratio}",
                C::NAME
            );
            assert!((filter.coefficients()[j] - filter.prior().mean()[j]).abs() < 1e-9);
        }
    }
}

#[test]
fn forgetting_does_not_wind_up() {
    wind_up::<Dense>(3, 0.99, 100_000);
    wind_up::<Factored>(3, 0.9, 100_000);
    wind_up::<Dense>(50, 0.9, 5_000);
    wind_up::<Factored>(50, 0.99, 5_000);
    wind_up::<Dense>(40, 0.3, 2_000);
}

#[test]
fn drifting_filters_follow_a_change_and_the_static_one_does_not() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let mut rng = rng(4);
    let rows = 4000;
    let x: Vec<f64> = (0..2 * rows).map(|_| common::centered(&mut rng)).collect();
    let truth = |i: usize| if i < rows / 2 { [2.0, -1.0] } else { [-2.0, 1.0] };
    let y: Vec<f64> =
        x.chunks(2).enumerate().map(|(i, x)| family.sample(dot(x, &truth(i)), &mut rng)).collect();
    let prior = Prior::isotropic(2, 4.0).unwrap();
    let error = |drift: Drift| {
        let mut filter = filter::<Dense>(&family, "moment", &prior).with_drift(drift).unwrap();
        filter.learn(Rows::new(2, &x, &y).unwrap()).unwrap();
        common::norm(&common::minus(&filter.coefficients(), &truth(rows)))
    };
    let still = error(Drift::Off);
    assert!(still > 1.5, "{still}");
    assert!(error(Drift::Forget { factor: 0.995 }) < 0.8);
    assert!(error(Drift::Walk { variances: vec![1e-3; 2] }) < 0.8);
}

#[test]
fn a_restored_drifting_filter_continues_bit_for_bit() {
    fn check<C: Covariance>(drift: Drift) {
        let family: AnyFamily = "poisson".parse().unwrap();
        let data = Data::draw(&mut rng(6), &family, 4, 50);
        let cut = rng(7).random_range(5..45);
        let mut whole = filter::<C>(&family, "implicit", &prior(4)).with_drift(drift).unwrap();
        whole.learn(data.rows().slice(0..cut)).unwrap();
        let text = serde_json::to_string(&whole.state()).unwrap();
        let mut restored = Any::<C>::restore(serde_json::from_str(&text).unwrap()).unwrap();
        whole.learn(data.rows().slice(cut..50)).unwrap();
        restored.learn(data.rows().slice(cut..50)).unwrap();
        assert_eq!(whole.state(), restored.state());
    }
    for drift in
        [Drift::Forget { factor: 0.6 }, Drift::Walk { variances: vec![0.1, 0.0, 0.3, 1e-3] }]
    {
        check::<Dense>(drift.clone());
        check::<Factored>(drift);
    }
}

/// What rounding puts between the two triangles of a dense matrix must not be scaled up row after
/// row.
#[test]
fn forgetting_stays_accurate_for_ever() {
    for dim in [5, 20] {
        let family: AnyFamily = "gaussian:2.5".parse().unwrap();
        let data = Data::draw(&mut rng(8), &family, dim, 3000);
        let drift = Drift::Forget { factor: 0.9 };
        let mut dense =
            filter::<Dense>(&family, "ekf", &prior(dim)).with_drift(drift.clone()).unwrap();
        let mut factored =
            filter::<Factored>(&family, "ekf", &prior(dim)).with_drift(drift).unwrap();
        dense.learn(data.rows()).unwrap();
        factored.learn(data.rows()).unwrap();
        assert!(gap(&dense.coefficients(), &factored.coefficients(), 1.0) < 1e-11);
        assert!(gap(&dense.covariance().matrix(), &factored.covariance().matrix(), 0.0) < 1e-11);
    }
}
