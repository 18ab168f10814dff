//! Speed of tables: one row of a request, and the rows of large ones.
//!
//! `cargo bench -p kalmia-data --bench table` takes some seconds; run as a test it reads a few
//! rows, to show that it works.

use std::hint::black_box;
use std::time::Instant;

use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Input, Kind, Mode, Reader, SourceOptions, Table,
    json_lines,
};

/// Feature columns.
const COLUMNS: usize = 11;

fn value(row: usize, column: usize) -> f64 {
    let mixed = (row * COLUMNS + column) as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as f64 / 1e6
}

fn object(row: usize) -> String {
    let members: Vec<_> = (0..COLUMNS).map(|j| format!("\"x{j}\":{}", value(row, j))).collect();
    format!("{{{},\"y\":{}}}", members.join(","), row % 2)
}

fn csv(rows: usize) -> String {
    let names: Vec<_> = (0..COLUMNS).map(|j| format!("x{j}")).collect();
    let line = |row: usize| {
        let fields: Vec<_> = (0..COLUMNS).map(|j| value(row, j).to_string()).collect();
        format!("{},{}\n", fields.join(","), row % 2)
    };
    let lines: String = (0..rows).map(line).collect();
    format!("{},y\n{lines}", names.join(","))
}

#[cfg(feature = "columnar")]
fn arrow(rows: usize) -> Vec<u8> {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use std::sync::Arc;

    let column = |of: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(of)))
    };
    let mut columns: Vec<(String, ArrayRef)> =
        (0..COLUMNS).map(|j| (format!("x{j}"), column(&|row| value(row, j)))).collect();
    columns.push(("y".into(), column(&|row| (row % 2) as f64)));
    let batch = RecordBatch::try_from_iter(columns).expect("columns are equally long");
    let mut out = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut out, &batch.schema())
        .expect("memory takes all bytes");
    writer.write(&batch).and_then(|()| writer.finish()).expect("memory takes all bytes");
    out
}

/// Prints the time per row of the fastest of some rounds.
fn time(what: &str, rows: usize, calls: usize, mut work: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        best = best.min(start.elapsed().as_secs_f64() / (calls * rows) as f64);
    }
    println!("  {what:<44} {:9.3} us/row {:12.0} rows/s", best * 1e6, 1.0 / best);
}

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let (calls, rows) = if full { (100_000, 10_000) } else { (2, 10) };
    let columns: Vec<_> = (0..COLUMNS).map(|j| (format!("x{j}"), Kind::Number)).collect();
    let options = EncoderOptions::target("y");
    let mut encoder =
        Encoder::from_columns(options, &columns, Coding::Number).expect("columns differ");
    let schema = encoder.table_schema().with_key("id");
    let source = SourceOptions { threaded: false, ..SourceOptions::default() };
    let read = |name: &str, body: &[u8]| {
        let input = Input::memory(name, body);
        Table::read(input, &source, &schema, Mode::Learn, 1 << 20).expect("rows are good")
    };

    println!("{COLUMNS} numbers and a target");
    let one = object(3).into_bytes();
    time("JSON, one row: read", 1, calls, || drop(black_box(read("t.json", &one))));
    let array = format!("[{}]", object(3)).into_bytes();
    time("JSON, array of one row: lines and read", 1, calls, || {
        let mut body = array.clone();
        json_lines("t.json", &mut body).expect("an array");
        drop(black_box(read("t.json", &body)));
    });
    let one_csv = csv(1).into_bytes();
    time("CSV, one row: read", 1, calls, || drop(black_box(read("t.csv", &one_csv))));
    let table = read("t.json", &one);
    let stored = table.to_bytes();
    println!("  one row takes {} bytes", stored.len());
    time("one row: to bytes", 1, calls, || drop(black_box(table.to_bytes())));
    time("one row: from bytes", 1, calls, || {
        drop(black_box(Table::from_bytes(&stored, &schema, "log").expect("good bytes")));
    });
    let mut block = Block::new();
    time("one row: encode for prediction", 1, calls, || {
        encoder.encode_for_prediction(&table, &mut block).expect("good rows");
    });
    time("one row: mark and encode", 1, calls, || {
        let mark = encoder.mark();
        encoder.encode_table(&table, &mut block).expect("good rows");
        let _ = black_box(mark);
    });

    let calls = calls / rows;
    let many: Vec<u8> = (0..rows).flat_map(|row| (object(row) + "\n").into_bytes()).collect();
    let many_csv = csv(rows).into_bytes();
    #[cfg_attr(not(feature = "columnar"), allow(unused_mut))]
    let mut bodies = vec![("t.jsonl", many), ("t.csv", many_csv)];
    #[cfg(feature = "columnar")]
    bodies.push(("t.arrow", arrow(rows)));
    for (name, body) in bodies {
        let shared: std::sync::Arc<[u8]> = body.into();
        time(&format!("{name}, {rows} rows: table, encode"), rows, calls.max(1), || {
            let input = Input::memory(name, shared.clone());
            let table = Table::read(input, &source, &schema, Mode::Learn, rows);
            encoder.encode_table(&table.expect("good rows"), &mut block).expect("good rows");
        });
        time(&format!("{name}, {rows} rows: reader"), rows, calls.max(1), || {
            let input = vec![Input::memory(name, shared.clone())];
            let mut reader = Reader::open(input, source.clone(), &mut encoder, Mode::Learn)
                .expect("columns are there");
            while reader.next_block(&mut encoder, &mut block).expect("good rows") {}
        });
    }
}
