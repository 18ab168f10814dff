//! One pass of a polish: what a worker needs, and the sums over its rows.

use crate::error::{Result, RowError};
use crate::model::{rows_of, sparse_rows_of};
use crate::shards::{bytes, damaged, from_bytes};
use crate::weights::{WeightKind, Weights};
use kalmia::file::ModelFile;
use kalmia::sums::{ClassSums, ClassSumsState, Next, Polish, Sums, SumsState};
use kalmia::{AnyFamily, Rows};
use kalmia_data::{Block, Encoder};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What the targets follow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// A family, given the linear predictor.
    Family(AnyFamily),
    /// The softmax of so many classes.
    Classes(usize),
}

/// One pass of a polish: what a worker needs to sum over its rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SumsPass {
    pub(super) encoder: Encoder,
    pub(super) law: Law,
    pub(super) theta: Vec<f64>,
    pub(super) robust: bool,
    pub(super) weight_kind: WeightKind,
    pub(super) weights: Weights,
}

/// The kind of the bytes of a [`SumsPass`].
const PASS: &str = "sums-pass";
/// The kinds of the bytes of sums.
const SUMS: &str = "sums";
const CLASS_SUMS: &str = "class-sums";

impl SumsPass {
    /// What the columns mean. A reader encodes rows with a copy of it, in
    /// [`kalmia_data::Mode::Evaluate`].
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Empty sums.
    pub fn sums(&self) -> Result<PassSums> {
        Ok(match self.law {
            Law::Family(family) => {
                let sums = Sums::new(family, &self.theta)?;
                PassSums::Numbers(if self.robust { sums.with_scores()? } else { sums })
            }
            Law::Classes(classes) => {
                let sums = ClassSums::new(classes, &self.theta)?;
                PassSums::Classes(if self.robust { sums.with_scores()? } else { sums })
            }
        })
    }

    /// The weights of rows as the sums take them: precision weights are divided by the mean over
    /// all rows, which is known by now.
    pub fn scaled_weights<'a>(&self, given: &'a [f64]) -> Cow<'a, [f64]> {
        match (self.weight_kind, self.weights.mean()) {
            (WeightKind::Precision, Some(mean)) => {
                given.iter().map(|weight| weight / mean).collect()
            }
            _ => Cow::Borrowed(given),
        }
    }

    /// Adds a block that a copy of [`SumsPass::encoder`] encoded, its targets included. An error
    /// names the row.
    pub fn add(&self, block: &Block, sums: &mut PassSums) -> Result<()> {
        let weight = block.weight.as_ref().map(|given| self.scaled_weights(given));
        let weight = weight.as_deref();
        let added = match (&block.sparse, &mut *sums) {
            (Some(sparse), PassSums::Numbers(sums)) => {
                sparse_rows_of(sparse, block, weight).and_then(|rows| sums.add_sparse(rows))
            }
            // the columns of several classes are dense
            _ => rows_of(block, weight).and_then(|rows| sums.add(rows)),
        };
        added.map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The name of a coefficient; of several classes, with that of the class.
    pub(super) fn coefficient_name(&self, at: usize) -> String {
        let features = self.encoder.features();
        let dim = features.len().max(1);
        let name = features.get(at % dim).map_or("", |feature| &feature.name);
        let classes = self.encoder.target().and_then(|target| target.classes());
        match classes.and_then(|names| names.as_slice().get(1 + at / dim)) {
            Some(class) => format!("{class}: {name}"),
            None => name.to_owned(),
        }
    }

    /// The bytes, to be shipped to workers.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes(PASS, self)
    }

    /// The pass of [`SumsPass::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let pass: Self = from_bytes(PASS, bytes)?;
        pass.encoder.check().map_err(damaged)?;
        pass.weights.check().map_err(damaged)?;
        let models = match pass.law {
            Law::Family(_) => 1,
            Law::Classes(classes) => classes.saturating_sub(1),
        };
        match pass.encoder.dim().checked_mul(models) == Some(pass.theta.len()) {
            true => Ok(pass),
            false => Err(damaged("the coefficients are not those of the columns".into())),
        }
    }
}

/// The sums of a pass.
#[derive(Debug, Clone)]
pub enum PassSums {
    /// Over rows of numbers or of two labels.
    Numbers(Sums<AnyFamily>),
    /// Over rows of several classes.
    Classes(ClassSums),
}

impl PassSums {
    /// With at most this many cores; 0 counts as 1.
    pub fn with_threads(self, threads: usize) -> Self {
        match self {
            Self::Numbers(sums) => Self::Numbers(sums.with_threads(threads)),
            Self::Classes(sums) => Self::Classes(sums.with_threads(threads)),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Numbers(sums) => sums.rows(),
            Self::Classes(sums) => sums.rows(),
        }
    }

    /// Adds dense rows.
    pub fn add(&mut self, rows: Rows<'_>) -> kalmia::Result<()> {
        match self {
            Self::Numbers(sums) => sums.add(rows),
            Self::Classes(sums) => sums.add(rows),
        }
    }

    /// Adds the sums over other rows. Refuses those of another model or of other coefficients.
    pub fn merge(&mut self, other: &Self) -> kalmia::Result<()> {
        match (self, other) {
            (Self::Numbers(sums), Self::Numbers(other)) => sums.merge(other).map(|_| ()),
            (Self::Classes(sums), Self::Classes(other)) => sums.merge(other).map(|_| ()),
            _ => Err(kalmia::Error::State(
                "the sums are of classes and of numbers; only sums of one model can be merged"
                    .into(),
            )),
        }
    }

    /// The next step of Newton's method.
    pub(super) fn step(&self, newton: &mut Polish) -> kalmia::Result<Next> {
        match self {
            Self::Numbers(sums) => newton.step(sums),
            Self::Classes(sums) => newton.step_classes(sums),
        }
    }
}

/// Sums as bytes, to be shipped from workers.
pub fn sums_to_bytes(sums: &PassSums) -> Result<Vec<u8>> {
    match sums {
        PassSums::Numbers(sums) => bytes(SUMS, &sums.state()),
        PassSums::Classes(sums) => bytes(CLASS_SUMS, &sums.state()),
    }
}

/// The sums of [`sums_to_bytes`]. Refuses anything else.
pub fn sums_from_bytes(bytes: &[u8]) -> Result<PassSums> {
    let file = ModelFile::from_bytes(bytes).map_err(|problem| problem.at("in memory"))?;
    if file.kind() == CLASS_SUMS {
        let state = from_bytes::<ClassSumsState>(CLASS_SUMS, bytes)?;
        return Ok(PassSums::Classes(ClassSums::restore(state)?));
    }
    let state = from_bytes::<SumsState<AnyFamily>>(SUMS, bytes)?;
    Ok(PassSums::Numbers(Sums::restore(state)?))
}
