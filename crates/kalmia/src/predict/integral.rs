//! Integrals over the linear predictor: $E[f(u)]$ and $\ln E[e^{-\ell(y,u)}]$ for $u \sim N(m,s)$.

use super::fall;
use crate::family::Family;
use std::f64::consts::TAU;

/// Kronrod's 15 nodes on $[0,1]$ side (the odd ones are Gauss's 7), with both weights.
const NODES: [(f64, f64, f64); 8] = [
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_56, 0.129_484_966_168_869_7),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18, 0.0),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92, 0.279_705_391_489_276_64),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4, 0.381_830_050_505_118_9),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9, 0.0),
    (0.0, 0.209_482_141_084_727_82, 0.417_959_183_673_469_4),
];

/// Halvings of a panel: a step of any steepness is then placed to $10^{-12}$ of the panel.
const DEPTH: u32 = 40;
/// Halvings in all for one stretch between edges, so that a noisy function costs time but not
/// without end.
const BUDGET: u32 = 5000;
/// Half-width of the integral in deviations: the mass outside is $2\cdot10^{-19}$.
const REACH: f64 = 9.0;
/// A log-concave integrand is cut where it fell by $e^{-40}$.
const FALL: f64 = 40.0;
/// The slope in units of the curvature's root below which a mode is found: a cliff next to it is
/// then seen, or too narrow to matter.
const FLAT: f64 = 1e-6;

/// Kronrod's sum and its difference to Gauss's.
fn panel(f: &impl Fn(f64) -> f64, a: f64, b: f64) -> (f64, f64) {
    let (centre, half) = (0.5 * (a + b), 0.5 * (b - a));
    let (mut kronrod, mut gauss) = (0.0, 0.0);
    for (node, k, g) in NODES {
        let value =
            if node == 0.0 { f(centre) } else { f(centre - half * node) + f(centre + half * node) };
        kronrod += k * value;
        gauss += g * value;
    }
    (half * kronrod, half * (kronrod - gauss).abs())
}

/// $\int_a^b f$, halving panels until Gauss and Kronrod agree to `tolerance` in each.
fn adaptive(
    f: &impl Fn(f64) -> f64,
    a: f64,
    b: f64,
    tolerance: f64,
    depth: u32,
    budget: &mut u32,
) -> f64 {
    let (value, error) = panel(f, a, b);
    // Kronrod's sum is far better than the difference tells.
    if error <= tolerance || depth == 0 || *budget == 0 || error.is_nan() {
        return value;
    }
    *budget -= 1;
    let middle = 0.5 * (a + b);
    adaptive(f, a, middle, tolerance, depth - 1, budget)
        + adaptive(f, middle, b, tolerance, depth - 1, budget)
}

/// $\int f$ over the panels between `edges`, to about $10^{-11}$ of $\int |f|$.
fn integrate(f: impl Fn(f64) -> f64, edges: &[f64]) -> f64 {
    let size: f64 = edges.windows(2).map(|e| panel(&|z| f(z).abs(), e[0], e[1]).0).sum();
    let tolerance = 1e-11 * size;
    let stretch = |e: &[f64]| {
        let mut budget = BUDGET;
        adaptive(&f, e[0], e[1], tolerance, DEPTH, &mut budget)
    };
    edges.windows(2).map(stretch).sum()
}

/// $E[f(u)]$ for $u \sim N(m, s)$, to about $10^{-10}$ of $E|f|$ for smooth `f`.
///
/// `f` is looked at within nine deviations of `m`: a function that grows like $e^u$ needs $s \ll
/// 9$. For a wide belief the integral is split near $u = 0$, where links bend; a bend elsewhere
/// should not be narrower than a hundredth of $\sqrt s$.
///
/// ```
/// let second = kalmia::predict::gaussian_expectation(1.0, 4.0, |u| u * u);
/// assert!((second - 5.0).abs() < 1e-9);
/// ```
pub fn gaussian_expectation(m: f64, s: f64, f: impl Fn(f64) -> f64) -> f64 {
    let deviation = s.sqrt();
    let bends = if s > 16.0 {
        [-40.0, -5.0, 0.0, 5.0, 40.0].map(|u| (u - m) / deviation)
    } else {
        [f64::NAN; 5]
    };
    expectation_split(m, deviation, f, bends)
}

/// $P(Y \le y)$: the distribution function falls from 1 to 0 as `u` grows, and the integral is
/// split where it does, so that a fall of any steepness is seen.
pub(super) fn expected_cdf<F: Family>(family: &F, y: f64, m: f64, s: f64) -> f64 {
    if let Some(sum) = fall::cdf(family, y, m, s) {
        return sum;
    }
    let deviation = s.sqrt();
    let at = |z: f64| family.cdf(m + deviation * z, y);
    let (start, end) = (at(-REACH), at(REACH));
    let falls = [1.0 - 1e-13, 0.9, 0.5, 0.1, 1e-13].map(|level| {
        if (start > level) == (end > level) {
            return f64::NAN;
        }
        let (mut low, mut high) = (-REACH, REACH);
        while high - low > 1e-12 {
            let middle = 0.5 * (low + high);
            if (at(middle) > level) == (start > level) { low = middle } else { high = middle }
        }
        high
    });
    expectation_split(m, deviation, |u| family.cdf(u, y), falls).clamp(0.0, 1.0)
}

/// $E[f(u)]$ with the integral split at `splits` too (in deviations; NaN and those out of reach are
/// left out).
fn expectation_split(m: f64, deviation: f64, f: impl Fn(f64) -> f64, splits: [f64; 5]) -> f64 {
    if deviation == 0.0 {
        return f(m);
    }
    let mut edges = [-REACH, -4.5, -1.5, 1.5, 4.5, REACH, REACH, REACH, REACH, REACH, REACH];
    let mut count = 6;
    for split in splits.into_iter().filter(|z| z.abs() < REACH) {
        edges[count] = split;
        count += 1;
    }
    edges[..count].sort_by(f64::total_cmp);
    integrate(|z| (-0.5 * z * z).exp() * f(m + deviation * z), &edges[..count]) / TAU.sqrt()
}

/// $\ln E[e^{-\ell(y,u)}]$ for $u \sim N(m,s)$, accurate in the logarithm however unlikely `y` is.
///
/// The integrand is log-concave in $z = (u-m)/\sqrt s$: it is centred at its mode and cut where it
/// has fallen by $e^{-40}$, so that no peak is missed, however narrow.
pub(super) fn log_expected_likelihood<F: Family>(family: &F, y: f64, m: f64, s: f64) -> f64 {
    let deviation = s.sqrt();
    if deviation == 0.0 {
        return -family.loss(y, m);
    }
    let height = |z: f64| 0.5 * z * z + family.loss(y, m + deviation * z);
    let slope = |z: f64| {
        let (first, second) = family.derivatives(y, m + deviation * z);
        (z + deviation * first, 1.0 + s * second)
    };
    let (mode, width) = mode(slope);
    let floor = height(mode);
    let fallen = |z: f64| height(z) - floor;
    let (low, high) = (cut(&fallen, mode, -width), cut(&fallen, mode, width));
    integrate(|z| (-fallen(z)).exp(), &[low, mode, high]).ln() - floor - 0.5 * TAU.ln()
}

/// The zero of an increasing slope, to a small fraction of the width that the curvature there
/// gives, and that width.
///
/// The slope itself says when: on the plateau before a cliff the curvature is that of the plateau,
/// and a bracket narrow beside its width may still hold the cliff.
fn mode(slope: impl Fn(f64) -> (f64, f64)) -> (f64, f64) {
    let start = slope(0.0).0;
    // The zero lies between 0 and -start; towards it in growing steps, since a saturated start may
    // be astronomic.
    let (mut near, mut step) = (0.0, start.abs().min(1.0));
    let mut far = -start.signum() * step;
    while slope(far).0 * start > 0.0 {
        near = far;
        step *= 2.0;
        far -= start.signum() * step;
    }
    loop {
        let middle = 0.5 * (near + far);
        let (value, curvature) = slope(middle);
        if value.abs() <= FLAT * curvature.sqrt() || middle == near || middle == far {
            return (middle, 1.0 / curvature.sqrt());
        }
        if value * start > 0.0 { near = middle } else { far = middle }
    }
}

/// From `mode` in the direction of `step` to where `fallen` is between [`FALL`] and a little more.
fn cut(fallen: &impl Fn(f64) -> f64, mode: f64, step: f64) -> f64 {
    let (mut inside, mut reach) = (0.0, step);
    while fallen(mode + reach) < FALL {
        inside = reach;
        reach *= 2.0;
    }
    while fallen(mode + reach) > 2.0 * FALL {
        let middle = 0.5 * (inside + reach);
        if middle == inside || middle == reach {
            break;
        }
        if fallen(mode + middle) < FALL { inside = middle } else { reach = middle }
    }
    mode + reach
}
