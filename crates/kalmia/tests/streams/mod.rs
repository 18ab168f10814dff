//! Simulated streams: static ones that are hard to tell from a drift, and ones that change.

use kalmia::{AnyFamily, Family};
use rand::{Rng, RngExt};
use rand_distr::{Cauchy, Distribution, Gamma, Normal, StandardNormal};

/// A stream; every replicate draws it anew.
#[derive(Clone)]
pub struct Stream {
    pub family: AnyFamily,
    /// Features without the intercept.
    pub features: usize,
    pub rows: usize,
    pub intercept: f64,
    /// Length of the coefficients' vector, without the intercept.
    pub length: f64,
    pub noise: Noise,
    pub change: Change,
}

/// What makes a static stream hard.
#[derive(Clone, Copy, PartialEq)]
pub enum Noise {
    /// Nothing: the family's own noise.
    Own,
    /// Gaussian target with Cauchy noise.
    Cauchy,
    /// One target in a hundred is moved by a hundred standard deviations.
    Outliers,
    /// Four times the standard deviation in the second half.
    LouderLater,
    /// Autoregressive noise.
    Autoregressive(f64),
    /// Groups of neighboring rows share a random effect of standard deviation 1 (in the linear
    /// predictor).
    Groups(usize),
    /// The same, and each group has one value of each feature.
    GroupsAlike(usize),
    /// Counts with a Gamma-distributed rate of this shape.
    NegativeBinomial(f64),
    /// Features with Student's law of 3 degrees of freedom.
    HeavyFeatures,
    /// The linear predictor also has the square of the first feature.
    Curved,
}

/// How the coefficients move.
#[derive(Clone, Copy, PartialEq)]
pub enum Change {
    None,
    /// By a vector of this length in a random direction, after half of the rows.
    Jump(f64),
    /// All slopes change their sign after half of the rows.
    Flip,
    /// A feature without effect gets this one after half of the rows.
    NewEffect(f64),
    /// The intercept moves by this much after half of the rows.
    Level(f64),
    /// As `Jump`, evenly over all rows.
    Slow(f64),
}

/// A replicate: rows with the constant first, and targets.
pub struct Draw {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Stream {
    pub fn new(family: &str, features: usize, rows: usize) -> Self {
        Self {
            family: family.parse().expect("a family's name"),
            features,
            rows,
            intercept: 0.0,
            length: if family == "poisson" { 0.5 } else { 1.0 },
            noise: Noise::Own,
            change: Change::None,
        }
    }

    pub fn noise(self, noise: Noise) -> Self {
        Self { noise, ..self }
    }

    pub fn change(self, change: Change) -> Self {
        Self { change, ..self }
    }

    pub fn intercept(self, intercept: f64) -> Self {
        Self { intercept, ..self }
    }

    /// Features with the constant.
    pub fn dim(&self) -> usize {
        self.features + 1
    }

    pub fn draw(&self, rng: &mut impl Rng) -> Draw {
        let mut theta = direction(rng, self.features);
        theta.iter_mut().for_each(|t| *t *= self.length);
        if let Change::NewEffect(_) = self.change {
            theta[0] = 0.0;
        }
        let jump = direction(rng, self.features);
        let mut x = Vec::with_capacity(self.dim() * self.rows);
        let mut y = Vec::with_capacity(self.rows);
        let mut effect = 0.0;
        let mut memory = 0.0;
        for i in 0..self.rows {
            let late = 2 * i >= self.rows;
            let new_group = match self.noise {
                Noise::Groups(size) | Noise::GroupsAlike(size) => i % size == 0,
                _ => false,
            };
            let alike = matches!(self.noise, Noise::GroupsAlike(_)) && !new_group && i > 0;
            x.push(1.0);
            if alike {
                let from = x.len() - 1 - self.features;
                x.extend_from_within(from..from + self.features);
            } else {
                x.extend((0..self.features).map(|_| self.feature(rng)));
            }
            let row = &x[x.len() - self.features..];
            if new_group {
                effect = normal(rng);
            }
            let share = i as f64 / self.rows as f64;
            let mut u = self.intercept + dot(&theta, row) + effect;
            u += match self.change {
                Change::None => 0.0,
                Change::Slow(size) => size * share * dot(&jump, row),
                _ if !late => 0.0,
                Change::Jump(size) => size * dot(&jump, row),
                Change::Flip => -2.0 * dot(&theta, row),
                Change::NewEffect(size) => size * row[0],
                Change::Level(size) => size,
            };
            if self.noise == Noise::Curved {
                u += row[0] * row[0];
            }
            y.push(self.target(rng, u, late, &mut memory));
        }
        Draw { x, y }
    }

    fn feature(&self, rng: &mut impl Rng) -> f64 {
        if self.noise == Noise::HeavyFeatures {
            let square: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
            return normal(rng) / (square / 3.0).sqrt();
        }
        normal(rng)
    }

    fn target(&self, rng: &mut impl Rng, u: f64, late: bool, memory: &mut f64) -> f64 {
        match self.noise {
            Noise::Cauchy => u + Cauchy::new(0.0, 1.0).expect("a scale").sample(rng),
            Noise::Outliers => {
                let out = if rng.random_bool(0.01) { 100.0 * normal(rng).signum() } else { 0.0 };
                u + normal(rng) + out
            }
            Noise::LouderLater => u + normal(rng) * if late { 4.0 } else { 1.0 },
            Noise::Autoregressive(keep) => {
                *memory = keep * *memory + (1.0 - keep * keep).sqrt() * normal(rng);
                u + *memory
            }
            Noise::NegativeBinomial(shape) => {
                let rate = Gamma::new(shape, u.exp() / shape).expect("a shape").sample(rng);
                self.family.sample(rate.max(1e-300).ln(), rng)
            }
            _ => self.family.sample(u.clamp(-30.0, 12.0), rng),
        }
    }
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A random vector of length 1.
fn direction(rng: &mut impl Rng, dim: usize) -> Vec<f64> {
    let normal = Normal::new(0.0, 1.0).expect("a scale");
    let mut v: Vec<f64> = (0..dim).map(|_| normal.sample(rng)).collect();
    let length = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|v| *v /= length);
    v
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
