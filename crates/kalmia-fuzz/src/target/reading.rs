//! Reads an input in every way that a caller can, and checks what must always hold.

use kalmia_data::{
    BadRows, Block, Encoder, EncoderOptions, Format, Input, Missing, Mode, Reader, Result,
    SourceOptions, TextReader,
};

use super::outcome;

/// The words of an input that is read to its end.
pub const GOOD: &str = "read to the end";

/// Rows per block: few, so that small inputs have several blocks.
const BLOCK_ROWS: usize = 8;

/// Learns from the input, predicts it with what was learned, and reads it as text; the outcome of
/// the learning.
pub fn read_all(name: &str, bytes: &[u8], format: Option<Format>) -> u64 {
    let source = SourceOptions {
        format,
        // Small and odd, so that rows cross the ends of chunks.
        chunk_bytes: 1 + bytes.len() % 97,
        block_rows: BLOCK_ROWS,
        max_line_bytes: 1 << 16,
        threaded: false,
        ..SourceOptions::default()
    };
    let _ = read_texts(name, bytes, &source);
    let target = (format != Some(Format::Libsvm)).then(|| "y".to_owned());
    let lenient = SourceOptions {
        bad_rows: BadRows::Skip,
        na_values: vec!["?".into(), "7".into()],
        limit: Some(1000),
        ..source.clone()
    };
    for source in [&lenient, &source] {
        let options = EncoderOptions {
            target: target.clone(),
            missing: Missing::Mean,
            max_features: 256,
            ..EncoderOptions::default()
        };
        let mut encoder = Encoder::new(options);
        let learned = read(name, bytes, source, &mut encoder, Mode::Learn);
        if encoder.is_settled() {
            let _ = read(name, bytes, source, &mut encoder, Mode::Predict);
        }
        if source.bad_rows == BadRows::Refuse {
            return match learned {
                Ok(()) => outcome(GOOD),
                Err(error) => outcome(&error.to_string()),
            };
        }
    }
    0
}

fn read(
    name: &str,
    bytes: &[u8],
    source: &SourceOptions,
    encoder: &mut Encoder,
    mode: Mode,
) -> Result<()> {
    let before = encoder.clone();
    let input = vec![Input::memory(name, bytes)];
    let mut reader = match Reader::open(input, source.clone(), encoder, mode) {
        Ok(reader) => reader,
        Err(error) => {
            assert_eq!(*encoder, before, "a refused opening changes nothing");
            return Err(error);
        }
    };
    let mut block = Block::new();
    let mut features = encoder.features().len();
    while reader.next_block(encoder, &mut block)? {
        assert_eq!(block.x.len(), block.dim * block.rows(), "a block is a rectangle");
        assert!(block.x.iter().all(|x| x.is_finite()), "features are finite");
        assert!(block.rows() <= BLOCK_ROWS, "a block has as many rows as asked for");
        if mode == Mode::Learn {
            assert!(block.y.iter().all(|y| y.is_finite()), "targets are finite");
            assert!(encoder.features().len() >= features, "features only grow");
        } else {
            assert_eq!(encoder.features().len(), features, "predicting learns nothing");
        }
        features = encoder.features().len();
    }
    Ok(())
}

fn read_texts(name: &str, bytes: &[u8], source: &SourceOptions) -> Result<()> {
    let mut reader = TextReader::open(vec![Input::memory(name, bytes)], source.clone(), None)?;
    let columns = reader.names().len();
    while let Some(block) = reader.next_block()? {
        for column in 0..columns {
            for row in 0..block.rows() {
                let _ = block.get(row, column);
            }
        }
    }
    Ok(())
}
