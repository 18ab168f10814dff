//! The convergence time of the truncated filter for logistic regression: Theorem 12 and Corollary
//! 13.

use crate::Variant;
use crate::bound::{bound, check_design, output};
use crate::design::ln_kappa;
use crate::special::{ln_add, softplus};
use crate::truncated::CDelta;
use kalmia::Result;

use std::f64::consts::LN_2;

/// The logarithms from which every constant of Theorem 12 is put together.
struct Logs {
    d_x: f64,
    lambda_min: f64,
    eps: f64,
    c: f64,
    one_plus_kappa: f64,
    rest: f64,
}

impl Logs {
    fn new(d_x: f64, lambda_min: f64, norm_star: f64, eps: f64, beta: f64, c: f64) -> Result<Self> {
        check_design(lambda_min, d_x)?;
        Ok(Self {
            d_x: d_x.ln(),
            lambda_min: lambda_min.ln(),
            eps: eps.ln(),
            c: c.ln(),
            one_plus_kappa: softplus(ln_kappa(d_x, norm_star, eps)),
            rest: (1.0 - 2.0 * beta).ln(),
        })
    }

    /// $\ln\ln t_{\min}$ of Theorem 12.
    fn threshold(&self) -> f64 {
        8.0 * (LN_2 + self.d_x) + 2.0 * self.c + 3.0 * (self.one_plus_kappa - self.lambda_min)
            - 1.5 * self.rest
            - 2.0 * self.eps
    }

    /// $\ln C_1$,
    /// $C_1=\frac{\Lambda_{\min}^6(1-2\beta)\varepsilon^4}{2^{16}D_X^{12}C^2(1+\kappa)^6}$.
    fn c1(&self) -> f64 {
        6.0 * (self.lambda_min - self.one_plus_kappa) + self.rest + 4.0 * self.eps
            - (16.0 * LN_2 + 12.0 * self.d_x + 2.0 * self.c)
    }

    /// $\ln C_2$, $C_2=\frac{\Lambda_{\min}^2(1-2\beta)\varepsilon^4}{2^{11}D_X^4C^2(1+\kappa)^2}$.
    fn c2(&self) -> f64 {
        2.0 * (self.lambda_min - self.one_plus_kappa) + self.rest + 4.0 * self.eps
            - (11.0 * LN_2 + 4.0 * self.d_x + 2.0 * self.c)
    }
}

bound! {
    /// **Theorem 12** (`th:convergence`) holds, with $\hat\theta_1=0$, for
    /// $$\ln
    /// t\ge\frac{2^8D_X^8C_\delta^2(1+\kappa_\varepsilon)^3}
    /// {\Lambda_{\min}^3(1-2\beta)^{3/2}\varepsilon^2}.$$
    ///
    /// Erratum E31: the event on which the theorem conditions lies in the future; the bound holds
    /// for the joint event.
    ConvergenceThreshold -> ConvergenceThresholdOutput:
        "convergence_threshold", "th:convergence", "conditional on A_{C_delta}";
    "Theorem 12: the time from which its bound holds."
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// The constant $C_\delta$.
    c: f64, "C", Positive;
}

output! {
    /// The threshold on $t$, as $\ln t$.
    ConvergenceThresholdOutput;
    /// $\ln\ln t_{\min}$.
    ln_ln_t_min: f64, "ln_ln_t_min";
    /// $\ln t_{\min}$, infinite when it overflows.
    ln_t_min: f64, "ln_t_min";
}

impl ConvergenceThreshold {
    fn formula(self) -> Result<ConvergenceThresholdOutput> {
        let ln = Logs::new(self.d_x, self.lambda_min, self.norm_star, self.eps, self.beta, self.c)?;
        let ln_ln_t_min = ln.threshold();
        Ok(ConvergenceThresholdOutput { ln_ln_t_min, ln_t_min: ln_ln_t_min.exp() })
    }
}

bound! {
    /// **Theorem 12** (`th:convergence`). With $\hat\theta_1=0$ and $t$ beyond
    /// [`ConvergenceThreshold`],
    /// $$\mathbb P(\|\hat\theta_t-\theta^*\|>\varepsilon\mid A_{C_\delta})\le(\sqrt
    /// t+1)e^{-C_1\ln^2t}+t\,e^{-C_2(\sqrt t-1)^{1-2\beta}},$$
    /// $$C_1=\frac{\Lambda_{\min}^6(1-2\beta)\varepsilon^4}
    /// {2^{16}D_X^{12}C_\delta^2(1+\kappa_\varepsilon)^6},\qquad
    /// C_2=\frac{\Lambda_{\min}^2(1-2\beta)\varepsilon^4}
    /// {2^{11}D_X^4C_\delta^2(1+\kappa_\varepsilon)^2}.$$
    ConvergenceProb -> ConvergenceProbOutput:
        "convergence_prob", "th:convergence",
        "the value is the failure probability given A_{C_delta}";
    "Theorem 12: probability to be outside the local region at time t."
    /// Natural logarithm of the time.
    ln_t: f64, "ln_t", NonNegative;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// The constant $C_\delta$.
    c: f64, "C", Positive;
}

output! {
    /// The two terms of Theorem 12 and their sum, as logarithms.
    ConvergenceProbOutput;
    /// $\ln C_1$.
    ln_c1: f64, "ln_C1";
    /// $\ln C_2$.
    ln_c2: f64, "ln_C2";
    /// Logarithm of the first term.
    ln_term1: f64, "ln_term1";
    /// Logarithm of the second term; $-\infty$ below $-10^{300}$.
    ln_term2: f64, "ln_term2";
    /// $\ln(-\ln{\rm term}_2)$ when the second term is below 1: finite when `ln_term2` is not.
    ln_minus_ln_term2: Option<f64>, "ln_minus_ln_term2";
    /// Logarithm of the bound; it says nothing when not negative.
    ln_bound: f64, "ln_bound";
    /// Whether $t$ is beyond the threshold of [`ConvergenceThreshold`] and the bound below 1.
    applies: bool, "applies";
}

impl ConvergenceProb {
    fn formula(self) -> Result<ConvergenceProbOutput> {
        let ln = Logs::new(self.d_x, self.lambda_min, self.norm_star, self.eps, self.beta, self.c)?;
        let ln_c1 = ln.c1();
        let ln_c2 = ln.c2();
        let ln_t = self.ln_t;
        let half = 0.5 * self.ln_t;
        // ln(t)^2 overflows on the paper's own constants, hence the exponent of the product.
        let ln_term1 = softplus(half) - (ln_c1 + 2.0 * ln_t.ln()).exp();
        let ln_root_minus_one = half + (-(-half).exp_m1()).ln();
        let ln_decay = ln_c2 + (1.0 - 2.0 * self.beta) * ln_root_minus_one;
        let (ln_term2, ln_minus_ln_term2) = second_term(ln_t, ln_decay);
        let ln_bound = ln_add(ln_term1, ln_term2);
        Ok(ConvergenceProbOutput {
            ln_c1,
            ln_c2,
            ln_term1,
            ln_term2,
            ln_minus_ln_term2,
            ln_bound,
            applies: ln_t.ln() >= ln.threshold() && ln_bound < 0.0,
        })
    }
}

/// $\ln(t\,e^{-q})$ and, when negative, the logarithm of its opposite, from $\ln t$ and $\ln q$.
fn second_term(ln_t: f64, ln_q: f64) -> (f64, Option<f64>) {
    let q = ln_q.exp();
    if q <= ln_t {
        return (ln_t - q, None);
    }
    let ln_minus =
        if q.is_finite() { (q - ln_t).ln() } else { ln_q + (-(ln_t.ln() - ln_q).exp()).ln_1p() };
    (if ln_minus > 1e300f64.ln() { f64::NEG_INFINITY } else { ln_t - q }, Some(ln_minus))
}

bound! {
    /// **Corollary 13** (`coro:convergence`). Assumption 6 holds for the truncated filter started
    /// at $\hat\theta_1=0$ with $\tau=\max(\tau_a,\tau_b,\tau_c)$,
    /// $$\tau_a=\big(2(1+\kappa_\varepsilon)\big)^{1/\beta},\qquad
    /// \tau_b=\exp\Big(\frac{3\cdot2^{15}D_X^{12}C_{\delta/2}^2(1+\kappa_\varepsilon)^6}
    /// {\Lambda_{\min}^6(1-2\beta)^{3/2}\varepsilon^4}\Big),\qquad\tau_c=6\delta^{-1}.$$
    ///
    /// Errata E8 (corrected: $\max\big(3(1-2\beta)^{-3/2},5(1-2\beta)^{-1}\big)$ replaces
    /// $3(1-2\beta)^{-3/2}$; it differs for $\beta<0.32$), E9 (the proof needs $\varepsilon
    /// D_X\le1$) and E30. Where it applies, $\ln\tau_b>10^8$: $\tau$ is outside binary64, so only
    /// its logarithm is given and rounding it up changes nothing.
    CoroConvergenceTau -> CoroConvergenceTauOutput:
        "coro_convergence_tau", "coro:convergence", "1-delta";
    "Corollary 13: convergence time of the truncated filter for logistic regression."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
    /// As printed (3/(1-2beta)^(3/2)) or corrected (at least 5/(1-2beta)).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The three times and their maximum, as logarithms.
    CoroConvergenceTauOutput;
    /// $C_{\delta/2}$.
    c_half_delta: f64, "C_half_delta";
    /// $\ln\tau_a$.
    ln_tau_a: f64, "ln_tau_a";
    /// $\ln\ln\tau_b$.
    ln_ln_tau_b: f64, "ln_ln_tau_b";
    /// $\ln\tau_b$, infinite when it overflows.
    ln_tau_b: f64, "ln_tau_b";
    /// $\ln\tau_c$.
    ln_tau_c: f64, "ln_tau_c";
    /// $\ln\tau$, infinite when it overflows.
    ln_tau: f64, "ln_tau";
    /// $1-\delta$.
    probability: f64, "prob";
    /// Whether $\varepsilon D_X\le1$.
    applies: bool, "applies";
}

impl CoroConvergenceTau {
    fn formula(self) -> Result<CoroConvergenceTauOutput> {
        let Self { d, d_x, lambda_min, norm_star, eps, delta, beta, lmax_p1, variant } = self;
        let c = CDelta { d, d_x, lambda_min, delta: 0.5 * delta, lmax_p1 }.evaluate()?.c;
        let ln = Logs::new(d_x, lambda_min, norm_star, eps, beta, c)?;
        let printed = 3f64.ln() - 1.5 * ln.rest;
        let factor = match variant {
            Variant::Paper => printed,
            Variant::Corrected => printed.max(5f64.ln() - ln.rest),
        };
        // 3/(2 C_1) without its power of 1-2 beta, which `factor` holds.
        let ln_ln_tau_b = factor - LN_2 + ln.rest - ln.c1();
        let ln_tau_a = (LN_2 + ln.one_plus_kappa) / beta;
        let ln_tau_b = ln_ln_tau_b.exp();
        let ln_tau_c = (6.0 / delta).ln();
        Ok(CoroConvergenceTauOutput {
            c_half_delta: c,
            ln_tau_a,
            ln_ln_tau_b,
            ln_tau_b,
            ln_tau_c,
            ln_tau: ln_tau_a.max(ln_tau_b).max(ln_tau_c),
            probability: 1.0 - delta,
            applies: eps * d_x <= 1.0,
        })
    }
}
