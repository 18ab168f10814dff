//! The mean of another learner's iterates.

use super::checkpoint::{Checkpoint, Transactional};
use super::{Learner, Predict};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::observe::{Observer, RowView, reborrow};
use crate::predict::Prediction;
use crate::rows::Rows;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// After $t$ rows, $\frac1t(w_1+\dots+w_t)$: the mean of the coefficients with which the inner
/// learner predicted each row (erratum E29), $w_1$ before any. By convexity a bound on the inner
/// learner's cumulative loss is one on the risk of this mean.
///
/// Predictions use the mean, as a plug-in: there are no standard errors. Observers watch the inner
/// learner, whose iterates the certificate and the bounds are about. Rows go to the inner learner
/// one at a time, because within a block its iterates are never formed. That costs the speed of
/// blocks, and the mean adds $O(d)$ per row.
///
/// ```
/// use kalmia::{Averaged, Ekf, Filter, Gaussian, Learner, Prior, Rows};
///
/// let inner = Filter::new(Gaussian::new(1.0)?, Ekf, Prior::isotropic(1, 1.0)?)?;
/// let mut averaged = Averaged::new(inner);
/// averaged.learn(Rows::new(1, &[1.0, 1.0], &[1.0, 1.0])?)?;
/// // theta_1, theta_2, theta_3 = 0, 1/2, 2/3
/// assert!((averaged.inner().coefficients()[0] - 2.0 / 3.0).abs() < 1e-15);
/// assert_eq!(*averaged.coefficients(), [0.25]);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Averaged<L> {
    running: Running<L>,
    /// The iterate before the row.
    iterate: Vec<f64>,
    checkpoint: Checkpoint<Running<L>>,
}

/// All that a row moves.
#[derive(Debug)]
pub(super) struct Running<L> {
    inner: L,
    /// Iterates in the mean.
    count: u64,
    mean: Vec<f64>,
}

impl<L: Clone> Clone for Running<L> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), count: self.count, mean: self.mean.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.inner.clone_from(&source.inner);
        self.count = source.count;
        self.mean.clone_from(&source.mean);
    }
}

/// Everything that an [`Averaged`] needs to continue, bit for bit, with the state `S` of the inner
/// learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AveragedState<S> {
    /// The inner learner's state.
    pub inner: S,
    /// Iterates in the mean.
    pub count: u64,
    /// The mean.
    pub mean: Vec<f64>,
}

impl<L: Learner + Clone> Averaged<L> {
    /// The mean from here on; iterates before it do not count.
    pub fn new(inner: L) -> Self {
        let mean = inner.coefficients().to_vec();
        Self::resumed(inner, 0, mean)
    }

    fn resumed(inner: L, count: u64, mean: Vec<f64>) -> Self {
        let iterate = vec![0.0; mean.len()];
        Self { running: Running { inner, count, mean }, iterate, checkpoint: Checkpoint::default() }
    }

    /// The inner learner, with its last iterate.
    pub fn inner(&self) -> &L {
        &self.running.inner
    }

    /// The state, given how to take that of the inner learner: `averaged.state(Filter::state)`.
    pub fn state<S>(&self, inner: impl FnOnce(&L) -> S) -> AveragedState<S> {
        let Running { inner: learner, count, mean } = &self.running;
        AveragedState { inner: inner(learner), count: *count, mean: mean.clone() }
    }

    /// A learner that continues from a state: `Averaged::restore(state, Filter::restore)`.
    pub fn restore<S>(state: AveragedState<S>, inner: impl FnOnce(S) -> Result<L>) -> Result<Self> {
        let inner = inner(state.inner)?;
        require_count("iterates", state.count)?;
        require_len("mean", state.mean.len(), inner.dim())?;
        for &value in &state.mean {
            require(value.is_finite(), "mean", value, "must be finite")?;
        }
        Ok(Self::resumed(inner, state.count, state.mean))
    }

    /// Gives the buffers of a row as many coefficients as the mean has.
    fn resize(&mut self) {
        self.iterate.resize(self.running.mean.len(), 0.0);
        self.checkpoint = Checkpoint::default();
    }

    /// Learns row `i`, then adds the iterate before it to the mean. An error changes nothing.
    fn row(
        &mut self,
        rows: &Rows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let Running { inner, count, mean } = &mut self.running;
        let one = rows.slice(i..i + 1);
        self.iterate.copy_from_slice(&inner.coefficients());
        let learned = match observer {
            None => inner.learn(one),
            Some(observer) => {
                let mut shown = |row: &RowView<'_>| observer.row(&RowView { index: i, ..*row });
                inner.learn_observed(one, Some(&mut shown))
            }
        };
        learned.map_err(|error| error.at_row(i))?;
        let share = 1.0 / (*count + 1) as f64;
        mean.iter_mut().zip(&self.iterate).for_each(|(mean, w)| *mean += (w - *mean) * share);
        *count += 1;
        Ok(())
    }
}

impl<L: Learner + Clone> Learner for Averaged<L> {
    fn dim(&self) -> usize {
        self.running.inner.dim()
    }

    fn count(&self) -> u64 {
        self.running.inner.count()
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.running.mean)
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        if self.running.inner.takes_new_features() {
            return Err(Error::State(
                "a mean of iterates needs a fixed number of features, and this learner takes new \
                 ones from the rows; use it without the mean"
                    .into(),
            ));
        }
        require_len("row", rows.dim(), self.dim())?;
        self.transaction(rows.len() > 1, |averaged| {
            (0..rows.len()).try_for_each(|i| averaged.row(&rows, i, reborrow(&mut observer)))
        })
    }
}

impl<L: Predict + Clone> Predict for Averaged<L> {
    type Family = L::Family;
    type Prediction = Prediction<L::Family>;

    fn family(&self) -> L::Family {
        self.running.inner.family()
    }

    fn predict(&self, x: &[f64], offset: f64) -> Result<Self::Prediction> {
        Prediction::new(self.family(), self.linear(x)? + offset, 0.0)
    }

    fn covariance_entry(&self, _: usize, _: usize) -> Option<f64> {
        None
    }

    /// As the inner learner does. The new coefficient was 0 in every iterate of the mean, because
    /// its feature was 0 in every row.
    fn grow(&mut self) -> Result<()> {
        self.running.inner.grow()?;
        self.running.mean.push(0.0);
        self.resize();
        Ok(())
    }

    fn shrink(&mut self) -> Result<()> {
        self.running.inner.shrink()?;
        self.running.mean.pop();
        self.resize();
        Ok(())
    }
}

impl<L: Learner + Clone> Transactional for Averaged<L> {
    type Belief = Running<L>;

    fn belief(&mut self) -> (&mut Running<L>, &mut Checkpoint<Running<L>>) {
        (&mut self.running, &mut self.checkpoint)
    }
}
