//! "A refused call changes nothing", once for all learners and their callers.

use crate::error::Result;

/// A copy of a value to return to when a call fails. Its memory is kept from call to call, so a
/// second transaction allocates nothing if `T::clone_from` does not.
///
/// Every learner already undoes a batch that it refuses. Use this when one operation of the
/// application is several calls, which must succeed or fail together:
///
/// ```
/// use kalmia::learner::Checkpoint;
/// use kalmia::{Auto, Bernoulli, Learner, Rows};
///
/// let mut learner = Auto::new(Bernoulli, 1)?;
/// let mut checkpoint = Checkpoint::default();
/// let result = checkpoint.transaction(&mut learner, |learner| {
///     learner.learn(Rows::new(1, &[1.0, 2.0], &[1.0, 0.0])?)?;
///     learner.learn(Rows::new(1, &[f64::NAN], &[1.0])?)
/// });
/// assert!(result.is_err() && learner.count() == 0);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint<T> {
    saved: Option<Box<T>>,
}

impl<T> Default for Checkpoint<T> {
    fn default() -> Self {
        Self { saved: None }
    }
}

/// A copy starts without saved values: they are worth nothing outside a call.
impl<T> Clone for Checkpoint<T> {
    fn clone(&self) -> Self {
        Self::default()
    }

    fn clone_from(&mut self, _: &Self) {}
}

impl<T: Clone> Checkpoint<T> {
    /// Runs `work` on `value`. If it fails, `value` is what it was before.
    pub fn transaction<V, E>(
        &mut self,
        value: &mut T,
        work: impl FnOnce(&mut T) -> std::result::Result<V, E>,
    ) -> std::result::Result<V, E> {
        self.save(value);
        let result = work(value);
        if result.is_err() {
            self.restore(value);
        }
        result
    }

    fn save(&mut self, value: &T) {
        match &mut self.saved {
            Some(saved) => (**saved).clone_from(value),
            None => self.saved = Some(Box::new(value.clone())),
        }
    }

    /// Takes back the saved value; only after [`save`](Self::save).
    fn restore(&mut self, value: &mut T) {
        if let Some(saved) = &mut self.saved {
            std::mem::swap(value, saved);
        }
    }
}

/// A learner that keeps all that a row moves in one place.
pub(super) trait Transactional {
    /// All that a row moves; its `clone_from` allocates nothing.
    type Belief: Clone;

    fn belief(&mut self) -> (&mut Self::Belief, &mut Checkpoint<Self::Belief>);

    /// Runs `work`. If it fails and is `guarded`, the belief is what it was before.
    fn transaction(
        &mut self,
        guarded: bool,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !guarded {
            return work(self);
        }
        let (belief, checkpoint) = self.belief();
        checkpoint.save(belief);
        let result = work(self);
        if result.is_err() {
            let (belief, checkpoint) = self.belief();
            checkpoint.restore(belief);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_transaction_changes_nothing_and_a_good_one_does() {
        let mut checkpoint = Checkpoint::default();
        let mut value = vec![1, 2];
        for _ in 0..2 {
            let failed: std::result::Result<(), &str> = checkpoint.transaction(&mut value, |v| {
                v.push(3);
                v[0] = 9;
                Err("refused")
            });
            assert_eq!((failed, &value[..]), (Err("refused"), &[1, 2][..]));
        }
        let good: std::result::Result<usize, &str> = checkpoint.transaction(&mut value, |v| {
            v.push(3);
            Ok(v.len())
        });
        assert_eq!((good, &value[..]), (Ok(3), &[1, 2, 3][..]));
    }
}
