//! Tests that states come back bit for bit.

use super::{metadata, small};
use crate::common::property;
use kalmia::file::{self, Metadata, ModelFile, Problem};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// A number that compares by its bits, NaN included.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
struct Bits(f64);

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Tree {
    Nothing,
    Flag(bool),
    Count(u64),
    Signed(i64),
    Number(Bits),
    Small(f32),
    Text(String),
    Maybe(Option<Bits>),
    Floats(Vec<Bits>),
    Maybes(Vec<Option<Bits>>),
    Pair(Bits, u8),
    List(Vec<Tree>),
    Named(BTreeMap<String, Tree>),
    Numbered(BTreeMap<i32, Tree>),
    Record { theta: Vec<Bits>, inner: Box<Tree>, tagged: Tagged },
}

/// Internally tagged, as families and rules are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Off,
    Walk { variances: Vec<Bits> },
}

fn bits() -> impl Strategy<Value = Bits> {
    let special = [
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::from_bits(0x7ff8_0000_dead_beef),
        5e-324,
        f64::MAX,
        1e16,
        0.1,
    ];
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        proptest::sample::select(special.to_vec()),
        any::<i32>().prop_map(f64::from)
    ]
    .prop_map(Bits)
}

fn floats() -> impl Strategy<Value = Vec<Bits>> {
    proptest::collection::vec(bits(), 0..40)
}

/// Keys that look like references to tensors, and like paths.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(
            &["$tensor", "$", "$$", "a", "a.b", "b", "__metadata__", "0", "", "'"][..]
        )
        .prop_map(String::from),
        ".*"
    ]
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Nothing),
        any::<bool>().prop_map(Tree::Flag),
        any::<u64>().prop_map(Tree::Count),
        any::<i64>().prop_map(Tree::Signed),
        bits().prop_map(Tree::Number),
        any::<f32>().prop_map(Tree::Small),
        ".*".prop_map(Tree::Text),
        proptest::option::of(bits()).prop_map(Tree::Maybe),
        floats().prop_map(Tree::Floats),
        proptest::collection::vec(proptest::option::weighted(0.9, bits()), 0..40)
            .prop_map(Tree::Maybes),
        (bits(), any::<u8>()).prop_map(|(a, b)| Tree::Pair(a, b)),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let tagged = prop_oneof![
            Just(Tagged::Off),
            floats().prop_map(|variances| Tagged::Walk { variances })
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Tree::List),
            proptest::collection::btree_map(keys(), inner.clone(), 0..5).prop_map(Tree::Named),
            proptest::collection::btree_map(any::<i32>(), inner.clone(), 0..5)
                .prop_map(Tree::Numbered),
            (floats(), inner, tagged).prop_map(|(theta, inner, tagged)| Tree::Record {
                theta,
                inner: inner.into(),
                tagged
            }),
        ]
    })
}

proptest! {
    #![proptest_config(property(4, ProptestConfig::default().cases))]

    #[test]
    fn any_state_comes_back(tree in trees()) {
        let bytes = ModelFile::new("tree", &tree, metadata()).unwrap().to_bytes();
        let file = ModelFile::from_bytes(&bytes).unwrap();
        prop_assert_eq!((file.kind(), file.version()), ("tree", file::VERSION));
        prop_assert_eq!(file.metadata(), &metadata());
        prop_assert_eq!(&file.state::<Tree>("tree").unwrap(), &tree);
        prop_assert_eq!(file.to_bytes(), bytes);
    }

    #[test]
    fn arrays_of_every_length_come_back(numbers in floats(), exact in any::<[u64; 3]>()) {
        let state = (numbers, exact);
        let file = ModelFile::new("pair", &state, Metadata::new()).unwrap();
        prop_assert_eq!(file.state::<(Vec<Bits>, [u64; 3])>("pair").unwrap(), state);
    }
}

#[test]
fn the_header_is_aligned_and_numbers_are_where_it_says() {
    let bytes = small();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!(length % 8, 0);
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let data = &bytes[8 + length..];
    assert_eq!(
        header["2"],
        serde_json::json!({"dtype": "F64", "shape": [], "data_offsets": [0, 8]})
    );
    assert_eq!(data[..8], f64::INFINITY.to_le_bytes());
    assert_eq!(
        header["3"],
        serde_json::json!({"dtype": "F64", "shape": [17], "data_offsets": [8, 144]})
    );
    assert_eq!(data[16..24], (1.0f64 / 3.0).to_le_bytes());
    assert_eq!(data.len(), 144);
    let state = r#"[18446744073709551615,"text",{"$tensor":"2"},{"$tensor":"3"}]"#;
    assert_eq!(header["__metadata__"]["state"], state);
}

/// What serde calls bytes is an array of whole numbers in the file, never an array of floats.
#[test]
fn byte_strings_are_stored_as_whole_numbers() {
    struct Bytes([u8; 16]);
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }
    let bytes: [u8; 16] = std::array::from_fn(|i| 17 * i as u8);
    let file = ModelFile::new("bytes", &Bytes(bytes), Metadata::new()).unwrap();
    assert_eq!(file.state::<[u8; 16]>("bytes").unwrap(), bytes);
    assert!(file.state::<String>("bytes").is_err());
}

#[test]
fn the_order_of_a_hash_map_does_not_show() {
    let entries: Vec<(String, Vec<f64>)> =
        (0..50).map(|i| (format!("key {i}"), vec![f64::from(i); 20])).collect();
    // each map has its own random order
    let bytes = |reverse: bool| {
        let map: HashMap<_, _> = if reverse {
            entries.iter().rev().cloned().collect()
        } else {
            entries.iter().cloned().collect()
        };
        ModelFile::new("map", &map, Metadata::new()).unwrap().to_bytes()
    };
    assert_eq!(bytes(false), bytes(true));
}

#[test]
fn what_cannot_be_stored_is_named() {
    let refused = |problem: Problem, place: &str, word: &str| match problem {
        Problem::Unstorable { at, message } => {
            assert!(at == place && message.contains(word), "{at}: {message}")
        }
        other => panic!("{other}"),
    };
    let keys = BTreeMap::from([("a", BTreeMap::from([((1, 2), 3)]))]);
    refused(ModelFile::new("x", &keys, Metadata::new()).unwrap_err(), "a", "key");
    let large = BTreeMap::from([("wide", (0, u128::MAX))]);
    refused(ModelFile::new("x", &large, Metadata::new()).unwrap_err(), "wide.1", "128");
    let mut deep = serde_json::json!(1);
    for _ in 0..120 {
        deep = serde_json::json!([deep]);
    }
    refused(
        ModelFile::new("x", &deep, Metadata::new()).unwrap_err(),
        &["0"; 101].join("."),
        "deeper",
    );
    let deep = Metadata::from_iter([("deep".to_owned(), deep)]);
    refused(ModelFile::new("x", &(), deep).unwrap_err(), "metadata", "deeper");
}
