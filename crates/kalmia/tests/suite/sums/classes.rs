//! Sums of several classes against plain loops and finite differences, and the polish of a learner
//! against Newton's method of the test.

use super::{dot, gap, near, rng, uniform};
use crate::common::{Matrix, Rng, centered};
use kalmia::sums::{ClassSums, ClassSumsState, Next, Polish, PriorPrecision, Sums, polish_classes};
use kalmia::{Bernoulli, Categorical, DriftMode, Error, Rows};

/// Rows of a constant and `dim - 1` features with weights, of a true softmax of `classes` classes.
pub struct Draw {
    pub dim: usize,
    pub classes: usize,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub weight: Vec<f64>,
}

impl Draw {
    pub fn new(classes: usize, dim: usize, rows: usize, seed: u64) -> Self {
        let mut rng = rng(seed);
        let size = classes * dim;
        let truth: Vec<f64> = (0..size).map(|_| 2.0 * centered(&mut rng)).collect();
        let mut draw = Self { dim, classes, x: Vec::new(), y: Vec::new(), weight: Vec::new() };
        for _ in 0..rows {
            let mut x: Vec<f64> = (0..dim).map(|_| 2.0 * centered(&mut rng)).collect();
            x[0] = 1.0;
            let linear: Vec<f64> = truth.chunks(dim).map(|theta| dot(theta, &x)).collect();
            draw.y.push(drawn(&linear, &mut rng));
            draw.x.extend(x);
            draw.weight.push(0.25 + uniform(&mut rng));
        }
        draw
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows::new(self.dim, &self.x, &self.y).unwrap()
    }

    pub fn weighted(&self) -> Rows<'_> {
        self.rows().with_weights(&self.weight).unwrap()
    }

    pub fn part(&self, k: usize, parts: usize) -> Rows<'_> {
        let n = self.y.len();
        self.rows().slice(k * n / parts..(k + 1) * n / parts)
    }

    fn theta(&self, seed: u64) -> Vec<f64> {
        let mut rng = rng(seed);
        (0..(self.classes - 1) * self.dim).map(|_| centered(&mut rng)).collect()
    }
}

fn drawn(linear: &[f64], rng: &mut Rng) -> f64 {
    let top = linear.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = linear.iter().map(|u| (u - top).exp()).collect();
    let mut left = uniform(rng) * shares.iter().sum::<f64>();
    let last = shares.len() - 1;
    shares[..last]
        .iter()
        .take_while(|share| {
            left -= **share;
            left >= 0.0
        })
        .count() as f64
}

/// Probabilities of all classes, given coefficients against class 0.
fn chances(theta: &[f64], x: &[f64]) -> Vec<f64> {
    let linear = theta.chunks(x.len()).map(|theta| dot(theta, x));
    let linear: Vec<f64> = std::iter::once(0.0).chain(linear).collect();
    let top = linear.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = linear.iter().map(|u| (u - top).exp()).sum();
    linear.iter().map(|u| (u - top).exp() / total).collect()
}

/// Gradient, information, squared scores and deviance by plain loops.
pub struct Plain {
    pub gradient: Vec<f64>,
    pub information: Vec<f64>,
    scores: Vec<f64>,
    pub deviance: f64,
}

pub fn plain(theta: &[f64], rows: Rows<'_>) -> Plain {
    let dim = rows.dim();
    let size = theta.len();
    let mut sums = Plain {
        gradient: vec![0.0; size],
        information: vec![0.0; size * size],
        scores: vec![0.0; size * size],
        deviance: 0.0,
    };
    for i in 0..rows.len() {
        let x = rows.x(i);
        let row = rows.observation(i);
        let p = chances(theta, x);
        let y = |k: usize| f64::from(row.y as usize == k);
        sums.deviance -= 2.0 * row.weight * p[row.y as usize].ln();
        for a in 0..size {
            let k = 1 + a / dim;
            let slope = row.weight * (p[k] - y(k)) * x[a % dim];
            sums.gradient[a] += slope;
            for b in 0..size {
                let l = 1 + b / dim;
                let same = if k == l { 1.0 } else { 0.0 };
                let product = x[a % dim] * x[b % dim];
                sums.information[a * size + b] += row.weight * p[k] * (same - p[l]) * product;
                sums.scores[a * size + b] += slope * row.weight * (p[l] - y(l)) * x[b % dim];
            }
        }
    }
    sums
}

fn summed(draw: &Draw, theta: &[f64], rows: Rows<'_>) -> ClassSums {
    let mut sums = ClassSums::new(draw.classes, theta).unwrap().with_scores().unwrap();
    sums.add(rows).unwrap();
    sums
}

/// The largest difference relative to the largest number of each kind.
fn difference(a: &ClassSums, b: &ClassSums) -> f64 {
    let relative = |a: Vec<f64>, b: Vec<f64>| {
        let size = b.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        a.iter()
            .zip(&b)
            .map(|(a, b)| (a - b).abs() / size)
            .fold(0.0, |most: f64, v| if v > most || v.is_nan() { v } else { most })
    };
    assert_eq!(a.rows(), b.rows());
    [
        relative(a.gradient(), b.gradient()),
        relative(a.information(), b.information()),
        relative(a.squared_scores().unwrap(), b.squared_scores().unwrap()),
        relative(vec![a.deviance(), a.weight()], vec![b.deviance(), b.weight()]),
    ]
    .into_iter()
    .fold(0.0, |most: f64, v| if v > most || v.is_nan() { v } else { most })
}

#[test]
fn sums_of_classes_are_those_of_a_plain_loop() {
    for (classes, dim, rows) in [(2, 1, 1), (2, 5, 300), (3, 4, 1000), (7, 3, 500), (40, 2, 400)] {
        let draw = Draw::new(classes, dim, rows, 11);
        let theta = draw.theta(12);
        let expected = plain(&theta, draw.weighted());
        let sums = summed(&draw, &theta, draw.weighted());
        let size = expected.information.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        assert!(gap(&sums.gradient(), &expected.gradient, size) < 1e-13);
        assert!(gap(&sums.information(), &expected.information, size) < 1e-13);
        assert!(gap(&sums.squared_scores().unwrap(), &expected.scores, size) < 1e-13);
        near(sums.deviance(), expected.deviance, 1e-13, expected.deviance);
        near(sums.weight(), draw.weight.iter().sum(), 1e-14, sums.weight());
    }
}

#[test]
fn sums_of_classes_are_derivatives_of_the_deviance() {
    let draw = Draw::new(4, 3, 200, 21);
    let theta = draw.theta(22);
    let sums = summed(&draw, &theta, draw.weighted());
    let h = 1e-5;
    for a in 0..theta.len() {
        let at = |step: f64| {
            let mut moved = theta.clone();
            moved[a] += step;
            summed(&draw, &moved, draw.weighted())
        };
        let (up, down) = (at(h), at(-h));
        let slope = (up.deviance() - down.deviance()) / (4.0 * h);
        near(sums.gradient()[a], slope, 1e-7, 100.0);
        let curvature: Vec<f64> =
            up.gradient().iter().zip(down.gradient()).map(|(u, d)| (u - d) / (2.0 * h)).collect();
        let row = &sums.information()[a * theta.len()..][..theta.len()];
        assert!(gap(row, &curvature, 100.0) < 1e-8);
    }
}

#[test]
fn any_split_has_the_same_sums_of_classes() {
    let draw = Draw::new(5, 6, 9000, 31);
    let theta = draw.theta(32);
    let whole = summed(&draw, &theta, draw.weighted());
    for parts in [2, 7, 128] {
        let n = draw.y.len();
        let part = |k: usize| {
            let rows = draw.weighted().slice(k * n / parts..(k + 1) * n / parts);
            // through bytes, as workers send them
            let text = serde_json::to_string(&summed(&draw, &theta, rows).state()).unwrap();
            let state: ClassSumsState = serde_json::from_str(&text).unwrap();
            ClassSums::restore(state).unwrap()
        };
        let mut forwards = part(0);
        (1..parts).for_each(|k| assert!(forwards.merge(&part(k)).unwrap().is_exact()));
        let mut backwards = part(parts - 1);
        (0..parts - 1).rev().for_each(|k| assert!(backwards.merge(&part(k)).unwrap().is_exact()));
        assert!(difference(&forwards, &whole) < 1e-12);
        assert!(difference(&backwards, &whole) < 1e-12);
    }
    for threads in [1, 3, 8] {
        let empty = ClassSums::new(5, &theta).unwrap().with_scores().unwrap();
        let mut sums = empty.with_threads(threads);
        sums.add(draw.weighted()).unwrap();
        assert!(difference(&sums, &whole) < 1e-12, "{threads} threads");
        let mut piecewise = ClassSums::new(5, &theta).unwrap().with_scores().unwrap();
        (0..9000).step_by(61).for_each(|first| {
            piecewise.add(draw.weighted().slice(first..9000.min(first + 61))).unwrap()
        });
        assert!(difference(&piecewise, &whole) < 1e-12);
    }
}

#[test]
fn nearly_certain_classes_keep_their_information() {
    // u = 40: the class has probability 1 - e^-40, and the information is e^-40
    let mut sums = ClassSums::new(3, &[40.0, -1.0]).unwrap();
    sums.add(Rows::new(1, &[1.0, 1.0], &[1.0, 0.0]).unwrap()).unwrap();
    let p = [(-40_f64).exp(), (-41_f64).exp()];
    let information = sums.information();
    near(information[0], 2.0 * (p[0] + p[1]), 1e-13, p[0]);
    near(information[3], 2.0 * p[1], 1e-13, p[1]);
    near(information[1], -2.0 * p[1], 1e-13, p[1]);
    near(sums.deviance(), 80.0 + 4.0 * (p[0] + p[1]), 1e-15, 80.0);
    near(sums.gradient()[0], 1.0 - 2.0 * (p[0] + p[1]), 1e-15, 1.0);
}

#[test]
fn two_classes_have_the_sums_of_labels() {
    let draw = Draw::new(2, 4, 700, 41);
    let theta = draw.theta(42);
    let classes = summed(&draw, &theta, draw.weighted());
    let mut labels = Sums::new(Bernoulli, &theta).unwrap().with_scores().unwrap();
    labels.add(draw.weighted()).unwrap();
    assert!(gap(&classes.gradient(), &labels.gradient(), 100.0) < 1e-13);
    assert!(gap(&classes.information(), &labels.information(), 100.0) < 1e-13);
    let scores = [classes.squared_scores().unwrap(), labels.squared_scores().unwrap()];
    assert!(gap(&scores[0], &scores[1], 100.0) < 1e-13);
    near(classes.deviance(), labels.deviance(), 1e-13, labels.deviance());
}

/// Newton's method with plain loops and a plain inverse: coefficients and covariance.
fn newton(precision: &[f64], classes: usize, rows: Rows<'_>) -> (Vec<f64>, Matrix) {
    let size = (classes - 1) * rows.dim();
    let mut theta = vec![0.0; size];
    loop {
        let sums = plain(&theta, rows);
        let total = sums.information.iter().zip(precision).map(|(i, l)| i + l).collect();
        let inverse = Matrix::new(total).inverse();
        let pull = Matrix::new(precision.to_vec()).times(&theta);
        let slope: Vec<f64> = sums.gradient.iter().zip(pull).map(|(g, p)| g + p).collect();
        let step = inverse.times(&slope);
        theta.iter_mut().zip(&step).for_each(|(t, s)| *t -= s);
        if step.iter().all(|s| s.abs() < 1e-13) {
            return (theta, inverse);
        }
    }
}

/// A learner after Newton's method over these rows.
pub fn polished(learner: Categorical, prior: PriorPrecision, rows: Rows<'_>) -> Categorical {
    let mut driver = Polish::new(prior).with_tolerance(1e-9).unwrap();
    let mut theta = learner.coefficients_against_first();
    loop {
        let mut sums = ClassSums::new(learner.classes(), &theta).unwrap();
        sums.add(rows).unwrap();
        match driver.step_classes(&sums).unwrap() {
            Next::Again(next) => theta = next,
            Next::Done(fit) => return learner.with_polished(&fit).unwrap(),
        }
    }
}

pub fn learned(draw: &Draw, rows: Rows<'_>, drift: DriftMode) -> Categorical {
    let builder = Categorical::builder(draw.classes, draw.dim).intercept().drift(drift);
    let mut learner = builder.build().unwrap();
    learner.learn(rows).unwrap();
    learner
}

#[test]
fn a_polish_is_newtons_method() {
    let draw = Draw::new(4, 3, 900, 51);
    let learner = learned(&draw, draw.weighted(), DriftMode::Off);
    let fitted = learner.polishing_prior().unwrap();
    for prior in [PriorPrecision::flat(9), fitted] {
        let (theta, inverse) = newton(prior.matrix(), 4, draw.weighted());
        let polished = polished(learner.clone(), prior, draw.weighted());
        assert!(gap(&polished.coefficients_against_first(), &theta, 1.0) < 1e-8);
        // each difference has the covariance of the joint information
        for (class, reference) in [(1, 0), (3, 0), (2, 1), (0, 3), (2, 2)] {
            let contrast = polished.contrast(class, reference).unwrap();
            for (at, found) in contrast.covariance.iter().enumerate() {
                let sign = |k: usize| f64::from(k == class) - f64::from(k == reference);
                let mut expected = 0.0;
                for k in 1..4 {
                    for l in 1..4 {
                        let entry = inverse.at((k - 1) * 3 + at / 3, (l - 1) * 3 + at % 3);
                        expected += sign(k) * sign(l) * entry;
                    }
                }
                near(*found, expected, 1e-8, 0.1);
            }
        }
    }
}

#[test]
fn contrasts_of_several_classes_are_those_of_each_and_between_them() {
    let draw = Draw::new(4, 3, 600, 53);
    let learner = learned(&draw, draw.rows(), DriftMode::Off);
    let prior = learner.polishing_prior().unwrap();
    let joint = polished(learner.clone(), prior, draw.rows());
    for learner in [learner, joint] {
        let all = learner.contrasts(&[3, 1], 2).unwrap();
        let covariance = Matrix::new(all.covariance);
        for (k, class) in [3, 1].into_iter().enumerate() {
            let one = learner.contrast(class, 2).unwrap();
            assert_eq!(one.coefficients, all.coefficients[3 * k..][..3]);
            for (at, entry) in one.covariance.iter().enumerate() {
                near(*entry, covariance.at(3 * k + at / 3, 3 * k + at % 3), 1e-13, 1.0);
            }
        }
        // the variance of 3 against 1 follows from both
        let direct = learner.contrast(3, 1).unwrap();
        for j in 0..3 {
            let difference = covariance.at(j, j) + covariance.at(3 + j, 3 + j)
                - covariance.at(j, 3 + j)
                - covariance.at(3 + j, j);
            near(direct.covariance[j * 3 + j], difference, 1e-12, 1.0);
        }
    }
}

#[test]
fn the_prior_of_differences_is_that_of_independent_classes() {
    let draw = Draw::new(3, 2, 400, 52);
    let learner = learned(&draw, draw.rows(), DriftMode::Off);
    let prior = learner.polishing_prior().unwrap();
    // independent classes of covariance V: differences have V(1 + [k = l])
    let covariance = Matrix::new(prior.matrix().to_vec()).inverse();
    for i in 0..2 {
        for j in 0..2 {
            let size = covariance.at(0, 0);
            near(covariance.at(i, j), covariance.at(2 + i, 2 + j), 1e-10, size);
            near(covariance.at(i, j), 2.0 * covariance.at(i, 2 + j), 1e-10, size);
        }
    }
}

#[test]
fn a_second_polish_moves_nothing() {
    let draw = Draw::new(3, 4, 500, 61);
    let learner = learned(&draw, draw.rows(), DriftMode::Detect);
    let once = polished(learner.clone(), learner.polishing_prior().unwrap(), draw.rows());
    let again = polished(once.clone(), once.polishing_prior().unwrap(), draw.rows());
    let moved = gap(&again.coefficients_against_first(), &once.coefficients_against_first(), 1.0);
    assert!(moved < 1e-10, "{moved}");
    assert_eq!(once.weights().len(), 1);
    assert_eq!(once.count(), 500);
}

#[test]
fn a_polished_learner_goes_on() {
    let draw = Draw::new(3, 4, 1500, 71);
    let rows = draw.rows();
    let learner = learned(&draw, rows.slice(0..1000), DriftMode::Detect);
    let prior = learner.polishing_prior().unwrap();
    let mut polished = polished(learner.clone(), prior, rows.slice(0..1000));
    // stored and restored, it is the same
    let text = serde_json::to_string(&polished.state()).unwrap();
    let mut restored = Categorical::restore(serde_json::from_str(&text).unwrap()).unwrap();
    let errors = |learner: &Categorical| learner.contrast(2, 1).unwrap().standard_errors();
    assert_eq!(errors(&restored), errors(&polished));
    polished.learn(rows.slice(1000..1500)).unwrap();
    restored.learn(rows.slice(1000..1500)).unwrap();
    assert_eq!(restored.state(), polished.state());
    // close to one that learned all rows in turn
    let one = learned(&draw, rows, DriftMode::Detect);
    let x = [1.0, 0.3, -0.5, 0.9];
    let (found, expected) = (polished.predict(&x).unwrap(), one.predict(&x).unwrap());
    assert!(gap(&found, &expected, 1.0) < 0.02, "{found:?} {expected:?}");
    let (found, expected) = (errors(&polished), errors(&one));
    assert!(gap(&found, &expected, 0.1) < 0.3, "{found:?} {expected:?}");
    // it grows
    polished.grow().unwrap();
    polished.grow_class().unwrap();
    let x = [1.0, 0.1, 0.2, 0.3, 1.0];
    polished.learn(Rows::new(5, &x, &[3.0]).unwrap()).unwrap();
    assert_eq!((polished.classes(), polished.dim(), polished.count()), (4, 5, 1501));
    near(polished.predict(&x).unwrap().iter().sum(), 1.0, 1e-12, 1.0);
}

#[test]
fn draws_of_a_polished_learner_have_the_joint_covariance() {
    let draw = Draw::new(3, 2, 300, 81);
    let learner = learned(&draw, draw.rows(), DriftMode::Off);
    let prior = learner.polishing_prior().unwrap();
    let learner = polished(learner, prior, draw.rows());
    let draws = learner.sample_coefficients(20_000, &mut rng(82)).unwrap();
    let contrast = learner.contrast(2, 1).unwrap();
    for j in 0..2 {
        let values: Vec<f64> = draws.iter().map(|draw| draw[4 + j] - draw[2 + j]).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 20_000.0;
        let expected = contrast.covariance[j * 2 + j];
        near(mean, contrast.coefficients[j], 0.05, expected.sqrt());
        near(variance, expected, 0.05, expected);
    }
}

#[test]
fn a_refused_call_changes_no_sums() {
    let draw = Draw::new(3, 2, 50, 91);
    let theta = draw.theta(92);
    let before = summed(&draw, &theta, draw.rows());
    let mut sums = before.clone();
    let x = [1.0, 2.0, 1.0, 3.0];
    assert!(matches!(
        sums.add(Rows::new(2, &x, &[0.0, 3.0]).unwrap()),
        Err(Error::Target { row: 1, .. })
    ));
    assert!(sums.add(Rows::new(2, &[1.0, f64::NAN, 1.0, 0.0], &[0.0, 1.0]).unwrap()).is_err());
    assert!(sums.add(Rows::new(4, &x, &[0.0]).unwrap()).is_err());
    let offset = Rows::new(2, &x, &[0.0, 1.0]).unwrap().with_offsets(&[0.0, 1.0]).unwrap();
    assert!(matches!(sums.add(offset), Err(Error::RowExtra { row: 1, .. })));
    let huge = Rows::new(2, &[1.0, 1e100, 1.0, 2.0], &[0.0, 1.0]).unwrap();
    let huge = huge.with_weights(&[1.0, 1e30]).unwrap();
    assert!(matches!(sums.add(huge), Err(Error::Overflow { row: 1, .. })));
    let other = summed(&draw, &draw.theta(93), draw.rows());
    assert!(sums.merge(&other).is_err());
    assert!(sums.merge(&ClassSums::new(3, &theta).unwrap()).is_err());
    assert!(sums.merge(&ClassSums::new(5, &theta).unwrap()).is_err());
    assert_eq!(sums.state(), before.state());
}

#[test]
fn what_cannot_be_polished_is_refused() {
    let too_many = ClassSums::new(101, &vec![0.0; 100 * 61]).unwrap_err().to_string();
    assert!(too_many.contains("6100") && too_many.contains("6000"), "{too_many}");
    assert!(ClassSums::new(1, &[]).is_err());
    assert!(ClassSums::new(3, &[0.0; 3]).is_err());
    let one = Categorical::builder(1, 2).build().unwrap();
    assert!(one.polishing_prior().is_err());
    let adapting = Categorical::builder(3, 2).drift(DriftMode::Adapt).build().unwrap();
    assert!(adapting.polishing_prior().unwrap_err().to_string().contains("drift"));
    // a class without rows has no maximum
    let draw = Draw::new(3, 2, 100, 94);
    let mut newton = Polish::new(PriorPrecision::flat(6));
    let mut theta = vec![0.0; 6];
    let error = loop {
        let mut sums = ClassSums::new(4, &theta).unwrap();
        sums.add(draw.rows()).unwrap();
        match newton.step_classes(&sums) {
            Ok(Next::Again(next)) => theta = next,
            Ok(Next::Done(_)) => panic!("no maximum"),
            Err(error) => break error,
        }
    };
    let expected = matches!(
        error,
        Error::Separated { .. } | Error::NotConverged { .. } | Error::Undetermined { .. }
    );
    assert!(expected, "{error}");
    // the wrong number of coefficients
    let mut sums = ClassSums::new(3, &draw.theta(95)).unwrap();
    sums.add(draw.rows()).unwrap();
    let fit = polish_classes(&PriorPrecision::flat(4), &sums).unwrap();
    assert!(Categorical::builder(4, 2).build().unwrap().with_polished(&fit).is_err());
}
