//! Sparse rows: the features of dense rows, libsvm indices as they are, in blocks of any size.

use crate::common::sparse::{Entries, csv, mixed, rows, sparse, svm, text_column, wide};
use crate::common::{Reading, blocks_of, read, read_with};
use kalmia_data::{EncoderOptions, FIRST_UNNAMED, Missing, Mode, Result, Shuffle, WideRows};

/// Rows of numbers, truth values, categories and missing values, with levels that appear late.
fn table(count: usize) -> String {
    let mut text = String::from("y,a,town,b,shop\n");
    for i in 0..count {
        let a = if i % 7 == 3 { "NA".to_owned() } else { (i as f64 * 0.5 - 3.0).to_string() };
        let town = ["Rome", "Oslo", "", "Bonn"][i * i % 4];
        let b = ["true", "false", "NA"][i % 3];
        text += &format!("{},{a},{town},{b},s{}\n", i % 5, i * i % 11 + i / 9);
    }
    text
}

#[test]
fn sparse_rows_have_the_entries_of_dense_rows() {
    for missing in [Missing::Mean, Missing::Skip] {
        for intercept in [true, false] {
            let options = EncoderOptions { missing, intercept, ..wide() };
            let dense = EncoderOptions { wide: WideRows::Never, ..options.clone() };
            let dense = read(csv(table(100)), blocks_of(16), dense).unwrap();
            let sparse = read(csv(table(100)), blocks_of(16), options).unwrap();
            assert_eq!(sparse.encoder.features(), dense.encoder.features());
            assert_eq!(sparse.encoder.counts(), dense.encoder.counts());
            assert_eq!(sparse.encoder.columns(), dense.encoder.columns());
            assert_eq!(sparse.y(), dense.y());
            assert_eq!(sparse.encoder.number_features(), 2 + usize::from(intercept));
            let filled = |entries: Entries| {
                let mut row = vec![0.0; dense.encoder.dim()];
                entries.into_iter().for_each(|(i, value)| row[i as usize] = value);
                row
            };
            let filled: Vec<_> = rows(&sparse).into_iter().map(filled).collect();
            assert_eq!(filled, dense.rows());
            for (a, b) in sparse.blocks.iter().zip(&dense.blocks) {
                assert_eq!((a.dim, a.rows_read, a.first_row), (b.dim, b.rows_read, b.first_row));
            }
            sparse.encoder.check().unwrap();
        }
    }
}

#[test]
fn libsvm_indices_are_passed_on_without_a_schema() {
    let text = "+1 3:0.5 7:0 9:2 # comment\n-1 0:4 2147483647:1\n+1 qid:5\n";
    let options = EncoderOptions { target: None, ..wide() };
    let reading = read(svm(text), blocks_of(2), options.clone()).unwrap();
    assert_eq!(reading.names(), ["(intercept)"]);
    let key = |k: u32| FIRST_UNNAMED + k;
    let expected: [Entries; 3] = [
        vec![(0, 1.0), (key(3), 0.5), (key(9), 2.0)],
        vec![(0, 1.0), (key(0), 4.0), (key(0x7fff_ffff), 1.0)],
        vec![(0, 1.0)],
    ];
    assert_eq!(rows(&reading), expected);
    reading.encoder.check().unwrap();
    assert_eq!(reading.encoder.feature_name(key(9)), "9");
    let again =
        read_with(svm(text), blocks_of(1), reading.encoder.clone(), Mode::Evaluate).unwrap();
    assert_eq!(rows(&again), expected);
    assert_eq!(again.encoder.counts().unseen, 0);
    let chosen = EncoderOptions { exclude: vec!["9".into(), "03".into()], ..options.clone() };
    let reading = read(svm(text), blocks_of(2), chosen).unwrap();
    assert_eq!(rows(&reading)[0], [(0, 1.0), (key(3), 0.5)]);
    let chosen = EncoderOptions { features: Some(vec!["9".into()]), intercept: false, ..options };
    let reading = read(svm(text), blocks_of(2), chosen).unwrap();
    assert_eq!(rows(&reading), [vec![(key(9), 2.0)], vec![], vec![]]);
    reading.encoder.check().unwrap();
}

#[test]
fn blocks_of_any_size_give_the_same_rows() {
    for hash_bits in [None, Some(12)] {
        for missing in [Missing::Mean, Missing::Skip] {
            let options = EncoderOptions { hash_bits, missing, ..text_column() };
            let of = |n| read(csv(mixed(300)), blocks_of(n), options.clone()).unwrap();
            let one = of(1);
            for n in [7, 1024] {
                let other = of(n);
                assert_eq!(rows(&other), rows(&one));
                assert_eq!(other.encoder.features(), one.encoder.features());
                assert_eq!(other.encoder.columns(), one.encoder.columns());
                assert_eq!(other.encoder.counts(), one.encoder.counts());
            }
            let dense_names = one.encoder.features().len();
            assert_eq!(one.encoder.feature_name(1), "a");
            assert_eq!(one.encoder.feature_name(dense_names as u32), format!("({dense_names})"));
        }
    }
}

#[test]
fn auto_decides_once_by_the_first_block() {
    let auto = || EncoderOptions { wide: WideRows::Auto, ..EncoderOptions::target("y") };
    let is_wide = |reading: Result<Reading>| {
        let reading = reading.unwrap();
        reading.encoder.check().unwrap();
        let wide = reading.encoder.is_wide();
        assert!(reading.blocks.iter().all(|block| block.sparse.is_some() == wide));
        wide
    };
    let category = |levels: usize, rows: usize| {
        let mut text = String::from("y,c\n");
        (0..rows).for_each(|i| text += &format!("1,l{}\n", i % levels));
        text
    };
    for (levels, rows, expected) in [(257, 1000, true), (257, 1028, false), (256, 300, false)] {
        let reading = read(csv(category(levels, rows)), blocks_of(2000), auto());
        assert_eq!(is_wide(reading), expected, "{levels} levels, {rows} rows");
    }
    // more levels come later: the decision stands
    assert!(!is_wide(read(csv(category(500, 500)), blocks_of(100), auto())));
    let columns = |n: usize| {
        let names: String = (0..n).map(|i| format!(",c{i}")).collect();
        format!("y{names}\n1{}\n", ",2".repeat(n))
    };
    assert!(!is_wide(read(csv(columns(4999)), blocks_of(4), auto())));
    assert!(is_wide(read(csv(columns(5000)), blocks_of(4), auto())));
    let indices = |n: usize| {
        let pairs: String = (1..=n).map(|i| format!(" {i}:1")).collect();
        format!("1{pairs}\n0 1:1 5000:1\n")
    };
    let no_target = || EncoderOptions { target: None, ..auto() };
    assert!(!is_wide(read(svm(&indices(2000)), blocks_of(1), no_target())));
    let many = read(svm(&indices(2001)), blocks_of(1), no_target()).unwrap();
    assert_eq!(many.names(), ["(intercept)"]);
    assert_eq!(rows(&many)[1].len(), 3);
    let hashed = EncoderOptions { hash_bits: Some(10), ..auto() };
    assert!(is_wide(read(csv("y,c\n1,a\n"), blocks_of(4), hashed)));
    let text = EncoderOptions { text: vec!["c".into()], ..auto() };
    assert!(is_wide(read(csv("y,c\n1,aa\n"), blocks_of(4), text)));
    // rows that are left out decide nothing
    let skip = EncoderOptions { missing: Missing::Skip, ..auto() };
    let late = read(csv(format!("y,c\nNA,a\n{}", &category(300, 300)[4..])), blocks_of(1), skip);
    assert!(!late.unwrap().encoder.is_wide());
}

#[test]
fn shuffled_rows_are_the_same_rows() {
    let options = EncoderOptions { missing: Missing::Mean, ..text_column() };
    let reading = read(csv(mixed(3000)), blocks_of(512), options).unwrap();
    let expected = rows(&reading);
    for bytes in [usize::MAX, 20_000, 0] {
        let mut shuffle = Shuffle::new(5, bytes);
        reading.blocks.iter().for_each(|block| shuffle.add(block).unwrap());
        let dense = read(csv("y,a\n1,2\n"), blocks_of(4), EncoderOptions::target("y")).unwrap();
        assert!(shuffle.add(&dense.blocks[0]).is_err(), "dense rows among sparse ones");
        let mut shuffled = shuffle.finish();
        let mut seen = vec![false; expected.len()];
        let mut block = dense.blocks[0].clone();
        while shuffled.next_block(&mut block).unwrap() {
            let rows = sparse(&block);
            assert_eq!(block.dim, reading.encoder.dim());
            for i in 0..block.rows() {
                let row = block.location(i).row as usize - 1;
                assert!(!std::mem::replace(&mut seen[row], true));
                let got = rows.row(i);
                assert!(got.indices.iter().copied().eq(expected[row].iter().map(|e| e.0)));
                assert!(got.values.iter().copied().eq(expected[row].iter().map(|e| e.1)));
            }
        }
        assert!(seen.iter().all(|&seen| seen));
    }
}
