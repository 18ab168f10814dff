//! From a state to JSON and tensors, with nothing rounded, renamed or turned into null.

mod compound;

use super::{Problem, Tensor, Tensors};
use compound::{Entries, Items};
use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Display;

/// An array of this many numbers becomes a tensor: below, its entry in the header would be longer
/// than its digits.
const TENSOR_FROM: usize = 16;

/// Nesting that every JSON reader takes (`serde_json` stops at 128).
pub(super) const DEEPEST: usize = 100;

/// The key of a reference to a tensor. Keys of the state that begin with `$` get one more `$`, so
/// that none can be taken for it.
pub(super) const REFERENCE: &str = "$tensor";

/// The state as JSON, and the numbers moved out of it.
pub(super) fn gather<T: Serialize + ?Sized>(state: &T) -> Result<(Value, Tensors), Problem> {
    let mut tree = Tree::default();
    let node = state.serialize(Gather(&mut tree)).and_then(|node| tree.value(node));
    match node {
        Ok(value) => Ok((value, tree.tensors)),
        Err(Refused(message)) => Err(Problem::Unstorable { at: tree.place(), message }),
    }
}

/// Levels of nesting of a JSON value.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(super) fn too_deep() -> String {
    format!("nested deeper than {DEEPEST} levels")
}

/// Why a value cannot be stored; where is what the tree's path says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

impl ser::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A serialised value; floats stay apart until it is known whether a whole array of them can move.
enum Node {
    Float(f64),
    Json(Value),
}

enum Segment {
    Key(Cow<'static, str>),
    Index(usize),
}

/// The tensors found so far, and where we are. A failure leaves the path where it happened.
#[derive(Default)]
struct Tree {
    path: Vec<Segment>,
    tensors: Tensors,
}

impl Tree {
    fn place(&self) -> String {
        let mut place = String::new();
        for segment in &self.path {
            if !place.is_empty() {
                place.push('.');
            }
            match segment {
                Segment::Key(key) => place.push_str(key),
                Segment::Index(index) => place.push_str(&index.to_string()),
            }
        }
        if place.is_empty() { "state".into() } else { place }
    }

    #[inline]
    fn enter(&mut self, segment: Segment) -> Result<(), Refused> {
        self.path.push(segment);
        if self.path.len() > DEEPEST { Err(Refused(too_deep())) } else { Ok(()) }
    }

    /// Serialises a part and keeps its place.
    fn part<T: Serialize + ?Sized>(
        &mut self,
        segment: Segment,
        value: &T,
    ) -> Result<Node, Refused> {
        self.enter(segment)?;
        let node = value.serialize(Gather(self))?;
        self.path.pop();
        Ok(node)
    }

    /// Serialises a part to JSON.
    fn json<T: Serialize + ?Sized>(
        &mut self,
        segment: Segment,
        value: &T,
    ) -> Result<Value, Refused> {
        self.enter(segment)?;
        let node = value.serialize(Gather(self))?;
        let value = self.value(node)?;
        self.path.pop();
        Ok(value)
    }

    /// A node as JSON, in a tensor if JSON has no such number.
    fn value(&mut self, node: Node) -> Result<Value, Refused> {
        Ok(match node {
            Node::Json(value) => value,
            Node::Float(number) if number.is_finite() => number.into(),
            Node::Float(number) => self.tensor(Tensor::Scalar(number)),
        })
    }

    /// An array of floats.
    fn array(&mut self, numbers: Vec<f64>) -> Value {
        if numbers.len() < TENSOR_FROM && numbers.iter().all(|number| number.is_finite()) {
            return numbers.into();
        }
        self.tensor(Tensor::Array(numbers))
    }

    /// Stores a tensor under the current path; a path whose keys hold dots may look like another
    /// one, hence the loop.
    fn tensor(&mut self, tensor: Tensor) -> Value {
        let mut name = self.place();
        while name == super::container::METADATA || self.tensors.contains_key(&name) {
            name.push('\'');
        }
        self.tensors.insert(name.clone(), tensor);
        Value::Object([(REFERENCE.to_owned(), name.into())].into_iter().collect())
    }
}

/// A key as it is written.
fn escaped(key: String) -> String {
    if key.starts_with('$') { format!("${key}") } else { key }
}

/// The serializer: `&mut Tree` with the traits of serde.
struct Gather<'a>(&'a mut Tree);

fn json(value: impl Into<Value>) -> Result<Node, Refused> {
    Ok(Node::Json(value.into()))
}

macro_rules! plain {
    ($($method:ident: $kind:ty,)*) => {$(
        fn $method(self, value: $kind) -> Result<Node, Refused> {
            json(value)
        }
    )*};
}

impl<'a> Serializer for Gather<'a> {
    type Ok = Node;
    type Error = Refused;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Entries<'a>;
    type SerializeStructVariant = Entries<'a>;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_str: &str,
        serialize_bytes: &[u8],
    }

    fn serialize_f32(self, value: f32) -> Result<Node, Refused> {
        Ok(Node::Float(value.into()))
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<Node, Refused> {
        Ok(Node::Float(value))
    }

    fn serialize_char(self, value: char) -> Result<Node, Refused> {
        json(value.to_string())
    }

    fn serialize_none(self) -> Result<Node, Refused> {
        json(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Node, Refused> {
        json(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Node, Refused> {
        json(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Node, Refused> {
        json(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Node, Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node, Refused> {
        let value = self.0.json(Segment::Key(variant.into()), value)?;
        json(Value::Object([(escaped(variant.into()), value)].into_iter().collect()))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items<'a>, Refused> {
        Items::new(self.0, None, len.unwrap_or(0))
    }

    fn serialize_tuple(self, len: usize) -> Result<Items<'a>, Refused> {
        Items::new(self.0, None, len)
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Items<'a>, Refused> {
        Items::new(self.0, None, len)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items<'a>, Refused> {
        Items::new(self.0, Some(variant), len)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a>, Refused> {
        Entries::new(self.0, None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'a>, Refused> {
        Entries::new(self.0, None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries<'a>, Refused> {
        Entries::new(self.0, Some(variant))
    }
}
