//! Every format, chunk size and threading gives the same blocks, and an interrupted reading
//! continues identically.

use crate::common::{Cell, Reading, Table, bits, blocks_of, drain, gzip, read, zstandard};
use kalmia_data::{
    Block, Encoder, EncoderOptions, Error, Format, Input, Location, Missing, Mode, Reader,
    SourceOptions, TextReader,
};
use proptest::prelude::*;

/// Tables with a number, a truth value, a category and a target; the first row is complete, so
/// kinds are plain.
fn tables() -> impl Strategy<Value = Table> {
    let number = prop_oneof![
        -1e3..1e3f64,
        any::<f64>().prop_filter("finite", |v| v.is_finite()),
        (-9i32..9).prop_map(f64::from)
    ];
    let text = "L[a-c,;|\"\\n\\té ]{0,3}z";
    let full = (number, any::<bool>(), text, 0u8..2).prop_map(|(n, b, t, y)| {
        vec![Cell::Number(n), Cell::Truth(b), Cell::Text(t), Cell::Number(f64::from(y))]
    });
    let row = (full.clone(), prop::collection::vec(0u8..12, 3)).prop_map(|(mut row, missing)| {
        row.iter_mut()
            .zip(missing)
            .filter(|(_, m)| *m == 0)
            .for_each(|(cell, _)| *cell = Cell::Missing);
        row
    });
    (full, prop::collection::vec(row, 0..40)).prop_map(|(first, rest)| Table {
        names: ["num", "flag", "cat", "y"].map(String::from).to_vec(),
        rows: std::iter::once(first).chain(rest).collect(),
    })
}

fn options(missing: Missing) -> EncoderOptions {
    EncoderOptions { missing, ..EncoderOptions::target("y") }
}

fn of(name: &str, bytes: Vec<u8>, missing: Missing) -> Reading {
    read(vec![Input::memory(name, bytes)], blocks_of(8), options(missing)).unwrap()
}

/// The place of the last row of each block.
fn last_rows(reading: &Reading) -> Vec<Location> {
    reading.blocks.iter().map(|block| block.location(block.rows() - 1)).collect()
}

/// Record batches of `part` rows.
#[cfg(feature = "arrow")]
fn batches(whole: &arrow_array::RecordBatch, part: usize) -> Input {
    let starts = (0..whole.num_rows()).step_by(part);
    let slice = |start| whole.slice(start, part.min(whole.num_rows() - start));
    let parts: Vec<_> = starts.map(|start| Ok(slice(start))).collect();
    Input::record_batches("t", arrow_array::RecordBatchIterator::new(parts, whole.schema()))
}

fn policies() -> impl Strategy<Value = Missing> {
    prop_oneof![Just(Missing::Skip), Just(Missing::Mean)]
}

proptest! {
    #![proptest_config(crate::common::cases(96))]

    #[test]
    fn all_formats_give_the_same_blocks(table in tables(), missing in policies()) {
        let plain = table.separated(',', false, "\n");
        let expected = of("t.csv", plain.clone(), missing);
        let mut others = vec![
            ("t.csv", table.separated(',', true, "\r\n")),
            ("t.tsv", table.separated('\t', false, "\n")),
            ("t.jsonl", table.jsonl()),
            ("t.csv.gz", gzip(&plain)),
            ("t.csv.zst", zstandard(&plain)),
            ("unnamed", gzip(&plain)),
            ("t.ndjson.zst", zstandard(&table.jsonl())),
        ];
        #[cfg(feature = "columnar")]
        others.extend([
            ("t.parquet", table.parquet(7)),
            ("t.arrow", table.ipc(true)),
            ("t.arrows", table.ipc(false)),
            ("t.arrow.gz", gzip(&table.ipc(true))),
            ("unnamed", table.parquet(7)),
        ]);
        for (name, bytes) in others.drain(..) {
            let got = of(name, bytes, missing);
            prop_assert_eq!(got.names(), expected.names(), "{}", name);
            prop_assert_eq!(bits(&got), bits(&expected), "{}", name);
            prop_assert_eq!(got.encoder.counts(), expected.encoder.counts(), "{}", name);
        }
    }

    #[cfg(feature = "arrow")]
    #[test]
    fn record_batches_give_the_blocks_of_csv(
        table in tables(),
        missing in policies(),
        part in 1usize..50,
    ) {
        let expected = of("t.csv", table.separated(',', false, "\n"), missing);
        for threaded in [false, true] {
            let source = SourceOptions { threaded, ..blocks_of(8) };
            let input = batches(&table.record_batch(), part);
            let got = read(vec![input], source, options(missing)).unwrap();
            prop_assert_eq!(got.names(), expected.names());
            prop_assert_eq!(bits(&got), bits(&expected));
            prop_assert_eq!(&got.encoder, &expected.encoder);
        }
    }

    #[test]
    fn chunks_and_threads_do_not_matter(
        table in tables(),
        chunk in 1usize..60,
        crlf in any::<bool>(),
    ) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let csv = table.separated(',', false, newline);
        for (name, bytes) in [("t.csv", csv), ("t.jsonl", table.jsonl())] {
            let expected = of(name, bytes.clone(), Missing::Mean);
            for threaded in [false, true] {
                let source = SourceOptions { chunk_bytes: chunk, threaded, ..blocks_of(8) };
                let input = Input::memory(name, bytes.clone());
                let got = read(vec![input], source, options(Missing::Mean)).unwrap();
                prop_assert_eq!(bits(&got), bits(&expected));
                prop_assert_eq!(last_rows(&got), last_rows(&expected));
            }
        }
    }

    #[test]
    fn splitting_a_table_into_files_does_not_matter(
        table in tables(),
        cut in 0usize..40,
        missing in policies(),
    ) {
        let expected = of("t.csv", table.separated(',', false, "\n"), missing);
        let part = |rows: &[Vec<Cell>]| Table { names: table.names.clone(), rows: rows.to_vec() };
        let (a, b) = table.rows.split_at(cut.min(table.rows.len()));
        let first = Input::memory("a.csv", part(a).separated(',', false, "\n"));
        let second = match (b.is_empty(), cut % 2) {
            (false, 0) => Input::memory("b.jsonl", part(b).jsonl()),
            _ => Input::memory("b.csv", part(b).separated(',', true, "\n")),
        };
        let got = read(vec![first, second], blocks_of(8), options(missing)).unwrap();
        prop_assert_eq!(got.names(), expected.names());
        prop_assert_eq!(bits(&got), bits(&expected));
    }

    #[test]
    fn going_on_after_any_row_equals_reading_through(
        table in tables(),
        stop in 1usize..41,
        missing in policies(),
    ) {
        let stop = stop.min(table.rows.len());
        let csv = table.separated(',', false, "\n");
        let mut sources = vec![("t.csv", csv), ("t.jsonl", table.jsonl())];
        #[cfg(feature = "columnar")]
        sources.extend([("t.parquet", table.parquet(7)), ("t.arrow", table.ipc(true))]);
        for (name, bytes) in sources.drain(..) {
            // The same file twice, so the stop can fall into the second.
            let input = || Input::memory(name, bytes.clone());
            let inputs = || vec![input(), input()];
            for stop in [stop, table.rows.len() + stop] {
                let whole = read(inputs(), blocks_of(stop), options(missing)).unwrap();
                let mut encoder = Encoder::new(options(missing));
                let source = blocks_of(stop);
                let mut reader =
                    Reader::open(inputs(), source.clone(), &mut encoder, Mode::Learn).unwrap();
                let mut block = Block::new();
                prop_assert!(reader.next_block(&mut encoder, &mut block).unwrap());
                let prints = reader.fingerprints().unwrap();
                let stored = serde_json::to_string(&(&encoder, reader.position(), prints)).unwrap();
                let (mut restored, position, prints): (Encoder, _, Vec<_>) =
                    serde_json::from_str(&stored).unwrap();
                prop_assert_eq!(&restored, &encoder);
                let mut rest =
                    Reader::open(inputs(), source, &mut restored, Mode::Learn).unwrap();
                rest.check_unchanged(&prints).unwrap();
                rest.seek(position).unwrap();
                let rest = drain(rest, restored).unwrap();
                prop_assert_eq!(bits(&rest), &bits(&whole)[1..]);
                prop_assert_eq!(&rest.encoder, &whole.encoder);
            }
        }
    }
}

#[test]
fn the_blocks_do_not_depend_on_the_size_of_the_blocks() {
    let mut text = "y,c,a\n".to_owned();
    (0..50).for_each(|i| {
        text += &format!(
            "{},L{},{}\n",
            i % 2,
            i * i % 17,
            if i % 7 == 3 { String::new() } else { i.to_string() }
        )
    });
    let all = |rows| {
        read(vec![Input::memory("t.csv", text.as_bytes())], blocks_of(rows), options(Missing::Mean))
            .unwrap()
    };
    let expected = all(50);
    for rows in 1..50 {
        let got = all(rows);
        assert_eq!(got.names(), expected.names(), "blocks of {rows}");
        assert_eq!(got.rows(), expected.rows(), "blocks of {rows}");
        assert_eq!(got.encoder.columns(), expected.encoder.columns(), "blocks of {rows}");
    }
}

#[test]
fn rows_are_skipped_across_files_and_quoted_line_ends() {
    let file = |name: &str, from: usize| {
        let rows: String =
            (from..from + 5).map(|i| format!("{i},\"a\n\"\"{}\"\n", i % 3)).collect();
        Input::memory(name, format!("y,c\n{rows}").into_bytes())
    };
    for skip in 0..=10 {
        let inputs = vec![file("a.csv", 0), file("b.csv", 5)];
        let mut encoder = Encoder::new(EncoderOptions::target("y"));
        let mut reader = Reader::open(inputs, blocks_of(3), &mut encoder, Mode::Learn).unwrap();
        assert_eq!(reader.skip_rows(skip).unwrap(), skip);
        assert_eq!(reader.position().rows, skip);
        if skip < 10 {
            let reading = drain(reader, encoder).unwrap();
            assert_eq!(reading.y(), (skip..10).map(|i| i as f64).collect::<Vec<_>>());
            let last = reading.blocks.last().unwrap();
            assert_eq!(
                (last.location(last.rows() - 1).row, last.location(last.rows() - 1).line),
                (5, Some(10))
            );
        } else {
            assert!(matches!(drain(reader, encoder), Err(Error::NoRows { .. })));
        }
    }
}

#[test]
fn texts_run_beside_the_blocks() {
    let inputs = || {
        vec![
            Input::memory("a.csv", *b"y,a,note\n1,2,p q\n1,,\"r,s\"\n"),
            Input::memory("b.csv", *b"note,a,y\nt,3,0\n"),
        ]
    };
    let mut encoder =
        Encoder::new(EncoderOptions { exclude: vec!["note".into()], ..options(Missing::Skip) });
    let mut blocks = Reader::open(inputs(), blocks_of(2), &mut encoder, Mode::Learn).unwrap();
    let mut texts =
        TextReader::open(inputs(), blocks_of(2), Some(&["note".into(), "a".into()])).unwrap();
    let mut block = Block::new();
    let mut seen = Vec::new();
    while blocks.next_block(&mut encoder, &mut block).unwrap() {
        let text = texts.next_block().unwrap().unwrap();
        assert_eq!(text.rows(), block.rows_read);
        let place = |i| (block.input_row(i) - block.first_row) as usize;
        seen.extend((0..block.rows()).map(|i| {
            (String::from_utf8_lossy(text.get(place(i), 0)).into_owned(), block.row(i)[1])
        }));
    }
    assert!(texts.next_block().unwrap().is_none());
    assert_eq!(seen, [("p q".into(), 2.0), ("t".into(), 3.0)]);
    let all = TextReader::open(inputs(), blocks_of(2), None).unwrap();
    assert_eq!(all.names(), ["y", "a", "note"]);
    assert!(matches!(
        TextReader::open(inputs(), blocks_of(2), Some(&["nope".into()])),
        Err(Error::NoColumn { .. })
    ));
}

#[test]
fn changed_files_are_refused() {
    let open = |text: &str, name: &str| {
        let input = Input::memory(name, text.as_bytes());
        let mut encoder = Encoder::new(EncoderOptions::target("y"));
        Reader::open(vec![input], blocks_of(4), &mut encoder, Mode::Learn).unwrap()
    };
    let prints = open("y,x\n1,2\n", "a.csv").fingerprints().unwrap();
    open("y,x\n1,2\n", "a.csv").check_unchanged(&prints).unwrap();
    for (text, name) in
        [("y,x\n1,3\n", "a.csv"), ("y,x\n1,2\n1,2\n", "a.csv"), ("y,x\n1,2\n", "b.csv")]
    {
        assert!(matches!(open(text, name).check_unchanged(&prints), Err(Error::Changed { .. })));
    }
    assert!(open("y,x\n1,2\n", "a.csv").check_unchanged(&[]).is_err());
}

#[test]
fn delimiters_headers_and_column_orders() {
    let source = SourceOptions { delimiter: Some(b';'), header: false, ..blocks_of(4) };
    let reading =
        read(vec![Input::memory("t.csv", *b"1;2\n3;4\n")], source, EncoderOptions::target("c2"))
            .unwrap();
    assert_eq!(
        (reading.y(), reading.rows()),
        (vec![2.0, 4.0], vec![vec![1.0, 1.0], vec![1.0, 3.0]])
    );
    let inputs = vec![
        Input::memory("a.csv", *b"y,a,b\n1,2,3\n"),
        Input::memory("b.csv", *b"extra,b,y,a\nx,6,4,5\n"),
    ];
    let reading = read(inputs, blocks_of(1), EncoderOptions::target("y")).unwrap();
    assert_eq!(
        (reading.y(), reading.rows()),
        (vec![1.0, 4.0], vec![vec![1.0, 2.0, 3.0], vec![1.0, 5.0, 6.0]])
    );
    let source = SourceOptions { delimiter: Some(b'.'), ..blocks_of(4) };
    assert!(
        read(vec![Input::memory("t.csv", *b"y.a\n1.2\n")], source, EncoderOptions::target("y"))
            .is_err()
    );
    let source = SourceOptions { format: Some(Format::Jsonl), ..blocks_of(4) };
    let reading = read(
        vec![Input::memory("data.txt", *b"{\"y\":1,\"a\":\"7\"}\n{\"y\":2,\"a\":\"8\"}\n")],
        source,
        EncoderOptions::target("y"),
    );
    assert_eq!(reading.unwrap().names(), ["(intercept)", "a"], "quotes do not matter");
}
