//! What observers see of a row of several classes.

/// What a [`Categorical`](super::Categorical) or a [`WideCategorical`](crate::WideCategorical)
/// predicted for a row before it learned it.
#[derive(Debug, Clone, Copy)]
pub struct ClassRow<'a> {
    /// The row within the call, from 0.
    pub index: usize,
    /// Its features; empty for a [`WideCategorical`](crate::WideCategorical).
    pub x: &'a [f64],
    /// Its class.
    pub class: usize,
    /// Its weight.
    pub weight: f64,
    /// The probability of each class, averaged over what is not known of the coefficients.
    pub probabilities: &'a [f64],
    /// Minus the logarithm of the probability of its class; not multiplied by the weight.
    pub loss: f64,
}

/// Watches the rows that a [`Categorical`](super::Categorical) learns.
///
/// If a call of `learn` fails, the learner returns to its state before the call, but its observer
/// keeps the rows that it has seen.
///
/// ```
/// use kalmia::learner::ClassRow;
/// use kalmia::{Categorical, Rows};
///
/// let mut learner = Categorical::builder(3, 1).intercept().build()?;
/// let mut loss = 0.0;
/// learner.learn_observed(
///     Rows::new(1, &[1.0, 1.0], &[2.0, 2.0])?,
///     Some(&mut |row: &ClassRow<'_>| loss += row.loss),
/// )?;
/// assert!(loss < 2.0 * 3f64.ln()); // the first row is predicted with 1/3, the second with more
/// # Ok::<(), kalmia::Error>(())
/// ```
pub trait ClassObserver {
    /// Called once per row, in order, before the row is learned.
    fn row(&mut self, row: &ClassRow<'_>);
}

impl<F: FnMut(&ClassRow<'_>)> ClassObserver for F {
    fn row(&mut self, row: &ClassRow<'_>) {
        self(row)
    }
}

/// Lends an optional observer for one call.
pub(in crate::learner) fn reborrow<'a>(
    observer: &'a mut Option<&mut dyn ClassObserver>,
) -> Option<&'a mut dyn ClassObserver> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}
