//! The paper's convergence times beside the measured ones, and the event $A_{C_\delta}$.

use super::exits::MeasuredTau;
use crate::number::scientific;

/// A convergence time of the paper, as its natural logarithm: most overflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TheoryTau {
    /// As printed.
    pub ln_printed: f64,
    /// With the misprints corrected.
    pub ln_corrected: f64,
    /// Whether the side conditions of the statement hold.
    pub applies: bool,
}

/// One row of the table of convergence times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TauRow {
    /// `quadratic` or `logistic`.
    pub setting: &'static str,
    /// `kalman`, `ekf` or `truncated`.
    pub algorithm: &'static str,
    /// Radius of the ball.
    pub epsilon: f64,
    /// The share of the replicates that may leave it later.
    pub delta: f64,
    /// The measured time: of Assumption 5, or of Assumption 6 for the truncated filter.
    pub measured: MeasuredTau,
    /// The paper's; it has none for the plain EKF.
    pub theory: Option<TheoryTau>,
}

impl TauRow {
    /// Whether the measured time is below the paper's corrected one; `None` without both.
    pub fn measured_is_smaller(&self) -> Option<bool> {
        let theory = self.theory?;
        let tau = self.measured.tau?;
        Some((tau as f64).ln() < theory.ln_corrected)
    }
}

/// `2.5·10⁹`, or `exp(3.6·10⁶⁷)` for what a double cannot hold.
pub fn power(ln: f64) -> String {
    if ln.exp().is_finite() {
        scientific(ln.exp(), 1)
    } else {
        format!("exp({})", scientific(ln, 1))
    }
}

/// The table as CSV.
pub(crate) fn csv(rows: &[TauRow]) -> String {
    let mut csv = String::from(
        "setting,algorithm,epsilon,delta,measured,settled,rows,ln_printed,ln_corrected,applies\n",
    );
    for row in rows {
        let MeasuredTau { tau, rows } = row.measured;
        let theory = row.theory.map_or_else(
            || ",,".into(),
            |t| format!("{:e},{:e},{}", t.ln_printed, t.ln_corrected, t.applies),
        );
        csv.push_str(&format!(
            "{},{},{:e},{},{},{},{rows},{theory}\n",
            row.setting,
            row.algorithm,
            row.epsilon,
            row.delta,
            tau.unwrap_or(rows),
            tau.is_some(),
        ));
    }
    csv
}

/// The event $A_{C_\delta}$ of the section before Theorem 12 over the replicates of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventShare {
    /// $\delta$.
    pub delta: f64,
    /// $C_\delta$.
    pub c_delta: f64,
    /// Share of the replicates with $\lambda_{\max}(P_t)\le C_\delta/t^{1-\beta}$ at every $t$ of
    /// the run. The section claims at least $1-\delta$ over all times.
    pub share: f64,
    /// The smallest $C$ for which a share $1-\delta$ of the replicates has the event, rounded up by
    /// at most the spacing of the marks (a factor of 1.03 after $t = 40$).
    pub c_measured: f64,
    /// Rows of the run.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_in_powers_of_ten() {
        assert_eq!(power(2.53e9f64.ln()), "2.5·10⁹");
        assert_eq!(power(3.6e67), "exp(3.6·10⁶⁷)");
    }

    #[test]
    fn measured_and_theory_are_compared_only_if_both_exist() {
        let theory = Some(TheoryTau { ln_printed: 7.0, ln_corrected: 8.0, applies: true });
        let row = |tau, theory| TauRow {
            setting: "quadratic",
            algorithm: "kalman",
            epsilon: 0.1,
            delta: 0.05,
            measured: MeasuredTau { tau, rows: 10_000 },
            theory,
        };
        // e^8 is 2980.96
        assert_eq!(row(Some(2980), theory).measured_is_smaller(), Some(true));
        assert_eq!(row(Some(2981), theory).measured_is_smaller(), Some(false));
        assert_eq!(row(None, theory).measured_is_smaller(), None);
        assert_eq!(row(Some(1), None).measured_is_smaller(), None);
        let table = csv(&[row(None, theory), row(Some(7), None)]);
        assert!(table.ends_with("kalman,1e-1,0.05,7,true,10000,,,\n"), "{table}");
        assert!(table.contains("kalman,1e-1,0.05,10000,false,10000,7e0,8e0,true\n"));
    }
}
