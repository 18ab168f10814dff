//! Integration of any log-concave tilted density, however skewed: the trapezoid rule in $t$ with $u
//! = k + a\sinh t$.
//!
//! A wide prior cut off by a likelihood has two scales: the likelihood's, at the knee $k$ of the
//! log density, and the prior's, far from it. The substitution follows both, and the trapezoid rule
//! then converges exponentially for analytic $\ell$; it is halved until two successive sums agree.

use super::tilted::{Center, Sums, Tilt, Tilted, derivatives, derivatives_by_moments};
use crate::math::Potential;
use std::f64::consts::TAU;

/// First step in `t`; the result is from half of it or less.
const FIRST_STEP: f64 = 0.26;
/// Most halvings of the step; only a loss with kinks needs them all.
const MAX_HALVINGS: usize = 6;
/// Largest relative difference of two successive sums; the error of the finer one is about its
/// square.
const MAX_DISAGREEMENT: f64 = 3e-6;
/// Smallest term, relative to its sum: smaller ones end a tail.
const MIN_TERM: f64 = 1e-17;
/// Nats below the mode between which the knee is sought.
const KNEE_DROP: std::ops::Range<f64> = 30.0..70.0;
/// Scale $a$ of the substitution in widths of the knee.
const KNEE_SCALE: f64 = 0.75;
/// Largest $a$ as a part of the length between the two ends; a Gaussian is then sampled every half
/// deviation.
const MAX_SCALE: f64 = 1.0 / 6.0;
/// Smallest relative change of $\ell'$ that is more than rounding.
const MIN_RISE: f64 = 1e-12;

pub(super) fn integrate<P: Potential>(tilt: &Tilt<'_, P>, center: &Center) -> Tilted {
    let density = Density { tilt, center, floor: tilt.potential.loss(tilt.m + center.shift) };
    let grid = density.grid();
    let mut h = FIRST_STEP;
    let mut total = Tail::default();
    let mut count = density.tail(&grid, 0.0, h, &mut total);
    let left = density.tail(&grid, -h, -h, &mut total);
    count += left;
    let mut from = -(left as f64) * h;
    let mut converged = false;
    for _ in 0..MAX_HALVINGS {
        let coarse = total;
        from -= 0.5 * h;
        density.fill(&grid, from, h, count + 1, &mut total);
        h *= 0.5;
        count = 2 * count + 1;
        converged = total.agrees_with_twice(&coarse);
        if converged {
            break;
        }
    }
    // A kink affects the sums of the derivatives first.
    let found = if converged {
        derivatives(&total.sums, center, tilt.s)
    } else {
        derivatives_by_moments(&total.sums, center, tilt.s)
    };
    Tilted {
        gain: found.gain,
        curvature: found.curvature,
        at: tilt.m + center.shift,
        offset: -0.5 * center.slope * center.shift,
        mass: total.sums.mass * h,
        spread: TAU * tilt.s,
    }
}

/// The sums, and the absolute sum of $\ell'$ that decides when its tail is negligible.
#[derive(Debug, Clone, Copy, Default)]
struct Tail {
    sums: Sums,
    first: f64,
}

impl Tail {
    #[inline(always)]
    fn negligible(&self, p: f64, x: f64, first: f64, second: f64) -> bool {
        p <= MIN_TERM * self.sums.mass
            && p * x * x <= MIN_TERM * self.sums.xx
            && p * first.abs() <= MIN_TERM * self.first
            && p * second <= MIN_TERM * self.sums.second
    }

    /// Whether these sums are twice the coarser ones, as they are when both have converged.
    fn agrees_with_twice(&self, coarse: &Self) -> bool {
        let a = &self.sums;
        let b = &coarse.sums;
        let close = |fine: f64, coarse: f64, size: f64| {
            (fine - 2.0 * coarse).abs() <= MAX_DISAGREEMENT * size
        };
        close(a.mass, b.mass, a.mass)
            && close(a.x, b.x, (a.mass * a.xx).sqrt())
            && close(a.xx, b.xx, a.xx)
            && close(a.delta, b.delta, self.first)
            && close(a.square, b.square, a.square + a.second)
            && close(a.second, b.second, a.second)
    }
}

/// $u = c + k + a \sinh t$, `c` the center.
struct Grid {
    knee: f64,
    scale: f64,
}

/// The tilted density relative to its mode, in $x = u - c$.
struct Density<'a, P> {
    tilt: &'a Tilt<'a, P>,
    center: &'a Center,
    floor: f64,
}

impl<P: Potential> Density<'_, P> {
    /// $-\ln$ of the density, zero at the mode.
    #[inline(always)]
    fn energy(&self, x: f64) -> f64 {
        let loss = self.tilt.potential.loss(self.tilt.m + self.center.shift + x);
        loss - self.floor + x * (self.center.slope + 0.5 * x / self.tilt.s)
    }

    #[inline(always)]
    fn derivatives(&self, x: f64) -> (f64, f64) {
        self.tilt.potential.derivatives(self.tilt.m + self.center.shift + x)
    }

    /// A point on the side of `sign` where the density is `KNEE_DROP` nats below the mode.
    fn reach(&self, sign: f64) -> f64 {
        let mut low = 0.0;
        let mut high = f64::INFINITY;
        let mut x = (90.0 * self.center.variance).sqrt();
        for _ in 0..100 {
            let drop = self.energy(sign * x);
            if KNEE_DROP.contains(&drop) {
                break;
            }
            if drop < KNEE_DROP.start {
                low = x;
            } else {
                high = x;
            }
            x = match (low > 0.0, high < f64::INFINITY) {
                (true, true) => (low * high).sqrt(),
                (true, false) => 2.0 * low,
                _ => 0.3 * high,
            };
        }
        sign * x
    }

    /// The knee: where $\ell'$ is half way between its values at the two ends, as wide as its
    /// change is steep.
    fn grid(&self) -> Grid {
        let mut low = self.reach(-1.0);
        let mut high = self.reach(1.0);
        let from = self.derivatives(low).0;
        let to = self.derivatives(high).0;
        let middle = 0.5 * (from + to);
        let rise = to - from;
        let length = high - low;
        let mut knee = 0.0;
        let mut curvature = 0.0;
        for _ in 0..60 {
            let first;
            (first, curvature) = self.derivatives(knee);
            if (first - middle).abs() <= 0.15 * rise {
                break;
            }
            if first < middle {
                low = knee;
            } else {
                high = knee;
            }
            knee = 0.5 * (low + high);
        }
        let scale = KNEE_SCALE * rise / curvature;
        let widest = MAX_SCALE * length;
        let seen = rise > MIN_RISE * from.abs().max(to.abs()) && scale < widest;
        if seen { Grid { knee, scale } } else { Grid { knee: 0.0, scale: widest } }
    }

    /// Adds the nodes $t = t_0 + jh$, $j = 0, 1, \dots$ until they are negligible, and returns how
    /// many.
    fn tail(&self, grid: &Grid, from: f64, h: f64, total: &mut Tail) -> usize {
        let growth = h.exp();
        let mut e = from.exp();
        let mut count = 0;
        while self.node(grid, e, total) {
            e *= growth;
            count += 1;
        }
        count
    }

    /// Adds `count` nodes $t = t_0 + jh$.
    fn fill(&self, grid: &Grid, from: f64, h: f64, count: usize, total: &mut Tail) {
        let growth = h.exp();
        let mut e = from.exp();
        for _ in 0..count {
            self.node(grid, e, total);
            e *= growth;
        }
    }

    /// Adds the node $t = \ln e$ unless it is negligible.
    #[inline(always)]
    fn node(&self, grid: &Grid, e: f64, total: &mut Tail) -> bool {
        let up = 0.5 * grid.scale * e;
        let down = 0.5 * grid.scale / e;
        let x = grid.knee + (up - down);
        let p = (-self.energy(x)).exp() * (up + down);
        // Zero where the loss or its derivatives overflow.
        if p.is_nan() || p <= 0.0 {
            return false;
        }
        let (first, second) = self.derivatives(x);
        if total.negligible(p, x, first, second) {
            return false;
        }
        total.sums.add(p, x, first - self.center.first, second);
        total.first += p * first.abs();
        true
    }
}
