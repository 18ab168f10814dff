//! The regret bound of one run: Lemma 6 from the sums that the run leaves behind.

use crate::Variant;
use crate::bound::{bound, output};
use kalmia::Result;

bound! {
    /// **Lemma 6** (`lemma:recursive_bound`). For any sequence and any $\theta^*$,
    /// $$\sum_{t=1}^n\Big(\ell'_tX_t^T(\hat\theta_t-\theta^*)
    /// -\tfrac12\ell''_t\big(X_t^T(\hat\theta_t-\theta^*)\big)^2\Big)
    /// \le\frac12\sum_{t=1}^nX_t^TP_{t+1}X_t\,\ell_t'^2
    /// +c\,\frac{\|\hat\theta_1-\theta^*\|^2}{\lambda_{\min}(P_1)}.$$
    ///
    /// Erratum E3: $c=1$ is printed, the proof gives the sharper $c=\frac12$ (corrected). For the
    /// truncated filter read $\alpha_t$ for $\ell''_t$. [`kalmia::evaluate::Certificate`] sums
    /// `quad` while a filter runs: it is twice its `movement`.
    Certificate -> CertificateOutput: "certificate", "lemma:recursive_bound", "almost sure";
    "Lemma 6: the linearized regret of one run, for any data."
    /// Sum of x'P(t+1)x times the squared derivative of the loss.
    quad: f64, "quad", NonNegative;
    /// Norm of theta_1 - theta*.
    dist1: f64, "dist1", NonNegative;
    /// Smallest eigenvalue of $P_1$.
    lmin_p1: f64, "lminP1", Positive;
    /// As printed (factor 1) or sharp (factor 1/2).
    variant: Variant, "variant", Variant = "paper";
}

output! {
    /// The two terms of Lemma 6 and their sum.
    CertificateOutput;
    /// Half of the sum.
    movement: f64, "movement";
    /// The term of the initial matrix.
    init_term: f64, "init_term";
    /// Their sum.
    bound: f64, "bound";
}

impl Certificate {
    fn formula(self) -> Result<CertificateOutput> {
        let factor = match self.variant {
            Variant::Paper => 1.0,
            Variant::Corrected => 0.5,
        };
        let movement = 0.5 * self.quad;
        let init_term = factor * self.dist1 * self.dist1 / self.lmin_p1;
        Ok(CertificateOutput { movement, init_term, bound: movement + init_term })
    }
}
