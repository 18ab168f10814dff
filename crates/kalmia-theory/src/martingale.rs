//! The martingale inequalities behind every deviation term: Lemmas 4, 9 and 15.

use crate::bound::{bound, output, says_something};
use kalmia::Result;

bound! {
    /// **Lemma 4** (`lemma:corobercu`). For a martingale difference $\Delta N_t$ and any
    /// $\lambda>0$, for all $n\ge1$ simultaneously,
    /// $$\sum_{t=k+1}^{k+n}\Big(\Delta N_t-\frac\lambda2\big((\Delta N_t)^2
    /// +\mathbb E[(\Delta N_t)^2\mid\mathcal F_{t-1}]\big)\Big)\le\frac{\ln\delta^{-1}}\lambda.$$
    ///
    /// With `quad`, the sum of $(\Delta N_t)^2+\mathbb E[(\Delta N_t)^2\mid\mathcal F_{t-1}]$,
    /// `sum_bound` bounds $\sum\Delta N_t$ itself.
    Corobercu -> MartingaleOutput: "corobercu", "lemma:corobercu", "1-delta";
    "Lemma 4: deviation of a martingale, for all n at once."
    /// $\lambda$, the weight of the squares.
    lambda: f64, "lam", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Sum of the squares and of their conditional expectations.
    quad: f64, "quad", NonNegative = "0";
}

output! {
    /// The right-hand side of Lemma 4 or 9, and the bound on the martingale that it gives.
    MartingaleOutput;
    /// $\ln\delta^{-1}/\lambda$.
    bound: f64, "bound";
    /// The bound on the sum of the martingale differences.
    sum_bound: f64, "sum_bound";
    /// $1-\delta$.
    probability: f64, "prob";
}

impl Corobercu {
    fn formula(self) -> Result<MartingaleOutput> {
        Ok(deviation(self.lambda, self.delta, 0.5 * self.lambda * self.quad))
    }
}

/// $\ln\delta^{-1}/\lambda$, alone and with the quadratic term.
fn deviation(lambda: f64, delta: f64, quadratic: f64) -> MartingaleOutput {
    let bound = -delta.ln() / lambda;
    MartingaleOutput { bound, sum_bound: bound + quadratic, probability: 1.0 - delta }
}

bound! {
    /// **Lemma 9** (`lemma:martingale`), for $\Delta M_t=(\mathbb E[\nabla_t\mid\mathcal F_{t-1}]
    /// -\nabla_t)^T(\hat\theta_t-\theta^*)$ of equation (4). Under Assumptions 1 and 2, for all
    /// $n\ge1$ simultaneously,
    /// $$\sum_{t=k+1}^{k+n}\Big(\Delta M_t-\lambda(\hat\theta_t-\theta^*)^T\big(\nabla_t\nabla_t^T
    /// +\tfrac32\mathbb E[\nabla_t\nabla_t^T\mid\mathcal F_{t-1}]\big)(\hat\theta_t-\theta^*)\Big)
    /// \le\frac{\ln\delta^{-1}}\lambda.$$
    ///
    /// With `quad`, the sum of the quadratic forms, `sum_bound` bounds $\sum\Delta M_t$ itself.
    Martingale -> MartingaleOutput: "martingale", "lemma:martingale", "1-delta";
    "Lemma 9: deviation between the risk's gradient and the losses' gradients."
    /// $\lambda$, the weight of the quadratic forms.
    lambda: f64, "lam", Positive;
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Sum of the quadratic forms.
    quad: f64, "quad", NonNegative = "0";
}

impl Martingale {
    fn formula(self) -> Result<MartingaleOutput> {
        Ok(deviation(self.lambda, self.delta, self.lambda * self.quad))
    }
}

bound! {
    /// **Lemma 15** (`lemma:simultaneous_supermartingale`). Let $V_0=1$, $V_n\ge0$ and
    /// $\mathbb E[V_n\mid\mathcal F_{n-1},A_{n-1}]\le V_{n-1}$. Then
    /// $$\mathbb P\Big(\bigcup_{n\ge1}(V_n>\delta^{-1})\cup\bigcup_{n\ge0}\overline{A_n}\Big)
    /// \le\delta+\mathbb P\Big(\bigcup_{n\ge0}\overline{A_n}\Big).$$
    ///
    /// For a supermartingale the events $A_n$ are certain, and `outside` is 0.
    SimultaneousSupermartingale -> SimultaneousSupermartingaleOutput:
        "simultaneous_supermartingale", "lemma:simultaneous_supermartingale", "1-delta-outside";
    "Lemma 15: the level that a supermartingale never exceeds, for all n at once."
    /// Confidence parameter.
    delta: f64, "delta", Probability;
    /// Probability that some of the events $A_n$ fails.
    outside: f64, "outside", BelowOne = "0";
}

output! {
    /// The level and the probability to stay below it.
    SimultaneousSupermartingaleOutput;
    /// $\delta^{-1}$.
    level: f64, "level";
    /// The bound on the probability to exceed it or to leave the events.
    failure: f64, "failure";
    /// One minus that bound.
    probability: f64, "prob";
    /// Whether that probability is positive.
    applies: bool, "applies";
}

impl SimultaneousSupermartingale {
    fn formula(self) -> Result<SimultaneousSupermartingaleOutput> {
        let failure = self.delta + self.outside;
        let probability = 1.0 - failure;
        Ok(SimultaneousSupermartingaleOutput {
            level: 1.0 / self.delta,
            failure,
            probability,
            applies: says_something(probability),
        })
    }
}
