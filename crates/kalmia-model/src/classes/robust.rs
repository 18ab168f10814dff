//! Robust standard errors of several classes, in the order of their names.

use crate::error::Result;
use crate::model::ClassModel;
use kalmia::sums::Polished;
use serde::Serialize;

/// Standard errors of the coefficients of one class against the reference class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassErrors {
    /// The class.
    pub class: String,
    /// In the order of the features.
    pub std_errors: Vec<f64>,
}

impl ClassModel {
    /// Standard errors that hold even if the model is wrong (White's sandwich), of each class
    /// against the reference class. `polished` is the last step of a polish with squared scores,
    /// whose coefficients are those against the class of code 0.
    pub fn robust_errors(&self, polished: &Polished) -> Result<Vec<ClassErrors>> {
        self.robust_errors_in(&self.sorted_classes(), polished)
    }

    /// The same for classes in another order, against the first of them.
    pub fn robust_errors_in(
        &self,
        codes: &[usize],
        polished: &Polished,
    ) -> Result<Vec<ClassErrors>> {
        let Some((&reference, others)) = codes.split_first() else { return Ok(Vec::new()) };
        let covariance = polished.robust_covariance()?;
        let dim = self.learner.dim();
        let size = polished.coefficients().len();
        let entry = |k: usize, l: usize, j: usize| match k.min(l) {
            0 => 0.0,
            _ => covariance[((k - 1) * dim + j) * size + (l - 1) * dim + j],
        };
        let error = |class: usize, j: usize| {
            let both = entry(class, class, j) + entry(reference, reference, j);
            (both - 2.0 * entry(class, reference, j)).sqrt()
        };
        let one = |&class: &usize| ClassErrors {
            class: self.classes()[class].clone(),
            std_errors: (0..dim).map(|j| error(class, j)).collect(),
        };
        Ok(others.iter().map(one).collect())
    }
}
