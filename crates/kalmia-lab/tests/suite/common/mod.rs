//! Plain scalar versions of the paper's algorithms, as the references of the kernels.
// Textbook loops over indices.
#![allow(clippy::needless_range_loop)]

use kalmia_lab::world::D;

pub type Matrix = [[f64; D]; D];

pub fn identity(scale: f64) -> Matrix {
    let mut p = [[0.0; D]; D];
    (0..D).for_each(|i| p[i][i] = scale);
    p
}

pub fn mat_vec(p: &Matrix, x: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|i| (0..D).map(|j| p[i][j] * x[j]).sum())
}

/// $y/(1+e^{yu})$.
pub fn residual(y: f64, u: f64) -> f64 {
    y / (1.0 + (y * u).exp())
}

/// $P^{-1} \mathrel{+}= \alpha xx^\top$.
pub fn add_precision(p: &mut Matrix, x: &[f64; D], alpha: f64) {
    let px = mat_vec(p, x);
    let s: f64 = (0..D).map(|j| px[j] * x[j]).sum();
    for i in 0..D {
        for j in 0..D {
            p[i][j] -= alpha / (1.0 + alpha * s) * px[i] * px[j];
        }
    }
}

/// Solves $(I + \mu P)w = v$ by elimination with pivoting.
pub fn solve_shifted(p: &Matrix, mu: f64, v: &[f64; D]) -> [f64; D] {
    let mut a = *p;
    let mut w = *v;
    for i in 0..D {
        for j in 0..D {
            a[i][j] = mu * p[i][j] + if i == j { 1.0 } else { 0.0 };
        }
    }
    for k in 0..D {
        let pivot = (k..D).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        w.swap(k, pivot);
        for i in k + 1..D {
            let f = a[i][k] / a[k][k];
            for j in k..D {
                a[i][j] -= f * a[k][j];
            }
            w[i] -= f * w[k];
        }
    }
    for k in (0..D).rev() {
        w[k] = (w[k] - (k + 1..D).map(|j| a[k][j] * w[j]).sum::<f64>()) / a[k][k];
    }
    w
}

pub fn norm(w: &[f64; D]) -> f64 {
    w.iter().map(|a| a * a).sum::<f64>().sqrt()
}

/// Projection onto the ball in the norm of $P^{-1}$ by bisection on the multiplier.
pub fn project(p: &Matrix, v: &[f64; D], radius: f64) -> [f64; D] {
    if norm(v) <= radius {
        return *v;
    }
    let mut low = 0.0;
    let mut high = 1.0;
    while norm(&solve_shifted(p, high, v)) > radius {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if norm(&solve_shifted(p, middle, v)) > radius { low = middle } else { high = middle }
    }
    solve_shifted(p, high, v)
}

/// Algorithm 3, left, with `w` in the place of `theta` (E13).
pub struct Ons {
    pub w: [f64; D],
    pub sum: [f64; D],
    pub projections: u64,
    p: Matrix,
    radius: f64,
    gamma: f64,
}

impl Ons {
    pub fn new(radius: f64, gamma: f64, p1: f64) -> Self {
        Self { w: [0.0; D], sum: [0.0; D], projections: 0, p: identity(p1), radius, gamma }
    }

    pub fn learn(&mut self, x: &[f64; D], y: f64) {
        (0..D).for_each(|j| self.sum[j] += self.w[j]);
        let m: f64 = (0..D).map(|j| self.w[j] * x[j]).sum();
        let g = residual(y, m);
        add_precision(&mut self.p, x, g * g);
        let px = mat_vec(&self.p, x);
        (0..D).for_each(|j| self.w[j] += g / self.gamma * px[j]);
        if norm(&self.w) > self.radius {
            self.projections += 1;
            self.w = project(&self.p, &self.w, self.radius);
        }
    }
}
