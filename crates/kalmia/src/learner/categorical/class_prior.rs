//! The prior of the coefficients of several classes, of which a polish may choose the size.

use super::member::BLOCK_SHARE;
use crate::error::{Result, require};
use crate::learner::PriorPrecision;
use crate::learner::auto::prior::{Basis, MIN_INTERCEPT};
use crate::learner::auto::scale::Scales;

/// Smallest and largest size that is chosen.
const SIZES: std::ops::RangeInclusive<f64> = 1e-4..=1e6;

/// Independent normal coefficients, relative to the scales that a
/// [`Categorical`](super::Categorical) gave the features; the same for each class. See
/// [`Polish::of_classes`](crate::sums::Polish::of_classes).
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPrior {
    pub(super) classes: usize,
    pub(super) scales: Scales,
    pub(super) size: f64,
    pub(super) basis: Basis,
}

impl ClassPrior {
    /// The variance of a difference between two classes, relative to the scaled features.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// With another size, which must be positive and finite.
    pub fn with_size(&self, size: f64) -> Result<Self> {
        let legal = size > 0.0 && size.is_finite();
        require(legal, "prior size", size, "must be positive and finite")?;
        Ok(Self { size, ..self.clone() })
    }

    /// About the coefficients of each class against class 0.
    pub fn precision(&self) -> Result<PriorPrecision> {
        let own = precision_of_class(&self.scales, self.size, self.basis)?;
        Ok(own.of_differences(self.classes))
    }

    /// The log-determinant of [`precision`](Self::precision), up to a term that is the same for
    /// every size and for both kinds of features: centering has determinant 1.
    pub(crate) fn log_det(&self) -> f64 {
        let variances = variances(&self.scales, self.size, self.basis);
        let others = self.classes as f64 - 1.0;
        -others * variances.into_iter().map(f64::ln).sum::<f64>()
    }

    /// With `factor` times the size.
    pub(crate) fn resized(&self, factor: f64) -> Self {
        let size = (self.size * factor).clamp(*SIZES.start(), *SIZES.end());
        Self { size, ..self.clone() }
    }

    /// Of features as they come instead of centered ones, or the reverse; `None` if there is no
    /// difference.
    pub(crate) fn other_basis(&self) -> Option<Self> {
        let basis = match self.basis {
            Basis::Centered => Basis::Raw,
            Basis::Raw => Basis::Centered,
        };
        let differ = self.scales.has_intercept() && self.scales.off_center();
        differ.then(|| Self { basis, ..self.clone() })
    }
}

/// Prior variances of the coefficients of a class.
pub(super) fn variances(scales: &Scales, size: f64, basis: Basis) -> Vec<f64> {
    let mut variances = scales.variances(BLOCK_SHARE * size, basis);
    if scales.has_intercept() {
        variances[0] = BLOCK_SHARE * MIN_INTERCEPT * size.max(1.0);
    }
    variances
}

/// The inverse of the prior covariance of a class.
pub(super) fn precision_of_class(
    scales: &Scales,
    size: f64,
    basis: Basis,
) -> Result<PriorPrecision> {
    let centered = scales.has_intercept() && basis.is_centered();
    let centers = centered.then(|| scales.centers());
    let variances = variances(scales, size, basis);
    PriorPrecision::centered(vec![0.0; scales.dim()], &variances, centers)
}
