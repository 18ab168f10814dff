//! The options of reading: missing values, decimal commas, bad rows, limits, comments.

use crate::common::{blocks_of, csv, drain, read, read_with};
use kalmia_data::{
    BadRows, Block, Encoder, EncoderOptions, Input, Missing, Mode, Reader, SourceOptions,
    TextReader,
};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn of(text: &str, source: SourceOptions) -> Result<crate::common::Reading, String> {
    read(vec![Input::memory("t.csv", text.as_bytes())], source, y()).map_err(|e| e.to_string())
}

/// In the first rows, which decide the kinds, as in later ones.
#[test]
fn rows_with_infinite_numbers_are_left_out_wherever_they_are() {
    let text = "y,x\n1,2\n2,inf\n3,4\n4,5\n5,-inf\n";
    for block_rows in [1, 2, 100] {
        let source = SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(block_rows) };
        let input = vec![Input::memory("t.csv", text.as_bytes())];
        let found = read(input, source, EncoderOptions::target("y")).unwrap();
        assert_eq!(found.rows(), [[1.0, 2.0], [1.0, 4.0], [1.0, 5.0]], "{block_rows}");
    }
}

#[test]
fn more_texts_stand_for_missing_values_and_travel_with_the_encoder() {
    let options = EncoderOptions {
        na_values: vec!["?".into(), "-999".into()],
        missing: Missing::Skip,
        ..y()
    };
    let text = "y,x,c\n1,2,a\n2,?,b\n3,-999.0,a\n4,3,?\n5,4,b\n";
    let learned = csv(text, options).unwrap();
    assert_eq!(learned.y(), [1.0, 5.0]);
    assert_eq!(learned.encoder.counts().skipped, 3);
    // Stored and restored, the same texts are missing, in other formats too.
    let json = serde_json::to_string(&learned.encoder).unwrap();
    let stored: Encoder = serde_json::from_str(&json).unwrap();
    let lines = "{\"y\":1,\"x\":-999,\"c\":\"a\"}\n{\"y\":2,\"x\":7,\"c\":\"a\"}\n";
    let input = vec![Input::memory("t.jsonl", lines.as_bytes())];
    let later = read_with(input, blocks_of(4), stored, Mode::Evaluate).unwrap();
    assert_eq!(later.y(), [2.0]);
}

#[test]
fn without_options_the_stored_encoder_is_as_before() {
    let json = serde_json::to_string(&y()).unwrap();
    assert!(!json.contains("na_values"), "{json}");
    assert_eq!(serde_json::from_str::<EncoderOptions>(&json).unwrap(), y());
}

#[test]
fn decimal_commas_give_the_numbers_of_points() {
    let source = || SourceOptions { decimal_comma: true, ..blocks_of(2) };
    let points = csv("y,x\n1.5,2\n-0.25,3.75\n4,1e3\n", y()).unwrap();
    let commas = of("y;x\n1,5;2\n-0,25;3,75\n4;1e3\n", source()).unwrap();
    assert_eq!(commas.rows(), points.rows());
    assert_eq!(commas.y(), points.y());
    let quoted = of("y,x\n\"1,5\",2\n\"-0,25\",\"3,75\"\n4,1e3\n", source()).unwrap();
    assert_eq!(quoted.rows(), points.rows());
    for rows in ["1,5;2\n1;1.500\n", "1,5;2\n1,5;2\n1,5;2\n1;1.500\n"] {
        let error = of(&format!("y;x\n{rows}"), source()).unwrap_err();
        assert!(error.contains("column `x`: `1.500` has a decimal point"), "{error}");
    }
    let input = vec![Input::memory("t.svm", *b"1 1:2\n")];
    let error = read(input, source(), EncoderOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "t.svm: a decimal comma, comments and lines to skip are for CSV and TSV only"
    );
}

const BAD: &str = "y,x\n1,2\n3\n2,3\n4,abc\n5,\"a\"b\n6,7\n8,9,10\n9,1e400\n10,11\n";

#[test]
fn bad_rows_are_refused_or_left_out_and_reported() {
    assert!(of(BAD, blocks_of(100)).is_err());
    for block_rows in [1, 2, 3, 100] {
        for threaded in [false, true] {
            let source =
                SourceOptions { bad_rows: BadRows::Skip, threaded, ..blocks_of(block_rows) };
            let mut encoder = Encoder::new(y());
            let input = vec![Input::memory("t.csv", BAD.as_bytes())];
            let mut reader = Reader::open(input, source, &mut encoder, Mode::Learn).unwrap();
            let mut block = Block::new();
            let mut seen = Vec::new();
            // With few rows per block, the first block alone decides that `x` is a number.
            while reader.next_block(&mut encoder, &mut block).unwrap() {
                seen.extend_from_slice(&block.y);
            }
            if block_rows == 100 {
                // Too few numbers among so few rows: a category.
                continue;
            }
            assert_eq!(seen, [1.0, 2.0, 6.0, 10.0], "blocks of {block_rows}");
            let left_out = reader.left_out();
            assert_eq!(left_out.rows, 5);
            assert_eq!(
                left_out.errors,
                [
                    "t.csv, row 2 (line 3): 1 fields where the header has 2",
                    "t.csv, row 4 (line 5), column `x`: `abc` is not a number, unlike the values \
                     before it; fix the value, read the column as categorical, or exclude it",
                    "t.csv, row 5 (line 6): text after a closing quote; write a quote inside a \
                     quoted field twice",
                ]
            );
            assert_eq!(reader.position().rows, 9, "they count as rows of the file");
        }
    }
}

#[test]
fn texts_among_the_first_numbers_are_bad_rows_too() {
    let rows: String = (0..40).map(|i| format!("{i},{}\n", i * 2)).collect();
    let text = format!("y,x\n{rows}40,oops\n41,1e400\n42,3\n");
    let source = SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(100) };
    let reading = of(&text, source).unwrap();
    assert_eq!(reading.y().len(), 41);
    assert_eq!(reading.names(), ["(intercept)", "x"]);
}

#[test]
fn a_reading_with_bad_rows_goes_on_where_it_stopped() {
    let source = || SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(2) };
    let input = || vec![Input::memory("t.csv", BAD.as_bytes())];
    let through = read(input(), source(), y()).unwrap();
    let mut encoder = Encoder::new(y());
    let mut first = Reader::open(input(), source(), &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    first.next_block(&mut encoder, &mut block).unwrap();
    let mut y_seen = block.y.clone();
    first.next_block(&mut encoder, &mut block).unwrap();
    y_seen.extend_from_slice(&block.y);
    let mut rest = Reader::open(input(), source(), &mut encoder, Mode::Learn).unwrap();
    rest.seek(first.position()).unwrap();
    y_seen.extend(drain(rest, encoder).unwrap().y());
    assert_eq!(y_seen, through.y());
}

#[test]
fn bad_lines_of_json_and_libsvm_are_left_out() {
    let source = || SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(1) };
    let json = "{\"y\":1,\"x\":2}\n{\"y\":\n{\"y\":2,\"x\":\"b\"}\n{\"y\":3,\"x\":4}\n";
    let reading = read(vec![Input::memory("t.jsonl", json.as_bytes())], source(), y()).unwrap();
    assert_eq!(reading.y(), [1.0, 3.0]);
    let svm = "1 1:2\n0 2:x\n1 3:1 2:1\n0 2:4\n";
    let input = vec![Input::memory("t.svm", svm.as_bytes())];
    let reading = read(input, source(), EncoderOptions::default()).unwrap();
    assert_eq!(reading.rows(), [[1.0, 2.0, 0.0], [1.0, 0.0, 4.0]]);
}

#[test]
fn texts_stay_beside_the_blocks_when_rows_are_left_out() {
    let source = SourceOptions { bad_rows: BadRows::Skip, ..blocks_of(4) };
    let input = vec![Input::memory("t.csv", BAD.as_bytes())];
    let mut texts = TextReader::open(input, source, None).unwrap();
    let mut first = Vec::new();
    while let Some(block) = texts.next_block().unwrap() {
        (0..block.rows()).for_each(|row| first.push(block.get(row, 0).to_vec()));
    }
    let expected: [&[u8]; 9] = [b"1", b"", b"2", b"4", b"", b"6", b"", b"9", b"10"];
    assert_eq!(first, expected);
}

#[test]
fn a_limit_counts_rows_over_all_files() {
    let files = || {
        let part = |i: usize| Input::memory(format!("{i}.csv"), *b"y,x\n1,2\n3,4\n5,6\n");
        vec![part(1), part(2)]
    };
    let all = read(files(), blocks_of(2), y()).unwrap();
    for limit in 1..8 {
        for block_rows in [1, 2, 3, 100] {
            let source = SourceOptions { limit: Some(limit), ..blocks_of(block_rows) };
            let some = read(files(), source.clone(), y()).unwrap();
            assert_eq!(some.rows(), all.rows()[..6.min(limit as usize)], "{limit}, {block_rows}");
            let mut encoder = Encoder::new(y());
            let mut reader = Reader::open(files(), source, &mut encoder, Mode::Learn).unwrap();
            assert_eq!(reader.skip_rows(u64::MAX).unwrap(), limit.min(6));
        }
    }
}

#[test]
fn comments_and_lines_before_the_header_are_passed_over() {
    let source = || SourceOptions { comment: Some(b'#'), skip_lines: 2, ..blocks_of(2) };
    let text = "a report\nof \"May\n# made by hand\ny,x\n1,2\n#3,4\n5,6\n# end";
    let reading = of(text, source()).unwrap();
    assert_eq!(reading.rows(), [[1.0, 2.0], [1.0, 6.0]]);
    let block = &reading.blocks[0];
    assert_eq!(block.location(1).line, Some(7), "lines are those of the file");
    let mut encoder = Encoder::new(y());
    let input = vec![Input::memory("t.csv", text.as_bytes())];
    let mut reader = Reader::open(input, source(), &mut encoder, Mode::Learn).unwrap();
    assert_eq!(reader.skip_rows(1).unwrap(), 1);
    assert_eq!(drain(reader, encoder).unwrap().y(), [5.0]);
}

#[test]
fn the_separator_is_found_after_comments_of_any_length() {
    let text = "# a comment\n".repeat(100) + "y;x\n1;2\n5;6\n";
    for chunk_bytes in [1, 100, 1 << 20] {
        let source = SourceOptions { comment: Some(b'#'), chunk_bytes, ..blocks_of(2) };
        assert_eq!(of(&text, source).unwrap().rows(), [[1.0, 2.0], [1.0, 6.0]]);
    }
}
