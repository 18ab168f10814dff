//! Gauss-Hermite integration about a Gaussian close to the tilted density, with a check of its own accuracy.

use super::tables::*;
use super::{Centre, Sums, Tilt, Tilted, step};
use crate::family::Family;

/// Bound on $\ell'' v$ times the squared top coefficients of $r$.
const SQUARE_LIMIT: f64 = 3e-11;

/// Tries the smallest rule that should do, then the next; `None` when the integrand is not smooth enough for any.
#[inline(always)]
pub(super) fn integrate<F: Family>(tilt: &Tilt<'_, F>, centre: &Centre) -> Option<Tilted> {
    let v = centre.variance;
    if v <= 0.003
        && let Some(done) = apply(tilt, centre, &HERMITE_3, 1e-3)
    {
        return Some(done);
    }
    if v <= 0.015
        && let Some(done) = apply(tilt, centre, &HERMITE_4, 2e-4)
    {
        return Some(done);
    }
    if v <= 0.06
        && let Some(done) = apply(tilt, centre, &HERMITE_5, 7e-5)
    {
        return Some(done);
    }
    wider(tilt, centre)
}

#[inline(never)]
fn wider<F: Family>(tilt: &Tilt<'_, F>, centre: &Centre) -> Option<Tilted> {
    let v = centre.variance;
    if v <= 0.2
        && let Some(done) = apply(tilt, centre, &HERMITE_7, 2e-5)
    {
        return Some(done);
    }
    if v <= 0.4
        && let Some(done) = apply(tilt, centre, &HERMITE_10, 1e-5)
    {
        return Some(done);
    }
    if v <= 0.8
        && let Some(done) = apply(tilt, centre, &HERMITE_15, 3e-6)
    {
        return Some(done);
    }
    apply(tilt, centre, &HERMITE_21, 1e-6)
}

/// One rule, accepted if the top two Hermite coefficients of the integrands are below `tolerance`.
///
/// With $u = c + \sqrt v\,x$ the tilted density is $N(x; 0, 1)\,r(x)$ up to a constant, $-\ln r = w\ell(u) + \frac{c-m}{s}(u-c) - \frac12 \ell''_c (u-c)^2$. An `N`-point rule
/// errs by the coefficients of $r$ beyond $2N-3$, about the square of those at $N-1$ and $N-2$, and these the rule can see.
#[inline(always)]
fn apply<F: Family, const N: usize>(tilt: &Tilt<'_, F>, centre: &Centre, rule: &Rule<N>, tolerance: f64) -> Option<Tilted> {
    let scale = centre.variance.sqrt();
    let at = tilt.m + centre.shift;
    let mut exponent = [0.0; N];
    for (e, &(node, _)) in exponent.iter_mut().zip(rule) {
        let x = scale * node;
        *e = tilt.observation.loss(tilt.family, at + x) + x * (centre.slope - 0.5 * centre.curvature * x);
    }
    let floor = exponent[N / 2];
    let mut sums = Sums::default();
    let mut top = [0.0; 6];
    for (&e, &(node, q)) in exponent.iter().zip(rule) {
        let x = scale * node;
        let r = (floor - e).exp() * q;
        let (first, second) = tilt.observation.derivatives(tilt.family, at + x);
        let delta = first - centre.first;
        sums.add(r * q, x, delta, second);
        let rx = r * node;
        for (sum, term) in top.iter_mut().zip([r, rx, r * delta, rx * delta, r * second, rx * second]) {
            *sum += term;
        }
    }
    let n = N as f64;
    // sums carry w/n; the second of each pair of coefficients carries sqrt(n-1).
    let mass = sums.mass * n;
    let limit = tolerance * tolerance;
    let small = |a: f64, b: f64, size: f64| a * a + b * b / (n - 1.0) <= limit * size;
    let first = centre.first * mass + sums.delta * n;
    // The error in r^2 reaches c through Var[l'], a part l'' v of it.
    let part = centre.curvature * centre.variance;
    let smooth = small(top[0], top[1], mass * mass)
        && (top[0] * top[0] + top[1] * top[1] / (n - 1.0)) * part <= SQUARE_LIMIT * mass * mass
        && small(top[2], top[3], (first * first).max(sums.square * n * mass))
        && small(top[4], top[5], (sums.second * n) * (sums.second * n));
    if !smooth {
        return None;
    }
    let base = 0.5 * centre.slope * centre.shift;
    Some(Tilted { step: step(&sums, centre, tilt.s), offset: -floor - base, mass, spread: 1.0 + centre.curvature * tilt.s })
}
