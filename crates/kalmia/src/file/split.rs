//! Splits a state into JSON and tensors, with nothing rounded, renamed or turned into null.

use super::container::METADATA;
use super::{Problem, Tensor, Tensors};
use crate::covariance::packed::{NumberType, bytes, numbers};
use ciborium::Value as Tree;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// An array of this many numbers becomes a tensor. A shorter one takes less room as JSON text than
/// as a header entry with its bytes.
const MIN_TENSOR_LEN: usize = 16;

/// Nesting that every JSON reader accepts (`serde_json` stops at 128).
pub(super) const MAX_DEPTH: usize = 100;

/// The key of a reference to a tensor. Keys of the state that begin with `$` get one more `$`, so
/// none of them reads as a reference.
pub(super) const REFERENCE: &str = "$tensor";

/// The state as JSON, and the numbers moved out of it.
pub(super) fn split<T: Serialize + ?Sized>(state: &T) -> Result<(Value, Tensors), Problem> {
    let mut split = Split::default();
    let tree = Tree::serialized(state).map_err(|ciborium::value::Error::Custom(message)| message);
    match tree.and_then(|tree| split.json(tree)) {
        Ok(json) => Ok((json, split.tensors)),
        Err(message) => Err(Problem::Unstorable { at: split.place(), message }),
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
    format!("nested deeper than {MAX_DEPTH} levels")
}

/// The tensors found so far, and the place reached: keys and indices joined by dots. After an error
/// the place is where it happened.
#[derive(Default)]
struct Split {
    path: String,
    depth: usize,
    tensors: Tensors,
}

impl Split {
    fn place(&self) -> String {
        if self.path.is_empty() { "state".into() } else { self.path.clone() }
    }

    /// The JSON of a node; numbers that JSON cannot hold and long arrays go to tensors.
    fn json(&mut self, node: Tree) -> Result<Value, String> {
        match node {
            Tree::Null => Ok(Value::Null),
            Tree::Bool(flag) => Ok(flag.into()),
            Tree::Text(text) => Ok(text.into()),
            Tree::Integer(number) => integer(number),
            Tree::Float(number) if number.is_finite() => Ok(number.into()),
            Tree::Float(number) => Ok(self.reference(Tensor::Scalar(number))),
            Tree::Bytes(bytes) => Ok(bytes.into()),
            Tree::Array(items) => match items.iter().map(Tree::as_float).collect::<Option<_>>() {
                Some(floats) => Ok(self.floats(floats)),
                None => {
                    let items = items.into_iter().enumerate();
                    items.map(|(i, item)| self.inside(i, item)).collect()
                }
            },
            Tree::Map(entries) => self.object(entries),
            Tree::Tag(tag, content) => self.tagged(tag, *content),
            // how CBOR holds numbers that do not fit into 64 bits
            _ => Err("integers of 128 bits cannot be stored".into()),
        }
    }

    /// A packed array. A short one of `f64` takes less room in the JSON.
    fn tagged(&mut self, tag: u64, content: Tree) -> Result<Value, String> {
        let kind = NumberType::ALL.into_iter().find(|kind| kind.tag() == tag);
        match (kind, content) {
            (Some(NumberType::F64), Tree::Bytes(bytes)) if bytes.len() < 8 * MIN_TENSOR_LEN => {
                Ok(self.floats(numbers(&bytes).collect()))
            }
            (Some(kind), Tree::Bytes(bytes)) => Ok(self.reference(Tensor::Array(kind, bytes))),
            (Some(_), _) => Err("a tagged array of numbers must be a byte string".into()),
            // how CBOR holds numbers that do not fit into 64 bits
            (None, _) => Err("integers of 128 bits cannot be stored".into()),
        }
    }

    fn inside(&mut self, segment: impl Display, node: Tree) -> Result<Value, String> {
        let end = self.path.len();
        let dot = if end > 0 { "." } else { "" };
        write!(self.path, "{dot}{segment}").map_err(|error| error.to_string())?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let value = self.json(node)?;
        self.depth -= 1;
        self.path.truncate(end);
        Ok(value)
    }

    /// A map or struct, its keys sorted: a hash map too gives the same bytes each time.
    fn object(&mut self, entries: Vec<(Tree, Tree)>) -> Result<Value, String> {
        let mut sorted = BTreeMap::new();
        for (key, node) in entries {
            let key = key_text(key)?;
            let value = self.inside(&key, node)?;
            let escape = if key.starts_with('$') { "$" } else { "" };
            if sorted.insert(format!("{escape}{key}"), value).is_some() {
                return Err(format!("two entries have the key `{key}`"));
            }
        }
        Ok(Value::Object(sorted.into_iter().collect()))
    }

    fn floats(&mut self, floats: Vec<f64>) -> Value {
        if floats.len() < MIN_TENSOR_LEN && floats.iter().all(|number| number.is_finite()) {
            return floats.into();
        }
        self.reference(Tensor::Array(NumberType::F64, bytes(floats.into_iter())))
    }

    /// Stores a tensor under the current place. Keys with dots can make two places look alike; the
    /// second one gets an apostrophe.
    fn reference(&mut self, tensor: Tensor) -> Value {
        let mut name = self.place();
        while name == METADATA || self.tensors.contains_key(&name) {
            name.push('\'');
        }
        self.tensors.insert(name.clone(), tensor);
        Value::Object([(REFERENCE.to_owned(), name.into())].into_iter().collect())
    }
}

fn integer(number: ciborium::value::Integer) -> Result<Value, String> {
    let unsigned = u64::try_from(number).map(Value::from);
    unsigned
        .or_else(|_| i64::try_from(number).map(Value::from))
        .map_err(|_| "integers of 128 bits cannot be stored".into())
}

fn key_text(key: Tree) -> Result<String, String> {
    match key {
        Tree::Text(text) => Ok(text),
        Tree::Integer(number) => Ok(integer(number)?.to_string()),
        Tree::Bool(flag) => Ok(flag.to_string()),
        _ => Err("a key must be text, a whole number, a boolean or a plain enum".into()),
    }
}
