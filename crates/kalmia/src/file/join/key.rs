//! Keys of maps: text in JSON, whatever they were in the state.

use super::Error;
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// A key to be read.
pub(super) struct Key<'a>(pub &'a str);

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
