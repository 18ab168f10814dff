//! Tables: the blocks of a reader, bytes and back, keys, labels, slices, and what is refused.

use crate::common::{blocks_of, cases};
use kalmia_data::{
    Analyzer, Block, Encoder, EncoderOptions, Error, HeaderProblem, Input, Missing, Mode, Reader,
    Result, SettingProblem, SourceOptions, Table, TableSchema, ValueProblem, WideRows,
};
use proptest::prelude::*;

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

/// The encoder after the first rows of an input.
fn settled(name: &str, text: &str, options: EncoderOptions) -> Encoder {
    let mut encoder = Encoder::new(options);
    let inputs = vec![Input::memory(name, text.as_bytes())];
    let mut reader = Reader::open(inputs, blocks_of(1 << 20), &mut encoder, Mode::Learn).unwrap();
    reader.next_block(&mut encoder, &mut Block::new()).unwrap();
    encoder
}

fn table(name: &str, text: &str, schema: &TableSchema, mode: Mode) -> Result<Table> {
    let input = Input::memory(name, text.as_bytes());
    Table::read(input, &SourceOptions::default(), schema, mode, 10_000)
}

/// A header and lines, as an input of the format that the name shows.
fn joined(header: &str, lines: &[String]) -> String {
    format!("{header}{}", lines.concat())
}

/// Learns lines in batches by a reader and by tables, which also go through bytes, and compares
/// blocks and encoders.
fn same_as_reader(name: &str, header: &str, lines: &[String], options: EncoderOptions) {
    const ROWS: usize = 7;
    let source = SourceOptions { threaded: false, ..blocks_of(ROWS) };
    let mut by_reader = Encoder::new(options.clone());
    let all = vec![Input::memory(name, joined(header, lines).into_bytes())];
    let mut reader = Reader::open(all, source, &mut by_reader, Mode::Learn).unwrap();
    let mut by_table = settled(name, &joined(header, &lines[..ROWS]), options);
    let schema = by_table.table_schema();
    let mut expected = Block::new();
    let mut got = Block::new();
    reader.next_block(&mut by_reader, &mut expected).unwrap();
    for part in lines[ROWS..].chunks(ROWS) {
        let rows = table(name, &joined(header, part), &schema, Mode::Learn).unwrap();
        assert_eq!(rows.rows(), part.len());
        let stored = Table::from_bytes(&rows.to_bytes(), &schema, "log").unwrap();
        assert_eq!(stored.to_bytes(), rows.to_bytes());
        assert!(reader.next_block(&mut by_reader, &mut expected).unwrap());
        let before = by_table.clone();
        let mark = by_table.mark();
        by_table.encode_table(&rows, &mut got).unwrap();
        by_table.undo(mark);
        assert_eq!(by_table, before, "taken back");
        by_table.encode_table(&stored, &mut got).unwrap();
        assert_same(&got, &expected);
        assert_eq!(by_table, by_reader);
    }
    assert!(!reader.next_block(&mut by_reader, &mut expected).unwrap());
}

fn assert_same(got: &Block, expected: &Block) {
    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!((got.dim, got.rows_read), (expected.dim, expected.rows_read));
    assert_eq!(bits(&got.x), bits(&expected.x));
    assert_eq!(bits(&got.y), bits(&expected.y));
    assert_eq!(got.sparse, expected.sparse);
    assert_eq!(got.weight, expected.weight);
    assert_eq!(got.offset, expected.offset);
    assert_eq!(got.unseen, expected.unseen);
}

/// Lines `x,town,flag,w,o,y`, with new towns throughout and, if wanted, missing values.
fn lines(count: usize, gaps: bool) -> Vec<String> {
    let line = |i: usize| {
        let x = if gaps && i % 5 == 3 { "NA".into() } else { (i as f64 * 0.37).to_string() };
        let town = if gaps && i % 9 == 8 { "".into() } else { format!("T{}", i * i % (3 + i / 4)) };
        let y = if gaps && i % 11 == 10 { "" } else { ["0", "1", "2.5"][i % 3] };
        format!("{x},{town},{},{},{},{y}\n", i.is_multiple_of(2), 1 + i % 3, i as f64 / 8.0)
    };
    (0..count).map(line).collect()
}

const HEADER: &str = "x,town,flag,w,o,y\n";

#[test]
fn tables_give_the_blocks_of_a_reader() {
    let roles = EncoderOptions { weight: Some("w".into()), offset: Some("o".into()), ..y() };
    same_as_reader("t.csv", HEADER, &lines(40, false), y());
    same_as_reader("t.csv", HEADER, &lines(40, false), roles.clone());
    for missing in [Missing::Mean, Missing::Skip] {
        let options = EncoderOptions { missing, ..roles.clone() };
        same_as_reader("t.csv", HEADER, &lines(60, true), options.clone());
        let wide = EncoderOptions { wide: WideRows::Always, ..options.clone() };
        same_as_reader("t.csv", HEADER, &lines(60, true), wide);
        let hashed = EncoderOptions { wide: WideRows::Auto, hash_bits: Some(6), ..options };
        same_as_reader("t.csv", HEADER, &lines(60, true), hashed);
    }
}

#[test]
fn labels_texts_libsvm_and_json_give_the_blocks_of_a_reader() {
    let labelled = |i: usize| format!("{},{}\n", i as f64 / 3.0, ["no", "yes"][i / 3 % 2]);
    let labelled: Vec<_> = (0..30).map(labelled).collect();
    same_as_reader("t.csv", "x,y\n", &labelled, y());
    // the negative label comes after the first rows
    let late = |i: usize| format!("{i},{}\n", if i > 16 { "other" } else { "up" });
    let late: Vec<_> = (0..30).map(late).collect();
    let positive = EncoderOptions { positive: Some("up".into()), ..y() };
    same_as_reader("t.csv", "x,y\n", &late, positive);

    let text = |i: usize| format!("{},\"some words w{} w{}, {i}\"\n", i % 2, i % 5, i % 7);
    let text: Vec<_> = (0..30).map(text).collect();
    let words = EncoderOptions {
        text: vec!["body".into()],
        wide: WideRows::Auto,
        analyzer: "words:2".parse::<Analyzer>().unwrap(),
        ..y()
    };
    same_as_reader("t.csv", "y,body\n", &text, words);

    let svm = |i: usize| format!("{} {}:1 {}:{}.5\n", i % 2, 1 + i % 3, 10 + i, i);
    let svm: Vec<_> = (0..30).map(svm).collect();
    same_as_reader("t.svm", "", &svm, EncoderOptions::default());
    let wide = EncoderOptions { wide: WideRows::Always, ..EncoderOptions::default() };
    same_as_reader("t.svm", "", &svm, wide);

    let json = |i: usize| {
        let extra = if i % 4 == 1 { r#","late":1"# } else { "" };
        format!("{{\"y\":{},\"x\":\"{}.5\",\"town\":\"é{}\"{extra}}}\n", i % 2, i, i % (2 + i / 6))
    };
    let json: Vec<_> = (0..40).map(json).collect();
    let names = EncoderOptions { features: Some(vec!["x".into(), "town".into()]), ..y() };
    same_as_reader("t.jsonl", "", &json, names);
}

#[test]
fn predicting_changes_nothing_and_gives_the_blocks_of_a_reader() {
    for (name, header, first, new, options) in [
        ("t.csv", "x,c,y\n", "1,a,0\n2,b,1\n,a,1\n", "5,z,\n,a,7\n1,,\n", Missing::Mean),
        ("t.csv", "x,c,y\n", "1,a,no\n2,b,yes\n", "5,z,maybe\n,a,\n1,b,yes\n", Missing::Skip),
        ("t.svm", "", "1 1:2 3:1\n0 2:1\n", "0 3:2 9:1\n0 1:1\n", Missing::Error),
    ] {
        let target = (name != "t.svm").then(|| "y".to_owned());
        let options = EncoderOptions { target, missing: options, ..EncoderOptions::default() };
        let encoder = settled(name, &format!("{header}{first}"), options);
        let rows = format!("{header}{new}");
        let before = encoder.clone();
        let rows_table = table(name, &rows, &encoder.table_schema(), Mode::Predict).unwrap();
        let mut got = Block::new();
        encoder.encode_for_prediction(&rows_table, &mut got).unwrap();
        assert_eq!(encoder, before);

        let mut own = encoder.clone();
        let inputs = vec![Input::memory(name, rows.as_bytes())];
        let mut reader = Reader::open(inputs, blocks_of(100), &mut own, Mode::Predict).unwrap();
        let mut expected = Block::new();
        reader.next_block(&mut own, &mut expected).unwrap();
        assert_same(&got, &expected);
    }
}

#[test]
fn a_row_of_numbers_takes_eight_bytes_per_number_and_a_few_more() {
    let names: Vec<String> = (0..11).map(|i| format!("x{i}")).collect();
    let header = format!("{},y\n", names.join(","));
    let encoder = settled("t.csv", &format!("{header}1,2,3,4,5,6,7,8,9,10,11,0\n"), y());
    let schema = encoder.table_schema();
    let row = format!("{header}1,2,3,4,5,6,7,8,9,10,11.5,-0.0\n");
    let bytes = table("t.csv", &row, &schema, Mode::Learn).unwrap().to_bytes();
    assert!(bytes.len() <= 8 * 12 + 16, "{}", bytes.len());
    let unlabelled = row.replace(",y\n", "\n").replace(",-0.0", "");
    let bytes = table("t.csv", &unlabelled, &schema, Mode::Predict).unwrap().to_bytes();
    assert!(bytes.len() <= 8 * 11 + 16, "{}", bytes.len());
    let back = Table::from_bytes(&bytes, &schema, "log").unwrap();
    assert!(!back.has_targets());
}

#[test]
fn keys_are_exact_texts_and_no_features() {
    let encoder = settled("t.csv", "x,y\n1,2\n2,3\n", y());
    let schema = encoder.table_schema().with_key("id");
    let json = concat!(
        "{\"id\":\"a 1\",\"x\":1}\n{\"id\":12345678901234567890,\"x\":1}\n{\"x\":1}\n",
        "{\"id\":null,\"x\":1}\n{\"id\":\" \",\"x\":1}\n{\"id\":\"NA\",\"x\":1}\n",
        "{\"id\":-9007199254740993,\"x\":1}\n{\"x\":1,\"id\":\"\\u00e9\\n\"}\n",
    );
    let rows = table("t.jsonl", json, &schema, Mode::Predict).unwrap();
    let keys: Vec<_> = (0..rows.rows()).map(|i| rows.key(i)).collect();
    let expected = [Some("a 1"), Some("12345678901234567890"), None, None, None, Some("NA")];
    assert_eq!(keys[..6], expected);
    assert_eq!(keys[6..], [Some("-9007199254740993"), Some("é")]);
    assert!(rows.ignored().is_empty());
    encoder.encode_for_prediction(&rows, &mut Block::new()).unwrap();
    let csv = table("t.csv", "id,x\n007,1\n,1\n", &schema, Mode::Predict).unwrap();
    assert_eq!((csv.key(0), csv.key(1)), (Some("007"), None));
    let without = table("t.csv", "x\n1\n", &schema, Mode::Predict).unwrap();
    assert_eq!(without.key(0), None);
    let not_text = Input::memory("t.csv", *b"id,x\n\xff,1\n");
    let error = Table::read(not_text, &SourceOptions::default(), &schema, Mode::Predict, 9);
    assert!(matches!(error, Err(Error::Row { .. })), "{error:?}");

    // a feature named like the key stays a feature
    let other = settled("t.csv", "id,y\n1,2\n2,3\n", y());
    let schema = other.table_schema().with_key("id");
    let rows = table("t.jsonl", "{\"id\":4}\n", &schema, Mode::Predict).unwrap();
    assert_eq!(rows.key(0), None);
    other.encode_for_prediction(&rows, &mut Block::new()).unwrap();
}

#[test]
fn labels_come_later_under_either_name() {
    let mut encoder = settled("t.csv", "x,late\n1,no\n2,yes\n", EncoderOptions::target("late"));
    let schema = encoder.table_schema().with_key("id");
    let labels = schema.labels("id", "y");
    let rows = "{\"id\":\"a\",\"x\":5}\n{\"id\":\"b\",\"x\":6}\n";
    let rows = table("p.jsonl", rows, &schema, Mode::Predict).unwrap();
    for (name, text) in [
        ("l.jsonl", "{\"id\":\"a\",\"y\":\"yes\"}\n{\"id\":\"b\",\"late\":\"no\"}\n"),
        ("l.csv", "y,id\nyes,a\nno,b\n"),
        ("l.csv", "late,id\nyes,a\nno,b\n"),
    ] {
        let came = table(name, text, &labels, Mode::Learn).unwrap();
        assert_eq!((came.key(0), came.key(1)), (Some("a"), Some("b")));
        let mut complete = rows.clone();
        complete.set_targets(&came).unwrap();
        assert!(complete.has_targets());
        let mut block = Block::new();
        let mark = encoder.mark();
        encoder.encode_table(&complete, &mut block).unwrap();
        encoder.undo(mark);
        assert_eq!(block.y, [1.0, 0.0]);
        assert_eq!(block.row(1), [1.0, 6.0]);
        assert_eq!(block.location(1).file, name);
        assert!(encoder.encode_table(&came, &mut block).is_err(), "labels are no rows");
    }
    let twice = table("l.csv", "y,id,late\nyes,a,no\n", &labels, Mode::Learn).unwrap_err();
    let is_alias = |problem: &HeaderProblem| matches!(problem, HeaderProblem::Alias { .. });
    assert!(matches!(&twice, Error::Header { problem, .. } if is_alias(problem)), "{twice}");
    let twice = "{\"id\":\"a\",\"y\":\"no\",\"late\":\"no\"}\n";
    assert!(table("l.jsonl", twice, &labels, Mode::Learn).is_err());
    let absent = table("l.jsonl", "{\"id\":\"a\"}\n", &labels, Mode::Learn).unwrap_err();
    assert!(matches!(absent, Error::MissingValue { .. }), "{absent}");
    let one = table("l.csv", "y,id\nyes,a\n", &labels, Mode::Learn).unwrap();
    let error = rows.clone().set_targets(&one).unwrap_err();
    let differ = SettingProblem::TargetRows { rows: 2, found: 1 };
    assert!(matches!(&error, Error::Setting(problem) if *problem == differ), "{error}");
}

#[test]
fn slices_and_sums_keep_the_places_of_rows() {
    let options = EncoderOptions { missing: Missing::Mean, ..y() };
    let encoder = settled("t.csv", &joined(HEADER, &lines(20, true)), options);
    let schema = encoder.table_schema();
    let text = joined(HEADER, &lines(30, true));
    let whole = table("whole.csv", &text, &schema, Mode::Learn).unwrap();
    for cut in [0, 1, 13, 30] {
        let mut sum = whole.slice(0..cut);
        sum.append(&whole.slice(cut..30)).unwrap();
        assert_eq!(sum.to_bytes(), whole.to_bytes(), "cut at {cut}");
        for i in 0..30 {
            assert_eq!(sum.location(i), whole.location(i));
        }
    }
    let other = table("other.csv", &joined(HEADER, &lines(3, false)), &schema, Mode::Learn);
    let mut sum = whole.slice(28..30);
    sum.append(&other.unwrap()).unwrap();
    let places: Vec<_> = (0..5).map(|i| sum.location(i).to_string()).collect();
    assert_eq!(places[..2], ["whole.csv, row 29 (line 30)", "whole.csv, row 30 (line 31)"]);
    assert_eq!(places[2..4], ["other.csv, row 1 (line 2)", "other.csv, row 2 (line 3)"]);
    assert_eq!(sum.slice(3..5).location(1).to_string(), "other.csv, row 3 (line 4)");

    let svm = settled("t.svm", "1 1:1\n0 2:1\n", EncoderOptions::default()).table_schema();
    let rows = "1 1:1 5:2\n0\n1 2:3\n0 7:1 8:2\n";
    let whole = table("t.svm", rows, &svm, Mode::Learn).unwrap();
    for cut in 0..=4 {
        let mut sum = whole.slice(0..cut);
        sum.append(&whole.slice(cut..4)).unwrap();
        assert_eq!(sum.to_bytes(), whole.to_bytes(), "cut at {cut}");
    }
    let error = sum.append(&whole).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::OtherTable)), "{error}");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let options = EncoderOptions { weight: Some("w".into()), ..y() };
    let encoder = settled("t.csv", "x,w,y\n1,1,2\n2,1,3\n", options);
    let schema = encoder.table_schema();
    let learn = |name: &str, text: &str| table(name, text, &schema, Mode::Learn).unwrap_err();
    for (name, text, said) in [
        (
            "r.jsonl",
            "{\"x\":1,\"w\":1,\"y\":1}\n\n{\"x\":\"a\",\"w\":1}\n",
            "r.jsonl, row 2 (line 3)",
        ),
        ("r.csv", "x,w,y\n1,1,1\n1,1,b\n", "r.csv, row 2 (line 3), column `y`: `b`"),
        ("r.jsonl", "{\"x\":1,\"w\":1,\"y\":1}\n{\"x\":1,\"w\":1}\n", "row 2 (line 2), column `y`"),
        ("r.csv", "x,y\n1,1\n", "r.csv has no column `w`"),
        ("r.jsonl", "{\"x\":[1]}\n", "not a JSON object of plain values"),
        ("r.jsonl", "{\"x\":1,\"x\":2}\n", "member `x` appears twice"),
        ("r.jsonl", "{\"x\":1e999}\n", "row 1 (line 1)"),
        ("r.csv", "x,w,y\n1,heavy,1\n", "but the column gives the weights"),
        ("r.csv", "x,w,y\n", "r.csv has no data rows"),
    ] {
        let error = learn(name, text).to_string();
        assert!(error.contains(said), "{error}");
    }
    let infinite = learn("r.csv", "x,w,y\n1e999,1,1\n");
    let problem = ValueProblem::NotFinite;
    assert!(matches!(&infinite, Error::Value { problem: found, .. } if *found == problem));
    // for predictions target and weight may be absent, features not
    assert!(table("r.csv", "x\n1\n", &schema, Mode::Predict).is_ok());
    assert!(table("r.jsonl", "{\"x\":1}\n", &schema, Mode::Predict).is_ok());
    assert!(table("r.csv", "w\n1\n", &schema, Mode::Predict).is_err());
    assert!(table("r.jsonl", "{\"w\":1}\n", &schema, Mode::Predict).is_err());
}

#[test]
fn rows_are_bounded_and_ignored_members_are_named() {
    let encoder = settled("t.csv", "x,y\n1,2\n2,3\n", y());
    let schema = encoder.table_schema();
    let source = SourceOptions::default();
    let json = "{\"x\":1,\"y\":1}\n".repeat(4);
    let csv = format!("x,y\n{}", "1,1\n".repeat(4));
    for (name, text) in [("t.jsonl", &json), ("t.csv", &csv)] {
        let read = |max| {
            let input = Input::memory(name, text.as_bytes());
            Table::read(input, &source, &schema, Mode::Learn, max)
        };
        assert_eq!(read(4).unwrap().rows(), 4);
        let error = read(3).unwrap_err();
        assert!(matches!(error, Error::TooManyRows { limit: 3, .. }), "{error}");
        assert!(error.to_string().contains("more than 3 rows"), "{error}");
        assert!(matches!(read(0), Err(Error::Setting(_))));
        assert!(matches!(read(usize::MAX), Err(Error::Setting(_))));
    }
    let extra = |i: usize| format!("{{\"x\":1,\"y\":1,\"a{}\":[{{}}],\"a{}\":2}}\n", i % 12, i % 3);
    let many: String = (0..40).map(extra).collect();
    let rows = table("t.jsonl", &many, &schema, Mode::Learn).unwrap();
    assert_eq!(rows.ignored().len(), 8);
    assert_eq!(rows.ignored()[..3], ["a0", "a1", "a2"]);
    let stored = Table::from_bytes(&rows.to_bytes(), &schema, "log").unwrap();
    let mut counted = encoder.clone();
    counted.encode_table(&stored, &mut Block::new()).unwrap();
    assert_eq!(counted.counts().unknown_members, 80);
}

/// The texts that the options and the encoder call missing are missing in every format.
#[test]
fn missing_texts_are_those_of_the_encoder_and_of_the_reading() {
    let options = EncoderOptions { na_values: vec!["-9".into()], missing: Missing::Skip, ..y() };
    let encoder = settled("t.csv", "x,y\n1,2\n2,3\n", options);
    let schema = encoder.table_schema();
    for extra in [vec![], vec!["?".to_owned()]] {
        let source = SourceOptions { na_values: extra.clone(), ..SourceOptions::default() };
        for (name, text) in [
            ("t.jsonl", "{\"x\":-9,\"y\":1}\n{\"x\":\"-9.0\",\"y\":1}\n{\"x\":3,\"y\":1}\n"),
            ("t.csv", "x,y\n-9,1\n-9.0,1\n3,1\n"),
        ] {
            let input = Input::memory(name, text.as_bytes());
            let rows = Table::read(input, &source, &schema, Mode::Learn, 10).unwrap();
            let mut block = Block::new();
            encoder.encode_for_prediction(&rows, &mut block).unwrap();
            assert_eq!((block.rows(), block.rows_read), (1, 3), "{name}");
        }
        let input = Input::memory("t.jsonl", *b"{\"x\":\"?\",\"y\":1}\n");
        let read = Table::read(input, &source, &schema, Mode::Learn, 10);
        assert_eq!(read.is_ok(), !extra.is_empty());
    }
}

#[test]
fn another_encoder_refuses_the_rows() {
    let mut numbers = settled("t.csv", "x,y\n1,2\n2,3\n", y());
    let mut texts = settled("t.csv", "x,y\na,2\nb,3\n", y());
    let rows = table("t.csv", "x,y\n1,2\n", &texts.table_schema(), Mode::Learn).unwrap();
    let error = numbers.encode_table(&rows, &mut Block::new()).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::OtherTable)), "{error}");
    assert!(numbers.encode_for_prediction(&rows, &mut Block::new()).is_err());
    texts.encode_table(&rows, &mut Block::new()).unwrap();
    let mut new = Encoder::new(y());
    let error = new.encode_table(&rows, &mut Block::new()).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::NothingLearned)), "{error}");
}

/// Every prefix of stored rows is refused, and no change of a byte does harm.
#[test]
fn damaged_bytes_are_refused_or_harmless() {
    let options = EncoderOptions { weight: Some("w".into()), missing: Missing::Mean, ..y() };
    let dense = settled("t.csv", &joined(HEADER, &lines(20, true)), options);
    let svm = settled("t.svm", "1 1:1\n0 2:1\n", EncoderOptions::default());
    let svm_rows = "1 1:1 5:2\n0\n1 2:3\n0 7:1 8:2\n".to_owned();
    for (mut encoder, name, text) in
        [(dense, "t.csv", joined(HEADER, &lines(6, true))), (svm, "t.svm", svm_rows)]
    {
        let schema = encoder.table_schema();
        let bytes = table(name, &text, &schema, Mode::Learn).unwrap().to_bytes();
        for len in 0..bytes.len() {
            let error = Table::from_bytes(&bytes[..len], &schema, "log").unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        }
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                if let Ok(rows) = Table::from_bytes(&damaged, &schema, "log") {
                    let mark = encoder.mark();
                    let _ = encoder.encode_table(&rows, &mut Block::new());
                    encoder.undo(mark);
                }
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Table::from_bytes(&longer, &schema, "log").is_err());
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(|v| v.to_string()),
        Just("NaN".to_owned()),
        Just("-0.0".to_owned()),
        (0..5_i32).prop_map(|v| v.to_string()),
    ]
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn bytes_come_back_exactly(
        rows in prop::collection::vec((cell(), "[^\\x00]{0,12}", cell(), cell()), 1..20),
    ) {
        let options = EncoderOptions {
            missing: Missing::Mean,
            weight: Some("w".into()),
            categorical: vec!["town".into()],
            ..y()
        };
        let encoder = settled("t.csv", "x,town,w,y\n1,a,1,2\n2,b,1,3\n", options);
        let schema = encoder.table_schema();
        let mut csv = String::from("x,town,w,y\n");
        for (x, town, w, y) in &rows {
            csv += &format!("{x},\"{}\",{w},{y}\n", town.replace('"', "\"\""));
        }
        let read = table("t.csv", &csv, &schema, Mode::Learn).unwrap();
        let bytes = read.to_bytes();
        let back = Table::from_bytes(&bytes, &schema, "log").unwrap();
        prop_assert_eq!(&back.to_bytes(), &bytes);
        let mut one = Block::new();
        let mut other = Block::new();
        let mut a = encoder.clone();
        let mut b = encoder.clone();
        a.encode_table(&read, &mut one).unwrap();
        b.encode_table(&back, &mut other).unwrap();
        assert_same(&one, &other);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let encoder = settled("t.csv", "x,town,y\n1,a,2\n2,b,3\n", y());
        let schema = encoder.table_schema();
        let start = [1, 0, 3, 2, 0];
        for bytes in [bytes.clone(), [&start[..], &bytes].concat()] {
            let _ = Table::from_bytes(&bytes, &schema, "log");
        }
    }
}
