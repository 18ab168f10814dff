//! Inside the proof of Theorem 12: risk against distance (Lemma 20) and the descent functions
//! $f(k,t)$, $f_0(t)$ (Lemma 21).

use crate::bound::{bound, check_design, output, require};
use crate::design::ln_kappa;
use crate::special::{ln_add, power_sum, softplus};
use kalmia::Result;

bound! {
    /// **Lemma 20** (`lemma:equivalence_Lnorm`), logistic loss.
    /// $$L(\theta)-L(\theta^*)>\eta\implies\|\nabla L(\theta)\|\ge
    /// D_\eta=\frac{\Lambda_{\min}\sqrt\eta}
    /// {\sqrt2D_X\big(1+e^{D_X(\|\theta^*\|+\sqrt{8\eta}/D_X)}\big)},$$
    /// $$\|\theta-\theta^*\|>\varepsilon\implies
    /// L(\theta)-L(\theta^*)>\frac{\Lambda_{\min}\varepsilon^2}{4(1+\kappa_\varepsilon)},\qquad
    /// L(\theta)-L(\theta^*)\le\frac{D_X^2}8\|\theta-\theta^*\|^2.$$
    ///
    /// Erratum E24: the proof of Theorem 12 uses $D_{\eta/2}$ under the name $D_\eta$.
    EquivalenceLnorm -> EquivalenceLnormOutput:
        "equivalence_Lnorm", "lemma:equivalence_Lnorm", "deterministic";
    "Lemma 20: logistic risk, its gradient and the distance to the optimum."
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Distance to the optimum.
    eps: f64, "eps", Positive;
    /// Excess risk.
    eta: f64, "eta", Positive;
}

output! {
    /// The three constants of Lemma 20.
    EquivalenceLnormOutput;
    /// $\ln D_\eta$.
    ln_d_eta: f64, "ln_D_eta";
    /// Logarithm of the risk gap at distance $\varepsilon$.
    ln_gap: f64, "ln_gap";
    /// $D_X^2/8$.
    quad: f64, "quad";
}

impl EquivalenceLnorm {
    fn formula(self) -> Result<EquivalenceLnormOutput> {
        check_design(self.lambda_min, self.d_x)?;
        let exponent = self.d_x * self.norm_star + (8.0 * self.eta).sqrt();
        let ln_kappa = ln_kappa(self.d_x, self.norm_star, self.eps);
        Ok(EquivalenceLnormOutput {
            ln_d_eta: (self.lambda_min / self.d_x).ln() + 0.5 * (0.5 * self.eta).ln()
                - softplus(exponent),
            ln_gap: (0.25 * self.lambda_min).ln() + 2.0 * self.eps.ln() - softplus(ln_kappa),
            quad: self.d_x * self.d_x / 8.0,
        })
    }
}

bound! {
    /// Proof of Theorem 12, for whole $1\le k<t$:
    /// $$f(k,t)=\frac\eta2+\frac{D_\eta^2}{D_X^2}\sum_{s=k}^{t-1}\frac1s-2D_X^4C^2\sum_{s=k}^{t-1}
    /// \frac1{s^{2(1-\beta)}},$$
    /// and $f_0(t)$, where $\eta-(L(\hat\theta_1)-L(\theta^*))$ replaces $\eta/2$ and $k=1$. Where
    /// they are positive, the sums of martingale increments exceed them with probability at most
    /// $e^{\rm azuma}$, of exponents
    /// $$-f(k,t)^2\frac{(1-2\beta)\max(1/2,(k-1)^{1-2\beta})}{8D_X^4C^2},
    /// \qquad-f_0(t)^2\frac{1-2\beta}{16D_X^4C^2}.$$
    ///
    /// Errata E22 (the step $P_s\succcurlyeq I/(sD_X^2)$ needs $\lambda_{\min}(P_1)\ge D_X^{-2}$)
    /// and E31 (conditioning on $A_C$).
    DescentF -> DescentFOutput: "descent_f", "app:logistic_convergence", "deterministic";
    "The functions f(k,t) and f_0(t) in the proof of Theorem 12, exactly, with the Azuma exponents."
    /// First index of the sums.
    k: u64, "k", AtLeastOne;
    /// Time.
    t: u64, "t", AtLeastOne;
    /// Excess risk.
    eta: f64, "eta", Positive;
    /// Lower bound on the gradient's norm.
    d_eta: f64, "D_eta", NonNegative;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Constant C of the event $A_C$.
    c: f64, "C", Positive;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// Excess risk of the first estimate.
    l1_gap: f64, "L1gap", NonNegative;
}

output! {
    /// The two functions, whether the inequality applies, and its exponents.
    DescentFOutput;
    /// $f(k,t)$.
    f: f64, "f";
    /// $f_0(t)$.
    f0: f64, "f0";
    /// Whether $f(k,t)>0$.
    applies_f: bool, "applies_f";
    /// Whether $f_0(t)>0$.
    applies_f0: bool, "applies_f0";
    /// Exponent for $f(k,t)$.
    azuma_f: f64, "azuma_f";
    /// Exponent for $f_0(t)$.
    azuma_f0: f64, "azuma_f0";
}

impl DescentF {
    fn formula(self) -> Result<DescentFOutput> {
        require(self.k < self.t, "k", self.k as f64, "must be less than t")?;
        let k = self.k as f64;
        let last = (self.t - 1) as f64;
        let gain = (self.d_eta / self.d_x).powi(2);
        let spread = self.d_x.powi(4) * self.c * self.c;
        let rest = 1.0 - 2.0 * self.beta;
        let drift = |first| {
            gain * power_sum(first, last, 1.0)
                - 2.0 * spread * power_sum(first, last, 2.0 * (1.0 - self.beta))
        };
        let f = 0.5 * self.eta + drift(k);
        let f0 = self.eta - self.l1_gap + drift(1.0);
        Ok(DescentFOutput {
            f,
            f0,
            applies_f: f > 0.0,
            applies_f0: f0 > 0.0,
            azuma_f: -f * f * rest * (k - 1.0).powf(rest).max(0.5) / (8.0 * spread),
            azuma_f0: -f0 * f0 * rest / (16.0 * spread),
        })
    }
}

bound! {
    /// **Lemma 21** (`lemma:bound_f`), the lower bounds on $f(k,t)$ and $f_0(t)$ of [`DescentF`].
    /// For
    /// $$t\ge\max\bigg(e^{\frac{16D_X^6C^2}{D_\eta^2(1-2\beta)}},\
    /// \Big(1+\Big(\frac{8D_X^4C^2}{\eta(1-2\beta)}\Big)^{\frac1{1-2\beta}}\Big)^2\bigg),$$
    /// $f(k,t)\ge\frac{D_\eta^2}{4D_X^2}\ln t$ if $1\le k<\sqrt t$, and $f(k,t)\ge\frac\eta4$ if
    /// $\sqrt t\le k<t$. For
    /// $t\ge\exp\big(\frac{2D_X^2}{D_\eta^2}(L(\hat\theta_1)-L(\theta^*)
    /// +\frac{4D_X^4C^2}{1-2\beta})\big)$, $f_0(t)\ge\frac{D_\eta^2}{2D_X^2}\ln t$.
    BoundF -> BoundFOutput: "bound_f", "lemma:bound_f", "deterministic";
    "Lemma 21: from which time on f(k,t) and f_0(t) have simple lower bounds, and these bounds."
    /// Natural logarithm of the time.
    ln_t: f64, "ln_t", NonNegative;
    /// Excess risk.
    eta: f64, "eta", Positive;
    /// Lower bound on the gradient's norm.
    d_eta: f64, "D_eta", Positive;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Constant C of the event $A_C$.
    c: f64, "C", Positive;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// Excess risk of the first estimate.
    l1_gap: f64, "L1gap", NonNegative;
}

output! {
    /// The thresholds of Lemma 21 as logarithms, and its lower bounds.
    BoundFOutput;
    /// $\ln\ln$ of the first threshold for $f$.
    ln_ln_t_first: f64, "ln_ln_t_first";
    /// $\ln$ of the second threshold for $f$.
    ln_t_second: f64, "ln_t_second";
    /// $\ln$ of the larger of the two, infinite when it overflows.
    ln_t_min: f64, "ln_t_min";
    /// $\ln\ln$ of the threshold for $f_0$.
    ln_ln_t_min0: f64, "ln_ln_t_min0";
    /// $\ln$ of the threshold for $f_0$, infinite when it overflows.
    ln_t_min0: f64, "ln_t_min0";
    /// The lower bound on $f(k,t)$ for $k<\sqrt t$.
    f_early: f64, "f_early";
    /// The lower bound on $f(k,t)$ for $k\ge\sqrt t$.
    f_late: f64, "f_late";
    /// The lower bound on $f_0(t)$.
    f0: f64, "f0";
    /// Whether $t$ is beyond both thresholds for $f$.
    applies_f: bool, "applies_f";
    /// Whether $t$ is beyond the threshold for $f_0$.
    applies_f0: bool, "applies_f0";
}

impl BoundF {
    fn formula(self) -> Result<BoundFOutput> {
        let rest = 1.0 - 2.0 * self.beta;
        // ln(D_X^4 C^2 / (1-2 beta)) and ln(D_X^2 / D_eta^2): the factors overflow apart.
        let ln_spread = 4.0 * self.d_x.ln() + 2.0 * self.c.ln() - rest.ln();
        let ln_ratio = 2.0 * (self.d_x / self.d_eta).ln();
        let ln_ln_t_first = 16f64.ln() + ln_spread + ln_ratio;
        let ln_t_second = 2.0 * softplus(((8.0 / self.eta).ln() + ln_spread) / rest);
        let ln_ln_t_min0 = 2f64.ln() + ln_ratio + ln_add(self.l1_gap.ln(), 4f64.ln() + ln_spread);
        let ln_ln_t = self.ln_t.ln();
        let slope = (self.d_eta / self.d_x).powi(2);
        Ok(BoundFOutput {
            ln_ln_t_first,
            ln_t_second,
            ln_t_min: ln_ln_t_first.exp().max(ln_t_second),
            ln_ln_t_min0,
            ln_t_min0: ln_ln_t_min0.exp(),
            f_early: 0.25 * slope * self.ln_t,
            f_late: 0.25 * self.eta,
            f0: 0.5 * slope * self.ln_t,
            applies_f: ln_ln_t >= ln_ln_t_first && self.ln_t >= ln_t_second,
            applies_f0: ln_ln_t >= ln_ln_t_min0,
        })
    }
}
