//! Wide encoders: when rows become sparse, and what their indices stand for.

use super::Encoder;
use super::encode::{Birth, New};
use crate::error::{Result, SettingProblem};
use crate::options::WideRows;
use crate::schema::{Kind, Meaning};
use crate::sparse::FIRST_UNNAMED;

/// Features of all kinds after the first block from which on rows are sparse under
/// [`WideRows::Auto`]. Numbers predict better with a full covariance while one is affordable.
const MAX_DENSE_FEATURES: usize = 5000;
/// Levels and libsvm indices among them: rows have few of them, and more will appear.
const MAX_DENSE_APPEARING: usize = 2000;
/// Levels after the first block that a category may have, however few rows there were.
const MAX_DENSE_LEVELS: usize = 256;
/// Rows per level, in the first block, of a category whose levels will not go on growing.
const MIN_ROWS_PER_LEVEL: usize = 4;

impl Encoder {
    /// Whether rows are sparse: [`crate::Block::sparse`] holds them.
    ///
    /// Under [`WideRows::Auto`] this is decided once, when the first block with rows is learned, or
    /// with the header if there are text columns or hash bits; false before.
    pub fn is_wide(&self) -> bool {
        match self.options.wide {
            WideRows::Never => false,
            WideRows::Auto => self.wide == Some(true),
            WideRows::Always => true,
        }
    }

    /// How many features are the intercept or the value of a number or boolean column. They come
    /// first in [`Encoder::features`], and every row has them; indicators of missing values and
    /// levels follow, in the order of their appearance.
    pub fn number_features(&self) -> usize {
        let number = |meaning: &Meaning| matches!(meaning, Meaning::Intercept | Meaning::Value);
        self.features.iter().take_while(|feature| number(&feature.meaning)).count()
    }

    /// The name of an index of a sparse row: that of a named feature, a libsvm index as decimal, or
    /// for a hash what was hashed there first, `column=word`; `#1234` if that is not known, because
    /// only the first 65 536 hashed features have names. An index that no row has is shown as its
    /// number in parentheses.
    ///
    /// ```
    /// use kalmia_data::{Encoder, EncoderOptions, FIRST_UNNAMED};
    ///
    /// let encoder = Encoder::new(EncoderOptions::target("y"));
    /// assert_eq!(encoder.feature_name(FIRST_UNNAMED + 1234), "#1234");
    /// ```
    pub fn feature_name(&self, index: u32) -> String {
        match (index.checked_sub(FIRST_UNNAMED), self.features.get(index as usize)) {
            (Some(key), _) if self.has_raw_keys() => key.to_string(),
            (Some(hash), _) => {
                self.hash_names.get(hash).map_or_else(|| format!("#{hash}"), String::from)
            }
            (None, Some(feature)) => feature.name.clone(),
            (None, None) => format!("({index})"),
        }
    }

    /// Whether indices of libsvm are passed on as they are.
    pub(super) fn has_raw_keys(&self) -> bool {
        self.sparse && self.options.hash_bits.is_none()
    }

    /// Whether a category has named levels.
    pub(super) fn has_named_levels(&self) -> bool {
        self.options.hash_bits.is_none()
    }

    fn has_text(&self) -> bool {
        self.columns.iter().any(|column| column.kind == Some(Kind::Text))
    }

    /// Refuses options of texts and hashes that cannot be used, before any row is read.
    pub(super) fn check_hashing(&self) -> Result<()> {
        self.options.hash()?;
        self.options.analyzer.checked()?;
        let what = match () {
            () if !self.options.text.is_empty() => "text columns",
            () if self.options.hash_bits.is_some() => "hash bits",
            () => return Ok(()),
        };
        match self.options.wide {
            WideRows::Never => Err(SettingProblem::NeedsWide { what }.into()),
            WideRows::Auto | WideRows::Always => Ok(()),
        }
    }

    /// Decides for sparse rows if the columns alone do.
    pub(super) fn decide_by_columns(&mut self) {
        let hashed = self.has_text() || self.options.hash_bits.is_some();
        if self.options.wide == WideRows::Auto && hashed {
            self.wide = Some(true);
        }
    }

    /// Whether the next block decides between sparse and dense rows.
    pub(super) fn is_undecided(&self) -> bool {
        self.options.wide == WideRows::Auto && self.wide.is_none()
    }

    /// Decides by the first block, whose `births` are not among the features yet. Sparse rows need
    /// no features for indices of libsvm, so these are removed.
    pub(super) fn decide_by_block(&mut self, births: &mut Vec<Birth>, rows: usize) {
        let most_levels =
            self.columns.iter().map(|column| column.levels.as_slice().len()).max().unwrap_or(0);
        let growing =
            most_levels > MAX_DENSE_LEVELS && most_levels.saturating_mul(MIN_ROWS_PER_LEVEL) > rows;
        let many = births.len() > MAX_DENSE_APPEARING
            || self.features.len() + births.len() > MAX_DENSE_FEATURES;
        self.wide = Some(many || growing);
        if self.is_wide() {
            births.retain(|birth| !matches!(birth.what, New::Index(_)));
        }
    }
}
