//! The paper's estimate of $\theta^*$ in the misspecified setting: one very long run of the static
//! EKF.
//!
//! One chain cannot spread over replicates, so the lanes hold coordinates: $P$ is eleven rows of
//! sixteen numbers, which stay in vector registers where there are 32 of them. Another thread draws
//! the rows.

use crate::error::{Error, Result};
use crate::lanes::{LANES, V, dispatch};
use crate::pool::Run;
use crate::quadrature::misspecified_star;
use crate::settings::checkpoints;
use crate::world::{Block, D, World};
use std::sync::mpsc::sync_channel;

/// A row of the chain: eleven features and five zeros.
type Row = [V; 2];

/// Rows that change hands at a time.
const PIECE: usize = 4096;

/// The long run and what it converges to.
#[derive(Debug, Clone, PartialEq)]
pub struct ThetaStar {
    /// By quadrature, to 10 digits.
    pub quadrature: [f64; D],
    /// By the static EKF after the last iteration.
    pub estimate: [f64; D],
    /// $(n, \|\hat\theta_{n+1}-\theta^*\|)$ along the run.
    pub path: Vec<(u64, f64)>,
}

/// Runs the static EKF ($\hat\theta_1 = 0$, $P_1 = I$) for `iterations` rows of the misspecified
/// setting.
///
/// With one thread or more the rows are the same: the rows of eight streams in turn.
pub fn theta_star(iterations: u64, seed: u64, run: &Run) -> Result<ThetaStar> {
    if iterations == 0 {
        return Err(Error::Setting {
            name: "iterations",
            value: "0".into(),
            expected: "must be at least 1",
        });
    }
    let quadrature = misspecified_star();
    run.progress.start("theta-star", iterations);
    let mut chain = Chain::new();
    let mut path = Vec::new();
    let marks = checkpoints(iterations);
    let pieces = iterations.div_ceil(PIECE as u64);
    let mut learn = |piece: &[(Row, f64)]| -> Result<()> {
        run.check()?;
        let mut piece = &piece[..piece.len().min((iterations - chain.rows) as usize)];
        run.progress.advance(piece.len() as u64);
        while !piece.is_empty() {
            let mark = marks[path.len()];
            let (now, later) = piece.split_at(piece.len().min((mark - chain.rows) as usize));
            chain.learn(now);
            piece = later;
            if chain.rows == mark {
                let distance = chain.distance(&quadrature);
                path.push((mark, distance));
                run.progress.note(&format!(
                    "distance to the quadrature value {distance:.3e} after {mark} iterations"
                ));
            }
        }
        Ok(())
    };
    let mut source = Source::new(seed);
    if run.threads > 1 {
        std::thread::scope(|scope| {
            let (full_sender, full) = sync_channel::<Vec<(Row, f64)>>(4);
            let (empty_sender, empty) = sync_channel::<Vec<(Row, f64)>>(8);
            scope.spawn(move || {
                for _ in 0..pieces {
                    let mut piece = empty.try_recv().unwrap_or_default();
                    source.draw(&mut piece);
                    if full_sender.send(piece).is_err() {
                        return;
                    }
                }
            });
            for piece in full {
                learn(&piece)?;
                // The drawing thread may be gone already at the end.
                let _ = empty_sender.try_send(piece);
            }
            Ok::<(), Error>(())
        })?;
    } else {
        let mut piece = Vec::new();
        for _ in 0..pieces {
            source.draw(&mut piece);
            learn(&piece)?;
        }
    }
    run.progress.finish();
    Ok(ThetaStar { quadrature, estimate: chain.estimate(), path })
}

/// Draws rows eight at a time and lays each out for the chain.
struct Source {
    streams: crate::random::Streams,
    block: Block,
}

impl Source {
    fn new(seed: u64) -> Self {
        // A group far beyond those of the comparisons, so that the chain shares no row with them.
        Self {
            streams: World::Misspecified.streams(seed, 1 << 40),
            block: Block::new(PIECE / LANES),
        }
    }

    fn draw(&mut self, piece: &mut Vec<(Row, f64)>) {
        self.block.fill(World::Misspecified, &mut self.streams);
        piece.resize(PIECE, ([V::ZERO; 2], 0.0));
        for ((x, y), rows) in
            self.block.x.iter().zip(&self.block.y).zip(piece.chunks_exact_mut(LANES))
        {
            for (lane, row) in rows.iter_mut().enumerate() {
                for (j, xj) in x.iter().enumerate() {
                    row.0[j / LANES].0[j % LANES] = xj.0[lane];
                }
                row.1 = y.0[lane];
            }
        }
    }
}

/// $\hat\theta_t$ and $P_t$ of one run.
struct Chain {
    theta: Row,
    p: [Row; D],
    rows: u64,
}

impl Chain {
    fn new() -> Self {
        let mut p = [[V::ZERO; 2]; D];
        (0..D).for_each(|i| p[i][i / LANES].0[i % LANES] = 1.0);
        Self { theta: [V::ZERO; 2], p, rows: 0 }
    }

    fn estimate(&self) -> [f64; D] {
        std::array::from_fn(|j| self.theta[j / LANES].0[j % LANES])
    }

    fn distance(&self, star: &[f64; D]) -> f64 {
        self.estimate().iter().zip(star).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    fn learn(&mut self, rows: &[(Row, f64)]) {
        dispatch(
            #[inline(always)]
            || self.run(rows),
        );
        self.rows += rows.len() as u64;
    }

    #[inline(always)]
    fn run(&mut self, rows: &[(Row, f64)]) {
        let (mut theta, mut p) = (self.theta, self.p);
        for (x, y) in rows {
            let m = inner(&theta, x);
            let u = product(&p, x);
            let s = inner(x, &u);
            let e = (-V::splat(m.abs())).exp_negative().0[0];
            let one_e = 1.0 + e;
            let q = 1.0 / one_e.mul_add(one_e, e * s);
            let tail = if y * m >= 0.0 { e } else { 1.0 };
            let (g, c) = (V::splat(tail * one_e * q * y), -(e * q));
            for h in 0..2 {
                theta[h] = g.mul_add(u[h], theta[h]);
            }
            for i in 0..D {
                let scaled = V::splat(c * u[i / LANES].0[i % LANES]);
                for h in 0..2 {
                    p[i][h] = scaled.mul_add(u[h], p[i][h]);
                }
            }
        }
        (self.theta, self.p) = (theta, p);
    }
}

/// $Px$ for symmetric $P$, as a combination of its rows.
#[inline(always)]
fn product(p: &[Row; D], x: &Row) -> Row {
    let mut sums = [[V::ZERO; 2]; 2];
    for j in 0..D {
        let xj = V::splat(x[j / LANES].0[j % LANES]);
        for h in 0..2 {
            sums[j % 2][h] = xj.mul_add(p[j][h], sums[j % 2][h]);
        }
    }
    [sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]]
}

#[inline(always)]
fn inner(a: &Row, b: &Row) -> f64 {
    let t = a[1].mul_add(b[1], a[0] * b[0]).0;
    ((t[0] + t[4]) + (t[1] + t[5])) + ((t[2] + t[6]) + (t[3] + t[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Filter, Rule};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn chain_is_the_kernel_on_the_same_rows() {
        let mut rows = Vec::new();
        Source::new(3).draw(&mut rows);
        let mut block = Block::new(PIECE);
        for (i, (x, y)) in rows.iter().enumerate() {
            block.x[i] = std::array::from_fn(|j| V::splat(x[j / LANES].0[j % LANES]));
            block.y[i] = V::splat(*y);
        }
        let mut kernel = Filter::new(Rule::Ekf, 1.0);
        kernel.learn(&block, 0..PIECE);
        let mut chain = Chain::new();
        chain.learn(&rows[..1000]);
        chain.learn(&rows[1000..]);
        for (a, b) in chain.estimate().iter().zip(kernel.last()) {
            assert!((a - b.0[0]).abs() < 1e-10, "{a} against {}", b.0[0]);
        }
    }

    #[test]
    fn chain_converges_to_the_quadrature_value_whatever_the_threads() {
        let cancel = AtomicBool::new(false);
        let long = |threads| {
            theta_star(300_000, 5, &Run { threads, progress: &(), cancel: &cancel }).unwrap()
        };
        let one = long(1);
        assert_eq!(one, long(2));
        let at = |n: u64| one.path.iter().find(|p| p.0 == n).unwrap().1;
        // The mean squared error is about 650/n: 4 times its root is a generous bound.
        for n in [10_000, 100_000, 300_000] {
            assert!(at(n) < 4.0 * (650.0 / n as f64).sqrt(), "distance {} after {n}", at(n));
        }
        assert!(theta_star(0, 5, &Run { threads: 1, progress: &(), cancel: &cancel }).is_err());
        let stopped = AtomicBool::new(true);
        assert!(matches!(
            theta_star(10, 5, &Run { threads: 2, progress: &(), cancel: &stopped }),
            Err(Error::Cancelled)
        ));
    }
}
