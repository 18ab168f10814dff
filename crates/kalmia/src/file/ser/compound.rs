//! Arrays and maps on their way to JSON and tensors.

use super::{Gather, Node, Refused, Segment, Tree, escaped};
use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// More is not reserved on the word of a length that may be wrong.
const RESERVE: usize = 1 << 16;

/// Enters an enum's variant, if there is one.
fn open(tree: &mut Tree, variant: Option<&'static str>) -> Result<(), Refused> {
    variant.map_or(Ok(()), |variant| tree.enter(Segment::Key(variant.into())))
}

/// Leaves it, tagging the content.
fn close(tree: &mut Tree, variant: Option<&'static str>, content: Value) -> Node {
    Node::Json(match variant {
        None => content,
        Some(variant) => {
            tree.path.pop();
            Value::Object([(escaped(variant.into()), content)].into_iter().collect())
        }
    })
}

/// An array: of floats alone as long as `items` is empty.
pub(super) struct Items<'a> {
    tree: &'a mut Tree,
    variant: Option<&'static str>,
    floats: Vec<f64>,
    items: Vec<Value>,
}

impl<'a> Items<'a> {
    pub(super) fn new(
        tree: &'a mut Tree,
        variant: Option<&'static str>,
        len: usize,
    ) -> Result<Self, Refused> {
        open(tree, variant)?;
        Ok(Self { tree, variant, floats: Vec::with_capacity(len.min(RESERVE)), items: Vec::new() })
    }

    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Refused> {
        let index = self.floats.len() + self.items.len();
        match self.tree.part(Segment::Index(index), item)? {
            Node::Float(number) if self.items.is_empty() => self.floats.push(number),
            node => {
                for (i, number) in std::mem::take(&mut self.floats).into_iter().enumerate() {
                    let value = self.tree.json(Segment::Index(i), &number)?;
                    self.items.push(value);
                }
                self.tree.enter(Segment::Index(index))?;
                let value = self.tree.value(node)?;
                self.tree.path.pop();
                self.items.push(value);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Node, Refused> {
        let content =
            if self.items.is_empty() { self.tree.array(self.floats) } else { self.items.into() };
        Ok(close(self.tree, self.variant, content))
    }
}

/// A map or struct, its keys sorted so that hash maps too give the same bytes each time.
pub(super) struct Entries<'a> {
    tree: &'a mut Tree,
    variant: Option<&'static str>,
    key: Option<String>,
    entries: BTreeMap<String, Value>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(tree: &'a mut Tree, variant: Option<&'static str>) -> Result<Self, Refused> {
        open(tree, variant)?;
        Ok(Self { tree, variant, key: None, entries: BTreeMap::new() })
    }

    fn insert<T: Serialize + ?Sized>(&mut self, key: String, value: &T) -> Result<(), Refused> {
        let value = self.tree.json(Segment::Key(key.clone().into()), value)?;
        match self.entries.entry(escaped(key)) {
            Entry::Vacant(place) => place.insert(value),
            Entry::Occupied(place) => {
                return Err(Refused(format!("two entries have the key `{}`", place.key())));
            }
        };
        Ok(())
    }

    fn finish(self) -> Result<Node, Refused> {
        Ok(close(self.tree, self.variant, Value::Object(self.entries.into_iter().collect())))
    }
}

/// A key as text.
fn key_text<T: Serialize + ?Sized>(key: &T) -> Result<String, Refused> {
    match key.serialize(Gather(&mut Tree::default()))? {
        Node::Json(Value::String(text)) => Ok(text),
        Node::Json(Value::Number(number)) => Ok(number.to_string()),
        Node::Json(Value::Bool(flag)) => Ok(flag.to_string()),
        _ => Err(Refused("a key must be text, a whole number, a boolean or a plain enum".into())),
    }
}

macro_rules! arrays {
    ($($kind:ident $method:ident,)*) => {$(
        impl $kind for Items<'_> {
            type Ok = Node;
            type Error = Refused;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Refused> {
                self.push(item)
            }

            fn end(self) -> Result<Node, Refused> {
                self.finish()
            }
        }
    )*};
}

arrays! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! structs {
    ($($kind:ident,)*) => {$(
        impl $kind for Entries<'_> {
            type Ok = Node;
            type Error = Refused;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Refused> {
                self.insert(key.into(), value)
            }

            fn end(self) -> Result<Node, Refused> {
                self.finish()
            }
        }
    )*};
}

structs! { SerializeStruct, SerializeStructVariant, }

impl SerializeMap for Entries<'_> {
    type Ok = Node;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = Some(key_text(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let key = self.key.take().ok_or_else(|| Refused("a value without a key".into()))?;
        self.insert(key, value)
    }

    fn end(self) -> Result<Node, Refused> {
        self.finish()
    }
}
