//! The results of an experiment: squared errors, and coverage of intervals, of every replicate.

use super::population::Population;
use crate::statistics::{mean, standard_error};

/// One line of a panel: squared errors $\|\hat\theta_n-\theta^*\|^2$ of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the CSV and JSON files.
    pub key: String,
    /// Name in the legend.
    pub label: String,
    /// The name of the method's entry, without the values of its grid.
    pub method: String,
    /// The values that its grid gives to parameters.
    pub grid: Vec<(String, f64)>,
    /// `errors[checkpoint][replicate]`.
    pub errors: Vec<Vec<f64>>,
    /// Squared errors in the norm of the Hessian $H$ of the risk, `[checkpoint][replicate]`: about
    /// twice the excess risk.
    pub risk_errors: Vec<Vec<f64>>,
    /// Share of the coefficients inside their 95 % intervals, `[checkpoint][replicate]`; empty for
    /// a method without standard errors, and if the experiment does not ask.
    pub coverage: Vec<Vec<f64>>,
}

impl Curve {
    /// Mean squared error at every checkpoint.
    pub fn mse(&self) -> Vec<f64> {
        self.errors.iter().map(|e| mean(e)).collect()
    }

    /// Standard error of [`Curve::mse`] at every checkpoint.
    pub fn standard_error(&self) -> Vec<f64> {
        self.errors.iter().map(|e| standard_error(e)).collect()
    }

    /// The replicates' squared errors at the horizon.
    pub fn last(&self) -> &[f64] {
        self.errors.last().map_or(&[], |e| e)
    }
}

/// The curves of one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Name of the panel in files, such as `comparison10_theory`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Numbers of rows at which the curves are evaluated.
    pub checkpoints: Vec<u64>,
    /// Number of replicates.
    pub replicates: usize,
    /// One curve per method, two for a method with its average.
    pub curves: Vec<Curve>,
    /// $\theta^*$ and the smallest error that is possible in the limit.
    pub population: Population,
}

impl Panel {
    /// The curve of a method.
    pub fn curve(&self, key: &str) -> Option<&Curve> {
        self.curves.iter().find(|c| c.key == key)
    }

    /// The curves of a method's entry over the values of one parameter of its grid, in their order.
    pub fn sweep(&self, method: &str, parameter: &str) -> Vec<(f64, &Curve)> {
        let value = |curve: &Curve| {
            curve.grid.iter().find(|(name, _)| name == parameter).map(|(_, value)| *value)
        };
        let of_method = self.curves.iter().filter(|curve| curve.method == method);
        of_method.filter_map(|curve| Some((value(curve)?, curve))).collect()
    }

    /// The index of a number of rows among the checkpoints.
    pub fn at(&self, rows: u64) -> Option<usize> {
        self.checkpoints.iter().position(|&n| n == rows)
    }

    /// The last checkpoint.
    pub fn horizon(&self) -> u64 {
        self.checkpoints.last().copied().unwrap_or(0)
    }
}
