//! Ill-conditioned features: the factored form keeps its precision, the dense form keeps it or
//! returns an error.

use crate::common::{Rng, largest, rng, uniform};
use kalmia::covariance::Covariance;
use kalmia::{Dense, Ekf, Error, Factored, Filter, Gaussian, Learner, Predict, Prior, Rows};

/// Least squares by Givens rotations, row by row: `r` is upper triangular (row-major) with the
/// right-hand side behind it. This is the orthogonal (QR) solution, which never squares the
/// condition number.
struct Orthogonal {
    dim: usize,
    r: Vec<f64>,
}

impl Orthogonal {
    /// Starts from the prior's rows, $1/\sqrt{v_j}$ on the diagonal.
    fn new(variances: &[f64]) -> Self {
        let dim = variances.len();
        let mut r = vec![0.0; dim * (dim + 1)];
        (0..dim).for_each(|j| r[j * (dim + 1) + j] = 1.0 / variances[j].sqrt());
        Self { dim, r }
    }

    fn add(&mut self, x: &[f64], y: f64) {
        let mut row: Vec<f64> = x.iter().copied().chain([y]).collect();
        for j in 0..self.dim {
            let own = &mut self.r[j * (self.dim + 1)..(j + 1) * (self.dim + 1)];
            let length = own[j].hypot(row[j]);
            let c = own[j] / length;
            let s = row[j] / length;
            for k in j..=self.dim {
                (own[k], row[k]) = (c * own[k] + s * row[k], c * row[k] - s * own[k]);
            }
        }
    }

    fn solve(&self) -> Vec<f64> {
        let width = self.dim + 1;
        let mut theta = vec![0.0; self.dim];
        for j in (0..self.dim).rev() {
            let tail: f64 = (j + 1..self.dim).map(|k| self.r[j * width + k] * theta[k]).sum();
            theta[j] = (self.r[j * width + self.dim] - tail) / self.r[j * width + j];
        }
        theta
    }
}

struct Outcome {
    theta: Vec<f64>,
    errors: Vec<f64>,
    orthogonal: Vec<f64>,
}

/// Learns the rows of a generator in both ways; the dense form may stop with `PrecisionLost`.
fn run<C: Covariance>(
    rows: usize,
    variances: &[f64],
    mut next: impl FnMut(&mut [f64]) -> f64,
) -> Result<Outcome, Error> {
    let dim = variances.len();
    let mut filter = Filter::with_covariance::<C>(
        Gaussian::default(),
        Ekf,
        Prior::diagonal(variances.to_vec())?,
    )?;
    let mut reference = Orthogonal::new(variances);
    let mut x = vec![0.0; 1000 * dim];
    let mut y = vec![0.0; 1000];
    for _ in 0..rows / 1000 {
        for (x, y) in x.chunks_mut(dim).zip(&mut y) {
            *y = next(x);
            reference.add(x, *y);
        }
        filter.learn(Rows::new(dim, &x, &y)?)?;
    }
    assert!(filter.covariance().log_det()?.is_finite());
    assert!((0..dim).all(|j| filter.covariance().entry(j, j) > 0.0));
    Ok(Outcome {
        theta: filter.coefficients().to_vec(),
        errors: filter.standard_errors().unwrap(),
        orthogonal: reference.solve(),
    })
}

/// Largest difference from the orthogonal solution, in standard errors.
fn distance(outcome: &Outcome) -> f64 {
    let Outcome { theta, errors, orthogonal } = outcome;
    largest(theta.iter().zip(orthogonal).zip(errors).map(|((a, b), e)| (a - b).abs() / e))
}

fn scales(rng: &mut Rng) -> impl FnMut(&mut [f64]) -> f64 {
    move |x| {
        let mut y = 0.0;
        for (j, x) in x.iter_mut().enumerate() {
            let z = uniform(rng) - 0.3;
            *x = z * 10f64.powi(j as i32 - 4);
            y += z * (j as f64 - 3.0);
        }
        y + uniform(rng) - 0.5
    }
}

/// Long: two million rows through Givens rotations, some seconds.
#[test]
fn a_million_rows_with_scales_from_1e_minus_4_to_1e4() {
    // a prior wide against each feature, whatever its scale
    let variances: Vec<f64> = (0..9).map(|j| 100.0 * 10f64.powi(2 * (4 - j))).collect();
    let factored = run::<Factored>(1_000_000, &variances, scales(&mut rng(1))).unwrap();
    println!("factored: {:.1e} standard errors from the orthogonal solution", distance(&factored));
    assert!(distance(&factored) < 1e-8);
    let dense = run::<Dense>(1_000_000, &variances, scales(&mut rng(1))).unwrap();
    println!("dense: {:.1e} standard errors", distance(&dense));
    assert!(distance(&dense) < 1e-6);
}

/// Powers of a uniform variable on [0, 1]: the second moment is the Hilbert matrix, of condition
/// number 1.6e13 at ten powers.
fn powers(rng: &mut Rng) -> impl FnMut(&mut [f64]) -> f64 {
    move |x| {
        let z = uniform(rng);
        let mut power = 1.0;
        for x in x.iter_mut() {
            *x = power;
            power *= z;
        }
        (6.0 * z).sin() + uniform(rng) - 0.5
    }
}

#[test]
fn polynomial_features_of_condition_number_1e13() {
    let variances = vec![1e8; 10];
    let factored = run::<Factored>(100_000, &variances, powers(&mut rng(2))).unwrap();
    let off = distance(&factored);
    println!("factored: {off:.1e} standard errors from the orthogonal solution");
    // the features have condition number 4e6 and the prior is 1e8: eps times their product,
    // measured against the standard errors
    assert!(off < 1e-6, "{off}");
    match run::<Dense>(100_000, &variances, powers(&mut rng(2))) {
        Ok(dense) => {
            println!("dense: {:.1e} standard errors", distance(&dense));
            assert!(distance(&dense) < 1e-2, "wrong without an error: {}", distance(&dense));
        }
        Err(error) => {
            println!("dense: {error}");
            assert!(
                matches!(error, Error::PrecisionLost { .. } | Error::NotPositiveDefinite { .. }),
                "{error}"
            );
        }
    }
}
