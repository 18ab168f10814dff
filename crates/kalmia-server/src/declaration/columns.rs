//! The columns of a declaration: their names and kinds, in order.

use kalmia_data::Kind;
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Columns in the order in which they were declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns(pub Vec<(String, Kind)>);

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, kind)| map.serialize_entry(name, kind_name(*kind)))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(ColumnVisitor)
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::Category => "category",
        Kind::Text => "text",
    }
}

struct ColumnVisitor;

impl<'de> Visitor<'de> for ColumnVisitor {
    type Value = Columns;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of column names and their kinds")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Columns, A::Error> {
        let mut columns = Vec::new();
        while let Some((name, kind)) = map.next_entry::<String, String>()? {
            let known = [Kind::Number, Kind::Boolean, Kind::Category, Kind::Text];
            let kind =
                known.into_iter().find(|known| kind_name(*known) == kind).ok_or_else(|| {
                    serde::de::Error::custom(format!(
                        "column `{name}` has the kind `{kind}`; the kinds are number, boolean, \
                     category and text"
                    ))
                })?;
            columns.push((name, kind));
        }
        Ok(Columns(columns))
    }
}
