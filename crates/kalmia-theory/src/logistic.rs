//! The cumulative risk of the truncated filter from the first step on: Theorem 10 and what the
//! truncation adds to it.

use crate::Variant;
use crate::bound::{bound, output, says_something};
use crate::design::ln_kappa;
use crate::special::{ln_add, power_sum};
use kalmia::Result;

bound! {
    /// **Theorem 10** (`th:result_logistic`), with $\varepsilon=1/(20D_X)$ and
    /// $\tau=\tau(\varepsilon,\delta)$ of Assumption 6, for all $n\ge1$ simultaneously,
    /// $$\sum_{t=1}^nL(\hat\theta_t)-L(\theta^*)
    /// \le3d\,e^{D_X\|\theta^*\|}\ln\Big(1+n\frac{\lambda_{\max}(P_1)D_X^2}{4d}\Big)
    /// +\frac{\lambda_{\max}(P_1^{-1})}{75D_X^2}
    /// +64\,e^{D_X\|\theta^*\|}\ln\delta^{-1}
    /// +\tau\Big(\frac1{300}+D_X\|\hat\theta_1-\theta^*\|\Big)
    /// +\tau^2\frac{\lambda_{\max}(P_1)D_X^2}2.$$
    ///
    /// Errata E7 (corrected: the truncation adds the `extra_bound` of [`TruncationExcess`] with
    /// `beta` and $\tau$) and E23 (the probability could be $1-3\delta$).
    ResultLogistic -> ResultLogisticOutput: "result_logistic", "th:result_logistic", "1-4delta";
    "Theorem 10: cumulative risk of the truncated filter for logistic regression."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Number of steps.
    n: u64, "n", AtLeastOne;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// Largest eigenvalue of $P_1^{-1}$.
    lmax_p1_inv: f64, "lmaxP1inv", Positive;
    /// Natural logarithm of the convergence time; -inf for tau = 0.
    ln_tau: f64, "ln_tau", Log;
    /// Exponent of the truncation; the printed bound does not depend on it.
    beta: f64, "beta", BelowHalf = "0.49";
    /// As printed, or corrected (with what the truncation adds).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The terms of Theorem 10 as logarithms.
    ResultLogisticOutput;
    /// $1/(20D_X)$.
    eps: f64, "eps";
    /// $\ln\kappa_\varepsilon$.
    ln_kappa: f64, "ln_kappa";
    /// $\rho_\varepsilon=e^{-1/20}$.
    rho: f64, "rho";
    /// The logarithmic term.
    ln_log_term: f64, "ln_log_term";
    /// The term of the initial matrix.
    ln_init_term: f64, "ln_init_term";
    /// The deviation term.
    ln_dev_term: f64, "ln_dev_term";
    /// The term linear in $\tau$.
    ln_tau_term: f64, "ln_tau_term";
    /// The term quadratic in $\tau$.
    ln_tau2_term: f64, "ln_tau2_term";
    /// What the truncation adds; $-\infty$ (the logarithm of 0) as printed.
    ln_excess_term: f64, "ln_excess_term";
    /// The sum of the first three terms.
    ln_local: f64, "ln_local";
    /// The sum of all terms.
    ln_total: f64, "ln_total";
    /// The sum over $n$: by Jensen's inequality a bound on the excess risk of
    /// $(\hat\theta_1+\dots+\hat\theta_n)/n$.
    ln_average: f64, "ln_average";
    /// $1-4\delta$.
    probability: f64, "prob";
    /// Whether the probability is positive.
    applies: bool, "applies";
}

impl ResultLogistic {
    fn formula(self) -> Result<ResultLogisticOutput> {
        let d = self.d as f64;
        let norm2 = self.d_x * self.d_x;
        let eps = 1.0 / (20.0 * self.d_x);
        let scale = self.d_x * self.norm_star;
        let growth = self.n as f64 * self.lmax_p1 * norm2 / (4.0 * d);
        let ln_log_term = (3.0 * d).ln() + scale + growth.ln_1p().ln();
        let ln_init_term = (self.lmax_p1_inv / (75.0 * norm2)).ln();
        let ln_dev_term = 64f64.ln() + scale + (-self.delta.ln()).ln();
        let ln_tau_term = self.ln_tau + (1.0 / 300.0 + self.d_x * self.dist1).ln();
        let ln_tau2_term = 2.0 * self.ln_tau + (0.5 * self.lmax_p1 * norm2).ln();
        let ln_local = ln_add(ln_log_term, ln_add(ln_init_term, ln_dev_term));
        let ln_excess_term = match self.variant {
            Variant::Paper => f64::NEG_INFINITY,
            Variant::Corrected => excess(self.beta, self.ln_tau.exp()).extra_bound.ln(),
        };
        let phase = ln_add(ln_excess_term, ln_add(ln_tau_term, ln_tau2_term));
        let ln_total = ln_add(ln_local, phase);
        let probability = 1.0 - 4.0 * self.delta;
        Ok(ResultLogisticOutput {
            eps,
            ln_kappa: ln_kappa(self.d_x, self.norm_star, eps),
            rho: (-eps * self.d_x).exp(),
            ln_log_term,
            ln_init_term,
            ln_dev_term,
            ln_tau_term,
            ln_tau2_term,
            ln_excess_term,
            ln_local,
            ln_total,
            ln_average: ln_total - (self.n as f64).ln(),
            probability,
            applies: says_something(probability),
        })
    }
}

bound! {
    /// Erratum E7. The proof of Theorem 10 takes the truncated weight for at most $\frac14$, but
    /// $\alpha_t\le\max(\frac14,t^{-\beta})$. With
    /// $${\rm excess}=\sum_{t\le\tau}\big(t^{-\beta}-\tfrac14\big)_+,$$
    /// $\lambda_{\max}(P_{\tau+1}^{-1})\le\lambda_{\max}(P_1^{-1})+D_X^2(\tau/4+{\rm excess})$ and
    /// the bound of Theorem 10 grows by ${\rm excess}/75$.
    TruncationExcess -> TruncationExcessOutput:
        "truncation_excess", "app:logistic_overview", "deterministic";
    "What the truncation adds to the bound of Theorem 10 (erratum E7)."
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// Convergence time.
    tau: f64, "tau", NonNegative;
}

output! {
    /// The excess of the truncated weights over one quarter.
    TruncationExcessOutput;
    /// The sum.
    excess: f64, "excess";
    /// The sum over 75.
    extra_bound: f64, "extra_bound";
    /// The largest $t\le\tau$ with $t^{-\beta}>\frac14$, 0 if there is none.
    last_t: f64, "last_t";
}

impl TruncationExcess {
    fn formula(self) -> Result<TruncationExcessOutput> {
        Ok(excess(self.beta, self.tau))
    }
}

/// The excess up to `tau`, which may be infinite: the sum ends at $4^{1/\beta}$.
fn excess(beta: f64, tau: f64) -> TruncationExcessOutput {
    let last_t = last_above_quarter(beta, tau);
    let excess = power_sum(1.0, last_t, beta) - 0.25 * last_t;
    TruncationExcessOutput { excess, extra_bound: excess / 75.0, last_t }
}

/// The largest whole $t\le\tau$ with $t<4^{1/\beta}$.
fn last_above_quarter(beta: f64, tau: f64) -> f64 {
    let limit = 4f64.powf(1.0 / beta);
    let mut last = limit.min(tau).floor();
    // At the limit itself rounding decides nothing reliably, the weight does; beyond 2^53 the
    // term is zero to working precision.
    while (1.0..9e15).contains(&last) && last.powf(-beta) <= 0.25 {
        last -= 1.0;
    }
    last
}
