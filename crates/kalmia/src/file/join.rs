//! Joins JSON and tensors into the state that they were split from.

use super::split::REFERENCE;
use super::{Problem, Tensor, Tensors};
use crate::covariance::packed::{NumberType, numbers};
use serde::de::value::{Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_path_to_error::Segment;

/// Puts the tensors back into the JSON and the whole into a state.
pub(super) fn join<T: DeserializeOwned>(json: &Value, tensors: &Tensors) -> Result<T, Problem> {
    let node = Node { source: Source::Json(json), tensors };
    serde_path_to_error::deserialize(node).map_err(|error| {
        let path = error.path().iter().map(plain_segment).collect::<Vec<_>>().join(".");
        let at = if path.is_empty() { "state".into() } else { path };
        Problem::State { at, message: error.into_inner().to_string() }
    })
}

/// A segment of a path; the crate itself prints brackets around an index.
fn plain_segment(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => index.to_string(),
        other => other.to_string(),
    }
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Json(&'a Value),
    Float(f64),
    Whole(u32),
    /// Little-endian bytes.
    Numbers(NumberType, &'a [u8]),
}

/// A value of the state, to be read.
#[derive(Clone, Copy)]
struct Node<'a> {
    source: Source<'a>,
    tensors: &'a Tensors,
}

impl<'a> Node<'a> {
    fn with(self, source: Source<'a>) -> Self {
        Self { source, ..self }
    }

    /// Follows a reference to a tensor.
    fn resolved(self) -> Result<Source<'a>, Error> {
        let Source::Json(Value::Object(entries)) = self.source else { return Ok(self.source) };
        let Some(name) = entries.get(REFERENCE) else { return Ok(self.source) };
        let tensor = name.as_str().and_then(|name| self.tensors.get(name));
        match tensor.filter(|_| entries.len() == 1) {
            Some(Tensor::Scalar(number)) => Ok(Source::Float(*number)),
            Some(Tensor::Array(kind, bytes)) => Ok(Source::Numbers(*kind, bytes)),
            None => Err(Error::custom(format_args!("tensor {name} is not in the file"))),
        }
    }

    fn sequence<V: Visitor<'a>>(
        self,
        items: impl Iterator<Item = Source<'a>>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut items = SeqDeserializer::new(items.map(|item| self.with(item)));
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
    }

    fn map(
        self,
        entries: &'a serde_json::Map<String, Value>,
    ) -> MapDeserializer<'a, impl Iterator<Item = (Key<'a>, Self)>, Error> {
        let entry =
            move |(key, value): (&'a String, &'a Value)| (Key(key), self.with(Source::Json(value)));
        MapDeserializer::new(entries.iter().map(entry))
    }
}

impl<'de> IntoDeserializer<'de> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.resolved()? {
            Source::Float(number) => visitor.visit_f64(number),
            Source::Whole(number) => visitor.visit_u32(number),
            Source::Numbers(NumberType::F64, bytes) => {
                self.sequence(numbers(bytes).map(Source::Float), visitor)
            }
            Source::Numbers(NumberType::F32, bytes) => {
                let wider = numbers::<f32>(bytes).map(f64::from);
                self.sequence(wider.map(Source::Float), visitor)
            }
            Source::Numbers(NumberType::U32, bytes) => {
                self.sequence(numbers(bytes).map(Source::Whole), visitor)
            }
            Source::Json(Value::Array(items)) => {
                self.sequence(items.iter().map(Source::Json), visitor)
            }
            Source::Json(Value::Object(entries)) => visitor.visit_map(self.map(entries)),
            Source::Json(scalar) => scalar.deserialize_any(visitor).map_err(Error::custom),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.source {
            Source::Json(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.source {
            Source::Json(Value::String(variant)) => {
                visitor.visit_enum(variant.as_str().into_deserializer())
            }
            Source::Json(Value::Object(entries)) if entries.len() == 1 => {
                let map = MapAccessDeserializer::new(self.map(entries));
                map.deserialize_enum(name, variants, visitor)
            }
            _ => Err(Error::custom(
                "expected the name of a variant, or an object with the name as its only key",
            )),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A key, which is text in JSON whatever it was in the state.
struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// The key as the state has it.
    fn text(&self) -> Result<&'a str, Error> {
        match self.0.strip_prefix('$') {
            None => Ok(self.0),
            Some(rest) if rest.starts_with('$') => Ok(rest),
            Some(_) => Err(Error::custom(format_args!("the key `{}` is reserved", self.0))),
        }
    }
}

impl<'de> IntoDeserializer<'de> for Key<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let text = self.text()?;
            match text.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(text),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text()?)
    }

    // serde's own integers accept a u64 or i64 that fits
    parsed! {
        deserialize_bool visit_bool,
        deserialize_i8 visit_i64,
        deserialize_i16 visit_i64,
        deserialize_i32 visit_i64,
        deserialize_i64 visit_i64,
        deserialize_u8 visit_u64,
        deserialize_u16 visit_u64,
        deserialize_u32 visit_u64,
        deserialize_u64 visit_u64,
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.text()?.into_deserializer())
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}
