//! The Online Newton Step as Theorem 3 has it: its cumulative excess risk from the first step on.

use super::excess::divergence;
use super::theory::Theory;
use crate::error::Result;
use crate::feed::{Feed, Piece};
use crate::lanes::{LANES, V, dispatch, dot};
use crate::workers::Workers;
use crate::world::{D, World};
use kalmia::{Bernoulli, Learner, OnlineNewtonStep, Rows};

/// `[mark][replicate]`: cumulative excess risk of the library's learner in the logistic setting,
/// measured at each step's own $X_t$.
pub(super) fn risk(
    theory: &Theory,
    marks: &[u64],
    replicates: usize,
    seed: u64,
    workers: &Workers,
) -> Result<Vec<Vec<f64>>> {
    let settings = theory.online_newton()?;
    let feed = Feed { world: World::Weak, seed, checkpoints: marks };
    let star = World::Weak.generator().map(V::splat);
    let groups = workers.map(replicates.div_ceil(LANES), |group| {
        let mut learners = (0..LANES)
            .map(|_| OnlineNewtonStep::new(Bernoulli, D, settings.clone()))
            .collect::<kalmia::Result<Vec<_>>>()?;
        let mut total = V::ZERO;
        let mut totals = Vec::with_capacity(marks.len());
        let mut buffers = Buffers::default();
        let mut failed = None;
        feed.run(group, workers, |piece| {
            for (lane, learner) in learners.iter_mut().enumerate() {
                if let Err(error) = buffers.learn(learner, &piece, lane) {
                    failed.get_or_insert(error);
                }
            }
            dispatch(
                #[inline(always)]
                || {
                    let xs = &piece.block.x[piece.rows.clone()];
                    for (x, &m) in xs.iter().zip(&buffers.predictions) {
                        total += divergence(m, dot(&star, x));
                    }
                },
            );
            if piece.checkpoint.is_some() {
                totals.push(total);
            }
        })?;
        failed.map_or(Ok(totals), |error| Err(error.into()))
    })?;
    let at = |k: usize| groups.iter().flat_map(move |totals| totals[k].0).take(replicates);
    Ok((0..marks.len()).map(|k| at(k).collect()).collect())
}

/// The rows of one replicate and the predictions of all, reused from piece to piece.
#[derive(Default)]
struct Buffers {
    x: Vec<f64>,
    y: Vec<f64>,
    predictions: Vec<V>,
}

impl Buffers {
    /// Teaches the rows of a lane and keeps $w_t^\top X_t$ before each of them.
    fn learn(
        &mut self,
        learner: &mut impl Learner,
        piece: &Piece,
        lane: usize,
    ) -> kalmia::Result<()> {
        self.x.clear();
        self.y.clear();
        let xs = &piece.block.x[piece.rows.clone()];
        self.x.extend(xs.iter().flatten().map(|v| v.0[lane]));
        self.y.extend(piece.block.y[piece.rows.clone()].iter().map(|v| v.0[lane]));
        self.predictions.resize(xs.len(), V::ZERO);
        let predictions = &mut self.predictions;
        let mut keep = |row: &kalmia::RowView<'_>| predictions[row.index].0[lane] = row.linear;
        learner.learn_observed(Rows::new(D, &self.x, &self.y)?, Some(&mut keep))
    }
}
