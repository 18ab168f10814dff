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

    /// The rows of both tables, which have the same classes by their indices.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let classes = self.classes.max(other.classes);
        let weight = |at: usize| {
            let class = at / classes;
            let predicted = at % classes;
            self.weight(class, predicted) + other.weight(class, predicted)
        };
        Self { classes, weights: (0..classes * classes).map(weight).collect() }
    }

    /// The same rows with other indices of the classes: for each new class the old one, or `None`
    /// if no row had it. `None` if these are too many.
    pub(super) fn mapped(&self, classes: &[Option<usize>]) -> Option<Self> {
        if classes.len() > Self::MAX_CLASSES {
            return None;
        }
        // an index that no row has
        let old: Vec<usize> =
            classes.iter().map(|class| class.unwrap_or(Self::MAX_CLASSES)).collect();
        Some(Self { classes: classes.len(), weights: self.table(&old).concat() })
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
    fn tables_of_parts_add_up_by_the_names_of_their_classes() {
        let here = Confusion { classes: 2, weights: vec![1.0, 2.0, 3.0, 4.0] };
        let there = Confusion { classes: 1, weights: vec![8.0] };
        let whole = [Some(1), None, Some(0)];
        let expected = vec![vec![4.0, 0.0, 3.0], vec![0.0; 3], vec![2.0, 0.0, 1.0]];
        let mapped = here.mapped(&whole).unwrap();
        assert_eq!(mapped.table(&[0, 1, 2]), expected);
        let both = mapped.merged(&there.mapped(&[None, Some(0), None]).unwrap());
        assert_eq!((both.weight(1, 1), both.weight(0, 0), both.classes()), (8.0, 4.0, 3));
        assert_eq!(here.mapped(&[None; Confusion::MAX_CLASSES + 1]), None);
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
