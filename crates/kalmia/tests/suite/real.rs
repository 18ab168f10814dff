//! The real data sets of the repository, read.

use std::io::Read;

/// A data set of this repository, gzipped or not, with a constant in front, and its target.
pub fn real(path: &str) -> (usize, Vec<f64>, Vec<f64>) {
    let full = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(full).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    if path.ends_with(".gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut dim = 0;
    for line in text.lines().skip(1) {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        dim = values.len();
        x.push(1.0);
        x.extend_from_slice(&values[..dim - 1]);
        y.push(values[dim - 1]);
    }
    (dim, x, y)
}
