//! The control of $P_t$ in the truncated filter: Lemma 19, Proposition 11 and $C_\delta$.

use crate::bound::{bound, check_design, output};
use kalmia::Result;

/// $\frac{20D_X^4}{\Lambda_{\min}^2}\ln\frac{625\,d\,D_X^8}{\Lambda_{\min}^4\delta}$, the number
/// behind both Proposition 11 and $C_\delta$.
fn burn_in(d: u64, d_x: f64, lambda_min: f64, delta: f64) -> Result<f64> {
    check_design(lambda_min, d_x)?;
    let ratio = d_x * d_x / lambda_min;
    // Four factors of ratio^4 kept apart, so that extreme designs do not overflow.
    let log = (625.0 * d as f64 / delta).ln() + 4.0 * ratio.ln();
    Ok(20.0 * ratio * ratio * log)
}

bound! {
    /// **Proposition 11** (`prop:boundP`). For the truncated filter, simultaneously for all $t>T$,
    /// $$\lambda_{\max}(P_t)\le\frac4{\Lambda_{\min}t^{1-\beta}},\qquad
    /// T=\Big(\frac{20D_X^4}{\Lambda_{\min}^2}\ln\frac{625\,d\,D_X^8}
    /// {\Lambda_{\min}^4\delta}\Big)^{1/(1-\beta)}.$$
    ///
    /// Errata E1 and E10 (the proof's step $8\ge4^{1/(1-\beta)}$ fails for $\beta>1/3$, without
    /// consequence since $T\ge128$).
    BoundP -> BoundPOutput: "boundP", "prop:boundP", "1-delta";
    "Proposition 11: decay of the largest eigenvalue of P_t in the truncated filter."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Exponent of the truncation.
    beta: f64, "beta", BelowHalf;
    /// Time at which the bound is evaluated.
    t: f64, "t", AtLeastOne;
}

output! {
    /// The threshold and the bound.
    BoundPOutput;
    /// $\ln T$.
    ln_threshold: f64, "ln_T";
    /// $T$, infinite when it overflows.
    threshold: f64, "T";
    /// $4/(\Lambda_{\min}t^{1-\beta})$.
    bound: f64, "bound";
    /// $1-\delta$.
    probability: f64, "prob";
    /// Whether $t>T$.
    applies: bool, "applies";
}

impl BoundP {
    fn formula(self) -> Result<BoundPOutput> {
        let ln_threshold =
            burn_in(self.d, self.d_x, self.lambda_min, self.delta)?.ln() / (1.0 - self.beta);
        let threshold = ln_threshold.exp();
        Ok(BoundPOutput {
            ln_threshold,
            threshold,
            bound: 4.0 / (self.lambda_min * self.t.powf(1.0 - self.beta)),
            probability: 1.0 - self.delta,
            applies: self.t > threshold,
        })
    }
}

bound! {
    /// $$C_\delta=\max\Big(\frac4{\Lambda_{\min}},\
    /// \lambda_{\max}(P_1)\frac{20D_X^4}{\Lambda_{\min}^2}\ln\frac{625\,d\,D_X^8}
    /// {\Lambda_{\min}^4\delta}\Big)$$
    /// (Section `section:logistic_convergence`); the event
    /// $A_{C_\delta}=\bigcap_{t\ge1}(\lambda_{\max}(P_t)\le C_\delta/t^{1-\beta})$ has probability
    /// at least $1-\delta$.
    CDelta -> CDeltaOutput: "C_delta", "section:logistic_convergence", "1-delta";
    "The constant C_delta that controls P_t of the truncated filter for all t."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Largest eigenvalue of $P_1$.
    lmax_p1: f64, "lmaxP1", Positive;
}

output! {
    /// $C_\delta$ and the two quantities of which it is the larger.
    CDeltaOutput;
    /// $C_\delta$.
    c: f64, "C";
    /// $4/\Lambda_{\min}$.
    first: f64, "first";
    /// The term of $\lambda_{\max}(P_1)$.
    second: f64, "second";
    /// $1-\delta$.
    probability: f64, "prob";
}

impl CDelta {
    fn formula(self) -> Result<CDeltaOutput> {
        let first = 4.0 / self.lambda_min;
        let second = self.lmax_p1 * burn_in(self.d, self.d_x, self.lambda_min, self.delta)?;
        Ok(CDeltaOutput { c: first.max(second), first, second, probability: 1.0 - self.delta })
    }
}

bound! {
    /// **Lemma 19** (`lemma:concentration_tropp`). For $0\le\beta<1$ and $t\ge4^{1/(1-\beta)}$,
    /// $$\mathbb
    /// P\Big(\lambda_{\min}\Big(\sum_{s=1}^{t-1}\frac{X_sX_s^T}
    /// {s^\beta}\Big)<\frac{\Lambda_{\min}t^{1-\beta}}{4(1-\beta)}\Big)
    /// \le d\exp\Big(-t^{1-\beta}\frac{\Lambda_{\min}^2}{10D_X^4}\Big).$$
    ConcentrationTropp -> ConcentrationTroppOutput:
        "concentration_tropp", "lemma:concentration_tropp", "the value is the failure probability";
    "Lemma 19: concentration of the weighted empirical second moment."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Time, one more than the number of rows.
    t: u64, "t", AtLeastOne;
    /// Exponent of the weights.
    beta: f64, "beta", BelowOne;
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
}

output! {
    /// The level and the probability to fall below it.
    ConcentrationTroppOutput;
    /// The level of the smallest eigenvalue.
    level: f64, "level";
    /// Logarithm of the bound on the failure probability (vacuous when not negative).
    ln_prob_bound: f64, "ln_prob_bound";
    /// $4^{1/(1-\beta)}$.
    t_min: f64, "t_min";
    /// Whether $t\ge4^{1/(1-\beta)}$ and the bound on the probability is below 1.
    applies: bool, "applies";
}

impl ConcentrationTropp {
    fn formula(self) -> Result<ConcentrationTroppOutput> {
        check_design(self.lambda_min, self.d_x)?;
        let rest = 1.0 - self.beta;
        let t = self.t as f64;
        let size = t.powf(rest);
        let ratio = self.lambda_min / (self.d_x * self.d_x);
        let t_min = 4f64.powf(1.0 / rest);
        let ln_prob_bound = (self.d as f64).ln() - size * ratio * ratio / 10.0;
        Ok(ConcentrationTroppOutput {
            level: self.lambda_min * size / (4.0 * rest),
            ln_prob_bound,
            t_min,
            applies: t >= t_min && ln_prob_bound < 0.0,
        })
    }
}
