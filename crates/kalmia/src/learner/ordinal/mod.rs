//! Ordered levels: proportional odds with joint beliefs about slopes and cutpoints, as a mixture
//! that has no parameters to choose.
//!
//! With levels $0..K-1$ and cutpoints $c_1 < \dots < c_{K-1}$, $P(y \ge k) = \sigma(q_k)$ and
//! $q_k = \theta^\top x - c_k$. The likelihood of a middle level splits exactly,
//!
//! $$\sigma(q_y) - \sigma(q_{y+1}) = \sigma(q_y)\,\sigma(-q_{y+1})\,(1 - e^{-\delta_y}), \qquad
//!   \delta_y = c_{y+1} - c_y,$$
//!
//! and that of the lowest and the highest level is one label. So a row is at most three scalar
//! observations of one belief: a label 1 at $q_y$, a label 0 at $q_{y+1}$, and the gap
//! (`rule/gap.rs`), each with a moment-matching step. Members differ in the size of their prior as
//! in [`Auto`](super::Auto), and predictions are weighted by past predictive likelihood.
//!
//! | file | owns |
//! |---|---|
//! | `builder`, `check` | choices before the first row; which rows are legal |
//! | `layout` | which coordinate is what, and the scalar observations of a row |
//! | `warm_up`, `prior` | the first rows, and members from the prior at the scales they give |
//! | `member`, `mixture` | one filter; several, and how their weights move |
//! | `probabilities`, `predict` | probabilities of levels from beliefs about $q_k$; of new rows |
//! | `estimate` | slopes and cutpoints, and their covariance |
//! | `state` | storing |

mod builder;
mod check;
mod estimate;
mod layout;
mod member;
mod mixture;
mod predict;
mod prior;
mod probabilities;
mod state;
mod warm_up;

pub use builder::OrdinalBuilder;
pub use estimate::OrdinalEstimate;
pub use state::OrdinalState;

use super::auto::MemberWeight;
use super::auto::member_prior::PRIOR_SIZES;
use super::auto::scale::Scales;
use super::categorical::{ClassObserver, reborrow};
use super::checkpoint::Checkpoint;
use super::standing::REVIEW_ROWS;
use super::warm_up::WarmUpRows;
use crate::covariance::{Factored, Kernel};
use crate::error::Result;
use crate::linalg::require_memory;
use crate::rows::Rows;
use crate::sparse::SparseRows;
use layout::Layout;
use mixture::Mixture;

/// Learns ordered levels, such as ratings or grades, by proportional odds (the cumulative logit
/// model). Feature scales do not matter.
///
/// The target of a row is the index of its level, from 0 for the lowest. $P(y < k) = \sigma(c_k -
/// \theta^\top x)$ with one coefficient per feature and ascending cutpoints $c_k$, which take the
/// place of an intercept. A positive coefficient makes higher levels more likely. Use it in place
/// of [`Categorical`](super::Categorical) if the levels have an order and a feature shifts all of
/// them alike: it has $K - 1$ times fewer coefficients, so it learns faster. All levels must be
/// known at the start, because the place of a new one in the order would not be. With two levels
/// the predictions are those of [`Auto`](super::Auto) with the [`Bernoulli`](crate::Bernoulli)
/// family. A row costs about as much as $K + 1$ rows of a [`Filter`](super::Filter) per member.
///
/// ```
/// use kalmia::{Ordinal, Rows};
///
/// let mut learner = Ordinal::builder(3, 1).build()?;
/// let x = [-2.1, 0.1, 1.9, -1.8, -0.1, 2.2];
/// learner.learn(Rows::new(1, &x, &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0])?)?;
/// let probabilities = learner.predict(&[2.0])?;
/// assert!(probabilities[2] > 0.5 && (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
///
/// let estimate = learner.estimate();
/// assert!(estimate.coefficients()[0] > 0.0);
/// assert!(estimate.cutpoints()[0] < estimate.cutpoints()[1]);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ordinal {
    layout: Layout,
    count: u64,
    /// Of the constant 1 and the features.
    scales: Scales,
    warm_up: Option<WarmUpRows>,
    mixture: Mixture,
}

impl Ordinal {
    /// Choices for a learner of `levels` levels, at least 2, and `dim` features, at least 1.
    pub fn builder(levels: usize, dim: usize) -> OrdinalBuilder {
        OrdinalBuilder::new(levels, dim)
    }

    fn untrained(layout: Layout) -> Result<Self> {
        let mut learner = Self {
            scales: Scales::new(1 + layout.slopes(), true),
            layout,
            count: 0,
            warm_up: Some(WarmUpRows::default()),
            mixture: Mixture::default(),
        };
        require_memory(learner.memory(layout.dim))?;
        learner.rebuild()?;
        Ok(learner)
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.layout.levels
    }

    /// Number of features of a row; with [`OrdinalBuilder::intercept`] the constant is one of them.
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// Whether feature 0 is the constant 1, which has no coefficient.
    pub fn has_intercept(&self) -> bool {
        self.layout.constant
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The members still in the mixture.
    pub fn weights(&self) -> Vec<MemberWeight> {
        self.mixture.weights()
    }

    /// Rows that the learner still holds, and so does its stored state: the first ones, until
    /// the scales of the features are known.
    pub fn kept_rows(&self) -> usize {
        self.warm_up.as_ref().map_or(0, WarmUpRows::len)
    }

    /// Bytes that its matrices take with `dim` features, at most: nearly all of its memory.
    pub fn memory(&self, dim: usize) -> usize {
        let members = match self.warm_up {
            Some(_) => 2 * PRIOR_SIZES.len(),
            None => self.mixture.members.len(),
        };
        let size = Layout { dim, ..self.layout }.size();
        Factored::bytes(size).saturating_mul(members)
    }

    /// Refuses if the allocator has no room for a copy beside the learner. A clone would then end
    /// the process.
    pub fn require_copy(&self) -> Result<()> {
        require_memory(self.memory(self.layout.dim))
    }

    /// Appends a feature that was zero in every row so far. Nothing already learned changes. Its
    /// first value other than zero sets its scale.
    pub fn grow(&mut self) -> Result<()> {
        let members = self.mixture.members.iter();
        let bytes = members.map(|member| member.belief.covariance.growth_bytes());
        require_memory(bytes.fold(0, usize::saturating_add))?;
        if let Some(rows) = &mut self.warm_up {
            rows.grow(self.layout.dim);
        }
        self.layout.dim += 1;
        self.scales.grow();
        self.mixture.members.iter_mut().for_each(|member| member.belief.grow(member.prior_size));
        Ok(())
    }

    /// Learns rows in order. Targets are indices of levels, below [`levels`](Self::levels). Offsets
    /// must be 0. How rows are cut into calls does not change the result, to the last bit. A batch
    /// with an illegal row is refused as a whole.
    pub fn learn(&mut self, rows: Rows<'_>) -> Result<()> {
        self.learn_observed(rows, None)
    }

    /// As [`learn`](Self::learn); shows each row to the observer before it is learned.
    pub fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        if check::check_rows(&rows, &self.layout)? {
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
        rows.densified(self.layout.dim, |rows| self.learn_observed(rows, observer))
    }

    /// All rows of a call.
    fn run(&mut self, rows: Rows<'_>, mut observer: Option<&mut dyn ClassObserver>) -> Result<()> {
        for i in 0..rows.len() {
            if self.warm_up.is_some() {
                self.warm_up(rows, i, reborrow(&mut observer))?;
                continue;
            }
            self.row(rows, i, reborrow(&mut observer)).map_err(|error| error.at_row(i))?;
            self.count += 1;
            if self.count.is_multiple_of(REVIEW_ROWS) {
                self.mixture.drop_idle(self.count);
            }
        }
        Ok(())
    }

    /// Row `i` through the members, then through the mixture.
    fn row(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let Self { layout, scales, mixture, .. } = self;
        if scales.incomplete() {
            scales.complete(&layout.without_constant(rows.x(i)), |j, scale| {
                mixture.set_prior(layout.coordinate(j), scale)
            });
        }
        mixture.learn(layout, rows, i, observer)
    }
}
