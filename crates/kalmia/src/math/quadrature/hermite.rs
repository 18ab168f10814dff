//! Gauss-Hermite integration about a Gaussian close to the tilted density, with a check of its own
//! accuracy.

use super::tables::*;
use super::tilted::{Center, Sums, Tilt, Tilted, derivatives};
use crate::math::{Likelihood, Potential};

/// Bound on the squared top coefficients of $r$ times $\ell'' v$, the part of their error that
/// reaches $c$.
const SQUARE_LIMIT: f64 = 2e-12;
/// Smallest $\ell'' v$ in that product; keeps $\ln Z$ itself exact to $10^{-9}$.
const MIN_ROW_PART: f64 = 0.03;
/// Bound on what the terms of $r$ of degree $2N-2$, seen through those of $\ell''$, do to
/// $\mathrm{Var}[u]$ and so to $c$.
const PAIR_LIMIT: f64 = 1e-11;
/// Smallest likelihood that others are divided by.
const MIN_LIKELIHOOD: f64 = 1e-200;
/// Largest relative gap between the two forms of $c$.
const MAX_GAP: f64 = 3e-11;

/// Tries the smallest rule that should do, then the next; `None` when the integrand is not smooth
/// enough for any.
#[inline(always)]
pub(super) fn integrate<P: Potential>(tilt: &Tilt<'_, P>, center: &Center) -> Option<Tilted> {
    let v = center.variance;
    if v <= 0.0015
        && let Some(done) = apply(tilt, center, &HERMITE_3, Some(&INTEGRAL_3), 4e-2)
    {
        return Some(done);
    }
    if v <= 0.011
        && let Some(done) = apply(tilt, center, &HERMITE_4, Some(&INTEGRAL_4), 1e-2)
    {
        return Some(done);
    }
    if v <= 0.033
        && let Some(done) = apply(tilt, center, &HERMITE_5, Some(&INTEGRAL_5), 4e-3)
    {
        return Some(done);
    }
    wider(tilt, center)
}

#[inline(never)]
fn wider<P: Potential>(tilt: &Tilt<'_, P>, center: &Center) -> Option<Tilted> {
    let v = center.variance;
    if v <= 0.09
        && let Some(done) = apply(tilt, center, &HERMITE_7, Some(&INTEGRAL_7), 1e-3)
    {
        return Some(done);
    }
    if v <= 0.2
        && let Some(done) = apply(tilt, center, &HERMITE_10, None, 1e-4)
    {
        return Some(done);
    }
    if v <= 0.45
        && let Some(done) = apply(tilt, center, &HERMITE_15, None, 3e-5)
    {
        return Some(done);
    }
    apply(tilt, center, &HERMITE_21, None, 3e-5)
}

/// One rule, accepted if the top two Hermite coefficients of the integrands are below `tolerance`.
///
/// Up to seven nodes $\ell$ itself is not evaluated: its differences between nodes are integrals of
/// the polynomial that has $\ell', \ell''$ there. They are as exact as the rule, cheaper, and free
/// of the rounding of large losses.
///
/// With $u = c + \sqrt v\,x$ the tilted density is $N(x; 0, 1)\,r(x)$ up to a constant, $-\ln r =
/// w\ell(u) + \frac{c-m}{s}(u-c) - \frac12 \ell''_c (u-c)^2$. The error is about the square
/// of the last two Hermite coefficients, which the rule itself yields, so it checks its own
/// accuracy.
#[inline(always)]
fn apply<P: Potential, const N: usize>(
    tilt: &Tilt<'_, P>,
    center: &Center,
    rule: &Rule<N>,
    integral: Option<&Integral<N>>,
    tolerance: f64,
) -> Option<Tilted> {
    let scale = center.variance.sqrt();
    let at = tilt.m + center.shift;
    let potential = tilt.potential;
    let middle = scale * rule[N / 2].0;
    // r at the nodes relative to the one in the middle, and the derivatives
    let mut nodes = [(0.0, 0.0, 0.0); N];
    let quadratic = |x: f64| (x - middle) * (center.slope - 0.5 * center.curvature * (x + middle));
    let direct = if integral.is_none() { potential.likelihood(at + middle) } else { None };
    let mut loss = 0.0;
    if let Some(reference) = direct.filter(|found| found.value > MIN_LIKELIHOOD) {
        for (node, (point, _)) in nodes.iter_mut().zip(rule) {
            let x = scale * point;
            let Likelihood { value, first, second } = potential.likelihood(at + x)?;
            let ratio = value / reference.value * (-quadratic(x)).exp();
            *node = (ratio, first - center.first, second);
        }
    } else {
        for (node, (point, _)) in nodes.iter_mut().zip(rule) {
            let (first, second) = potential.derivatives(at + scale * point);
            *node = (0.0, first - center.first, second);
        }
        if integral.is_none() {
            loss = potential.loss(at + middle);
        }
        for i in 0..N {
            let x = scale * rule[i].0;
            let rise = match integral {
                Some(rows) => {
                    let sum: f64 = (0..N)
                        .map(|j| rows[i][j].0 * nodes[j].1 + rows[i][j].1 * scale * nodes[j].2)
                        .sum();
                    scale * sum + center.first * (x - middle)
                }
                None => potential.loss(at + x) - loss,
            };
            nodes[i].0 = (-(rise + quadratic(x))).exp();
        }
    }
    let mut sums = Sums::default();
    let mut top = [0.0; 6];
    for (&(ratio, delta, second), &(node, q)) in nodes.iter().zip(rule) {
        let r = ratio * q;
        sums.add(r * q, scale * node, delta, second);
        let rx = r * node;
        for (sum, term) in
            top.iter_mut().zip([r, rx, r * delta, rx * delta, r * second, rx * second])
        {
            *sum += term;
        }
    }
    // The sums carry w/n; the second of each pair of coefficients carries sqrt(n-1).
    let n = N as f64;
    let mass = sums.mass * n;
    let first = center.first * sums.mass * n + sums.delta * n;
    let second = sums.second * n;
    let top_two = |k: usize| top[k] * top[k] + top[k + 1] * top[k + 1] / (n - 1.0);
    let part = center.curvature * center.variance;
    // Tops below tolerance^2 and below PAIR_LIMIT/(part^2 share), as one factor without a division.
    let factor = (1.0 / (tolerance * tolerance)).max(part * part * (share(N) / PAIR_LIMIT));
    let smooth = top_two(0) * part.max(MIN_ROW_PART) <= SQUARE_LIMIT * mass * mass
        && factor * top_two(2) <= (first * first).max(sums.square * n * mass)
        && factor * top_two(4) <= second * second;
    let found = derivatives(&sums, center, tilt.s);
    // Below seven nodes the moment form is not accurate enough to check the other. From ten on, the
    // check of r suffices if the row dominates.
    let close = || {
        found.gap * (25.0 * part * part).min(1.0)
            <= MAX_GAP + 8.0 * f64::EPSILON * loss.abs() / part
    };
    let agreed = if N < 7 { part <= 0.1 } else { (N > 7 && part > 0.25) || close() };
    if !(smooth && agreed) {
        return None;
    }
    let offset = -0.5 * center.slope * center.shift
        - middle * (center.slope - 0.5 * center.curvature * middle);
    Some(Tilted {
        gain: found.gain,
        curvature: found.curvature,
        at: at + middle,
        offset,
        mass,
        spread: 1.0 + center.curvature * tilt.s,
    })
}

/// $n!\,(n-2)!/(2n-2)!$, what an `n`-point rule makes of the first degree that it gets wrong in
/// $x^2 r$.
const fn share(n: usize) -> f64 {
    let mut value = 1.0;
    let mut k = 1;
    while k + 2 <= n {
        value *= k as f64 / (n + k) as f64;
        k += 1;
    }
    value
}
