//! Input that is wrong, huge or malicious gives an error that names the place, or works; never a
//! panic.

use crate::common::{Table, blocks_of, csv, gzip, read};
use kalmia_data::{
    Block, Encoder, EncoderOptions, Error, Format, Input, Missing, Mode, Reader, Remedy,
    SourceOptions, WideRows,
};
use proptest::prelude::*;

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn error_of(text: &[u8]) -> String {
    read(vec![Input::memory("t.csv", text)], blocks_of(4), y()).unwrap_err().to_string()
}

#[test]
fn malformed_csv_is_refused_with_its_place() {
    for (text, expected) in [
        (&b""[..], "t.csv is empty"),
        (b"\n\n", "t.csv is empty"),
        (b"y,x\n", "t.csv has no data rows"),
        (b"y,x\n1,2\n3\n", "t.csv, row 2 (line 3): 1 fields where the header has 2"),
        (b"y,x\n\n1,2,3\n", "t.csv, row 1 (line 3): 3 fields where the header has 2"),
        (b"y,x\n1,\"2\n3,4\n", "t.csv, row 1 (line 2): a quoted field is never closed"),
        (b"y,x\n1,\"a\"b\n", "t.csv, row 1 (line 2): text after a closing quote"),
        (b"y,y\n1,2\n", "the header names column `y` twice"),
        (b"y,x\n1,a\n2,\xff\xfe\n", "t.csv, row 2 (line 3): column `x` is not valid UTF-8"),
        (b"y,\xff\n1,a\n", "the header is not UTF-8 text"),
        (b"y,\0\n1,a\n", "the header is not UTF-8 text"),
        (b"\xff\xfey\0,\0", "is encoded as UTF-16"),
    ] {
        let error = error_of(text);
        assert!(error.contains(expected), "{error:?} for {expected:?}");
    }
    assert_eq!(
        csv("\u{feff}y,x\r\n1,2\r\n", y()).unwrap().rows(),
        [[1.0, 2.0]],
        "a byte-order mark is passed over"
    );
    assert_eq!(csv("y,x\n1,a\0\n2,b\n", y()).unwrap().names(), ["(intercept)", "x=b"]);
}

#[test]
fn a_contradicting_value_far_down_is_named() {
    for (before, bad, column, value) in [
        (3_000_000, "1,abc,true\n", "x", "abc"),
        (5_000, "1,5,maybe\n", "flag", "maybe"),
        (5_000, "?,5,true\n", "y", "?"),
    ] {
        for threaded in [false, true] {
            let source = SourceOptions { threaded, ..SourceOptions::default() };
            let bytes = ["y,x,flag\n", &"1,2,true\n".repeat(before), bad].concat().into_bytes();
            let inputs = vec![Input::memory("t.csv", bytes)];
            let mut encoder = Encoder::new(y());
            let mut reader = Reader::open(inputs, source, &mut encoder, Mode::Learn).unwrap();
            let mut block = Block::new();
            let error = loop {
                match reader.next_block(&mut encoder, &mut block) {
                    Ok(more) => assert!(more, "the bad row must be noticed"),
                    Err(error) => break error.to_string(),
                }
            };
            let expected = format!(
                "t.csv, row {} (line {}), column `{column}`: `{value}` is n",
                before + 1,
                before + 2
            );
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn malformed_json_lines_are_refused_with_their_place() {
    let of = |text: &str| {
        let input = Input::memory("t.jsonl", text.as_bytes());
        read(vec![input], SourceOptions { threaded: false, ..blocks_of(1) }, y())
            .unwrap_err()
            .to_string()
    };
    assert!(
        of("{\"y\":1,\"x\":2}\n{\"y\":1,\n").contains("t.jsonl, row 2 (line 2): not a JSON object")
    );
    assert!(
        of("{\"y\":1,\"x\":2}\n\n{\"y\":1,\"x\":true}\n")
            .contains("row 2 (line 3), column `x`: `true` is not a number")
    );
    assert!(of("{\"y\":1,\"x\":[2]}\n").contains("flatten or exclude it"));
    assert!(of("{\"y\":1,\"x\":2,\"x\":3}\n").contains("member `x` appears twice"));
    assert!(
        of("{\"y\":1,\"x\":2}\n{\"y\":1}\n").contains("row 2 (line 2), column `x`: missing value")
    );
    assert!(of("[1,2]\n").contains("this is an array"));
    assert!(of("1\n").contains("no JSON object"));
    assert!(of("").contains("is empty"));
    let deep = format!("{{\"y\":1,\"x\":{}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(of(&deep).contains("row 1"));
}

#[test]
fn a_million_columns_and_endless_lines_hit_limits() {
    let header: String = (0..1_000_000).map(|i| format!("c{i},")).collect::<String>() + "y\n";
    let row = "1,".repeat(1_000_000) + "2\n";
    let input = || vec![Input::memory("t.csv", (header.clone() + &row + &row).into_bytes())];
    let error = read(input(), blocks_of(4), y()).unwrap_err();
    assert!(error.to_string().contains("1000000 feature columns"), "{error}");
    assert_eq!(error.remedy(), Some(Remedy::ChooseColumns));
    let some = EncoderOptions { features: Some(vec!["c999999".into()]), ..y() };
    assert_eq!(read(input(), blocks_of(4), some).unwrap().rows(), [[1.0, 1.0], [1.0, 1.0]]);
    let few = SourceOptions { max_columns: 100, ..blocks_of(4) };
    assert!(matches!(read(input(), few, y()), Err(Error::Header { .. })));

    let long = || [&b"y,x\n1,2\n1,"[..], &vec![b'7'; 100 << 20]].concat();
    for name in ["t.csv", "t.svm", "t.jsonl"] {
        let error =
            read(vec![Input::memory(name, long())], blocks_of(4), EncoderOptions::default());
        assert!(error.is_err());
    }
    let error = read(vec![Input::memory("t.csv", long())], blocks_of(4), y()).unwrap_err();
    assert!(
        matches!(&error, Error::LineTooLong { at, .. } if at.row == 2 && at.line == Some(3)),
        "{error}"
    );
    let mut quote = b"y,x\n1,\"".to_vec();
    quote.extend(b"abc,def\n".repeat(1 << 20));
    let source = SourceOptions { max_line_bytes: 1 << 20, ..blocks_of(4) };
    let error = read(vec![Input::memory("t.csv.gz", gzip(&quote))], source, y()).unwrap_err();
    assert!(error.to_string().contains("a quote may never be closed"), "{error}");
}

#[test]
fn damaged_compression_is_an_error() {
    let good = gzip(b"y,x\n1,2\n");
    for bytes in [&good[..good.len() - 6], b"not gzip at all", &[0x1f, 0x8b]] {
        assert!(read(vec![Input::memory("t.csv.gz", bytes)], blocks_of(4), y()).is_err());
        assert!(read(vec![Input::memory("t.csv.zst", bytes)], blocks_of(4), y()).is_err());
    }
}

/// Reads everything under a policy that lets as much through as there is.
fn try_all(name: &str, bytes: &[u8], format: Option<Format>, chunk: usize) {
    let source = SourceOptions {
        format,
        chunk_bytes: chunk,
        max_line_bytes: 1 << 16,
        threaded: false,
        ..blocks_of(4)
    };
    let first = String::from_utf8_lossy(bytes)
        .split([',', '\n', '\t'])
        .next()
        .unwrap_or("")
        .trim()
        .to_owned();
    let forms = [(WideRows::Never, None), (WideRows::Always, None), (WideRows::Auto, Some(3))];
    for (target, (wide, hash_bits)) in
        [Some(first), Some("y".to_owned()), None].iter().flat_map(|t| forms.map(|form| (t, form)))
    {
        let options = EncoderOptions {
            target: target.clone(),
            wide,
            hash_bits,
            missing: Missing::Mean,
            max_features: 64,
            ..EncoderOptions::default()
        };
        let inputs = vec![Input::memory(name, bytes)];
        let mut encoder = Encoder::new(options);
        let before = encoder.clone();
        let Ok(mut reader) = Reader::open(inputs, source.clone(), &mut encoder, Mode::Learn) else {
            assert_eq!(encoder, before, "a refused opening changes nothing");
            continue;
        };
        let mut block = Block::new();
        while let Ok(true) = reader.next_block(&mut encoder, &mut block) {
            let (values, count) = match &block.sparse {
                None => (&block.x, block.dim * block.rows()),
                Some(rows) => (&rows.values, rows.indices.len()),
            };
            assert_eq!((values.len(), block.sparse.is_some()), (count, encoder.is_wide()));
            assert!(values.iter().all(|v| v.is_finite()), "only finite features get through");
        }
    }
}

const TEXT_FORMATS: [Format; 4] = [Format::Csv, Format::Tsv, Format::Jsonl, Format::Libsvm];

proptest! {
    #![proptest_config(crate::common::cases(256))]

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        chunk in 1usize..64,
    ) {
        TEXT_FORMATS.into_iter().for_each(|format| try_all("t", &bytes, Some(format), chunk));
        for name in ["t", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow"] {
            try_all(name, &bytes, None, chunk);
        }
    }

    #[test]
    fn near_tables_never_panic(
        text in "y,a\n([0-9a,\"\n\r.\\-e ntruNA]{0,60})",
        chunk in 1usize..64,
    ) {
        try_all("t.csv", text.as_bytes(), None, chunk);
    }

    #[test]
    fn near_json_never_panics(
        text in r#"(\{"y":[0-9tnul".]{1,4}(,"a":["x0-9\[{e]{1,3})?\}?\n){0,8}"#,
    ) {
        try_all("t.jsonl", text.as_bytes(), None, 16);
    }

    #[test]
    fn near_libsvm_never_panics(
        text in "([+-]?[0-9]( [0-9]{1,11}:[0-9.e-]{0,4}){0,4}[# \n]){0,8}",
    ) {
        try_all("t.svm", text.as_bytes(), None, 16);
    }

    #[cfg(feature = "columnar")]
    #[test]
    fn damaged_columnar_files_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        use crate::common::Cell::{Number, Text, Truth};
        let row = |i: usize| {
            vec![Number(i as f64), Text(format!("L{}", i % 3)), Truth(i.is_multiple_of(2))]
        };
        let names = ["y", "c", "b"].map(String::from).to_vec();
        let table = Table { names, rows: (0..20).map(row).collect() };
        for (name, mut bytes) in [
            ("t.parquet", table.parquet(7)),
            ("t.arrow", table.ipc(true)),
            ("t.arrows", table.ipc(false)),
        ] {
            for (at, value) in &flips {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            if cut {
                bytes.truncate(keep.index(bytes.len()));
            }
            try_all(name, &bytes, None, 64);
        }
    }
}

#[cfg(not(feature = "columnar"))]
#[test]
fn columnar_formats_are_refused_where_they_are_not_built() {
    let _ = Table { names: Vec::new(), rows: Vec::new() };
    let error = read(vec![Input::memory("t.parquet", *b"PAR1")], blocks_of(4), y()).unwrap_err();
    assert!(matches!(error, Error::Format { .. }));
}
