//! Tests that damaged, cut, foreign and newer files are refused, and files of another kind.

use super::{CHECKSUM, edited, metadata, reseal, small};
use crate::common::property;
use kalmia::file::{self, FileError, Metadata, ModelFile, Problem};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

fn problem(bytes: &[u8]) -> Problem {
    ModelFile::from_bytes(bytes).expect_err("this must be refused")
}

#[test]
fn every_change_of_every_byte_is_refused() {
    let mut bytes = small();
    for i in 0..bytes.len() {
        let right = bytes[i];
        for wrong in (0..=255).filter(|&wrong| wrong != right) {
            bytes[i] = wrong;
            assert!(ModelFile::from_bytes(&bytes).is_err(), "byte {i}, {right} changed to {wrong}");
        }
        bytes[i] = right;
    }
    assert!(ModelFile::from_bytes(&bytes).is_ok());
}

#[test]
fn an_intact_file_is_sealed_by_the_documented_rule() {
    let mut bytes = small();
    bytes[CHECKSUM].fill(b'0');
    assert!(matches!(problem(&bytes), Problem::Checksum { .. }));
    reseal(&mut bytes);
    assert_eq!(bytes, small());
}

#[test]
fn every_truncation_and_every_extra_byte_is_refused() {
    let bytes = small();
    let whole = bytes.len() as u64;
    for len in 0..bytes.len() {
        match problem(&bytes[..len]) {
            Problem::Truncated { expected, found } => {
                assert!(found == len as u64 && expected > found && expected <= whole)
            }
            other => panic!("{len} bytes: {other}"),
        }
    }
    for extra in [1, 8, 1000] {
        let long = [bytes.clone(), vec![0; extra]].concat();
        assert_eq!(problem(&long), Problem::Trailing { extra: extra as u64 });
    }
}

#[test]
fn a_newer_format_is_refused_with_both_versions() {
    let newer =
        edited(&edited(&small(), r#""format":"1""#, r#""format":"2""#), file::VERSION, "77.1.2");
    let problem = problem(&newer);
    assert_eq!(problem, Problem::Newer { found: 2, supported: 1, version: "77.1.2".into() });
    let text = problem.to_string();
    assert!(
        text.contains("77.1.2") && text.contains(file::VERSION) && text.contains("update kalmia"),
        "{text}"
    );
}

#[test]
fn another_kind_or_another_type_is_refused() {
    let file = ModelFile::from_bytes(&small()).unwrap();
    let found = file.state::<()>("filter").unwrap_err();
    assert_eq!(found, Problem::Kind { expected: "filter".into(), found: "small".into() });
    let misfit = |problem| match problem {
        Problem::State { at, message } => (at, message),
        other => panic!("{other}"),
    };
    assert_eq!(misfit(file.state::<(u64, u64, f64, Vec<f64>)>("small").unwrap_err()).0, "1");
    assert_eq!(
        misfit(file.state::<(u64, String, f64, Vec<String>)>("small").unwrap_err()).0,
        "3.0"
    );
    let (at, message) = misfit(file.state::<(u64, String, f64, [f64; 16])>("small").unwrap_err());
    assert!(at == "3" && message.contains("17"), "{at}: {message}");
}

#[test]
fn the_place_of_a_misfit_is_named() {
    let state = BTreeMap::from([("a", BTreeMap::from([("b", [Some(1.5), None])]))]);
    let file = ModelFile::new("nested", &state, Metadata::default()).unwrap();
    let inside = file.state::<BTreeMap<String, BTreeMap<String, Vec<f64>>>>("nested").unwrap_err();
    let message = "invalid type: null, expected f64".into();
    assert_eq!(inside, Problem::State { at: "a.b.1".into(), message });
    let key = file.state::<BTreeMap<u32, ()>>("nested").unwrap_err();
    let message = "invalid type: string \"a\", expected u32".into();
    assert_eq!(key, Problem::State { at: "a".into(), message });
    let whole = file.state::<bool>("nested").unwrap_err();
    let message = "invalid type: map, expected a boolean".into();
    assert_eq!(whole, Problem::State { at: "state".into(), message });
}

#[test]
fn a_sealed_but_malformed_file_is_refused() {
    let tensor = r#"{"data_offsets":[8,144],"dtype":"F64","shape":[17]}"#;
    let cases = [
        (r#""format":"1""#, r#""format":"0""#),
        (r#""format":"1""#, r#""format":"one""#),
        (r#""format":"1""#, r#""form":"1""#),
        (r#""metadata":"{"#, r#""metadata":"[{"#),
        (r#""state":"["#, r#""state":"[["#),
        (r#""shape":[17]"#, r#""shape":[16]"#),
        (r#""shape":[17]"#, r#""shape":[17,1]"#),
        (r#""shape":[17]"#, r#""shape":[2305843009213693969]"#),
        (r#""dtype":"F64""#, r#""dtype":"F32""#),
        ("[8,144]", "[0,144]"),
        ("[8,144]", "[144,8]"),
        ("[8,144]", "[8,18446744073709551615]"),
        (tensor, "7"),
    ];
    for (from, to) in cases {
        match problem(&edited(&small(), from, to)) {
            Problem::Header(_) | Problem::Truncated { .. } => {}
            other => panic!("{from} changed to {to}: {other}"),
        }
    }
    type State = (u64, String, f64, Vec<f64>);
    for (from, to) in [
        (r#"tensor\":\"3"#, r#"tensor\":\"4"#),
        ("$tensor", "$other"),
        (r#"{\"$tensor\":\"3\"}"#, r#"{\"$tensor\":3}"#),
    ] {
        let file = ModelFile::from_bytes(&edited(&small(), from, to)).unwrap();
        assert!(
            matches!(file.state::<State>("small"), Err(Problem::State { .. })),
            "{from} changed to {to}"
        );
    }
    let file = ModelFile::from_bytes(&edited(&small(), "text", "TEXT")).unwrap();
    assert_eq!(file.state::<State>("small").unwrap().1, "TEXT");
}

proptest! {
    #![proptest_config(property(5, 2000))]

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200), length in 0u64..400) {
        prop_assert!(ModelFile::from_bytes(&bytes).is_err());
        // the same after a valid start, with a length that may be right or absurd
        for length in [length, u64::MAX - length] {
            let start = [&length.to_le_bytes()[..], &small()[8..CHECKSUM.end], &bytes].concat();
            prop_assert!(ModelFile::from_bytes(&start).is_err());
        }
    }

    #[test]
    fn no_sealed_damage_panics(places in vec((any::<Index>(), any::<u8>()), 1..6)) {
        let mut bytes = small();
        let len = bytes.len();
        for (place, byte) in places {
            bytes[place.index(len)] = byte;
        }
        reseal(&mut bytes);
        if let Ok(file) = ModelFile::from_bytes(&bytes) {
            let _ = file.state::<(u64, String, f64, Vec<f64>)>("small");
        }
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("kalmia-file-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn errors_name_the_path() {
    let folder = folder("errors");
    let path = folder.join("model.kalmia");
    let error = file::load::<()>(&path, "small").unwrap_err();
    assert!(matches!(error, FileError::Read { .. }) && error.to_string().contains("model.kalmia"));
    fs::write(&path, "row,target\n1,2\n").unwrap();
    let error = file::load::<()>(&path, "small").unwrap_err();
    assert!(
        matches!(error, FileError::Content { problem: Problem::NotAModel, .. })
            && error.to_string().contains("model.kalmia")
    );
    assert!(matches!(file::load::<()>(&folder, "small"), Err(FileError::Read { .. })));
    let error = file::save(folder.join("none/model.kalmia"), "small", &1, metadata()).unwrap_err();
    assert!(matches!(error, FileError::Write { .. }) && error.to_string().contains("none"));
    fs::remove_dir_all(folder).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_device_is_not_read_to_its_end() {
    let error = ModelFile::read("/dev/zero").unwrap_err();
    assert!(matches!(error, FileError::Content { problem: Problem::NotAModel, .. }), "{error}");
    let error = file::save("/dev/full", "small", &1, metadata()).unwrap_err();
    assert!(matches!(error, FileError::Write { .. }), "{error}");
}

/// A disk with room for `left` bytes.
struct Disk {
    left: usize,
}

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.left);
        self.left -= taken;
        if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_at_any_byte_is_an_error() {
    let bytes = small();
    let file = ModelFile::from_bytes(&bytes).unwrap();
    for left in 0..bytes.len() {
        assert!(file.write_to(&mut Disk { left }).is_err(), "{left} bytes");
    }
    file.write_to(&mut Disk { left: bytes.len() }).unwrap();
}
