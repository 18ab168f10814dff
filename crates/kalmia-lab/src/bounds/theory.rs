//! The paper's bounds at the constants of the simulations, whole.

use super::{BETA, tau::TheoryTau};
use crate::error::Result;
use crate::world::{D, World};
use kalmia::learner::OnlineNewtonSettings;
use kalmia_theory::{
    BoundP, CDelta, CoroConvergenceTau, LocalizedBounded, LocalizedLinear, LogisticConstants,
    RefinementMahdavi, ResultLinear, ResultLogistic, TauDeltaLinear, UniformDesign, Variant,
};

/// The paper's closed forms on the constants of these simulations: $\hat\theta_1 = 0$, $P_1 = I$,
/// $\sigma = 1$, $D_{app} = 0$, $\theta^*/10$. Where text and proof differ, bounds are those of
/// the proof ([`Variant::Corrected`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Theory {
    /// $D_X = \sqrt d$.
    pub d_x: f64,
    /// $\Lambda_{\min}$, the smallest eigenvalue of $E[XX^\top]$.
    pub lambda_min: f64,
    /// $\|\theta^*\|$, also the distance of the start.
    pub norm_star: f64,
    /// $\varepsilon = 1/(20 D_X)$; then $\rho_\varepsilon = e^{-\varepsilon D_X} > 0.95$, which
    /// Theorem 1 needs. Theorem 10 has the same.
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
            norm_star,
            epsilon_logistic,
            kappa: logistic.kappa,
            h: logistic.h,
            rho: logistic.rho,
        })
    }

    /// Theorem 1: `n` steps after $\tau$, with `precision` $\lambda_{\max}(P_{\tau+1}^{-1})$.
    pub fn theorem_1(&self, n: u64, delta: f64, precision: f64) -> Result<f64> {
        let theorem = LocalizedBounded {
            d: D as u64,
            n,
            eps: self.epsilon_logistic,
            delta,
            kappa: self.kappa,
            h: self.h,
            rho: self.rho,
            d_x: self.d_x,
            lmax_p1: 1.0,
            lmax_p_inv: precision,
        };
        Ok(theorem.evaluate()?.total)
    }

    /// Theorem 2: `n` steps after $\tau$.
    pub fn theorem_2(&self, n: u64, eps: f64, delta: f64, precision: f64) -> Result<f64> {
        let theorem = LocalizedLinear {
            d: D as u64,
            n,
            eps,
            delta,
            sigma: 1.0,
            d_app: 0.0,
            d_x: self.d_x,
            lmax_p1: 1.0,
            lmax_p_inv: precision,
            variant: Variant::Corrected,
        };
        Ok(theorem.evaluate()?.total)
    }

    /// The ONS of Theorem 3 on the ball of radius $1.1\|\theta^*\|$: step $3/\gamma$ and $D$ the
    /// diameter (decisions E15 and E16), $P_1^{-1} = \lambda I$ with $\lambda = 1/(\gamma R)^2$
    /// (E14 and E28).
    pub fn online_newton(&self) -> Result<OnlineNewtonSettings> {
        Ok(OnlineNewtonSettings::logistic(D, 1.1 * self.norm_star)?.for_theorem_3())
    }

    /// Theorem 3 after `n` steps of [`Theory::online_newton`].
    pub fn theorem_3(&self, n: u64, delta: f64) -> Result<f64> {
        let settings = self.online_newton()?;
        let radius = settings.radius();
        let theorem = RefinementMahdavi {
            d: D as u64,
            n,
            lambda: (settings.gamma(D) * radius).powi(-2),
            g: self.d_x,
            diameter: 2.0 * radius,
            alpha: (-radius * self.d_x).exp(),
            delta,
        };
        Ok(theorem.evaluate()?.total)
    }

    /// Theorem 10 after `n` steps, with what the truncation adds (erratum E7).
    pub fn theorem_10(&self, n: u64, delta: f64, tau: u64) -> Result<f64> {
        let tau = tau as f64;
        let theorem = ResultLogistic {
            d: D as u64,
            n,
            delta,
            d_x: self.d_x,
            norm_star: self.norm_star,
            dist1: self.norm_star,
            lmax_p1: 1.0,
            lmax_p1_inv: 1.0,
            ln_tau: tau.ln(),
            beta: BETA,
            variant: Variant::Corrected,
        };
        Ok(theorem.evaluate()?.ln_total.exp())
    }

    /// Theorem 14 after `n` steps.
    pub fn theorem_14(&self, n: u64, eps: f64, delta: f64, tau: u64) -> Result<f64> {
        let theorem = ResultLinear {
            d: D as u64,
            n,
            eps,
            delta,
            sigma: 1.0,
            d_app: 0.0,
            d_x: self.d_x,
            lmax_p1: 1.0,
            lmax_p1_inv: 1.0,
            dist1: self.norm_star,
            tau: tau as f64,
            cond_p1: 1.0,
            variant: Variant::Corrected,
        };
        Ok(theorem.evaluate()?.total)
    }

    /// Proposition 11: $4/(\Lambda_{\min}t^{1-\beta})$.
    pub fn proposition_11(&self, t: u64, delta: f64) -> Result<f64> {
        Ok(self.bound_p(t, delta).evaluate()?.bound)
    }

    /// The time from which Proposition 11 applies.
    pub fn proposition_11_from(&self, delta: f64) -> Result<f64> {
        Ok(self.bound_p(1, delta).evaluate()?.threshold)
    }

    fn bound_p(&self, t: u64, delta: f64) -> BoundP {
        BoundP {
            d: D as u64,
            d_x: self.d_x,
            lambda_min: self.lambda_min,
            delta,
            beta: BETA,
            t: t as f64,
        }
    }

    /// $C_\delta$ of the event $A_{C_\delta}$.
    pub fn c_delta(&self, delta: f64) -> Result<f64> {
        let constant =
            CDelta { d: D as u64, d_x: self.d_x, lambda_min: self.lambda_min, delta, lmax_p1: 1.0 };
        Ok(constant.evaluate()?.c)
    }

    /// $\tau$ of Corollary 24, for the Kalman filter.
    pub fn tau_quadratic(&self, eps: f64, delta: f64) -> Result<TheoryTau> {
        let at = |variant| {
            TauDeltaLinear {
                d: D as u64,
                eps,
                delta,
                sigma: 1.0,
                d_app: 0.0,
                d_x: self.d_x,
                lambda_min: self.lambda_min,
                dist1: self.norm_star,
                norm_star: self.norm_star,
                p1: 1.0,
                variant,
            }
            .evaluate()
        };
        let printed = at(Variant::Paper)?;
        let corrected = at(Variant::Corrected)?;
        Ok(TheoryTau {
            // Rounded up, as a time is whole (E30).
            ln_printed: printed.tau.ceil().ln(),
            ln_corrected: corrected.tau.ceil().ln(),
            applies: corrected.applies,
        })
    }

    /// $\tau$ of Corollary 13, for the truncated filter.
    pub fn tau_logistic(&self, eps: f64, delta: f64) -> Result<TheoryTau> {
        let at = |variant| {
            CoroConvergenceTau {
                d: D as u64,
                d_x: self.d_x,
                lambda_min: self.lambda_min,
                norm_star: self.norm_star,
                eps,
                delta,
                beta: BETA,
                lmax_p1: 1.0,
                variant,
            }
            .evaluate()
        };
        let printed = at(Variant::Paper)?;
        let corrected = at(Variant::Corrected)?;
        Ok(TheoryTau {
            ln_printed: printed.ln_tau,
            ln_corrected: corrected.ln_tau,
            applies: corrected.applies,
        })
    }
}
