//! The order of the Kalman filter's convergence time, without its constant.

use crate::Variant;
use crate::bound::{bound, check_design, output};
use kalmia::Result;

bound! {
    /// The estimate after **Theorem 14** (`section:quadratic`): with $h(x)=x\ln x$, up to a
    /// universal constant that the paper does not give, $\tau(\varepsilon,\delta)\lesssim h(A)$,
    /// $$A=\frac{\varepsilon^{-1}}{\Lambda_{\min}}\bigg(\frac{\|\hat\theta_1-\theta^*\|^2}{p_1}
    /// +\frac{D_X^2}{\Lambda_{\min}}(1+D_{\rm app}^2)\sqrt{\ln\delta^{-1}}+\sigma^2d
    /// +\Big(\frac{D_X}{\sqrt{\Lambda_{\min}}}(D_{\rm app}+D_X\|\theta^*\|)
    /// +\frac{\|\hat\theta_1-\theta^*\|}{\sqrt{p_1}}+\sigma^2\Big)\ln\delta^{-1}\bigg).$$
    ///
    /// It shows how $\tau$ grows with each quantity; it is no bound. For one, see
    /// [`crate::TauDeltaLinear`]. Errata E18 (corrected: $\varepsilon^{-2}$), E19 (corrected:
    /// $\|\hat\theta_1-\theta^*\|$ for $\|\theta^*\|$) and E30 (it needs
    /// $\varepsilon^{-1}/\Lambda_{\min}\ge1$, with $\varepsilon^{-2}$ corrected).
    TauOrder -> TauOrderOutput:
        "tau_order", "section:quadratic", "up to a universal constant that is not given";
    "The order of the Kalman filter's convergence time, up to an unknown constant: no bound."
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
    /// As printed, or corrected (eps^2, norm of theta_1 - theta*).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The order of the convergence time.
    TauOrderOutput;
    /// $A$.
    a: f64, "A";
    /// $A\ln A$.
    order: f64, "order";
    /// Whether $\varepsilon^{-1}/\Lambda_{\min}\ge1$, or $\varepsilon^{-2}/\Lambda_{\min}\ge1$.
    applies: bool, "applies";
}

impl TauOrder {
    fn formula(self) -> Result<TauOrderOutput> {
        check_design(self.lambda_min, self.d_x)?;
        let (scale, norm) = match self.variant {
            Variant::Paper => (1.0 / (self.eps * self.lambda_min), self.norm_star),
            Variant::Corrected => (1.0 / (self.eps * self.eps * self.lambda_min), self.dist1),
        };
        let log = -self.delta.ln();
        let ratio = self.d_x * self.d_x / self.lambda_min;
        let sigma2 = self.sigma * self.sigma;
        let linear =
            ratio.sqrt() * (self.d_app + self.d_x * norm) + self.dist1 / self.p1.sqrt() + sigma2;
        let a = scale
            * (self.dist1 * self.dist1 / self.p1
                + ratio * (1.0 + self.d_app * self.d_app) * log.sqrt()
                + sigma2 * self.d as f64
                + linear * log);
        Ok(TauOrderOutput { a, order: a * a.ln(), applies: scale >= 1.0 })
    }
}
