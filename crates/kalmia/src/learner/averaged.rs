//! The mean of another learner's iterates.

use super::online_newton::at_row;
use super::{Learner, Observer, Seen};
use crate::error::{Result, require, require_len};
use crate::rows::Rows;
use serde::{Deserialize, Serialize};

/// After $t$ rows, $\frac1t(w_1+\dots+w_t)$: the mean of the coefficients with which the inner
/// learner met each row (erratum E29), $w_1$ before any. Convexity turns a bound on the inner
/// learner's cumulative loss into one on the risk of this mean.
///
/// Predictions use the mean. Observers watch the inner learner, whose iterates are what the
/// certificate and the bounds speak of. Rows go to the inner learner one at a time, because within
/// a block its iterates are never formed; it loses the speed of blocks, and the mean adds $O(d)$ a
/// row.
///
/// ```
/// use kalmia::{Averaged, Ekf, Filter, Gaussian, Learner, Prior, Rows};
///
/// let inner: Filter<_, _> = Filter::new(Gaussian::new(1.0)?, Ekf, Prior::isotropic(1, 1.0)?)?;
/// let mut averaged = Averaged::new(inner);
/// averaged.learn(Rows::new(1, &[1.0, 1.0], &[1.0, 1.0])?)?;
/// assert!((averaged.inner().coefficients()[0] - 2.0 / 3.0).abs() < 1e-15); // theta_1, theta_2, theta_3 = 0, 1/2, 2/3
/// assert_eq!(averaged.coefficients(), [0.25]);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Averaged<L> {
    inner: L,
    /// Iterates in the mean.
    count: u64,
    mean: Vec<f64>,
    /// The mean before the batch, and the inner learner where the batch has more rows than one
    /// (which it refuses without a trace).
    mean_before: Vec<f64>,
    inner_before: Option<Box<L>>,
}

/// Everything that an [`Averaged`] needs to go on, bit for bit, with the state `S` of the inner
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
    /// The mean from here on; rows that `inner` has already learned count for nothing.
    pub fn new(inner: L) -> Self {
        let mean = inner.coefficients().to_vec();
        Self { inner, count: 0, mean_before: mean.clone(), mean, inner_before: None }
    }

    /// The inner learner, with its last iterate.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    /// Takes the state, given how to take that of the inner learner:
    /// `averaged.state(Filter::state)`.
    pub fn state<S>(&self, inner: impl FnOnce(&L) -> S) -> AveragedState<S> {
        AveragedState { inner: inner(&self.inner), count: self.count, mean: self.mean.clone() }
    }

    /// A learner that goes on where the state was taken: `Averaged::restore(state,
    /// Filter::restore)`.
    pub fn restore<S>(state: AveragedState<S>, inner: impl FnOnce(S) -> Result<L>) -> Result<Self> {
        let inner = inner(state.inner)?;
        require_len("mean", state.mean.len(), inner.dim())?;
        for &value in &state.mean {
            require(value.is_finite(), "mean", value, "must be finite")?;
        }
        Ok(Self {
            inner,
            count: state.count,
            mean_before: state.mean.clone(),
            mean: state.mean,
            inner_before: None,
        })
    }

    /// Row `i` alone, then its iterate into the mean.
    fn row(
        &mut self,
        rows: &Rows<'_>,
        i: usize,
        observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        let one = rows.slice(i..i + 1);
        let iterate = self.inner.coefficients();
        let share = 1.0 / (self.count + 1) as f64;
        self.mean.iter_mut().zip(iterate).for_each(|(mean, w)| *mean += (w - *mean) * share);
        let learned = match observer {
            None => self.inner.learn(one),
            Some(observer) => {
                let mut shown = |seen: &Seen<'_>| observer.row(&Seen { index: i, ..*seen });
                self.inner.learn_observed(one, Some(&mut shown))
            }
        };
        learned.map_err(|error| at_row(error, i))?;
        self.count += 1;
        Ok(())
    }
}

impl<L: Learner + Clone> Learner for Averaged<L> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn count(&self) -> u64 {
        self.inner.count()
    }

    fn coefficients(&self) -> &[f64] {
        &self.mean
    }

    fn learn_observed(
        &mut self,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<()> {
        require_len("row", rows.dim(), self.dim())?;
        self.mean_before.copy_from_slice(&self.mean);
        if rows.len() > 1 {
            match &mut self.inner_before {
                Some(before) => (**before).clone_from(&self.inner),
                None => self.inner_before = Some(Box::new(self.inner.clone())),
            }
        }
        let before = self.count;
        for i in 0..rows.len() {
            let observer = observer.as_mut().map(|o| &mut **o as &mut dyn Observer);
            if let Err(error) = self.row(&rows, i, observer) {
                if let Some(before) = self.inner_before.as_mut().filter(|_| rows.len() > 1) {
                    std::mem::swap(&mut self.inner, before);
                }
                self.mean.copy_from_slice(&self.mean_before);
                self.count = before;
                return Err(error);
            }
        }
        Ok(())
    }
}
