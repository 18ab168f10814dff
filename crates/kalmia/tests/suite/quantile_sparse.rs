//! Quantiles and Student's noise from sparse rows, against tuned stochastic gradients.

use crate::common::{normal, rng, uniform};
use kalmia::evaluate::Progressive;
use kalmia::{AnyFamily, Learner, Quantile, SparseMatrix, SparseRows, Wide};
use rand_distr::{Distribution, Exp1};

/// Rows of a constant and about 20 of 20 000 words, the frequent ones more often, with skewed
/// noise.
struct Words {
    starts: Vec<usize>,
    indices: Vec<u32>,
    y: Vec<f64>,
}

const VOCABULARY: f64 = 20_000.0;

fn words(n: usize, effect: f64, seed: u64) -> Words {
    let mut rng = rng(seed);
    let effects: Vec<f64> = (0..=VOCABULARY as usize).map(|_| effect * normal(&mut rng)).collect();
    let mut found = Words { starts: vec![0], indices: Vec::new(), y: Vec::new() };
    for _ in 0..n {
        let count = 1 + (40.0 * uniform(&mut rng)) as usize;
        let word = |rng: &mut crate::common::Rng| VOCABULARY.powf(uniform(rng)) as u32;
        let mut row: Vec<u32> = (0..count).map(|_| word(&mut rng)).collect();
        row.sort_unstable();
        row.dedup();
        let noise: f64 = Exp1.sample(&mut rng);
        found.y.push(2.0 + row.iter().map(|&w| effects[w as usize]).sum::<f64>() + noise - 1.0);
        found.indices.push(0);
        found.indices.extend(row);
        found.starts.push(found.indices.len());
    }
    found
}

/// Progressive pinball loss of stochastic gradients on words, the best of five rates.
fn word_gradients(tau: f64, words: &Words) -> f64 {
    let loss = |rate: f64| {
        let mut theta = vec![0.0; VOCABULARY as usize + 1];
        let mut total = 0.0;
        for (t, (range, y)) in words.starts.windows(2).zip(&words.y).enumerate() {
            let row = &words.indices[range[0]..range[1]];
            let residual = y - row.iter().map(|&j| theta[j as usize]).sum::<f64>();
            let slope = if residual < 0.0 { tau - 1.0 } else { tau };
            total += slope * residual;
            let step = rate * slope / ((t + 1) as f64).sqrt();
            row.iter().for_each(|&j| theta[j as usize] += step);
        }
        total / words.y.len() as f64
    };
    [0.03, 0.1, 0.3, 1.0, 3.0].map(loss).into_iter().fold(f64::INFINITY, f64::min)
}

fn wide_loss(family: AnyFamily, words: &Words) -> (f64, f64) {
    let ones = vec![1.0; words.indices.len()];
    let x = SparseMatrix::new(&words.starts, &words.indices, &ones).unwrap();
    let mut wide = Wide::builder(family).intercept().build().unwrap();
    let mut progressive = Progressive::new(family);
    let rows = SparseRows::new(x, &words.y).unwrap();
    wide.learn_sparse_observed(rows, Some(&mut progressive)).unwrap();
    let report = progressive.report();
    (report.loss, report.constant_loss)
}

/// Sparse rows have more features than there are rows at first, and hardly a residual.
#[test]
fn words_are_learned_as_well_as_by_tuned_gradients() {
    for (effect, seed) in [(0.3, 21), (0.0, 22)] {
        let words = words(8000, effect, seed);
        for tau in [0.1, 0.5, 0.9] {
            let family = Quantile::new(tau).unwrap().into();
            let (loss, constant) = wide_loss(family, &words);
            let sgd = word_gradients(tau, &words);
            println!("effect {effect}, tau {tau}: {loss:.4}, constant {constant:.4}, {sgd:.4}");
            // words that say nothing cost up to a sixth of the loss at far levels
            let (over_sgd, over_constant) = if effect > 0.0 { (1.05, 0.97) } else { (1.15, 1.2) };
            assert!(loss < over_sgd * sgd, "{effect} {tau}: {loss} {sgd}");
            assert!(loss < over_constant * constant, "{effect} {tau}: {loss} {constant}");
        }
        let (loss, constant) = wide_loss("student".parse().unwrap(), &words);
        println!("effect {effect}, student: {loss:.4}, constant {constant:.4}");
        let most = if effect > 0.0 { 0.95 } else { 1.1 };
        assert!(loss < most * constant, "{effect}: {loss} {constant}");
    }
}
