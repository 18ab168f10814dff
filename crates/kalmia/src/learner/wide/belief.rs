//! The belief of all members about one linear predictor: a core and a tail.

use super::core::Core;
use super::lane_priors::{LanePriors, Root, RootStep};
use super::row::RowEntries;
use super::tail::Tail;
use super::{MAX_LANES, PerLane};
use crate::error::Result;
use crate::rule::Step;

/// A coordinate of the belief.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Coordinate {
    Core(usize),
    Tail(u32),
}

/// A coefficient as a sum of coordinates of the belief, each with a factor.
pub(super) type Terms = Vec<(Coordinate, f64)>;

/// What the members believe of the coefficients of one linear predictor.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    pub core: Core,
    pub tail: Tail,
}

/// $m$ and $s$ of a row under each member.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSums {
    pub m: PerLane,
    pub s: PerLane,
}

impl RowSums {
    pub const ZERO: Self = Self { m: [0.0; MAX_LANES], s: [0.0; MAX_LANES] };
}

/// What the members do with a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneSteps {
    pub gain: PerLane,
    pub contraction: PerLane,
}

impl LaneSteps {
    pub const ZERO: Self = Self { gain: [0.0; MAX_LANES], contraction: [0.0; MAX_LANES] };

    pub fn new(steps: &[Step; MAX_LANES]) -> Self {
        Self { gain: steps.map(|step| step.gain), contraction: steps.map(|step| step.contraction) }
    }
}

impl Belief {
    /// Of no feature but the leading numbers; `capacity` features fit into the core.
    pub fn new(capacity: usize, numbers: usize, lanes: usize) -> Result<Self> {
        Ok(Self { core: Core::new(capacity, numbers, lanes)?, tail: Tail::new(lanes) })
    }

    /// Bytes with so many features outside the core.
    pub fn bytes(capacity: usize, lanes: usize, features: usize) -> usize {
        Tail::bytes(lanes, features).saturating_add(Core::bytes(capacity, lanes))
    }

    pub fn lanes(&self) -> usize {
        self.tail.lanes()
    }

    /// Back to the leading numbers, independent, with mean 0; the caller sets their variances.
    pub fn clear(&mut self, numbers: usize) {
        self.tail.clear();
        self.core.clear(numbers);
    }

    /// A feature that no row had, with its prior.
    pub fn push(&mut self, priors: &LanePriors) {
        self.tail.push(priors.variances());
    }

    /// Moves a feature from the tail to the core. Nothing is lost: its variance becomes its
    /// diagonal entry.
    pub fn promote(&mut self, slot: u32) {
        let lanes = self.lanes();
        let at = self.core.push();
        let record = self.tail.record(slot);
        for k in 0..lanes {
            self.core.set(at, k, f64::from(record[k]), f64::from(record[lanes + k]));
        }
    }

    /// Adds $\theta^\top x$ and $x^\top Px$ of a row that is to be learned.
    #[inline(always)]
    pub fn add_sums(&mut self, row: &RowEntries, sums: &mut RowSums) {
        self.tail.add_sums(&row.tail, &mut sums.m, &mut sums.s);
        self.core.add_sums(&row.core, &mut sums.m, &mut sums.s);
    }

    /// Moves by the steps of the row of the last [`add_sums`](Self::add_sums). The core's variances
    /// then grow, but for the first `fixed` features.
    #[inline(always)]
    pub fn take_step(
        &mut self,
        row: &RowEntries,
        steps: &LaneSteps,
        priors: &LanePriors,
        fixed: usize,
    ) {
        match priors.roots() {
            [] => self.take_plain_step(row, steps),
            roots => self.take_mixed_step(row, steps, roots),
        }
        for walk in priors.walks() {
            self.core.walk(walk.lane, fixed, walk.per_row, walk.most);
        }
    }

    #[inline(always)]
    fn take_plain_step(&mut self, row: &RowEntries, steps: &LaneSteps) {
        self.tail.take_step(&row.tail, &steps.gain, &steps.contraction);
        self.core.take_step(&steps.gain, &steps.contraction);
    }

    /// The same if members with a root are among them. Their core stays diagonal.
    fn take_mixed_step(&mut self, row: &RowEntries, steps: &LaneSteps, roots: &[Root]) {
        let mut others = *steps;
        for root in roots {
            others.gain[root.lane] = 0.0;
            others.contraction[root.lane] = 0.0;
        }
        self.take_plain_step(row, &others);
        for root in roots {
            let step = RootStep { gain: steps.gain[root.lane], rate: root.rate };
            self.tail.take_root_step(&row.tail, root.lane, step);
            self.core.take_root_step(&row.core, root.lane, step);
        }
    }

    /// $m$ and $s$ of a row that was looked up, as they will be when the row is learned next.
    pub fn sums(&self, row: &RowEntries, priors: &LanePriors) -> RowSums {
        let mut sums = RowSums::ZERO;
        self.tail.add_sums(&row.tail, &mut sums.m, &mut sums.s);
        for walk in priors.walks() {
            for (entry, &away) in row.tail.iter().zip(&row.away) {
                let variance = f64::from(self.tail.record(entry.at)[self.lanes() + walk.lane]);
                let grown = walk.after(variance, away) - variance;
                sums.s[walk.lane] += entry.z * entry.z * grown;
            }
        }
        for (k, prior) in priors.variances().iter().enumerate() {
            let (linear, variance) = self.core.belief(&row.core, k);
            sums.m[k] += linear;
            sums.s[k] += variance + row.unseen * prior;
        }
        sums
    }

    /// Keeps these members alone.
    pub fn keep_lanes(&mut self, kept: &[usize]) -> Result<()> {
        self.tail.keep_lanes(kept);
        self.core.keep_lanes(kept)
    }

    /// Member `k`'s mean of a sum of coordinates.
    pub fn mean(&self, terms: &Terms, k: usize) -> f64 {
        let mean = |at: Coordinate| match at {
            Coordinate::Core(at) => self.core.mean(at, k),
            Coordinate::Tail(slot) => f64::from(self.tail.record(slot)[k]),
        };
        terms.iter().map(|&(at, factor)| factor * mean(at)).sum()
    }

    /// Member `k`'s covariance of two sums of coordinates.
    pub fn entry(&self, a: &Terms, b: &Terms, k: usize) -> f64 {
        let entry = |a: Coordinate, b: Coordinate| match (a, b) {
            (Coordinate::Core(a), Coordinate::Core(b)) => self.core.entry(a, b, k),
            (Coordinate::Tail(slot), same) if Coordinate::Tail(slot) == same => {
                f64::from(self.tail.record(slot)[self.lanes() + k])
            }
            _ => 0.0,
        };
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
        pairs.map(|(a, b)| a.1 * b.1 * entry(a.0, b.0)).sum()
    }
}
