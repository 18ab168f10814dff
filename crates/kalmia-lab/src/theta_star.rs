//! The paper's estimate of $\theta^*$ in the misspecified setting: one very long run of the static
//! EKF.
//!
//! One run cannot be split over replicates, so the library's filter learns it; with two threads or
//! more, another one draws the rows.

use crate::error::{Error, Result};
use crate::lanes::LANES;
use crate::quadrature::misspecified_star;
use crate::random::Streams;
use crate::settings::checkpoints;
use crate::workers::Workers;
use crate::world::{Block, D, World};
use kalmia::{Bernoulli, Dense, Ekf, Filter, Learner, Prior, Rows};
use std::sync::mpsc::sync_channel;

/// Rows that are drawn and learned at a time.
const BATCH: usize = 4096;

/// A group number far above those of the comparisons: the run shares no row with them.
const GROUP: usize = 1 << 40;

/// The distance to $\theta^*$ after some rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathPoint {
    /// Rows learned, $n$.
    pub rows: u64,
    /// $\|\hat\theta_{n+1}-\theta^*\|$.
    pub distance: f64,
}

/// The long run and the value it converges to.
#[derive(Debug, Clone, PartialEq)]
pub struct ThetaStar {
    /// By quadrature, to 10 significant digits.
    pub quadrature: [f64; D],
    /// By the static EKF after the last iteration.
    pub estimate: [f64; D],
    /// The distance between the two along the run.
    pub path: Vec<PathPoint>,
}

/// Runs the static EKF ($\hat\theta_1 = 0$, $P_1 = I$) for `iterations` rows of the misspecified
/// setting.
///
/// The result does not depend on the number of threads. Fails if `iterations` is 0 or the caller
/// cancels.
pub fn theta_star(iterations: u64, seed: u64, workers: &Workers) -> Result<ThetaStar> {
    if iterations == 0 {
        return Err(Error::Setting {
            name: "iterations",
            value: "0".into(),
            expected: "must be at least 1",
        });
    }
    workers.progress.start("theta-star", iterations);
    let mut long_run = LongRun::new(iterations)?;
    let batches = iterations.div_ceil(BATCH as u64);
    let mut source = Source::new(seed);
    if workers.threads > 1 {
        learn_while_drawing(source, batches, |batch| long_run.learn(batch, workers))?;
    } else {
        let mut batch = Batch::default();
        for _ in 0..batches {
            source.draw(&mut batch);
            long_run.learn(&batch, workers)?;
        }
    }
    workers.progress.finish();
    Ok(ThetaStar { quadrature: long_run.star, estimate: long_run.estimate(), path: long_run.path })
}

/// Learns on this thread while another one draws the next batches.
fn learn_while_drawing(
    mut source: Source,
    batches: u64,
    mut learn: impl FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (full_sender, full) = sync_channel::<Batch>(4);
        let (empty_sender, empty) = sync_channel::<Batch>(8);
        scope.spawn(move || {
            for _ in 0..batches {
                let mut batch = empty.try_recv().unwrap_or_default();
                source.draw(&mut batch);
                if full_sender.send(batch).is_err() {
                    return;
                }
            }
        });
        for batch in full {
            learn(&batch)?;
            // The drawing thread may have finished already.
            let _ = empty_sender.try_send(batch);
        }
        Ok(())
    })
}

/// Rows as the library takes them: features row after row, and targets.
#[derive(Default)]
struct Batch {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// Draws the rows of eight streams in turn.
struct Source {
    streams: Streams,
    block: Block,
}

impl Source {
    fn new(seed: u64) -> Self {
        let streams = World::Misspecified.streams(seed, GROUP);
        Self { streams, block: Block::new(BATCH / LANES) }
    }

    fn draw(&mut self, batch: &mut Batch) {
        self.block.fill(World::Misspecified, &mut self.streams);
        batch.x.clear();
        batch.y.clear();
        for (x, y) in self.block.x.iter().zip(&self.block.y) {
            for lane in 0..LANES {
                batch.x.extend(x.iter().map(|xj| xj.0[lane]));
            }
            batch.y.extend(y.0);
        }
    }
}

/// The filter and its distances at the checkpoints.
struct LongRun {
    filter: Filter<Bernoulli, Ekf, Dense>,
    star: [f64; D],
    checkpoints: Vec<u64>,
    path: Vec<PathPoint>,
}

impl LongRun {
    fn new(iterations: u64) -> Result<Self> {
        Ok(Self {
            filter: Filter::with_covariance(Bernoulli, Ekf, Prior::isotropic(D, 1.0)?)?,
            star: misspecified_star(),
            checkpoints: checkpoints(iterations),
            path: Vec::new(),
        })
    }

    /// Learns the batch up to the last checkpoint.
    fn learn(&mut self, batch: &Batch, workers: &Workers) -> Result<()> {
        workers.check()?;
        let rows = Rows::new(D, &batch.x, &batch.y)?;
        let mut learned = 0;
        while learned < rows.len() {
            let Some(&checkpoint) = self.checkpoints.get(self.path.len()) else { break };
            let left = (checkpoint - self.filter.count()).min((rows.len() - learned) as u64);
            self.filter.learn(rows.slice(learned..learned + left as usize))?;
            learned += left as usize;
            if self.filter.count() == checkpoint {
                let distance = self.distance();
                self.path.push(PathPoint { rows: checkpoint, distance });
                workers.progress.note(&format!(
                    "distance to the quadrature value {distance:.3e} after {checkpoint} iterations"
                ));
            }
        }
        workers.progress.advance(learned as u64);
        Ok(())
    }

    fn estimate(&self) -> [f64; D] {
        std::array::from_fn(|j| self.filter.coefficients()[j])
    }

    fn distance(&self) -> f64 {
        let squares = self.estimate().iter().zip(&self.star).map(|(a, b)| (a - b).powi(2)).sum();
        f64::sqrt(squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn long_run_converges_to_the_quadrature_value_whatever_the_threads() {
        let cancel = AtomicBool::new(false);
        let workers = |threads| Workers { threads, progress: &(), cancel: &cancel };
        let one = theta_star(300_000, 5, &workers(1)).unwrap();
        assert_eq!(one, theta_star(300_000, 5, &workers(2)).unwrap());
        let at = |n: u64| one.path.iter().find(|p| p.rows == n).unwrap().distance;
        // The mean squared error is about 650/n; 4 times its root is a generous bound.
        for n in [10_000, 100_000, 300_000] {
            assert!(at(n) < 4.0 * (650.0 / n as f64).sqrt(), "distance {} after {n}", at(n));
        }
        assert_eq!(one.path.last().map(|p| p.rows), Some(300_000));
        assert!(theta_star(0, 5, &workers(1)).is_err());
        let stopped = AtomicBool::new(true);
        let workers = Workers { threads: 2, progress: &(), cancel: &stopped };
        assert!(matches!(theta_star(10, 5, &workers), Err(Error::Cancelled)));
    }
}
