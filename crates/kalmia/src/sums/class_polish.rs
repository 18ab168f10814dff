//! The Newton step of several classes, and the learner that follows from it.

use super::class_sums::require_class_coefficients;
use super::polish::{Polished, polish_sums};
use super::{ClassSums, PriorPrecision};
use crate::error::{Result, require, require_len};
use crate::learner::Categorical;
use crate::linalg::require_memory;

/// As [`polish`](super::polish), for several classes. The coefficients are those of each class
/// against class 0, as in [`ClassSums`].
pub fn polish_classes(prior: &PriorPrecision, sums: &ClassSums) -> Result<Polished> {
    polish_sums(prior, sums)
}

/// Square matrices of all coefficients that a Newton step holds at the same time.
const MATRICES: usize = 8;

impl Categorical {
    /// The prior that predicted best, about the coefficients of each class against class 0: what to
    /// polish this learner with, that of the heaviest member.
    ///
    /// Refuses fewer than two classes, a learner that follows a drift, more than
    /// [`MAX_CLASS_COEFFICIENTS`](super::MAX_CLASS_COEFFICIENTS) coefficients, and a lack of memory
    /// for the step.
    pub fn polishing_prior(&self) -> Result<PriorPrecision> {
        require(self.classes() > 1, "classes", self.classes() as f64, "must be at least 2")?;
        require_class_coefficients(self.classes(), self.dim())?;
        let size = self.dim() * (self.classes() - 1);
        require_memory(MATRICES * size_of::<f64>() * size * size)?;
        Ok(self.fitted_prior()?.of_differences(self.classes()))
    }

    /// The learner with the polished belief as its only member. It keeps its prior, so it grows,
    /// learns and watches for a drift as before.
    ///
    /// Until it learns another row, [`contrast`](Self::contrast) has the standard errors of the
    /// joint information of all classes. Then they are those of a belief per class again. Refuses
    /// another number of coefficients, and a learner that follows a drift.
    ///
    /// ```
    /// use kalmia::sums::{ClassSums, PriorPrecision, polish_classes};
    /// use kalmia::{Categorical, Rows};
    ///
    /// let y = [0.0, 1.0, 1.0, 2.0, 2.0, 2.0];
    /// let rows = Rows::new(1, &[1.0; 6], &y)?;
    /// let mut learner = Categorical::builder(3, 1).intercept().build()?;
    /// learner.learn(rows)?;
    /// for _ in 0..5 {
    ///     let mut sums = ClassSums::new(3, &learner.coefficients_against_first())?;
    ///     sums.add(rows)?;
    ///     learner = learner.with_polished(&polish_classes(&PriorPrecision::flat(2), &sums)?)?;
    /// }
    /// let contrast = learner.contrast(2, 1)?; // 3 rows against 2
    /// assert!((contrast.coefficients[0] - 1.5f64.ln()).abs() < 1e-9);
    /// assert!((contrast.covariance[0] - (1.0 / 3.0 + 1.0 / 2.0)).abs() < 1e-9);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn with_polished(self, polished: &Polished) -> Result<Self> {
        let count = self.dim() * self.classes().saturating_sub(1);
        require_len("coefficients", polished.coefficients().len(), count)?;
        self.with_joint(polished.coefficients(), &polished.covariance(), polished.rows())
    }
}
