//! Serializes a large array of numbers as one byte string in binary formats.
//!
//! For state fields, as `#[serde(with = "crate::covariance::packed")]`: model files are built from
//! a tree of values, which would take 32 bytes for each number of a plain `Vec<f64>`. Text formats
//! see an ordinary array.

use ciborium::tag::Required;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The CBOR tag of an array of little-endian 64-bit floats (RFC 8746).
pub(crate) const FLOAT64_LE: u64 = 86;

/// Bytes that serde writes as a byte string.
struct Bytes<T>(T);

impl Serialize for Bytes<&[u8]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;

        impl Visitor<'_> for Take {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a byte string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }

        deserializer.deserialize_byte_buf(Take).map(Self)
    }
}

/// The numbers of little-endian bytes; a rest of fewer than eight bytes is ignored.
pub(crate) fn numbers(bytes: &[u8]) -> impl ExactSizeIterator<Item = f64> {
    bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes))
}

/// The inverse of [`numbers`].
pub(crate) fn bytes(numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    numbers.map(f64::to_le_bytes).collect::<Vec<_>>().into_flattened()
}

/// For `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(array: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return array.serialize(serializer);
    }
    let bytes = bytes(array.iter().copied());
    Required::<_, FLOAT64_LE>(Bytes(bytes.as_slice())).serialize(serializer)
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<f64>, D::Error> {
    if deserializer.is_human_readable() {
        return Vec::deserialize(deserializer);
    }
    let Required::<_, FLOAT64_LE>(Bytes(bytes)) = Required::deserialize(deserializer)?;
    if bytes.len() % 8 != 0 {
        return Err(D::Error::invalid_length(bytes.len(), &"eight bytes per number"));
    }
    Ok(numbers(&bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State(#[serde(with = "super")] Vec<f64>);

    #[test]
    fn text_formats_see_an_array_and_binary_ones_a_byte_string() {
        let state = State(vec![1.5, -0.0, 1e300]);
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(text, "[1.5,-0.0,1e+300]");
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        let tree = ciborium::Value::serialized(&state).unwrap();
        assert_eq!(tree.deserialized::<State>().unwrap(), state);
        let bytes = bytes(state.0.iter().copied());
        assert_eq!(tree, ciborium::Value::Tag(FLOAT64_LE, Box::new(bytes.into())));
    }
}
