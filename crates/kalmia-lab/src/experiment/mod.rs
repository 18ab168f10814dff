//! An experiment as a file: how rows are drawn, which methods learn them, and for how long.
//!
//! The paper's experiments are such files, in the folder `experiments` of this crate;
//! [`Experiment::of_the_paper`] reads them by name. `kalmia reproduce --config FILE` runs one's
//! own.

mod contestant;
mod data;
mod method;
mod panel;
mod population;
mod run;
mod sandwich;

pub use data::{Data, Features, Law, Loss};
pub(crate) use method::Kind;
pub use method::MethodSpec;
pub use panel::{Curve, Panel};
pub use population::Population;
pub use run::Length;

use crate::error::{Error, Result};
use crate::settings::checkpoints;
use serde::{Deserialize, Serialize};

/// A file of the folder `experiments`.
macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),*]
    };
}

/// The experiments of the report, by name.
const BUILT_IN: &[(&str, &str)] = &built_in![
    "comparison1",
    "comparison10_theory",
    "comparison10_optimistic",
    "misspecified",
    "quadratic",
    "quadratic_bent",
];

/// A setting with its methods.
///
/// ```
/// use kalmia_lab::experiment::{Experiment, Length};
/// use kalmia_lab::Workers;
/// use std::sync::atomic::AtomicBool;
///
/// let file = r#"
///     title = "two features"
///     [data]
///     loss = "logistic"
///     theta = [0.5, -1.0, 2.0]
///     [[method]]
///     method = "ekf"
///     grid = { prior = [1, 100] }
/// "#;
/// let experiment = Experiment::from_toml("mine", file)?;
/// let cancel = AtomicBool::new(false);
/// let workers = Workers { threads: 1, progress: &(), cancel: &cancel };
/// let panel = experiment.run(Length { horizon: 100, replicates: 4, seed: 1 }, &workers)?;
/// assert_eq!(panel.curves[1].key, "ekf_prior=100");
/// # Ok::<(), kalmia_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name of its files; that of the experiment file.
    #[serde(skip)]
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Rows of each replicate, if the command gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Independent replicates, if the command gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<usize>,
    /// First number of rows that is drawn.
    #[serde(default = "first")]
    pub draw_from: u64,
    /// Whether the coverage of the 95 % intervals is measured, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coverage: bool,
    /// How rows are drawn.
    pub data: Data,
    /// What learns them.
    #[serde(rename = "method")]
    pub methods: Vec<MethodSpec>,
}

fn first() -> u64 {
    1
}

impl Experiment {
    /// Reads an experiment file; `name` is used for the files of its results. Unknown keys and
    /// values outside their domain are refused by name.
    pub fn from_toml(name: &str, text: &str) -> Result<Self> {
        let parsed: Self = toml::from_str(text)
            .map_err(|error| Error::ExperimentFile { reason: error.to_string() })?;
        let experiment = Self { name: name.to_owned(), ..parsed };
        experiment.data.validate()?;
        if experiment.methods.is_empty() {
            return Err(Error::Experiment {
                key: "method".into(),
                reason: "there is none; add a section [[method]]".into(),
            });
        }
        Ok(experiment)
    }

    /// One of the experiments of the report.
    pub fn of_the_paper(name: &str) -> Result<Self> {
        let text = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let names: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
        let text = text.ok_or_else(|| Error::UnknownFigure {
            name: name.to_owned(),
            expected: names.join(", "),
        })?;
        Self::from_toml(name, text)
    }

    /// Other methods on the rows of an experiment of the report.
    pub(crate) fn on_rows_of(setting: &str, name: &str, methods: Vec<MethodSpec>) -> Result<Self> {
        let experiment = Self::of_the_paper(setting)?;
        Ok(Self { name: name.into(), methods, ..experiment })
    }

    /// Gives every ONS this initial matrix $P_1^{-1} = \lambda I$.
    pub fn set_ons_lambda(&mut self, lambda: f64) {
        for spec in self.methods.iter_mut().filter(|spec| spec.method == "ons") {
            spec.parameters.insert("lambda".into(), toml::Value::Float(lambda));
        }
    }

    /// The text of a file of the report, to start one's own from.
    pub fn built_in() -> &'static [(&'static str, &'static str)] {
        BUILT_IN
    }
}
