//! The memory that a reading needs does not grow with the number of rows, and a small hostile file
//! does not fill it.

#[path = "suite/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{gzip, zstandard};
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Error, Input, Kind, Missing, Mode, Reader,
    SourceOptions, Table, WideRows,
};

/// Counts the bytes in use, their peak and the allocations.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system allocator unchanged; only counters are kept beside.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(used, Relaxed);
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that a first reading may leave behind, such as a thread's locals or a panic hook.
const SMALL_BYTES: usize = 1 << 14;

/// The counters are shared, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Bytes in use at the peak of a reading, beyond those before it.
fn peak(name: &str, bytes: Vec<u8>, threaded: bool) -> usize {
    let (peak, outcome) = peak_and_outcome(name, bytes, threaded);
    outcome.unwrap();
    peak
}

fn peak_and_outcome(name: &str, bytes: Vec<u8>, threaded: bool) -> (usize, Result<(), Error>) {
    let without = USED.load(Relaxed) - bytes.capacity();
    let input = Input::memory(name, bytes);
    let source = SourceOptions {
        threaded,
        chunk_bytes: 1 << 14,
        block_rows: 256,
        ..SourceOptions::default()
    };
    let target = (name != "t.svm").then(|| "y".to_owned());
    let options = EncoderOptions { target, missing: Missing::Mean, ..EncoderOptions::default() };
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let read = || -> Result<(), Error> {
        let mut encoder = Encoder::new(options);
        let mut reader = Reader::open(vec![input], source, &mut encoder, Mode::Learn)?;
        let mut block = Block::new();
        while reader.next_block(&mut encoder, &mut block)? {}
        Ok(())
    };
    let outcome = read();
    let peak = PEAK.load(Relaxed) - before;
    // The thread that reads ahead ends after its reader. What it still holds would count as in use
    // before the next reading, whose peak would then seem smaller.
    let freed = || USED.load(Relaxed) <= without + SMALL_BYTES;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !freed() && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    assert!(freed(), "{} bytes are never freed", USED.load(Relaxed) - without);
    (peak, outcome)
}

fn csv(rows: usize) -> Vec<u8> {
    let mut text = String::from("y,a,c,t\n");
    (0..rows)
        .for_each(|i| text += &format!("{},{}.25,L{},\"x,{}\"\n", i % 2, i % 1000, i % 5, i % 3));
    text.into_bytes()
}

fn jsonl(rows: usize) -> Vec<u8> {
    (0..rows)
        .flat_map(|i| {
            format!("{{\"y\":{},\"a\":{}.5,\"c\":\"L{}\"}}\n", i % 2, i % 1000, i % 5).into_bytes()
        })
        .collect()
}

fn libsvm(rows: usize) -> Vec<u8> {
    (0..rows)
        .flat_map(|i| format!("{} {}:1 9:{}.5\n", i % 2, i % 7 + 1, i % 1000).into_bytes())
        .collect()
}

#[cfg(feature = "columnar")]
fn table(rows: usize) -> common::Table {
    use common::Cell::{Number, Text};
    let row = |i: usize| {
        vec![Number((i % 2) as f64), Number((i % 1000) as f64), Text(format!("L{}", i % 5))]
    };
    common::Table {
        names: ["y", "a", "c"].map(String::from).to_vec(),
        rows: (0..rows).map(row).collect(),
    }
}

/// A file, as its name and its bytes for a number of rows.
type Case = (&'static str, fn(usize) -> Vec<u8>);

#[test]
fn peak_memory_is_that_of_a_few_blocks() {
    let _turn = TURN.lock().unwrap();
    let mut cases: Vec<Case> = vec![
        ("t.csv", csv),
        ("t.jsonl", jsonl),
        ("t.csv.gz", |rows| gzip(&csv(rows))),
        ("t.csv.zst", |rows| zstandard(&csv(rows))),
        ("t.svm", libsvm),
    ];
    #[cfg(feature = "columnar")]
    cases.push(("t.parquet", |rows| table(rows).parquet(4_000)));
    for (name, bytes) in cases.drain(..) {
        for threaded in [false, true] {
            let few = peak(name, bytes(4_000), threaded);
            let many = peak(name, bytes(64_000), threaded);
            // How far the thread runs ahead varies by a block or two.
            assert!(
                many as f64 <= 1.25 * few as f64 + 2e5,
                "{name}, threaded {threaded}: {few} bytes, then {many}"
            );
        }
    }
}

/// Allocations per row of a reading with sparse rows, in few large blocks.
fn allocations_per_row(name: &str, bytes: Vec<u8>, options: EncoderOptions) -> f64 {
    let source = SourceOptions { threaded: false, block_rows: 4096, ..SourceOptions::default() };
    let mut encoder = Encoder::new(EncoderOptions { wide: WideRows::Always, ..options });
    let inputs = vec![Input::memory(name, bytes)];
    let mut reader = Reader::open(inputs, source, &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    // buffers grow in the first block
    assert!(reader.next_block(&mut encoder, &mut block).unwrap());
    let before = ALLOCATIONS.load(Relaxed);
    let mut rows = 0;
    while reader.next_block(&mut encoder, &mut block).unwrap() {
        rows += block.rows();
    }
    (ALLOCATIONS.load(Relaxed) - before) as f64 / rows as f64
}

#[test]
fn sparse_rows_are_written_without_an_allocation_per_row() {
    let _turn = TURN.lock().unwrap();
    let y = || EncoderOptions::target("y");
    let mut texts = String::from("y,t\n");
    (0..40_000).for_each(|i| texts += &format!("{},Größe {} good PLOT {}\n", i % 2, i, i % 77));
    for hash_bits in [None, Some(20)] {
        let of_svm = EncoderOptions { target: None, hash_bits, ..y() };
        let svm = allocations_per_row("t.svm", libsvm(40_000), of_svm);
        assert!(svm < 0.01, "libsvm, hash bits {hash_bits:?}: {svm}");
        for analyzer in ["words", "words:2", "characters:2-4"] {
            let analyzer = analyzer.parse().unwrap();
            let of_text = EncoderOptions { text: vec!["t".into()], analyzer, hash_bits, ..y() };
            let text = allocations_per_row("t.csv", texts.clone().into_bytes(), of_text);
            assert!(text < 0.01, "text, {analyzer}, hash bits {hash_bits:?}: {text}");
        }
        let levels = allocations_per_row("t.csv", csv(40_000), EncoderOptions { hash_bits, ..y() });
        assert!(levels < 0.01, "levels, hash bits {hash_bits:?}: {levels}");
    }
}

/// A file of one compressed batch of zeros; the zeros themselves are never touched.
#[cfg(feature = "columnar")]
fn bomb(rows: usize, compression: arrow_ipc::CompressionType) -> Vec<u8> {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
    let zeros: ArrayRef = std::sync::Arc::new(Float64Array::from(vec![0.0; rows]));
    let batch = RecordBatch::try_from_iter([("y", zeros)]).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(Some(compression)).unwrap();
    let mut out = Vec::new();
    let mut writer =
        StreamWriter::try_new_with_options(&mut out, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    out
}

#[cfg(feature = "columnar")]
#[test]
fn hostile_arrow_files_are_refused_before_anything_is_allocated() {
    use arrow_ipc::CompressionType;
    const FEW_BYTES: usize = 16 << 20;
    let _turn = TURN.lock().unwrap();
    let zstd = bomb((1 << 27) + 1000, CompressionType::ZSTD);
    assert!(zstd.len() < 1 << 18, "{} bytes are no bomb", zstd.len());
    let cases = [
        (&include_bytes!("files/huge_length.arrow")[..], "more than 1073741824"),
        (include_bytes!("files/decoder_panics.arrow"), "t.arrow: not readable as Arrow IPC"),
        (&zstd, "a record batch would need 1073749824 bytes of memory, more than 1073741824"),
    ];
    for (bytes, expected) in cases {
        for threaded in [false, true] {
            let (peak, outcome) = peak_and_outcome("t.arrow", bytes.to_vec(), threaded);
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(peak < FEW_BYTES, "{peak} bytes for a file of {}", bytes.len());
        }
    }
    let small = bomb(100_000, CompressionType::LZ4_FRAME);
    peak_and_outcome("t.arrow", small, false).1.expect("an honest file is read");
}

/// A request of one row must not pay for the buffers of a file.
#[test]
fn a_small_table_takes_little_memory() {
    let _turn = TURN.lock().unwrap();
    let columns: Vec<_> = (0..12).map(|i| (format!("x{i}"), Kind::Number)).collect();
    let options = EncoderOptions::target("y");
    let encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
    let schema = encoder.table_schema();
    let members: Vec<_> = (0..12).map(|i| format!("\"x{i}\":{i}.5")).collect();
    let names: Vec<_> = columns.iter().map(|column| &*column.0).collect();
    let csv = format!("{}\n{}\n", names.join(","), ["0.5"; 12].join(","));
    let source = SourceOptions::default();
    for (name, body, limit) in
        [("t.jsonl", format!("{{{}}}", members.join(",")), 1 << 13), ("t.csv", csv, 1 << 15)]
    {
        let input = Input::memory(name, body.into_bytes());
        let before = USED.load(Relaxed);
        PEAK.store(before, Relaxed);
        let table = Table::read(input, &source, &schema, Mode::Predict, 1000).unwrap();
        assert_eq!(table.rows(), 1);
        let peak = PEAK.load(Relaxed) - before;
        assert!(peak < limit, "{name}: {peak} bytes");
    }
}

/// Marks of an encoder of numbers allocate nothing.
#[test]
fn a_mark_of_numbers_allocates_nothing() {
    let _turn = TURN.lock().unwrap();
    let columns: Vec<_> = (0..12).map(|i| (format!("x{i}"), Kind::Number)).collect();
    let options = EncoderOptions::target("y");
    let mut encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
    let before = ALLOCATIONS.load(Relaxed);
    let mark = encoder.mark();
    encoder.undo(mark);
    assert_eq!(ALLOCATIONS.load(Relaxed), before);
}
