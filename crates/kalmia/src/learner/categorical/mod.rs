//! Several classes: a mixture of softmax filters that has no parameters to choose.
//!
//! Each class has a linear predictor with a belief of its own, and a row moves all of them together
//! (`rule/softmax.rs` has the formulas). Members differ in the size of their prior as in
//! [`Auto`](super::Auto), and predictions are weighted by past predictive likelihood.
//!
//! | file | owns |
//! |---|---|
//! | `builder`, `check` | choices before the first row; which rows are legal |
//! | `warm_up`, `prior` | the first rows, and members from the prior at the scales they give |
//! | `tighten` | narrower priors of features that turn out to be larger |
//! | `revisit` | a second look at the first rows |
//! | `member`, `mixture` | one softmax filter; several, and how their weights move |
//! | `sharpening` | how much sharper than the mixture its probabilities should be |
//! | `observe` | what observers see of a row |
//! | `predict`, `coefficients` | probabilities; differences between classes and their covariance |
//! | `drift` | whether the coefficients may move, the watch for it, and random-walk members |
//! | `grow`, `growing` | new features and new classes; rows that bring them |
//! | `joint` | the joint belief of all classes after a polish |
//! | `information`, `merge` | what rows say beyond the prior; several learners as one |
//! | `state` | storing |

mod builder;
mod check;
mod coefficients;
mod drift;
mod grow;
mod growing;
mod information;
mod joint;
mod member;
mod merge;
mod mixture;
mod observe;
mod predict;
mod prior;
mod revisit;
mod sharpening;
mod state;
mod tighten;
mod warm_up;

pub(super) use check::{GROW_CLASS, check_classes};
pub(super) use grow::averaged_logit;
pub(super) use member::BLOCK_SHARE;
pub(super) use mixture::add_scaled;
pub(super) use observe::reborrow;

pub use builder::CategoricalBuilder;
pub(crate) use check::check_class_rows;
pub use coefficients::Contrast;
pub use information::{ClassInformation, ClassInformationState};
pub use observe::{ClassObserver, ClassRow};
pub use state::CategoricalState;
pub(super) use state::restored_belief;

use super::auto::member_prior::MemberPrior;
use super::auto::scale::Scales;
use super::auto::{DriftMode, MemberWeight};
use super::checkpoint::Checkpoint;
use super::standing::REVIEW_ROWS;
use super::warm_up::WarmUpRows;
use crate::covariance::{Factored, Kernel};
use crate::error::Result;
use crate::linalg::require_memory;
use crate::rows::Rows;
use crate::sparse::SparseRows;
use joint::Joint;
use mixture::Mixture;

/// Learns the probabilities of several classes, from dense or sparse rows. Feature scales do not
/// matter.
///
/// With $K$ classes, $P(y=k) = e^{u_k}/\sum_j e^{u_j}$ and $u_k = \theta_k^\top x$. The target of a
/// row is the index of its class, from 0. With two classes the predictions are those of
/// [`Auto`](super::Auto) with the [`Bernoulli`](crate::Bernoulli) family. A row costs about
/// as much as one row of a [`Filter`](super::Filter) per class and member.
///
/// ```
/// use kalmia::{Categorical, Rows};
///
/// // feature 0 is the constant 1
/// let mut learner = Categorical::builder(3, 2).intercept().build()?;
/// let x = [1.0, -2.1, 1.0, 0.1, 1.0, 1.9, 1.0, -1.8, 1.0, -0.1, 1.0, 2.2];
/// learner.learn(Rows::new(2, &x, &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0])?)?;
/// let probabilities = learner.predict(&[1.0, 2.0])?;
/// assert!(probabilities[2] > 0.5 && (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
///
/// learner.grow_class()?; // a fourth class, of which no row is known
/// assert!(learner.predict(&[1.0, 2.0])?[3] < 0.3);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Categorical {
    classes: usize,
    dim: usize,
    count: u64,
    scales: Scales,
    warm_up: Option<WarmUpRows>,
    /// The first rows after the warm-up, while a second look at them may follow.
    remembered: Option<WarmUpRows>,
    mixture: Mixture,
    drift: DriftMode,
    /// Rows learned when random-walk members took over.
    follows_from: Option<u64>,
    /// The joint belief about all classes, until the next row.
    joint: Option<Joint>,
}

impl Categorical {
    /// Choices for a learner of `classes` classes, at least 1, and `dim` features, at least 1.
    pub fn builder(classes: usize, dim: usize) -> CategoricalBuilder {
        CategoricalBuilder::new(classes, dim)
    }

    fn untrained(classes: usize, scales: Scales, drift: DriftMode) -> Result<Self> {
        let mut learner = Self {
            classes,
            dim: scales.dim(),
            count: 0,
            scales,
            warm_up: Some(WarmUpRows::default()),
            remembered: None,
            mixture: Mixture::default(),
            drift,
            follows_from: None,
            joint: None,
        };
        require_memory(learner.memory(learner.dim))?;
        learner.rebuild()?;
        Ok(learner)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The members still in the mixture. The prior of a difference between two classes has their
    /// prior size.
    pub fn weights(&self) -> Vec<MemberWeight> {
        self.mixture.weights()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, while
    /// they may be looked at again.
    pub fn kept_rows(&self) -> usize {
        let kept = self.warm_up.as_ref().or(self.remembered.as_ref());
        kept.map_or(0, WarmUpRows::len)
    }

    /// Bytes that its matrices take with `dim` features, at most: nearly all of its memory. There
    /// is one of `8 * dim * dim` bytes per member and class. Ask before a large learner is built
    /// or grows.
    pub fn memory(&self, dim: usize) -> usize {
        // those of the warm-up, whatever its rows turn out to be
        let members = match self.warm_up {
            Some(_) => MemberPrior::all(self.may_be_raw()).len(),
            None => self.mixture.members.len(),
        };
        Factored::bytes(dim).saturating_mul(members).saturating_mul(self.classes)
    }

    /// Refuses if the allocator has no room for a copy beside the learner. A clone would then end
    /// the process.
    pub fn require_copy(&self) -> Result<()> {
        require_memory(self.memory(self.dim))
    }

    /// Learns rows in order. Targets are indices of classes, below [`classes`](Self::classes).
    /// Offsets must be 0: one that all classes share changes nothing. How rows are cut into calls
    /// does not change the result, except for rounding from 40 features on. A batch with an illegal
    /// row is refused as a whole.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_observed(rows, None)
    }

    /// As [`learn`](Self::learn); shows each row to the observer before it is learned.
    pub fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        if self.check(&rows)? {
            return self.run(rows, observer);
        }
        // numbers so large that the recursion may overflow
        Checkpoint::default().transaction(self, |learner| learner.run(rows, observer))
    }

    /// Learns sparse rows in order. A batch is written out as dense rows, so it must fit into
    /// memory.
    pub fn learn_sparse(
        &mut self,
        rows: SparseRows<'_>,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        rows.densified(self.dim, |rows| self.learn_observed(rows, observer))
    }

    /// Checks every number of every row; whether none can overflow.
    fn check(&self, rows: &Rows<'_>) -> Result<bool> {
        self.check_below(rows, self.classes)
    }

    /// The same, for targets below `classes`.
    fn check_below(&self, rows: &Rows<'_>, classes: usize) -> Result<bool> {
        check_class_rows(rows, self.dim, classes, GROW_CLASS)
    }

    /// All rows of a call.
    fn run(&mut self, rows: Rows<'_>, mut observer: Option<&mut dyn ClassObserver>) -> Result<()> {
        if !rows.is_empty() {
            self.joint = None;
        }
        let mut i = 0;
        while i < rows.len() {
            if self.warm_up.is_some() {
                self.warm_up(rows, i, reborrow(&mut observer))?;
                i += 1;
                self.follow_drift();
                continue;
            }
            self.add_process_noise();
            let chunk = self.chunk_rows();
            let end = rows.len().min(i + (chunk - self.count % chunk) as usize);
            let end = self.next_review(rows, i, end);
            self.chunk(rows.slice(i..end), i, reborrow(&mut observer))?;
            self.measure(rows.slice(i..end));
            let before = self.informative_rows();
            self.count += (end - i) as u64;
            self.remember(rows.slice(i..end));
            i = end;
            let informative = self.informative_rows();
            if informative > before
                && informative.is_multiple_of(REVIEW_ROWS)
                && !self.is_following()
            {
                self.review(informative)?;
            }
            if self.count.is_multiple_of(chunk) {
                self.follow_drift();
            }
        }
        Ok(())
    }

    /// After `rows` rows: drops members that no longer matter, and improves the beliefs of the
    /// others.
    fn review(&mut self, rows: u64) -> Result<()> {
        self.mixture.drop_idle(rows);
        if rows.is_power_of_two() {
            self.tighten(rows)?;
            self.revisit();
        }
        Ok(())
    }

    /// Rows through the members, then through the mixture; `first` is the index of the first row
    /// for observers.
    fn chunk(
        &mut self,
        rows: Rows<'_>,
        first: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        if self.scales.incomplete() {
            for i in 0..rows.len() {
                let mixture = &mut self.mixture;
                self.scales.complete(rows.x(i), |j, scale| mixture.set_prior(j, scale));
            }
        }
        self.mixture.learn(rows, self.count, self.scales.centers(), first, observer)
    }
}
