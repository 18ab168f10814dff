//! The normal laws of different width that Student's law is a mixture of.

use libm::lgamma;

/// Depth in nats at which the integral over widths is cut off.
const CUT_DEPTH: f64 = 21.0;
/// Largest spacing of its nodes, in the logarithm of the precision, and in deviations of a narrow
/// density: the trapezoid rule is then accurate to $10^{-9}$.
const MAX_SPACING: f64 = 0.45;
const MAX_DEVIATIONS: f64 = 0.8;
/// Most nodes: a row of a tiny weight has a long tail, which does not matter.
const MAX_NODES: f64 = 400.0;

/// A normal law among those that Student's law is a mixture of.
pub(super) struct Width {
    /// $V$.
    pub noise: f64,
    /// The logarithm of $\frac{\lambda^k e^{-\lambda}}{\Gamma(k)}$ times the spacing in
    /// $\ln\lambda$.
    pub log_weight: f64,
}

/// Nodes in $\ln\lambda$ for residuals up to a size.
#[derive(Clone)]
pub(super) struct Widths {
    k: f64,
    spread: f64,
    /// The next node, the last one, and the distance of nodes.
    log: f64,
    first: f64,
    spacing: f64,
    lambda: f64,
    growth: f64,
    log_norm: f64,
}

impl Widths {
    pub fn new(k: f64, spread: f64, square: f64) -> Self {
        let width = 1.0 / k.sqrt();
        let peak = (k / (1.0 + square / spread)).ln();
        let first = peak - (CUT_DEPTH / k).max(6.5 * width) - width;
        let last = (k + 6.5 * k.sqrt() + CUT_DEPTH).ln();
        let spacing = MAX_SPACING.min(MAX_DEVIATIONS * width).max((last - first) / MAX_NODES);
        Self {
            k,
            spread,
            log: last,
            first,
            spacing,
            lambda: last.exp(),
            growth: spacing.exp(),
            log_norm: spacing.ln() - lgamma(k),
        }
    }
}

impl Iterator for Widths {
    type Item = Width;

    #[inline(always)]
    fn next(&mut self) -> Option<Width> {
        if self.log <= self.first {
            return None;
        }
        let noise = 0.5 * self.spread / self.lambda;
        let log_weight = self.k * self.log - self.lambda + self.log_norm;
        self.log -= self.spacing;
        self.lambda /= self.growth;
        Some(Width { noise, log_weight })
    }
}
