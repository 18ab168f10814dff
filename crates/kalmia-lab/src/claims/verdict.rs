//! Verdicts as functions of numbers alone.

use crate::statistics::{mean, paired_score, smallest, standard_error};

/// Standard errors that decide a claim: about one false verdict in 370 claims.
pub const DECISIVE: f64 = 3.0;

/// The outcome of testing a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The replicates show it by at least three standard errors.
    Confirmed,
    /// They show the opposite by at least three standard errors.
    Contradicted,
    /// They show neither, or a value is NaN.
    Undecided,
    /// It is confirmed or contradicted according to a choice that the paper does not give.
    Depends,
}

impl Verdict {
    /// All verdicts, in the order of the report.
    pub const ALL: [Verdict; 4] =
        [Verdict::Confirmed, Verdict::Contradicted, Verdict::Undecided, Verdict::Depends];

    /// The words in the report.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Contradicted => "contradicted",
            Verdict::Undecided => "undecided",
            Verdict::Depends => "depends on a choice the paper does not give",
        }
    }

    /// One word, for JSON and for styles.
    pub fn word(self) -> &'static str {
        if self == Verdict::Depends { "depends" } else { self.words() }
    }

    /// From the evidence for a claim in standard errors. NaN decides nothing.
    pub fn from_score(score: f64) -> Self {
        if score >= DECISIVE {
            Verdict::Confirmed
        } else if score <= -DECISIVE {
            Verdict::Contradicted
        } else {
            Verdict::Undecided
        }
    }

    fn is_decided(self) -> bool {
        matches!(self, Verdict::Confirmed | Verdict::Contradicted)
    }
}

/// Evidence that `good` has the smaller errors than each of the rivals, replicates paired: the
/// smallest score.
pub fn lead(good: &[f64], rivals: &[&[f64]]) -> f64 {
    smallest(rivals.iter().map(|rival| paired_score(rival, good)))
}

/// A mean of paired differences in units of the mean of `a`, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The relative difference.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Gap {
    /// Between two methods on the same replicates.
    pub fn between(a: &[f64], b: &[f64]) -> Self {
        let gaps: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let scale = mean(a);
        Self { value: mean(&gaps) / scale, error: standard_error(&gaps) / scale }
    }

    /// Of the mean of `a` from a known number, in units of that number.
    pub fn from_known(a: &[f64], known: f64) -> Self {
        Self { value: mean(a) / known - 1.0, error: standard_error(a) / known }
    }

    /// Whether the difference is within a tolerance, with three standard errors to spare.
    pub fn within(self, tolerance: f64) -> Verdict {
        let size = self.value.abs();
        if size + DECISIVE * self.error < tolerance {
            Verdict::Confirmed
        } else if size - DECISIVE * self.error > tolerance {
            Verdict::Contradicted
        } else {
            Verdict::Undecided
        }
    }
}

/// A verdict at one value of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtChoice {
    /// The value.
    pub value: f64,
    /// The verdict there.
    pub verdict: Verdict,
}

/// A verdict over all values of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverChoice {
    /// That of the value used, or [`Verdict::Depends`] if another value has the opposite one.
    pub verdict: Verdict,
    /// Two neighbouring values with opposite verdicts.
    pub flip: Option<[AtChoice; 2]>,
}

/// Judges a claim by its verdict at the value used and at other values of an open choice.
pub fn over_choice(used: AtChoice, others: &[AtChoice]) -> OverChoice {
    let mut decided: Vec<AtChoice> =
        others.iter().copied().chain([used]).filter(|at| at.verdict.is_decided()).collect();
    decided.sort_by(|a, b| a.value.total_cmp(&b.value));
    let flip = decided.windows(2).find(|pair| pair[0].verdict != pair[1].verdict);
    let flip = flip.map(|pair| [pair[0], pair[1]]);
    let verdict = if flip.is_some() { Verdict::Depends } else { used.verdict };
    OverChoice { verdict, flip }
}

/// Whether a number printed with `digits` significant digits is the rounded value.
pub fn rounds_to(value: f64, printed: f64, digits: usize) -> Verdict {
    let text = |v: f64| format!("{v:.0$e}", digits.saturating_sub(1));
    match value.is_finite() && text(value) == text(printed) {
        true => Verdict::Confirmed,
        false => Verdict::Contradicted,
    }
}

/// Whether a density has its mode where it is claimed: contradicted if as wide a window elsewhere
/// holds more draws, by three standard errors.
pub fn mode_at(claimed: u64, highest: u64) -> Verdict {
    let gap = highest as f64 - claimed as f64;
    let score = gap / (highest as f64 + claimed as f64).sqrt();
    if score >= DECISIVE { Verdict::Contradicted } else { Verdict::Confirmed }
}

/// Whether an event that may fail with probability `allowed` fails no more often than that: by the
/// binomial standard error under that probability.
pub fn holds_with(failures: usize, trials: usize, allowed: f64) -> Verdict {
    let share = failures as f64 / trials as f64;
    let error = (allowed * (1.0 - allowed) / trials as f64).sqrt();
    if failures == 0 && trials > 0 {
        return Verdict::Confirmed;
    }
    Verdict::from_score((allowed - share) / error)
}

/// The slope of $\ln$ time against $\ln d$, by least squares.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let x = logs.iter().map(|p| p.0).sum::<f64>() / n;
    let y = logs.iter().map(|p| p.1).sum::<f64>() / n;
    let covariance: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    covariance / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

/// Whether a cost grows no faster than $d^2$. Times are noisy, so a quarter of a power is allowed.
pub fn at_most_quadratic(exponent: f64) -> Verdict {
    if exponent <= 2.25 {
        Verdict::Confirmed
    } else if exponent >= 2.75 {
        Verdict::Contradicted
    } else {
        Verdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Confirmed, Contradicted, Depends, Undecided};

    #[test]
    fn a_lead_must_be_certain_over_every_rival() {
        let ekf = [1.0, 1.1, 0.9, 1.0];
        let verdict = |rivals: &[&[f64]]| Verdict::from_score(lead(&ekf, rivals));
        let worse = [2.0, 2.2, 1.9, 2.1];
        assert_eq!(verdict(&[&worse]), Confirmed);
        assert_eq!(verdict(&[&worse, &[0.2, 0.3, 0.1, 0.2]]), Contradicted);
        assert_eq!(verdict(&[&worse, &[0.5, 1.8, 0.4, 1.6]]), Undecided);
        assert_eq!(verdict(&[&[f64::NAN, 2.0, 2.0, 2.0]]), Undecided);
    }

    #[test]
    fn similarity_needs_precision() {
        let ekf = [1.0, 1.1, 0.9, 1.0];
        let verdict = |other: [f64; 4]| Gap::between(&ekf, &other).within(0.05);
        assert_eq!(verdict([1.001, 1.1, 0.9, 1.0]), Confirmed);
        assert_eq!(verdict([1.5, 1.6, 1.4, 1.5]), Contradicted);
        assert_eq!(verdict([0.5, 1.6, 0.4, 1.5]), Undecided);
        assert_eq!(verdict([f64::NAN, 1.1, 0.9, 1.0]), Undecided);
        assert_eq!(Gap::from_known(&[10.0, 10.1, 9.9], 10.0).within(0.25), Confirmed);
        assert_eq!(Gap::from_known(&[20.0, 20.1, 19.9], 10.0).within(0.25), Contradicted);
    }

    #[test]
    fn a_choice_that_flips_the_verdict_is_named() {
        let at = |value, verdict| AtChoice { value, verdict };
        let agree = [at(1.0, Confirmed), at(10.0, Undecided)];
        let judged = over_choice(at(5.0, Confirmed), &agree);
        assert_eq!((judged.verdict, judged.flip), (Confirmed, None));
        let judged = over_choice(at(1e7, Contradicted), &[at(1.0, Confirmed), at(1e5, Confirmed)]);
        assert_eq!(judged.verdict, Depends);
        assert_eq!(judged.flip.map(|pair| pair.map(|p| p.value)), Some([1e5, 1e7]));
        assert_eq!(over_choice(at(1.0, Undecided), &[at(2.0, Confirmed)]).verdict, Undecided);
        let split = [at(2.0, Confirmed), at(3.0, Contradicted)];
        assert_eq!(over_choice(at(1.0, Undecided), &split).verdict, Depends);
    }

    #[test]
    fn printed_numbers_modes_and_costs() {
        assert_eq!(rounds_to(1.19955e-37, 1.2e-37, 2), Confirmed);
        assert_eq!(rounds_to(1.26e-37, 1.2e-37, 2), Contradicted);
        assert_eq!(rounds_to(f64::NAN, 1.2e-37, 2), Contradicted);
        assert_eq!(mode_at(10_000, 11_000), Contradicted);
        assert_eq!(mode_at(10_000, 10_100), Confirmed);
        let law = |power: f64| [16.0f64, 32.0, 64.0].map(|d| (d, 3e-9 * d.powf(power)));
        assert!((exponent(&law(1.7)) - 1.7).abs() < 1e-12);
        assert_eq!(at_most_quadratic(exponent(&law(2.0))), Confirmed);
        assert_eq!(at_most_quadratic(exponent(&law(3.0))), Contradicted);
        assert_eq!(at_most_quadratic(f64::NAN), Undecided);
        assert_eq!(holds_with(0, 20, 0.05), Confirmed);
        assert_eq!(holds_with(5, 100, 0.05), Undecided);
        assert_eq!(holds_with(30, 100, 0.05), Contradicted);
        assert_eq!(holds_with(0, 0, 0.05), Undecided);
    }
}
