//! How the features of a united encoder follow from those of one of its parts.

use std::collections::HashMap;

use super::Encoder;
use super::agree::{Checked, FeatureKey, united_coding};
use crate::error::{Result, UnionProblem};
use crate::schema::Column;

/// One summand of a feature: a feature of the part, times a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The feature of the part.
    pub feature: usize,
    /// What it is multiplied by.
    pub factor: f64,
}

/// The matrix `N` with `x_whole = N x_part` on every row that the part learned, row by row, without
/// its zeros.
///
/// A numeric layer needs no more to carry what was learned of a part over to the whole. Made by
/// [`Encoder::alignment`].
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    terms: Vec<Term>,
    /// Where the terms of each feature of the whole end.
    ends: Vec<usize>,
    part_dim: usize,
}

impl Alignment {
    /// Features of the whole.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Features of the part.
    pub fn part_dim(&self) -> usize {
        self.part_dim
    }

    /// What feature `i` of the whole is made of; empty if it is 0 on every row of the part.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn terms(&self, i: usize) -> &[Term] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.terms[start..self.ends[i]]
    }

    /// Whether part and whole have the same features in the same order.
    pub fn is_identity(&self) -> bool {
        let same = |i| matches!(self.terms(i), [Term { feature, factor: 1.0 }] if *feature == i);
        self.rows() == self.part_dim && (0..self.rows()).all(same)
    }

    /// Whether every feature of the part is a feature of the whole, so that features only change
    /// their places and others are added. False if a category has another baseline in the whole.
    pub fn is_injection(&self) -> bool {
        let places = |i| matches!(self.terms(i), [] | [Term { factor: 1.0, .. }]);
        self.terms.len() == self.part_dim && (0..self.rows()).all(places)
    }

    /// Writes a row of the part as a row of the whole.
    ///
    /// # Panics
    /// If `part` is shorter than [`Alignment::part_dim`], or `whole` has another length than
    /// [`Alignment::rows`].
    pub fn apply(&self, part: &[f64], whole: &mut [f64]) {
        assert_eq!(whole.len(), self.rows(), "a row of the whole");
        for (i, value) in whole.iter_mut().enumerate() {
            *value = self.terms(i).iter().map(|term| term.factor * part[term.feature]).sum();
        }
    }
}

impl Encoder {
    /// How the features of `whole`, a union of this encoder and others, follow from those of this
    /// encoder on any row that it learned.
    ///
    /// A feature that both have is itself. A level that this encoder never saw is 0. A level that
    /// is the baseline here and not in the whole is the intercept minus the other levels that are
    /// known here and minus the indicator of missing values. A number that was missing keeps the
    /// mean that this encoder put in its place; the whole would put another.
    ///
    /// Rows that were encoded without learning are aligned too, unless they have a level that
    /// was new to this encoder: it was written as the baseline, and stays so.
    ///
    /// Refuses what [`Encoder::union`] refuses, and a whole that lacks a feature of this encoder.
    ///
    /// ```
    /// use kalmia_data::{Coding, Encoder, EncoderOptions, Kind, Term};
    ///
    /// let columns = [("x".into(), Kind::Number), ("town".into(), Kind::Category)];
    /// let options = EncoderOptions::target("y");
    /// let part = Encoder::from_columns(options, &columns, Coding::Number)?;
    /// let whole = Encoder::union(&[&part, &part])?;
    /// let alignment = part.alignment(&whole)?;
    /// assert!(alignment.is_identity());
    /// assert_eq!(alignment.terms(1), [Term { feature: 1, factor: 1.0 }]);
    /// # Ok::<(), kalmia_data::Error>(())
    /// ```
    pub fn alignment(&self, whole: &Encoder) -> Result<Alignment> {
        self.check_unitable()?;
        whole.check_unitable()?;
        self.check_same_columns(whole)?;
        self.check_same_target(whole)?;
        let places = self.places_in(&whole.columns)?;
        let unmoved: Vec<usize> = (0..whole.columns.len()).collect();
        let keys = self.feature_keys(&places);
        let whole_keys = whole.feature_keys(&unmoved);
        self.check_known(whole, &places, &keys, &whole_keys)?;

        let known: HashMap<FeatureKey, usize> =
            keys.into_iter().enumerate().map(|(i, key)| (key, i)).collect();
        let mut own_columns: Vec<&Column> = self.columns.iter().collect();
        for (column, &place) in self.columns.iter().zip(&places) {
            own_columns[place] = column;
        }
        let mut alignment = Alignment { terms: Vec::new(), ends: Vec::new(), part_dim: self.dim() };
        for key in whole_keys {
            match (known.get(&key), key) {
                (Some(&feature), _) => alignment.terms.push(Term { feature, factor: 1.0 }),
                (None, FeatureKey::Indicator { column, level: Some(level) })
                    if own_columns[column].baseline() == Some(level) =>
                {
                    alignment.terms.extend(baseline_terms(own_columns[column]));
                }
                (None, _) => {}
            }
            alignment.ends.push(alignment.terms.len());
        }
        Ok(alignment)
    }

    fn check_same_target(&self, whole: &Encoder) -> Checked<()> {
        let coding = |encoder: &Encoder| encoder.target.as_ref()?.coding.clone();
        if let (Some(target), Some(own), Some(other)) = (&self.target, coding(self), coding(whole))
        {
            united_coding(&target.name, &own, &other)?;
        }
        Ok(())
    }

    /// Refuses a whole that does not know every feature and every baseline, and one with another
    /// baseline if there is no intercept.
    fn check_known(
        &self,
        whole: &Encoder,
        places: &[usize],
        keys: &[FeatureKey],
        whole_keys: &[FeatureKey],
    ) -> Checked<()> {
        let known: std::collections::HashSet<&FeatureKey> = whole_keys.iter().collect();
        let is_known = |key: &FeatureKey| match *key {
            FeatureKey::Indicator { column, level: Some(level) } => {
                known.contains(key) || whole.columns[column].baseline() == Some(level)
            }
            _ => known.contains(key),
        };
        if let Some(strange) = keys.iter().position(|key| !is_known(key)) {
            let name = self.features[strange].name.clone();
            return Err(UnionProblem::NotInWhole { name });
        }
        for (column, &place) in self.columns.iter().zip(places) {
            let Some(baseline) = column.baseline() else { continue };
            if !is_known(&FeatureKey::Indicator { column: place, level: Some(baseline) }) {
                return Err(UnionProblem::NotInWhole { name: column.level_name(baseline) });
            }
            let other = whole.columns[place].baseline().unwrap_or_default();
            if other != baseline && !self.options.intercept {
                return Err(UnionProblem::Baseline {
                    column: column.name.clone(),
                    first: baseline.to_owned(),
                    other: other.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// The indicator of a column's baseline: the intercept, which is the first feature, minus all
/// other indicators of the column.
fn baseline_terms(column: &Column) -> impl Iterator<Item = Term> {
    let levels = column.levels.as_slice().iter().filter_map(|level| level.feature);
    let others = levels.chain(column.missing).map(|feature| Term { feature, factor: -1.0 });
    std::iter::once(Term { feature: 0, factor: 1.0 }).chain(others)
}
