//! The Online Newton Step: its step size and the bound of Theorem 3.

use crate::bound::{bound, output, says_something};
use crate::exp_concavity::ln_ball_constant;
use kalmia::Result;

bound! {
    /// $\gamma=\frac12\min\big(\frac1{4GD},\alpha\big)$ (`th:refinement_mahdavi`), and the
    /// exp-concavity constant $e^{-DD_X}$ of the logistic loss on the ball of **radius** $D$
    /// (Section `sec:experiments`).
    ///
    /// Erratum E16: the theorem's $D$ is a diameter, the experiments' a radius; the experiments put
    /// the radius in $\gamma$ as well.
    OnsConstants -> OnsConstantsOutput: "ons_constants", "th:refinement_mahdavi", "deterministic";
    "Step size gamma of the Online Newton Step and exp-concavity constant of the logistic loss on \
     a ball."
    /// Radius (experiments) or diameter (Theorem 3) of the search region.
    d_search: f64, "D", Positive;
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Bound on the norm of the gradients.
    g: f64, "G", Positive;
    /// Exp-concavity constant.
    alpha: f64, "alpha", Positive;
}

output! {
    /// The step size and the constant of the ball.
    OnsConstantsOutput;
    /// $e^{-DD_X}$.
    alpha_ball: f64, "alpha_ball";
    /// Its logarithm.
    ln_alpha_ball: f64, "ln_alpha_ball";
    /// $\gamma$.
    gamma: f64, "gamma";
    /// Whether $\alpha$, not $1/(4GD)$, sets $\gamma$.
    alpha_is_binding: bool, "alpha_is_binding";
}

impl OnsConstants {
    fn formula(self) -> Result<OnsConstantsOutput> {
        let ln_alpha_ball = ln_ball_constant(self.d_search, self.d_x)?;
        Ok(OnsConstantsOutput {
            alpha_ball: ln_alpha_ball.exp(),
            ln_alpha_ball,
            gamma: step(self.g, self.d_search, self.alpha),
            alpha_is_binding: self.alpha <= 1.0 / (4.0 * self.g * self.d_search),
        })
    }
}

/// $\gamma=\frac12\min\big(\frac1{4GD},\alpha\big)$.
fn step(g: f64, d: f64, alpha: f64) -> f64 {
    0.5 * alpha.min(1.0 / (4.0 * g * d))
}

bound! {
    /// **Theorem 3** (`th:refinement_mahdavi`). With gradients bounded by $G$ and a search region
    /// of diameter $D$, for all $n\ge1$ simultaneously,
    /// $$\sum_{t=1}^nL(w_t)-L(\theta^*)\le\frac3{2\gamma}d\ln\Big(1+\frac{nG^2}{\lambda
    /// d}\Big)+\frac{\lambda\gamma}6D^2 +\Big(\frac{12}\gamma+\frac{4\gamma
    /// G^2D^2}3\Big)\ln\delta^{-1},\qquad\gamma=\tfrac12\min\big(\tfrac1{4GD},\alpha\big).$$
    ///
    /// Errata E14 (read $P_1^{-1}=\lambda I$), E15 (the constants belong to the run with step
    /// $3/\gamma$), E16 ($D$ is the diameter, twice the radius).
    RefinementMahdavi -> RefinementMahdaviOutput:
        "refinement_mahdavi", "th:refinement_mahdavi", "1-2delta";
    "Theorem 3: cumulative risk of the Online Newton Step."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Number of steps.
    n: u64, "n", AtLeastOne;
    /// $\lambda$, with $P_1^{-1}=\lambda I$.
    lambda: f64, "lam", Positive;
    /// Bound on the norm of the gradients.
    g: f64, "G", Positive;
    /// Diameter of the search region.
    diameter: f64, "D", Positive;
    /// Exp-concavity constant.
    alpha: f64, "alpha", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
}

output! {
    /// The terms of Theorem 3 and their sum.
    RefinementMahdaviOutput;
    /// The step constant.
    gamma: f64, "gamma";
    /// The logarithmic term.
    log_term: f64, "log_term";
    /// The term of the initial matrix.
    init_term: f64, "init_term";
    /// The deviation term.
    dev_term: f64, "dev_term";
    /// Their sum.
    total: f64, "total";
    /// The sum over $n$: by Jensen's inequality a bound on the excess risk of
    /// $(w_1+\dots+w_n)/n$.
    average: f64, "average";
    /// $1-2\delta$.
    probability: f64, "prob";
    /// Whether the probability is positive.
    applies: bool, "applies";
}

impl RefinementMahdavi {
    fn formula(self) -> Result<RefinementMahdaviOutput> {
        let d = self.d as f64;
        let gamma = step(self.g, self.diameter, self.alpha);
        let log_term =
            1.5 / gamma * d * (self.n as f64 * self.g * self.g / (self.lambda * d)).ln_1p();
        let init_term = self.lambda * gamma / 6.0 * self.diameter * self.diameter;
        let spread = (self.g * self.diameter).powi(2);
        let dev_term = (12.0 / gamma + 4.0 * gamma * spread / 3.0) * -self.delta.ln();
        let total = log_term + init_term + dev_term;
        let probability = 1.0 - 2.0 * self.delta;
        Ok(RefinementMahdaviOutput {
            gamma,
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
