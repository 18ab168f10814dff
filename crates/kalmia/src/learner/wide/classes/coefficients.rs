//! Coefficients of a class against a reference class, and their standard errors.

use super::WideCategorical;
use crate::error::{Result, require};
use crate::learner::wide::belief::{Belief, Terms};

/// Coefficients of one class against another: by how much a unit of each feature raises the
/// logarithm of the odds between them. In the order of [`WideCategorical::features`].
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastTable {
    /// $E[\theta_k - \theta_r]$, one per feature.
    pub coefficients: Vec<f64>,
    /// Their standard errors. Features outside the core are taken as independent of all others, so
    /// those of correlated features are too small.
    pub standard_errors: Vec<f64>,
}

/// Mean and variance of a combination of the classes' coefficients of one feature.
pub(super) struct Moments {
    pub mean: f64,
    pub variance: f64,
}

impl WideCategorical {
    /// The coefficients of `class` against those of `reference`, within the members and between
    /// them. Rows determine such differences only, not the coefficients of one class alone.
    ///
    /// ```
    /// use kalmia::{SparseMatrix, SparseRows, WideCategorical};
    ///
    /// let mut learner = WideCategorical::builder(3).build()?;
    /// let x = SparseMatrix::new(&[0, 1, 2, 3], &[7, 8, 9], &[1.0; 3])?;
    /// learner.learn_sparse(SparseRows::new(x, &[0.0, 1.0, 2.0])?, None)?;
    /// let contrast = learner.contrast(1, 0)?;
    /// assert_eq!(learner.features(), [7, 8, 9]);
    /// assert!(contrast.coefficients[0] < 0.0 && contrast.coefficients[1] > 0.0);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn contrast(&self, class: usize, reference: usize) -> Result<ContrastTable> {
        let classes = self.classes();
        for index in [class, reference] {
            require(index < classes, "class", index as f64, "must be below classes()")?;
        }
        let mut contrast = ContrastTable { coefficients: Vec::new(), standard_errors: Vec::new() };
        for i in 0..self.dim() {
            let terms = self.features.terms(i);
            // a class against itself differs by nothing
            let parts = [(&self.beliefs[class], 1.0), (&self.beliefs[reference], -1.0)];
            let parts = if class == reference { &[][..] } else { &parts[..] };
            let Moments { mean, variance } = self.moments(&terms, parts);
            contrast.coefficients.push(mean);
            contrast.standard_errors.push(variance.sqrt());
        }
        Ok(contrast)
    }

    /// Of a coefficient, summed over classes with these factors: within the members and between
    /// them. Classes are independent within a member.
    pub(super) fn moments(&self, terms: &Terms, parts: &[(&Belief, f64)]) -> Moments {
        let own_mean = |k: usize| -> f64 {
            parts.iter().map(|(belief, factor)| factor * belief.mean(terms, k)).sum()
        };
        let own_variance = |k: usize| -> f64 {
            let parts = parts.iter();
            parts.map(|(belief, factor)| factor * factor * belief.entry(terms, terms, k)).sum()
        };
        let members = || self.members.all.iter().enumerate();
        let mean: f64 = members().map(|(k, member)| member.weight * own_mean(k)).sum();
        let variance = members()
            .map(|(k, member)| member.weight * (own_variance(k) + (own_mean(k) - mean).powi(2)))
            .sum();
        Moments { mean, variance }
    }
}
