//! Every algorithm of the paper against high-precision trajectories.
//!
//! `data/trajectory_cases.json` was computed at 60 digits, independently of this crate; `theta[0]`
//! there is $\theta_1$.

use kalmia::covariance::Covariance;
use kalmia::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const TOLERANCE: f64 = 1e-12;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y_linear: Vec<f64>,
    y_pm1: Vec<f64>,
    theta1: Vec<f64>,
    #[serde(rename = "P1")]
    p1: Vec<Vec<f64>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    algorithm: String,
    params: Value,
    out: Value,
}

impl Case {
    fn param(&self, name: &str) -> f64 {
        self.params[name].as_f64().unwrap()
    }

    fn out<T: DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_value(self.out[name].clone()).unwrap()
    }
}

fn file() -> File {
    serde_json::from_str(include_str!("../data/trajectory_cases.json")).unwrap()
}

/// All entries within the tolerance of the largest one.
fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= TOLERANCE * largest, "{what}[{i}]: found {a}, expected {b}");
    }
}

/// What a run leaves behind.
#[derive(Default)]
struct Trace {
    coefficients: Vec<f64>,
    alpha: Vec<f64>,
    variance: Vec<f64>,
    loss: f64,
}

/// Row after row, with the coefficients before the first row and after each.
fn trace<L: Learner>(learner: &mut L, file: &File, y: &[f64]) -> Trace {
    let mut trace = Trace { coefficients: learner.coefficients().to_vec(), ..Trace::default() };
    for (x, y) in file.x.iter().zip(y) {
        let mut watch = |seen: &RowView<'_>| {
            trace.alpha.push(seen.step.curvature);
            trace.variance.push(seen.variance);
            trace.loss += seen.loss;
        };
        learner.learn_observed(Rows::new(x.len(), x, &[*y]).unwrap(), Some(&mut watch)).unwrap();
        trace.coefficients.extend(&*learner.coefficients());
    }
    trace
}

fn check_filter<F: Family, R: Rule, C: Covariance>(
    file: &File,
    case: &Case,
    family: F,
    rule: R,
    y: &[f64],
) {
    let what = |name: &str| format!("{} {} {}: {name}", case.algorithm, case.params, C::NAME);
    let prior = Prior::full(file.p1.concat(), 3).unwrap().with_mean(&file.theta1).unwrap();
    let mut filter =
        Filter::with_covariance::<C>(family.clone(), rule.clone(), prior.clone()).unwrap();
    let found = trace(&mut filter, file, y);
    assert_close(&what("theta"), &found.coefficients, &case.out::<Vec<Vec<f64>>>("theta").concat());
    assert_close(&what("alpha"), &found.alpha, &case.out::<Vec<f64>>("alpha"));
    assert_close(&what("x'Px"), &found.variance, &case.out::<Vec<f64>>("x_P_x_before"));
    assert_close(&what("loss"), &[found.loss], &[case.out("loss_sum")]);
    assert_close(
        &what("P"),
        &filter.covariance().matrix(),
        &case.out::<Vec<Vec<f64>>>("P_final").concat(),
    );
    assert_close(
        &what("ln det P"),
        &[filter.covariance().log_det().unwrap()],
        &[case.out("ln_det_P_final")],
    );
    let mut batch = Filter::with_covariance::<C>(family, rule, prior).unwrap();
    batch.learn(Rows::new(3, &file.x.concat(), y).unwrap()).unwrap();
    assert_close(&what("theta in one batch"), &batch.coefficients(), &found.coefficients[36..]);
}

fn check_newton<C: Covariance>(file: &File, case: &Case) {
    let what = |name: &str| format!("{} {} {}: {name}", case.algorithm, case.params, C::NAME);
    let settings = OnlineNewtonSettings::new(case.param("D"), 1.0)
        .and_then(|s| s.with_gamma(case.param("gamma")))
        .and_then(|s| s.with_multiplier(case.param("mult")))
        .and_then(|s| s.with_start(Prior::isotropic(3, 1.0 / case.param("lam"))?))
        .unwrap();
    assert_eq!(settings.gamma(3), case.param("gamma"));
    let newton = OnlineNewtonStep::with_covariance::<C>(Bernoulli, 3, settings).unwrap();
    let mut last = newton.clone();
    let found = trace(&mut last, file, &file.y_pm1);
    assert_close(&what("w"), &found.coefficients, &case.out::<Vec<Vec<f64>>>("theta").concat());
    let mean = trace(&mut Averaged::new(newton), file, &file.y_pm1);
    assert_close(
        &what("average"),
        &mean.coefficients[3..],
        &case.out::<Vec<Vec<f64>>>("avg").concat(),
    );
    let a = case.out::<Vec<Vec<f64>>>("A_final").concat();
    assert_close(&what("A"), &last.precision(), &a);
    let outside = case.out::<Vec<f64>>("mu").iter().filter(|&&mu| mu > 0.0).count();
    assert_eq!(last.projections(), outside as u64, "{}", what("projections"));
    let p = last.covariance().matrix();
    let product: Vec<f64> =
        (0..9).map(|k| (0..3).map(|j| p[k / 3 * 3 + j] * a[j * 3 + k % 3]).sum()).collect();
    assert_close(&what("PA"), &product, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
}

fn check_gradient(file: &File, case: &Case) {
    let mut sgd = AveragedSgd::new(Bernoulli, 3, 12, case.param("gamma")).unwrap();
    let mut iterates = sgd.iterate().to_vec();
    let mut means = Vec::new();
    for (x, y) in file.x.iter().zip(&file.y_pm1) {
        sgd.learn(Rows::new(3, x, &[*y]).unwrap()).unwrap();
        iterates.extend(sgd.iterate());
        means.extend(&*sgd.coefficients());
    }
    assert_close("asgd: theta", &iterates, &case.out::<Vec<Vec<f64>>>("theta").concat());
    assert_close("asgd: average", &means, &case.out::<Vec<Vec<f64>>>("avg").concat());
}

#[test]
fn every_trajectory_is_met() {
    let file = file();
    let mut seen = std::collections::BTreeSet::new();
    for case in &file.cases {
        seen.insert(case.algorithm.as_str());
        match case.algorithm.as_str() {
            "kalman_linear" => {
                let family = Gaussian::new(1.0).unwrap();
                check_filter::<_, _, Dense>(&file, case, family, Ekf, &file.y_linear);
                check_filter::<_, _, Factored>(&file, case, family, Ekf, &file.y_linear);
                check_filter::<_, _, Factored>(&file, case, family, Implicit, &file.y_linear);
                check_filter::<_, _, Factored>(&file, case, family, MomentMatch, &file.y_linear);
            }
            "ekf_logistic" => {
                check_filter::<_, _, Dense>(&file, case, Bernoulli, Ekf, &file.y_pm1);
                check_filter::<_, _, Factored>(&file, case, Bernoulli, Ekf, &file.y_pm1);
            }
            "ekf_logistic_truncated" => {
                let rule = Truncated::new(case.param("c"), case.param("beta")).unwrap();
                check_filter::<_, _, Dense>(&file, case, Bernoulli, rule, &file.y_pm1);
                check_filter::<_, _, Factored>(&file, case, Bernoulli, rule, &file.y_pm1);
            }
            "ons" => {
                check_newton::<Dense>(&file, case);
                check_newton::<Factored>(&file, case);
            }
            "asgd" => check_gradient(&file, case),
            other => panic!("no learner for {other}"),
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}
