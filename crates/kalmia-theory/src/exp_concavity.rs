//! Exp-concavity of the logistic loss on a ball, exactly, and of the logistic risk at a point or
//! over a sphere, estimated.
//!
//! The Online Newton Step relies on a constant $\alpha$ such that $e^{-\alpha\ell}$ is concave. On
//! the ball of radius $D$ the best one for the loss is $e^{-DD_X}$ ([`ln_ball_constant`]). The
//! paper also tries the smallest constant over 1000 points of the sphere. It does not say of what;
//! erratum E26 finds that its numbers are those of the *risk*, whose constant at $\theta$ is the
//! largest $\alpha$ with $\nabla^2L\succcurlyeq\alpha\,\nabla L\nabla L^T$, that is
//! $$\alpha_L(\theta)=\frac1{\nabla L(\theta)^T\,\nabla^2L(\theta)^{-1}\,\nabla L(\theta)}.$$

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::bound::{require, require_len};
pub use kalmia::learner::ln_ball_constant;
use kalmia::math::{dot, logistic};
use kalmia::{Error, Result};

/// The logistic risk over a sample of features, the target being averaged exactly:
/// $L(\theta)=\sum_iw_i\big(p_i\ln(1+e^{-\theta^Tx_i})+(1-p_i)\ln(1+e^{\theta^Tx_i})\big)$,
/// $p_i=\mathbb P(y=1\mid x_i)$.
#[derive(Debug, Clone)]
pub struct LogisticRisk<'a> {
    rows: &'a [f64],
    d: usize,
    success: Vec<f64>,
    weights: Option<&'a [f64]>,
}

/// The smallest constant found over a sphere.
#[derive(Debug, Clone, PartialEq)]
pub struct SphereMinimum {
    /// The minimum of $\alpha_L$.
    pub alpha: f64,
    /// The point at which it was found.
    pub at: Vec<f64>,
}

impl<'a> LogisticRisk<'a> {
    /// Rows of `d` features one after the other, and $\mathbb P(y=1\mid x)$ of each.
    pub fn new(rows: &'a [f64], d: usize, success: Vec<f64>) -> Result<Self> {
        require(d > 0, "d", 0.0, "must be at least 1")?;
        require(!rows.is_empty(), "rows", 0.0, "must hold at least one row")?;
        require_len("rows", rows.len(), rows.len().div_ceil(d) * d)?;
        require_len("success", success.len(), rows.len() / d)?;
        for (row, &p) in success.iter().enumerate() {
            let legal = (0.0..=1.0).contains(&p);
            legal.then_some(()).ok_or(Error::RowExtra {
                row,
                name: "success",
                value: p,
                expected: "a probability",
            })?;
        }
        for (i, &value) in rows.iter().enumerate() {
            value.is_finite().then_some(()).ok_or(Error::Feature {
                row: i / d,
                column: i % d,
                value,
            })?;
        }
        Ok(Self { rows, d, success, weights: None })
    }

    /// The well-specified model, $\mathbb P(y=1\mid x)=(1+e^{-\theta^{*T}x})^{-1}$; `d` is the
    /// length of `theta_star`.
    pub fn well_specified(rows: &'a [f64], theta_star: &[f64]) -> Result<Self> {
        let d = theta_star.len();
        require(d > 0, "d", 0.0, "must be at least 1")?;
        let success = rows.chunks_exact(d).map(|x| logistic(dot(theta_star, x))).collect();
        Self::new(rows, d, success)
    }

    /// Replaces equal weights by those of a quadrature rule.
    pub fn with_weights(mut self, weights: &'a [f64]) -> Result<Self> {
        require_len("weights", weights.len(), self.success.len())?;
        for (row, &value) in weights.iter().enumerate() {
            let legal = value >= 0.0 && value.is_finite();
            legal.then_some(()).ok_or(Error::RowExtra {
                row,
                name: "weight",
                value,
                expected: "finite and not negative",
            })?;
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// $\alpha_L(\theta)$; infinite where the gradient vanishes.
    pub fn constant_at(&self, theta: &[f64]) -> Result<f64> {
        require_len("theta", theta.len(), self.d)?;
        self.constant(theta, &mut Workspace::new(self.d))
    }

    /// The minimum of $\alpha_L$ over `points` points drawn uniformly on the sphere of radius
    /// `radius` about the origin.
    ///
    /// The result depends on the points drawn, and for large radii on the sample too: there
    /// $\nabla^2L$ comes from the few rows with a small $|\theta^Tx|$.
    pub fn sphere_minimum<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
        radius: f64,
        points: usize,
    ) -> Result<SphereMinimum> {
        require(radius > 0.0 && radius.is_finite(), "D", radius, "must be finite and positive")?;
        require(points > 0, "points", 0.0, "must be at least 1")?;
        let mut work = Workspace::new(self.d);
        let mut theta = vec![0.0; self.d];
        let mut best = SphereMinimum { alpha: f64::INFINITY, at: theta.clone() };
        for point in 0..points {
            sphere_point(rng, radius, &mut theta);
            let alpha = self.constant(&theta, &mut work)?;
            if alpha < best.alpha || point == 0 {
                best.alpha = alpha;
                best.at.copy_from_slice(&theta);
            }
        }
        Ok(best)
    }

    fn constant(&self, theta: &[f64], work: &mut Workspace) -> Result<f64> {
        let equal = 1.0 / self.success.len() as f64;
        work.clear();
        for (row, x) in self.rows.chunks_exact(self.d).enumerate() {
            let weight = self.weights.map_or(equal, |w| w[row]);
            let u = dot(theta, x);
            work.add(
                x,
                weight * (logistic(u) - self.success[row]),
                weight * logistic(u) * logistic(-u),
            );
        }
        Ok(1.0 / work.newton_decrement()?)
    }
}

/// The gradient and the lower triangle of the Hessian, packed by rows.
struct Workspace {
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl Workspace {
    fn new(d: usize) -> Self {
        Self { gradient: vec![0.0; d], hessian: vec![0.0; d * (d + 1) / 2] }
    }

    fn clear(&mut self) {
        self.gradient.fill(0.0);
        self.hessian.fill(0.0);
    }

    /// Adds $gx$ to the gradient and $h\,xx^T$ to the Hessian.
    fn add(&mut self, x: &[f64], g: f64, h: f64) {
        let mut rest = self.hessian.as_mut_slice();
        for (i, (slot, &xi)) in self.gradient.iter_mut().zip(x).enumerate() {
            *slot += g * xi;
            let (row, next) = std::mem::take(&mut rest).split_at_mut(i + 1);
            let scaled = h * xi;
            row.iter_mut().zip(x).for_each(|(entry, &xj)| *entry += scaled * xj);
            rest = next;
        }
    }

    /// $g^TH^{-1}g=\|R^{-1}g\|^2$ with $H=RR^T$, factored and solved in place.
    fn newton_decrement(&mut self) -> Result<f64> {
        let mut sum = 0.0;
        for i in 0..self.gradient.len() {
            let (above, below) = self.hessian.split_at_mut(start(i));
            let row = &mut below[..=i];
            for j in 0..i {
                let other = &above[start(j)..=start(j) + j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            if pivot.is_nan() || pivot <= 0.0 {
                return Err(Error::NotPositiveDefinite {
                    name: "Hessian of the risk",
                    pivot: i,
                    value: pivot,
                });
            }
            row[i] = pivot.sqrt();
            let solved = (self.gradient[i] - dot(&row[..i], &self.gradient[..i])) / row[i];
            self.gradient[i] = solved;
            sum += solved * solved;
        }
        Ok(sum)
    }
}

/// Where row `i` of a packed lower triangle starts.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// A uniform point of the sphere: a normal vector, scaled.
fn sphere_point<R: Rng + ?Sized>(rng: &mut R, radius: f64, theta: &mut [f64]) {
    theta.iter_mut().for_each(|slot| *slot = StandardNormal.sample(rng));
    let scale = radius / dot(theta, theta).sqrt();
    theta.iter_mut().for_each(|slot| *slot *= scale);
}

#[cfg(test)]
mod tests;
