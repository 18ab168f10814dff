//! The encoder: which columns are used for what, everything learned of them, and the way from a
//! batch to a block.

mod agree;
mod alignment;
mod check;
mod choose;
mod encode;
mod place;
mod place_wide;
mod undo;
mod union;
mod wide;

pub use alignment::{Alignment, Term};
pub(crate) use choose::no_column;
pub use undo::EncoderMark;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Result, SettingProblem};
use crate::hash_names::HashNames;
use crate::looks::Remark;
use crate::options::{EncoderOptions, Missing};
use crate::schema::{Column, Feature, Keys, Kind};
use crate::target::{Coding, Target};

/// The name of the constant feature.
pub const INTERCEPT: &str = "(intercept)";

/// What the encoder has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Data rows read.
    pub rows: u64,
    /// Rows left out because a value was missing.
    pub skipped: u64,
    /// Missing values replaced.
    pub imputed: u64,
    /// Values of a level, or entries of a libsvm index, that the schema does not know (not in
    /// [`crate::Mode::Learn`]).
    pub unseen: u64,
    /// JSON members that no column of the schema takes.
    pub unknown_members: u64,
}

impl Counts {
    /// The counts of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            skipped: self.skipped + other.skipped,
            imputed: self.imputed + other.imputed,
            unseen: self.unseen + other.unseen,
            unknown_members: self.unknown_members + other.unknown_members,
        }
    }

    /// What was counted since `earlier`; `None` if that is more than was counted at all.
    fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            rows: self.rows.checked_sub(earlier.rows)?,
            skipped: self.skipped.checked_sub(earlier.skipped)?,
            imputed: self.imputed.checked_sub(earlier.imputed)?,
            unseen: self.unseen.checked_sub(earlier.unseen)?,
            unknown_members: self.unknown_members.checked_sub(earlier.unknown_members)?,
        })
    }
}

/// Turns rows into features. It is plain data: stored and restored, it continues exactly as if it
/// had never stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    options: EncoderOptions,
    columns: Vec<Column>,
    target: Option<Target>,
    features: Vec<Feature>,
    pub(crate) sparse: bool,
    keys: Keys,
    /// Of text columns and hashed levels.
    #[serde(default, skip_serializing_if = "HashNames::is_empty")]
    hash_names: HashNames,
    counts: Counts,
    /// Whether the header was seen; columns and target are then chosen.
    chosen: bool,
    /// Whether the kinds of the columns are known.
    settled: bool,
    /// Whether rows are sparse, once [`crate::WideRows::Auto`] has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wide: Option<bool>,
    /// What a missing value does in this process, if not what the options say; never stored.
    #[serde(skip)]
    missing: Option<Missing>,
    /// Whether the labels of the target are coded after all rows were read; never stored.
    #[serde(skip)]
    defers_labels: bool,
    /// Columns of the first block that look like something else; never stored.
    #[serde(skip)]
    pub(crate) remarks: Vec<Remark>,
}

impl Encoder {
    /// An encoder that has seen nothing: columns come from the first header, their kinds from the
    /// first block.
    pub fn new(options: EncoderOptions) -> Self {
        Self {
            options,
            columns: Vec::new(),
            target: None,
            features: Vec::new(),
            sparse: false,
            keys: Keys::default(),
            hash_names: HashNames::default(),
            counts: Counts::default(),
            chosen: false,
            settled: false,
            wide: None,
            missing: None,
            defers_labels: false,
            remarks: Vec::new(),
        }
    }

    /// The feature columns that look like something else than they are read as, for a caller to
    /// report; empty unless the kinds were inferred in this process.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// An encoder for columns whose names and kinds are known, without reading any data.
    ///
    /// Use it if rows come as numbers and only the schema of a model file is wanted. The target's
    /// values so far are taken to be 0 and 1. A category starts without levels. A text column needs
    /// [`crate::WideRows::Auto`] or `Always`. Labels in `coding` set `options.positive`.
    ///
    /// Fails if a column is declared twice, or if the labels are equal or stand for missing values.
    ///
    /// ```
    /// use kalmia_data::{Coding, Encoder, EncoderOptions, Kind};
    ///
    /// let columns = [("age".into(), Kind::Number), ("town".into(), Kind::Category)];
    /// let options = EncoderOptions::target("cured");
    /// let encoder = Encoder::from_columns(options, &columns, Coding::Boolean)?;
    /// let names: Vec<_> = encoder.features().iter().map(|feature| &*feature.name).collect();
    /// assert_eq!(names, ["(intercept)", "age"]);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn from_columns(
        mut options: EncoderOptions,
        columns: &[(String, Kind)],
        coding: Coding,
    ) -> Result<Self> {
        let coding = coding.checked()?;
        if let Coding::Labels { positive, .. } = &coding {
            options.positive = Some(positive.clone());
        }
        let mut names: Vec<String> = columns.iter().map(|c| c.0.trim().to_owned()).collect();
        let roles = [&options.target, &options.weight, &options.offset].into_iter().flatten();
        names.extend(roles.cloned());
        crate::source::check_names(DECLARED, &mut names)?;
        let kinds: HashMap<String, Kind> =
            names.iter().cloned().zip(columns.iter().map(|column| column.1)).collect();
        for name in &names {
            let list = match kinds.get(name) {
                Some(Kind::Category) => &mut options.categorical,
                Some(Kind::Text) => &mut options.text,
                Some(Kind::Number | Kind::Boolean) | None => continue,
            };
            if !list.contains(name) {
                list.push(name.clone());
            }
        }

        let mut encoder = Self::new(options);
        encoder.choose(DECLARED, &names, false)?;
        for column in &mut encoder.columns {
            column.kind = column.kind.or(kinds.get(&column.name).copied());
        }
        if let Some(target) = &mut encoder.target {
            target.declare(coding);
        }
        encoder.add_features();
        Ok(encoder)
    }

    /// What the columns are for, as given.
    pub fn options(&self) -> &EncoderOptions {
        &self.options
    }

    /// The features, in the order of the rows' coordinates; empty before the first block.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The places of all features, those of a column side by side: a table for people is easier to
    /// read in this order. Numbers come first, then categories, each in the order of the columns.
    /// In the rows, a level stands where it first appeared, behind earlier levels of other columns.
    ///
    /// ```
    /// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
    ///
    /// let rows = Input::memory("t.csv", *b"a,b,y\nk,m,1\nk,n,2\no,m,3\nl,p,4\n");
    /// let mut encoder = Encoder::new(EncoderOptions::target("y"));
    /// let mut reader =
    ///     Reader::open(vec![rows], SourceOptions::default(), &mut encoder, Mode::Learn)?;
    /// reader.next_block(&mut encoder, &mut Block::new())?;
    /// let names: Vec<_> = encoder.features().iter().map(|feature| &*feature.name).collect();
    /// assert_eq!(names, ["(intercept)", "b=n", "a=o", "a=l", "b=p"]);
    /// assert_eq!(encoder.features_by_column(), [0, 2, 3, 1, 4]);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn features_by_column(&self) -> Vec<usize> {
        let group = |place: &usize| match self.features[*place].column {
            Some(column) => match self.columns[column].feature {
                Some(number) => number,
                None => self.features.len() + column,
            },
            None => *place,
        };
        let mut places: Vec<usize> = (0..self.features.len()).collect();
        places.sort_by_key(group);
        places
    }

    /// Number of features so far.
    pub fn dim(&self) -> usize {
        self.features.len()
    }

    /// The feature columns, in the order given.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The target, once a header was seen.
    pub fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Whether a column, whatever its role, holds numbers as far as is known.
    pub fn is_number(&self, name: &str) -> bool {
        let number = |column: &Column| column.name == name && column.kind == Some(Kind::Number);
        let target = |t: &Target| t.name == name && t.coding == Some(Coding::Number);
        let mut roles = [&self.options.weight, &self.options.offset].into_iter().flatten();
        self.columns.iter().any(number)
            || self.target.as_ref().is_some_and(target)
            || roles.any(|role| role == name)
    }

    /// Rows read, rows left out, and so on, over the encoder's whole life.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the kinds of the columns are known: after the first block, or by
    /// [`Encoder::from_columns`].
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Sets the counts to zero, for example before predicting with a stored encoder.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// What a missing value does.
    pub(crate) fn missing(&self) -> Missing {
        self.missing.unwrap_or(self.options.missing)
    }

    /// Codes the target otherwise than so far, for a caller that codes targets itself. Refuses
    /// labels that rows could not have.
    pub fn declare_target(&mut self, coding: Coding) -> Result<()> {
        let coding = coding.checked()?;
        self.options.positive = match &coding {
            Coding::Labels { positive, .. } => Some(positive.clone()),
            Coding::Number | Coding::Boolean | Coding::Classes { .. } | Coding::Levels { .. } => {
                None
            }
        };
        if let Some(target) = &mut self.target {
            target.declare(coding);
        }
        Ok(())
    }

    /// Codes the texts of the target by all rows, not by the first block: for a caller that reads
    /// all rows before it uses one, such as [`crate::Shuffle`]. Call it before the first block, and
    /// [`Encoder::settle_labels`] after the last. Targets are coded provisionally until then.
    pub fn defer_labels(&mut self) {
        self.defers_labels = true;
    }

    /// Codes the texts of the target, now that all rows were read. Returns the code in place of
    /// each provisional one, or `None` if all codes stay.
    ///
    /// Fails if the rows show no coding: a single label, or ordered levels that are texts. `file`
    /// is the input that the error names.
    pub fn settle_labels(&mut self, file: &str) -> Result<Option<Vec<f64>>> {
        self.defers_labels = false;
        match &mut self.target {
            Some(target) => target.settle(&self.options, file),
            None => Ok(None),
        }
    }

    /// Treats missing values otherwise than the options say, until the encoder is stored.
    ///
    /// [`Missing::Mean`] is refused unless the options have it: no means were kept otherwise.
    pub fn set_missing(&mut self, missing: Missing) -> Result<()> {
        if missing == Missing::Mean && self.options.missing != Missing::Mean {
            return Err(SettingProblem::NoMeans.into());
        }
        self.missing = Some(missing);
        Ok(())
    }
}

/// What stands for the file in the errors of [`Encoder::from_columns`].
const DECLARED: &str = "the declared columns";
