//! The tilted density $\propto N(u; m, s)\,e^{-\ell(u)}$: $\ln Z$ and its derivatives in $m$, fast.

use super::{hermite, trapezoid};
use crate::math::{Mode, Potential, find_mode};

/// A prior $N(m, s)$ with $s > 0$ times $e^{-\ell}$.
pub(crate) struct Tilt<'a, P> {
    pub potential: &'a P,
    pub m: f64,
    pub s: f64,
}

/// The point $c$ that integrals are taken about, with the Gaussian that approximates the tilted
/// density there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Center {
    /// $c - m$.
    pub shift: f64,
    /// $(c - m)/s$.
    pub slope: f64,
    /// A value of $\ell'$ near the center, subtracted before squares are summed.
    pub first: f64,
    /// $\ell''$ of the approximation.
    pub curvature: f64,
    /// $v = 1/(1/s + \ell'')$.
    pub variance: f64,
}

impl Center {
    fn at_mode(mode: &Mode, s: f64) -> Self {
        Self {
            shift: mode.shift,
            slope: mode.gain,
            first: mode.first,
            curvature: mode.second,
            variance: s / (1.0 + mode.second * s),
        }
    }
}

/// Weighted sums over the nodes, $x = u - c$ and $\Delta = \ell'(u) - \ell'_c$.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub mass: f64,
    pub x: f64,
    pub xx: f64,
    pub delta: f64,
    pub square: f64,
    pub second: f64,
}

impl Sums {
    #[inline(always)]
    pub fn add(&mut self, p: f64, x: f64, delta: f64, second: f64) {
        self.mass += p;
        self.x += p * x;
        self.xx += p * x * x;
        self.delta += p * delta;
        self.square += p * delta * delta;
        self.second += p * second;
    }
}

/// The derivatives of $\ln Z$, and what $\ln Z$ itself needs: apart, because a filter never asks
/// for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tilted {
    /// $g = (\ln Z)'(m)$.
    pub gain: f64,
    /// $\alpha = c/(1-cs)$ with $c = -(\ln Z)''(m)$.
    pub curvature: f64,
    /// The point whose loss is the reference of `mass`.
    pub(super) at: f64,
    pub(super) offset: f64,
    pub(super) mass: f64,
    pub(super) spread: f64,
}

impl Tilted {
    /// $\ln Z$ = offset - loss + ln mass - ½ ln spread.
    #[inline]
    pub fn ln_z<P: Potential>(&self, potential: &P) -> f64 {
        self.offset - potential.loss(self.at) + self.mass.ln() - 0.5 * self.spread.ln()
    }
}

/// Largest Laplace variance for which Gauss-Hermite is tried: $\ell$ of the usual families varies
/// on the scale 1.
const MAX_HERMITE_VARIANCE: f64 = 0.85;
/// Largest first Newton step, in squared deviations, that replaces the mode as the center.
const MAX_NEWTON_SHIFT: f64 = 0.25;
/// Largest rounding error of the log density, in nats, for which its integrals mean something.
const MAX_LOG_ROUNDING: f64 = 1e-3;
/// Largest second derivative of the loss whose density is integrated, for example that of a row of
/// a large weight. Above it the loss, of that size, is rounded by more than the density differs
/// from a Gaussian.
const MAX_CURVATURE: f64 = 1e10;
/// Relative rounding error of $\mathrm{Var}[u]/s$ and of $E[\ell'']s$.
const MOMENT_ROUNDING: f64 = 1e-14;

/// Integrates the tilted density: Gauss-Hermite where it is close to a Gaussian, a sinh-spaced
/// trapezoid otherwise. `at_m` are the derivatives of the loss at $m$.
#[inline]
pub(crate) fn integrate<P: Potential>(tilt: &Tilt<'_, P>, at_m: (f64, f64)) -> Tilted {
    let (first, curvature) = at_m;
    let spread = 1.0 + curvature * tilt.s;
    let slope = -first / spread;
    let near = Center { shift: slope * tilt.s, slope, first, curvature, variance: tilt.s / spread };
    if near.variance <= MAX_HERMITE_VARIANCE
        && first * first * near.variance <= MAX_NEWTON_SHIFT
        && curvature <= MAX_CURVATURE
        && let Some(done) = hermite::integrate(tilt, &near)
    {
        return done;
    }
    from_mode(tilt, at_m)
}

/// The same about the mode.
#[inline(never)]
fn from_mode<P: Potential>(tilt: &Tilt<'_, P>, at_m: (f64, f64)) -> Tilted {
    let mode = find_mode(tilt.potential, tilt.m, tilt.s, at_m);
    let center = Center::at_mode(&mode, tilt.s);
    // A linear predictor far out under a steep loss: `u` is rounded by more than the width of the
    // density, and that width is negligible beside the distance to the mode.
    let size = tilt.m.abs() + mode.shift.abs() + tilt.potential.offset().abs();
    let rounding = f64::EPSILON * size * mode.first.abs().max(mode.gain.abs());
    if rounding > MAX_LOG_ROUNDING || mode.second > MAX_CURVATURE {
        return laplace(tilt, &mode);
    }
    if center.variance <= MAX_HERMITE_VARIANCE
        && let Some(done) = hermite::integrate(tilt, &center)
    {
        return done;
    }
    trapezoid::integrate(tilt, &center)
}

/// The Gaussian about the mode in place of the tilted density.
fn laplace<P: Potential>(tilt: &Tilt<'_, P>, mode: &Mode) -> Tilted {
    Tilted {
        gain: mode.gain,
        curvature: mode.second,
        at: tilt.m + mode.shift,
        offset: -0.5 * mode.gain * mode.shift,
        mass: 1.0,
        spread: 1.0 + mode.second * tilt.s,
    }
}

/// $g$ and $\alpha$ from the sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Derivatives {
    pub gain: f64,
    pub curvature: f64,
    /// Relative gap between the two forms of $c$, beyond what rounding explains.
    pub gap: f64,
}

/// The derivatives of $\ln Z$ from the sums.
///
/// Both derivatives of $\ln Z$ have two forms, $g = E[-\ell'] = (E[u]-m)/s$ and $c = E[\ell''] -
/// \mathrm{Var}[\ell'] = (1 - \mathrm{Var}[u]/s)/s$; each is taken in the form that cancels less.
/// They agree by partial integration, which a sum over nodes obeys only once it has converged.
#[inline(always)]
pub(super) fn derivatives(sums: &Sums, center: &Center, s: f64) -> Derivatives {
    let norm = 1.0 / sums.mass;
    let mean_x = sums.x * norm;
    let mean_delta = sums.delta * norm;
    let variance = (sums.xx * norm - mean_x * mean_x).max(0.0);
    let spread = (sums.square * norm - mean_delta * mean_delta).max(0.0);
    let second = sums.second * norm;

    let first = center.first + mean_delta;
    let shift = center.shift + mean_x;
    let by_derivative = (first * first + spread) * shift * shift
        <= (center.shift * center.shift + variance) * first * first;
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
    let gap =
        (difference - MOMENT_ROUNDING * (1.0 + (second + spread) * s)).max(0.0) / (contraction * s);
    Derivatives { gain, curvature, gap }
}

/// The same in the forms that need no derivative of the loss.
pub(super) fn derivatives_by_moments(sums: &Sums, center: &Center, s: f64) -> Derivatives {
    let mean_x = sums.x / sums.mass;
    let variance = (sums.xx / sums.mass - mean_x * mean_x).max(0.0);
    Derivatives {
        gain: (center.shift + mean_x) / s,
        curvature: (1.0 - variance / s) / variance,
        gap: f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Bernoulli, FastPaths, Gaussian, RowLoss};
    use crate::rows::Observation;
    use crate::step::Step;
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
            let m = rng.random_range(-20.0..20.0);
            let s = 10f64.powf(rng.random_range(-5.0..1.0));
            let potential = &RowLoss { family: &Bernoulli, observation };
            let tilt = Tilt { potential, m, s };
            let mode = find_mode(potential, m, s, potential.derivatives(m));
            let center = Center::at_mode(&mode, s);
            let Some(fast) = hermite::integrate(&tilt, &center) else { continue };
            accepted += 1;
            let slow = trapezoid::integrate(&tilt, &center);
            let close = |a: f64, b: f64| (a - b).abs() <= 8e-10 * b.abs();
            let step = |found: &Tilted| Step::bounded(found.gain, found.curvature, s);
            let same = close(step(&fast).gain, step(&slow).gain)
                && close(step(&fast).contraction, step(&slow).contraction);
            let ln_z = slow.ln_z(potential);
            let evidence = (fast.ln_z(potential) - ln_z).abs() <= 1e-9 * ln_z.abs().max(1.0);
            assert!(same && evidence, "{weight} {m} {s}: {fast:?} {slow:?}");
        }
        assert!(accepted > 10_000, "{accepted}");
    }

    #[test]
    fn steps_of_both_forms_are_the_closed_form() {
        let family = Gaussian::default();
        let observation = &Observation::new(2.0);
        let potential = &RowLoss { family: &family, observation };
        let m = -1.0;
        let s = 3.0;
        let tilt = Tilt { potential, m, s };
        let mode = find_mode(potential, m, s, potential.derivatives(m));
        let center = Center::at_mode(&mode, s);
        let exact = family.exact_moments(observation, m, s).unwrap();
        for found in
            [hermite::integrate(&tilt, &center).unwrap(), trapezoid::integrate(&tilt, &center)]
        {
            assert!(
                (found.ln_z(potential) - exact.evidence.ln()).abs() < 1e-13,
                "{found:?} {exact:?}"
            );
            assert!(
                (found.gain - exact.step.gain).abs() < 1e-13
                    && (found.curvature - 1.0).abs() < 1e-12,
                "{found:?}"
            );
        }
    }
}
