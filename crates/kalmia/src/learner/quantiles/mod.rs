//! Several quantiles of one target, learned from the same rows and predicted without crossing.
//!
//! There is one [`Auto`] per level. Their predictions of a row may come in the wrong order: for
//! few rows, for levels close to each other, or far outside the data, where lines that differ in
//! slope must meet. A prediction is therefore the sorted list. Sorting never costs anything: a
//! swap of two predictions $q > q'$ of levels $\tau < \tau'$ lowers the summed pinball loss by
//! exactly $(\tau'-\tau)(q-q')$, whatever the target turns out to be (Chernozhukov,
//! Fernandez-Val and Galichon, 2010).
//!
//! | file | owns |
//! |---|---|
//! | `builder` | the levels and other choices before the first row |
//! | `observe` | what observers see of a row |
//! | `predict` | predictions in order |
//! | `state` | storing |

mod builder;
mod observe;
mod predict;
mod state;

pub use builder::QuantilesBuilder;
pub use observe::{QuantileObserver, QuantileRow};
pub use state::QuantilesState;

use super::{Auto, Checkpoint, Learner, Predict};
use crate::error::Result;
use crate::family::Quantile;
use crate::linalg::require_memory;
use crate::observe::RowView;
use crate::rows::Rows;
use crate::sparse::SparseRows;

/// Rows that one level learns before the next one does, if somebody looks on.
const CHUNK: usize = 1024;

/// Learns several quantiles of a target at once; the predictions of a row never cross.
///
/// Use it for a band that holds a share of the targets, such as the levels 0.05 and 0.95, or for
/// the shape of a law that no family describes. Levels do not share anything but the rows: each
/// costs as much as an [`Auto`] of its own.
///
/// ```
/// use kalmia::learner::Quantiles;
/// use kalmia::Rows;
///
/// // feature 0 is the constant 1
/// let mut learner = Quantiles::builder(&[0.1, 0.5, 0.9], 2).intercept().build()?;
/// let x: Vec<f64> = (0..900).flat_map(|i| [1.0, f64::from(i % 10)]).collect();
/// let y: Vec<f64> = (0..900).map(|i| f64::from(i % 10) * f64::from(i / 10 % 9)).collect();
/// learner.learn(Rows::new(2, &x, &y)?)?;
/// let [low, middle, high] = learner.predict(&[1.0, 5.0], 0.0)?[..] else { unreachable!() };
/// assert!(low < 10.0 && (middle - 20.0).abs() < 5.0 && high > 30.0);
/// // far outside the data the lines of the levels have crossed; the predictions have not
/// assert!(learner.predict(&[1.0, -1e6], 0.0)?.is_sorted());
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantiles {
    /// One per level, by level; at least one.
    levels: Vec<Auto<Quantile>>,
}

impl Quantiles {
    /// Choices for a learner of these levels, each strictly between 0 and 1 and none twice, in any
    /// order, and of `dim` features.
    pub fn builder(levels: &[f64], dim: usize) -> QuantilesBuilder {
        QuantilesBuilder::new(levels, dim)
    }

    /// The levels, in ascending order: that of every prediction.
    pub fn levels(&self) -> Vec<f64> {
        self.levels.iter().map(|level| level.family().tau()).collect()
    }

    /// The learner of each level, for its coefficients, standard errors and drift.
    pub fn learners(&self) -> &[Auto<Quantile>] {
        &self.levels
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.levels[0].dim()
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        self.levels[0].count()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, until
    /// the scales of the features are known.
    pub fn kept_rows(&self) -> usize {
        self.levels[0].kept_rows()
    }

    /// Bytes that the matrices of all levels take with `dim` features, at most: nearly all of its
    /// memory.
    pub fn memory(&self, dim: usize) -> usize {
        self.levels.iter().fold(0, |sum: usize, level| sum.saturating_add(level.memory(dim)))
    }

    /// Refuses if the allocator has no room for a copy beside the learner. A clone would then end
    /// the process.
    pub fn require_copy(&self) -> Result<()> {
        require_memory(self.memory(self.dim()))
    }

    /// Learns rows in order. How rows are cut into calls does not change the result. A batch with
    /// an illegal row is refused as a whole.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_observed(rows, None)
    }

    /// As [`learn`](Self::learn); shows each row to the observer with the predictions made before
    /// it was learned.
    pub fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn QuantileObserver>,
    ) -> Result<()> {
        let moderate = rows.check(&self.levels[0].family(), self.dim())?;
        let follows = self.levels.iter().any(Auto::is_following);
        if moderate && !follows {
            return self.run(rows, observer);
        }
        // numbers so large that one level may overflow, or a level that may run out of precision
        Checkpoint::default().transaction(self, |learner| learner.run(rows, observer))
    }

    /// Learns sparse rows in order. A batch is written out as dense rows, so it must fit into
    /// memory.
    pub fn learn_sparse(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn QuantileObserver>,
    ) -> Result<()> {
        rows.densified(self.dim(), |rows| self.learn_observed(rows, observer))
    }

    /// All rows of a call.
    fn run(&mut self, rows: Rows<'_>, observer: Option<&mut dyn QuantileObserver>) -> Result<()> {
        let Some(observer) = observer else {
            return self.levels.iter_mut().try_for_each(|level| level.learn(rows));
        };
        let count = self.levels.len();
        let mut predicted = vec![0.0; count * rows.len().min(CHUNK)];
        for first in (0..rows.len()).step_by(CHUNK) {
            let part = rows.slice(first..rows.len().min(first + CHUNK));
            for (k, level) in self.levels.iter_mut().enumerate() {
                let mut note = |row: &RowView<'_>| predicted[row.index * count + k] = row.mean;
                level.learn_observed(part, Some(&mut note))?;
            }
            for (i, predictions) in predicted.chunks_exact_mut(count).take(part.len()).enumerate() {
                predictions.sort_by(f64::total_cmp);
                let observation = part.observation(i);
                let index = first + i;
                observer.row(&QuantileRow { index, x: part.x(i), observation, predictions });
            }
        }
        Ok(())
    }

    /// Appends a feature that was zero in every row so far. Nothing already learned changes.
    pub fn grow(&mut self) -> Result<()> {
        Checkpoint::default()
            .transaction(self, |learner| learner.levels.iter_mut().try_for_each(Predict::grow))
    }
}
