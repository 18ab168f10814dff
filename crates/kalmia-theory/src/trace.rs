//! The telescoping sums of Lemmas 16 and 18, and the quadratic terms of Lemma 17.

use crate::bound::{bound, output};
use kalmia::Result;

bound! {
    /// **Lemma 16** (`lemma:sumtrace`). Whenever the weights satisfy $\alpha_t\le h$ for $k<t\le
    /// k+n$,
    /// $$\sum_{t=k+1}^{k+n}\mathrm{Tr}\big(P_{t+1}(P_{t+1}^{-1}-P_t^{-1})\big)\le
    /// d\ln\Big(1+n\frac{h\,\lambda_{\max}(P_{k+1})D_X^2}d\Big).$$
    ///
    /// Erratum E6: read $\|\hat\theta_t-\theta^*\|\le\varepsilon$, not its square.
    SumTrace -> SumTraceOutput: "sumtrace", "lemma:sumtrace", "almost sure";
    "Lemma 16: the sum of traces, almost surely."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Number of terms.
    n: u64, "n", AtLeastOne;
    /// Bound on the weights.
    h: f64, "h", Positive;
    /// Largest eigenvalue of $P_{k+1}$.
    lmax_pk1: f64, "lmaxPk1", Positive;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
}

output! {
    /// The bound of Lemma 16.
    SumTraceOutput;
    /// The right-hand side.
    bound: f64, "bound";
}

impl SumTrace {
    fn formula(self) -> Result<SumTraceOutput> {
        Ok(SumTraceOutput {
            bound: log_det(self.d, self.n, self.h * self.lmax_pk1 * self.d_x * self.d_x),
        })
    }
}

/// $d\ln(1+n\,v/d)$.
fn log_det(d: u64, n: u64, v: f64) -> f64 {
    let d = d as f64;
    d * (n as f64 * v / d).ln_1p()
}

bound! {
    /// **Lemma 18** (`lemma:sumtrace_linear`). On $A_k^\varepsilon$, for all $n\ge1$
    /// simultaneously,
    /// $$\sum_{t=k+1}^{k+n}X_t^TP_{t+1}X_t(y_t-\hat\theta_t^TX_t)^2\le3(8\sigma^2
    /// +D_{\rm app}^2+\varepsilon^2D_X^2)\,d\ln\Big(1+n\frac{\lambda_{\max}(P_{k+1})D_X^2}d\Big)
    /// +12\lambda_{\max}(P_1)D_X^2\sigma^2\ln\delta^{-1}.$$
    SumTraceLinear -> SumTraceLinearOutput:
        "sumtrace_linear", "lemma:sumtrace_linear", "1-delta on A_k^eps";
    "Lemma 18: the weighted sum of squared residuals of the Kalman filter."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Number of terms.
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
    /// Largest eigenvalue of $P_{k+1}$.
    lmax_pk1: f64, "lmaxPk1", Positive;
}

output! {
    /// The terms of Lemma 18 and their sum.
    SumTraceLinearOutput;
    /// The logarithmic term.
    log_term: f64, "log_term";
    /// The deviation term.
    dev_term: f64, "dev_term";
    /// Their sum.
    bound: f64, "bound";
    /// $1-\delta$, on $A_k^\varepsilon$.
    probability: f64, "prob";
}

impl SumTraceLinear {
    fn formula(self) -> Result<SumTraceLinearOutput> {
        let sigma2 = self.sigma * self.sigma;
        let noise = 8.0 * sigma2 + self.d_app * self.d_app + (self.eps * self.d_x).powi(2);
        let norm2 = self.d_x * self.d_x;
        let log_term = 3.0 * noise * log_det(self.d, self.n, self.lmax_pk1 * norm2);
        let dev_term = 12.0 * self.lmax_p1 * norm2 * sigma2 * -self.delta.ln();
        Ok(SumTraceLinearOutput {
            log_term,
            dev_term,
            bound: log_term + dev_term,
            probability: 1.0 - self.delta,
        })
    }
}

bound! {
    /// **Lemma 17** (`lemma:quadratic_linear`), with
    /// $Q_t=(\hat\theta_t-\theta^*)^TX_tX_t^T(\hat\theta_t-\theta^*)$. On $A_k^\varepsilon$, for
    /// all $n\ge1$ simultaneously,
    /// $$\sum_{t=k+1}^{k+n}(\hat\theta_t-\theta^*)^T\nabla_t\nabla_t^T(\hat\theta_t-\theta^*)
    /// \le3(8\sigma^2+D_{\rm app}^2+\varepsilon^2D_X^2)\sum_{t=k+1}^{k+n}Q_t
    /// +12\varepsilon^2D_X^2\sigma^2\ln\delta^{-1},$$
    /// and almost surely, for $\|\hat\theta_t-\theta^*\|\le\varepsilon$,
    /// $$(\hat\theta_t-\theta^*)^T\mathbb E[\nabla_t\nabla_t^T\mid\mathcal F_{t-1}]
    /// (\hat\theta_t-\theta^*)\le3(\sigma^2+D_{\rm app}^2+\varepsilon^2D_X^2)\,
    /// \mathbb E[Q_t\mid\mathcal F_{t-1}].$$
    QuadraticLinear -> QuadraticLinearOutput:
        "quadratic_linear", "lemma:quadratic_linear", "1-delta on A_k^eps";
    "Lemma 17: the quadratic terms of the Kalman filter's gradients."
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
    /// Sum of $Q_t$.
    sum_q: f64, "sumQ", NonNegative = "0";
}

output! {
    /// The factors of Lemma 17 and its right-hand side.
    QuadraticLinearOutput;
    /// The factor of $\sum Q_t$.
    slope: f64, "slope";
    /// The deviation term.
    dev_term: f64, "dev_term";
    /// The right-hand side for the given $\sum Q_t$.
    bound: f64, "bound";
    /// The factor of $\mathbb E[Q_t\mid\mathcal F_{t-1}]$, almost surely.
    conditional_slope: f64, "conditional_slope";
    /// $1-\delta$, on $A_k^\varepsilon$.
    probability: f64, "prob";
}

impl QuadraticLinear {
    fn formula(self) -> Result<QuadraticLinearOutput> {
        let sigma2 = self.sigma * self.sigma;
        let shift2 = (self.eps * self.d_x).powi(2);
        let rest = self.d_app * self.d_app + shift2;
        let slope = 3.0 * (8.0 * sigma2 + rest);
        let dev_term = 12.0 * shift2 * sigma2 * -self.delta.ln();
        Ok(QuadraticLinearOutput {
            slope,
            dev_term,
            bound: slope * self.sum_q + dev_term,
            conditional_slope: 3.0 * (sigma2 + rest),
            probability: 1.0 - self.delta,
        })
    }
}
