//! One suite for every family, rule and covariance form, on parameters that are not the default.

use crate::common;

use common::{
    Data, Matrix, Predictor, Textbook, centered, dot, gap, near, rng, spread_matrix, teach,
};
use kalmia::covariance::Covariance;
use kalmia::learner::Merged;
use kalmia::predict::Interval;
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, Dense, Factored, Family, Filter, Learner, Predict, Prior, RowView, Rows, Rule,
    Truncated,
};
use rand::RngExt;

type Any<C> = Filter<AnyFamily, AnyRule, C>;

fn rules() -> [AnyRule; 4] {
    [
        AnyRule::Ekf,
        AnyRule::Truncated(Truncated::new(0.3, 0.2).unwrap()),
        AnyRule::Implicit,
        AnyRule::MomentMatch,
    ]
}

fn each(check: impl Fn(AnyFamily, AnyRule)) {
    for family in common::families() {
        for rule in rules() {
            check(family, rule);
        }
    }
}

fn prior(dim: usize, low: f64, high: f64) -> Prior {
    let mut rng = rng(dim as u64);
    let mean: Vec<f64> = (0..dim).map(|_| 0.2 * centered(&mut rng)).collect();
    let prior = if dim <= 40 {
        Prior::full(spread_matrix(&mut rng, dim, low, high).a, dim).unwrap()
    } else {
        Prior::diagonal((0..dim).map(|_| low * (high / low).powf(rng.random::<f64>())).collect())
            .unwrap()
    };
    prior.with_mean(&mean).unwrap()
}

fn filter<C: Covariance>(family: AnyFamily, rule: AnyRule, prior: &Prior) -> Any<C> {
    Filter::with_covariance(family, rule, prior.clone()).unwrap()
}

/// Learns in the given cuts, in turn; returns every `m` and `s`.
fn learn<C: Covariance>(
    filter: &mut Any<C>,
    rows: Rows<'_>,
    cuts: &[usize],
) -> (Vec<f64>, Vec<f64>) {
    let mut m = Vec::new();
    let mut s = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().cycle() {
        let to = (from + cut).min(rows.len());
        let mut record = |seen: &RowView<'_>| {
            m.push(seen.linear);
            s.push(seen.variance);
        };
        filter.learn_observed(rows.slice(from..to), Some(&mut record)).unwrap();
        from = to;
        if from == rows.len() {
            return (m, s);
        }
    }
    unreachable!("there is a cut")
}

/// Row by row, odd cuts, blocks and everything at once.
const CUTS: [&[usize]; 4] = [&[1], &[3, 1, 7], &[64], &[usize::MAX / 4]];

/// Both forms, in every cut, against the textbook.
fn blocks(family: AnyFamily, rule: AnyRule, dim: usize, rows: usize, prior: &Prior) {
    let data = Data::draw(&mut rng((dim + rows) as u64), &family, dim, rows);
    let mut book = Textbook::new(prior.mean().to_vec(), prior.matrix());
    let mut learn = |i: usize| {
        let rows = data.rows();
        teach(&mut book, &family, &rule, rows.x(i), &rows.observation(i), i as u64 + 1)
    };
    let expected: Vec<Predictor> = (0..rows).map(&mut learn).collect();
    compare::<Dense>(family, rule, prior, &data, &book, &expected);
    compare::<Factored>(family, rule, prior, &data, &book, &expected);
}

fn compare<C: Covariance>(
    family: AnyFamily,
    rule: AnyRule,
    prior: &Prior,
    data: &Data,
    book: &Textbook,
    expected: &[Predictor],
) {
    let dim = data.dim;
    let rows = data.y.len();
    for cuts in CUTS {
        let mut filter = filter::<C>(family, rule, prior);
        let (m, s) = learn(&mut filter, data.rows(), cuts);
        let label = format!("{} {family:?} {rule:?} d = {dim}, n = {rows}, cuts {cuts:?}", C::NAME);
        assert_eq!((m.len(), filter.count()), (rows, rows as u64), "{label}");
        for i in 0..rows {
            let expected = expected[i];
            let m_error = (m[i] - expected.m).abs() / expected.m.abs().max(1.0);
            let s_error = (s[i] - expected.s).abs();
            // near its quantile a row steps by the sign of the residual, which magnifies rounding
            let tolerance = if family.name() == "quantile" { 1e-8 } else { 1e-9 };
            assert!(m_error < tolerance, "{label}: m of row {i}, {m_error}");
            assert!(
                s_error <= 1e-9 * expected.s.max(1e-3 * prior.variance(0)),
                "{label}: s of row {i}, {s_error}"
            );
        }
        assert!(gap(&filter.coefficients(), &book.theta, 1.0) < 1e-9, "{label}: theta");
        assert!(gap(&filter.covariance().matrix(), &book.p, 0.0) < 1e-9, "{label}: P");
    }
}

#[test]
fn a_block_is_its_rows_in_small_dimensions() {
    each(|family, rule| {
        for (dim, rows) in
            [(1, 1), (1, 40), (2, 3), (3, 70), (7, 5), (8, 30), (17, 40), (33, 21), (48, 30)]
        {
            blocks(family, rule, dim, rows, &prior(dim, 0.1, 1.0));
        }
    });
}

#[test]
fn a_block_is_its_rows_where_products_do_the_work() {
    each(|family, rule| {
        for (dim, rows) in [(170, 40), (650, 50)] {
            // narrow and wide: with x'Px near 1e5 a few rows exhaust the precision of a block,
            // which then ends early
            for (low, high) in [(0.001, 0.01), (1e3, 4e3)] {
                if high > 1.0
                    && matches!(rule, AnyRule::Ekf | AnyRule::Truncated(_))
                    && family.normal_noise().is_none()
                {
                    continue; // the plain rules overshoot there: rounding decides the trajectory
                }
                blocks(family, rule, dim, rows, &prior(dim, low, high));
            }
        }
    });
}

fn weights_and_offsets<C: Covariance>(family: AnyFamily, rule: AnyRule) {
    let dim = 4;
    let data = Data::draw(&mut rng(5), &family, dim, 30);
    let prior = prior(dim, 0.1, 1.0);
    let mut a = filter::<C>(family, rule, &prior);
    a.learn(data.rows()).unwrap();
    let before = a.state();
    let nothing = vec![0.0; 30];
    a.learn(data.rows().with_weights(&nothing).unwrap()).unwrap();
    let label = format!("{} {family:?} {rule:?}: rows of weight 0", C::NAME);
    assert_eq!(
        (&a.state().theta, &a.state().covariance),
        (&before.theta, &before.covariance),
        "{label}"
    );
    // an offset is a coefficient known to be 1
    let mut known = Vec::new();
    data.x.chunks(dim).zip(&data.offset).for_each(|(x, o)| known.extend(x.iter().chain([o])));
    let mut matrix = Matrix::identity(dim + 1);
    for i in 0..dim {
        matrix.a[i * (dim + 1)..][..dim].copy_from_slice(&prior.matrix()[i * dim..][..dim]);
    }
    matrix.a[(dim + 1) * (dim + 1) - 1] = 1e-20;
    let mean: Vec<f64> = prior.mean().iter().copied().chain([1.0]).collect();
    let wide = Prior::full(matrix.a, dim + 1).unwrap().with_mean(&mean).unwrap();
    let mut b = filter::<C>(family, rule, &wide);
    let mut c = filter::<C>(family, rule, &prior);
    b.learn(Rows::new(dim + 1, &known, &data.y).unwrap().with_weights(&data.weight).unwrap())
        .unwrap();
    c.learn(data.rows()).unwrap();
    assert!(
        gap(&b.coefficients()[..dim], &c.coefficients(), 1.0) < 1e-9,
        "{} {family:?} {rule:?}: offsets",
        C::NAME
    );
}

#[test]
fn weights_of_zero_and_offsets() {
    each(weights_and_offsets::<Dense>);
    each(weights_and_offsets::<Factored>);
}

#[test]
fn gaussian_weights_are_repeats_and_offsets_are_subtracted() {
    fn check<C: Covariance>() {
        let family: AnyFamily = "gaussian:2.5".parse().unwrap();
        for rule in [AnyRule::Ekf, AnyRule::Implicit, AnyRule::MomentMatch] {
            let mut data = Data::draw(&mut rng(6), &family, 3, 25);
            data.weight = (0..25).map(|i| (i % 4) as f64).collect();
            let mut weighted = filter::<C>(family, rule, &prior(3, 0.1, 1.0));
            weighted.learn(data.rows()).unwrap();
            let mut x = Vec::new();
            let mut y = Vec::new();
            for i in 0..25 {
                for _ in 0..i % 4 {
                    x.extend_from_slice(&data.x[3 * i..][..3]);
                    y.push(data.y[i] - data.offset[i]);
                }
            }
            let mut repeated = filter::<C>(family, rule, &prior(3, 0.1, 1.0));
            repeated.learn(Rows::new(3, &x, &y).unwrap()).unwrap();
            assert!(
                gap(&weighted.coefficients(), &repeated.coefficients(), 1.0) < 1e-11,
                "{rule:?}"
            );
            assert!(
                gap(&weighted.covariance().matrix(), &repeated.covariance().matrix(), 0.0) < 1e-11,
                "{rule:?}"
            );
        }
    }
    check::<Dense>();
    check::<Factored>();
}

#[test]
fn proportions_weighted_by_trials_are_counts() {
    let counts: AnyFamily = "binomial:7".parse().unwrap();
    let shares: AnyFamily = "binomial".parse().unwrap();
    for rule in [AnyRule::Ekf, AnyRule::Implicit, AnyRule::MomentMatch] {
        let mut data = Data::draw(&mut rng(7), &counts, 3, 30);
        let mut a = filter::<Factored>(counts, rule, &prior(3, 0.1, 1.0));
        let mut b = filter::<Factored>(shares, rule, &prior(3, 0.1, 1.0));
        a.learn(data.rows()).unwrap();
        data.y.iter_mut().for_each(|y| *y /= 7.0);
        data.weight.iter_mut().for_each(|w| *w *= 7.0);
        b.learn(data.rows()).unwrap();
        assert!(gap(&a.coefficients(), &b.coefficients(), 1.0) < 1e-10, "{rule:?}");
        assert!(gap(&a.covariance().matrix(), &b.covariance().matrix(), 0.0) < 1e-10, "{rule:?}");
    }
}

#[test]
fn label_codings_are_identical() {
    fn check<C: Covariance>() {
        for rule in rules() {
            let family: AnyFamily = "bernoulli".parse().unwrap();
            let mut data = Data::draw(&mut rng(8), &family, 5, 60);
            let mut states = Vec::new();
            let truths: Vec<bool> = data.y.iter().map(|y| *y == 1.0).collect();
            for coding in [|y: bool| f64::from(y), |y: bool| if y { 1.0 } else { -1.0 }] {
                data.y = truths.iter().map(|&y| coding(y)).collect();
                let mut filter = filter::<C>(family, rule, &prior(5, 0.1, 1.0));
                filter.learn(data.rows()).unwrap();
                states.push(filter.state());
            }
            assert_eq!(states[0], states[1], "{rule:?}");
        }
    }
    check::<Dense>();
    check::<Factored>();
}

fn resumes<C: Covariance>(family: AnyFamily, rule: AnyRule) {
    for (dim, cuts) in [(5, &[9, 1, 30][..]), (170, &[20, 3, 17]), (456, &[20, 3, 17])] {
        let data = Data::draw(&mut rng(9), &family, dim, 40);
        let prior = prior(dim, 0.01, 0.1);
        let mut whole = filter::<C>(family, rule, &prior);
        let mut stopped = filter::<C>(family, rule, &prior);
        let mut from = 0;
        for cut in cuts {
            let rows = data.rows().slice(from..(from + cut).min(40));
            whole.learn(rows).unwrap();
            stopped.learn(rows).unwrap();
            let text = serde_json::to_string(&stopped.state()).unwrap();
            stopped = Any::<C>::restore(serde_json::from_str(&text).unwrap()).unwrap();
            from += cut;
        }
        assert_eq!(whole.state(), stopped.state(), "{} {family:?} {rule:?} d = {dim}", C::NAME);
    }
}

#[test]
fn a_restored_filter_continues_bit_for_bit() {
    each(resumes::<Dense>);
    each(resumes::<Factored>);
}

fn grows<C: Covariance>(family: AnyFamily, rule: AnyRule) {
    for dim in [1, 7, 8, 16, 17, 31, 32, 33, 39, 40] {
        let data = Data::draw(&mut rng(10), &family, dim, 40);
        let early = prior(dim, 0.1, 1.0);
        let mut grown = filter::<C>(family, rule, &early);
        grown.learn(data.rows().slice(0..20)).unwrap();
        grown.grow_with(0.37).unwrap();
        // the same filter with the feature from the start, zero until then
        let mut matrix = Matrix::identity(dim + 1);
        for i in 0..dim {
            matrix.a[i * (dim + 1)..][..dim].copy_from_slice(&early.matrix()[i * dim..][..dim]);
        }
        matrix.a[(dim + 1) * (dim + 1) - 1] = 0.37;
        let mean: Vec<f64> = early.mean().iter().copied().chain([0.0]).collect();
        let full = Prior::full(matrix.a, dim + 1).unwrap().with_mean(&mean).unwrap();
        let mut wide = data.clone();
        wide.dim = dim + 1;
        wide.x = (0..40)
            .flat_map(|i| {
                let last = if i < 20 { 0.0 } else { 0.5 - 0.03 * i as f64 };
                data.x[i * dim..][..dim].iter().copied().chain([last]).collect::<Vec<f64>>()
            })
            .collect();
        let mut always = filter::<C>(family, rule, &full);
        always.learn(wide.rows().slice(0..20)).unwrap();
        assert_eq!(grown.prior().matrix(), full.matrix());
        grown.learn(wide.rows().slice(20..40)).unwrap();
        always.learn(wide.rows().slice(20..40)).unwrap();
        let label = format!("{} {family:?} {rule:?} d = {dim}", C::NAME);
        assert!(gap(&grown.coefficients(), &always.coefficients(), 1.0) < 1e-12, "{label}");
        assert!(
            gap(&grown.covariance().matrix(), &always.covariance().matrix(), 0.0) < 1e-12,
            "{label}"
        );
    }
}

#[test]
fn a_grown_filter_had_the_feature_all_along() {
    each(grows::<Dense>);
    each(grows::<Factored>);
}

fn merges<C: Covariance>(family: AnyFamily, rule: AnyRule) {
    let label = format!("{} {family:?} {rule:?}", C::NAME);
    for (dim, rows) in [(1, 20), (4, 60), (20, 30)] {
        let prior = prior(dim, 0.1, 1.0);
        let data = Data::draw(&mut rng(11), &family, dim, rows);
        let [mut a, mut b, mut all] = [(); 3].map(|_| filter::<C>(family, rule, &prior));
        let empty = all.clone();
        a.learn(data.rows().slice(0..rows / 3)).unwrap();
        b.learn(data.rows().slice(rows / 3..rows)).unwrap();
        all.learn(data.rows()).unwrap();
        let same = a.merge(&empty).unwrap().into_inner();
        assert!(
            gap(&same.coefficients(), &a.coefficients(), 1.0) < 1e-9,
            "{label}: with an empty one"
        );
        assert!(
            gap(&same.covariance().matrix(), &a.covariance().matrix(), 0.0) < 1e-9,
            "{label}: with an empty one"
        );
        let merged = a.merge(&b).unwrap();
        let gaussian = family.normal_noise().is_some();
        // a floor under the curvature depends on the row number, so even the quadratic loss is not
        // merged exactly
        let exact = gaussian && !matches!(rule, AnyRule::Truncated(_));
        assert_eq!(matches!(merged, Merged::Exact(_)), exact, "{label}: what the type says");
        let merged = merged.into_inner();
        assert_eq!(merged.count(), rows as u64);
        if exact {
            assert!(gap(&merged.coefficients(), &all.coefficients(), 1.0) < 1e-9, "{label}: theta");
            assert!(
                gap(&merged.covariance().matrix(), &all.covariance().matrix(), 0.0) < 1e-9,
                "{label}: P"
            );
        } else {
            // natural parameters add, the prior counted once
            let natural = |f: &Any<C>| Matrix::new(f.covariance().matrix()).inverse();
            let start = Matrix::new(prior.matrix()).inverse();
            let sum: Vec<f64> = natural(&a)
                .a
                .iter()
                .zip(&natural(&b).a)
                .zip(&start.a)
                .map(|((a, b), s)| a + b - s)
                .collect();
            assert!(gap(&natural(&merged).a, &sum, 0.0) < 1e-9, "{label}: precision");
            let part = |f: &Any<C>| natural(f).times(&f.coefficients());
            let first = start.times(prior.mean());
            let eta: Vec<f64> =
                part(&a).iter().zip(part(&b)).zip(&first).map(|((a, b), s)| a + b - s).collect();
            assert!(gap(&part(&merged), &eta, 1.0) < 1e-9, "{label}: precision times theta");
        }
    }
}

#[test]
fn merging_is_exact_where_the_type_says_so() {
    each(merges::<Dense>);
    each(merges::<Factored>);
}

fn predicts<C: Covariance>(family: AnyFamily, rule: AnyRule) {
    let dim = 6;
    let data = Data::draw(&mut rng(12), &family, dim, 80);
    let mut filter = filter::<C>(family, rule, &prior(dim, 0.1, 1.0));
    filter.learn(data.rows()).unwrap();
    let errors = filter.standard_errors().unwrap();
    let p = Matrix::new(filter.covariance().matrix());
    (0..dim).for_each(|j| near(errors[j] * errors[j], p.at(j, j), 1e-12, 0.0));
    for i in 0..5 {
        let x = data.rows().x(i);
        let offset = 0.2;
        let prediction = filter.predict(x, offset).unwrap();
        near(prediction.linear, dot(&filter.coefficients(), x) + offset, 1e-12, 1.0);
        near(prediction.linear_variance, p.quadratic(x), 1e-11, 1e-6);
        near(prediction.plug_in, family.mean(prediction.linear), 1e-14, 0.0);
        let Interval { lower: low, upper: high } = prediction.interval(0.9).unwrap();
        let held = prediction.cdf(high)
            - if family.discrete() { prediction.cdf(low - 1.0) } else { prediction.cdf(low) };
        assert!(
            held >= 0.9 - 1e-8 && (family.discrete() || held <= 0.9 + 1e-8),
            "{family:?}: {low} to {high} holds {held}"
        );
        let step = rule.step(
            &family,
            &data.rows().observation(i),
            prediction.linear,
            prediction.linear_variance,
            81,
        );
        assert!(step.curvature >= 0.0 && step.gain.is_finite());
        assert!(
            prediction.log_density(data.y[i]).is_finite() || family.canonical(data.y[i]).is_none()
        );
    }
}

#[test]
fn predictions_are_those_of_the_belief() {
    each(predicts::<Dense>);
    each(predicts::<Factored>);
}
