//! Options whose values are names of the library, of which one list serves the parser, the help
//! and the completions; lists of column names; and whole numbers.

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

/// Names separated by commas. One that holds a comma stands in double quotes, as in CSV:
/// `"last, first",age`.
#[derive(Debug, Clone, PartialEq)]
pub struct Names(Vec<String>);

impl Names {
    /// The names of an option that may be given several times.
    pub fn all(lists: &[Self]) -> Vec<String> {
        lists.iter().flat_map(|list| list.0.iter().cloned()).collect()
    }
}

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut names = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = match rest.strip_prefix('"') {
                Some(quoted) => unquoted(quoted)?,
                None => match rest.split_once(',') {
                    Some((name, after)) => (name.into(), Some(after)),
                    None => (rest.into(), None),
                },
            };
            names.push(name);
            match after {
                Some(after) => rest = after,
                None => return Ok(Self(names)),
            }
        }
    }
}

/// The name before the closing quote, and what follows its comma.
fn unquoted(text: &str) -> Result<(String, Option<&str>), String> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, after) =
            rest.split_once('"').ok_or("a name that starts with a quote must end with one")?;
        name.push_str(part);
        match after.chars().next() {
            // two quotes stand for one
            Some('"') => {
                name.push('"');
                rest = &after[1..];
            }
            Some(',') => return Ok((name, Some(&after[1..]))),
            None => return Ok((name, None)),
            Some(_) => return Err("after the closing quote of a name, expected a comma".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_stand_in_quotes() {
        let parsed = |text: &str| text.parse().map(|names: Names| names.0);
        assert_eq!(parsed("a,b c,").unwrap(), ["a", "b c", ""]);
        assert_eq!(parsed(r#""last, first",age"#).unwrap(), ["last, first", "age"]);
        assert_eq!(parsed(r#"x,"say ""hi"", now""#).unwrap(), ["x", r#"say "hi", now"#]);
        assert!(parsed(r#""open"#).is_err() && parsed(r#""a"b"#).is_err());
        let twice = Names::all(&["a,b".parse().unwrap(), "c".parse().unwrap()]);
        assert_eq!(twice, ["a", "b", "c"]);
    }
}
