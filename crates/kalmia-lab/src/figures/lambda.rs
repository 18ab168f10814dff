//! The figure `lambda`: the ONS over its initial matrix $P_1^{-1} = \lambda I$, which the paper
//! does not give.

use super::sweep::{self, Line};
use super::{Finished, Picture, run_all, sample};
use crate::error::Result;
use crate::experiment::{Experiment, Kind, MethodSpec, Panel};
use crate::number::scientific;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use kalmia_chart::{Color, Mark, compose};
use kalmia_model::{Algorithm, Method};

const PAPER: &str = "Not in the paper: its Algorithm 3 starts from P₁, and neither the algorithm \
    nor the experiments say which. Theorem 3 has any λ > 0. The comparisons take P₁⁻¹ = I/(γR)² \
    (E28); here λ varies.";

/// The settings with an ONS, by the names of their experiments.
const SETTINGS: [&str; 4] =
    ["comparison1", "comparison10_theory", "comparison10_optimistic", "misspecified"];

/// The ONS of one setting over values of $\lambda$.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Name of the comparison with the same rows.
    pub setting: String,
    /// Curves `ons` and `ons_averaged` for each $\lambda$, and `ons_default` with the choice of
    /// E28.
    pub panel: Panel,
    /// $1/(\gamma R)^2$, the choice of E28.
    pub default_lambda: f64,
}

/// The sweeps of all settings.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaSweep {
    /// One per setting.
    pub sweeps: Vec<Sweep>,
}

impl LambdaSweep {
    /// The sweep of a setting.
    pub fn of(&self, setting: &str) -> Option<&Sweep> {
        self.sweeps.iter().find(|sweep| sweep.setting == setting)
    }
}

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.shorter(1, 5);
    let experiments =
        SETTINGS.iter().map(|name| experiment(name)).collect::<Result<Vec<Experiment>>>()?;
    let panels = run_all(Figure::Lambda, &experiments, length, workers)?;
    let mut sweeps = Vec::new();
    for ((experiment, setting), panel) in experiments.iter().zip(SETTINGS).zip(panels) {
        let default_lambda = default_lambda(experiment, &panel)?;
        sweeps.push(Sweep { setting: setting.into(), panel, default_lambda });
    }
    let plots: Vec<_> = sweeps.iter().map(plot).collect();
    let caption = format!(
        "Mean squared error of the ONS at the last row over λ of P₁⁻¹ = λI, {}. The mark is the \
         choice of the comparisons, 1/(γR)² (E28). Whether averaging helps changes with λ.",
        sample(length)
    );
    let panels: Vec<&Panel> = sweeps.iter().map(|sweep| &sweep.panel).collect();
    let picture = Picture {
        name: "lambda".into(),
        scene: compose(&caption, &plots),
        csv: sweep::csv(&panels),
        caption,
    };
    Ok(Finished {
        paper: PAPER.into(),
        pictures: vec![picture],
        lambda: Some(LambdaSweep { sweeps }),
        ..Finished::default()
    })
}

/// The ONS of a comparison, once with each $\lambda$ and once with the default.
fn experiment(setting: &str) -> Result<Experiment> {
    let mut experiment = Experiment::of_the_paper(setting)?;
    experiment.methods.retain(|spec| spec.method == "ons");
    let swept = experiment.methods.iter().map(|spec| {
        // With the tiny constant of the first setting the default is near 10²⁵.
        let exponents = match setting {
            "comparison1" => [0, 5, 10, 12, 14, 16, 18, 21, 25],
            _ => [0, 1, 2, 3, 4, 5, 6, 7, 8],
        };
        spec.clone().with_grid("lambda", &exponents.map(|k| 10f64.powi(k)))
    });
    let swept: Vec<MethodSpec> = swept.collect();
    // The entries with and without a grid need keys of their own.
    experiment.methods.iter_mut().for_each(|spec| spec.key = Some("ons_default".into()));
    experiment.methods.extend(swept);
    experiment.name = format!("lambda_{setting}");
    Ok(experiment)
}

/// $1/(\gamma R)^2$ of the entry without a grid.
fn default_lambda(experiment: &Experiment, panel: &Panel) -> Result<f64> {
    let entrants = experiment.entrants(&panel.population)?;
    let Some(Kind::Online(Method { algorithm: Algorithm::OnlineNewton(constants), .. })) =
        entrants.first().map(|entrant| entrant.kind)
    else {
        return Ok(f64::NAN);
    };
    let d = experiment.data.dim();
    let settings = constants.settings(d)?;
    Ok((settings.gamma(d) * settings.radius()).powi(-2))
}

fn plot(sweep: &Sweep) -> kalmia_chart::Plot {
    let [_, _, orange, green, ..] = Color::PALETTE;
    let lines = [
        Line { method: "ons", label: "ONS".into(), color: orange, dash: &[] },
        Line {
            method: "ons_averaged",
            label: "averaged ONS".into(),
            color: green,
            dash: &[7.0, 3.0],
        },
    ];
    let mut plot = sweep::plot(&sweep.panel, &sweep.panel.title, "lambda", "λ", &lines);
    let label = format!("E28: {}", scientific(sweep.default_lambda, 1));
    plot.marks.push(Mark { x: sweep.default_lambda, label });
    plot
}
