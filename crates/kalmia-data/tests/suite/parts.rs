//! Inputs cut into parts: the rows of all parts are the rows of the whole, at the same places.

use proptest::prelude::*;

use crate::common::{Cell, Table, blocks_of, cases, gzip, read, read_with};
use kalmia_data::{
    BadRows, Coding, Encoder, EncoderOptions, Error, Input, Kind, Missing, Mode, Reader,
    SourceOptions, split_inputs,
};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn memory(name: &str, bytes: impl AsRef<[u8]>) -> Vec<Input> {
    vec![Input::memory(name, bytes.as_ref())]
}

/// A row and its place in the inputs.
#[derive(Debug, PartialEq)]
struct Placed {
    at: String,
    y: f64,
    x: Vec<f64>,
}

fn placed(inputs: Vec<Input>, source: &SourceOptions, encoder: &Encoder) -> Vec<Placed> {
    let reading = read_with(inputs, source.clone(), encoder.clone(), Mode::Evaluate).unwrap();
    let of_block = |block: &kalmia_data::Block| {
        let row = |i| Placed {
            at: block.location(i).to_string(),
            y: block.y[i],
            x: block.row(i).to_vec(),
        };
        (0..block.rows()).map(row).collect::<Vec<_>>()
    };
    reading.blocks.iter().flat_map(of_block).collect()
}

fn total(inputs: &[Input]) -> u64 {
    inputs.iter().filter_map(Input::size).sum()
}

/// Checks every number of parts with several chunk sizes; the most parts there were.
fn check(inputs: &[Input], source: &SourceOptions, options: EncoderOptions) -> usize {
    let encoder = read(inputs.to_vec(), source.clone(), options).unwrap().encoder;
    check_with(inputs, source, &encoder)
}

/// As [`check`], with an encoder that has learned already.
fn check_with(inputs: &[Input], source: &SourceOptions, encoder: &Encoder) -> usize {
    let whole = placed(inputs.to_vec(), source, encoder);
    let mut most = 0;
    for chunk_bytes in [1, 5, 64, 1 << 20] {
        let threaded = chunk_bytes == 64;
        let source = SourceOptions { chunk_bytes, threaded, ..source.clone() };
        for count in [0, 1, 2, 3, 4, 7, 60] {
            let parts = split_inputs(inputs, &source, count).unwrap();
            assert!((1..=count.max(1)).contains(&parts.len()), "{} of {count}", parts.len());
            most = most.max(parts.len());
            assert_eq!(parts.iter().map(|part| total(part)).sum::<u64>(), total(inputs));
            let mut rows = Vec::new();
            for part in parts {
                let own = placed(part, &source, encoder);
                let may_be_empty = source.bad_rows == BadRows::Skip;
                assert!(may_be_empty || !own.is_empty(), "a part without rows");
                rows.extend(own);
            }
            assert_eq!(rows, whole, "{count} parts, chunks of {chunk_bytes} bytes");
        }
    }
    most
}

const QUOTED: &str =
    "y,t,x\n1,\"a\nb\",2\n2,\"\"\"\n\",3\n3,5\" pipe,4\n\n4,\"c,\r\n\n\",5\n5,d\"\"e\",6\n";

#[test]
fn csv_is_cut_between_records() {
    assert_eq!(check(&memory("t.csv", QUOTED), &blocks_of(2), y()), 5, "one row per part");
    assert_eq!(check(&memory("t.csv", QUOTED.trim_end()), &blocks_of(2), y()), 5, "no newline");
    let windows = QUOTED.replace('\n', "\r\n");
    assert_eq!(check(&memory("t.csv", windows), &blocks_of(2), y()), 5, "carriage returns");
    let marked = format!("\u{feff}{QUOTED}");
    assert_eq!(check(&memory("t.csv", marked), &blocks_of(2), y()), 5, "byte-order mark");
    assert_eq!(check(&memory("t.csv", "y,x\n1,2\n\n\n\n\n"), &blocks_of(2), y()), 1);
}

#[test]
fn tables_of_all_text_formats_are_cut() {
    let plain: String = (0..40).map(|i| format!("{i};{}\n\n", i * 7)).collect();
    let plain = format!("y;x\n{plain}");
    assert_eq!(check(&memory("t.csv", &plain), &blocks_of(7), y()), 40, "another separator");
    let tabs = plain.replace(';', "\t");
    assert_eq!(check(&memory("t.tsv", tabs), &blocks_of(7), y()), 40);
    let json: String = (0..20).map(|i| format!("{{\"y\":{i},\"x\":\"{}\"}}\n \n", i % 3)).collect();
    assert_eq!(check(&memory("t.jsonl", json.trim_end()), &blocks_of(3), y()), 20);
    assert_eq!(check(&memory("rows", &json), &blocks_of(3), y()), 20, "format from first bytes");
    let svm: String = (0..20).map(|i| format!("{i} {}:2\n# none\n", i + 1)).collect();
    let options = EncoderOptions::default();
    assert_eq!(check(&memory("t.svm", svm.trim_end()), &blocks_of(3), options), 20);
}

#[test]
fn comments_skipped_lines_and_no_header_are_as_in_the_whole() {
    let rows: String = (0..30).map(|i| format!("{i};{i}\n# \"no row\n")).collect();
    let source =
        SourceOptions { comment: Some(b'#'), skip_lines: 2, header: false, ..blocks_of(4) };
    let text = format!("a \"report\n\n# made by hand\n{rows}");
    let options = EncoderOptions::target("c1");
    assert_eq!(check(&memory("t.csv", &text), &source, options), 30);
    let text = format!("a \"report\n\n# made by hand\ny;x\n{rows}");
    let source = SourceOptions { header: true, ..source };
    assert_eq!(check(&memory("t.csv", text), &source, y()), 30);
}

#[test]
fn what_cannot_be_cut_stays_whole() {
    let rows: String = (0..50).map(|i| format!("{i},{i}\n")).collect();
    let text = format!("y,x\n{rows}");
    assert_eq!(check(&memory("t.csv.gz", gzip(text.as_bytes())), &blocks_of(9), y()), 1);
    let returns = text.replace('\n', "\r");
    assert_eq!(check(&memory("t.csv", returns), &blocks_of(9), y()), 1);
    let compressed = Input::memory("a.csv.gz", gzip(text.as_bytes()));
    let plain = Input::memory("b.csv", text.as_bytes());
    assert!(check(&[compressed, plain], &blocks_of(9), y()) > 2, "the plain file is cut");
}

fn table(rows: usize) -> Table {
    let row = |i: usize| {
        let level = ["a", "b\n", "\"c\""][i % 3];
        vec![Cell::Number(i as f64), Cell::Text(level.into()), Cell::Number(i as f64 / 8.0)]
    };
    Table { names: ["y", "t", "x"].map(String::from).into(), rows: (0..rows).map(row).collect() }
}

#[cfg(feature = "columnar")]
#[test]
fn parquet_is_cut_between_row_groups_and_arrow_is_not() {
    let table = table(50);
    assert_eq!(check(&memory("t.parquet", table.parquet(10)), &blocks_of(7), y()), 5);
    assert_eq!(check(&memory("t.parquet", table.parquet(50)), &blocks_of(7), y()), 1);
    assert_eq!(check(&memory("t.arrow", table.ipc(true)), &blocks_of(7), y()), 1);
}

#[test]
fn whole_files_are_dealt_out_and_large_ones_cut() {
    let file = |name: &str, rows| Input::memory(name, table(rows).separated(',', false, "\n"));
    let equal: Vec<Input> = (0..4).map(|i| file(&format!("{i}.csv"), 50)).collect();
    let names = |parts: Vec<Vec<Input>>| -> Vec<Vec<String>> {
        let names = |part: &Vec<Input>| part.iter().map(|input| input.name().to_owned()).collect();
        parts.iter().map(names).collect()
    };
    let halves = names(split_inputs(&equal, &blocks_of(4), 2).unwrap());
    assert_eq!(halves, [["0.csv", "1.csv"], ["2.csv", "3.csv"]]);
    let uneven = [file("small.csv", 3), file("large.csv", 300), file("last.csv", 20)];
    let found = names(split_inputs(&uneven, &blocks_of(4), 3).unwrap());
    assert_eq!(found[0], ["small.csv", "large.csv"]);
    assert_eq!(found[1], ["large.csv"]);
    assert_eq!(found[2], ["large.csv", "last.csv"]);
    assert_eq!(check(&uneven, &blocks_of(4), y()), 60);
}

#[test]
fn files_on_disk_are_cut_as_memory_is() {
    let path = std::env::temp_dir().join(format!("kalmia-parts-{}.csv", std::process::id()));
    std::fs::write(&path, table(200).separated(',', false, "\r\n")).unwrap();
    let most = check(&[Input::file(path.to_str().unwrap()).unwrap()], &blocks_of(16), y());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(most, 60);
}

/// Reads the second of two parts with an encoder that has read the first.
fn error_of_second(text: &str, name: &str, options: EncoderOptions) -> String {
    let source = blocks_of(2);
    let mut parts = split_inputs(&memory(name, text), &source, 2).unwrap();
    let second = parts.pop().unwrap();
    let encoder = read(parts.pop().unwrap(), source.clone(), options).unwrap().encoder;
    read_with(second, source, encoder, Mode::Learn).unwrap_err().to_string()
}

#[test]
fn errors_name_the_row_and_line_of_the_whole_file() {
    let rows: String = (1..=20).map(|i| format!("{i},{i}\n\n")).collect();
    let error = error_of_second(&format!("y,x\n{rows}21,oops\n"), "t.csv", y());
    assert!(error.starts_with("t.csv, row 21 (line 42), column `x`: `oops` is not"), "{error}");
    let error = error_of_second(&format!("y,x\n{rows}21\n"), "t.csv", y());
    assert_eq!(error, "t.csv, row 21 (line 42): 1 fields where the header has 2");
    let error = error_of_second(&format!("y,x\n{rows}NA,3\n"), "t.csv", y());
    assert_eq!(error, "t.csv, row 21 (line 42), column `y`: missing value");
    let json: String = (1..=20).map(|i| format!("{{\"y\":{i},\"x\":2}}\n\n")).collect();
    let error = error_of_second(&format!("{json}{{\"y\":\n"), "t.jsonl", y());
    assert!(error.starts_with("t.jsonl, row 21 (line 41): not a JSON object"), "{error}");
    let svm = "1 1:2\n".repeat(20);
    let error = error_of_second(&format!("{svm}1 2:x\n"), "t.svm", EncoderOptions::default());
    assert_eq!(error, "t.svm, row 21 (line 21): `2:x` is not an `index:value` pair");
}

#[test]
fn rows_that_cannot_be_read_are_the_same_in_parts() {
    let rows: String = (0..30).map(|i| format!("{i},{i}\n5,\"a\"b\n6\n")).collect();
    let source = SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(1) };
    assert!(check(&memory("t.csv", format!("y,x\n{rows}8,9")), &source, y()) >= 30);
}

#[test]
fn limits_are_refused_and_open_quotes_are_found_before_reading() {
    let source = SourceOptions { limit: Some(3), ..blocks_of(2) };
    let input = memory("t.csv", "y,x\n1,2\n3,4\n");
    let error = split_inputs(&input, &source, 2).unwrap_err().to_string();
    assert!(error.starts_with("a limit counts the rows of all inputs"), "{error}");
    assert_eq!(split_inputs(&input, &source, 1).unwrap().len(), 1);
    let error = split_inputs(&memory("t.csv", "y,x\n1,2\n3,\"4\n5,6\n"), &blocks_of(2), 3);
    assert!(matches!(error, Err(Error::Row { .. })));
}

#[test]
fn a_part_can_be_resumed_and_differs_from_its_neighbors() {
    let source = blocks_of(3);
    let inputs = memory("t.csv", table(40).separated(',', false, "\n"));
    let mut encoder = read(inputs.clone(), source.clone(), y()).unwrap().encoder;
    let parts = split_inputs(&inputs, &source, 2).unwrap();
    let whole = placed(parts[1].clone(), &source, &encoder);
    let mut open = |part: &Vec<Input>| {
        Reader::open(part.clone(), source.clone(), &mut encoder, Mode::Evaluate).unwrap()
    };
    let mut first = open(&parts[1]);
    assert_eq!(first.skip_rows(5).unwrap(), 5);
    let mut resumed = open(&parts[1]);
    resumed.seek(first.position()).unwrap();
    resumed.check_unchanged(&first.fingerprints().unwrap()).unwrap();
    let other = open(&parts[0]).check_unchanged(&first.fingerprints().unwrap());
    assert!(matches!(other, Err(Error::Changed { .. })));
    let mut block = kalmia_data::Block::new();
    assert!(resumed.next_block(&mut encoder, &mut block).unwrap());
    assert_eq!(block.location(0).to_string(), whole[5].at);
    while resumed.next_block(&mut encoder, &mut block).unwrap() {}
    assert_eq!(Some(resumed.progress().done), parts[1][0].size());
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn random_fields_are_never_torn(
        rows in prop::collection::vec(("[ab\"\n\r;#]{0,6}", 0..99i32, any::<bool>()), 2..30),
        windows in any::<bool>(),
        comment in any::<bool>(),
    ) {
        let end = if windows { "\r\n" } else { "\n" };
        let line = |(text, number, quote): &(String, i32, bool)| {
            // Unquoted, a quote may stand anywhere but at the start.
            match *quote || text.contains('\n') || text.ends_with('\r') {
                true => format!("{number},\"{}\",z{end}", text.replace('"', "\"\"")),
                false => format!("{number},x{text},z{end}"),
            }
        };
        let body: String = rows.iter().map(line).collect();
        let text = format!("y,t,u{end}{body}");
        let options = EncoderOptions { na_values: vec!["none".into()], ..y() };
        let options = EncoderOptions { missing: Missing::Mean, ..options };
        let options = EncoderOptions { categorical: vec!["t".into()], ..options };
        let source = SourceOptions { comment: comment.then_some(b'#'), ..blocks_of(3) };
        check(&memory("t.csv", text), &source, options);
    }

    /// Any text: quotes that close too early or never, ragged rows, blank lines.
    #[test]
    fn random_texts_are_cut_as_they_are_read(text in "[1a,\"\n\r]{0,120}") {
        let columns = [("y".into(), Kind::Category), ("t".into(), Kind::Category)];
        let options = EncoderOptions { missing: Missing::Mean, ..EncoderOptions::target("z") };
        let encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
        let inputs = memory("t.csv", format!("y,t,z\n1,a,1\n{text}\n2,b,2\n"));
        let source = SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(3) };
        // An open quote ends every reading.
        if let Ok(whole) = read_with(inputs.clone(), source.clone(), encoder, Mode::Learn) {
            check_with(&inputs, &source, &whole.encoder);
        }
    }
}
