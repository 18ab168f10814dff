//! What Newton's method asks of sums, for one linear predictor and for several classes.

use super::row_terms::Kind;
use super::totals::Scalars;
use super::{ClassSums, Sums};
use crate::family::Family;

/// Sums at fixed coefficients.
pub(super) trait NewtonSums {
    /// The coefficients.
    fn theta(&self) -> &[f64];
    fn gradient(&self) -> Vec<f64>;
    /// Row after row.
    fn information(&self) -> Vec<f64>;
    fn squared_scores(&self) -> Option<Vec<f64>>;
    fn scalars(&self) -> Scalars;
    /// How the dispersion is estimated.
    fn kind(&self) -> Kind;
    /// The family's own dispersion, 1 if it has none.
    fn dispersion(&self) -> f64;
    /// Whether the objective is a parabola.
    fn is_normal(&self) -> bool;
}

impl<F: Family> NewtonSums for Sums<F> {
    fn theta(&self) -> &[f64] {
        self.theta()
    }

    fn gradient(&self) -> Vec<f64> {
        self.gradient()
    }

    fn information(&self) -> Vec<f64> {
        self.information()
    }

    fn squared_scores(&self) -> Option<Vec<f64>> {
        self.squared_scores()
    }

    fn scalars(&self) -> Scalars {
        self.scalars.clone()
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn dispersion(&self) -> f64 {
        self.family().dispersion().unwrap_or(1.0)
    }

    fn is_normal(&self) -> bool {
        self.family().normal_noise().is_some()
    }
}

impl NewtonSums for ClassSums {
    fn theta(&self) -> &[f64] {
        self.theta()
    }

    fn gradient(&self) -> Vec<f64> {
        self.gradient()
    }

    fn information(&self) -> Vec<f64> {
        self.information()
    }

    fn squared_scores(&self) -> Option<Vec<f64>> {
        self.squared_scores()
    }

    fn scalars(&self) -> Scalars {
        self.scalars()
    }

    fn kind(&self) -> Kind {
        Kind::None
    }

    fn dispersion(&self) -> f64 {
        1.0
    }

    fn is_normal(&self) -> bool {
        false
    }
}
