//! Expectations of a smooth step from 1 to 0 and of its derivatives under a wide Gaussian belief,
//! by a trapezoid rule whose nodes do not depend on the belief.

use super::elementary::exp;
use super::normal::normal_cdf;
use super::simd::arch;
use pulp::{Simd, WithSimd};
use std::f64::consts::TAU;

/// Nats below which a part of an integral is negligible beside the whole.
const NEGLIGIBLE_NATS: f64 = 27.5;
/// The same in deviations of a Gaussian.
const NEGLIGIBLE_DEVIATIONS: f64 = 7.5;
/// Largest mean in deviations: beyond it the Gaussian at 0 comes close to the smallest number.
const MAX_DEVIATIONS: f64 = 36.0;
/// Numbers in the widest register.
const LANES: usize = 8;

/// A function $S(u)$ that falls from 1 to 0, at the nodes of the rule: `N` chunks of eight.
///
/// $S$ is analytic in a strip, so the rule's error falls exponentially with the inverse distance
/// of its nodes. To the right of 0, $S$ must fall as $e^{-u}$; to the left of the first node it
/// must be 1 to rounding. $S$ itself does not vanish at both ends, so the rule takes its excess
/// over a normal distribution function, whose expectation has a closed form.
pub(crate) struct SmoothStep<const N: usize> {
    normal: Normal,
    first_node: f64,
    distance: f64,
    chunks: [Chunk; N],
}

/// $S - \Phi$, $-S'$ and $-uS'$ at neighboring nodes, times the distance of the nodes.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    excess: [f64; LANES],
    density: [f64; LANES],
    moment: [f64; LANES],
}

/// The function $\Phi((\text{center} - u)/\text{width})$ that is subtracted from the step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normal {
    pub center: f64,
    pub width: f64,
}

/// A step at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepValue {
    /// $S$.
    pub value: f64,
    /// $-S'$.
    pub density: f64,
}

/// Expectations of a step and its derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepExpectations {
    /// $E[S]$.
    pub value: f64,
    /// $E[-S']$.
    pub density: f64,
    /// $E[S'']$.
    pub second: f64,
}

impl<const N: usize> SmoothStep<N> {
    /// The table of `step` at `N` chunks of eight nodes from `first_node` on.
    pub fn new(
        first_node: f64,
        distance: f64,
        normal: Normal,
        step: impl Fn(f64) -> StepValue,
    ) -> Self {
        let chunk = |chunk: usize| {
            let nodes: [f64; LANES] =
                std::array::from_fn(|lane| first_node + (chunk * LANES + lane) as f64 * distance);
            let normal = nodes.map(|u| normal_cdf((normal.center - u) / normal.width));
            let values = nodes.map(&step);
            Chunk {
                excess: std::array::from_fn(|k| distance * (values[k].value - normal[k])),
                density: values.map(|value| distance * value.density),
                moment: std::array::from_fn(|k| distance * nodes[k] * values[k].density),
            }
        };
        Self { normal, first_node, distance, chunks: std::array::from_fn(chunk) }
    }

    /// $E[S]$, $E[-S']$ and $E[S'']$ for $u \sim N(m, s)$, $m \ge 0$; `None` if more nodes would be
    /// needed. Each is exact relative to its own size. Numbers below $10^{-290}$ may become 0.
    #[inline]
    pub fn expectation(&self, m: f64, s: f64) -> Option<StepExpectations> {
        let deviation = s.sqrt();
        // The integrands fall as e^{-u} N(u; m, s) on the right and as e^u N(u; m, s) on the left.
        let reach = NEGLIGIBLE_DEVIATIONS * deviation;
        let ratio = m / s;
        let right =
            if m < s { reach.min(NEGLIGIBLE_NATS / (1.0 - ratio)) } else { reach + (m - s) };
        let left = -reach.min(NEGLIGIBLE_NATS / (1.0 + ratio));
        let chunk = LANES as f64 * self.distance;
        let chunks = ((right - self.first_node) / chunk).ceil();
        if chunks.is_nan() || chunks > N as f64 {
            return None;
        }
        let to = chunks as usize;
        let from = ((left - self.first_node) / chunk).max(0.0) as usize;
        if m > MAX_DEVIATIONS * deviation {
            return Some(StepExpectations { value: 0.0, density: 0.0, second: 0.0 });
        }
        let sums = arch().dispatch(Sums { step: self, from, to, m, scale: -0.5 / s });
        let norm = 1.0 / (TAU.sqrt() * deviation);
        let Normal { center, width } = self.normal;
        let below = normal_cdf((center - m) / (s + width * width).sqrt());
        Some(StepExpectations {
            value: below + norm * sums[0],
            density: norm * sums[1],
            // by partial integration, which does not amplify the error of the rule
            second: norm * (m * sums[1] - sums[2]) / s,
        })
    }
}

/// $\sum_k f_k e^{-(u_k-m)^2/2s}$ of the three tables.
struct Sums<'a, const N: usize> {
    step: &'a SmoothStep<N>,
    from: usize,
    to: usize,
    m: f64,
    /// $-1/2s$.
    scale: f64,
}

impl<const N: usize> WithSimd for Sums<'_, N> {
    type Output = [f64; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> [f64; 3] {
        let Self { step, from, to, m, scale } = self;
        // Neighboring chunks have a ratio that itself changes by a constant factor: exponentials
        // for the first chunk only, two products for each of the others.
        let stride = LANES as f64 * step.distance;
        let change = exp(2.0 * scale * stride * stride);
        let mut gauss = [0.0; LANES];
        let mut ratio = [0.0; LANES];
        for lane in 0..LANES {
            let d = step.first_node + (from * LANES + lane) as f64 * step.distance - m;
            gauss[lane] = exp(scale * d * d);
            ratio[lane] = exp(scale * stride * (2.0 * d + stride));
        }
        let mut sums = [[0.0; LANES]; 3];
        let chunks = &step.chunks[from..to];
        for Chunk { excess, density, moment } in chunks {
            for lane in 0..LANES {
                sums[0][lane] += excess[lane] * gauss[lane];
                sums[1][lane] += density[lane] * gauss[lane];
                sums[2][lane] += moment[lane] * gauss[lane];
                gauss[lane] *= ratio[lane];
                ratio[lane] *= change;
            }
        }
        sums.map(|lanes| lanes.iter().sum())
    }
}
