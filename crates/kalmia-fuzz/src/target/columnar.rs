//! Parquet and Arrow IPC, with every compression that is built in.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::reading::read_all;
use super::table::{NAMES, rows};
use super::{Target, unchanged};

/// Makes an array of texts.
type MakeArray = fn(Vec<Option<&'static str>>) -> ArrayRef;

/// Apache Parquet.
pub const PARQUET: Target = Target {
    name: "parquet",
    seeds: parquet_seeds,
    words: &[b"PAR1", b"\x15\x00", b"\x15\xfe\xff\xff\xff\x0f", b"\x19", b"\x1c", b"\x00\x00"],
    finish: unchanged,
    run: |bytes| read_all("t.parquet", bytes, None),
};

/// Arrow IPC, file and stream.
pub const ARROW: Target = Target {
    name: "arrow",
    seeds: arrow_seeds,
    words: &[b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\0\0\0\0"],
    finish: unchanged,
    run: |bytes| read_all("t.arrow", bytes, None),
};

/// The table, its last column as these texts.
fn batch(count: usize, texts: impl Fn(Vec<Option<&'static str>>) -> ArrayRef) -> RecordBatch {
    let rows = rows(count);
    let y = Int64Array::from_iter_values(rows.iter().map(|row| row.y as i64));
    let x: Float64Array = rows.iter().map(|row| row.x).collect();
    let flag: BooleanArray = rows.iter().map(|row| Some(row.flag)).collect();
    let towns = texts(rows.iter().map(|row| row.town).collect());
    let columns: [ArrayRef; 4] = [Arc::new(y), Arc::new(x), towns, Arc::new(flag)];
    let columns = NAMES.into_iter().zip(columns).map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns are equally long")
}

fn plain(texts: Vec<Option<&'static str>>) -> ArrayRef {
    Arc::new(StringArray::from(texts))
}

fn views(texts: Vec<Option<&'static str>>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter(texts))
}

fn dictionary(texts: Vec<Option<&'static str>>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    texts.into_iter().for_each(|text| builder.append_option(text));
    Arc::new(builder.finish())
}

fn parquet_seeds() -> Vec<Vec<u8>> {
    let level = ZstdLevel::try_new(1).expect("level 1 exists");
    let plain_properties = WriterProperties::builder();
    let variants = [
        plain_properties.clone(),
        plain_properties.clone().set_compression(Compression::SNAPPY),
        plain_properties.clone().set_compression(Compression::LZ4_RAW),
        plain_properties.clone().set_compression(Compression::GZIP(Default::default())),
        plain_properties.clone().set_compression(Compression::ZSTD(level)),
        plain_properties.clone().set_writer_version(WriterVersion::PARQUET_2_0),
        plain_properties
            .clone()
            .set_dictionary_enabled(false)
            .set_column_encoding("town".into(), Encoding::DELTA_BYTE_ARRAY),
    ];
    let write = |properties: parquet::file::properties::WriterPropertiesBuilder| {
        let batch = batch(20, plain);
        let properties = properties.set_max_row_group_row_count(Some(12)).build();
        let mut out = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).expect("a schema");
        writer.write(&batch).and_then(|()| writer.close()).expect("memory takes all bytes");
        out
    };
    variants.map(write).to_vec()
}

fn arrow_seeds() -> Vec<Vec<u8>> {
    let codecs = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    let kinds: [MakeArray; 3] = [plain, views, dictionary];
    let mut seeds = Vec::new();
    for codec in codecs {
        for kind in kinds {
            // Long enough that compression pays.
            let batch = batch(60, kind);
            let options = IpcWriteOptions::default().try_with_compression(codec);
            let options = options.expect("the codec is built in");
            seeds.push(stream(&batch, options.clone()));
            if codec.is_none() {
                seeds.push(file(&batch, options));
            }
        }
    }
    seeds
}

fn stream(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new_with_options(&mut out, &batch.schema(), options)
        .expect("memory takes all bytes");
    writer.write(batch).and_then(|()| writer.finish()).expect("memory takes all bytes");
    out
}

fn file(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut out, &batch.schema(), options)
        .expect("memory takes all bytes");
    writer.write(batch).and_then(|()| writer.finish()).expect("memory takes all bytes");
    out
}
