//! The results of a run: the numbers here, `json` as one object, `html` as one page.

mod html;
mod json;

use crate::claims::Claim;
use crate::experiment::Panel;
use crate::figures::Finished;
use crate::settings::Settings;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The choices of the experiments that the paper leaves open or misprints, with their numbers in
/// the project's list of errata.
pub const DECISIONS: [(&str, &str); 7] = [
    (
        "E13",
        "The ONS evaluates its gradient at its own iterate w_t (the paper's Algorithm 3 prints \
         θ_t).",
    ),
    (
        "E14",
        "The ONS starts from P₁⁻¹ = λI (Theorem 3 prints P₁ = λI, its constants are those of the \
         inverse).",
    ),
    (
        "E15",
        "The ONS takes the step 1/γ of Algorithm 3 (the constants of Theorem 3 belong to 3/γ).",
    ),
    (
        "E16",
        "The ball has the radius R = 1.1 ‖θ*‖, and γ = ½ min(1/(4GR), α) with G = √d: the \
         paper's D is that radius.",
    ),
    (
        "E26",
        "Exp-concavity constants: e^(−R√d), which gives the published 2.0·10⁻⁴ and 3.0·10⁻³, and \
         the published optimistic 1.5·10⁻¹⁴ and 2.5·10⁻², which are minima over random points; \
         θ* of the misspecified setting by quadrature.",
    ),
    (
        "E28",
        "The initial matrix of the ONS, not given in the paper, is P₁⁻¹ = I/(γR)², with w₁ = 0.",
    ),
    (
        "E29",
        "Averages are over the iterates that predicted, θ₁ to θ_n, the point 0 included; ASGD \
         has a constant step for its horizon N and is re-run for every plotted N.",
    ),
];

/// The figures of a run with their claims.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The settings of the run.
    pub settings: Settings,
    /// Finished figures.
    pub figures: Vec<Finished>,
    /// The paper's claims with their verdicts.
    pub claims: Vec<Claim>,
    /// Every file written.
    pub files: Vec<PathBuf>,
    /// Time of the whole run.
    pub elapsed: Duration,
    /// Whether the caller stopped the run before its end.
    pub interrupted: bool,
}

impl Report {
    /// A panel of mean squared errors by name, such as `comparison10_theory`.
    pub fn panel(&self, name: &str) -> Option<&Panel> {
        self.figures.iter().flat_map(|f| &f.panels).find(|p| p.name == name)
    }

    /// `{"figures": {PANEL: {"checkpoints": [..], "algorithms": {NAME: {"mse": [..], "se":
    /// [..]}}}}, ...}`; densities, bounds and claims stand beside `figures`. A number that does not
    /// exist is null.
    pub fn to_json(&self) -> Value {
        json::render(self)
    }

    /// One self-contained page with the claims, the figures and their captions.
    pub fn to_html(&self) -> String {
        html::render(self)
    }
}
