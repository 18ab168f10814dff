//! How good the estimates and the predictions are, beside a batch fit and other learners.

use super::data::{CUTS, Rows3, SLOPES, losses, mean};
use crate::common::{Matrix, rng};
use kalmia::learner::ClassRow;
use kalmia::{Auto, Bernoulli, Categorical, Ordinal, Predict, Rows};
use kalmia::{Learner, RowView};

/// The batch maximum likelihood fit of proportional odds, by Newton's method from `start`: the
/// slopes, then the cutpoints.
struct BatchFit {
    values: Vec<f64>,
    errors: Vec<f64>,
}

impl BatchFit {
    fn new(data: &Rows3, start: &[f64]) -> Self {
        let mut values = start.to_vec();
        let mut errors = Vec::new();
        for _ in 0..8 {
            let (gradient, information) = derivatives(data, &values);
            let inverse = Matrix::new(information).inverse();
            for (i, value) in values.iter_mut().enumerate() {
                let row = &inverse.a[i * gradient.len()..][..gradient.len()];
                *value += row.iter().zip(&gradient).map(|(a, b)| a * b).sum::<f64>();
            }
            errors = (0..values.len()).map(|i| inverse.a[i * (values.len() + 1)].sqrt()).collect();
        }
        let (gradient, _) = derivatives(data, &values);
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
        Self { values, errors }
    }
}

/// Gradient of the log likelihood and minus its second derivatives.
fn derivatives(data: &Rows3, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = values.len();
    let (slopes, cuts) = values.split_at(3);
    let mut gradient = vec![0.0; size];
    let mut information = vec![0.0; size * size];
    let sigma = |v: f64| 1.0 / (1.0 + (-v).exp());
    for (x, &y) in data.x.chunks_exact(3).zip(&data.y) {
        let level = y as usize;
        let linear: f64 = x.iter().zip(slopes).map(|(x, slope)| x * slope).sum();
        // distribution function, density and its slope at a cutpoint
        let at = |cut: Option<usize>, end: f64| match cut {
            None => (end, 0.0, 0.0),
            Some(cut) => {
                let p = sigma(cuts[cut] - linear);
                (p, p * (1.0 - p), p * (1.0 - p) * (1.0 - 2.0 * p))
            }
        };
        let upper = (level < cuts.len()).then_some(level);
        let lower = level.checked_sub(1);
        let (p1, d1, e1) = at(upper, 1.0);
        let (p0, d0, e0) = at(lower, 0.0);
        let p = p1 - p0;
        // derivatives of the two arguments, and those of the probability
        let direction = |cut: Option<usize>| {
            let mut row = vec![0.0; size];
            row[..3].iter_mut().zip(x).for_each(|(row, x)| *row = -x);
            if let Some(cut) = cut {
                row[3 + cut] = 1.0;
            }
            row
        };
        let (a1, a0) = (direction(upper), direction(lower));
        let first: Vec<f64> = a1.iter().zip(&a0).map(|(a, b)| (d1 * a - d0 * b) / p).collect();
        for i in 0..size {
            gradient[i] += first[i];
            for j in 0..size {
                let second = (e1 * a1[i] * a1[j] - e0 * a0[i] * a0[j]) / p;
                information[i * size + j] += first[i] * first[j] - second;
            }
        }
    }
    (gradient, information)
}

fn values(learner: &Ordinal) -> Vec<f64> {
    let estimate = learner.estimate();
    [estimate.coefficients(), estimate.cutpoints()].concat()
}

fn errors(learner: &Ordinal) -> Vec<f64> {
    let estimate = learner.estimate();
    [estimate.coefficient_errors(), estimate.cutpoint_errors()].concat()
}

#[test]
fn one_pass_is_close_to_the_batch_fit() {
    for (seed, cuts) in [(1, &CUTS[..]), (2, &[1.0, 2.5, 4.0, 4.5]), (3, &[-0.1, 0.1])] {
        let data = Rows3::draw(&mut rng(seed), SLOPES, cuts, 3000);
        let mut learner = Ordinal::builder(cuts.len() + 1, 3).build().unwrap();
        learner.learn(data.rows()).unwrap();
        let found = values(&learner);
        let found_errors = errors(&learner);
        let batch = BatchFit::new(&data, &found);
        let mut worst: f64 = 0.0;
        for (i, value) in batch.values.iter().enumerate() {
            let distance = (found[i] - value).abs() / batch.errors[i];
            let ratio = found_errors[i] / batch.errors[i];
            assert!(distance < 0.4, "{cuts:?}, {i}: {distance} standard errors");
            assert!((ratio - 1.0).abs() < 0.08, "{cuts:?}, {i}: {ratio}");
            worst = worst.max(distance);
        }
        println!("{cuts:?}: at most {worst:.3} standard errors from the batch fit");
    }
}

/// Intervals of slopes and cutpoints hold the truth as often as they say.
#[test]
fn intervals_of_coefficients_and_cutpoints_hold() {
    let truth = [&SLOPES[..], &CUTS].concat();
    let sets = 120;
    let mut inside = vec![0; truth.len()];
    for seed in 0..sets {
        let data = Rows3::five(&mut rng(100 + seed), 400);
        let mut learner = Ordinal::builder(5, 3).build().unwrap();
        learner.learn(data.rows()).unwrap();
        for (i, (value, error)) in values(&learner).iter().zip(errors(&learner)).enumerate() {
            inside[i] += usize::from((value - truth[i]).abs() < 1.6449 * error);
        }
    }
    for (i, inside) in inside.into_iter().enumerate() {
        // 90 % with four standard errors of a share
        let share = inside as f64 / sets as f64;
        assert!((share - 0.9).abs() < 0.11, "{i}: {share}");
    }
}

/// The progressive loss of the sequential logit model of docs/survival.md: a row per level that
/// was reached, with an indicator of each step.
fn sequential_loss(data: &Rows3, levels: usize) -> f64 {
    let steps = levels - 1;
    let dim = steps + 3;
    let mut learner = Auto::builder(Bernoulli, dim).intercept().build().unwrap();
    let mut total = 0.0;
    for (x, &y) in data.x.chunks_exact(3).zip(&data.y) {
        let level = y as usize;
        let mut design = Vec::new();
        let mut labels = Vec::new();
        for step in 0..=level.min(steps - 1) {
            let mut row = vec![0.0; dim];
            row[0] = 1.0;
            if step > 0 {
                row[step] = 1.0;
            }
            row[steps..].copy_from_slice(x);
            // all steps of a row are predicted before it is learned
            let chance = learner.predict(&row, 0.0).unwrap().mean;
            total -= if level > step { chance.ln() } else { (1.0 - chance).ln() };
            design.extend(row);
            labels.push(f64::from(level > step));
        }
        learner.learn_observed(Rows::new(dim, &design, &labels).unwrap(), None).unwrap();
    }
    total / data.y.len() as f64
}

fn categorical_loss(data: &Rows3, levels: usize) -> f64 {
    let mut learner = Categorical::builder(levels, 4).intercept().build().unwrap();
    let mut found = Vec::new();
    let x = data.with_constant();
    let rows = Rows::new(4, &x, &data.y).unwrap();
    learner.learn_observed(rows, Some(&mut |row: &ClassRow<'_>| found.push(row.loss))).unwrap();
    mean(&found)
}

/// On rows of its own model it predicts better than learners that know less.
#[test]
fn it_predicts_better_than_classes_without_an_order_and_sequential_logits() {
    for (cuts, slopes) in [
        (&CUTS[..], SLOPES),
        (&[1.0, 2.5, 4.0, 4.5], SLOPES),
        (&[-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0], [1.5, -1.0, 0.5]),
        (&[-0.5, 0.5], [2.0, -1.0, 0.0]),
    ] {
        let levels = cuts.len() + 1;
        let mut sums = [0.0; 3];
        for seed in 0..5 {
            let data = Rows3::draw(&mut rng(20 + seed), slopes, cuts, 1000);
            let mut learner = Ordinal::builder(levels, 3).build().unwrap();
            sums[0] += mean(&losses(&mut learner, data.rows())) / 5.0;
            sums[1] += categorical_loss(&data, levels) / 5.0;
            sums[2] += sequential_loss(&data, levels) / 5.0;
        }
        let [own, classes, sequential] = sums;
        println!("{levels} levels: {own:.4}, classes {classes:.4}, sequential {sequential:.4}");
        assert!(own < classes && own < sequential, "{cuts:?}: {sums:?}");
    }
}

#[test]
fn two_levels_are_the_default_learner_of_labels() {
    let data = Rows3::draw(&mut rng(5), SLOPES, &[0.7], 700);
    let x = data.with_constant();
    let mut two = Ordinal::builder(2, 3).build().unwrap();
    let mut auto = Auto::builder(Bernoulli, 4).intercept().build().unwrap();
    let mut chances = Vec::new();
    let mut means = Vec::new();
    two.learn_observed(
        data.rows(),
        Some(&mut |row: &ClassRow<'_>| chances.push(row.probabilities[1])),
    )
    .unwrap();
    let rows = Rows::new(4, &x, &data.y).unwrap();
    auto.learn_observed(rows, Some(&mut |row: &RowView<'_>| means.push(row.mean))).unwrap();
    super::assert_close(&chances, &means, 1e-8, "probabilities");
    let coefficients = auto.coefficients();
    let expected = [&coefficients[1..], &[-coefficients[0]]].concat();
    super::assert_close(&values(&two), &expected, 1e-7, "coefficients");
    let mut expected = auto.standard_errors().unwrap();
    expected.rotate_left(1);
    super::assert_close(&errors(&two), &expected, 1e-7, "standard errors");
}
