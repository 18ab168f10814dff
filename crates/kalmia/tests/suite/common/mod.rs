//! What the test suites share: a textbook recursion, small dense algebra and random rows.

#[path = "../../textbook/mod.rs"]
mod textbook;

pub mod sparse_batch;
pub mod streams;

pub use textbook::{Predictor, Textbook};

use kalmia::rows::Observation;
use kalmia::{AnyFamily, Family, Rows, Rule};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

pub type Rng = Xoshiro256PlusPlus;

pub fn rng(seed: u64) -> Rng {
    Rng::seed_from_u64(seed)
}

/// Property tests with a fixed seed, which leave no files.
pub fn property(seed: u64, cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(seed);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..Default::default() }
}

/// Standard normal.
pub fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Uniform on $[0, 1)$.
pub fn uniform(rng: &mut Rng) -> f64 {
    rng.random()
}

/// Uniform on $(-1, 1)$.
pub fn centered(rng: &mut Rng) -> f64 {
    2.0 * uniform(rng) - 1.0
}

/// A square matrix, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub dim: usize,
    pub a: Vec<f64>,
}

impl Matrix {
    pub fn new(a: Vec<f64>) -> Self {
        let dim = a.len().isqrt();
        assert_eq!(dim * dim, a.len());
        Self { dim, a }
    }

    pub fn identity(dim: usize) -> Self {
        Self { dim, a: (0..dim * dim).map(|i| f64::from(i % (dim + 1) == 0)).collect() }
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.a[i * self.dim + j]
    }

    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        self.a.chunks(self.dim).map(|row| dot(row, x)).collect()
    }

    pub fn product(&self, other: &Self) -> Self {
        let d = self.dim;
        let entry = |i: usize, j: usize| (0..d).map(|k| self.at(i, k) * other.at(k, j)).sum();
        Self { dim: d, a: (0..d * d).map(|ij| entry(ij / d, ij % d)).collect() }
    }

    pub fn transposed(&self) -> Self {
        let d = self.dim;
        Self { dim: d, a: (0..d * d).map(|ij| self.at(ij % d, ij / d)).collect() }
    }

    /// `self + c x x'`.
    pub fn plus_outer(&self, c: f64, x: &[f64]) -> Self {
        let d = self.dim;
        Self { dim: d, a: (0..d * d).map(|ij| self.a[ij] + c * x[ij / d] * x[ij % d]).collect() }
    }

    pub fn quadratic(&self, x: &[f64]) -> f64 {
        dot(x, &self.times(x))
    }

    pub fn trace(&self) -> f64 {
        (0..self.dim).map(|i| self.at(i, i)).sum()
    }

    /// By Gauss-Jordan elimination with row pivoting.
    pub fn inverse(&self) -> Self {
        let d = self.dim;
        let mut a = self.a.clone();
        let mut b = Self::identity(d).a;
        for k in 0..d {
            let pivot =
                (k..d).max_by(|&i, &j| a[i * d + k].abs().total_cmp(&a[j * d + k].abs())).unwrap();
            for j in 0..d {
                a.swap(k * d + j, pivot * d + j);
                b.swap(k * d + j, pivot * d + j);
            }
            let scale = 1.0 / a[k * d + k];
            for j in 0..d {
                a[k * d + j] *= scale;
                b[k * d + j] *= scale;
            }
            for i in (0..d).filter(|&i| i != k) {
                let factor = a[i * d + k];
                for j in 0..d {
                    a[i * d + j] -= factor * a[k * d + j];
                    b[i * d + j] -= factor * b[k * d + j];
                }
            }
        }
        Self { dim: d, a: b }
    }

    /// Eigenvalues of a symmetric matrix, ascending, by Jacobi's rotations.
    pub fn eigenvalues(&self) -> Vec<f64> {
        let d = self.dim;
        let mut a = self.clone();
        for _ in 0..30 {
            let mut rotated = false;
            for p in 0..d {
                for q in p + 1..d {
                    if a.at(p, q).abs() <= 1e-17 * self.largest() {
                        continue;
                    }
                    rotated = true;
                    let (s, c) =
                        (0.5 * (2.0 * a.at(p, q)).atan2(a.at(q, q) - a.at(p, p))).sin_cos();
                    for k in 0..d {
                        let kp = a.at(k, p);
                        let kq = a.at(k, q);
                        (a.a[k * d + p], a.a[k * d + q]) = (c * kp - s * kq, s * kp + c * kq);
                    }
                    for k in 0..d {
                        let pk = a.at(p, k);
                        let qk = a.at(q, k);
                        (a.a[p * d + k], a.a[q * d + k]) = (c * pk - s * qk, s * pk + c * qk);
                    }
                }
            }
            if !rotated {
                break;
            }
        }
        let mut values: Vec<f64> = (0..d).map(|i| a.at(i, i)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    pub fn determinant(&self) -> f64 {
        self.eigenvalues().iter().product()
    }

    pub fn largest(&self) -> f64 {
        largest(self.a.iter().map(|v| v.abs()))
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

pub fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The largest of numbers that are 0 or more; NaN if one of them is NaN (`f64::max` drops NaN).
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |m, v| if v > m || v.is_nan() { v } else { m })
}

/// Largest difference relative to the largest entry of `b` (at least `floor`); NaN if an entry of
/// either is NaN, so that every comparison fails.
pub fn gap(a: &[f64], b: &[f64], floor: f64) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = largest(b.iter().map(|v| v.abs())).max(floor);
    largest(a.iter().zip(b).map(|(a, b)| (a - b).abs())) / size
}

/// Every entry within `tolerance` of the expected one, relative to 1 and its size. Fails for NaN
/// too.
pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let close = (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(close, "{what}, {i}: {a} is not {b}");
    }
}

#[test]
fn comparators_do_not_lose_nan() {
    for bad in [[f64::NAN, 1.0], [1.0, f64::NAN], [f64::NAN, f64::NAN]] {
        assert!(gap(&bad, &[1.0, 1.0], 1.0).is_nan());
        assert!(gap(&[1.0, 1.0], &bad, 1.0).is_nan());
        assert!(largest(bad).is_nan());
    }
    // equal infinities are no agreement
    assert!(gap(&[f64::INFINITY, 1.0], &[f64::INFINITY, 1.0], 1.0).is_nan());
    assert_eq!(gap(&[1.0, -3.0], &[1.5, -4.0], 1.0), 0.25);
    assert_eq!(gap(&[0.0, 0.5], &[0.0, 0.25], 1.0), 0.25);
    assert_eq!(largest([0.5, 2.0, 1.0]), 2.0);
    assert_eq!(largest([]), 0.0);
}

/// Asserts that two numbers agree to `tolerance` of the larger of `scale` and the second.
#[track_caller]
pub fn near(a: f64, b: f64, tolerance: f64, scale: f64) {
    assert!((a - b).abs() <= tolerance * b.abs().max(scale), "{a:e} against {b:e}");
}

/// A symmetric positive definite matrix with eigenvalues log-uniform in `[low, high]`, in a random
/// basis.
pub fn spread_matrix(rng: &mut Rng, dim: usize, low: f64, high: f64) -> Matrix {
    let mut a = Matrix::identity(dim);
    for i in 0..dim {
        a.a[i * dim + i] = low * (high / low).powf(rng.random::<f64>());
    }
    for _ in 0..2 {
        let v: Vec<f64> = (0..dim).map(|_| centered(rng)).collect();
        let h = Matrix::identity(dim).plus_outer(-2.0 / dot(&v, &v), &v);
        a = h.product(&a).product(&h);
    }
    for i in 0..dim {
        for j in 0..i {
            a.a[i * dim + j] = a.a[j * dim + i];
        }
    }
    a
}

/// Owned rows with weights and offsets.
#[derive(Debug, Clone)]
pub struct Data {
    pub dim: usize,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub weight: Vec<f64>,
    pub offset: Vec<f64>,
}

impl Data {
    /// Rows with repeats and zero rows, targets drawn from the family.
    pub fn draw(rng: &mut Rng, family: &AnyFamily, dim: usize, rows: usize) -> Self {
        let mut x: Vec<f64> = Vec::with_capacity(dim * rows);
        for i in 0..rows {
            match rng.random_range(0..10) {
                0 => x.extend(vec![0.0; dim]),
                1 if i > 0 => {
                    let from = rng.random_range(0..i);
                    x.extend_from_within(from * dim..(from + 1) * dim);
                }
                _ => x.extend((0..dim).map(|_| centered(rng))),
            }
        }
        let truth: Vec<f64> = (0..dim).map(|_| centered(rng) / (dim as f64).sqrt()).collect();
        let offset: Vec<f64> = (0..rows).map(|_| 0.3 * centered(rng)).collect();
        let y = x
            .chunks(dim)
            .zip(&offset)
            .map(|(x, o)| family.sample(dot(x, &truth) + o, rng))
            .collect();
        let weight =
            (0..rows)
                .map(|_| {
                    if rng.random_range(0..12) == 0 {
                        0.0
                    } else {
                        0.25 + rng.random::<f64>() * 2.0
                    }
                })
                .collect();
        Self { dim, x, y, weight, offset }
    }

    /// Rows with an intercept and features in $[-1, 1]$, and labels of a logistic model whose
    /// coefficients have the given norm; without weights and offsets.
    pub fn logistic(dim: usize, rows: usize, norm: f64, seed: u64) -> Self {
        let mut rng = rng(seed);
        let truth: Vec<f64> = (0..dim)
            .map(|j| norm * if j % 2 == 0 { 1.0 } else { -1.0 } / (dim as f64).sqrt())
            .collect();
        let mut x = Vec::new();
        let mut y = Vec::new();
        for _ in 0..rows {
            let row: Vec<f64> =
                (0..dim).map(|j| if j == 0 { 1.0 } else { centered(&mut rng) }).collect();
            let u = dot(&row, &truth);
            y.push(f64::from(uniform(&mut rng) < 1.0 / (1.0 + (-u).exp())));
            x.extend(row);
        }
        Self { dim, x, y, weight: vec![1.0; rows], offset: vec![0.0; rows] }
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows::new(self.dim, &self.x, &self.y)
            .unwrap()
            .with_weights(&self.weight)
            .unwrap()
            .with_offsets(&self.offset)
            .unwrap()
    }

    pub fn plain(&self) -> Rows<'_> {
        Rows::new(self.dim, &self.x, &self.y).unwrap()
    }
}

/// Teaches the textbook recursion row number `t` (from 1) by a family and a rule.
pub fn teach(
    book: &mut Textbook,
    family: &impl Family,
    rule: &impl Rule,
    x: &[f64],
    observation: &Observation,
    t: u64,
) -> Predictor {
    let mut observation = *observation;
    observation.y = family.canonical(observation.y).unwrap();
    book.learn(x, |Predictor { m, s }| rule.step(family, &observation, m, s, t))
}

/// Every family of the crate, with parameters that are not the default.
pub fn families() -> Vec<AnyFamily> {
    [
        "gaussian:2.5",
        "bernoulli",
        "binomial:7",
        "binomial",
        "poisson",
        "gamma:0.5",
        "negative-binomial:0.7",
        "quantile:0.3",
        "student:5",
    ]
    .map(|name| name.parse().unwrap())
    .to_vec()
}
