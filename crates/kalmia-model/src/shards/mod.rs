//! One fit on several workers: what they start from, what each of them learned, and the model of
//! all rows.
//!
//! ```text
//! sample -> Template ----> Shard (a worker, its rows) -> Part \
//!                    \---> Shard (a worker, its rows) -> Part  -> Part -> Template::model
//! ```
//!
//! A part is a pure function of the template and its rows, so a task that is lost or repeated
//! changes nothing. Parts merge in any order and in any tree, and are as large as one matrix,
//! however many rows or workers there are. The model of all parts is approximate unless the noise
//! is normal; [`crate::Polishing`] makes it exact.

mod any;
mod part;
mod shard;
mod template;

pub use any::{AnyMerged, AnyPart, AnyShard, AnyTemplate};
pub use part::PartOf;
pub use shard::ShardOf;
pub use template::{MergedOf, TemplateOf};

use crate::error::{Error, Result};
use kalmia::AnyLearner;
use kalmia::file::{ModelFile, Problem};
use kalmia::learner::AnyCategorical;
use kalmia::learner::{FeatureMap, FeatureTerm};
use kalmia_data::Encoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The template of numbers or of two labels.
pub type Template = TemplateOf<AnyLearner>;
/// The template of several classes.
pub type ClassTemplate = TemplateOf<AnyCategorical>;
/// A worker on numbers or two labels.
pub type Shard = ShardOf<AnyLearner>;
/// A worker on several classes.
pub type ClassShard = ShardOf<AnyCategorical>;
/// What workers have learned of numbers or two labels.
pub type Part = PartOf<AnyLearner>;
/// What workers have learned of several classes.
pub type ClassPart = PartOf<AnyCategorical>;
/// A merged model of numbers or of two labels.
pub type MergedModel = MergedOf<AnyLearner>;
/// A merged model of several classes.
pub type MergedClassModel = MergedOf<AnyCategorical>;

/// How the features of a whole follow from those of a part.
pub(crate) fn feature_map(part: &Encoder, whole: &Encoder) -> Result<FeatureMap> {
    let alignment = part.alignment(whole)?;
    let terms = |i: usize| {
        let terms = alignment.terms(i).iter();
        terms.map(|term| FeatureTerm { feature: term.feature, factor: term.factor }).collect()
    };
    let terms = (0..alignment.rows()).map(terms).collect();
    Ok(FeatureMap::new(alignment.part_dim(), terms)?)
}

/// Bytes in the container of model files.
pub(crate) fn bytes<T: Serialize>(kind: &str, value: &T) -> Result<Vec<u8>> {
    let file = ModelFile::new(kind, value, Default::default());
    Ok(file.map_err(|problem| problem.at("in memory"))?.to_bytes())
}

/// The value that [`bytes`] wrote.
pub(crate) fn from_bytes<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T> {
    let read = || ModelFile::from_bytes(bytes)?.state::<T>(kind);
    Ok(read().map_err(|problem: Problem| problem.at("in memory"))?)
}

/// The error of bytes that do not fit together.
pub(crate) fn damaged(message: String) -> Error {
    Problem::State { at: "shard".into(), message }.at("in memory").into()
}
