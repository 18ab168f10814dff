//! Several classes from sparse rows: a belief per class about the same features, moved by the
//! softmax steps of [`Categorical`](crate::Categorical).
//!
//! | file | owns |
//! |---|---|
//! | `builder` | choices before the first row |
//! | `learn`, `warm_up` | one row; the first rows, which are learned again at better scales |
//! | `grow` | new classes |
//! | `predict`, `coefficients` | probabilities; differences between classes |
//! | `prune` | a smaller model |
//! | `state` | storing |

mod builder;
mod coefficients;
mod grow;
mod learn;
mod predict;
mod prune;
mod state;
#[cfg(test)]
mod tests;
mod warm_up;

pub use builder::WideCategoricalBuilder;
pub use coefficients::ContrastTable;
pub use state::WideCategoricalState;

use super::assumption::class_lanes;
use super::belief::{Belief, LaneSteps, RowSums};
use super::features::Features;
use super::lane_priors::LanePriors;
use super::member::{Members, WideWeight};
use super::row::{RowEntries, SparseParts};
use super::slots::Slots;
use super::warm_up::WarmUpRows;
use crate::error::Result;
use crate::learner::categorical::{BLOCK_SHARE, GROW_CLASS, check_classes, reborrow};
use crate::learner::{Checkpoint, ClassObserver, DriftMode};
use crate::linalg::require_memory;
use crate::rows::Rows;
use crate::rule::LinearRow;
use crate::sparse::SparseRows;

/// Learns the probabilities of several classes from sparse rows: text, hashed features,
/// identifiers.
///
/// $P(y=k) = e^{u_k}/\sum_j e^{u_j}$ with $u_k = \theta_k^\top x$, and a belief about $\theta_k$ as
/// in [`Wide`](crate::Wide). Nothing is to be tuned or scaled. With two classes the predictions are
/// those of [`Wide`](crate::Wide) with the [`Bernoulli`](crate::Bernoulli) family, but for
/// rounding. The target of a row is the index of its class, from 0.
///
/// A feature takes 8 bytes per class and member, and a row costs as much as its features in `Wide`,
/// once per class. There are 8 members at the start, fewer from 65 classes on, and 2 from 129 on;
/// most leave after some thousand rows. Below some thousand features use
/// [`Categorical`](crate::Categorical): it predicts better.
///
/// ```
/// use kalmia::{SparseInputs, SparseMatrix, SparseRows, WideCategorical};
///
/// let mut learner = WideCategorical::builder(3).intercept().build()?; // feature 0 is the constant
/// let x = SparseMatrix::new(&[0, 2, 4, 6], &[0, 17, 0, 90_000, 0, 5], &[1.0; 6])?;
/// learner.learn_sparse(SparseRows::new(x, &[0.0, 1.0, 2.0])?, None)?;
/// let next = SparseMatrix::new(&[0, 2], &[0, 90_000], &[1.0, 1.0])?;
/// learner.predict_sparse(SparseInputs::new(next), &mut |_, probabilities| {
///     assert!(probabilities[1] > 0.34);
///     Ok(())
/// })?;
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WideCategorical {
    drift: DriftMode,
    count: u64,
    features: Features,
    warm_up: Option<WarmUpRows>,
    members: Members,
    /// One per class.
    beliefs: Vec<Belief>,
    row: RowEntries,
    scratch: Scratch,
}

/// What the members think of a row, class after class.
#[derive(Debug, Default)]
struct Scratch {
    sums: Vec<RowSums>,
    steps: Vec<LaneSteps>,
    /// Of one member.
    linear: Vec<LinearRow>,
    own: Vec<f64>,
    /// The probabilities of the mixture.
    mixed: Vec<f64>,
}

/// A copy starts without it.
impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Scratch {
    fn resize(&mut self, classes: usize) {
        self.sums.resize(classes, RowSums::ZERO);
        self.steps.resize(classes, LaneSteps::ZERO);
        self.linear.resize(classes, LinearRow::new(0.0, 0.0));
        self.own.resize(classes, 0.0);
        self.mixed.resize(classes, 0.0);
    }
}

impl WideCategorical {
    /// Choices for a learner of `classes` classes, at least 1.
    pub fn builder(classes: usize) -> WideCategoricalBuilder {
        WideCategoricalBuilder::new(classes)
    }

    fn untrained(classes: usize, features: Features, drift: DriftMode) -> Result<Self> {
        let lanes = class_lanes(classes);
        let (capacity, numbers) = (features.capacity(), features.numbers());
        require_memory(Belief::bytes(capacity, lanes, 0).saturating_mul(classes))?;
        let beliefs = (0..classes).map(|_| Belief::new(capacity, numbers, lanes));
        let mut learner = Self {
            drift,
            count: 0,
            warm_up: Some(WarmUpRows::default()),
            members: Members::for_classes(drift, classes),
            beliefs: beliefs.collect::<Result<_>>()?,
            row: RowEntries::new(numbers),
            scratch: Scratch::default(),
            features,
        };
        learner.rebuild();
        Ok(learner)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.beliefs.len()
    }

    /// Number of features: the numbers and the features seen so far.
    pub fn dim(&self) -> usize {
        self.features.len()
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Leading features that are numbers, the intercept included.
    pub fn numbers(&self) -> usize {
        self.features.numbers()
    }

    /// Most features that the learner takes; see [`WideCategoricalBuilder::limit`].
    pub fn limit(&self) -> usize {
        self.features.limit
    }

    /// Another limit on the number of features, at any time.
    pub fn set_limit(&mut self, limit: usize) {
        self.features.limit = limit;
    }

    /// The drift mode.
    pub fn drift_mode(&self) -> DriftMode {
        self.drift
    }

    /// Features that share a covariance, besides the numbers.
    pub fn core_features(&self) -> usize {
        self.features.promoted().len()
    }

    /// The features in the order of the coefficients: the leading numbers, then the others in the
    /// order of their first row.
    pub fn features(&self) -> Vec<u32> {
        self.features.indices()
    }

    /// Rows that had each feature, in the order of [`features`](Self::features); `None` for the
    /// leading numbers, which every row has.
    pub fn seen(&self) -> Vec<Option<u32>> {
        self.features.seen()
    }

    /// The members still in the mixture. The prior of a difference between two classes has their
    /// prior size.
    pub fn weights(&self) -> Vec<WideWeight> {
        self.members.weights()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, until
    /// the scales of the features are known.
    pub fn kept_rows(&self) -> usize {
        self.warm_up.as_ref().map_or(0, WarmUpRows::len)
    }

    /// Bytes that the learner takes with so many features, at most, with the classes it has.
    pub fn memory(&self, features: usize) -> usize {
        let one = Belief::bytes(self.features.capacity(), self.members.lanes(), features);
        Slots::bytes(features).saturating_add(one.saturating_mul(self.classes()))
    }

    /// Refuses if the allocator has no room for a copy beside the learner. A clone would then end
    /// the process.
    pub fn require_copy(&self) -> Result<()> {
        require_memory(self.memory(self.features.slots.len()))
    }

    /// What each member assumes of a feature that no row had, for one class.
    fn priors(&self) -> LanePriors {
        LanePriors::new(&self.members.all, BLOCK_SHARE)
    }

    /// Learns dense rows in order: column `j` is feature `j`, and zeros are left out.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_dense_growing(rows, self.classes(), None)
    }

    /// As [`learn_growing`](Self::learn_growing), for dense rows.
    pub fn learn_dense_growing(
        &mut self,
        rows: Rows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        rows.check_features(rows.dim())?;
        let parts = SparseParts::of_dense(rows.features(), rows.dim(), rows.len());
        let rows = SparseRows::with_observations(parts.matrix()?, rows);
        self.learn_growing(rows, limit, observer)
    }

    /// Learns sparse rows in order and shows each to the observer first. Targets are indices of
    /// classes, below [`classes`](Self::classes). Offsets must be 0: one that all classes share
    /// changes nothing. How rows are cut into calls does not change the result. A batch with an
    /// illegal row is refused as a whole.
    pub fn learn_sparse(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        self.learn_growing(rows, self.classes(), observer)
    }

    /// As [`learn_sparse`](Self::learn_sparse), but a class above those known is added just before
    /// its first row ([`grow_class`](Self::grow_class)), with all classes below it. At most `limit`
    /// classes are taken; a larger index is refused as an illegal target.
    ///
    /// ```
    /// use kalmia::{SparseMatrix, SparseRows, WideCategorical};
    ///
    /// let mut learner = WideCategorical::builder(1).intercept().build()?;
    /// let x = SparseMatrix::new(&[0, 1, 2, 3], &[0, 0, 0], &[1.0; 3])?;
    /// learner.learn_growing(SparseRows::new(x, &[0.0, 1.0, 2.0])?, 10, None)?;
    /// assert_eq!(learner.classes(), 3);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn learn_growing(
        &mut self,
        rows: SparseRows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let moderate = rows.features().check(u64::MAX)?;
        let observations = rows.observations();
        check_classes(&observations, limit.max(self.classes()), GROW_CLASS)?;
        self.features.check_limit(rows)?;
        let last = observations.targets().iter().copied().fold(0.0, f64::max) as usize;
        let classes = self.classes().max(last + 1);
        self.features.require_room(rows, classes, self.members.lanes())?;
        let new = classes - self.classes();
        let features = self.features.slots.len();
        let one = Belief::bytes(self.features.capacity(), self.members.lanes(), features);
        require_memory(one.saturating_mul(new))?;
        if moderate {
            // validated rows of moderate size, for which there is memory, cannot fail
            return self.run(rows, observer);
        }
        Checkpoint::default().transaction(self, |learner| {
            learner.run(rows, observer)?;
            learner.features.check_range(rows, &learner.beliefs)
        })
    }

    /// All rows of a call.
    fn run(
        &mut self,
        rows: SparseRows<'_>,
        mut observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        for i in 0..rows.len() {
            while rows.observation(i).y >= self.classes() as f64 {
                self.grow_class()?;
            }
            self.learn_row(rows, i, reborrow(&mut observer)).map_err(|error| error.at_row(i))?;
        }
        Ok(())
    }
}
