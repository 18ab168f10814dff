//! Options whose values are names of the library: one list serves the parser, the help and the
//! completions.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::error::Error;
use std::str::FromStr;

/// A name with one line of help.
pub fn described(name: &'static str, about: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(about)
}

/// A parser of the names given, each of which `T` must know.
pub fn named<T>(names: impl IntoIterator<Item = PossibleValue>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.into_iter().collect::<Vec<_>>()).try_map(|name| name.parse())
}
