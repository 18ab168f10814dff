//! The comparisons of the paper: `comparison1`, `comparison10` and `misspecified`.

use super::density::{density_csv, density_plot};
use super::{BANDS, Finished, Picture, mse, run_all, sample};
use crate::density::{Density, group_means};
use crate::error::Result;
use crate::experiment::{Experiment, Panel};
use crate::number::scientific;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use crate::world::World;
use kalmia_chart::{Mark, compose};

/// The published optimistic exp-concavity constant for $\theta^*$, as printed: it is a minimum over
/// random points (E26).
pub const OPTIMISTIC_STRONG: f64 = 1.5e-14;
/// The published optimistic constant for $\theta^*/10$.
pub const OPTIMISTIC_WEAK: f64 = 2.5e-2;

/// Runs the experiments of the paper by name, with `--ons-lambda` if it was given.
fn panels(
    figure: Figure,
    names: &[&str],
    settings: &Settings,
    workers: &Workers,
) -> Result<Vec<Panel>> {
    let mut experiments =
        names.iter().map(|name| Experiment::of_the_paper(name)).collect::<Result<Vec<_>>>()?;
    if let Some(lambda) = settings.ons_lambda {
        experiments.iter_mut().for_each(|experiment| experiment.set_ons_lambda(lambda));
    }
    run_all(figure, &experiments, settings.length(), workers)
}

fn initial_matrix(settings: &Settings) -> String {
    match settings.ons_lambda {
        Some(lambda) => format!("P₁⁻¹ = {} I as asked", scientific(lambda, 1)),
        None => "P₁⁻¹ = I/(γR)², which the paper does not give (E28)".into(),
    }
}

pub(super) fn comparison1(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let panels = panels(Figure::Comparison1, &["comparison1"], settings, workers)?;
    let caption = format!(
        "Mean squared error for θ* = (−9, 0, 3, −9, 4, −9, 15, 0, −7, 1, 0), P₁ = I, {}, {BANDS}. \
         The ONS uses the published optimistic exp-concavity constant 1.5·10⁻¹⁴ in place of \
         e^(−D√d) = {}, and {}.",
        sample(settings.length()),
        scientific(panels[0].population.ball_constant(), 1),
        initial_matrix(settings)
    );
    let pictures = vec![mse::picture(&panels[0], caption, 1)];
    let paper = "“Mean squared error in log-log scale for θ*. The ONS is applied with our \
        optimistic exp-concavity constant 1.5·10⁻¹⁴ instead of e^(−D√d) ≈ 1.2·10⁻³⁷. We observe \
        that the algorithm still almost doesn't move.” “In the first setting the truncation \
        deteriorates the performance of the EKF.”";
    Ok(Finished { paper: paper.into(), pictures, panels, ..Finished::default() })
}

pub(super) fn comparison10(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let names = ["comparison10_theory", "comparison10_optimistic"];
    let panels = panels(Figure::Comparison10, &names, settings, workers)?;
    let caption = |constant: String| {
        format!(
            "Mean squared error for θ*/10, P₁ = I, {}, {BANDS}. The ONS uses the exp-concavity \
             constant {constant}, and {}.",
            sample(settings.length()),
            initial_matrix(settings)
        )
    };
    let theory = format!("e^(−D√d) = {}", scientific(panels[0].population.ball_constant(), 2));
    let pictures = vec![
        mse::picture(&panels[0], caption(theory), 1),
        mse::picture(&panels[1], caption("2.5·10⁻², the published optimistic one".into()), 1),
    ];
    let paper = "“Mean squared error in log-log scale for θ*/10. The ONS is applied with the \
        exp-concavity constant e^(−D√d) ≈ 2.0·10⁻⁴ (left) and with our optimistic exp-concavity \
        constant 2.5·10⁻² (right).” “Averaging is crucial in order to obtain a low mean squared \
        error for the ONS, whereas it is useless for the static EKF.”";
    Ok(Finished { paper: paper.into(), pictures, panels, ..Finished::default() })
}

pub(super) fn misspecified(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let panels = panels(Figure::Misspecified, &["misspecified"], settings, workers)?;
    let density = Density::draw("misspecified", World::Misspecified, settings.seed);
    let means = group_means(settings.seed);
    let modes = density.modes();
    let mut plot = density_plot("Bernoulli parameter of the two processes", &density, false);
    let mark = |label: &str, x: f64| Mark { x, label: format!("{label} {x:.2}") };
    plot.marks = vec![mark("mean", means[0]), mark("mean", means[1])];
    plot.marks.extend(modes.map(|x| mark("mode", x)));
    let density_caption = format!(
        "Misspecified setting: density of the Bernoulli parameter, 10⁶ draws. Its modes are near \
         {:.3} and {:.3}; what the paper calls modes, 0.28 and 0.79, are the means {:.4} and {:.4} \
         of the two processes (E32).",
        modes[0], modes[1], means[0], means[1]
    );
    let caption = format!(
        "Misspecified setting: mean squared error, P₁ = I, {}, {BANDS}. θ* by quadrature, norm \
         {:.6}; the ONS uses e^(−D√d) = {}, and {}.",
        sample(settings.length()),
        panels[0].population.norm(),
        scientific(panels[0].population.ball_constant(), 2),
        initial_matrix(settings)
    );
    let pictures = vec![
        Picture {
            name: "misspecified_density".into(),
            scene: compose(&density_caption, &[plot]),
            csv: density_csv(&[&density]),
            caption: density_caption,
        },
        mse::picture(&panels[0], caption, 1),
    ];
    let paper = "“Misspecified setting. Density (left) of the Bernoulli parameter with two modes \
        at E[(1+e^(−θ₁ᵀX))⁻¹] ≈ 0.28 and E[(1+e^(−θ₂ᵀX))⁻¹] ≈ 0.79. Mean squared error (right) \
        where the ONS is applied with the exp-concavity constant e^(−D√d) ≈ 3.0·10⁻³ and θ* is \
        estimated with 10⁹ iterations of the static EKF.”";
    let densities = vec![density];
    Ok(Finished { paper: paper.into(), pictures, panels, densities, ..Finished::default() })
}
