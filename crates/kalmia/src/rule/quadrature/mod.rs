//! The tilted density $\propto N(u; m, s)\,e^{-w\ell(y,u+o)}$ and how its integrals become a step.

mod hermite;
mod tables;
mod trapezoid;

use super::Step;
use super::implicit;
use crate::family::Family;
use crate::rows::Observation;

/// A prior $N(m, s)$ with $s > 0$ times the likelihood of one observation of positive weight.
pub(super) struct Tilt<'a, F> {
    pub family: &'a F,
    pub observation: &'a Observation,
    pub m: f64,
    pub s: f64,
}

/// The point $c$ that integrals are taken about, with the Gaussian that approximates the tilted
/// density there.
#[derive(Debug, Clone, Copy)]
struct Centre {
    /// $c - m$.
    shift: f64,
    /// $(c - m)/s$.
    slope: f64,
    /// A value of $\ell'$ near the centre, taken off before squares are summed.
    first: f64,
    /// $\ell''$ of the approximation.
    curvature: f64,
    /// $v = 1/(1/s + \ell'')$.
    variance: f64,
}

impl Centre {
    fn new(shift: f64, slope: f64, first: f64, curvature: f64, s: f64) -> Self {
        Self { shift, slope, first, curvature, variance: s / (1.0 + curvature * s) }
    }
}

/// Weighted sums over the nodes, $x = u - c$ and $\Delta = \ell'(u) - \ell'_c$.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    mass: f64,
    x: f64,
    xx: f64,
    delta: f64,
    square: f64,
    second: f64,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, p: f64, x: f64, delta: f64, second: f64) {
        self.mass += p;
        self.x += p * x;
        self.xx += p * x * x;
        self.delta += p * delta;
        self.square += p * delta * delta;
        self.second += p * second;
    }
}

/// A step and what $\ln Z$ needs, kept apart because a filter never asks for $\ln Z$.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tilted {
    pub step: Step,
    /// Where the loss is the reference of `mass`.
    at: f64,
    offset: f64,
    mass: f64,
    spread: f64,
}

impl Tilted {
    /// $\ln Z$ = offset - loss + ln mass - ½ ln spread.
    #[inline]
    pub fn log_evidence<F: Family>(&self, tilt: &Tilt<'_, F>) -> f64 {
        self.offset - tilt.observation.loss(tilt.family, self.at) + self.mass.ln()
            - 0.5 * self.spread.ln()
    }
}

/// Widest Laplace variance for which Gauss-Hermite is tried: $\ell$ of the usual families varies on
/// the scale 1.
const WIDE: f64 = 0.85;
/// Largest first Newton step, in squared deviations, that replaces the mode as the centre.
const NEAR: f64 = 0.25;

/// Largest rounding of the log density, in nats, under which its integrals mean something.
const RESOLVED: f64 = 1e-3;

/// Rounding of $\mathrm{Var}[u]/s$ and of $E[\ell'']s$, relative.
const ROUNDING: f64 = 1e-14;

/// Integrates the tilted density: Gauss-Hermite where it is close to a Gaussian, a sinh-spaced
/// trapezoid elsewhere.
#[inline]
pub(super) fn integrate<F: Family>(tilt: &Tilt<'_, F>, at_m: (f64, f64)) -> Tilted {
    let (first, curvature) = at_m;
    let spread = 1.0 + curvature * tilt.s;
    let slope = -first / spread;
    let near = Centre { shift: slope * tilt.s, slope, first, curvature, variance: tilt.s / spread };
    if near.variance <= WIDE
        && first * first * near.variance <= NEAR
        && let Some(done) = hermite::integrate(tilt, &near)
    {
        return done;
    }
    from_mode(tilt, at_m)
}

/// The same about the mode, which [`implicit::solve`] finds.
#[inline(never)]
fn from_mode<F: Family>(tilt: &Tilt<'_, F>, at_m: (f64, f64)) -> Tilted {
    let root = implicit::solve(tilt.family, tilt.observation, tilt.m, tilt.s, at_m);
    let centre = Centre::new(root.shift, root.gain, root.first, root.second, tilt.s);
    // A runaway predictor under a steep loss: u is rounded by more than the density is wide, but
    // beside the way to the mode that width is nothing.
    let way = tilt.m.abs() + root.shift.abs() + tilt.observation.offset.abs();
    if f64::EPSILON * way * root.first.abs().max(root.gain.abs()) > RESOLVED {
        return laplace(tilt, &root);
    }
    if centre.variance <= WIDE
        && let Some(done) = hermite::integrate(tilt, &centre)
    {
        return done;
    }
    trapezoid::integrate(tilt, &centre)
}

/// The Gaussian about the mode in place of the tilted density.
fn laplace<F: Family>(tilt: &Tilt<'_, F>, root: &implicit::Root) -> Tilted {
    Tilted {
        step: Step::bounded(root.gain, root.second, tilt.s),
        at: tilt.m + root.shift,
        offset: -0.5 * root.gain * root.shift,
        mass: 1.0,
        spread: 1.0 + root.second * tilt.s,
    }
}

/// $(g, \alpha)$ from the sums, and the relative gap between the two forms of $c$ beyond what
/// rounding explains.
///
/// Both derivatives of $\ln Z$ have two forms, $g = E[-\ell'] = (E[u]-m)/s$ and $c = E[\ell''] -
/// \mathrm{Var}[\ell'] = (1 - \mathrm{Var}[u]/s)/s$; each is taken in the form that cancels less.
/// They agree by partial integration, which a sum over nodes obeys only as far as it has converged.
#[inline(always)]
fn step(sums: &Sums, centre: &Centre, s: f64) -> (Step, f64) {
    let norm = 1.0 / sums.mass;
    let (mean_x, mean_delta) = (sums.x * norm, sums.delta * norm);
    let variance = (sums.xx * norm - mean_x * mean_x).max(0.0);
    let spread = (sums.square * norm - mean_delta * mean_delta).max(0.0);
    let second = sums.second * norm;

    let first = centre.first + mean_delta;
    let shift = centre.shift + mean_x;
    let by_derivative = (first * first + spread) * shift * shift
        <= (centre.shift * centre.shift + variance) * first * first;
    let gain = if by_derivative { -first } else { shift / s };

    let ratio = variance / s;
    let contraction = second - spread;
    // Relative rounding errors: (second + spread)/contraction against ratio/(1 - ratio).
    let curvature = if contraction > 0.0 && (second + spread) * (1.0 - ratio) <= ratio * contraction
    {
        contraction / (1.0 - contraction * s)
    } else {
        (1.0 - ratio) / variance
    };
    let difference = (contraction * s - (1.0 - ratio)).abs();
    let gap = (difference - ROUNDING * (1.0 + (second + spread) * s)).max(0.0) / (contraction * s);
    (Step::bounded(gain, curvature, s), gap)
}

/// The same in the form that needs no derivative of the loss.
fn step_by_moments(sums: &Sums, centre: &Centre, s: f64) -> Step {
    let mean_x = sums.x / sums.mass;
    let variance = (sums.xx / sums.mass - mean_x * mean_x).max(0.0);
    Step::bounded((centre.shift + mean_x) / s, (1.0 - variance / s) / variance, s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Bernoulli, Gaussian};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Gauss-Hermite, where it trusts itself, against the trapezoid, which shares no node with it.
    #[test]
    fn the_two_integrations_agree() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut accepted = 0;
        for _ in 0..20_000 {
            let weight = 10f64.powf(rng.random_range(-2.0..3.0));
            let observation = &Observation { y: 1.0, weight, offset: 0.0 };
            let (m, s) = (rng.random_range(-20.0..20.0), 10f64.powf(rng.random_range(-5.0..1.0)));
            let tilt = Tilt { family: &Bernoulli, observation, m, s };
            let root = implicit::solve(
                &Bernoulli,
                observation,
                m,
                s,
                observation.derivatives(&Bernoulli, m),
            );
            let centre = Centre::new(root.shift, root.gain, root.first, root.second, s);
            let Some(fast) = hermite::integrate(&tilt, &centre) else { continue };
            accepted += 1;
            let slow = trapezoid::integrate(&tilt, &centre);
            let close = |a: f64, b: f64| (a - b).abs() <= 8e-10 * b.abs();
            let same = close(fast.step.gain, slow.step.gain)
                && close(fast.step.contraction, slow.step.contraction);
            let log_evidence = slow.log_evidence(&tilt);
            let evidence = (fast.log_evidence(&tilt) - log_evidence).abs()
                <= 1e-9 * log_evidence.abs().max(1.0);
            assert!(same && evidence, "{weight} {m} {s}: {fast:?} {slow:?}");
        }
        assert!(accepted > 10_000, "{accepted}");
    }

    #[test]
    fn steps_of_both_forms_are_the_closed_form() {
        let (family, observation) = (Gaussian::default(), &Observation::new(2.0));
        let (m, s) = (-1.0, 3.0);
        let tilt = Tilt { family: &family, observation, m, s };
        let root = implicit::solve(&family, observation, m, s, observation.derivatives(&family, m));
        let centre = Centre::new(root.shift, root.gain, root.first, root.second, s);
        let exact = family.exact_moments(observation, m, s).unwrap();
        for found in
            [hermite::integrate(&tilt, &centre).unwrap(), trapezoid::integrate(&tilt, &centre)]
        {
            assert!(
                (found.log_evidence(&tilt) - exact.evidence.ln()).abs() < 1e-13,
                "{found:?} {exact:?}"
            );
            assert!(
                (found.step.gain - exact.step.gain).abs() < 1e-13
                    && (found.step.curvature - 1.0).abs() < 1e-12,
                "{found:?}"
            );
        }
    }
}
