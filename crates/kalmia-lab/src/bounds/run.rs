//! Long runs of several filters on the same rows, and the steps after a convergence time.

use super::exits::MeasuredTau;
use super::track::{Setup, Track};
use crate::error::Result;
use crate::feed::Feed;
use crate::lanes::{LANES, V};
use crate::settings::checkpoints;
use crate::workers::Workers;
use crate::world::World;

/// Marks per decade of the long runs.
const PER_DECADE: u32 = 40;

/// Whole numbers of rows up to `rows`, 40 per decade, with those of [`checkpoints`] among them.
pub(super) fn marks(rows: u64) -> Vec<u64> {
    let mut marks: Vec<u64> = (0..20 * PER_DECADE)
        .map(|k| 10f64.powf(f64::from(k) / f64::from(PER_DECADE)).round() as u64)
        .take_while(|&n| n < rows)
        .chain(checkpoints(rows))
        .collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// Rows and replicates of a run.
pub(super) struct LongRun {
    pub world: World,
    pub rows: u64,
    pub replicates: usize,
    pub seed: u64,
    pub marks: Vec<u64>,
}

/// What a filter did, over all replicates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// `[radius][replicate]`: the last time outside the ball.
    pub last_outside: Vec<Vec<f64>>,
    /// `[replicate]`: the last time with a truncated weight.
    pub last_truncated: Vec<f64>,
    /// `[mark][replicate]`: cumulative excess risk.
    pub totals: Vec<Vec<f64>>,
    /// `[mark][replicate]`: largest eigenvalue of $P$, if the filter truncates.
    pub largest: Vec<Vec<f64>>,
    /// Rows of the run.
    pub rows: u64,
}

impl Outcome {
    /// The convergence time of Assumption 5, or of Assumption 6 if the filter truncates.
    pub fn tau(&self, radius: usize, delta: f64) -> MeasuredTau {
        let last: Vec<f64> = self.last_outside[radius]
            .iter()
            .zip(&self.last_truncated)
            .map(|(a, b)| a.max(*b))
            .collect();
        MeasuredTau::new(&last, delta, self.rows)
    }
}

/// Cumulative excess risk after a convergence time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Local {
    /// Steps after it.
    pub n: Vec<u64>,
    /// `[n][replicate]`.
    pub sums: Vec<Vec<f64>>,
    /// `[replicate]`: $\lambda_{\max}(P_{\tau+1}^{-1})$.
    pub precision: Vec<f64>,
}

impl LongRun {
    fn groups(&self) -> usize {
        self.replicates.div_ceil(LANES)
    }

    /// Units of progress of one pass over `rows` rows.
    pub fn units(rows: u64, replicates: usize) -> u64 {
        rows * (replicates.div_ceil(LANES) * LANES) as u64
    }

    /// The numbers of all replicates from those of their groups.
    fn gather<'g>(&self, groups: impl Iterator<Item = [f64; LANES]> + 'g) -> Vec<f64> {
        groups.flatten().take(self.replicates).collect()
    }

    /// Runs every filter over all rows, on the same rows.
    pub fn run(&self, setups: &[Setup], workers: &Workers) -> Result<Vec<Outcome>> {
        let feed = Feed { world: self.world, seed: self.seed, checkpoints: &self.marks };
        let groups = workers.map(self.groups(), |group| {
            let mut tracks: Vec<Track> = setups.iter().map(Track::new).collect();
            let mut totals: Vec<Vec<V>> = vec![Vec::with_capacity(self.marks.len()); setups.len()];
            let mut largest: Vec<Vec<[f64; LANES]>> = vec![Vec::new(); setups.len()];
            feed.run(group, workers, |piece| {
                for (k, track) in tracks.iter_mut().enumerate() {
                    track.learn(&piece);
                    if piece.checkpoint.is_some() {
                        totals[k].push(track.total);
                        if setups[k].truncates() {
                            largest[k].push(track.eigenvalues().map(|e| e.largest));
                        }
                    }
                }
            })?;
            let last = tracks.into_iter().map(|t| (t.exits.last, t.last_truncated)).collect();
            Ok(Group { totals, largest, last })
        })?;
        let outcome = |k: usize| Outcome {
            last_outside: (0..setups[k].radii.len())
                .map(|r| self.gather(groups.iter().map(move |g| g.last[k].0[r].0)))
                .collect(),
            last_truncated: self.gather(groups.iter().map(|g| g.last[k].1.0)),
            totals: (0..self.marks.len())
                .map(|m| self.gather(groups.iter().map(move |g| g.totals[k][m].0)))
                .collect(),
            largest: (0..groups.first().map_or(0, |g| g.largest[k].len()))
                .map(|m| self.gather(groups.iter().map(move |g| g.largest[k][m])))
                .collect(),
            rows: self.rows,
        };
        Ok((0..setups.len()).map(outcome).collect())
    }

    /// The cumulative excess risk of the steps after `tau`, from the first one on.
    ///
    /// The time is known only after a run, so the rows up to the second mark behind it are drawn
    /// and learned again; the later sums are differences of those of the run.
    pub fn after(
        &self,
        setup: &Setup,
        tau: u64,
        outcome: &Outcome,
        workers: &Workers,
    ) -> Result<Local> {
        let last = self.second_mark_behind(tau);
        let mut n = checkpoints(self.marks[last] - tau);
        let start = (tau > 0).then_some(tau);
        let stops: Vec<u64> = start.into_iter().chain(n.iter().map(|n| tau + n)).collect();
        let feed = Feed { world: self.world, seed: self.seed, checkpoints: &stops };
        let groups = workers.map(self.groups(), |group| {
            let mut track = Track::new(setup);
            let inverse = |track: &Track| track.eigenvalues().map(|e| 1.0 / e.smallest);
            let mut precision = inverse(&track);
            let mut sums: Vec<V> = Vec::with_capacity(n.len());
            feed.run(group, workers, |piece| {
                if piece.first <= tau {
                    track.skip(&piece);
                    if piece.checkpoint.is_some() {
                        precision = inverse(&track);
                    }
                } else {
                    track.learn(&piece);
                    if piece.checkpoint.is_some() {
                        sums.push(track.total);
                    }
                }
            })?;
            Ok((sums, precision))
        })?;
        let mut sums: Vec<Vec<f64>> =
            (0..n.len()).map(|k| self.gather(groups.iter().map(move |g| g.0[k].0))).collect();
        let precision = self.gather(groups.iter().map(|g| g.1));
        let at_end = sums.last().cloned().unwrap_or_default();
        for (mark, total) in self.marks.iter().zip(&outcome.totals).skip(last + 1) {
            n.push(mark - tau);
            let since = total.iter().zip(&outcome.totals[last]).map(|(a, b)| a - b);
            sums.push(since.zip(&at_end).map(|(since, start)| since + start).collect());
        }
        Ok(Local { n, sums, precision })
    }

    /// Rows that [`LongRun::after`] draws.
    pub fn rows_after(&self, tau: u64) -> u64 {
        self.marks[self.second_mark_behind(tau)]
    }

    /// Index of the second mark behind a time below the last one.
    fn second_mark_behind(&self, tau: u64) -> usize {
        let behind = self.marks.partition_point(|&n| n <= tau);
        (behind + 1).min(self.marks.len() - 1)
    }
}

/// Eight replicates of every filter.
struct Group {
    /// `[filter][mark]`.
    totals: Vec<Vec<V>>,
    /// `[filter][mark]`.
    largest: Vec<Vec<[f64; LANES]>>,
    /// `[filter]`: last times outside the balls, and truncated.
    last: Vec<(Vec<V>, V)>,
}
