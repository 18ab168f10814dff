//! From JSON and tensors back to the state.

mod access;

use super::ser::REFERENCE;
use super::{Problem, Tensor, Tensors};
use access::{Fields, Floats, Items, Variant};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use std::fmt::Display;

/// Puts the tensors back into the JSON and the whole into a value.
pub(super) fn scatter<T: DeserializeOwned>(state: &Value, tensors: &Tensors) -> Result<T, Problem> {
    T::deserialize(Scatter { source: Source::Json(state), tensors }).map_err(|mut misfit| {
        misfit.path.reverse();
        let at = if misfit.path.is_empty() { "state".into() } else { misfit.path.join(".") };
        Problem::State { at, message: misfit.message }
    })
}

/// Why the state does not fit, and where: innermost segment first, as errors travel outwards.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Misfit {
    path: Vec<String>,
    message: String,
}

impl Misfit {
    fn inside(mut self, segment: impl Display) -> Self {
        self.path.push(segment.to_string());
        self
    }
}

impl de::Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Self { path: Vec::new(), message: message.to_string() }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Json(&'a Value),
    Float(f64),
    Floats(&'a [f64]),
}

/// The deserializer.
#[derive(Clone, Copy)]
struct Scatter<'a> {
    source: Source<'a>,
    tensors: &'a Tensors,
}

impl<'a> Scatter<'a> {
    #[inline]
    fn with(self, source: Source<'a>) -> Self {
        Self { source, ..self }
    }

    /// Follows a reference to a tensor.
    #[inline]
    fn resolved(self) -> Result<Source<'a>, Misfit> {
        let Source::Json(Value::Object(entries)) = self.source else { return Ok(self.source) };
        let Some(name) = entries.get(REFERENCE) else { return Ok(self.source) };
        let tensor =
            name.as_str().filter(|_| entries.len() == 1).and_then(|name| self.tensors.get(name));
        match tensor {
            Some(Tensor::Scalar(number)) => Ok(Source::Float(*number)),
            Some(Tensor::Array(numbers)) => Ok(Source::Floats(numbers)),
            None => Err(de::Error::custom(format_args!(
                "a reference to tensor {name}, which is not in the file"
            ))),
        }
    }
}

/// A key as the state has it.
fn unescaped(key: &str) -> Result<&str, Misfit> {
    match key.strip_prefix('$') {
        None => Ok(key),
        Some(rest) if rest.starts_with('$') => Ok(rest),
        Some(_) => Err(de::Error::custom(format_args!("the key `{key}` is reserved"))),
    }
}

impl<'de> Deserializer<'de> for Scatter<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.resolved()? {
            Source::Float(number) => visitor.visit_f64(number),
            Source::Floats(numbers) => {
                let mut floats = Floats { from: self, numbers, next: 0 };
                let value = visitor.visit_seq(&mut floats)?;
                complete(floats.next, numbers.len())?;
                Ok(value)
            }
            Source::Json(Value::Null) => visitor.visit_unit(),
            Source::Json(Value::Bool(flag)) => visitor.visit_bool(*flag),
            Source::Json(Value::Number(number)) => {
                match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(number), _, _) => visitor.visit_u64(number),
                    (_, Some(number), _) => visitor.visit_i64(number),
                    (_, _, Some(number)) => visitor.visit_f64(number),
                    _ => Err(de::Error::custom(format_args!(
                        "the number {number} has no exact form here"
                    ))),
                }
            }
            Source::Json(Value::String(text)) => visitor.visit_borrowed_str(text),
            Source::Json(Value::Array(items)) => {
                let mut items = Items { from: self, items, next: 0 };
                let value = visitor.visit_seq(&mut items)?;
                complete(items.next, items.items.len())?;
                Ok(value)
            }
            Source::Json(Value::Object(entries)) => visitor.visit_map(Fields::new(self, entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.source {
            Source::Json(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.source {
            Source::Json(Value::String(variant)) => {
                visitor.visit_enum(variant.as_str().into_deserializer())
            }
            Source::Json(Value::Object(entries)) => visitor.visit_enum(variant(self, entries)?),
            _ => Err(de::Error::custom(
                "expected the name of a variant, or an object with the name as its only key",
            )),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

/// A tagged variant.
fn variant<'a>(from: Scatter<'a>, entries: &'a Map<String, Value>) -> Result<Variant<'a>, Misfit> {
    let mut entries = entries.iter();
    match (entries.next(), entries.next()) {
        (Some((key, content)), None) => {
            Ok(Variant { name: unescaped(key)?, content: from.with(Source::Json(content)) })
        }
        _ => {
            Err(de::Error::custom("expected an object with the name of a variant as its only key"))
        }
    }
}

/// Refuses an array longer than what its reader took.
fn complete(taken: usize, len: usize) -> Result<(), Misfit> {
    if taken == len {
        Ok(())
    } else {
        Err(de::Error::custom(format_args!("{len} items where {taken} were expected")))
    }
}
