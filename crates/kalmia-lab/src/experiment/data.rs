//! How the rows of an experiment are drawn: the law of $x$, and how $y$ follows from it.

use crate::error::{Error, Result};
use crate::matrix::dot;
use crate::random::replicate_state;
use kalmia::{Bernoulli, Family};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Largest number of coefficients: the methods of the paper keep a matrix.
const MAX_DIM: usize = 2000;

/// The section `[data]` of an experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Logistic labels or real targets with Gaussian noise.
    pub loss: Loss,
    /// The coefficients that generate $y$; with an intercept the first is its own.
    pub theta: Vec<f64>,
    /// Further coefficient vectors. Each row draws one of all vectors uniformly, so the model is
    /// misspecified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixture: Vec<Vec<f64>>,
    /// Whether the first feature is the constant 1.
    #[serde(default = "yes")]
    pub intercept: bool,
    /// The law of the other features.
    #[serde(default)]
    pub features: Features,
    /// Standard deviation of the noise, for the quadratic loss.
    #[serde(default = "one")]
    pub noise: f64,
    /// Amplitude of the term $\cos(2\pi x_1)$ that no linear model has, for the quadratic loss: the
    /// paper's $D_{app}$. $x_1$ is the first feature after the intercept.
    #[serde(default)]
    pub bend: f64,
    /// The minimizer $\theta^*$ of the risk. Without it, `theta` if the model is well specified,
    /// and else estimated from many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub star: Option<Vec<f64>>,
    /// Number of the random streams: experiments with the same number and seed have the same rows.
    #[serde(default)]
    pub stream: u64,
}

/// The loss, and with it the kind of $y$.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// $y \in \{-1, 1\}$ with $P(y=1) = \sigma(\theta^\top x)$.
    Logistic,
    /// $y = \theta^\top x$ with Gaussian noise.
    Quadratic,
}

/// The law of the features beside the intercept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Uniform or normal.
    #[serde(default)]
    pub law: Law,
    /// Every feature shares this part of its variance with all others, from 0 to below 1. Only for
    /// normal features.
    #[serde(default)]
    pub correlation: f64,
    /// Factor of each feature; empty for 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scales: Vec<f64>,
}

impl Default for Features {
    fn default() -> Self {
        Self { law: Law::Uniform, correlation: 0.0, scales: Vec::new() }
    }
}

/// The law of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// Uniform on $[0, 1]$, as in the paper.
    #[default]
    Uniform,
    /// Uniform on $[-1, 1]$.
    Centered,
    /// Standard normal.
    Normal,
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

impl Data {
    /// $d$, the intercept included.
    pub fn dim(&self) -> usize {
        self.theta.len()
    }

    /// An error that names the key if one is out of its domain.
    pub fn validate(&self) -> Result<()> {
        let refuse = |key: &str, reason: String| Err(Error::Experiment { key: key.into(), reason });
        let d = self.dim();
        if !(1..=MAX_DIM).contains(&d) {
            return refuse("data.theta", format!("has {d} numbers; 1 to {MAX_DIM} are possible"));
        }
        let drawn = d - usize::from(self.intercept);
        let vectors = self.mixture.iter().map(|v| ("data.mixture", v));
        let star = self.star.iter().map(|v| ("data.star", v));
        for (key, vector) in [("data.theta", &self.theta)].into_iter().chain(vectors).chain(star) {
            if vector.len() != d {
                return refuse(key, format!("has {} numbers, theta has {d}", vector.len()));
            }
            if let Some(bad) = vector.iter().find(|v| !v.is_finite()) {
                return refuse(key, format!("holds {bad}; every number must be finite"));
            }
        }
        if !self.features.scales.is_empty() && self.features.scales.len() != drawn {
            let reason = format!(
                "has {} numbers; there are {drawn} features beside the intercept",
                self.features.scales.len()
            );
            return refuse("data.features.scales", reason);
        }
        if let Some(bad) = self.features.scales.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return refuse("data.features.scales", format!("holds {bad}; give positive numbers"));
        }
        let correlation = self.features.correlation;
        let correlated = correlation != 0.0 && self.features.law != Law::Normal;
        if correlated || !(0.0..1.0).contains(&correlation) {
            return refuse(
                "data.features.correlation",
                format!("is {correlation}; give 0, or below 1 with normal features"),
            );
        }
        if !(self.noise.is_finite() && self.noise > 0.0) {
            return refuse("data.noise", format!("is {}; give a positive number", self.noise));
        }
        let bent = self.bend != 0.0 && (self.loss == Loss::Logistic || drawn == 0);
        if bent || !self.bend.is_finite() {
            return refuse(
                "data.bend",
                format!("is {}; it needs the quadratic loss and a feature", self.bend),
            );
        }
        Ok(())
    }

    /// Whether $E[y \mid x]$ is in the model, so that $\theta^*$ is `theta`.
    pub fn is_well_specified(&self) -> bool {
        self.mixture.is_empty() && self.bend == 0.0
    }

    /// $D_X$, the largest norm of $x$; `None` if the law is not bounded.
    pub fn largest_norm(&self) -> Option<f64> {
        if self.features.law == Law::Normal {
            return None;
        }
        let drawn = self.dim() - usize::from(self.intercept);
        let scale = |j: usize| self.features.scales.get(j).copied().unwrap_or(1.0);
        let squares: f64 = (0..drawn).map(|j| scale(j).powi(2)).sum();
        Some((squares + f64::from(u8::from(self.intercept))).sqrt())
    }

    /// The random numbers of one replicate; they depend on nothing else.
    pub(crate) fn sampler(&self, seed: u64, replicate: u64) -> Sampler<'_> {
        let mut bytes = [0; 32];
        let words = replicate_state(seed, self.stream, replicate);
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Sampler { data: self, rng: Xoshiro256PlusPlus::from_seed(bytes) }
    }

    /// The linear predictors of which a row draws one.
    pub(crate) fn predictors(&self, x: &[f64]) -> impl Iterator<Item = f64> {
        let bend = self.bend_at(x);
        let vectors = std::iter::once(&self.theta).chain(&self.mixture);
        vectors.map(move |theta| dot(theta, x) + bend)
    }

    fn bend_at(&self, x: &[f64]) -> f64 {
        if self.bend == 0.0 {
            return 0.0;
        }
        self.bend * (TAU * x[usize::from(self.intercept)]).cos()
    }
}

/// Draws the rows of one replicate, one after the other.
pub(crate) struct Sampler<'a> {
    data: &'a Data,
    rng: Xoshiro256PlusPlus,
}

impl Sampler<'_> {
    /// Replaces the content of `x` and `y` by the next `rows` rows.
    pub fn fill(&mut self, rows: usize, x: &mut Vec<f64>, y: &mut Vec<f64>) {
        let d = self.data.dim();
        x.resize(rows * d, 0.0);
        y.resize(rows, 0.0);
        for (x, y) in x.chunks_exact_mut(d).zip(y) {
            self.features(x);
            *y = self.target(x);
        }
    }

    /// Draws $x$ alone.
    pub fn features(&mut self, x: &mut [f64]) {
        let x = match self.data.intercept {
            true => {
                x[0] = 1.0;
                &mut x[1..]
            }
            false => x,
        };
        let features = &self.data.features;
        match features.law {
            Law::Uniform => x.iter_mut().for_each(|x| *x = self.uniform()),
            Law::Centered => x.iter_mut().for_each(|x| *x = 2.0 * self.uniform() - 1.0),
            Law::Normal => {
                let rho = features.correlation;
                let shared = if rho > 0.0 { rho.sqrt() * self.normal() } else { 0.0 };
                let own = (1.0 - rho).sqrt();
                x.iter_mut().for_each(|x| *x = own.mul_add(self.normal(), shared));
            }
        }
        x.iter_mut().zip(&features.scales).for_each(|(x, scale)| *x *= scale);
    }

    fn target(&mut self, x: &[f64]) -> f64 {
        let vectors = 1 + self.data.mixture.len();
        let theta = match vectors {
            1 => &self.data.theta,
            _ => match (self.uniform() * vectors as f64) as usize {
                0 => &self.data.theta,
                k => &self.data.mixture[k - 1],
            },
        };
        let u = dot(theta, x) + self.data.bend_at(x);
        match self.data.loss {
            Loss::Quadratic => self.data.noise.mul_add(self.normal(), u),
            Loss::Logistic => {
                let probability = Bernoulli.mean(u);
                if self.uniform() < probability { 1.0 } else { -1.0 }
            }
        }
    }

    /// Uniform on $[0,1)$, a multiple of $2^{-52}$.
    fn uniform(&mut self) -> f64 {
        f64::from_bits((self.rng.next_u64() >> 12) | 0x3FF0_0000_0000_0000) - 1.0
    }

    /// Standard normal by Box and Muller's transform.
    fn normal(&mut self) -> f64 {
        let radius = self.uniform();
        let angle = self.uniform();
        (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::lanes::LANES;
    use crate::world::{Block, World};

    /// The long simulations draw eight replicates at once; both must see the same rows.
    #[test]
    fn rows_are_those_of_the_lanes() {
        for (name, world) in [
            ("comparison1", World::Strong),
            ("comparison10_theory", World::Weak),
            ("misspecified", World::Misspecified),
        ] {
            let data = Experiment::of_the_paper(name).unwrap().data;
            let group = 1;
            let mut block = Block::new(500);
            block.fill(world, &mut world.streams(3, group));
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for lane in [0, 5] {
                data.sampler(3, (group * LANES + lane) as u64).fill(500, &mut x, &mut y);
                for (i, row) in x.chunks_exact(data.dim()).enumerate() {
                    assert!(row.iter().zip(block.x[i]).all(|(a, b)| *a == b.0[lane]));
                    assert_eq!(y[i], block.y[i].0[lane], "{name}, row {i}");
                }
            }
        }
    }

    #[test]
    fn features_and_noise_have_their_moments() {
        let data = Data {
            loss: Loss::Quadratic,
            theta: vec![1.0, 2.0, -1.0],
            mixture: Vec::new(),
            intercept: true,
            features: Features { law: Law::Normal, correlation: 0.5, scales: vec![1.0, 3.0] },
            noise: 2.0,
            bend: 0.0,
            star: None,
            stream: 9,
        };
        data.validate().unwrap();
        let rows = 200_000;
        let (mut x, mut y) = (Vec::new(), Vec::new());
        data.sampler(1, 0).fill(rows, &mut x, &mut y);
        let mean = |f: &dyn Fn(&[f64], f64) -> f64| {
            let sum: f64 = x.chunks_exact(3).zip(&y).map(|(x, y)| f(x, *y)).sum();
            sum / rows as f64
        };
        let spread = 5.0 / (rows as f64).sqrt();
        assert!((mean(&|x, _| x[1] * x[1]) - 1.0).abs() < 1.5 * spread);
        assert!((mean(&|x, _| x[2] * x[2]) - 9.0).abs() < 13.0 * spread);
        assert!((mean(&|x, _| x[1] * x[2]) - 1.5).abs() < 4.0 * spread);
        let noise = |x: &[f64], y: f64| (y - dot(&data.theta, x)).powi(2);
        assert!((mean(&noise) - 4.0).abs() < 6.0 * spread);
        assert_eq!(data.largest_norm(), None);
    }
}
