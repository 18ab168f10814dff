//! The options of an encoder: what the columns are for, and which features are hashed.

use serde::{Deserialize, Serialize};

use super::Missing;
use crate::error::Result;
use crate::hash::FeatureHash;
use crate::tokens::Analyzer;

/// What the columns are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncoderOptions {
    /// The column to predict; libsvm's is `label` and may be left out.
    pub target: Option<String>,
    /// The label of a two-valued target that counts as 1; by default the larger of the two as text.
    pub positive: Option<String>,
    /// A column of row weights, which multiply the loss.
    pub weight: Option<String>,
    /// A column added to each row's linear predictor.
    pub offset: Option<String>,
    /// The feature columns, in order; by default every column without another role.
    pub features: Option<Vec<String>>,
    /// Columns to leave out.
    pub exclude: Vec<String>,
    /// Columns read as categories even if they hold numbers or dates. Levels are the texts of the
    /// file; typed formats give numbers their shortest text (`1`, not `1.0`).
    pub categorical: Vec<String>,
    /// Whether the first feature is the constant 1.
    pub intercept: bool,
    /// What a missing value does.
    pub missing: Missing,
    /// Further texts that stand for a missing value, besides [`crate::MISSING`]. A text that is a
    /// number, such as `-999`, stands for every way to write that number. Stored with the encoder:
    /// rows that are read later have the same missing values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub na_values: Vec<String>,
    /// Most features accepted; each category level counts as one, hashed features do not count.
    pub max_features: usize,
    /// Columns read as text: each is cut into tokens, and a token is a hashed feature that is 1 if
    /// the row has it, however often. The hash is that of `column=token`. A text that is one of
    /// [`crate::MISSING`] is missing. A column that is also a category, excluded, or has another
    /// role is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// How texts are cut into tokens.
    #[serde(default, skip_serializing_if = "is_default")]
    pub analyzer: Analyzer,
    /// Bits of the hash, 1 to 30. If given, levels of categories (as `column=level`) and libsvm
    /// indices are hashed too, so that the encoder's memory is bounded; there is then no baseline
    /// level, and no level counts as unseen. Text is always hashed, by default with 18 bits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hash_bits: Option<u8>,
    /// Whether rows are sparse.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wide: WideRows,
    /// Whether the target's values are the names of classes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub classes: Classes,
    /// The levels of a target with [`Classes::Ordered`], the lowest first; by default the numbers
    /// of the first block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

/// Whether the target's values are the names of several classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Classes {
    /// A target of texts must have two values.
    #[default]
    Never,
    /// If the first block has three texts or more.
    Auto,
    /// Also for two values, and for numbers.
    Always,
    /// They are levels with an order: [`EncoderOptions::levels`], or numbers by size. Later rows
    /// bring no new ones.
    Ordered,
}

/// Whether blocks have sparse rows, [`crate::Block::sparse`], in place of dense ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WideRows {
    /// Dense rows. Text columns and hash bits are refused.
    #[default]
    Never,
    /// Decided once, before the first block with rows is written: sparse if there is a text column
    /// or hash bits, if that block leads to more than 2000 levels and libsvm indices or 5000
    /// features of all kinds, or if a category has more than 256 levels and a new one at least
    /// every fourth row.
    Auto,
    /// Sparse rows from the start.
    Always,
}

/// Bits of the hash of text columns, unless [`EncoderOptions::hash_bits`] says otherwise.
const DEFAULT_HASH_BITS: u8 = 18;

/// Options at their defaults are not stored, as in files of versions without them.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for EncoderOptions {
    fn default() -> Self {
        Self {
            target: None,
            positive: None,
            weight: None,
            offset: None,
            features: None,
            exclude: Vec::new(),
            categorical: Vec::new(),
            intercept: true,
            missing: Missing::Error,
            na_values: Vec::new(),
            max_features: 32_768,
            text: Vec::new(),
            analyzer: Analyzer::default(),
            hash_bits: None,
            wide: WideRows::Never,
            classes: Classes::Never,
            levels: Vec::new(),
        }
    }
}

impl EncoderOptions {
    /// The defaults, with a target.
    pub fn target(name: impl Into<String>) -> Self {
        Self { target: Some(name.into()), ..Self::default() }
    }

    /// The hash of tokens, levels and indices. Fails if its bits are out of range.
    pub(crate) fn hash(&self) -> Result<FeatureHash> {
        FeatureHash::new(self.hash_bits.unwrap_or(DEFAULT_HASH_BITS))
    }
}
