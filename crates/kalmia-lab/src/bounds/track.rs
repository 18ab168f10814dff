//! One filter on eight replicates with what is measured of it along the way.

use super::eigenvalue::Extremes;
use super::excess::Excess;
use super::exits::Exits;
use crate::feed::Piece;
use crate::kernel::{Filter, Rule, Trace};
use crate::lanes::{LANES, V, dispatch};
use crate::world::{D, World};

/// What to run and what to measure.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub world: World,
    pub rule: Rule,
    pub excess: Excess,
    /// Radii of the balls whose exits are recorded.
    pub radii: Vec<f64>,
}

impl Setup {
    /// Whether the weights have a lower bound.
    pub fn truncates(&self) -> bool {
        matches!(self.rule, Rule::Truncated { .. })
    }
}

/// A filter at work.
pub(super) struct Track<'a> {
    setup: &'a Setup,
    star: [V; D],
    filter: Filter,
    trace: Trace,
    distances: Vec<V>,
    pub exits: Exits,
    /// The last time at which $\alpha_t\ne\ell''$; 0 if never.
    pub last_truncated: V,
    /// Cumulative excess risk since the first measured row.
    pub total: V,
}

impl<'a> Track<'a> {
    /// Before the first row.
    pub fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            star: setup.world.generator().map(V::splat),
            filter: Filter::new(setup.rule, 1.0),
            trace: Trace::default(),
            distances: Vec::new(),
            exits: Exits::new(&setup.radii),
            last_truncated: V::ZERO,
            total: V::ZERO,
        }
    }

    /// Learns rows without measuring them.
    pub fn skip(&mut self, piece: &Piece) {
        self.filter.learn(piece.block, piece.rows.clone());
    }

    /// Learns rows and measures each of them before it is learned.
    pub fn learn(&mut self, piece: &Piece) {
        self.filter.learn_traced(piece.block, piece.rows.clone(), Some(&mut self.trace));
        dispatch(
            #[inline(always)]
            || self.measure(piece),
        );
    }

    #[inline(always)]
    fn measure(&mut self, piece: &Piece) {
        let xs = &piece.block.x[piece.rows.clone()];
        self.distances.clear();
        for ((theta, &m), x) in self.trace.theta.iter().zip(&self.trace.predictions).zip(xs) {
            let mut error = [V::ZERO; D];
            let mut square = V::ZERO;
            for j in 0..D {
                error[j] = theta[j] - self.star[j];
                square = error[j].mul_add(error[j], square);
            }
            self.distances.push(square);
            self.total += self.setup.excess.at(&error, m, x, &self.star);
        }
        self.exits.add(&self.distances, piece.first);
        if let Rule::Truncated { scale, beta } = self.setup.rule {
            let threshold = |t: u64| V::splat(scale * (t as f64).powf(-beta));
            // The threshold falls, so a piece above its first value has no truncated row.
            let high = threshold(piece.first);
            // Loops, not adapters: what is not inlined here is compiled without vectors.
            let mut least = V::ONE;
            for &m in &self.trace.predictions {
                least = least.min(curvature_margin(m, high));
            }
            if least.0.iter().any(|&margin| margin < 0.0) {
                for (t, &m) in (piece.first..).zip(&self.trace.predictions) {
                    let time = V::splat(t as f64);
                    self.last_truncated =
                        curvature_margin(m, threshold(t)).select(self.last_truncated, time);
                }
            }
        }
    }

    /// Largest and smallest eigenvalue of $P$ in each lane.
    pub fn eigenvalues(&self) -> [Extremes; LANES] {
        std::array::from_fn(|lane| Extremes::of(self.filter.covariance(lane)))
    }
}

/// Negative if and only if $\ell''(m) = e/(1+e)^2$, $e = e^{-|m|}$, is below the threshold: then
/// the truncated filter replaces it.
#[inline(always)]
pub(super) fn curvature_margin(m: V, threshold: V) -> V {
    let e = (-m.map(f64::abs)).exp_negative();
    let one_e = V::ONE + e;
    e - threshold * one_e * one_e
}
