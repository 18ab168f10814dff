//! The Kalman filter in the quadratic setting from the first step on: Lemma 22 and Theorem 14.

use crate::Variant;
use crate::bound::{bound, output, says_something};
use crate::local::LocalizedLinear;
use kalmia::Result;

bound! {
    /// **Lemma 22** (`lemma:quadratic_first`). Under Assumptions 1, 2, 4, for all $t\ge1$
    /// simultaneously,
    /// $$\|\hat\theta_t-\theta^*\|\le\|\hat\theta_1-\theta^*\|
    /// +\lambda_{\max}(P_1)D_X\big((3\sigma
    /// +D_{\rm app})(t-1)+3\sigma\ln\delta^{-1}\big).$$
    ///
    /// Erratum E17: proved for $P_1=p_1I$ only; in general the first term is to be multiplied by
    /// $\sqrt{\lambda_{\max}(P_1)/\lambda_{\min}(P_1)}$, which `cond_p1` does.
    QuadraticFirst -> QuadraticFirstOutput: "quadratic_first", "lemma:quadratic_first", "1-delta";
    "Lemma 22: distance of the first estimates of the Kalman filter to the optimum."
    /// Time.
    t: u64, "t", AtLeastOne;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Sub-gaussian proxy of the noise (not squared).
    sigma: f64, "sigma", NonNegative;
    /// Approximation error $D_{\rm app}$ of Assumption 4.
    d_app: f64, "Dapp", NonNegative;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Condition number of $P_1$, 1 for a multiple of the identity.
    cond_p1: f64, "condP1", AtLeastOne = "1";
}

output! {
    /// The bound of Lemma 22.
    QuadraticFirstOutput;
    /// The bound on the distance.
    bound: f64, "bound";
    /// $1-\delta$.
    probability: f64, "prob";
}

impl QuadraticFirst {
    fn formula(self) -> Result<QuadraticFirstOutput> {
        let steps = (self.t - 1) as f64;
        let noise = (3.0 * self.sigma + self.d_app) * steps + 3.0 * self.sigma * -self.delta.ln();
        Ok(QuadraticFirstOutput {
            bound: self.dist1 * self.cond_p1.sqrt() + self.lmax_p1 * self.d_x * noise,
            probability: 1.0 - self.delta,
        })
    }
}

bound! {
    /// **Theorem 14** (`th:result_linear`). Under Assumptions 1, 2, 4, 5, for all $n\ge1$
    /// simultaneously, $\sum_{t=1}^nL(\hat\theta_t)-L(\theta^*)$ is at most the right-hand side of
    /// Theorem 2 with $P_1^{-1}$ in place of $P_{\tau+1}^{-1}$, plus
    /// $$D_X^2\Big(5\varepsilon^2+2\big(r
    /// +3\lambda_{\max}(P_1)D_X\sigma\ln\delta^{-1}\big)^2\Big)\tau
    /// +\frac{2\lambda_{\max}(P_1)^2D_X^4(3\sigma
    /// +D_{\rm app})^2}3\tau^3.$$
    ///
    /// Errata E11 (115 printed, 140 proved), E12 ($r=\|\hat\theta_1-\theta^*\|^2$ printed,
    /// $r=\|\hat\theta_1-\theta^*\|$ proved) and E17 (unless $P_1=p_1I$, the proof needs
    /// $r=\|\hat\theta_1-\theta^*\|\sqrt{\lambda_{\max}(P_1)/\lambda_{\min}(P_1)}$; the printed
    /// bound does not depend on `condP1`).
    ResultLinear -> ResultLinearOutput: "result_linear", "th:result_linear", "1-6delta";
    "Theorem 14: cumulative risk of the Kalman filter, quadratic loss."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Number of steps.
    n: u64, "n", AtLeastOne;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Sub-gaussian proxy of the noise (not squared).
    sigma: f64, "sigma", NonNegative;
    /// Approximation error $D_{\rm app}$ of Assumption 4.
    d_app: f64, "Dapp", NonNegative;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// Largest eigenvalue of $P_1^{-1}$.
    lmax_p1_inv: f64, "lmaxP1inv", Positive;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Convergence time.
    tau: f64, "tau", NonNegative;
    /// Condition number of $P_1$, 1 for a multiple of the identity.
    cond_p1: f64, "condP1", AtLeastOne = "1";
    /// As printed (115, squared distance) or corrected (140, distance, condition number).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The terms of Theorem 14 and their sum.
    ResultLinearOutput;
    /// The logarithmic term.
    log_term: f64, "log_term";
    /// The term of the initial matrix.
    init_term: f64, "init_term";
    /// The deviation term.
    dev_term: f64, "dev_term";
    /// The term linear in $\tau$.
    tau_term: f64, "tau_term";
    /// The term cubic in $\tau$.
    tau3_term: f64, "tau3_term";
    /// Their sum.
    total: f64, "total";
    /// The sum over $n$: by Jensen's inequality a bound on the excess risk of
    /// $(\hat\theta_1+\dots+\hat\theta_n)/n$.
    average: f64, "average";
    /// $1-6\delta$.
    probability: f64, "prob";
    /// Whether the probability is positive.
    applies: bool, "applies";
}

impl ResultLinear {
    fn formula(self) -> Result<ResultLinearOutput> {
        let Self { eps, delta, sigma, d_app, d_x, lmax_p1, dist1, tau, variant, .. } = self;
        let local = LocalizedLinear {
            d: self.d,
            n: self.n,
            eps,
            delta,
            sigma,
            d_app,
            d_x,
            lmax_p1,
            lmax_p_inv: self.lmax_p1_inv,
            variant,
        }
        .evaluate()?;
        let start = match variant {
            Variant::Paper => dist1 * dist1,
            Variant::Corrected => dist1 * self.cond_p1.sqrt(),
        };
        let reach = start + 3.0 * lmax_p1 * d_x * sigma * -delta.ln();
        let tau_term = d_x * d_x * (5.0 * eps * eps + 2.0 * reach * reach) * tau;
        let speed = lmax_p1 * d_x * d_x * (3.0 * sigma + d_app);
        let tau3_term = 2.0 * speed * speed / 3.0 * tau.powi(3);
        let total = local.total + tau_term + tau3_term;
        let probability = 1.0 - 6.0 * delta;
        Ok(ResultLinearOutput {
            log_term: local.log_term,
            init_term: local.init_term,
            dev_term: local.dev_term,
            tau_term,
            tau3_term,
            total,
            average: total / self.n as f64,
            probability,
            applies: says_something(probability),
        })
    }
}
