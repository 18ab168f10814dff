//! A learner of several classes whose kind is chosen at run time, and its state.

use super::{
    Categorical, CategoricalState, ClassObserver, ContrastTable, Ordinal, OrdinalState,
    WideCategorical, WideCategoricalState,
};
use crate::error::{Error, Result};
use crate::rows::{Inputs, Rows};
use crate::sparse::{SparseInputs, SparseRows};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A learner of several classes for dense or for sparse rows, or of ordered levels, chosen at run
/// time.
///
/// ```
/// use kalmia::learner::{AnyCategorical, Categorical, Ordinal, WideCategorical};
///
/// let dense = AnyCategorical::from(Categorical::builder(3, 2).build()?);
/// let wide = AnyCategorical::from(WideCategorical::builder(3).build()?);
/// assert_eq!((dense.method(), wide.method()), ("auto", "wide"));
/// let levels = AnyCategorical::from(Ordinal::builder(3, 2).build()?);
/// assert!(levels.ordinal().is_some() && levels.dense().is_none());
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyCategorical {
    /// Of dense rows, with a covariance of all features per class.
    Dense(Box<Categorical>),
    /// Of sparse and wide rows.
    Wide(Box<WideCategorical>),
    /// Of ordered levels, with a covariance of all features and cutpoints.
    Ordinal(Box<Ordinal>),
}

/// The state of an [`AnyCategorical`]; that of a [`Categorical`] is one as well.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)] // one at a time, on its way to or from a file
pub enum AnyCategoricalState {
    /// Of dense rows.
    Dense(CategoricalState),
    /// Of sparse and wide rows.
    Wide(WideCategoricalState),
    /// Of ordered levels.
    Ordinal(OrdinalState),
}

impl<'de> Deserialize<'de> for AnyCategoricalState {
    /// Not derived: an error of an untagged enum does not say what is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(StateVisitor)
    }
}

/// The first key of the state of sparse rows, in the order of its fields and of their names.
const WIDE_KEY: &str = "beliefs";
/// The same of ordered levels.
const ORDINAL_KEY: &str = "begins_with_constant";

/// Reads a state by its first key.
struct StateVisitor;

impl<'de> Visitor<'de> for StateVisitor {
    type Value = AnyCategoricalState;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the state of a learner of several classes")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        let first: Option<String> = map.next_key()?;
        let is_wide = first.as_deref() == Some(WIDE_KEY);
        let is_ordinal = first.as_deref() == Some(ORDINAL_KEY);
        let whole = MapAccessDeserializer::new(Replayed { first, rest: map });
        if is_ordinal {
            return Deserialize::deserialize(whole).map(AnyCategoricalState::Ordinal);
        }
        match is_wide {
            true => Deserialize::deserialize(whole).map(AnyCategoricalState::Wide),
            false => Deserialize::deserialize(whole).map(AnyCategoricalState::Dense),
        }
    }
}

/// A map whose first key was read already.
struct Replayed<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Replayed<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> std::result::Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

impl From<Categorical> for AnyCategorical {
    fn from(learner: Categorical) -> Self {
        Self::Dense(Box::new(learner))
    }
}

impl From<WideCategorical> for AnyCategorical {
    fn from(learner: WideCategorical) -> Self {
        Self::Wide(Box::new(learner))
    }
}

impl From<Ordinal> for AnyCategorical {
    fn from(learner: Ordinal) -> Self {
        Self::Ordinal(Box::new(learner))
    }
}

macro_rules! each {
    ($any:expr, $inner:ident => $body:expr) => {
        match $any {
            AnyCategorical::Dense($inner) => $body,
            AnyCategorical::Wide($inner) => $body,
            AnyCategorical::Ordinal($inner) => $body,
        }
    };
}

impl AnyCategorical {
    /// The learner of dense rows and classes without an order, if it is one.
    pub fn dense(&self) -> Option<&Categorical> {
        match self {
            Self::Dense(dense) => Some(dense),
            Self::Wide(_) | Self::Ordinal(_) => None,
        }
    }

    /// The learner of sparse rows, if it is one.
    pub fn wide(&self) -> Option<&WideCategorical> {
        match self {
            Self::Dense(_) | Self::Ordinal(_) => None,
            Self::Wide(wide) => Some(wide),
        }
    }

    /// The learner of ordered levels, if it is one.
    pub fn ordinal(&self) -> Option<&Ordinal> {
        match self {
            Self::Dense(_) | Self::Wide(_) => None,
            Self::Ordinal(ordinal) => Some(ordinal),
        }
    }

    /// Features of a dense row; `None` for a learner of sparse rows.
    pub fn dense_dim(&self) -> Option<usize> {
        match self {
            Self::Dense(dense) => Some(dense.dim()),
            Self::Wide(_) => None,
            Self::Ordinal(ordinal) => Some(ordinal.dim()),
        }
    }

    /// The method's name.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Dense(_) | Self::Ordinal(_) => "auto",
            Self::Wide(_) => "wide",
        }
    }

    /// Number of classes or levels.
    pub fn classes(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.classes(),
            Self::Wide(wide) => wide.classes(),
            Self::Ordinal(ordinal) => ordinal.levels(),
        }
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        each!(self, inner => inner.dim())
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        each!(self, inner => inner.count())
    }

    /// Rows that the learner still holds, and so does its stored state: some of the first ones.
    pub fn kept_rows(&self) -> usize {
        each!(self, inner => inner.kept_rows())
    }

    /// Bytes that the learner takes with so many features, at most.
    pub fn memory(&self, dim: usize) -> usize {
        each!(self, inner => inner.memory(dim))
    }

    /// Refuses if the allocator has no room for a copy beside the learner.
    pub fn require_copy(&self) -> Result<()> {
        each!(self, inner => inner.require_copy())
    }

    /// Appends a feature that was zero in every row so far. Learners of sparse rows take new
    /// features from the rows.
    pub fn grow(&mut self) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.grow(),
            Self::Ordinal(ordinal) => ordinal.grow(),
            Self::Wide(_) => Err(Error::State(
                "a wide learner takes new features by itself, from the rows".into(),
            )),
        }
    }

    /// Appends a class that no row had so far. Ordered levels refuse it.
    pub fn grow_class(&mut self) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.grow_class(),
            Self::Wide(wide) => wide.grow_class(),
            Self::Ordinal(_) => Err(Error::State(
                "ordered levels take no new one, whose place is not known; start again with all \
                 levels"
                    .into(),
            )),
        }
    }

    /// Learns dense rows in order; new classes are added before their first row, to at most
    /// `limit`. Ordered levels refuse new ones.
    pub fn learn_growing(
        &mut self,
        rows: Rows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.learn_growing(rows, limit, observer),
            Self::Wide(wide) => wide.learn_dense_growing(rows, limit, observer),
            Self::Ordinal(ordinal) => ordinal.learn_observed(rows, observer),
        }
    }

    /// The same for sparse rows. A learner of dense rows writes the batch out.
    pub fn learn_sparse_growing(
        &mut self,
        rows: SparseRows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => {
                let dim = dense.dim();
                rows.densified(dim, |rows| dense.learn_growing(rows, limit, observer))
            }
            Self::Wide(wide) => wide.learn_growing(rows, limit, observer),
            Self::Ordinal(ordinal) => ordinal.learn_sparse(rows, observer),
        }
    }

    /// Calls `take(i, probabilities)` for each dense row, in order.
    pub fn predict_many(
        &self,
        inputs: Inputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.predict_many(inputs, take),
            Self::Wide(wide) => wide.predict_many(inputs, take),
            Self::Ordinal(ordinal) => ordinal.predict_many(inputs, take),
        }
    }

    /// Calls `take(i, probabilities)` for each sparse row, in order. A learner of dense rows writes
    /// them out.
    pub fn predict_sparse(
        &self,
        inputs: SparseInputs<'_>,
        take: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => {
                let dim = dense.dim();
                inputs.check(dim as u64)?;
                inputs.densified(dim, 0..inputs.len(), |inputs| dense.predict_many(inputs, take))
            }
            Self::Wide(wide) => wide.predict_sparse(inputs, take),
            Self::Ordinal(ordinal) => {
                let dim = ordinal.dim();
                inputs.check(dim as u64)?;
                inputs.densified(dim, 0..inputs.len(), |inputs| ordinal.predict_many(inputs, take))
            }
        }
    }

    /// The coefficients of `class` against those of `reference`, with their standard errors.
    /// Refused for ordered levels, which share theirs: see [`Ordinal::estimate`].
    pub fn contrast_table(&self, class: usize, reference: usize) -> Result<ContrastTable> {
        match self {
            Self::Dense(dense) => {
                let contrast = dense.contrast(class, reference)?;
                let standard_errors = contrast.standard_errors();
                Ok(ContrastTable { coefficients: contrast.coefficients, standard_errors })
            }
            Self::Wide(wide) => wide.contrast(class, reference),
            Self::Ordinal(_) => Err(Error::State(
                "ordered levels share their coefficients: none has those of its own".into(),
            )),
        }
    }

    /// The state, to be stored.
    pub fn state(&self) -> AnyCategoricalState {
        match self {
            Self::Dense(dense) => AnyCategoricalState::Dense(dense.state()),
            Self::Wide(wide) => AnyCategoricalState::Wide(wide.state()),
            Self::Ordinal(ordinal) => AnyCategoricalState::Ordinal(ordinal.state()),
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: AnyCategoricalState) -> Result<Self> {
        match state {
            AnyCategoricalState::Dense(state) => Categorical::restore(state).map(Self::from),
            AnyCategoricalState::Wide(state) => WideCategorical::restore(state).map(Self::from),
            AnyCategoricalState::Ordinal(state) => Ordinal::restore(state).map(Self::from),
        }
    }
}
