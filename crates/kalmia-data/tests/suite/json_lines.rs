//! JSON documents as JSON Lines: strings are respected, structure is checked, nothing panics.

use std::collections::BTreeMap;

use crate::common::cases;
use kalmia_data::{Error, json_lines};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The values of the lines.
fn lines(body: &str) -> Vec<Value> {
    let mut bytes = body.as_bytes().to_vec();
    json_lines("body", &mut bytes).unwrap_or_else(|error| panic!("{body}: {error}"));
    assert_eq!(bytes.len(), body.len(), "in place");
    let text = String::from_utf8(bytes).unwrap();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn refused(body: &[u8]) -> String {
    json_lines("body", &mut body.to_vec()).unwrap_err().to_string()
}

#[test]
fn arrays_and_objects_become_lines() {
    let nasty = json!([
        {"a": "br[ace]s {}, and, commas", "b": "quote \" and slash \\"},
        {"a": "ends with \\", "b": "\\\"", "c": "tab\t newline\n", "é\u{2028}": "日本 🦀"},
        {},
        {"nested": {"list": [1, [2, {"x": "],["}]]}, "empty": "", "n": -1.5e-7},
    ]);
    let Value::Array(elements) = &nasty else { unreachable!() };
    let pretty = serde_json::to_string_pretty(&nasty).unwrap();
    assert_eq!(lines(&nasty.to_string()), *elements);
    assert_eq!(lines(&pretty), *elements);
    assert_eq!(lines(&pretty.replace('\n', "\r\n")), *elements);
    assert_eq!(lines(&format!("\u{feff} \n{pretty}\n \t")), *elements);
    for element in elements {
        let one = std::slice::from_ref(element);
        assert_eq!(lines(&element.to_string()), one);
        assert_eq!(lines(&serde_json::to_string_pretty(element).unwrap()), one);
    }
    // JSON Lines stay what they are
    assert_eq!(lines("{\"a\":1}\n{\"a\":2}\r\n\n{\"a\":3}"), [1, 2, 3].map(|a| json!({"a": a})));
}

#[test]
fn broken_structure_is_refused_with_its_place() {
    let empty = |body: &[u8]| json_lines("body", &mut body.to_vec());
    assert!(matches!(empty(b"[]"), Err(Error::NoRows { .. })));
    assert!(matches!(empty(b" [ \n ] "), Err(Error::NoRows { .. })));
    assert!(matches!(empty(b""), Err(Error::Empty { .. })));
    assert!(matches!(empty(b" \n\t"), Err(Error::Empty { .. })));
    for (body, said) in [
        ("[{\"a\":1},\n{\"a\":2},]", "body, row 3 (line 2): "),
        ("[,{}]", "row 1 (line 1)"),
        ("[{}", "the array is never closed"),
        ("[", "the array is never closed"),
        ("[{\"a\": \"x]", "a string is never closed"),
        ("[{\"a\": \"x\\", "a string is never closed"),
        ("[{}]]", "something follows the end of the array"),
        ("[{}] {}", "something follows the end of the array"),
        ("[}]", "a closing brace has no opening one"),
        ("[\n{\"a\": \"x\ny\"}]", "body, row 1 (line 2): "),
    ] {
        let error = refused(body.as_bytes());
        assert!(error.contains(said), "{body}: {error}");
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_rows_come_back(
        rows in prop::collection::vec(
            prop::collection::btree_map(".{0,6}", prop_oneof![
                ".{0,12}".prop_map(Value::from),
                any::<i64>().prop_map(Value::from),
                any::<bool>().prop_map(Value::from),
                Just(Value::Null),
            ], 0..5),
            1..6,
        ),
    ) {
        let object = |row: BTreeMap<_, _>| Value::Object(row.into_iter().collect());
        let rows: Vec<Value> = rows.into_iter().map(object).collect();
        let array = Value::Array(rows.clone());
        prop_assert_eq!(lines(&array.to_string()), rows.clone());
        prop_assert_eq!(lines(&serde_json::to_string_pretty(&array).unwrap()), rows);
    }

    #[test]
    fn any_bytes_do_no_harm(
        bytes in prop::collection::vec(prop_oneof![
            Just(b'['), Just(b']'), Just(b'{'), Just(b'}'), Just(b','), Just(b'"'), Just(b'\\'),
            Just(b'\n'), Just(b' '), any::<u8>(),
        ], 0..40),
    ) {
        let mut body = bytes.clone();
        let _ = json_lines("body", &mut body);
        prop_assert_eq!(body.len(), bytes.len());
    }
}
