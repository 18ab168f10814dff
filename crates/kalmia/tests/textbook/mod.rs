//! The recursion as a textbook writes it, for tests and benches: dense `P`, one row at a time,
//! plain iterators.

use kalmia::rule::Step;

/// A belief $(\theta, P)$.
#[derive(Debug, Clone)]
pub struct Textbook {
    pub theta: Vec<f64>,
    /// `P`, row after row.
    pub p: Vec<f64>,
    /// `Px`.
    v: Vec<f64>,
}

/// The linear predictor of a row before it is learned: mean `m` and variance `s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predictor {
    pub m: f64,
    pub s: f64,
}

impl Textbook {
    pub fn new(theta: Vec<f64>, p: Vec<f64>) -> Self {
        assert_eq!(p.len(), theta.len() * theta.len());
        let v = vec![0.0; theta.len()];
        Self { theta, p, v }
    }

    /// Learns a row by the step that `decide` makes of its predictor.
    pub fn learn(&mut self, x: &[f64], decide: impl FnOnce(Predictor) -> Step) -> Predictor {
        let Self { theta, p, v } = self;
        for (v, row) in v.iter_mut().zip(p.chunks_exact(x.len())) {
            *v = dot(row, x);
        }
        let predictor = Predictor { m: dot(theta, x), s: dot(v, x) };
        let step = decide(predictor);
        for (theta, v) in theta.iter_mut().zip(&*v) {
            *theta += step.gain * v;
        }
        for (row, vi) in p.chunks_exact_mut(x.len()).zip(&*v) {
            for (p, vj) in row.iter_mut().zip(&*v) {
                *p -= step.contraction * vi * vj;
            }
        }
        predictor
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
