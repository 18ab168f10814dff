//! What is true of the law of an experiment: $\theta^*$, and the error that no method beats in the
//! limit.

use super::data::{Data, Loss};
use crate::error::{Error, Result};
use crate::matrix::{add_square, dot};
use kalmia::internals::{cholesky_lower, solve_cholesky};
use kalmia::{Bernoulli, Family};

/// Draws of $x$ that stand for the law, fewer if rows are long.
const DRAWS: usize = 1 << 18;
/// Numbers that these draws may hold.
const MAX_NUMBERS: usize = 1 << 24;
/// Newton steps; the risk is convex and smooth, so a few are enough.
const MAX_STEPS: usize = 50;
/// A group of random numbers that no replicate uses.
const REPLICATE: u64 = 1 << 42;

/// $\theta^*$ and $\operatorname{tr}(H^{-1}GH^{-1})$ with $H = E[\ell''xx^\top]$ and $G =
/// E[\ell'^2xx^\top]$ at $\theta^*$.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// The minimizer of the risk.
    pub star: Vec<f64>,
    /// The squared error of the best estimator is this over $n$ in the limit, by at least $10^4$
    /// draws of $x$. If the model is well specified, it is $\operatorname{tr}(H^{-1})$.
    pub efficient: f64,
    /// $H$, by columns.
    pub hessian: Vec<f64>,
    /// The same limit for errors in the norm of $H$, twice the excess risk near $\theta^*$:
    /// $\operatorname{tr}(GH^{-1})$, which is $d$ if the model is well specified.
    pub efficient_risk: f64,
    /// Whether $\theta^*$ was estimated here.
    pub estimated: bool,
}

impl Population {
    /// For the law of `data`; the draws depend on `seed` only.
    pub fn of(data: &Data, seed: u64) -> Result<Self> {
        let d = data.dim();
        let draws = DRAWS.min(MAX_NUMBERS / d).max(10_000);
        let mut x = vec![0.0; draws * d];
        let mut sampler = data.sampler(seed, REPLICATE);
        x.chunks_exact_mut(d).for_each(|x| sampler.features(x));
        let known =
            data.star.clone().or_else(|| data.is_well_specified().then(|| data.theta.clone()));
        let estimated = known.is_none();
        let star = match known {
            Some(star) => star,
            None => minimize(data, &x)?,
        };
        let here = Expansion::at(data, &x, &star);
        let mut factor = here.hessian.clone();
        cholesky_lower(&mut factor, d, "Hessian of the risk").map_err(|_| singular())?;
        // tr(H⁻¹ G H⁻¹) = Σ_j g_jᵀ H⁻² e_j: two solves per column of G.
        let mut efficient = 0.0;
        let mut efficient_risk = 0.0;
        for j in 0..d {
            let mut column = here.gradient_square[j * d..(j + 1) * d].to_vec();
            solve_cholesky(&factor, d, &mut column);
            efficient_risk += column[j];
            solve_cholesky(&factor, d, &mut column);
            efficient += column[j];
        }
        Ok(Self { star, efficient, hessian: here.hessian, efficient_risk, estimated })
    }

    /// $\|\theta^*\|$.
    pub fn norm(&self) -> f64 {
        dot(&self.star, &self.star).sqrt()
    }

    /// $e^{-R\sqrt d}$ with $R = 1.1\|\theta^*\|$: the paper's exp-concavity constant of the
    /// logistic loss on its ball, for features in the unit cube.
    pub fn ball_constant(&self) -> f64 {
        (-1.1 * self.norm() * (self.star.len() as f64).sqrt()).exp()
    }

    /// $(\hat\theta-\theta^*)^\top H(\hat\theta-\theta^*)$.
    pub fn risk_error(&self, theta: &[f64]) -> f64 {
        let gap: Vec<f64> = theta.iter().zip(&self.star).map(|(a, b)| a - b).collect();
        let columns = self.hessian.chunks_exact(gap.len()).zip(&gap);
        columns.map(|(column, g)| g * dot(column, &gap)).sum()
    }

    /// $\|\hat\theta-\theta^*\|^2$.
    pub fn squared_error(&self, theta: &[f64]) -> f64 {
        theta.iter().zip(&self.star).map(|(a, b)| (a - b).powi(2)).sum()
    }
}

fn singular() -> Error {
    Error::Experiment {
        key: "data".into(),
        reason: "the risk has no unique minimizer: some features are linear combinations of others"
            .into(),
    }
}

/// Newton's method on the risk; from 0 its steps are halved until the risk falls.
fn minimize(data: &Data, x: &[f64]) -> Result<Vec<f64>> {
    let d = data.dim();
    let mut theta = vec![0.0; d];
    let mut here = Expansion::at(data, x, &theta);
    for _ in 0..MAX_STEPS {
        let mut factor = here.hessian.clone();
        cholesky_lower(&mut factor, d, "Hessian of the risk").map_err(|_| singular())?;
        let mut step = here.gradient.clone();
        solve_cholesky(&factor, d, &mut step);
        if dot(&step, &here.gradient) < 1e-24 {
            return Ok(theta);
        }
        let mut scale = 1.0;
        loop {
            let trial: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t - scale * s).collect();
            let there = Expansion::at(data, x, &trial);
            // The fall of the last steps is below the rounding of the mean.
            if there.loss <= here.loss * (1.0 + 1e-13) || scale < 1e-9 {
                (theta, here) = (trial, there);
                break;
            }
            scale *= 0.5;
        }
    }
    Ok(theta)
}

/// The risk and its derivatives at $\theta$, with $E[\ell'^2xx^\top]$; matrices by columns.
struct Expansion {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    gradient_square: Vec<f64>,
}

impl Expansion {
    /// Means over the rows of `x`, with the expectation over $y$ in closed form.
    fn at(data: &Data, x: &[f64], theta: &[f64]) -> Self {
        let d = data.dim();
        let zeros = || vec![0.0; d * d];
        let mut sum =
            Self { loss: 0.0, gradient: vec![0.0; d], hessian: zeros(), gradient_square: zeros() };
        let share = d as f64 / x.len() as f64;
        for x in x.chunks_exact(d) {
            let row = row_expansion(data, x, dot(theta, x));
            sum.loss += share * row.loss;
            sum.gradient.iter_mut().zip(x).for_each(|(g, x)| *g += share * row.first * x);
            add_square(&mut sum.hessian, x, share * row.second);
            add_square(&mut sum.gradient_square, x, share * row.first_square);
        }
        sum
    }
}

/// Expectations over $y$ given $x$: of $\ell$, $\ell'$, $\ell'^2$ and $\ell''$.
struct RowExpansion {
    loss: f64,
    first: f64,
    first_square: f64,
    second: f64,
}

fn row_expansion(data: &Data, x: &[f64], u: f64) -> RowExpansion {
    let count = (1 + data.mixture.len()) as f64;
    match data.loss {
        Loss::Logistic => {
            let one = data.predictors(x).map(|v| Bernoulli.mean(v)).sum::<f64>() / count;
            let p = Bernoulli.mean(u);
            // ln(1 + e^u) - E[y] u with y in {0, 1}
            let loss = u.max(0.0) + (-u.abs()).exp().ln_1p() - one * u;
            let first_square = one * (1.0 - p).powi(2) + (1.0 - one) * p * p;
            RowExpansion { loss, first: p - one, first_square, second: p * (1.0 - p) }
        }
        Loss::Quadratic => {
            let gap = data.predictors(x).map(|v| u - v).sum::<f64>() / count;
            let square = data.predictors(x).map(|v| (u - v).powi(2)).sum::<f64>() / count;
            let first_square = square + data.noise.powi(2);
            RowExpansion { loss: 0.5 * first_square, first: gap, first_square, second: 1.0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::quadrature::misspecified_star;

    #[test]
    fn the_minimizer_and_the_limits_of_the_paper() {
        // Independent values: 803.5, 638.5 and 16 550, by quadrature and by many draws.
        for (name, expected) in
            [("comparison10_theory", 803.5), ("misspecified", 638.5), ("comparison1", 16_550.0)]
        {
            let data = Experiment::of_the_paper(name).unwrap().data;
            let population = Population::of(&data, 1).unwrap();
            assert!(!population.estimated);
            let tolerance = if name == "comparison1" { 0.03 } else { 0.006 };
            let gap = population.efficient / expected - 1.0;
            assert!(gap.abs() < tolerance, "{name}: {} against {expected}", population.efficient);
            if data.is_well_specified() {
                assert!((population.efficient_risk - 11.0).abs() < 1e-9);
                let mut theta = population.star.clone();
                theta[1] += 2.0;
                let expected = 4.0 * population.hessian[12];
                assert!((population.risk_error(&theta) / expected - 1.0).abs() < 1e-12);
            }
        }
        // Without the published vector it is found from the draws.
        let mut data = Experiment::of_the_paper("misspecified").unwrap().data;
        let published = data.star.take().unwrap();
        let exact = misspecified_star();
        published.iter().zip(exact).for_each(|(a, b)| assert!((a - b).abs() < 1e-14, "{a} {b}"));
        let found = Population::of(&data, 1).unwrap();
        assert!(found.estimated);
        let gap: f64 = found.star.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(gap.sqrt() < 0.02, "{gap}");
    }

    #[test]
    fn a_cosine_is_orthogonal_to_uniform_features() {
        let data = Experiment::of_the_paper("quadratic_bent").unwrap().data;
        let known = Population::of(&data, 1).unwrap();
        let mut free = data.clone();
        free.star = None;
        let found = Population::of(&free, 1).unwrap();
        assert!(found.squared_error(&known.star).sqrt() < 0.05);
    }

    #[test]
    fn equal_features_have_no_minimizer() {
        let mut data = Experiment::of_the_paper("quadratic").unwrap().data;
        data.features.scales = vec![1e-200; 10];
        assert!(Population::of(&data, 1).unwrap_err().to_string().contains("minimizer"));
    }
}
