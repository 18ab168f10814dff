//! The online Newton step, averaged SGD and the mean of iterates: identities, states, batches and
//! errors.

use crate::common::{Data, minus, norm, property};
use kalmia::covariance::Covariance;
use kalmia::learner::{OnlineNewtonState, default_step, oracle_step};
use kalmia::rule::AnyRule;
use kalmia::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde::de::DeserializeOwned;

type Newton<C = Factored> = OnlineNewtonStep<Bernoulli, C>;

/// From $P_1 = I$, so that the first steps are long and the projection has work to do.
fn newton<C: Covariance>(dim: usize, radius: f64, gamma: f64) -> Newton<C> {
    let settings = OnlineNewtonSettings::new(radius, 1.0).unwrap().with_gamma(gamma).unwrap();
    OnlineNewtonStep::with_covariance(
        Bernoulli,
        dim,
        settings.with_start(Prior::isotropic(dim, 1.0).unwrap()).unwrap(),
    )
    .unwrap()
}

fn ekf(dim: usize) -> Filter<Bernoulli, Ekf> {
    Filter::new(Bernoulli, Ekf, Prior::isotropic(dim, 1.0).unwrap()).unwrap()
}

fn quadratic(a: &[f64], v: &[f64]) -> f64 {
    let d = v.len();
    (0..d * d).map(|k| a[k] * v[k / d] * v[k % d]).sum()
}

proptest! {
    #![proptest_config(property(23, 60))]

    /// Identity I23 for any $\theta^*$ in the ball: the projection brings every point of the ball
    /// nearer, and the regret inequality holds at every row.
    #[test]
    fn newton_step_obeys_its_regret_inequality(
        dim in 1usize..6,
        seed in 0u64..1000,
        ln_gamma in -6.0..0.5f64,
        ln_radius in -1.5..2.0f64,
        ln_lambda in -3.0..3.0f64,
        multiplier in 0.5..3.0f64,
        star in prop::collection::vec(-1.0..1.0f64, 6),
    ) {
        let gamma = ln_gamma.exp();
        let radius = ln_radius.exp();
        let lambda = ln_lambda.exp();
        let start = Prior::isotropic(dim, 1.0 / lambda).unwrap();
        let settings = OnlineNewtonSettings::new(radius, 1.0)
            .and_then(|settings| settings.with_gamma(gamma)?.with_multiplier(multiplier))
            .and_then(|settings| settings.with_start(start))
            .unwrap();
        let mut learner: Newton = OnlineNewtonStep::new(Bernoulli, dim, settings).unwrap();
        let star: Vec<f64> = star[..dim].iter().map(|s| s * radius / (dim as f64).sqrt()).collect();
        let data = Data::logistic(dim, 40, 3.0, seed);
        let c = gamma / multiplier;
        let mut left = 0.0;
        let mut right = 0.5 * c * lambda * norm(&star).powi(2);
        for i in 0..40 {
            let w = learner.coefficients().to_vec();
            let mut slope = 0.0;
            let mut s = 0.0;
            let mut watch = |seen: &RowView<'_>| (slope, s) = (seen.gradient, seen.variance);
            learner.learn_observed(data.plain().slice(i..i + 1), Some(&mut watch)).unwrap();
            let x = data.plain().x(i);
            let p = learner.covariance().matrix();
            let px = |j: usize| (0..dim).map(|k| p[j * dim + k] * x[k]).sum::<f64>();
            let v: Vec<f64> = (0..dim).map(|j| w[j] - slope / c * px(j)).collect();
            let a = learner.precision();
            let after = quadratic(&a, &minus(&learner.coefficients(), &star));
            let before = quadratic(&a, &minus(&v, &star));
            prop_assert!(after <= before * (1.0 + 1e-10) + 1e-12, "{after} {before}");
            prop_assert!(norm(&learner.coefficients()) <= radius * (1.0 + 1e-14));
            let along = slope * minus(&w, &star).iter().zip(x).map(|(e, x)| e * x).sum::<f64>();
            left += along - 0.5 * c * along * along;
            right += 0.5 / c * slope * slope * s / (1.0 + slope * slope * s);
            prop_assert!(left <= right + 1e-9 * right.abs(), "row {i}: {left} {right}");
        }
        prop_assert_eq!(learner.count(), 40);
    }
}

#[test]
fn precision_and_covariance_stay_inverse_and_agree_between_forms() {
    let data = Data::logistic(11, 600, 2.3, 5);
    let mut dense = newton::<Dense>(11, 2.56, 0.0125);
    let mut factored = newton::<Factored>(11, 2.56, 0.0125);
    dense.learn(data.plain()).unwrap();
    factored.learn(data.plain()).unwrap();
    assert!(
        norm(&minus(&dense.coefficients(), &factored.coefficients()))
            <= 1e-10 * norm(&dense.coefficients())
    );
    assert!(
        dense.projections() == factored.projections() && dense.projections() > 20,
        "{}",
        dense.projections()
    );
    let p = factored.covariance().matrix();
    let a = factored.precision();
    for k in 0..121 {
        let entry: f64 = (0..11).map(|j| p[k / 11 * 11 + j] * a[j * 11 + k % 11]).sum();
        assert!((entry - f64::from(k / 11 == k % 11)).abs() < 1e-10, "{entry}");
    }
    assert!(factored.factors() <= 3 * factored.projections(), "{}", factored.factors());
}

#[test]
fn features_of_very_different_scales_stay_in_the_ball() {
    let mut data = Data::logistic(9, 1500, 2.0, 31);
    data.x.iter_mut().enumerate().for_each(|(k, x)| *x *= 10f64.powi(k as i32 % 9 - 4));
    for gamma in [0.5, 1e-2, 1e-6, 1e-14] {
        let mut learner = newton::<Factored>(9, 2.0, gamma);
        learner.learn(data.plain()).unwrap();
        assert!(norm(&learner.coefficients()) <= 2.0 * (1.0 + 1e-14));
        assert!(
            learner.factors() <= 6 * learner.projections(),
            "{} {}",
            learner.factors(),
            learner.projections()
        );
    }
}

/// The generator of the paper's experiment: $x = (1, z)$, $z$ uniform on $[0,1]^{10}$.
#[test]
fn paper_experiment_behaves_as_its_text_says_and_needs_few_factors() {
    let star = [-9.0, 0.0, 3.0, -9.0, 4.0, -9.0, 15.0, 0.0, -7.0, 1.0, 0.0];
    for (scale, gamma) in [(0.1, 0.0125), (0.1, 1e-4), (1.0, 0.0125), (1.0, 7.5e-15)] {
        let truth: Vec<f64> = star.iter().map(|t| t * scale).collect();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut data = Data::logistic(11, 0, 0.0, 1);
        for _ in 0..3000 {
            let x: Vec<f64> = (0..11).map(|j| if j == 0 { 1.0 } else { rng.random() }).collect();
            let u: f64 = x.iter().zip(&truth).map(|(x, t)| x * t).sum();
            data.y.push(f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-u).exp())));
            data.x.extend(x);
        }
        let radius = 1.1 * norm(&truth);
        let mut long_steps = newton::<Factored>(11, radius, gamma);
        long_steps.learn(data.plain()).unwrap();
        assert!(long_steps.projections() > 300, "{}", long_steps.projections());
        assert!(long_steps.factors() <= 3 * long_steps.projections(), "{}", long_steps.factors());
        let settings = OnlineNewtonSettings::new(radius, 1.0).unwrap().with_gamma(gamma).unwrap();
        let mut default: Newton = OnlineNewtonStep::new(Bernoulli, 11, settings).unwrap();
        default.learn(data.plain()).unwrap();
        if gamma < 1e-10 {
            // "still almost doesn't move": the squared error stays |theta*|^2 = 543
            assert!((norm(&minus(&default.coefficients(), &truth)).powi(2) - 543.0).abs() < 1e-3);
        }
    }
}

#[test]
fn settings_give_the_constants_of_the_paper() {
    let radius = 2.56;
    let d = 11.0f64;
    let settings =
        OnlineNewtonSettings::new(radius, 2.5e-2).unwrap().with_gradient_bound(d.sqrt()).unwrap();
    assert_eq!(settings.gamma(11), 0.0125);
    // erratum E16: with the diameter the gradient bound is what counts, 0.00735 for R = 1.1
    // |theta*|/10
    let theorem = settings.clone().for_theorem_3();
    assert!((theorem.gamma(11) - 0.5 / (8.0 * d.sqrt() * radius)).abs() < 1e-17);
    assert!((theorem.rule(11).unwrap().step_size() * theorem.gamma(11) - 3.0).abs() < 1e-15);
    let ball = OnlineNewtonSettings::logistic(11, radius).unwrap();
    assert!((ball.gamma(11) / (0.5 * (-radius * d.sqrt()).exp()) - 1.0).abs() < 1e-14);
    // erratum E28: P_1 = (gamma R)^2 I by default
    let learner: Newton = OnlineNewtonStep::new(Bernoulli, 11, settings).unwrap();
    assert!((learner.covariance().entry(3, 3) / (0.0125f64 * radius).powi(2) - 1.0).abs() < 1e-15);
    assert!((learner.precision()[0] * learner.covariance().entry(0, 0) - 1.0).abs() < 1e-15);
    // without a bound given it is sqrt(d), so gamma is 1/(8 sqrt(11) 10), not alpha/2
    let plain = OnlineNewtonSettings::new(10.0, 0.025).unwrap();
    let bound = plain.clone().with_gradient_bound(d.sqrt()).unwrap();
    assert_eq!(plain.gamma(11), bound.gamma(11));
    assert!((plain.gamma(11) - 0.003_768_891_807_222_046).abs() < 1e-17);
    assert_eq!(plain.clone().with_diameter().gamma(11), plain.gamma(11) / 2.0);
    // the paper's steps, 1 / (2 d sqrt N) and |theta*| / sqrt(d N)
    let plain = AveragedSgd::plain(Bernoulli, 11, 400).unwrap().step();
    assert_eq!(plain, default_step(11, 400).unwrap());
    assert!((plain * 2.0 * 11.0 * 20.0 - 1.0).abs() < 1e-15);
    let oracle = AveragedSgd::oracle(Bernoulli, 11, 400, 2.3).unwrap().step();
    assert_eq!(oracle, oracle_step(11, 400, 2.3).unwrap());
    assert!((oracle * oracle * 11.0 * 400.0 - 2.3 * 2.3).abs() < 1e-14);
}

/// The mean of recorded iterates, and the observer's view of them.
fn check_mean<L: Learner + Clone>(inner: L, data: &Data) {
    let mut alone = inner.clone();
    let mut averaged = Averaged::new(inner);
    assert_eq!(averaged.coefficients(), alone.coefficients());
    let mut sum = vec![0.0; data.dim];
    let mut watched = Vec::new();
    let mut direct = Vec::new();
    for i in 0..data.y.len() {
        sum.iter_mut().zip(&*alone.coefficients()).for_each(|(s, w)| *s += w);
        let row = data.plain().slice(i..i + 1);
        alone
            .learn_observed(
                row,
                Some(&mut |seen: &RowView<'_>| direct.push((i, seen.linear, seen.loss))),
            )
            .unwrap();
    }
    averaged
        .learn_observed(
            data.plain(),
            Some(&mut |seen: &RowView<'_>| watched.push((seen.index, seen.linear, seen.loss))),
        )
        .unwrap();
    assert_eq!(watched, direct);
    assert_eq!(
        (averaged.inner().coefficients(), averaged.count()),
        (alone.coefficients(), data.y.len() as u64)
    );
    for (mean, sum) in averaged.coefficients().iter().zip(&sum) {
        assert!((mean - sum / data.y.len() as f64).abs() <= 1e-13);
    }
    let x = data.plain().x(0);
    let expected: f64 = averaged.coefficients().iter().zip(x).map(|(w, x)| w * x).sum();
    assert_eq!(averaged.linear(x).unwrap(), expected);
}

#[test]
fn averaged_is_the_mean_of_the_iterates_before_each_row() {
    let data = Data::logistic(5, 200, 2.0, 11);
    check_mean(ekf(5), &data);
    check_mean(newton::<Factored>(5, 2.0, 0.05), &data);
    check_mean(newton::<Dense>(5, 2.0, 0.05), &data);
}

/// Cut into single rows, into pieces with a state written and read in between, and whole: the same
/// to the bit.
fn check_cuts<L, S>(fresh: L, data: &Data, take: impl Fn(&L) -> S, restore: impl Fn(S) -> Result<L>)
where
    L: Learner + Clone,
    S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let n = data.y.len();
    let mut whole = fresh.clone();
    let mut single = fresh.clone();
    let mut resumed = fresh;
    whole.learn(data.plain()).unwrap();
    (0..n).for_each(|i| single.learn(data.plain().slice(i..i + 1)).unwrap());
    for cut in [0..7, 7..8, 8..n / 2, n / 2..n] {
        resumed.learn(data.plain().slice(cut)).unwrap();
        let text = serde_json::to_string(&take(&resumed)).unwrap();
        resumed = restore(serde_json::from_str(&text).unwrap()).unwrap();
    }
    assert_eq!(take(&whole), take(&single));
    assert_eq!(take(&whole), take(&resumed));
    assert!(whole.coefficients().iter().all(|w| w.is_finite() && *w != 0.0));
}

#[test]
fn cuts_and_resumption_change_no_bit() {
    for (dim, rows) in [(1, 40), (11, 120), (40, 60)] {
        let data = Data::logistic(dim, rows, 3.0, 3);
        let mut probe = newton::<Factored>(dim, 1.5, 0.02);
        probe.learn(data.plain()).unwrap();
        assert!(probe.projections() >= 10, "{}", probe.projections());
        check_cuts(newton::<Factored>(dim, 1.5, 0.02), &data, Newton::state, Newton::restore);
        check_cuts(newton::<Dense>(dim, 1.5, 0.02), &data, Newton::state, Newton::restore);
        check_cuts(
            AveragedSgd::plain(Bernoulli, dim, 90).unwrap(),
            &data,
            AveragedSgd::state,
            AveragedSgd::restore,
        );
        let restore = |state| Averaged::restore(state, Filter::restore);
        check_cuts(Averaged::new(ekf(dim)), &data, |a| a.state(Filter::state), restore);
        let restore = |state| Averaged::restore(state, Newton::restore);
        check_cuts(
            Averaged::new(newton::<Factored>(dim, 1.5, 0.02)),
            &data,
            |a| a.state(Newton::state),
            restore,
        );
    }
}

/// A refused batch, whichever row is bad, leaves the state as it was, and the error names the row.
fn check_refusal<L: Learner, S: PartialEq + std::fmt::Debug>(
    mut learner: L,
    data: &Data,
    take: impl Fn(&L) -> S,
) {
    learner.learn(data.plain()).unwrap();
    let before = take(&learner);
    for bad in [0, 3] {
        let mut x = data.x[..5 * data.dim].to_vec();
        let mut y = data.y[..5].to_vec();
        x[bad * data.dim + 1] = f64::NAN;
        let error = learner.learn(Rows::new(data.dim, &x, &y).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Feature { row, column: 1, .. } if row == bad), "{error}");
        assert_eq!(take(&learner), before);
        y[bad] = 0.5;
        let error =
            learner.learn(Rows::new(data.dim, &data.x[..5 * data.dim], &y).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Target { row, .. } if row == bad), "{error}");
        assert_eq!(take(&learner), before);
    }
    let error = learner.learn(Rows::new(1, &[1.0], &[1.0]).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Length { name: "row", .. }), "{error}");
    assert!(matches!(learner.linear(&[1.0]), Err(Error::Length { .. })));
    assert_eq!(take(&learner), before);
    learner.learn(data.plain()).unwrap();
    assert_eq!(learner.count(), 2 * data.y.len() as u64);
}

#[test]
fn refused_batches_leave_no_trace() {
    let data = Data::logistic(4, 30, 2.0, 8);
    check_refusal(newton::<Factored>(4, 1.5, 0.02), &data, Newton::state);
    check_refusal(newton::<Dense>(4, 1.5, 0.02), &data, Newton::state);
    check_refusal(AveragedSgd::new(Bernoulli, 4, 30, 0.1).unwrap(), &data, AveragedSgd::state);
    check_refusal(Averaged::new(ekf(4)), &data, |a| a.state(Filter::state));
}

#[test]
fn overflow_is_an_error_and_leaves_no_trace() {
    let x = [1.0, 0.5, 1.0, 1e90, 1.0, 1e90];
    let y = [1.0, 2.0, 3.0];
    let rows = Rows::new(2, &x, &y).unwrap();
    let settings = OnlineNewtonSettings::new(2.0, 0.1)
        .unwrap()
        .with_start(Prior::isotropic(2, 1.0).unwrap())
        .unwrap();
    let mut learner: OnlineNewtonStep<Gaussian> =
        OnlineNewtonStep::new(Gaussian::default(), 2, settings).unwrap();
    let before = learner.state();
    for rows in [rows, rows.slice(1..2)] {
        let error = learner.learn(rows).unwrap_err();
        assert!(matches!(error, Error::Diverged { row, .. } if row == rows.len() / 2), "{error}");
        assert_eq!(learner.state(), before);
    }
    let mut sgd = AveragedSgd::new(Gaussian::default(), 2, 10, 0.5).unwrap();
    let before = sgd.state();
    let many = ([1.0, 1e90].repeat(5), [2.0; 5]);
    assert!(matches!(
        sgd.learn(Rows::new(2, &many.0, &many.1).unwrap()),
        Err(Error::Diverged { .. })
    ));
    assert_eq!(sgd.state(), before);
}

#[test]
fn weights_and_offsets_are_those_of_the_loss() {
    // weight 0 teaches nothing, and an offset is what a coefficient of a constant column would add
    let x = [0.5, -0.25, 1.0];
    let y = [1.0, 0.0, 1.0];
    let rows = Rows::new(1, &x, &y).unwrap();
    let mut sgd = AveragedSgd::new(Bernoulli, 1, 10, 0.5).unwrap();
    sgd.learn(rows.with_weights(&[0.0; 3]).unwrap()).unwrap();
    assert_eq!(sgd.iterate(), [0.0]);
    let mut newton = newton::<Factored>(1, 3.0, 0.3);
    let before = newton.covariance().clone();
    newton.learn(rows.with_weights(&[0.0; 3]).unwrap()).unwrap();
    assert_eq!((&*newton.coefficients(), newton.covariance()), ([0.0].as_slice(), &before));
    sgd.learn(rows.slice(0..1).with_offsets(&[2.0]).unwrap()).unwrap();
    assert!((sgd.iterate()[0] - 0.5 * 0.5 / (1.0 + 2f64.exp())).abs() < 1e-16);
}

#[test]
fn settings_of_earlier_files_keep_their_gamma() {
    let old = r#"{"radius":2.0,"exp_concavity":0.3,"gradient_bound":null,"multiplier":1.0,
                  "diameter":false,"start":null}"#;
    let old: OnlineNewtonSettings = serde_json::from_str(old).unwrap();
    assert_eq!(old.gamma(9), 0.15);
    let bounded = r#"{"radius":2.0,"exp_concavity":0.3,"gradient_bound":4.0,"multiplier":1.0,
                      "diameter":false,"start":null}"#;
    let bounded: OnlineNewtonSettings = serde_json::from_str(bounded).unwrap();
    assert_eq!(bounded.gamma(9), 0.5 / 32.0);
    let new = OnlineNewtonSettings::new(2.0, 0.3).unwrap();
    assert_eq!(new.gamma(9), 0.5 / 24.0);
    for settings in [old, bounded, new] {
        let file = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<OnlineNewtonSettings>(&file).unwrap(), settings);
    }
}

#[test]
fn bad_parameters_and_states_are_named() {
    let parameter = |result: Result<OnlineNewtonSettings>, expected: &str| {
        assert!(
            matches!(result, Err(Error::Parameter { name, .. }) if name == expected),
            "{expected}"
        );
    };
    let good = OnlineNewtonSettings::new(2.0, 0.1).unwrap();
    parameter(OnlineNewtonSettings::new(0.0, 0.1), "radius");
    parameter(OnlineNewtonSettings::new(f64::INFINITY, 0.1), "radius");
    parameter(OnlineNewtonSettings::new(2.0, f64::NAN), "exp_concavity");
    parameter(good.clone().with_gradient_bound(-1.0), "gradient_bound");
    parameter(good.clone().with_multiplier(0.0), "multiplier");
    parameter(good.clone().with_gamma(f64::NAN), "gamma");
    parameter(
        good.clone().with_start(Prior::isotropic(1, 1.0).unwrap().with_mean(&[2.5]).unwrap()),
        "start",
    );
    let tiny = OnlineNewtonSettings::new(2.0, 1e-150).unwrap();
    let result: Result<Newton> = OnlineNewtonStep::new(Bernoulli, 2, tiny);
    assert!(matches!(result, Err(Error::Parameter { name: "exp_concavity", .. })));
    let start = good.clone().with_start(Prior::isotropic(2, 1e-160).unwrap()).unwrap();
    let result: Result<Newton> = OnlineNewtonStep::new(Bernoulli, 2, start);
    assert!(matches!(result, Err(Error::Parameter { name: "start", .. })));
    let start = good.clone().with_start(Prior::isotropic(3, 1.0).unwrap()).unwrap();
    let result: Result<Newton> = OnlineNewtonStep::new(Bernoulli, 2, start);
    assert!(matches!(result, Err(Error::Length { name: "start", expected: 2, found: 3 })));

    assert!(matches!(
        AveragedSgd::new(Bernoulli, 2, 0, 0.1),
        Err(Error::Parameter { name: "horizon", .. })
    ));
    assert!(matches!(
        AveragedSgd::new(Bernoulli, 2, 5, 0.0),
        Err(Error::Parameter { name: "step", .. })
    ));
    assert!(matches!(
        AveragedSgd::oracle(Bernoulli, 2, 5, 0.0),
        Err(Error::Parameter { name: "norm", .. })
    ));

    let state = newton::<Dense>(2, 2.0, 0.1).state();
    assert!(matches!(Newton::<Factored>::restore(state.clone()), Err(Error::State(_))));
    let short = OnlineNewtonState { precision: vec![1.0], ..state.clone() };
    assert!(matches!(
        Newton::<Dense>::restore(short),
        Err(Error::Length { name: "precision", .. })
    ));
    let outside = OnlineNewtonState { w: vec![3.0, 0.0], ..state };
    assert!(matches!(Newton::<Dense>::restore(outside), Err(Error::State(_))));
    let mut sgd = AveragedSgd::new(Bernoulli, 2, 5, 0.1).unwrap().state();
    sgd.mean[1] = f64::NAN;
    assert!(matches!(AveragedSgd::restore(sgd), Err(Error::State(_))));
}

#[test]
fn a_mean_of_any_learner_is_stored_and_resumes_bit_for_bit() {
    let data = Data::logistic(3, 60, 2.0, 5);
    let family: AnyFamily = Bernoulli.into();
    let prior = Prior::isotropic(3, 1.0).unwrap();
    let filter = Filter::new(family, AnyRule::MomentMatch, prior).unwrap();
    let mut any = AnyLearner::averaged(AnyLearner::Filter(filter.clone()));
    let mut plain = Averaged::new(filter);
    any.learn(data.plain().slice(0..40)).unwrap();
    let text = serde_json::to_string(&any.state()).unwrap();
    assert!(text.starts_with(r#"{"learner":"averaged","inner":{"learner":"filter","#), "{text}");
    let mut resumed: AnyLearner =
        AnyLearner::restore(serde_json::from_str(&text).unwrap()).unwrap();
    any.learn(data.plain().slice(40..60)).unwrap();
    resumed.learn(data.plain().slice(40..60)).unwrap();
    plain.learn(data.plain()).unwrap();
    assert_eq!(resumed.state(), any.state());
    assert_eq!(resumed.coefficients(), plain.coefficients());
    let x = [1.0, 0.5, -0.5];
    let means = [resumed.predict(&x, 0.1).unwrap().mean, plain.predict(&x, 0.1).unwrap().mean];
    assert_eq!(means[0].to_bits(), means[1].to_bits());
    assert_eq!(resumed.method(), "moment");
    assert!(resumed.standard_errors().is_none() && !resumed.has_covariance());
    assert_eq!(resumed.title(), "averaged moment");
    let refused = resumed.merge(&any).unwrap_err().to_string();
    assert!(refused.contains("method averaged moment"), "{refused}");
}

#[test]
fn a_mean_that_grew_is_the_mean_that_had_the_feature_all_along() {
    let wide = Data::logistic(3, 40, 2.0, 6);
    let filter = |dim: usize| {
        let prior = Prior::isotropic(dim, 1.0).unwrap();
        AnyLearner::Filter(Filter::new(Bernoulli, AnyRule::Ekf, prior).unwrap())
    };
    let mut x = wide.x.clone();
    x.chunks_exact_mut(3).take(20).for_each(|row| row[2] = 0.0);
    let narrow: Vec<f64> = x.chunks_exact(3).take(20).flat_map(|row| &row[..2]).copied().collect();
    let mut always = AnyLearner::averaged(filter(3));
    always.learn(Rows::new(3, &x, &wide.y).unwrap()).unwrap();
    let mut grown = AnyLearner::averaged(filter(2));
    grown.learn(Rows::new(2, &narrow, &wide.y[..20]).unwrap()).unwrap();
    let before = grown.state();
    grown.grow().unwrap();
    grown.shrink().unwrap();
    assert_eq!(grown.state(), before);
    grown.grow().unwrap();
    grown.learn(Rows::new(3, &x[60..], &wide.y[20..]).unwrap()).unwrap();
    assert!(norm(&minus(&grown.coefficients(), &always.coefficients())) < 1e-14);
    let newton = AnyLearner::Newton(newton::<Factored>(2, 1.0, 0.1));
    assert!(matches!(AnyLearner::averaged(newton).grow(), Err(Error::State(_))));
}
