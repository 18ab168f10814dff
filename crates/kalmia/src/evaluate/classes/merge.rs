//! Scores of several classes over the rows of several learners.

use super::ClassMetrics;

impl ClassMetrics {
    /// The sums over the rows of both, each predicted by its own learner; the last half is that of
    /// each. The mean loss after earlier numbers of rows is dropped, and so is the order of the
    /// rows. Both must have the same classes, by their indices; see [`mapped`](Self::mapped).
    ///
    /// ```
    /// use kalmia::evaluate::ClassMetrics;
    ///
    /// let mut here = ClassMetrics::default();
    /// let mut there = ClassMetrics::default();
    /// here.row(0, &[0.5, 0.25, 0.25], 1.0);
    /// there.row(1, &[0.1, 0.8, 0.1], 1.0);
    /// let both = here.merged(&there);
    /// assert_eq!(both.rows(), 2);
    /// assert!((both.loss() + (0.5f64 * 0.8).ln() / 2.0).abs() < 1e-15);
    /// ```
    pub fn merged(&self, other: &Self) -> Self {
        let mut calibration = self.calibration.clone();
        calibration.merge(&other.calibration);
        let ranks = self.ranks.iter().zip(&other.ranks).map(|(a, b)| a + b).collect();
        let mut shares = self.shares.clone();
        shares.resize(shares.len().max(other.shares.len()), 0.0);
        shares.iter_mut().zip(&other.shares).for_each(|(own, other)| *own += other);
        Self {
            rows: self.rows + other.rows,
            weight: self.weight + other.weight,
            loss: self.loss + other.loss,
            constant_loss: self.constant_loss + other.constant_loss,
            square: self.square + other.square,
            ranks,
            calibration,
            shares,
            window: self.window.merged(self.rows, &other.window, other.rows),
            confusion: self
                .confusion
                .as_ref()
                .zip(other.confusion.as_ref())
                .map(|(own, other)| own.merged(other)),
            ..Self::default()
        }
    }

    /// The same scores with other indices of the classes. `classes` has, for each new class, the
    /// old one, or `None` if no row had it.
    pub fn mapped(mut self, classes: &[Option<usize>]) -> Self {
        let share = |class: &Option<usize>| {
            class.and_then(|own| self.shares.get(own)).copied().unwrap_or(0.0)
        };
        let same = classes.iter().enumerate().all(|(k, class)| *class == Some(k));
        if !same {
            self.shares = classes.iter().map(share).collect();
            self.confusion = self.confusion.and_then(|table| table.mapped(classes));
            self.previous = None;
        }
        self
    }
}
