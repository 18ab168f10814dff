//! Theorem 1 beyond its constant 0.95: any ratio above one half.

use crate::bound::{bound, output, require, says_something};
use kalmia::Result;

bound! {
    /// **Theorem 1** (`th:localized_bounded`) for any $\rho_\varepsilon>\frac12$, as the remark
    /// before it says. The proof, with $\frac12<c<\rho_\varepsilon$ in place of 0.75, $s>0$ in
    /// place of 0.1, $a=(e^s-1)/s$ and $\lambda\kappa_\varepsilon=\frac{c-a/2}{a+3/2}>0$, gives for
    /// all $n\ge1$ simultaneously
    /// $$\sum_{t=\tau+1}^{\tau+n}L(\hat\theta_t)-L(\theta^*)
    /// \le\frac{\rho_\varepsilon}{\rho_\varepsilon-c}\bigg(\frac d2\kappa_\varepsilon\ln\Big(1
    /// +n\frac{h_\varepsilon\lambda_{\max}(P_1)D_X^2}d\Big)
    /// +\lambda_{\max}(P_{\tau+1}^{-1})\varepsilon^2
    /// +\Big(\frac{\kappa_\varepsilon}{\lambda\kappa_\varepsilon}
    /// +\frac{\frac12+\lambda\kappa_\varepsilon}s
    /// h_\varepsilon\varepsilon^2D_X^2\Big)\ln\delta^{-1}\bigg).$$
    ///
    /// By default $c=\frac12(\frac12+\rho_\varepsilon)$ and $s=c-\frac12$, which is always allowed.
    /// Both depend on $\rho_\varepsilon$ alone, so the statement stays simultaneous in $n$. With
    /// $c=0.75$, $s=0.1$ and $\rho_\varepsilon=0.95$ every term is at most that of Theorem 1, whose
    /// constants are rounded up.
    LocalizedBoundedRho -> LocalizedBoundedRhoOutput:
        "localized_bounded_rho", "th:localized_bounded", "1-3delta";
    "Theorem 1 for any ratio rho above 1/2, from its proof."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Steps after tau.
    n: u64, "n", AtLeastOne;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Exp-concavity constant $\kappa_\varepsilon$ of Assumption 3.
    kappa: f64, "kappa", Positive;
    /// Curvature bound $h_\varepsilon$ of Assumption 3.
    h: f64, "h", Positive;
    /// Ratio $\rho_\varepsilon$ of Assumption 3, above 1/2.
    rho: f64, "rho", Ratio;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// Largest eigenvalue of $P_{\tau+1}^{-1}$.
    lmax_p_inv: f64, "lmaxPinv", Positive;
    /// Weight of the second-order term, between 1/2 and rho; auto: halfway.
    c: Option<f64>, "c", Ratio = "auto";
    /// Exponent of the Poissonian bound, with (exp(s)-1)/(2s) below c; auto: c - 1/2.
    s: Option<f64>, "s", Positive = "auto";
}

output! {
    /// The constants of the proof, the three terms and their sum.
    LocalizedBoundedRhoOutput;
    /// $c$.
    c: f64, "c";
    /// $s$.
    s: f64, "s";
    /// $\lambda\kappa_\varepsilon$.
    lambda_kappa: f64, "lambda_kappa";
    /// $\rho_\varepsilon/(\rho_\varepsilon-c)$, 5 in Theorem 1.
    factor: f64, "factor";
    /// The logarithmic term.
    log_term: f64, "log_term";
    /// The term of the initial matrix.
    init_term: f64, "init_term";
    /// The deviation term.
    dev_term: f64, "dev_term";
    /// Their sum.
    total: f64, "total";
    /// The sum over $n$: by Jensen's inequality a bound on the excess risk of the mean of
    /// $\hat\theta_{\tau+1},\dots,\hat\theta_{\tau+n}$.
    average: f64, "average";
    /// $1-3\delta$.
    probability: f64, "prob";
    /// Whether the probability is positive.
    applies: bool, "applies";
}

impl LocalizedBoundedRho {
    fn formula(self) -> Result<LocalizedBoundedRhoOutput> {
        require(self.rho > 0.5, "rho", self.rho, "must exceed 1/2")?;
        let c = self.c.unwrap_or(0.5 * (0.5 + self.rho));
        require(c > 0.5 && c < self.rho, "c", c, "must lie between 1/2 and rho")?;
        let s = self.s.unwrap_or(c - 0.5);
        let growth = s.exp_m1() / s;
        require(0.5 * growth < c, "s", s, "must have (exp(s)-1)/(2s) below c")?;
        let lambda_kappa = (c - 0.5 * growth) / (growth + 1.5);
        let factor = self.rho / (self.rho - c);
        let d = self.d as f64;
        let leverage = self.n as f64 * self.h * self.lmax_p1 * self.d_x * self.d_x / d;
        let log_term = factor * 0.5 * d * self.kappa * leverage.ln_1p();
        let init_term = factor * self.lmax_p_inv * self.eps * self.eps;
        let spread = self.h * (self.eps * self.d_x).powi(2);
        let dev_term = factor
            * (self.kappa / lambda_kappa + (0.5 + lambda_kappa) / s * spread)
            * -self.delta.ln();
        let total = log_term + init_term + dev_term;
        let probability = 1.0 - 3.0 * self.delta;
        Ok(LocalizedBoundedRhoOutput {
            c,
            s,
            lambda_kappa,
            factor,
            log_term,
            init_term,
            dev_term,
            total,
            average: total / self.n as f64,
            probability,
            applies: says_something(probability),
        })
    }
}
