//! Adaptive integrals for predictions: $E[f(u)]$ and $\ln E[e^{-\ell(u)}]$ for $u \sim N(m,s)$.

use crate::math::{Potential, find_mode};
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

/// Most halvings of one panel: a jump is then placed to $10^{-12}$ of the panel.
const MAX_DEPTH: u32 = 40;
/// Most halvings between two edges, which bounds the time that a noisy function takes.
const MAX_HALVINGS: u32 = 5000;
/// Half-width of the integral in deviations: the mass outside is $2\cdot10^{-19}$.
pub(crate) const REACH: f64 = 9.0;
/// Nats below the mode at which a log-concave integrand is cut off.
const CUT_DEPTH: f64 = 40.0;

/// Kronrod's sum and its difference to Gauss's.
fn panel(f: &impl Fn(f64) -> f64, a: f64, b: f64) -> (f64, f64) {
    let center = 0.5 * (a + b);
    let half = 0.5 * (b - a);
    let mut kronrod = 0.0;
    let mut gauss = 0.0;
    for (node, k, g) in NODES {
        let value =
            if node == 0.0 { f(center) } else { f(center - half * node) + f(center + half * node) };
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
    // Kronrod's sum is far more accurate than this difference.
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
        let mut budget = MAX_HALVINGS;
        adaptive(&f, e[0], e[1], tolerance, MAX_DEPTH, &mut budget)
    };
    edges.windows(2).map(stretch).sum()
}

/// $E[f(u)]$ for $u \sim N(m, s)$, to about $10^{-10}$ of $E|f|$ for smooth `f`.
///
/// `f` is evaluated within nine deviations of `m`: a function that grows like $e^u$ needs $s \ll
/// 9$. For a wide belief the integral is split near $u = 0$, where links bend; a bend elsewhere
/// should not be narrower than a hundredth of $\sqrt s$.
pub(crate) fn gaussian_expectation(m: f64, s: f64, f: impl Fn(f64) -> f64) -> f64 {
    let deviation = s.sqrt();
    let bends = if s > 16.0 {
        [-40.0, -5.0, 0.0, 5.0, 40.0].map(|u| (u - m) / deviation)
    } else {
        [f64::NAN; 5]
    };
    expectation_split(m, deviation, f, bends)
}

/// $E[f(u)]$ with the integral split at `splits` too, in deviations; NaN and splits beyond
/// [`REACH`] are ignored.
pub(crate) fn expectation_split(
    m: f64,
    deviation: f64,
    f: impl Fn(f64) -> f64,
    splits: [f64; 5],
) -> f64 {
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

/// $\ln E[e^{-\ell(u)}]$ for $u \sim N(m,s)$, accurate in the logarithm however small it is.
///
/// The integrand is log-concave in $z = (u-m)/\sqrt s$: it is centered at its mode and cut off
/// [`CUT_DEPTH`] nats below it, so no peak is missed, however narrow.
pub(crate) fn ln_z<P: Potential>(potential: &P, m: f64, s: f64) -> f64 {
    let deviation = s.sqrt();
    if deviation == 0.0 {
        return -potential.loss(m);
    }
    let height = |z: f64| 0.5 * z * z + potential.loss(m + deviation * z);
    let found = find_mode(potential, m, s, potential.derivatives(m));
    let mode = found.shift / deviation;
    let width = 1.0 / (1.0 + s * found.second).sqrt();
    let floor = height(mode);
    let fallen = |z: f64| height(z) - floor;
    let low = cut(&fallen, mode, -width);
    let high = cut(&fallen, mode, width);
    integrate(|z| (-fallen(z)).exp(), &[low, mode, high]).ln() - floor - 0.5 * TAU.ln()
}

/// From `mode` in the direction of `step` to where `fallen` is between [`CUT_DEPTH`] and a little
/// more.
fn cut(fallen: &impl Fn(f64) -> f64, mode: f64, step: f64) -> f64 {
    let mut inside = 0.0;
    let mut reach = step;
    while fallen(mode + reach) < CUT_DEPTH {
        inside = reach;
        reach *= 2.0;
    }
    while fallen(mode + reach) > 2.0 * CUT_DEPTH {
        let middle = 0.5 * (inside + reach);
        if middle == inside || middle == reach {
            break;
        }
        if fallen(mode + middle) < CUT_DEPTH { inside = middle } else { reach = middle }
    }
    mode + reach
}
