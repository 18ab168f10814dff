//! The cumulative risk after the convergence time: Theorems 1 and 2 and the constants chosen in
//! their proofs.

use crate::Variant;
use crate::bound::{bound, output, says_something};
use kalmia::Result;

bound! {
    /// **Theorem 1** (`th:localized_bounded`). Under Assumptions 1, 2, 3, 5 and
    /// $\rho_\varepsilon>0.95$, for all $n\ge1$ simultaneously,
    /// $$\sum_{t=\tau+1}^{\tau+n}L(\hat\theta_t)-L(\theta^*)
    /// \le\tfrac52d\kappa_\varepsilon\ln\Big(1
    /// +n\tfrac{h_\varepsilon\lambda_{\max}(P_1)D_X^2}{d}\Big)
    /// +5\lambda_{\max}(P_{\tau+1}^{-1})\varepsilon^2
    /// +30(2\kappa_\varepsilon+h_\varepsilon\varepsilon^2D_X^2)\ln\delta^{-1}.$$
    ///
    /// Errata E3 (the factor 5 of the second term could be 5/2; kept) and E5.
    LocalizedBounded -> LocalizedBoundedOutput:
        "localized_bounded", "th:localized_bounded", "1-3delta";
    "Theorem 1: cumulative risk after the convergence time, bounded setting (logistic regression)."
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
    /// Ratio $\rho_\varepsilon$ of Assumption 3.
    rho: f64, "rho", Ratio;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// Largest eigenvalue of $P_{\tau+1}^{-1}$.
    lmax_p_inv: f64, "lmaxPinv", Positive;
}

output! {
    /// The three terms of Theorem 1 and their sum.
    LocalizedBoundedOutput;
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
    /// Whether $\rho_\varepsilon>0.95$ and the probability is positive.
    applies: bool, "applies";
}

impl LocalizedBounded {
    fn formula(self) -> Result<LocalizedBoundedOutput> {
        let d = self.d as f64;
        let growth = self.n as f64 * self.h * self.lmax_p1 * self.d_x * self.d_x / d;
        let log_term = 2.5 * d * self.kappa * growth.ln_1p();
        let init_term = 5.0 * self.lmax_p_inv * self.eps * self.eps;
        let shift = self.eps * self.d_x;
        let dev_term = 30.0 * (2.0 * self.kappa + self.h * shift * shift) * -self.delta.ln();
        let total = log_term + init_term + dev_term;
        let probability = 1.0 - 3.0 * self.delta;
        Ok(LocalizedBoundedOutput {
            log_term,
            init_term,
            dev_term,
            total,
            average: total / self.n as f64,
            probability,
            applies: self.rho > 0.95 && says_something(probability),
        })
    }
}

bound! {
    /// **Theorem 2** (`th:localized_linear`), quadratic loss $\frac12(y-\theta^Tx)^2$. Under
    /// Assumptions 1, 2, 4, 5, for all $n\ge1$ simultaneously,
    /// $$\sum_{t=\tau+1}^{\tau+n}L(\hat\theta_t)-L(\theta^*)\le\tfrac{15}2d(8\sigma^2
    /// +D_{\rm app}^2+\varepsilon^2D_X^2)\ln\Big(1+n\tfrac{\lambda_{\max}(P_1)D_X^2}{d}\Big)
    /// +5\lambda_{\max}(P_{\tau+1}^{-1})\varepsilon^2
    /// +c\Big(\sigma^2\big(4+\tfrac{\lambda_{\max}(P_1)D_X^2}4\big)
    /// +D_{\rm app}^2+2\varepsilon^2D_X^2\Big)\ln\delta^{-1}.$$
    ///
    /// Erratum E11: $c=115$ is printed, the proof gives $c=140$ (corrected).
    LocalizedLinear -> LocalizedLinearOutput: "localized_linear", "th:localized_linear", "1-5delta";
    "Theorem 2: cumulative risk after the convergence time, quadratic loss."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Steps after tau.
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
    /// Largest eigenvalue of $P_{\tau+1}^{-1}$.
    lmax_p_inv: f64, "lmaxPinv", Positive;
    /// As printed (115) or corrected (140).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The three terms of Theorem 2 and their sum.
    LocalizedLinearOutput;
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
    /// $1-5\delta$.
    probability: f64, "prob";
    /// Whether the probability is positive.
    applies: bool, "applies";
}

impl LocalizedLinear {
    fn formula(self) -> Result<LocalizedLinearOutput> {
        let d = self.d as f64;
        let leverage = self.lmax_p1 * self.d_x * self.d_x;
        let sigma2 = self.sigma * self.sigma;
        let app2 = self.d_app * self.d_app;
        let shift2 = (self.eps * self.d_x).powi(2);
        let log_term =
            7.5 * d * (8.0 * sigma2 + app2 + shift2) * (self.n as f64 * leverage / d).ln_1p();
        let init_term = 5.0 * self.lmax_p_inv * self.eps * self.eps;
        let constant = match self.variant {
            Variant::Paper => 115.0,
            Variant::Corrected => 140.0,
        };
        let dev_term =
            constant * (sigma2 * (4.0 + leverage / 4.0) + app2 + 2.0 * shift2) * -self.delta.ln();
        let total = log_term + init_term + dev_term;
        let probability = 1.0 - 5.0 * self.delta;
        Ok(LocalizedLinearOutput {
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

bound! {
    /// Proof of Theorem 1: $\lambda\kappa_\varepsilon=\frac{0.75-5(e^{0.1}-1)}{10(e^{0.1}-1)+3/2}$,
    /// with $1/(\lambda\kappa_\varepsilon)\le12$ and $\frac12+\lambda\kappa_\varepsilon\le0.6$.
    /// Proof of Theorem 2:
    /// $$\lambda^{-1}=\frac{30(e^{0.1}-1)(8\sigma^2
    /// +D_{\rm app}^2+\varepsilon^2D_X^2)+\frac92(\sigma^2
    /// +D_{\rm app}^2+\varepsilon^2D_X^2)}{0.8-5(e^{0.1}-1)} \le28(4\sigma^2
    /// +D_{\rm app}^2+\varepsilon^2D_X^2).$$
    ProofConstants -> ProofConstantsOutput: "proof_constants", "app:localized", "deterministic";
    "Constants chosen inside the proofs of Theorems 1 and 2."
    /// Sub-gaussian proxy of the noise (not squared).
    sigma: f64, "sigma", NonNegative;
    /// Approximation error $D_{\rm app}$ of Assumption 4.
    d_app: f64, "Dapp", NonNegative;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
}

output! {
    /// The constants of the two proofs.
    ProofConstantsOutput;
    /// $\lambda\kappa_\varepsilon$ of Theorem 1.
    th1_lambda_kappa: f64, "th1_lambda_kappa";
    /// Its inverse, at most 12.
    th1_inv: f64, "th1_inv";
    /// $\frac12+\lambda\kappa_\varepsilon$, at most 0.6.
    th1_half_plus: f64, "th1_half_plus";
    /// $\lambda^{-1}$ of Theorem 2.
    th2_inv_lambda: f64, "th2_inv_lambda";
    /// The bound on it that the proof uses.
    th2_inv_lambda_cap: f64, "th2_inv_lambda_cap";
}

impl ProofConstants {
    fn formula(self) -> Result<ProofConstantsOutput> {
        let growth = 0.1f64.exp_m1();
        let lambda_kappa = (0.75 - 5.0 * growth) / (10.0 * growth + 1.5);
        let sigma2 = self.sigma * self.sigma;
        let rest = self.d_app * self.d_app + (self.eps * self.d_x).powi(2);
        Ok(ProofConstantsOutput {
            th1_lambda_kappa: lambda_kappa,
            th1_inv: 1.0 / lambda_kappa,
            th1_half_plus: 0.5 + lambda_kappa,
            th2_inv_lambda: (30.0 * growth * (8.0 * sigma2 + rest) + 4.5 * (sigma2 + rest))
                / (0.8 - 5.0 * growth),
            th2_inv_lambda_cap: 28.0 * (4.0 * sigma2 + rest),
        })
    }
}
