//! Arrow types: read as numbers or texts, or refused, from record batches and from IPC.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int64Type};
use arrow_array::*;
use kalmia_data::{
    Block, ColumnProblem, Encoder, EncoderOptions, Error, FormatProblem, Input, Missing, Mode,
    Reader, ValueProblem, numbers,
};

use crate::common::{Reading, blocks_of, read};

fn options(missing: Missing) -> EncoderOptions {
    EncoderOptions { missing, ..EncoderOptions::target("y") }
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn batches(columns: Columns) -> Input {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = batch.schema();
    Input::record_batches("t", RecordBatchIterator::new([Ok(batch)], schema))
}

#[cfg(feature = "columnar")]
fn ipc(columns: Columns) -> Input {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut out = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut out, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    Input::memory("t.arrow", out)
}

/// The columns as every kind of input that holds Arrow arrays.
fn inputs(columns: &Columns) -> Vec<Input> {
    vec![
        batches(columns.clone()),
        #[cfg(feature = "columnar")]
        ipc(columns.clone()),
    ]
}

fn readings(columns: Columns, missing: Missing) -> Vec<kalmia_data::Result<Reading>> {
    let read = |input| read(vec![input], blocks_of(4), options(missing));
    inputs(&columns).into_iter().map(read).collect()
}

fn y(rows: i64) -> (&'static str, ArrayRef) {
    ("y", Arc::new(Int64Array::from_iter_values(1..=rows)))
}

#[test]
fn arrow_types_are_read_as_numbers_texts_or_refused() {
    let categories: DictionaryArray<Int8Type> =
        vec![Some("p"), None, Some("q")].into_iter().collect();
    let decimals =
        Decimal128Array::from(vec![125, 250, 375]).with_precision_and_scale(10, 2).unwrap();
    let columns: Columns = vec![
        y(3),
        ("f", Arc::new(Float32Array::from(vec![Some(0.5), Some(1.5), None]))),
        ("d", Arc::new(decimals)),
        ("u", Arc::new(UInt8Array::from(vec![7, 8, 9]))),
        ("c", Arc::new(categories)),
        ("v", Arc::new(StringViewArray::from(vec!["1", "2", "1"]))),
    ];
    for reading in readings(columns, Missing::Mean) {
        let reading = reading.unwrap();
        assert_eq!(
            reading.names(),
            ["(intercept)", "f", "d", "u", "c:missing", "v=2", "f:missing", "c=q"]
        );
        assert_eq!(reading.rows()[2], [1.0, 1.0, 3.75, 9.0, 0.0, 0.0, 1.0, 1.0]);
    }
    let dates: Columns = vec![y(1), ("when", Arc::new(Date32Array::from(vec![1])))];
    for reading in readings(dates, Missing::Error) {
        let error = reading.unwrap_err();
        assert!(
            matches!(&error, Error::Column { column, problem, .. }
                if column == "when" && *problem == ColumnProblem::Temporal { as_text: false }),
            "{error}"
        );
    }
    let binary: Columns = vec![y(1), ("raw", Arc::new(BinaryArray::from(vec![&b"x"[..]])))];
    for reading in readings(binary, Missing::Error) {
        let error = reading.unwrap_err();
        assert!(matches!(&error, Error::Column { problem: ColumnProblem::Type { .. }, .. }));
    }
    let nulls: Columns = vec![y(2), ("a", Arc::new(Int32Array::from(vec![Some(1), None])))];
    for reading in readings(nulls, Missing::Error) {
        let error = reading.unwrap_err();
        assert_eq!(error.location().map(|at| at.row), Some(2), "{error}");
        assert!(matches!(error, Error::MissingValue { .. }));
    }
}

#[test]
fn dictionaries_of_numbers_are_numbers_unless_they_are_categories() {
    let zips = || {
        let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
        let values = Arc::new(Int64Array::from(vec![9_007_199_254_740_993, 7]));
        DictionaryArray::<Int8Type>::new(keys, values)
    };
    let columns: Columns = vec![y(4), ("zip", Arc::new(zips()))];
    for reading in readings(columns.clone(), Missing::Skip) {
        let values: Vec<f64> = reading.unwrap().rows().iter().map(|row| row[1]).collect();
        assert_eq!(values, [7.0, 9_007_199_254_740_992.0, 7.0]);
    }
    for input in inputs(&columns) {
        let categorical = vec!["zip".into()];
        let options = EncoderOptions { categorical, ..options(Missing::Skip) };
        let reading = read(vec![input], blocks_of(4), options).unwrap();
        assert_eq!(reading.names(), ["(intercept)", "zip=9007199254740993"]);
    }
    let empty = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![None, None]),
        Arc::new(Int64Array::from(Vec::<i64>::new())),
    );
    let mut out = Vec::new();
    numbers(&empty, &mut out).unwrap();
    assert!(out.len() == 2 && out.iter().all(|v| v.is_nan()));
}

#[test]
fn numbers_converts_every_numeric_type() {
    let of = |array: &dyn Array| {
        let mut out = vec![-1.0];
        numbers(array, &mut out).map(|()| out.split_off(1))
    };
    assert_eq!(of(&Int8Array::from(vec![-3, 4])).unwrap(), [-3.0, 4.0]);
    assert_eq!(of(&UInt64Array::from(vec![1 << 60])).unwrap(), [(1u64 << 60) as f64]);
    assert_eq!(of(&Float32Array::from(vec![0.1f32])).unwrap(), [f64::from(0.1f32)]);
    assert_eq!(of(&BooleanArray::from(vec![true, false])).unwrap(), [1.0, 0.0]);
    let decimal = Decimal128Array::from(vec![-125]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(of(&decimal).unwrap(), [-1.25]);
    let dictionary = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![1, 0, 1]),
        Arc::new(PrimitiveArray::<Int64Type>::from(vec![10, 20])),
    );
    assert_eq!(of(&dictionary).unwrap(), [20.0, 10.0, 20.0]);
    let sliced = Float64Array::from(vec![Some(1.0), None, Some(3.0)]).slice(1, 2);
    let sliced = of(&sliced).unwrap();
    assert!(sliced[0].is_nan());
    assert_eq!(sliced[1], 3.0);
    assert!(of(&BooleanArray::from(vec![None])).unwrap()[0].is_nan());
    assert!(of(&NullArray::new(1)).unwrap()[0].is_nan());
    let mut out = vec![1.0];
    assert!(numbers(&StringArray::from(vec!["1"]), &mut out).is_err());
    assert!(numbers(&Date32Array::from(vec![1]), &mut out).is_err());
    assert_eq!(out, [1.0]);
}

#[test]
fn record_batches_are_read_once_and_report_their_errors() {
    let input = batches(vec![y(2), ("a", Arc::new(Int32Array::from(vec![1, 2])))]);
    let again = input.clone();
    read(vec![input], blocks_of(4), options(Missing::Error)).unwrap();
    let error = read(vec![again], blocks_of(4), options(Missing::Error)).unwrap_err();
    assert!(matches!(&error, Error::Format { problem: FormatProblem::Consumed, .. }), "{error}");

    let good = RecordBatch::try_from_iter([y(2)]).unwrap();
    let failure = arrow_schema::ArrowError::ComputeError("no more".into());
    let stream = RecordBatchIterator::new([Ok(good.clone()), Err(failure)], good.schema());
    let input = Input::record_batches("t", stream);
    let error = read(vec![input], blocks_of(4), options(Missing::Error)).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { .. }) && error.to_string().contains("no more"));

    let texts: Columns = vec![y(2), ("a", Arc::new(StringArray::from(vec!["1", "x"])))];
    let mut encoder = Encoder::new(options(Missing::Error));
    let csv = vec![Input::memory("t.csv", *b"y,a\n1,2\n")];
    let mut reader = Reader::open(csv, blocks_of(4), &mut encoder, Mode::Learn).unwrap();
    assert!(reader.next_block(&mut encoder, &mut Block::new()).unwrap());
    let mut reader =
        Reader::open(vec![batches(texts)], blocks_of(4), &mut encoder, Mode::Learn).unwrap();
    let error = reader.next_block(&mut encoder, &mut Block::new()).unwrap_err();
    assert!(
        matches!(&error, Error::Value { at, problem: ValueProblem::NotANumber, .. } if at.row == 2),
        "{error}"
    );
}

#[test]
fn kinds_of_types_are_those_that_are_read() {
    use arrow_schema::{DataType, TimeUnit};
    use kalmia_data::{Kind, kind_of};

    let dictionary = |of: DataType| DataType::Dictionary(Box::new(DataType::Int8), Box::new(of));
    for (of, kind) in [
        (DataType::Int8, Some(Kind::Number)),
        (DataType::Float16, Some(Kind::Number)),
        (DataType::Boolean, Some(Kind::Boolean)),
        (DataType::Utf8View, Some(Kind::Category)),
        (dictionary(DataType::Utf8), Some(Kind::Category)),
        (dictionary(DataType::Int64), Some(Kind::Number)),
        (DataType::Timestamp(TimeUnit::Second, None), None),
        (DataType::Binary, None),
    ] {
        assert_eq!(kind_of(&of), kind, "{of}");
    }
}
