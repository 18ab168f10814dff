//! How the features of one model follow from those of another.

use crate::error::{Error, Result, require, require_len};

/// A feature of a part with a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureTerm {
    /// The feature of the part.
    pub feature: usize,
    /// What it is multiplied by.
    pub factor: f64,
}

/// $x = Nz$: each feature of a whole as a short sum of features of a part, on every row of the
/// part. Models that met the levels of a category in another order, or not all of them, can be
/// merged through it.
///
/// ```
/// use kalmia::learner::{FeatureMap, FeatureTerm};
///
/// // the part has (intercept, x), the whole (intercept, a level that the part never saw, x)
/// let term = |feature| vec![FeatureTerm { feature, factor: 1.0 }];
/// let map = FeatureMap::new(2, vec![term(0), vec![], term(1)])?;
/// assert_eq!(map.pull_back(&[3.0, 7.0, 5.0])?, [3.0, 5.0]);
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureMap {
    part_dim: usize,
    terms: Vec<Vec<FeatureTerm>>,
}

impl FeatureMap {
    /// From the terms of each feature of the whole; no terms stand for 0. Refuses features that the
    /// part does not have and factors that are not finite.
    pub fn new(part_dim: usize, terms: Vec<Vec<FeatureTerm>>) -> Result<Self> {
        for term in terms.iter().flatten() {
            if term.feature >= part_dim {
                let feature = term.feature;
                return Err(Error::State(format!(
                    "feature {feature} of a part that has {part_dim} features"
                )));
            }
            require(term.factor.is_finite(), "factor", term.factor, "must be finite")?;
        }
        Ok(Self { part_dim, terms })
    }

    /// Each feature is itself.
    pub fn identity(dim: usize) -> Self {
        let terms = (0..dim).map(|feature| vec![FeatureTerm { feature, factor: 1.0 }]).collect();
        Self { part_dim: dim, terms }
    }

    /// Whether each feature is itself.
    pub fn is_identity(&self) -> bool {
        *self == Self::identity(self.part_dim)
    }

    /// Number of features of the part.
    pub fn part_dim(&self) -> usize {
        self.part_dim
    }

    /// Number of features of the whole.
    pub fn dim(&self) -> usize {
        self.terms.len()
    }

    /// $N^\top\theta$: the coefficients of the part with which it predicts its rows as `theta`
    /// does.
    pub fn pull_back(&self, theta: &[f64]) -> Result<Vec<f64>> {
        require_len("theta", theta.len(), self.dim())?;
        let mut part = vec![0.0; self.part_dim];
        for (terms, coefficient) in self.terms.iter().zip(theta) {
            terms.iter().for_each(|term| part[term.feature] += term.factor * coefficient);
        }
        Ok(part)
    }

    /// $Nb$.
    pub(super) fn vector(&self, b: &[f64]) -> Vec<f64> {
        let sum = |terms: &Vec<FeatureTerm>| -> f64 {
            terms.iter().map(|term| term.factor * b[term.feature]).sum()
        };
        self.terms.iter().map(sum).collect()
    }

    /// $NAN^\top$ of a matrix, row after row.
    pub(super) fn matrix(&self, a: &[f64]) -> Vec<f64> {
        let rows: Vec<Vec<f64>> =
            a.chunks_exact(self.part_dim.max(1)).map(|row| self.vector(row)).collect();
        let combined = |terms: &Vec<FeatureTerm>| {
            let mut row = vec![0.0; self.dim()];
            for term in terms {
                let from = &rows[term.feature];
                row.iter_mut().zip(from).for_each(|(sum, value)| *sum += term.factor * value);
            }
            row
        };
        self.terms.iter().flat_map(combined).collect()
    }

    /// Whether feature `i` of the whole is one feature of the part.
    pub(super) fn is_one(&self, i: usize) -> bool {
        matches!(self.terms[i][..], [FeatureTerm { factor: 1.0, .. }])
    }

    /// The part's value of each feature of the whole that is one feature of the part; 0 for others.
    pub(super) fn select<T: Copy + Default>(&self, values: &[T]) -> Vec<T> {
        let value = |terms: &Vec<FeatureTerm>| match terms[..] {
            [FeatureTerm { feature, factor: 1.0 }] => values[feature],
            _ => T::default(),
        };
        self.terms.iter().map(value).collect()
    }
}
