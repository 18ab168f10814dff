//! Formats and separators that are recognized, formats that are refused with advice, and columns
//! that look like something else.

use crate::common::{blocks_of, csv, gzip, read};
use kalmia_data::{Block, Encoder, EncoderOptions, Input, Look, Mode, Reader, Remedy};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn rows(name: &str, bytes: &[u8]) -> Vec<Vec<f64>> {
    read(vec![Input::memory(name, bytes)], blocks_of(4), y()).unwrap().rows()
}

fn error(name: &str, bytes: &[u8]) -> String {
    read(vec![Input::memory(name, bytes)], blocks_of(4), y()).unwrap_err().to_string()
}

#[test]
fn separators_json_and_line_ends_are_recognized() {
    let expected = [[1.0, 2.0], [1.0, 4.0]];
    for text in ["y;x\n1;2\n3;4\n", "y\tx\n1\t2\n3\t4\n", "y|x\n1|2\n3|4\n", "y,x\r1,2\r3,4\r"] {
        for name in ["t.csv", "-", "t"] {
            assert_eq!(rows(name, text.as_bytes()), expected, "{name}: {text:?}");
        }
    }
    let json = b" \n{\"y\":1,\"x\":2}\n{\"y\":3,\"x\":4}\n";
    assert_eq!(rows("t", json), expected);
    assert_eq!(rows("t.gz", &gzip(json)), expected);
}

#[test]
fn formats_that_are_not_read_say_what_to_do() {
    let array = b"[\n {\"y\":1}]";
    let advice = "one object per line is expected, this is an array; convert it with: jq -c '.[]' ";
    assert_eq!(error("t.json", array), format!("t.json: {advice}t.json"));
    assert_eq!(error("t", array), format!("t: {advice}t"));
    let mut sheet = b"PK\x03\x04".to_vec();
    sheet.resize(30, 0);
    sheet.extend_from_slice(b"[Content_Types].xml");
    for (bytes, expected) in [
        (&b"BZh91AY&SY"[..], "t.csv: is compressed with bzip2, which is not read; pipe it: bzcat"),
        (b"\xfd7zXZ\0\0\x04", "t.csv: is compressed with xz, which is not read; pipe it: xzcat"),
        (b"PK\x03\x04aaaa", "t.csv: is a zip archive, which is not read; unpack it"),
        (&sheet, "t.csv: is a spreadsheet, which is not read; save it as CSV (UTF-8)"),
        (b"y\0,\0x\0", "t.csv: is encoded as UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
        (b"\xff\xfey\0", "t.csv: is encoded as UTF-16"),
        (
            b"gr\xf6\xdfe,y\n1,2\n",
            "the header is not UTF-8 text; if it is Latin-1, convert it: iconv",
        ),
    ] {
        let error = error("t.csv", bytes);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn nan_and_infinity_of_python_are_understood_in_json() {
    let of = |text: &str| {
        let input = vec![Input::memory("t.jsonl", text.as_bytes())];
        let missing = kalmia_data::Missing::Skip;
        read(input, blocks_of(4), EncoderOptions { missing, ..y() })
    };
    assert_eq!(of("{\"y\":1,\"x\":NaN}\n{\"y\":2,\"x\":3}\n").unwrap().y(), [2.0]);
    for name in ["Infinity", "-Infinity"] {
        let error = of(&format!("{{\"y\":1,\"x\":2}}\n{{\"y\":2,\"x\":{name}}}\n")).unwrap_err();
        let expected = format!("t.jsonl, row 2 (line 2), column `x`: `{name}` is not a finite");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert!(of("{\"y\":1,\"x\":NaNa}\n").is_err());
}

#[test]
fn numbers_in_quotes_are_numbers_in_json_as_in_csv() {
    let json = b"{\"y\":1,\"x\":\"2\"}\n{\"y\":3,\"x\":\"4\"}\n";
    assert_eq!(rows("t.jsonl", json), rows("t.csv", b"y,x\n1,\"2\"\n3,\"4\"\n"));
    assert_eq!(rows("t.jsonl", json), [[1.0, 2.0], [1.0, 4.0]]);
}

#[test]
fn a_number_that_is_too_large_is_shown_as_it_stands() {
    for text in ["y,x\n1,1e400\n", "y,x\n1,2\n1,2\n1,2\n1,2\n1,1e400\n"] {
        let error = csv(text, y()).unwrap_err().to_string();
        assert!(error.contains("column `x`: `1e400` is not a finite number"), "{error}");
    }
}

#[test]
fn columns_in_another_notation_are_remarked() {
    let rows: String =
        (0..60).map(|i| format!("{i},{i}%,\"1,{}\",0123{i},{}\n", i % 3, i % 7)).collect();
    let text = format!("y,share,price,zip,plain\n{rows}");
    let reading = read(vec![Input::memory("t.csv", text.into_bytes())], blocks_of(100), y());
    let reading = reading.unwrap();
    let remarks: Vec<_> =
        reading.encoder.remarks().iter().map(|r| (&*r.column, r.look, &*r.example)).collect();
    assert_eq!(
        remarks,
        [
            ("share", Look::Percent, "0%"),
            ("price", Look::DecimalComma, "1,0"),
            ("zip", Look::LeadingZeros, "01230"),
        ]
    );
}

#[test]
fn a_target_with_decimal_commas_and_a_placeholder_have_their_remedies() {
    let error = csv("y;x\n1,5;2\n2,5;3\n3,5;4\n", y()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv, column `y`: most values look like numbers with a comma (`1,5`); write them with a \
         point, or read them with a decimal comma"
    );
    assert_eq!(error.remedy(), Some(Remedy::DecimalComma));
    let rows: String = (0..20).map(|i| format!("{i},{i}\n")).collect();
    let input = vec![Input::memory("t.csv", format!("y,x\n{rows}1,?\n").into_bytes())];
    let error = read(input, blocks_of(100), y()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::MissingText { value: "?" }));
}

#[test]
fn the_target_cannot_be_excluded() {
    let options = EncoderOptions { exclude: vec!["y".into()], ..y() };
    let error = csv("y,x\n1,2\n", options).unwrap_err().to_string();
    assert_eq!(error, "column `y` is both excluded and the target; give it one of the two roles");
    let options = EncoderOptions { features: Some(vec!["x".into(), "x".into()]), ..y() };
    let error = csv("y,x\n1,2\n", options).unwrap_err().to_string();
    assert_eq!(error, "column `x` is named twice as a feature; name it once");
}

#[cfg(feature = "columnar")]
#[test]
fn a_footer_that_declares_too_many_columns_is_refused() {
    for bytes in [
        &include_bytes!("../files/huge_schema.parquet")[..],
        // the count stands in a field of another type
        include_bytes!("../files/huge_schema_retyped.parquet"),
    ] {
        let error = error("t.parquet", bytes);
        assert_eq!(error, "t.parquet: not readable as Parquet: its footer is damaged");
    }
}

#[cfg(feature = "columnar")]
#[test]
fn a_compression_that_is_not_built_in_is_named() {
    let error = error("t.parquet", include_bytes!("../files/brotli.parquet"));
    for part in ["t.parquet", "is compressed with brotli, which is not read", "zstd"] {
        assert!(error.contains(part), "{error}");
    }
}

/// One bit of a value differs from what its page's checksum says.
#[cfg(feature = "columnar")]
#[test]
fn checksums_of_parquet_pages_are_verified() {
    let error = error("t.parquet", include_bytes!("../files/damaged_page.parquet"));
    assert!(error.contains("t.parquet") && error.to_lowercase().contains("crc"), "{error}");
}

#[test]
fn columns_without_a_name_and_texts_among_weights_are_explained() {
    let error = csv("y,x,\n1,2,\n2,3,\n", y()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv, column `c3`: column 3 has no name in the header, and the first rows are empty there"
    );
    assert_eq!(error.remedy(), Some(Remedy::Exclude { column: "c3" }));
    let options = EncoderOptions { weight: Some("w".into()), ..y() };
    let error = csv("y,x,w\n1,2,abc\n", options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv, row 1 (line 2), column `w`: `abc` is not a number, but the column gives the \
         weights; fix the value, or name another column"
    );
    assert_eq!(error.remedy(), None);
}

/// Among targets a text calls for other remedies than among features.
#[test]
fn texts_among_targets_and_infinite_values_are_explained() {
    let rows: String = (0..40).map(|i| format!("{i},{}\n", i % 7)).collect();
    let error = csv(&format!("y,x\n{rows}3.x1,2\n"), y()).unwrap_err();
    assert!(error.to_string().contains("`3.x1` is not a number, unlike other targets"), "{error}");
    assert_eq!(error.remedy(), Some(Remedy::NumberTarget { column: "y" }));
    let error = csv(&format!("y,x\n{rows}?,2\n"), y()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::MissingNumber { value: "?" }));
    let error = csv(&format!("y,x\n{rows}1,inf\n"), y()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::MissingNumber { value: "inf" }));
    let error = csv(&format!("y,x\n{rows}1\n"), y()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::BadRows));
    let error = csv(&format!("y,x\n{}", "no,2\n".repeat(40)), y()).unwrap_err();
    assert_eq!(error.remedy(), Some(Remedy::SingleLabel { column: "y" }));
}

/// A download that was unpacked on the way keeps its name; a model is no data.
#[test]
fn content_decides_where_a_name_is_wrong() {
    for name in ["t.csv.gz", "t.csv.zst"] {
        assert_eq!(rows(name, b"y,x\n1,2\n3,4\n"), [[1.0, 2.0], [1.0, 4.0]], "{name}");
    }
    let model = b"\x98\x3a\0\0\0\0\0\0{\"__metadata__\":{\"kalmia\":\"1\"}}";
    let error = error("m.kalmia", model);
    assert!(error.starts_with("m.kalmia: is a model file, not rows; give"), "{error}");
}

#[test]
fn a_json_member_that_comes_late_is_reported_once() {
    let rows = "{\"y\":1,\"x\":2,\"left\":3}\n".repeat(5);
    let text = format!("{rows}{{\"y\":1,\"x\":2,\"new\":3}}\n{{\"y\":1,\"x\":2,\"newer\":3}}\n");
    let mut encoder = Encoder::new(EncoderOptions { exclude: vec!["left".into()], ..y() });
    let input = vec![Input::memory("t.jsonl", text.into_bytes())];
    let mut reader = Reader::open(input, blocks_of(2), &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    while reader.next_block(&mut encoder, &mut block).unwrap() {}
    let late = reader.late_member().unwrap();
    assert_eq!((&*late.name, late.at.row, late.at.line), ("new", 6, Some(6)));
}
