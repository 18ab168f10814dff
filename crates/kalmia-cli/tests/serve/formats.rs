//! The same rows in every format that a request can have, and the parts of a model file.

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use serde_json::{Value, json};
use std::sync::Arc;

/// Content types with the same rows in each; the first is an array.
pub fn all(rows: &Value) -> [(&'static str, Vec<u8>); 4] {
    [
        ("application/json", serde_json::to_vec(rows).unwrap()),
        ("application/x-ndjson", ndjson(rows)),
        ("text/csv", csv(rows)),
        ("application/vnd.apache.arrow.stream", arrow(rows)),
    ]
}

/// An object per line.
pub fn ndjson(rows: &Value) -> Vec<u8> {
    let lines = rows.as_array().unwrap().iter().map(|row| format!("{row}\n"));
    lines.collect::<String>().into_bytes()
}

/// The names of the columns.
fn names(rows: &Value) -> Vec<String> {
    rows[0].as_object().unwrap().keys().cloned().collect()
}

/// With a header; null is an empty field.
pub fn csv(rows: &Value) -> Vec<u8> {
    let names = names(rows);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).unwrap();
    for row in rows.as_array().unwrap() {
        let field = |name: &String| match &row[name.as_str()] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            value => value.to_string(),
        };
        writer.write_record(names.iter().map(field)).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Texts as strings, all else as numbers.
pub fn arrow(rows: &Value) -> Vec<u8> {
    let rows_of = rows.as_array().unwrap();
    let column = |name: &String| -> (String, ArrayRef) {
        let values = rows_of.iter().map(|row| &row[name.as_str()]);
        let array: ArrayRef = if rows_of.iter().any(|row| row[name.as_str()].is_string()) {
            Arc::new(values.map(Value::as_str).collect::<StringArray>())
        } else {
            Arc::new(values.map(Value::as_f64).collect::<Float64Array>())
        };
        (name.clone(), array)
    };
    let batch = RecordBatch::try_from_iter(names(rows).iter().map(column)).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// What a model file says of its learner and its scores: not the history, the settings, and how
/// the columns were found.
pub fn learned(file: &[u8]) -> Value {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    let state: Value =
        serde_json::from_str(header["__metadata__"]["state"].as_str().unwrap()).unwrap();
    assert!(state["learner"].is_object() && state["metrics"].is_object());
    let matrices = &file[8 + length..];
    let of_learner =
        |name: &&String| !["__metadata__", "encoder."].iter().any(|p| name.starts_with(p));
    let tensors = header.as_object().unwrap().keys().filter(of_learner).map(|name| {
        let [start, end] =
            [0, 1].map(|i| header[name]["data_offsets"][i].as_u64().unwrap() as usize);
        json!([name, header[name]["shape"], crc32fast::hash(&matrices[start..end])])
    });
    json!([state["learner"], state["metrics"], tensors.collect::<Vec<_>>()])
}
