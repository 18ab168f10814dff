//! The convergence time of the Kalman filter by ridge regression: Lemma 23 and Corollary 24.

use crate::Variant;
use crate::bound::{bound, check_design, output};
use kalmia::Result;

/// What Lemma 23 and Corollary 24 share: $P_1=p_1I$, the noise, the design and the start.
struct Ridge {
    d: f64,
    /// $\ln\delta^{-1}$.
    log: f64,
    sigma2: f64,
    d_app: f64,
    d_x: f64,
    /// $D_X^2/\Lambda_{\min}$.
    ratio: f64,
    dist1: f64,
    /// $\|\theta^*\|$ as printed, $\|\hat\theta_1-\theta^*\|$ corrected.
    norm: f64,
    p1: f64,
}

impl Ridge {
    /// $1+\sqrt{8\ln\delta^{-1}}$.
    fn root(&self) -> f64 {
        1.0 + (8.0 * self.log).sqrt()
    }

    /// $B_2$, the bracket of the term in $1/t$.
    fn b2(&self) -> f64 {
        let start = self.dist1 * self.dist1 / (2.0 * self.p1);
        let bias = self.ratio * self.d_app * self.d_app * 4.0 * self.root() / (0.07 * 0.07);
        start + bias + 3.0 * self.sigma2 * (self.d / 0.035 + self.log) / 0.07
    }

    /// The square in $B_3$.
    fn square(&self) -> f64 {
        let reach = self.ratio.sqrt() * (self.d_app + self.d_x * self.norm)
            + self.dist1 / (2.0 * self.p1).sqrt();
        (reach * self.log).powi(2)
    }

    /// $B_3$, the bracket of the term in $1/t^2$.
    fn b3(&self) -> f64 {
        self.dist1 * self.dist1 / self.p1 * self.ratio * self.root() + self.square()
    }

    /// The other bracket that Corollary 24 prints inside a logarithm.
    fn b3_in_log(&self) -> f64 {
        self.dist1 * self.dist1 / (2.0 * self.p1) * (1.0 + self.ratio) * self.root() + self.square()
    }
}

bound! {
    /// **Lemma 23** (`lemma:resultHsu`), $P_1=p_1I$. For $\delta<e^{-2.6}$ and $t\ge
    /// t_{\min}=6\frac{D_X^2}{\Lambda_{\min}}(\ln d+\ln\delta^{-1})$,
    /// $$\|\hat\theta_{t+1}-\theta^*\|_\Sigma^2\le\frac3tB_2+\frac{12}{0.07^2t^2}B_3,$$
    /// $$B_2=\frac{\|\hat\theta_1-\theta^*\|^2}{2p_1}+\frac{D_X^2}{\Lambda_{\min}}
    /// D_{\rm app}^2\frac{4(1+\sqrt{8\ln\delta^{-1}})}{0.07^2}
    /// +\frac{3\sigma^2(d/0.035+\ln\delta^{-1})}{0.07},$$
    /// $$B_3=\frac{\|\hat\theta_1-\theta^*\|^2}{p_1}\frac{D_X^2}
    /// {\Lambda_{\min}}(1+\sqrt{8\ln\delta^{-1}})
    /// +\Big(\frac{D_X}{\sqrt{\Lambda_{\min}}}(
    /// D_{\rm app}+D_X\|\theta^*\|)+\frac{\|\hat\theta_1-\theta^*\|}
    /// {\sqrt{2p_1}}\Big)^2(\ln\delta^{-1})^2.$$
    ///
    /// Errata E19 (corrected: $\|\hat\theta_1-\theta^*\|$ replaces $\|\theta^*\|$) and E21 (the
    /// side conditions).
    ResultHsu -> ResultHsuOutput: "resultHsu", "lemma:resultHsu", "1-4delta";
    "Lemma 23: squared error of the Kalman filter at time t, from the analysis of ridge regression."
    /// Dimension.
    d: u64, "d", AtLeastOne;
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
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// $p_1$, with $P_1=p_1I$.
    p1: f64, "p1", Positive;
    /// As printed (norm of theta*) or corrected (norm of theta_1 - theta*).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The bound of Lemma 23 and its side conditions.
    ResultHsuOutput;
    /// $B_2$.
    b2: f64, "B2";
    /// $B_3$.
    b3: f64, "B3";
    /// The bound on the squared norm in $\Sigma=\mathbb E\,XX^T$.
    bound: f64, "bound";
    /// $t_{\min}$.
    t_min: f64, "t_min";
    /// $1-4\delta$.
    probability: f64, "prob";
    /// Whether $\delta<e^{-2.6}$.
    delta_is_small: bool;
    /// Whether $t\ge t_{\min}$.
    t_is_large: bool;
    /// Both side conditions.
    applies: bool, "applies";
}

impl ResultHsu {
    fn formula(self) -> Result<ResultHsuOutput> {
        check_design(self.lambda_min, self.d_x)?;
        let ridge = Ridge {
            d: self.d as f64,
            log: -self.delta.ln(),
            sigma2: self.sigma * self.sigma,
            d_app: self.d_app,
            d_x: self.d_x,
            ratio: self.d_x * self.d_x / self.lambda_min,
            dist1: self.dist1,
            norm: origin(self.variant, self.norm_star, self.dist1),
            p1: self.p1,
        };
        let b2 = ridge.b2();
        let b3 = ridge.b3();
        let t = self.t as f64;
        let t_min = 6.0 * ridge.ratio * (ridge.d.ln() + ridge.log);
        let delta_is_small = self.delta < (-2.6f64).exp();
        let t_is_large = t >= t_min;
        Ok(ResultHsuOutput {
            b2,
            b3,
            bound: 3.0 / t * b2 + 12.0 / (0.07 * 0.07 * t * t) * b3,
            t_min,
            probability: 1.0 - 4.0 * self.delta,
            delta_is_small,
            t_is_large,
            applies: delta_is_small && t_is_large,
        })
    }
}

/// The norm in $B_3$: of $\theta^*$ as printed, of $\hat\theta_1-\theta^*$ in the proof (erratum
/// E19).
fn origin(variant: Variant, norm_star: f64, dist1: f64) -> f64 {
    match variant {
        Variant::Paper => norm_star,
        Variant::Corrected => dist1,
    }
}

bound! {
    /// **Corollary 24** (`coro:tau_delta_linear`), $P_1=p_1I$. With $B_2,B_3$ of [`ResultHsu`],
    /// $\tau=\max(\tau_1,\tau_2,\tau_3)$,
    /// $$\tau_1=\max\Big(12\frac{D_X^2}{\Lambda_{\min}}(\ln
    /// d+\ln\delta^{-1}),\frac{48D_X^2}{\Lambda_{\min}}\ln\frac{24D_X^2}{\Lambda_{\min}}\Big),\quad
    /// \tau_2=2A_2\ln A_2,\
    /// A_2=\frac{12\varepsilon^{-1}}{\Lambda_{\min}}B_2,\quad\tau_3=\sqrt{A_3}\ln A_3',\
    /// A_3=\frac{96\varepsilon^{-1}}{0.07^2\Lambda_{\min}}B_3.$$
    ///
    /// As printed, $A_3'$ has another bracket than $A_3$. Corrected: $\varepsilon^2$ for
    /// $\varepsilon$ (E18), $\|\hat\theta_1-\theta^*\|$ for $\|\theta^*\|$ (E19) and $A_3'=A_3$
    /// (E20). The proof needs $\delta\le e^{-2}$ (E21). $\tau$ is rounded up, in both
    /// readings: Assumption 5 asks for a whole number (E30).
    TauDeltaLinear -> TauDeltaLinearOutput: "tau_delta_linear", "coro:tau_delta_linear", "1-delta";
    "Corollary 24: convergence time of the Kalman filter."
    /// Dimension.
    d: u64, "d", AtLeastOne;
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
    /// Smallest eigenvalue of E[XX'].
    lambda_min: f64, "Lmin", Positive;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// $p_1$, with $P_1=p_1I$.
    p1: f64, "p1", Positive;
    /// As printed, or corrected (eps^2, norm of theta_1 - theta*, one bracket in tau3).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The three times of Corollary 24 and their maximum.
    TauDeltaLinearOutput;
    /// $\tau_1$.
    tau1: f64, "tau1";
    /// $\tau_2$.
    tau2: f64, "tau2";
    /// $\tau_3$.
    tau3: f64, "tau3";
    /// $\tau$, the largest of the three, rounded up.
    tau: f64, "tau";
    /// $1-\delta$.
    probability: f64, "prob";
    /// Whether $\delta\le e^{-2}$.
    applies: bool, "applies";
}

impl TauDeltaLinear {
    fn formula(self) -> Result<TauDeltaLinearOutput> {
        check_design(self.lambda_min, self.d_x)?;
        let ratio = self.d_x * self.d_x / self.lambda_min;
        let ridge = Ridge {
            d: self.d as f64,
            log: -self.delta.ln(),
            sigma2: self.sigma * self.sigma,
            d_app: self.d_app,
            d_x: self.d_x,
            ratio,
            dist1: self.dist1,
            norm: origin(self.variant, self.norm_star, self.dist1),
            p1: self.p1,
        };
        let (precision, in_log) = match self.variant {
            Variant::Paper => (self.eps * self.lambda_min, ridge.b3_in_log()),
            Variant::Corrected => (self.eps * self.eps * self.lambda_min, ridge.b3()),
        };
        let first = 12.0 * ratio * (ridge.d.ln() + ridge.log);
        let tau1 = first.max(48.0 * ratio * (24.0 * ratio).ln());
        let a2 = 12.0 / precision * ridge.b2();
        let scale = 96.0 / (0.07 * 0.07 * precision);
        let tau2 = times_log(2.0 * a2, a2);
        let tau3 = times_log((scale * ridge.b3()).sqrt(), scale * in_log);
        Ok(TauDeltaLinearOutput {
            tau1,
            tau2,
            tau3,
            tau: tau1.max(tau2).max(tau3).ceil(),
            probability: 1.0 - self.delta,
            applies: self.delta <= (-2.0f64).exp(),
        })
    }
}

/// $a\ln b$, zero for $a=0$: without noise and at the optimum there is nothing to wait for.
fn times_log(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a * b.ln() }
}
