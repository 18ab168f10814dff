//! Templates, workers and parts of numbers or of several classes, for callers that get bytes.

use super::{
    ClassPart, ClassShard, ClassTemplate, MergedClassModel, MergedModel, Part, Shard, Template,
};
use crate::any_model::AnyModel;
use crate::error::{Error, Result};
use crate::merging::MergeLearner;
use crate::polish::{PolishLearner, PolishPrior, Polishing};
use kalmia::Learner;
use kalmia::file::ModelFile;
use kalmia::learner::AnyCategorical;
use kalmia::learner::Heterogeneity;
use kalmia::sums::Polished;
use kalmia_data::{Block, Encoder};

/// A template of numbers or of several classes.
#[derive(Debug, Clone)]
pub enum AnyTemplate {
    /// Of numbers or of two labels.
    Numbers(Box<Template>),
    /// Of several classes.
    Classes(Box<ClassTemplate>),
}

/// A worker on numbers or on several classes.
#[derive(Debug)]
pub enum AnyShard {
    /// On numbers or two labels.
    Numbers(Box<Shard>),
    /// On several classes.
    Classes(Box<ClassShard>),
}

/// What workers have learned of numbers or of several classes.
#[derive(Debug, Clone)]
pub enum AnyPart {
    /// Of numbers or two labels.
    Numbers(Box<Part>),
    /// Of several classes.
    Classes(Box<ClassPart>),
}

impl AnyTemplate {
    /// As [`super::TemplateOf::new`]. Refuses several quantiles.
    pub fn new(sample: AnyModel) -> Result<Self> {
        Ok(match sample {
            AnyModel::Numbers(model) => Self::Numbers(Box::new(Template::new(*model)?)),
            AnyModel::Classes(model) => Self::Classes(Box::new(ClassTemplate::new(*model)?)),
            AnyModel::Quantiles(_) => {
                return Err(Error::NotMergeable { method: "auto of several quantiles".into() });
            }
        })
    }

    /// What the columns mean, as far as the sample shows it.
    pub fn encoder(&self) -> &Encoder {
        match self {
            Self::Numbers(template) => template.encoder(),
            Self::Classes(template) => template.encoder(),
        }
    }

    /// A worker without rows.
    pub fn shard(&self) -> Result<AnyShard> {
        Ok(match self {
            Self::Numbers(template) => AnyShard::Numbers(Box::new(Shard::new(template)?)),
            Self::Classes(template) => AnyShard::Classes(Box::new(ClassShard::new(template)?)),
        })
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Numbers(template) => template.to_bytes(),
            Self::Classes(template) => template.to_bytes(),
        }
    }

    /// The template of [`AnyTemplate::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(match is_kind(bytes, AnyCategorical::TEMPLATE)? {
            true => Self::Classes(Box::new(ClassTemplate::from_bytes(bytes)?)),
            false => Self::Numbers(Box::new(Template::from_bytes(bytes)?)),
        })
    }
}

impl AnyShard {
    /// What the columns mean; a reader encodes the blocks of this shard with it.
    pub fn encoder_mut(&mut self) -> &mut Encoder {
        match self {
            Self::Numbers(shard) => shard.encoder_mut(),
            Self::Classes(shard) => shard.encoder_mut(),
        }
    }

    /// As [`super::ShardOf::learn`].
    pub fn learn(&mut self, block: &Block) -> Result<()> {
        match self {
            Self::Numbers(shard) => shard.learn(block),
            Self::Classes(shard) => shard.learn(block),
        }
    }

    /// The model of this part alone.
    pub fn into_model(self) -> AnyModel {
        match self {
            Self::Numbers(shard) => AnyModel::Numbers(Box::new(shard.into_model())),
            Self::Classes(shard) => AnyModel::Classes(Box::new(shard.into_model())),
        }
    }

    /// What was learned, to be merged.
    pub fn part(&self) -> Result<AnyPart> {
        Ok(match self {
            Self::Numbers(shard) => AnyPart::Numbers(Box::new(shard.part()?)),
            Self::Classes(shard) => AnyPart::Classes(Box::new(shard.part()?)),
        })
    }
}

impl AnyPart {
    /// As [`super::PartOf::merge`]. Refuses a part of another kind of target.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Numbers(own), Self::Numbers(other)) => own.merge(other),
            (Self::Classes(own), Self::Classes(other)) => own.merge(other),
            _ => Err(other_target()),
        }
    }

    /// The bytes, to be shipped.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Numbers(part) => part.to_bytes(),
            Self::Classes(part) => part.to_bytes(),
        }
    }

    /// The part of [`AnyPart::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(match is_kind(bytes, AnyCategorical::PART)? {
            true => Self::Classes(Box::new(ClassPart::from_bytes(bytes)?)),
            false => Self::Numbers(Box::new(Part::from_bytes(bytes)?)),
        })
    }
}

/// A merged model of numbers or of several classes.
#[derive(Debug)]
pub enum AnyMerged {
    /// Of numbers or of two labels.
    Numbers(Box<MergedModel>),
    /// Of several classes.
    Classes(Box<MergedClassModel>),
}

impl AnyMerged {
    /// The model of all rows of a part. Refuses a part of another kind of target.
    pub fn new(template: &AnyTemplate, part: &AnyPart) -> Result<Self> {
        Ok(match (template, part) {
            (AnyTemplate::Numbers(template), AnyPart::Numbers(part)) => {
                Self::Numbers(Box::new(template.model(part)?))
            }
            (AnyTemplate::Classes(template), AnyPart::Classes(part)) => {
                Self::Classes(Box::new(template.model(part)?))
            }
            _ => return Err(other_target()),
        })
    }

    /// Rows learned.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Numbers(merged) => merged.model.learner.count(),
            Self::Classes(merged) => merged.model.learner.count(),
        }
    }

    /// How many parts had rows.
    pub fn shards(&self) -> u64 {
        match self {
            Self::Numbers(merged) => merged.shards,
            Self::Classes(merged) => merged.shards,
        }
    }

    /// Whether it is, to rounding, the model that one pass over all rows gives.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Numbers(merged) => merged.exact,
            Self::Classes(merged) => merged.exact,
        }
    }

    /// Whether the parts agree.
    pub fn heterogeneity(&self) -> Heterogeneity {
        match self {
            Self::Numbers(merged) => merged.heterogeneity,
            Self::Classes(merged) => merged.heterogeneity,
        }
    }

    /// Whether it can be polished.
    pub fn has_polish(&self) -> bool {
        match self {
            Self::Numbers(merged) => merged.model.learner.has_polish(),
            Self::Classes(merged) => merged.model.learner.has_polish(),
        }
    }

    /// The start of its polish.
    pub fn polishing(&self, prior: PolishPrior, robust: bool) -> Result<Polishing> {
        match self {
            Self::Numbers(merged) => Polishing::new(&merged.model, prior, robust),
            Self::Classes(merged) => Polishing::new(&merged.model, prior, robust),
        }
    }

    /// The model with polished coefficients.
    pub fn polished(&self, polishing: &Polishing, polished: &Polished) -> Result<AnyModel> {
        Ok(match self {
            Self::Numbers(merged) => {
                AnyModel::Numbers(Box::new(polishing.apply(merged.model.clone(), polished)?))
            }
            Self::Classes(merged) => {
                AnyModel::Classes(Box::new(polishing.apply(merged.model.clone(), polished)?))
            }
        })
    }

    /// The model as it was merged.
    pub fn model(&self) -> AnyModel {
        match self {
            Self::Numbers(merged) => AnyModel::Numbers(Box::new(merged.model.clone())),
            Self::Classes(merged) => AnyModel::Classes(Box::new(merged.model.clone())),
        }
    }
}

/// Whether bytes are of a kind.
fn is_kind(bytes: &[u8], kind: &str) -> Result<bool> {
    let file = ModelFile::from_bytes(bytes).map_err(|problem| problem.at("in memory"))?;
    Ok(file.kind() == kind)
}

fn other_target() -> Error {
    let [one, two] = ["numbers or labels", "several classes"].map(str::to_owned);
    Error::UnlikeModels { number: 2, what: "targets", one, two }
}
