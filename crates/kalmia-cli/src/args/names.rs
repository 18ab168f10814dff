//! Options whose values are names of the library, of which one list serves the parser, the help
//! and the completions; and options whose values are whole numbers.

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use std::error::Error;
use std::ffi::OsStr;
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

/// A parser of any text, whose usual values the help and the completions show.
#[derive(Debug, Clone)]
pub struct Suggested(pub Vec<PossibleValue>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

/// A whole number, also written as `1e5`.
pub fn whole(text: &str) -> Result<u64, String> {
    let value: f64 =
        text.parse().map_err(|_| "expected a whole number such as 100000 or 1e5".to_string())?;
    if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
        Ok(value as u64)
    } else {
        Err("expected a whole number, 0 or more".into())
    }
}
