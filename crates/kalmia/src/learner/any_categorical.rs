//! A learner of several classes whose form of rows is chosen at run time, and its state.

use super::{
    Categorical, CategoricalState, ClassObserver, ContrastTable, WideCategorical,
    WideCategoricalState,
};
use crate::error::{Error, Result};
use crate::rows::{Inputs, Rows};
use crate::sparse::{SparseInputs, SparseRows};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A learner of several classes for dense or for sparse rows, chosen at run time.
///
/// ```
/// use kalmia::learner::{AnyCategorical, Categorical, WideCategorical};
///
/// let dense = AnyCategorical::from(Categorical::builder(3, 2).build()?);
/// let wide = AnyCategorical::from(WideCategorical::builder(3).build()?);
/// assert_eq!((dense.method(), wide.method()), ("auto", "wide"));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum AnyCategorical {
    /// Of dense rows, with a covariance of all features per class.
    Dense(Box<Categorical>),
    /// Of sparse and wide rows.
    Wide(Box<WideCategorical>),
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
}

impl<'de> Deserialize<'de> for AnyCategoricalState {
    /// Not derived: an error of an untagged enum does not say what is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(StateVisitor)
    }
}

/// The first key of the state of sparse rows, in the order of its fields and of their names.
const WIDE_KEY: &str = "beliefs";

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
        let whole = MapAccessDeserializer::new(Replayed { first, rest: map });
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

macro_rules! each {
    ($any:expr, $inner:ident => $body:expr) => {
        match $any {
            AnyCategorical::Dense($inner) => $body,
            AnyCategorical::Wide($inner) => $body,
        }
    };
}

impl AnyCategorical {
    /// The learner of dense rows, if it is one.
    pub fn dense(&self) -> Option<&Categorical> {
        match self {
            Self::Dense(dense) => Some(dense),
            Self::Wide(_) => None,
        }
    }

    /// The learner of sparse rows, if it is one.
    pub fn wide(&self) -> Option<&WideCategorical> {
        match self {
            Self::Dense(_) => None,
            Self::Wide(wide) => Some(wide),
        }
    }

    /// The method's name.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Dense(_) => "auto",
            Self::Wide(_) => "wide",
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        each!(self, inner => inner.classes())
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        each!(self, inner => inner.dim())
    }

    /// Rows learned so far.
    pub fn count(&self) -> u64 {
        each!(self, inner => inner.count())
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
            Self::Wide(_) => Err(Error::State(
                "a wide learner takes new features by itself, from the rows".into(),
            )),
        }
    }

    /// Appends a class that no row had so far.
    pub fn grow_class(&mut self) -> Result<()> {
        each!(self, inner => inner.grow_class())
    }

    /// Learns dense rows in order; new classes are added before their first row, to at most
    /// `limit`.
    pub fn learn_growing(
        &mut self,
        rows: Rows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        match self {
            Self::Dense(dense) => dense.learn_growing(rows, limit, observer),
            Self::Wide(wide) => wide.learn_dense_growing(rows, limit, observer),
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
        }
    }

    /// The coefficients of `class` against those of `reference`, with their standard errors.
    pub fn contrast_table(&self, class: usize, reference: usize) -> Result<ContrastTable> {
        match self {
            Self::Dense(dense) => {
                let contrast = dense.contrast(class, reference)?;
                let standard_errors = contrast.standard_errors();
                Ok(ContrastTable { coefficients: contrast.coefficients, standard_errors })
            }
            Self::Wide(wide) => wide.contrast(class, reference),
        }
    }

    /// The state, to be stored.
    pub fn state(&self) -> AnyCategoricalState {
        match self {
            Self::Dense(dense) => AnyCategoricalState::Dense(dense.state()),
            Self::Wide(wide) => AnyCategoricalState::Wide(wide.state()),
        }
    }

    /// A learner that continues from a state.
    pub fn restore(state: AnyCategoricalState) -> Result<Self> {
        match state {
            AnyCategoricalState::Dense(state) => Categorical::restore(state).map(Self::from),
            AnyCategoricalState::Wide(state) => WideCategorical::restore(state).map(Self::from),
        }
    }
}
