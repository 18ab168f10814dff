//! Joins JSON and tensors into the state that they were split from.
//!
//! Serde compiles the reader of every type of a state for every type that can hand it values. So
//! there is one type of node, one of sequences and one of maps, and they note the place of an error
//! themselves instead of being wrapped in types that do.

mod key;

use super::split::REFERENCE;
use super::{Problem, Tensor, Tensors};
use crate::covariance::packed::{NumberType, Packed};
use key::Key;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use std::fmt::{self, Display};

/// Puts the tensors back into the JSON and the whole into a state.
pub(super) fn join<T: DeserializeOwned>(json: &Value, tensors: &Tensors) -> Result<T, Problem> {
    let node = Node { source: Source::Json(json), tensors };
    T::deserialize(node).map_err(Error::into_problem)
}

/// What is wrong, and where: keys and indices from the inside out.
#[derive(Debug)]
struct Error(Box<Misfit>);

#[derive(Debug)]
struct Misfit {
    message: String,
    place: Vec<String>,
}

impl Error {
    /// The same error as seen from around a key or index.
    #[cold]
    fn inside(mut self, segment: &dyn Display) -> Self {
        self.0.place.push(segment.to_string());
        self
    }

    fn into_problem(self) -> Problem {
        let Misfit { message, mut place } = *self.0;
        place.reverse();
        let at = if place.is_empty() { "state".into() } else { place.join(".") };
        Problem::State { at, message }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Misfit { message: message.to_string(), place: Vec::new() }))
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

    fn map(self, entries: &'a serde_json::Map<String, Value>) -> Entries<'a> {
        Entries { node: self, rest: entries.iter(), current: None }
    }
}

/// The items of an array.
struct Items<'a> {
    node: Node<'a>,
    array: Array<'a>,
    next: usize,
}

#[derive(Clone, Copy)]
enum Array<'a> {
    Json(&'a [Value]),
    /// Little-endian bytes.
    Numbers(NumberType, &'a [u8]),
}

impl<'a> Items<'a> {
    fn len(&self) -> usize {
        match self.array {
            Array::Json(items) => items.len(),
            Array::Numbers(kind, bytes) => bytes.len() / kind.size(),
        }
    }

    /// The next item.
    fn take(&mut self) -> Option<Node<'a>> {
        if self.next >= self.len() {
            return None;
        }
        let i = self.next;
        self.next += 1;
        let source = match self.array {
            Array::Json(items) => Source::Json(&items[i]),
            Array::Numbers(NumberType::F64, bytes) => Source::Float(number(bytes, i)),
            Array::Numbers(NumberType::F32, bytes) => {
                Source::Float(f64::from(number::<f32>(bytes, i)))
            }
            Array::Numbers(NumberType::U32, bytes) => Source::Whole(number(bytes, i)),
        };
        Some(self.node.with(source))
    }

    /// Refuses items that nobody asked for.
    fn end(&self) -> Result<(), Error> {
        if self.next >= self.len() {
            return Ok(());
        }
        let plural = if self.next == 1 { "" } else { "s" };
        let expected = format!("{} element{plural} in sequence", self.next);
        Err(Error::invalid_length(self.len(), &expected.as_str()))
    }
}

/// Number `i` of little-endian bytes.
fn number<T: Packed>(bytes: &[u8], i: usize) -> T {
    let size = T::TYPE.size();
    T::from_bytes(&bytes[i * size..][..size])
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let i = self.next;
        let Some(item) = self.take() else { return Ok(None) };
        seed.deserialize(item).map(Some).map_err(|error| error.inside(&i))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.len() - self.next)
    }
}

/// The entries of an object.
struct Entries<'a> {
    node: Node<'a>,
    rest: serde_json::map::Iter<'a>,
    /// The entry whose value comes next.
    current: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.current = Some((key, value));
        seed.deserialize(Key(key)).map(Some).map_err(|error| error.inside(&key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, value)) = self.current.take() else {
            return Err(Error::custom("a value was asked for before its key"));
        };
        let value = self.node.with(Source::Json(value));
        seed.deserialize(value).map_err(|error| error.inside(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let array = match self.resolved()? {
            Source::Float(number) => return visitor.visit_f64(number),
            Source::Whole(number) => return visitor.visit_u32(number),
            Source::Numbers(kind, bytes) => Array::Numbers(kind, bytes),
            Source::Json(Value::Array(items)) => Array::Json(items),
            Source::Json(Value::Object(entries)) => return visitor.visit_map(self.map(entries)),
            Source::Json(Value::String(text)) => return visitor.visit_borrowed_str(text),
            Source::Json(Value::Number(number)) => return visit_number(number, visitor),
            Source::Json(Value::Bool(flag)) => return visitor.visit_bool(*flag),
            Source::Json(Value::Null) => return visitor.visit_unit().map_err(named_null),
        };
        let mut items = Items { node: self, array, next: 0 };
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
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

fn visit_number<'de, V: Visitor<'de>>(
    number: &serde_json::Number,
    visitor: V,
) -> Result<V::Value, Error> {
    if let Some(whole) = number.as_u64() {
        visitor.visit_u64(whole)
    } else if let Some(whole) = number.as_i64() {
        visitor.visit_i64(whole)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}

/// Serde's word for a null is that of Rust.
#[cold]
fn named_null(Error(mut misfit): Error) -> Error {
    misfit.message = misfit.message.replacen("unit value", "null", 1);
    Error(misfit)
}
