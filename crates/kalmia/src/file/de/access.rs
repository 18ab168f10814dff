//! Arrays, maps, keys and enum variants on their way back to the state.

use super::{Misfit, Scatter, Source, unescaped};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// A JSON array.
pub(super) struct Items<'a> {
    pub from: Scatter<'a>,
    pub items: &'a [Value],
    pub next: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(self.from.with(Source::Json(item)))
            .map(Some)
            .map_err(|misfit| misfit.inside(self.next - 1))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// A tensor.
pub(super) struct Floats<'a> {
    pub from: Scatter<'a>,
    pub numbers: &'a [f64],
    pub next: usize,
}

impl<'de> SeqAccess<'de> for &mut Floats<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some(&number) = self.numbers.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(self.from.with(Source::Float(number)))
            .map(Some)
            .map_err(|misfit| misfit.inside(self.next - 1))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.numbers.len() - self.next)
    }
}

/// A JSON object.
pub(super) struct Fields<'a> {
    from: Scatter<'a>,
    entries: serde_json::map::Iter<'a>,
    pending: Option<(&'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(from: Scatter<'a>, entries: &'a Map<String, Value>) -> Self {
        Self { from, entries: entries.iter(), pending: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        let key = unescaped(key)?;
        self.pending = Some((key, value));
        seed.deserialize(Key(key)).map(Some).map_err(|misfit| misfit.inside(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let (key, value) = self
            .pending
            .take()
            .ok_or_else(|| <Misfit as de::Error>::custom("a value without a key"))?;
        seed.deserialize(self.from.with(Source::Json(value))).map_err(|misfit| misfit.inside(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A key, which is text in JSON whatever it was in the state.
struct Key<'a>(&'a str);

macro_rules! parsed {
    ($($method:ident $visit:ident,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            match self.0.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_bool visit_bool,
        deserialize_i8 visit_i8,
        deserialize_i16 visit_i16,
        deserialize_i32 visit_i32,
        deserialize_i64 visit_i64,
        deserialize_u8 visit_u8,
        deserialize_u16 visit_u16,
        deserialize_u32 visit_u32,
        deserialize_u64 visit_u64,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
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
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// An enum's variant with its content.
pub(super) struct Variant<'a> {
    pub name: &'a str,
    pub content: Scatter<'a>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Misfit> {
        Ok((seed.deserialize(Key(self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        de::Deserialize::deserialize(self.content)
            .map_err(|misfit: Misfit| misfit.inside(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        seed.deserialize(self.content).map_err(|misfit| misfit.inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.content.deserialize_any(visitor).map_err(|misfit| misfit.inside(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.content.deserialize_any(visitor).map_err(|misfit| misfit.inside(self.name))
    }
}
