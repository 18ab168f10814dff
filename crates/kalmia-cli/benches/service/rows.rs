//! Rows of labels: eleven features with the constant, as in the paper's experiments.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use kalmia_data::{
    Coding, Encoder, EncoderOptions, Format, Input, Kind, Mode, SourceOptions, Table, TableSchema,
};
use kalmia_model::{LearnScratch, Model, Settings};
use std::fmt::Write;
use std::sync::Arc;

/// Features without the constant.
pub const FEATURES: usize = 10;
/// The content type of Arrow streams.
pub const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Numbers in [0, 1) by SplitMix64.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The features of a row, then its label.
fn row(uniform: &mut Uniform) -> [f64; FEATURES + 1] {
    let mut row = [0.0; FEATURES + 1];
    row[..FEATURES].iter_mut().for_each(|x| *x = (uniform.next() * 2000.0).round() / 1000.0 - 1.0);
    let u = 2.0 * row[0] - row[1] + 0.5 * row[2];
    row[FEATURES] = f64::from(u8::from(uniform.next() < 1.0 / (1.0 + (-u).exp())));
    row
}

/// A request of one row as JSON.
pub fn json_row(seed: u64) -> Vec<u8> {
    let row = row(&mut Uniform(seed));
    let mut text = String::from("[{");
    for (j, x) in row[..FEATURES].iter().enumerate() {
        write!(text, "\"x{j}\":{x},").expect("memory");
    }
    write!(text, "\"y\":{}}}]", row[FEATURES]).expect("memory");
    text.into_bytes()
}

/// A request of many rows as an Arrow stream.
pub fn arrow_batch(rows: usize, seed: u64) -> Vec<u8> {
    let mut uniform = Uniform(seed);
    let mut columns = vec![Vec::new(); FEATURES + 1];
    for _ in 0..rows {
        for (column, value) in columns.iter_mut().zip(row(&mut uniform)) {
            column.push(value);
        }
    }
    let arrays = columns.into_iter().enumerate().map(|(j, values)| {
        let name = if j < FEATURES { format!("x{j}") } else { "y".into() };
        (name, Arc::new(Float64Array::from(values)) as ArrayRef)
    });
    let batch = RecordBatch::try_from_iter(arrays).expect("columns of one length");
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a stream");
    writer.write(&batch).expect("memory");
    writer.into_inner().expect("memory")
}

/// The model that the service makes, without the service.
pub struct Alone {
    model: Model,
    schema: TableSchema,
    scratch: LearnScratch,
}

/// A model that has learned nothing.
pub fn model() -> Alone {
    let columns: Vec<_> = (0..FEATURES).map(|j| (format!("x{j}"), Kind::Number)).collect();
    let options = EncoderOptions::target("y");
    let encoder = Encoder::from_columns(options, &columns, Coding::Number).expect("columns");
    let family = "bernoulli".parse().expect("a family");
    let model = Model::new(Settings::default(), family, encoder).expect("a model");
    let schema = model.encoder.table_schema();
    Alone { model, schema, scratch: LearnScratch::default() }
}

impl Alone {
    /// Decodes and learns a batch.
    pub fn learn(&mut self, batch: &[u8]) {
        let input = Input::memory("batch", batch);
        let options = SourceOptions { format: Some(Format::Arrow), ..SourceOptions::default() };
        let table = Table::read(input, &options, &self.schema, Mode::Learn, 1 << 20);
        let table = table.expect("legal rows");
        self.model.learn_table(&table, &mut self.scratch).expect("legal rows");
    }
}
