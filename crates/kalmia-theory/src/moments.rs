//! What rows show about their law: the largest norm, and the smallest eigenvalue of the mean of
//! $xx^T$.

use kalmia::math::{dot, smallest_eigenvalue};

/// Sums over rows from which $D_X$ and $\Lambda_{\min}$ of Assumption 1 are estimated in one pass.
///
/// Rows may get longer on the way: a feature that appears late was 0 before.
///
/// ```
/// use kalmia_theory::DesignMoments;
///
/// let mut moments = DesignMoments::default();
/// moments.add(&[1.0, 0.0]);
/// moments.add(&[1.0, 2.0]);
/// let design = moments.estimate().unwrap();
/// assert_eq!((design.rows, design.d, design.d_x), (2, 2, 5f64.sqrt()));
/// // the mean of xx' is [[1, 1], [1, 2]]
/// assert!((design.lambda_min - (3.0 - 5f64.sqrt()) / 2.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DesignMoments {
    rows: u64,
    d: usize,
    largest: f64,
    /// The lower triangle of the sum of $xx^T$, packed by rows: a new feature is a new row.
    sums: Vec<f64>,
}

/// What the rows show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DesignEstimate {
    /// Rows seen.
    pub rows: u64,
    /// Features per row.
    pub d: usize,
    /// The largest norm of a row. The supremum $D_X$ can only be larger.
    pub d_x: f64,
    /// The smallest eigenvalue of the mean of $xx^T$; not positive, up to rounding, if the features
    /// are collinear or fewer rows than features were seen.
    pub lambda_min: f64,
}

impl DesignMoments {
    /// Adds a row.
    pub fn add(&mut self, x: &[f64]) {
        self.rows += 1;
        if x.len() > self.d {
            self.d = x.len();
            self.sums.resize(self.d * (self.d + 1) / 2, 0.0);
        }
        self.largest = self.largest.max(dot(x, x));
        let mut start = 0;
        for (i, &xi) in x.iter().enumerate() {
            let row = &mut self.sums[start..=start + i];
            row.iter_mut().zip(x).for_each(|(sum, &xj)| *sum += xi * xj);
            start += i + 1;
        }
    }

    /// The estimates; `None` before the first row.
    pub fn estimate(&self) -> Option<DesignEstimate> {
        if self.rows == 0 {
            return None;
        }
        let d = self.d;
        let mut mean = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..=i {
                let value = self.sums[i * (i + 1) / 2 + j] / self.rows as f64;
                mean[i * d + j] = value;
                mean[j * d + i] = value;
            }
        }
        let lambda_min = smallest_eigenvalue(mean, d);
        Some(DesignEstimate { rows: self.rows, d, d_x: self.largest.sqrt(), lambda_min })
    }
}
