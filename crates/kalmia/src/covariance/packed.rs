//! Serializes a large array of numbers as one byte string in binary formats.
//!
//! For state fields, as `#[serde(with = "crate::covariance::packed")]`: model files are built from
//! a tree of values, which would take 32 bytes for each number of a plain `Vec`. Text formats see
//! an ordinary array.

use ciborium::tag::Captured;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The type of the numbers of a packed array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberType {
    F64,
    F32,
    U32,
}

impl NumberType {
    pub const ALL: [Self; 3] = [Self::F64, Self::F32, Self::U32];

    /// The CBOR tag of a little-endian array (RFC 8746).
    pub fn tag(self) -> u64 {
        match self {
            Self::F64 => 86,
            Self::F32 => 85,
            Self::U32 => 70,
        }
    }

    /// The name in the header of a model file (safetensors).
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::U32 => "U32",
        }
    }

    /// Bytes per number.
    pub fn size(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::U32 => 4,
        }
    }
}

/// A number that can be packed.
pub(crate) trait Packed: Copy + Serialize + for<'de> Deserialize<'de> {
    const TYPE: NumberType;
    type Bytes: AsRef<[u8]>;

    fn bytes(self) -> Self::Bytes;

    /// The number of as many bytes as the type has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! packed {
    ($($number:ty: $kind:ident),*) => {$(
        impl Packed for $number {
            const TYPE: NumberType = NumberType::$kind;
            type Bytes = [u8; size_of::<$number>()];

            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$number>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

packed!(f64: F64, f32: F32, u32: U32);

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

/// The numbers of little-endian bytes; a rest of fewer bytes than a number has is ignored.
pub(crate) fn numbers<T: Packed>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> {
    bytes.chunks_exact(T::TYPE.size()).map(T::from_bytes)
}

/// The inverse of [`numbers`].
pub(crate) fn bytes<T: Packed>(numbers: impl Iterator<Item = T>) -> Vec<u8> {
    let mut all = Vec::with_capacity(numbers.size_hint().0 * T::TYPE.size());
    numbers.for_each(|number| all.extend_from_slice(number.bytes().as_ref()));
    all
}

/// For `#[serde(with)]`.
pub(crate) fn serialize<T: Packed, S: Serializer>(
    array: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return array.serialize(serializer);
    }
    let bytes = bytes(array.iter().copied());
    Captured(Some(T::TYPE.tag()), Bytes(bytes.as_slice())).serialize(serializer)
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, T: Packed, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    if deserializer.is_human_readable() {
        return Vec::deserialize(deserializer);
    }
    let Captured(tag, Bytes(bytes)) = Captured::deserialize(deserializer)?;
    if tag != Some(T::TYPE.tag()) {
        return Err(D::Error::custom("an array of another type of numbers"));
    }
    if bytes.len() % T::TYPE.size() != 0 {
        return Err(D::Error::invalid_length(bytes.len(), &"whole numbers"));
    }
    Ok(numbers(&bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct State {
        #[serde(with = "super")]
        wide: Vec<f64>,
        #[serde(with = "super")]
        narrow: Vec<f32>,
        #[serde(with = "super")]
        whole: Vec<u32>,
    }

    #[test]
    fn text_formats_see_an_array_and_binary_ones_a_byte_string() {
        let wide = vec![1.5, -0.0, 1e300];
        let state = State { wide, narrow: vec![0.1, -2.0], whole: vec![0, u32::MAX] };
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(
            text,
            r#"{"wide":[1.5,-0.0,1e+300],"narrow":[0.1,-2.0],"whole":[0,4294967295]}"#
        );
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        let tree = ciborium::Value::serialized(&state).unwrap();
        assert_eq!(tree.deserialized::<State>().unwrap(), state);
        let bytes = bytes(state.wide.iter().copied());
        let tagged = ciborium::Value::Tag(NumberType::F64.tag(), Box::new(bytes.into()));
        assert_eq!(tree.as_map().unwrap()[0].1, tagged);
    }
}
