//! One end of the intervals of one level: a threshold that follows a quantile of the scores.

use crate::error::{Result, require, require_count};
use serde::{Deserialize, Serialize};

/// The unit of a step, as a share of the size of the scores, and of the threshold's own distance
/// from their center. Their sum is about the inverse hazard of the scores at the threshold, both
/// for normal tails and for those of Student's law of 2 degrees of freedom, so a step moves the
/// share of misses by about as much at every level.
const SIZE_SHARE: f64 = 0.3;
const DISTANCE_SHARE: f64 = 0.2;
/// Expected misses of a window in which a change is looked for.
const WINDOW_MISSES: f64 = 8.0;
/// Misses of a window beyond the expected ones that show a change: 4 standard deviations.
const WINDOW_EXCESS: f64 = 12.0;
/// Misses that a window lacks, and that all rows since the last restart lack: no miss at all, and
/// too few before.
const WINDOW_LACK: f64 = 7.5;
const TOTAL_LACK: f64 = 9.0;
/// Distance of a threshold from the center, in sizes, from which a lack of misses halves it.
const FAR_OUT: f64 = 20.0;
/// Standard deviations, and misses, that the count since the last restart may be off.
const EXCESS_DEVIATIONS: f64 = 4.0;
const EXCESS_MISSES: f64 = 3.0;
/// A debt of so many misses is repaid at the rate of one tail; the rate is capped at this share.
const REPAY_MISSES: f64 = 50.0;
const MAX_REPAY_SHARE: f64 = 0.25;
/// Debts beyond are forgiven, because repaying takes long: the surplus of misses, and their lack.
const MAX_DEBT: f64 = 200.0;
const MAX_CREDIT: f64 = 50.0;
/// Largest size of a threshold, so that nothing overflows.
pub(super) const MAX_THRESHOLD: f64 = 1e100;

/// A threshold that a share `tail` of the scores exceeds in the long run, whatever they are.
///
/// $$q \mathrel{+}= \eta_t(1\{z_t > q\} - a + r),\qquad
/// \eta_t = (0.3\,\sigma + 0.2\,|q - c|)\,(1 + an)^{-5/8}$$
///
/// with the tail $a$, the size $\sigma$ and center $c$ of the scores and the rows $n$ since the
/// last restart: the decaying steps of Angelopoulos, Barber and Bates (2024), whose exponent may be
/// anything between 1/2 and 1. Their bound, for any scores: the sum of $1\{z_t>q\}-a+r$ is at
/// most the range of $q$ times the total variation of $1/\eta_t$.
///
/// Two things are added, because decaying steps alone follow a change too late. The steps restart
/// when the misses of a window, or all since the last restart, are more or fewer than chance
/// allows. And misses that were too many are repaid: $r$ aims at up to a quarter fewer than $a$
/// until their number is right, and the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Threshold {
    /// $q$.
    pub value: f64,
    /// Rows since the last restart.
    since: u64,
    /// Misses since then beyond those aimed at.
    excess: f64,
    /// The same in the current window.
    window: f64,
    /// Rows of the current window.
    window_rows: u32,
    /// Misses since the first row beyond their share.
    debt: f64,
}

/// Size and center of the scores, as known before the row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    pub size: f64,
    pub center: f64,
}

impl Threshold {
    /// Before the first row.
    pub fn new(value: f64) -> Self {
        Self { value, since: 0, excess: 0.0, window: 0.0, window_rows: 0, debt: 0.0 }
    }

    /// Takes whether the next score was missed.
    #[inline]
    pub fn row(&mut self, tail: f64, missed: bool, spread: Spread) {
        let surplus = f64::from(missed) - tail;
        let repay = (self.debt / REPAY_MISSES).clamp(-MAX_REPAY_SHARE, MAX_REPAY_SHARE);
        let aimed = surplus + tail * repay;
        let unit = SIZE_SHARE * spread.size + DISTANCE_SHARE * (self.value - spread.center).abs();
        let step = unit * decay(1.0 + tail * self.since as f64) * aimed;
        self.value = (self.value + step).clamp(-MAX_THRESHOLD, MAX_THRESHOLD);
        self.debt = (self.debt + surplus).clamp(-MAX_CREDIT, MAX_DEBT);
        self.since += 1;
        self.excess += aimed;
        self.window += aimed;
        self.window_rows += 1;
        let too_few = self.lacks_misses(tail);
        if too_few || self.window > WINDOW_EXCESS || self.is_off(tail) {
            let distance = self.value - spread.center;
            let far = too_few && distance.abs() > FAR_OUT * spread.size;
            let value = if far { spread.center + 0.5 * distance } else { self.value };
            *self = Self { debt: self.debt, ..Self::new(value) };
        }
    }

    /// Closes a window that is full; whether its misses are fewer than chance allows.
    fn lacks_misses(&mut self, tail: f64) -> bool {
        if f64::from(self.window_rows) * tail < WINDOW_MISSES {
            return false;
        }
        self.window_rows = 0;
        std::mem::take(&mut self.window) < -WINDOW_LACK && self.excess < -TOTAL_LACK
    }

    /// Whether the misses since the last restart are more or fewer than chance allows.
    fn is_off(&self, tail: f64) -> bool {
        let beyond = self.excess.abs() - EXCESS_MISSES;
        let variance = tail * (1.0 - tail) * self.since as f64;
        beyond > 0.0 && beyond * beyond > EXCESS_DEVIATIONS * EXCESS_DEVIATIONS * variance
    }

    /// Moves it by a factor, before anything else has moved it much.
    pub fn rescale(&mut self, factor: f64) {
        self.value = (self.value * factor).clamp(-MAX_THRESHOLD, MAX_THRESHOLD);
    }

    /// The mean of both, weighted by these shares. The steps continue as after the shorter of the
    /// two streams, because scores of the merged learner are new to both.
    pub fn merged(&self, share: f64, other: &Self, other_share: f64) -> Self {
        let value = share * self.value + other_share * other.value;
        Self { since: self.since.min(other.since), ..Self::new(value) }
    }

    /// Refuses a restored value that no rows can give.
    pub fn check(&self) -> Result<()> {
        require_count("rows since a restart", self.since)?;
        let value = self.value;
        require(value.abs() <= MAX_THRESHOLD, "threshold", value, "must be at most 1e100")?;
        for sum in [self.excess, self.window, self.debt] {
            require(sum.is_finite(), "misses", sum, "must be finite")?;
        }
        Ok(())
    }
}

/// $k^{-5/8}$ by roots, which are the same on every machine.
#[inline]
fn decay(k: f64) -> f64 {
    let root = k.sqrt();
    1.0 / (root * root.sqrt().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_decay_with_the_power() {
        for k in [1.0f64, 2.0, 1e3, 1e9] {
            assert!((decay(k) / k.powf(-0.625) - 1.0).abs() < 1e-14, "{k}");
        }
    }
}
