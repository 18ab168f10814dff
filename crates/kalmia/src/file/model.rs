//! The content of the model files that the command and the Python package write.

use crate::learner::AnyState;
use serde::{Deserialize, Serialize};

/// The kind of a file that holds one [`Model`].
pub const MODEL: &str = "model";

/// The kind of a file that holds several models, one per class; only Python writes and reads it.
pub const MODEL_SET: &str = "model-set";

/// A model with everything that a resumed fit needs. The encoder `E`, the history `H`, the metrics
/// `M` and the settings `S` can be borrowed for writing, or be plain JSON in programs that only
/// pass them on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model<E, H, M, S> {
    /// The meaning of the columns.
    pub encoder: E,
    /// The sources of the rows.
    pub history: H,
    /// The state of the learner.
    pub learner: AnyState,
    /// The quality of the predictions.
    pub metrics: M,
    /// The arguments of the fit.
    pub settings: S,
}
