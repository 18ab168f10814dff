//! The comparisons of the paper: `comparison1`, `comparison10` and `misspecified`.

use super::density::{density_csv, density_plot};
use super::{Finished, Picture, finished, mse_picture, norm, sample};
use crate::density::{Density, mode_means};
use crate::error::Result;
use crate::experiment::{Comparison, Panel, PanelSpec};
use crate::kernel::OnsConstants;
use crate::number::scientific;
use crate::quadrature::misspecified_star;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;
use crate::world::{D, World};
use kalmia_chart::{Mark, compose};

/// The published optimistic exp-concavity constant for $\theta^*$, as printed: it is a minimum over
/// random points (E26).
pub const OPTIMISTIC_STRONG: f64 = 1.5e-14;
/// The published optimistic constant for $\theta^*/10$.
pub const OPTIMISTIC_WEAK: f64 = 2.5e-2;

fn compare(
    settings: &Settings,
    workers: &Workers,
    figure: Figure,
    world: World,
    star: [f64; D],
    panels: &[PanelSpec],
) -> Result<Vec<Panel>> {
    let comparison = Comparison {
        world,
        star,
        panels: panels.to_vec(),
        checkpoints: settings.checkpoints(),
        replicates: settings.replicates,
        seed: settings.seed,
    };
    workers.progress.start(figure.name(), comparison.units());
    comparison.run(workers)
}

pub(super) fn comparison1(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let panels = compare(
        settings,
        workers,
        Figure::Comparison1,
        World::Strong,
        World::Strong.generator(),
        &[PanelSpec { name: "comparison1", exp_concavity: OPTIMISTIC_STRONG }],
    )?;
    let caption = format!(
        "Mean squared error for θ* = (−9, 0, 3, −9, 4, −9, 15, 0, −7, 1, 0), P₁ = I, {}. The ONS \
         uses the published optimistic exp-concavity constant 1.5·10⁻¹⁴ in place of e^(−D√d) = \
         {}.",
        sample(settings),
        scientific(OnsConstants::exp_concavity(norm(&World::Strong.generator())), 1)
    );
    let picture = mse_picture(&panels[0], "θ*, ONS constant 1.5·10⁻¹⁴", caption, 1);
    let paper = "“Mean squared error in log-log scale for θ*. The ONS is applied with our \
        optimistic exp-concavity constant 1.5·10⁻¹⁴ instead of e^(−D√d) ≈ 1.2·10⁻³⁷. We observe \
        that the algorithm still almost doesn't move.” “In the first setting the truncation \
        deteriorates the performance of the EKF.”";
    Ok(finished(Figure::Comparison1, paper, vec![picture], panels))
}

pub(super) fn comparison10(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let star = World::Weak.generator();
    let theory = OnsConstants::exp_concavity(norm(&star));
    let constants = [
        PanelSpec { name: "comparison10_theory", exp_concavity: theory },
        PanelSpec { name: "comparison10_optimistic", exp_concavity: OPTIMISTIC_WEAK },
    ];
    let panels = compare(settings, workers, Figure::Comparison10, World::Weak, star, &constants)?;
    let caption = |constant: String| {
        format!(
            "Mean squared error for θ*/10, P₁ = I, {}. The ONS uses the exp-concavity constant \
             {constant}.",
            sample(settings)
        )
    };
    let pictures = vec![
        mse_picture(
            &panels[0],
            "θ*/10, ONS constant 2.0·10⁻⁴",
            caption(format!("e^(−D√d) = {}", scientific(theory, 2))),
            1,
        ),
        mse_picture(
            &panels[1],
            "θ*/10, ONS constant 2.5·10⁻²",
            caption("2.5·10⁻², the published optimistic one".into()),
            1,
        ),
    ];
    let paper = "“Mean squared error in log-log scale for θ*/10. The ONS is applied with the \
        exp-concavity constant e^(−D√d) ≈ 2.0·10⁻⁴ (left) and with our optimistic exp-concavity \
        constant 2.5·10⁻² (right).” “Averaging is crucial in order to obtain a low mean squared \
        error for the ONS, whereas it is useless for the static EKF.”";
    Ok(finished(Figure::Comparison10, paper, pictures, panels))
}

pub(super) fn misspecified(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let star = misspecified_star();
    let constant = OnsConstants::exp_concavity(norm(&star));
    let panels = compare(
        settings,
        workers,
        Figure::Misspecified,
        World::Misspecified,
        star,
        &[PanelSpec { name: "misspecified", exp_concavity: constant }],
    )?;
    let density = Density::draw("misspecified", World::Misspecified, settings.seed);
    let modes = mode_means(settings.seed);
    let mut plot = density_plot("Bernoulli parameter of the two processes", &density, false);
    plot.marks = modes.iter().map(|&x| Mark { x, label: format!("mean {x:.2}") }).collect();
    let density_caption = format!(
        "Misspecified setting: density of the Bernoulli parameter, 10⁶ draws; dashed, the means \
         {:.4} and {:.4} of the two processes.",
        modes[0], modes[1]
    );
    let caption = format!(
        "Misspecified setting: mean squared error, P₁ = I, {}. θ* by quadrature, norm {:.6}; the \
         ONS uses e^(−D√d) = {}.",
        sample(settings),
        norm(&star),
        scientific(constant, 2)
    );
    let pictures = vec![
        Picture {
            name: "misspecified_density".into(),
            scene: compose(&density_caption, &[plot]),
            csv: density_csv(&[&density]),
            caption: density_caption,
        },
        mse_picture(&panels[0], "misspecified, ONS constant 3.0·10⁻³", caption, 1),
    ];
    let paper = "“Misspecified setting. Density (left) of the Bernoulli parameter with two modes \
        at 0.28 and 0.79. Mean squared error (right) where the ONS is applied with the \
        exp-concavity constant e^(−D√d) ≈ 3.0·10⁻³ and θ* is estimated with 10⁹ iterations of \
        the static EKF.”";
    let mut finished = finished(Figure::Misspecified, paper, pictures, panels);
    finished.densities = vec![density];
    Ok(finished)
}
