//! Hashed features: tokens, levels and indices as scikit-learn hashes them, and every refusal.

use crate::common::sparse::{Entries, csv, hashes, rows, svm, text_column, wide};
use crate::common::{blocks_of, cases, read, read_with};
use kalmia_data::{
    Analyzer, EncoderOptions, EntryProblem, Error, FIRST_UNNAMED, Kind, Missing, Mode, RowProblem,
    SettingProblem, WideRows,
};
use proptest::prelude::*;

#[test]
fn libsvm_indices_that_do_not_fit_are_refused_or_hashed() {
    let options = EncoderOptions { target: None, ..wide() };
    for key in ["2147483648", "4294967295"] {
        let text = format!("1 1:1\n0 3:1 {key}:1\n");
        let error = read(svm(&text), blocks_of(4), options.clone()).unwrap_err();
        let is = |problem: &RowProblem| {
            matches!(problem, RowProblem::Entry { problem: EntryProblem::IndexTooLarge, .. })
        };
        assert!(
            matches!(&error, Error::Row { at, problem } if at.row == 2 && is(problem)),
            "{error}"
        );
        assert!(error.to_string().contains("2^31"), "{error}");
        let hashed = EncoderOptions { hash_bits: Some(20), ..options.clone() };
        assert_eq!(hashes(&read(svm(&text), blocks_of(4), hashed).unwrap())[1].len(), 2);
    }
    for (entry, what) in [
        ("4294967296:1", "2^32 or more"),
        ("99999999999999999999:1", "2^32 or more"),
        ("-1:1", "not an `index:value` pair"),
        ("1:nan", "not finite"),
        ("1:1e999", "not finite"),
        ("1:", "not an `index:value` pair"),
    ] {
        let error = read(svm(&format!("1 {entry}\n")), blocks_of(4), options.clone()).unwrap_err();
        assert!(error.to_string().contains(what), "{entry}: {error}");
    }
}

#[test]
fn hashed_libsvm_indices_are_those_of_scikit_learn_and_summed() {
    // scikit-learn 1.9.1: FeatureHasher(2**3, input_type="pair", alternate_sign=False).transform(
    //   [[("1", 1.), ("2", 2.), ("3", 4.), ("9", 8.), ("10", 16.), ("11", 32.)]])
    let options = EncoderOptions { target: None, hash_bits: Some(3), intercept: false, ..wide() };
    let text = "1 1:1 2:2 3:4 9:8 10:16 11:32\n0 9:-2.5 10:2.5\n";
    let reading = read(svm(text), blocks_of(4), options.clone()).unwrap();
    let expected = [(1, 24.0), (4, 4.0), (5, 1.0), (6, 32.0), (7, 2.0)];
    assert_eq!(rows(&reading)[0], expected.map(|(hash, value)| (FIRST_UNNAMED + hash, value)));
    assert!(rows(&reading)[1].is_empty(), "a sum of 0 is left out");
    assert_eq!(reading.encoder.feature_name(FIRST_UNNAMED + 7), "#7");
    reading.encoder.check().unwrap();
    let error = read(svm("1 9:1e308 10:1e308\n"), blocks_of(4), options).unwrap_err();
    assert!(matches!(error, Error::Row { problem: RowProblem::HashedSum, .. }), "{error}");
}

#[test]
fn tokens_are_those_of_scikit_learn() {
    // scikit-learn 1.9.1, per text and analyzer a = CountVectorizer(...).build_analyzer():
    // FeatureHasher(2**18, input_type="string", alternate_sign=False).transform(
    //   [["review=" + w for w in set(a(text))]])
    let text = concat!(
        "y,review\n1,\"Good movie, good plot\"\n0,bad BAD plot_2 twist\n",
        "1, naïve Großstadt 日本語 \n"
    );
    let words =
        [vec![126365, 152075, 166708], vec![98298, 109586, 180036], vec![76310, 123395, 148143]];
    let reading = read(csv(text), blocks_of(4), text_column()).unwrap();
    assert_eq!(hashes(&reading), words);
    assert_eq!(reading.encoder.columns()[0].kind, Some(Kind::Text));
    assert_eq!(reading.names(), ["(intercept)"]);
    let pairs = [
        vec![126365, 152075, 166708, 171447, 189155, 232898],
        vec![98298, 109586, 116126, 180036, 181147, 207533],
        vec![25193, 56647, 76310, 123395, 148143],
    ];
    let options = EncoderOptions { analyzer: Analyzer::words(2).unwrap(), ..text_column() };
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap()), pairs);
    let third = [
        108, 4563, 8472, 9539, 22299, 22528, 39842, 46832, 47000, 53687, 67261, 82638, 84838,
        88119, 99513, 107883, 108916, 119247, 123395, 128194, 133770, 134789, 152525, 166346,
        172737, 173173, 179328, 191525, 206009, 209807, 215473, 216020, 243168, 248085, 250391,
        252685, 253140,
    ];
    let options = EncoderOptions { analyzer: Analyzer::characters(2, 3).unwrap(), ..text_column() };
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap())[2], third);
    let options = EncoderOptions { hash_bits: Some(4), ..text_column() };
    let few = [vec![4, 11, 13], vec![2, 4, 10], vec![3, 6, 15]];
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap()), few);
}

#[test]
fn hashed_levels_are_those_of_scikit_learn_and_never_unseen() {
    // scikit-learn 1.9.1: FeatureHasher(2**20, input_type="dict", alternate_sign=False).transform(
    //   [{"town": "Rome", "shop": "x"}, {"town": "Oslo", "shop": "y"}])
    let options = EncoderOptions { hash_bits: Some(20), ..wide() };
    let text = "y,town,shop\n1,Rome,x\n0, Oslo,y\n";
    let reading = read(csv(text), blocks_of(4), options).unwrap();
    assert_eq!(hashes(&reading), [[219848, 260553], [999656, 1018767]]);
    assert_eq!(reading.names(), ["(intercept)"]);
    assert!(reading.encoder.columns().iter().all(|column| column.levels.as_slice().is_empty()));
    reading.encoder.check().unwrap();
    let new = csv("town,shop\nBonn,x\n");
    let predicted = read_with(new, blocks_of(4), reading.encoder, Mode::Predict).unwrap();
    assert_eq!((hashes(&predicted)[0].len(), predicted.encoder.counts().unseen), (2, 0));
}

#[test]
fn tokens_are_present_once_and_levels_with_the_same_hash_add_up() {
    // one bit: every token and level is 0 or 1
    let options =
        EncoderOptions { hash_bits: Some(1), text: vec!["t".into(), "u".into()], ..wide() };
    let text = "y,t,u,c,d\n1,aa bb cc dd ee,aa bb cc dd ff,p,q\n0,!,?,p,q\n";
    let reading = read(csv(text), blocks_of(4), options).unwrap();
    let all = rows(&reading);
    let sum = |row: &Entries| row[1..].iter().map(|e| e.1).sum::<f64>();
    assert_eq!(all[0].len(), 3);
    assert_eq!((sum(&all[0]), sum(&all[1])), (4.0, 2.0), "{all:?}");
}

#[test]
fn missing_texts_have_no_tokens() {
    let text = "y,review\n1,good\n0,\n1,  NA \n0,!\n";
    let error = read(csv(text), blocks_of(4), text_column()).unwrap_err();
    assert!(
        matches!(&error, Error::MissingValue { at, column } if at.row == 2 && column == "review"),
        "{error}"
    );
    let options = |missing| EncoderOptions { missing, ..text_column() };
    let skipped = read(csv(text), blocks_of(4), options(Missing::Skip)).unwrap();
    assert_eq!((skipped.y(), skipped.encoder.counts().skipped), (vec![1.0, 0.0], 2));
    assert_eq!(rows(&skipped)[1], [(0, 1.0)]);
    let mean = read(csv(text), blocks_of(4), options(Missing::Mean)).unwrap();
    assert_eq!(mean.names(), ["(intercept)", "review:missing"]);
    let indicator = vec![(0, 1.0), (1, 1.0)];
    assert_eq!(rows(&mean)[1..], [indicator.clone(), indicator, vec![(0, 1.0)]]);
    assert_eq!(mean.encoder.counts().imputed, 2);
    mean.encoder.check().unwrap();
}

#[test]
fn texts_that_are_not_utf8_name_row_and_column() {
    for options in [text_column(), EncoderOptions { hash_bits: Some(8), ..wide() }] {
        let good = read(csv("y,review\n1,good\n"), blocks_of(4), options.clone()).unwrap();
        let bad = b"y,review\n1,fine\n0,caf\xe9\n";
        for mode in [Mode::Learn, Mode::Predict, Mode::Evaluate] {
            let encoder = good.encoder.clone();
            let error = read_with(csv(bad), blocks_of(4), encoder, mode).unwrap_err();
            assert!(
                matches!(&error, Error::Row { at, problem: RowProblem::NotUtf8 { column } }
                    if at.row == 2 && column == "review"),
                "{error}"
            );
        }
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let open = |options: EncoderOptions| read(csv("y,review,c\n1,good,b\n"), blocks_of(4), options);
    for bits in [0, 31, 64] {
        let error = open(EncoderOptions { hash_bits: Some(bits), ..wide() }).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::HashBits { .. })), "{error}");
    }
    let never = |options: EncoderOptions| EncoderOptions { wide: WideRows::Never, ..options };
    for options in [never(text_column()), never(EncoderOptions { hash_bits: Some(9), ..wide() })] {
        let error = open(options).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::NeedsWide { .. })), "{error}");
        assert!(error.to_string().contains("method auto or wide"), "{error}");
    }
    let analyzer = Analyzer::Words { ngrams: 0 };
    let error = open(EncoderOptions { analyzer, ..text_column() }).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::Analyzer { .. })), "{error}");
    let error = open(EncoderOptions { text: vec!["reviw".into()], ..wide() }).unwrap_err();
    assert!(matches!(&error, Error::NoColumn { name, .. } if name == "reviw"), "{error}");
    let error =
        read(svm("1 1:1\n"), blocks_of(4), EncoderOptions { target: None, ..text_column() });
    assert!(matches!(error, Err(Error::NoColumn { .. })));
    let list = || vec!["review".to_owned()];
    for twice in [
        EncoderOptions { exclude: list(), ..text_column() },
        EncoderOptions { categorical: list(), ..text_column() },
        EncoderOptions { weight: Some("review".into()), ..text_column() },
        EncoderOptions { target: Some("review".into()), ..text_column() },
    ] {
        let error = open(twice).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::TwoRoles { .. })), "{error}");
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn hostile_texts_and_indices_never_panic(
        text in prop::collection::vec(any::<u8>(), 0..200),
        pairs in prop::collection::vec((any::<u32>(), any::<f64>()), 0..20),
        bits in prop::option::of(1u8..31),
        from in 1u8..6,
        to in 6u8..17,
    ) {
        let table = [b"y,review,c\n1,\"", &*text, b"\",", &*text, b"\n0,ok,p\n"].concat();
        let analyzers = [Analyzer::words(from).unwrap(), Analyzer::characters(from, to).unwrap()];
        for analyzer in analyzers {
            let missing = Missing::Mean;
            let options = EncoderOptions { analyzer, hash_bits: bits, missing, ..text_column() };
            if let Ok(reading) = read(csv(&table), blocks_of(2), options) {
                rows(&reading);
                reading.encoder.check().unwrap();
            }
        }
        let mut pairs = pairs;
        pairs.sort_by_key(|pair| pair.0);
        let line: String = pairs.iter().map(|(key, value)| format!(" {key}:{value}")).collect();
        let options = EncoderOptions { target: None, hash_bits: bits, ..wide() };
        if let Ok(reading) = read(svm(&format!("1{line}\n")), blocks_of(2), options) {
            rows(&reading);
        }
    }
}
