//! What the command and the Python package keep in their model files.

use crate::learner::AnyState;
use serde::{Deserialize, Serialize};

/// The kind of a file that holds one [`Model`].
pub const MODEL: &str = "model";

/// The kind of a file that holds several, one a class; Python writes and reads it.
pub const MODEL_SET: &str = "model-set";

/// A model with all that goes on with it. The encoder `E`, the history `H`, the metrics `M` and the
/// settings `S` may be borrowed for writing, or be plain JSON where they are only carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model<E, H, M, S> {
    /// What the columns mean.
    pub encoder: E,
    /// Where the rows came from.
    pub history: H,
    /// What was learned.
    pub learner: AnyState,
    /// How good the predictions were.
    pub metrics: M,
    /// How it was asked for.
    pub settings: S,
}
