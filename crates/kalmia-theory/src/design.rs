//! Constants of the experiments' design, of the logistic loss, and of the stochastic gradient.

use crate::bound::{bound, output};
use kalmia::Result;
use kalmia::learner::{default_step, oracle_step};

bound! {
    /// $X=(1,Z)$ with $Z$ uniform on the unit cube of dimension $m$, so that
    /// $$\mathbb E\,XX^T=\begin{pmatrix}1&\tfrac12\mathbf 1^T\\\\ \tfrac12\mathbf
    /// 1&\tfrac1{12}I+\tfrac14\mathbf 1\mathbf 1^T\end{pmatrix}$$ has the eigenvalue $1/12$ with
    /// multiplicity $m-1$ and the two roots of $x^2-\frac{13+3m}{12}x+\frac1{12}$; $D_X=\sqrt{m+1}$
    /// (Section `sec:experiments`; $D_X$ is a norm, erratum E1).
    UniformDesign -> UniformDesignOutput: "uniform_design", "sec:experiments", "exact";
    "Eigenvalues of E[XX'] and the sup norm of X for an intercept and m uniform features."
    /// Number of uniform features beside the intercept.
    m: u64, "m", AtLeastOne;
}

output! {
    /// The spectrum of the design.
    UniformDesignOutput;
    /// $\Lambda_{\min}$.
    lambda_min: f64, "Lmin";
    /// The largest eigenvalue.
    lambda_max: f64, "Lmax";
    /// The eigenvalue of multiplicity $m-1$.
    bulk: f64, "bulk";
    /// $D_X$.
    d_x: f64, "D_X";
}

impl UniformDesign {
    fn formula(self) -> Result<UniformDesignOutput> {
        let m = self.m as f64;
        let trace = (13.0 + 3.0 * m) / 12.0;
        let lambda_max = 0.5 * (trace + (trace * trace - 1.0 / 3.0).sqrt());
        // The product of the roots is 1/12; the difference form would cancel.
        Ok(UniformDesignOutput {
            lambda_min: 1.0 / (12.0 * lambda_max),
            lambda_max,
            bulk: 1.0 / 12.0,
            d_x: (m + 1.0).sqrt(),
        })
    }
}

bound! {
    /// Assumption 3 holds with $\kappa_\varepsilon=e^{D_X(\|\theta^*\|+\varepsilon)}$,
    /// $h_\varepsilon=\tfrac14$, $\rho_\varepsilon=e^{-\varepsilon D_X}$ (after `ass:bounded`).
    ///
    /// Erratum E5: for two points of the ball the third point of the assumption needs
    /// $e^{-2\varepsilon D_X}$; the proofs compare with points of a segment that ends in
    /// $\theta^*$, where the printed value is right. Both are returned.
    LogisticConstants -> LogisticConstantsOutput:
        "logistic_constants", "ass:bounded", "deterministic";
    "The constants kappa, h and rho of Assumption 3 for logistic regression."
    /// $D_X$, the supremum of the norm of X.
    d_x: f64, "D_X", Positive;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
    /// Radius of the local region.
    eps: f64, "eps", Positive;
}

output! {
    /// The constants of Assumption 3.
    LogisticConstantsOutput;
    /// $\ln\kappa_\varepsilon$.
    ln_kappa: f64, "ln_kappa";
    /// $\kappa_\varepsilon$, infinite when it overflows.
    kappa: f64, "kappa";
    /// $h_\varepsilon$.
    h: f64, "h";
    /// $\rho_\varepsilon$ as used by the proofs.
    rho: f64, "rho";
    /// $\rho_\varepsilon$ for two arbitrary points of the ball.
    rho_two_sided: f64, "rho_two_sided";
}

impl LogisticConstants {
    fn formula(self) -> Result<LogisticConstantsOutput> {
        let ln_kappa = ln_kappa(self.d_x, self.norm_star, self.eps);
        let shift = self.eps * self.d_x;
        Ok(LogisticConstantsOutput {
            ln_kappa,
            kappa: ln_kappa.exp(),
            h: 0.25,
            rho: (-shift).exp(),
            rho_two_sided: (-2.0 * shift).exp(),
        })
    }
}

/// $\ln\kappa_\varepsilon=D_X(\|\theta^*\|+\varepsilon)$.
pub(crate) fn ln_kappa(d_x: f64, norm_star: f64, eps: f64) -> f64 {
    d_x * (norm_star + eps)
}

bound! {
    /// $\gamma=\frac1{2d\sqrt N}$, and with the norm of $\theta^*$ known,
    /// $\gamma=\frac{\|\theta^*\|}{\sqrt{dN}}$ (Section `sec:experiments`, $D_X^2=d$).
    AsgdSteps -> AsgdStepsOutput: "asgd_steps", "sec:experiments", "deterministic";
    "Step sizes of the averaged stochastic gradient with horizon N."
    /// Dimension.
    d: u64, "d", AtLeastOne;
    /// Horizon.
    horizon: u64, "N", AtLeastOne;
    /// Norm of theta*.
    norm_star: f64, "nstar", NonNegative;
}

output! {
    /// The two step sizes.
    AsgdStepsOutput;
    /// The plain one.
    gamma_asgd: f64, "gamma_asgd";
    /// The one that knows $\|\theta^*\|$.
    gamma_oracle: f64, "gamma_oracle";
}

impl AsgdSteps {
    fn formula(self) -> Result<AsgdStepsOutput> {
        Ok(AsgdStepsOutput {
            gamma_asgd: default_step(self.d, self.horizon)?,
            gamma_oracle: oracle_step(self.d, self.horizon, self.norm_star)?,
        })
    }
}
