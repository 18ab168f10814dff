//! The results of a run: the numbers here, `json` as one object, `html` as one page.

mod bounds;
mod claims;
mod html;
mod json;

use crate::claims::Claim;
use crate::experiment::Panel;
use crate::figures::Finished;
use crate::settings::Settings;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

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
