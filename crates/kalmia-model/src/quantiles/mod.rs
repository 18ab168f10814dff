//! Models of several quantiles of one target: how one is made, what it predicts and what its
//! coefficients say.

mod learner;
mod levels;
mod summary;

pub(crate) use levels::{levels_text, parse_levels};
pub use summary::{QuantileLevel, QuantileLevelScores, QuantileScores, QuantileSummary};

use crate::coefficients::{Coefficient, auto_coefficients};
use crate::error::{Error, Result, RowError};
use crate::history::History;
use crate::memory::check_memory;
use crate::method::Algorithm;
use crate::model::{ModelOf, QuantileModel, inputs_of};
use crate::settings::Settings;
use crate::weights::Weights;
use kalmia::Outliers;
use kalmia::evaluate::QuantileMetrics;
use kalmia::file::Metadata;
use kalmia::learner::Quantiles;
use kalmia_data::{Block, Encoder};

impl QuantileModel {
    /// A model that has learned nothing, of the levels that `settings.family` names and for the
    /// columns that `encoder` knows. Refuses methods other than auto, and sparse columns.
    pub fn new(settings: Settings, encoder: Encoder) -> Result<Self> {
        settings.check()?;
        let refuse = |problem: String| Err(Error::Quantiles { problem });
        let Some(levels) = settings.family.quantiles() else {
            return refuse("need a family such as quantile:0.1,0.9".into());
        };
        let Algorithm::Auto { drift, outliers } = settings.method.algorithm else {
            return refuse(format!("are learned by auto, not by {}", settings.method.name()));
        };
        if outliers != Outliers::Keep {
            return refuse("are hardly moved by outliers: leave the option out".into());
        }
        if settings.conformal {
            return refuse(
                "have no conformal intervals: two levels hold the targets between them".into(),
            );
        }
        if settings.method.averaged {
            return refuse("are learned by auto as it is, not averaged".into());
        }
        if encoder.is_wide() {
            return refuse(
                "are learned from columns of numbers and categories, not from text, hashed \
                 features or very many levels; leave such columns out"
                    .into(),
            );
        }
        let builder = |dim: usize| {
            let intercept = encoder.options().intercept;
            Quantiles::builder(levels, dim).with_intercept(intercept).drift(drift).build()
        };
        check_memory(&builder(1)?, encoder.dim())?;
        let learner = builder(encoder.dim())?;
        Ok(ModelOf {
            metrics: QuantileMetrics::new(&learner.levels())?,
            learner,
            encoder,
            settings,
            weights: Weights::default(),
            history: History::default(),
            metadata: Metadata::default(),
        })
    }

    /// Calls `take(i, quantiles)` with the quantiles of the target, by level in ascending order and
    /// never crossing, for each row of a block. Targets are not used. An error names the row in the
    /// data.
    pub fn predict_quantiles(
        &self,
        block: &Block,
        take: &mut dyn FnMut(usize, &[f64]) -> kalmia::Result<()>,
    ) -> Result<()> {
        let mut predict = || match block.dim {
            // without features there is no telling how many rows there are
            0 => (0..block.rows()).try_for_each(|i| {
                let offset = block.offset.as_ref().map_or(0.0, |offset| offset[i]);
                take(i, &self.learner.predict(&[], offset)?)
            }),
            _ => self.learner.predict_many(inputs_of(block)?, take),
        };
        predict().map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The coefficients of each level in the order of the features, with intervals of probability
    /// `level`.
    pub fn quantile_coefficients(&self, level: f64) -> Result<Vec<Vec<Coefficient>>> {
        let names = || self.encoder.features().iter().map(|feature| feature.name.as_str());
        let one = |learner| auto_coefficients(learner, names(), level);
        self.learner.learners().iter().map(one).collect()
    }
}
