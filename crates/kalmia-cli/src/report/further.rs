//! What shards and further passes did, in the summary of a fit.

use super::heterogeneity_note;
use crate::format::{counted, number};
use crate::learn::ShardedFit;
use kalmia::learner::Heterogeneity;
use kalmia::sums::Polished;
use kalmia_model::MergeLearner;
use serde::Serialize;

/// What a fit did beside one pass.
#[derive(Debug, Default, Serialize)]
pub struct FitPasses {
    /// The shards, if there were several.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// The passes after the first.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherPasses>,
}

impl FitPasses {
    /// What to say about shards that disagree.
    pub fn note(&self) -> Option<String> {
        let shards = self.shards.as_ref()?;
        heterogeneity_note("shards", &shards.heterogeneity)
    }

    /// A line for each.
    pub fn text(&self) -> String {
        let lines = [
            self.shards.as_ref().map(Shards::text),
            self.further.as_ref().map(FurtherPasses::text),
        ];
        lines.into_iter().flatten().map(|line| line + "\n").collect()
    }
}

/// What the shards of a fit were.
#[derive(Debug, Serialize)]
pub struct Shards {
    shards: u64,
    heterogeneity: Heterogeneity,
}

impl Shards {
    /// Of a fit.
    pub fn new<L: MergeLearner>(fit: &ShardedFit<L>) -> Self {
        Self { shards: fit.shards, heterogeneity: fit.heterogeneity }
    }

    fn text(&self) -> String {
        let Heterogeneity { q, degrees, p_value } = self.heterogeneity;
        let agreement = match degrees {
            0 => String::new(),
            _ => format!(
                "; Q = {} on {degrees} degrees of freedom, p = {}",
                number(q),
                number(p_value)
            ),
        };
        format!(
            "learned in {} at the same time and merged{agreement}",
            counted(self.shards, "shard")
        )
    }
}

/// What the passes after the first did.
#[derive(Debug, Serialize)]
pub struct FurtherPasses {
    polish_passes: usize,
    /// How far the last step moved, in standard errors.
    moved: f64,
    moved_most: f64,
}

impl FurtherPasses {
    /// Of so many passes, by the last step.
    pub fn new(passes: usize, polished: &Polished) -> Self {
        let moved = polished.moved();
        Self { polish_passes: passes, moved: moved.rms, moved_most: moved.max }
    }

    fn text(&self) -> String {
        let passes = match self.polish_passes {
            1 => "one more pass".into(),
            passes => format!("{passes} more passes"),
        };
        format!(
            "polished by {passes}; the last step moved {} standard errors (at most {})",
            number(self.moved),
            number(self.moved_most)
        )
    }
}
