//! Dynamic values: what the registry exchanges with the command, Python and files.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number, a truth value, a word, or a value outside the range of binary64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A quantity too large for binary64: the `ln_` key of the same quantity describes it.
    Null,
    /// A side condition.
    Bool(bool),
    /// A finite number (integers are exact up to $2^{53}$).
    Number(f64),
    /// A word: a variant's name, `-inf` (the logarithm of zero), or a number as typed by a user.
    Text(Cow<'static, str>),
}

impl Value {
    /// The number, also when it is written out as text (`"1e5"`, `"-inf"`).
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(x) => Some(*x),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(*b) } else { None }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => b.fmt(f),
            // in full, a large number would be hundreds of digits long
            Value::Number(x) if *x != 0.0 && !(1e-5..1e15).contains(&x.abs()) => {
                fmt::LowerExp::fmt(x, f)
            }
            Value::Number(x) => x.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

impl From<f64> for Value {
    /// $-\infty$ is an exact logarithm and keeps its name; $+\infty$ is an overflow.
    fn from(x: f64) -> Self {
        if x.is_finite() {
            Value::Number(x)
        } else if x == f64::NEG_INFINITY {
            Value::Text(Cow::Borrowed("-inf"))
        } else {
            Value::Null
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Cow::Owned(text))
    }
}

/// An ordered map from key to [`Value`]; it serializes as a map in its own order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(Vec<(Cow<'static, str>, Value)>);

impl Values {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key`, in place if it is there already.
    pub fn set(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        let key = key.into();
        let value = value.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// The map with `key` set.
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.set(key, value);
        self
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(k, v)| (k.as_ref(), v))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Cow<'static, str>>, V: Into<Value>> FromIterator<(K, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut values = Values::new();
        pairs.into_iter().for_each(|(key, value)| values.set(key, value));
        values
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from names to numbers, truth values or words")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let mut values = Values::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    values.set(key, value);
                }
                Ok(values)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Something that a typed output holds under a key; `None` leaves the key out.
pub(crate) trait Export {
    /// The value to write, if any.
    fn export(self) -> Option<Value>;
}

impl Export for f64 {
    fn export(self) -> Option<Value> {
        Some(self.into())
    }
}

impl Export for bool {
    fn export(self) -> Option<Value> {
        Some(self.into())
    }
}

impl Export for Option<f64> {
    fn export(self) -> Option<Value> {
        self.map(Value::from)
    }
}
