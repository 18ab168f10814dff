//! The exact projection onto a ball in the norm of a positive definite matrix.
//!
//! $w = \arg\min_{\|w\|\le R}(w-v)^\top A(w-v)$ is $v$ itself inside the ball; outside, $(A+\mu I)w
//! = Av$ with the $\mu>0$ for which $\|w\| = R$. The function $1/\|w(\mu)\|$ is concave and nearly
//! linear, and one Cholesky factor of $A+\mu I$ gives its value and its first two derivatives, so
//! Halley's iteration, kept inside a bracket, converges in a few factors of $d^3/3$ operations
//! each.

use crate::error::{Error, Result, require, require_len};
use crate::linalg::{cholesky_lower, solve_lower, solve_lower_transposed};
use crate::math::dot;

/// Relative size of what the second-order Taylor step in $\mu$ may leave out.
const REMAINDER: f64 = 2e-16;

/// Factors after which the iteration ends; the bracket is empty long before.
const MAX_FACTORS: usize = 200;

/// A projected point.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// $w$, with $\|w\| \le R$ to rounding.
    pub point: Vec<f64>,
    /// The multiplier $\mu$, 0 if the point was inside.
    pub multiplier: f64,
    /// Cholesky factors that it took.
    pub factors: usize,
}

/// Projects `v` onto the ball of radius $R$ about 0 in the norm of `a` (symmetric positive
/// definite, `dim * dim` numbers).
///
/// Costs $d^3/3$ operations per factor: one to check `a`, then as a rule 1 to 3, and 5 in the
/// hardest of the tests (a spectrum over 12 decades).
///
/// ```
/// // The nearest point in the norm of diag(1, 4), where the second axis costs more:
/// // (1 + mu) w_1 = 3/sqrt 2, (4 + mu) w_2 = 6/sqrt 2, mu = 2.
/// let h = 0.5f64.sqrt();
/// let nearest = kalmia::learner::project(&[3.0 * h, 1.5 * h], &[1.0, 0.0, 0.0, 4.0], 1.0)?;
/// assert!((nearest.multiplier - 2.0).abs() < 1e-14 && (nearest.point[0] - h).abs() < 1e-15);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub fn project(v: &[f64], a: &[f64], radius: f64) -> Result<Projection> {
    let dim = v.len();
    require_len("precision", a.len(), dim * dim)?;
    require(radius > 0.0 && radius.is_finite(), "radius", radius, "must be finite and positive")?;
    for &value in v.iter().chain(a) {
        require(value.is_finite(), "projection", value, "must have finite entries")?;
    }
    let mut factor = a.to_vec();
    cholesky_lower(&mut factor, dim, "precision")?;
    let length = norm(v);
    if length <= radius {
        return Ok(Projection { point: v.to_vec(), multiplier: 0.0, factors: 0 });
    }
    let mut unit: Vec<f64> = v.iter().map(|v| v / length).collect();
    solve_lower(&factor, dim, &mut unit);
    let mut ball = Projector::new(dim);
    multiply_lower(a, v, &mut ball.target);
    let multiplier = ball.solve(a, Outside { length, spread: dot(&unit, &unit) }, radius)?;
    Ok(Projection { point: ball.point, multiplier, factors: ball.factors })
}

/// What is known of a point outside the ball beside $Av$.
pub(super) struct Outside {
    /// $\|v\|$.
    pub length: f64,
    /// $v^\top A^{-1}v/v^\top v$.
    pub spread: f64,
}

/// The scratch of a projection.
#[derive(Debug, Clone)]
pub(super) struct Projector {
    /// $b = Av$, set by the caller; scaled by $1/R$ on the way.
    pub target: Vec<f64>,
    /// $w$.
    pub point: Vec<f64>,
    /// Cholesky factors that the last projection took.
    pub factors: usize,
    factor: Vec<f64>,
    /// $(A+\mu I)^{-1}w = -w'(\mu)$.
    slope: Vec<f64>,
}

/// The secular function $h = 1/\|w\| - 1$ (in units of $R$) and two derivatives.
struct Secular {
    h: f64,
    first: f64,
    second: f64,
}

impl Secular {
    /// Halley's step, never more than four times Newton's.
    fn step(&self) -> f64 {
        let newton = -self.h / self.first;
        newton / (1.0 + 0.5 * newton * self.second / self.first).max(0.25)
    }
}

impl Projector {
    pub fn new(dim: usize) -> Self {
        let line = vec![0.0; dim];
        Self {
            target: line.clone(),
            point: line.clone(),
            slope: line,
            factor: vec![0.0; dim * dim],
            factors: 0,
        }
    }

    /// The point for $b$ in `target`, the lower triangle of $A$ and $\|v\| > R$; returns $\mu$.
    pub fn solve(&mut self, a: &[f64], v: Outside, radius: f64) -> Result<f64> {
        self.target.iter_mut().for_each(|b| *b /= radius);
        let pull = norm(&self.target);
        require(
            pull > 0.0 && pull.is_finite(),
            "projection",
            pull,
            "must start from a finite point",
        )?;
        // 1/||w|| is concave: below its tangent at mu = 0 and its asymptote, above its chords,
        // whose slope is at least 1/||b||
        let tangent = (v.length / radius - 1.0) / v.spread;
        let mut low = (pull - self.rayleigh(a, pull)).max(tangent);
        let mut high = (pull * (1.0 - radius / v.length)).max(low);
        let mut mu = low;
        self.factors = 0;
        loop {
            let secular = self.evaluate(a, &mut mu)?;
            if secular.h < 0.0 {
                low = low.max(mu);
            } else {
                // rounding may have put the first bound on the wrong side
                low = if mu <= low { 0.0 } else { low };
                high = high.min(mu);
            }
            let delta = secular.step();
            // by rounding, or because v came from another representation of A, b may belong to a
            // point inside
            let inside = self.factors == 1 && secular.h >= 0.0 && mu + delta <= 0.0;
            // Rounding of ill-conditioned matrices keeps `h` away from 0, so the tolerance grows
            // with each factor.
            let noise = f64::EPSILON * 4f64.powi(self.factors.min(20) as i32);
            let converged = secular.h.abs() <= noise || high - low <= f64::EPSILON * high;
            let exact = self.remainder(delta, mu) <= REMAINDER;
            if inside || exact || converged || self.factors >= MAX_FACTORS {
                if !inside && delta.abs() <= 0.5 * mu {
                    self.taylor(delta);
                    mu += delta;
                }
                self.finish(radius, inside);
                return Ok(mu);
            }
            let next = mu + delta;
            mu = if next > low && next < high || next == high && mu < high {
                next
            } else {
                0.5 * (low + high)
            };
        }
    }

    /// $b^\top Ab/b^\top b$.
    fn rayleigh(&mut self, a: &[f64], pull: f64) -> f64 {
        let unit = &mut self.point;
        let image = &mut self.slope;
        unit.iter_mut().zip(&self.target).for_each(|(u, b)| *u = b / pull);
        multiply_lower(a, unit, image);
        dot(unit, image)
    }

    /// Factors $A+\mu I$, raising $\mu$ if by rounding $A$ has no factor, and solves for $w$ and
    /// its slope.
    fn evaluate(&mut self, a: &[f64], mu: &mut f64) -> Result<Secular> {
        let dim = self.target.len();
        let largest = (0..dim).map(|j| a[j * dim + j]).fold(0.0, f64::max);
        loop {
            self.factor.copy_from_slice(a);
            (0..dim).for_each(|j| self.factor[j * dim + j] += *mu);
            self.factors += 1;
            match cholesky_lower(&mut self.factor, dim, "precision") {
                Ok(()) => break,
                Err(Error::NotPositiveDefinite { value, .. })
                    if value.is_finite() && self.factors < MAX_FACTORS =>
                {
                    *mu = (4.0 * *mu).max(dim as f64 * f64::EPSILON * largest);
                }
                Err(error) => return Err(error),
            }
        }
        self.point.copy_from_slice(&self.target);
        solve_lower(&self.factor, dim, &mut self.point);
        solve_lower_transposed(&self.factor, dim, &mut self.point);
        self.slope.copy_from_slice(&self.point);
        solve_lower(&self.factor, dim, &mut self.slope);
        let square = dot(&self.point, &self.point);
        let curve = dot(&self.slope, &self.slope);
        solve_lower_transposed(&self.factor, dim, &mut self.slope);
        // with K = (A + mu I)^-1: (w'w)' = -2 w'Kw = -2 curve, (w'w)'' = 6 |Kw|^2
        let length = square.sqrt();
        let cube = square * length;
        let second = 3.0 / cube * (curve * curve / square - dot(&self.slope, &self.slope));
        Ok(Secular { h: (1.0 - length) / length, first: curve / cube, second: second.min(0.0) })
    }

    /// Bound on the third-order term $\|\delta^3K^3w\|/\|w\|$ of the Taylor step: the eigenvalues
    /// of $K = (A+\mu I)^{-1}$ are below $1/\mu$.
    fn remainder(&self, delta: f64, mu: f64) -> f64 {
        let ratio = delta.abs() / mu;
        let first =
            delta.abs() * (dot(&self.slope, &self.slope) / dot(&self.point, &self.point)).sqrt();
        if ratio <= 0.5 { 2.0 * first * ratio * ratio } else { f64::INFINITY }
    }

    /// $w(\mu+\delta) = w - \delta Kw + \delta^2K^2w$ to third order.
    fn taylor(&mut self, delta: f64) {
        let dim = self.target.len();
        self.point.iter_mut().zip(&self.slope).for_each(|(w, k)| *w -= delta * k);
        solve_lower(&self.factor, dim, &mut self.slope);
        solve_lower_transposed(&self.factor, dim, &mut self.slope);
        self.point.iter_mut().zip(&self.slope).for_each(|(w, k)| *w += delta * delta * k);
    }

    /// Back to the user's units, on the sphere to rounding.
    fn finish(&mut self, radius: f64, inside: bool) {
        let length = norm(&self.point);
        let scale = if inside { radius / length.max(1.0) } else { radius / length };
        self.point.iter_mut().for_each(|w| *w *= scale);
    }
}

/// $\|v\|$ without overflow or underflow.
pub(super) fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if largest > 1e-140 && largest < 1e140 || largest == 0.0 {
        return dot(v, v).sqrt();
    }
    largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// $y = Ax$ from the lower triangle of a symmetric matrix, column-major.
pub(super) fn multiply_lower(a: &[f64], x: &[f64], y: &mut [f64]) {
    let dim = x.len();
    y.fill(0.0);
    for j in 0..dim {
        let column = &a[j * dim..][..dim];
        let mut own = column[j] * x[j];
        for i in j + 1..dim {
            y[i] += column[i] * x[j];
            own += column[i] * x[i];
        }
        y[j] += own;
    }
}
