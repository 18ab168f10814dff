//! The paper's bounds at the constants of the simulations.

use super::{BETA, DELTA, EPSILON_QUADRATIC};
use crate::error::Result;
use crate::world::{D, World};
use kalmia_theory::{
    BoundP, LocalizedBounded, LocalizedLinear, LogisticConstants, UniformDesign, Variant,
};

/// The paper's closed forms on the constants of these simulations ($P_1 = I$, $\sigma = 1$,
/// $D_{app} = 0$).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Theory {
    /// $D_X = \sqrt d$.
    pub d_x: f64,
    /// $\Lambda_{\min}$, the smallest eigenvalue of $E[XX^\top]$.
    pub lambda_min: f64,
    /// $\varepsilon = 1/(20 D_X)$; then $\rho_\varepsilon = e^{-\varepsilon D_X} > 0.95$, which
    /// Theorem 1 needs.
    pub epsilon_logistic: f64,
    kappa: f64,
    h: f64,
    rho: f64,
}

impl Theory {
    /// The constants of the logistic setting with $\theta^*/10$.
    pub fn new() -> Result<Self> {
        let design = UniformDesign { m: D as u64 - 1 }.evaluate()?;
        let epsilon_logistic = 1.0 / (20.0 * design.d_x);
        let norm_star = World::Weak.generator().iter().map(|v| v * v).sum::<f64>().sqrt();
        let logistic =
            LogisticConstants { d_x: design.d_x, norm_star, eps: epsilon_logistic }.evaluate()?;
        Ok(Self {
            d_x: design.d_x,
            lambda_min: design.lambda_min,
            epsilon_logistic,
            kappa: logistic.kappa,
            h: logistic.h,
            rho: logistic.rho,
        })
    }

    /// Leading term of Theorem 1, $\frac52 d\kappa_\varepsilon\ln(1+n
    /// h\lambda_{\max}(P_1)D_X^2/d)$.
    pub fn leading_logistic(&self, n: u64) -> Result<f64> {
        let theorem = LocalizedBounded {
            d: D as u64,
            n,
            eps: self.epsilon_logistic,
            delta: DELTA,
            kappa: self.kappa,
            h: self.h,
            rho: self.rho,
            d_x: self.d_x,
            lmax_p1: 1.0,
            lmax_p_inv: 1.0,
        };
        Ok(theorem.evaluate()?.log_term)
    }

    /// Leading term of Theorems 2 and 14, $\frac{15}2
    /// d(8\sigma^2+D_{app}^2+\varepsilon^2D_X^2)\ln(1+n\lambda_{\max}(P_1)D_X^2/d)$.
    pub fn leading_quadratic(&self, n: u64) -> Result<f64> {
        let theorem = LocalizedLinear {
            d: D as u64,
            n,
            eps: EPSILON_QUADRATIC,
            delta: DELTA,
            sigma: 1.0,
            d_app: 0.0,
            d_x: self.d_x,
            lmax_p1: 1.0,
            lmax_p_inv: 1.0,
            variant: Variant::Corrected,
        };
        Ok(theorem.evaluate()?.log_term)
    }

    /// Proposition 11: $4/(\Lambda_{\min}t^{1-\beta})$.
    pub fn eigenvalue(&self, t: u64) -> Result<f64> {
        let proposition = BoundP {
            d: D as u64,
            d_x: self.d_x,
            lambda_min: self.lambda_min,
            delta: DELTA,
            beta: BETA,
            t: t as f64,
        };
        Ok(proposition.evaluate()?.bound)
    }
}
