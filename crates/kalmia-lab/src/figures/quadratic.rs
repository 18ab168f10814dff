//! The figure `quadratic`: linear regression, where the filter is ridge regression row by row.

use super::{BANDS, Finished, mse, run_all, sample};
use crate::error::Result;
use crate::experiment::Experiment;
use crate::settings::{Figure, Settings};
use crate::workers::Workers;

const PAPER: &str = "“Kalman Filter in constant dynamics is exactly ridge regression with a \
    varying regularization parameter” (Proposition 5). The paper has no experiment with it; \
    Theorem 14 bounds its risk, also with an approximation error D_app.";

pub(super) fn figure(settings: &Settings, workers: &Workers) -> Result<Finished> {
    let length = settings.length();
    let experiments = ["quadratic", "quadratic_bent"]
        .map(Experiment::of_the_paper)
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let panels = run_all(Figure::Quadratic, &experiments, length, workers)?;
    let caption = |what: &str| {
        format!(
            "Mean squared error for y = θᵀx + {what}, θ = θ*/10, P₁ = I, {}, {BANDS}.",
            sample(length)
        )
    };
    let pictures = vec![
        mse::picture(&panels[0], caption("N(0, 1)"), 1),
        mse::picture(&panels[1], caption("2 cos(2πx₁) + N(0, 1), so that D_app = 2"), 1),
    ];
    Ok(Finished { paper: PAPER.into(), pictures, panels, ..Finished::default() })
}
