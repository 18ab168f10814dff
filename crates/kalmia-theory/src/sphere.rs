//! The optimistic exp-concavity constant of the experiments: a minimum over random points of a
//! sphere, drawn several times because it is random.

use crate::bound::require;
use crate::exp_concavity::LogisticRisk;
use kalmia::Result;
use kalmia::math::dot;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Minima of the exp-concavity constant of the logistic risk over random points of a sphere, for
/// $X=(1,Z)$ with $Z$ uniform on the unit cube and labels of the model $\theta^*$ (erratum E26).
///
/// The paper reports one such minimum, of 1000 points. Another draw of the points gives another
/// one, so this draws `repeats` of them.
///
/// ```
/// use kalmia_theory::SphereStudy;
///
/// let study = SphereStudy { points: 50, draws: 500, ..SphereStudy::new(vec![0.5, -1.0, 2.0]) };
/// let minima = study.run()?.ln_minima;
/// assert!(minima.len() == 10 && minima.windows(2).all(|pair| pair[0] <= pair[1]));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SphereStudy {
    /// $\theta^*$; its first coordinate belongs to the constant feature.
    pub theta: Vec<f64>,
    /// Radius of the sphere; `None` for the paper's $1.1\,\|\theta^*\|$.
    pub radius: Option<f64>,
    /// Points of the sphere per minimum.
    pub points: usize,
    /// Draws of $X$ that stand for its law.
    pub draws: usize,
    /// How many minima to draw.
    pub repeats: usize,
    /// Where the random numbers start.
    pub seed: u64,
}

/// The minima that were drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct SphereMinima {
    /// The radius of the sphere.
    pub radius: f64,
    /// Natural logarithms of the minima, in ascending order.
    pub ln_minima: Vec<f64>,
    /// The logarithm of the constant $e^{-DD_X}$ that is proved for the loss on the ball.
    pub ln_proved: f64,
}

impl SphereMinima {
    /// The logarithm of the minimum in the middle, the lower one of two.
    pub fn ln_median(&self) -> f64 {
        self.ln_minima[(self.ln_minima.len() - 1) / 2]
    }
}

impl SphereStudy {
    /// The paper's setting for `theta`: 1000 points, ten times, with $10^4$ draws of $X$.
    pub fn new(theta: Vec<f64>) -> Self {
        Self { theta, radius: None, points: 1000, draws: 10_000, repeats: 10, seed: 1 }
    }

    /// Draws the minima. Each uses new points and new draws of $X$.
    pub fn run(&self) -> Result<SphereMinima> {
        let d = self.theta.len();
        require(d > 0, "theta", 0.0, "must have at least one coordinate")?;
        require(
            self.draws >= d,
            "draws",
            self.draws as f64,
            "must be at least the length of theta",
        )?;
        require(self.repeats > 0, "repeats", 0.0, "must be at least 1")?;
        for &value in &self.theta {
            require(value.is_finite(), "theta", value, "must be finite")?;
        }
        let radius = self.radius.unwrap_or(1.1 * dot(&self.theta, &self.theta).sqrt());
        require(
            radius > 0.0 && radius.is_finite(),
            "radius",
            radius,
            "must be finite and positive",
        )?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut rows = vec![1.0; self.draws * d];
        let mut ln_minima = Vec::with_capacity(self.repeats);
        for _ in 0..self.repeats {
            for row in rows.chunks_exact_mut(d) {
                row[1..].iter_mut().for_each(|x| *x = rng.random());
            }
            let risk = LogisticRisk::well_specified(&rows, &self.theta)?;
            ln_minima.push(risk.sphere_minimum(&mut rng, radius, self.points)?.alpha.ln());
        }
        ln_minima.sort_by(f64::total_cmp);
        let ln_proved = crate::exp_concavity::ln_ball_constant(radius, (d as f64).sqrt())?;
        Ok(SphereMinima { radius, ln_minima, ln_proved })
    }
}
