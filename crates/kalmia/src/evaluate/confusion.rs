//! Which classes were taken for others.

use crate::error::{Error, Result, require};
use serde::{Deserialize, Serialize};

/// Weight of the rows of each class, by the class that was predicted for them: the one of the
/// highest probability, the first of several. For at most [`Confusion::MAX_CLASSES`] classes.
///
/// ```
/// use kalmia::evaluate::ClassMetrics;
///
/// let mut metrics = ClassMetrics::default();
/// metrics.row(0, &[0.7, 0.3], 1.0);
/// metrics.row(0, &[0.4, 0.6], 2.0);
/// let confusion = metrics.confusion().unwrap();
/// assert_eq!((confusion.weight(0, 0), confusion.weight(0, 1)), (1.0, 2.0));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Confusion {
    classes: usize,
    /// True class after true class.
    weights: Vec<f64>,
}

impl Confusion {
    /// Most classes: a larger table is not read by people.
    pub const MAX_CLASSES: usize = 20;

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Weight of the rows of class `class` that were taken for `predicted`; 0 if no row had one of
    /// them.
    pub fn weight(&self, class: usize, predicted: usize) -> f64 {
        match class.max(predicted) < self.classes {
            true => self.weights[class * self.classes + predicted],
            false => 0.0,
        }
    }

    /// The table of these classes, in their order: a row per true class.
    pub fn table(&self, classes: &[usize]) -> Vec<Vec<f64>> {
        let row = |&class: &usize| classes.iter().map(|&other| self.weight(class, other)).collect();
        classes.iter().map(row).collect()
    }

    /// Counts a row of one of `classes` classes. `None` if these are too many.
    pub(super) fn counted(
        mut self,
        class: usize,
        predicted: usize,
        classes: usize,
        weight: f64,
    ) -> Option<Self> {
        if classes > Self::MAX_CLASSES {
            return None;
        }
        if classes > self.classes {
            let all: Vec<usize> = (0..classes).collect();
            self.weights = self.table(&all).concat();
            self.classes = classes;
        }
        self.weights[class * self.classes + predicted] += weight;
        Some(self)
    }

    /// Refuses a value read from a file that no rows can give.
    pub(super) fn check(&self) -> Result<()> {
        if self.classes > Self::MAX_CLASSES || self.weights.len() != self.classes.pow(2) {
            return Err(Error::State("the table of classes does not fit together".into()));
        }
        for &weight in &self.weights {
            let legal = (0.0..=f64::MAX).contains(&weight);
            require(legal, "score", weight, "must be finite and not negative")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::ClassMetrics;

    #[test]
    fn the_table_grows_with_the_classes_and_keeps_its_counts() {
        let mut metrics = ClassMetrics::default();
        metrics.row(0, &[1.0], 1.0);
        metrics.row(1, &[0.8, 0.2], 1.0);
        // of equal probabilities the first is predicted
        metrics.row(1, &[0.5, 0.5], 0.5);
        metrics.row(2, &[0.1, 0.2, 0.7], 3.0);
        metrics.row(2, &[0.1, 0.2, 0.7], 0.0);
        let confusion = metrics.confusion().unwrap();
        let expected = vec![vec![3.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 1.5, 0.0]];
        assert_eq!(confusion.table(&[2, 0, 1]), expected);
        assert_eq!((confusion.classes(), confusion.weight(3, 0)), (3, 0.0));
    }

    #[test]
    fn too_many_classes_have_no_table_for_good() {
        let mut metrics = ClassMetrics::default();
        let most = [1.0 / Confusion::MAX_CLASSES as f64; Confusion::MAX_CLASSES];
        metrics.row(3, &most, 1.0);
        assert_eq!(metrics.confusion().unwrap().weight(3, 0), 1.0);
        metrics.row(3, &[0.04; Confusion::MAX_CLASSES + 1], 1.0);
        assert_eq!(metrics.confusion(), None);
        metrics.row(3, &most, 1.0);
        assert_eq!(metrics.confusion(), None);
    }

    #[test]
    fn forged_tables_are_refused() {
        let good = Confusion { classes: 2, weights: vec![1.0, 0.0, 0.5, 2.0] };
        assert_eq!(good.check(), Ok(()));
        for (classes, weights) in
            [(2, vec![1.0; 3]), (1, vec![-1.0]), (1, vec![f64::NAN]), (21, vec![0.0; 441])]
        {
            assert!(Confusion { classes, weights }.check().is_err());
        }
    }
}
