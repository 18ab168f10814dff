//! The state of wide encoders: stored, restored, damaged, declared and undone.

use crate::common::sparse::{csv, hashes, mixed, rows, text_column, wide};
use crate::common::{Reading, blocks_of, read, read_with};
use kalmia_data::{
    Analyzer, Block, Coding, Encoder, EncoderOptions, Error, Kind, Missing, Mode, Reader,
    RowProblem, SettingProblem, WideRows,
};

#[test]
fn a_restored_encoder_continues_as_if_it_had_never_stopped() {
    let options = EncoderOptions {
        missing: Missing::Mean,
        analyzer: Analyzer::words(2).unwrap(),
        wide: WideRows::Auto,
        ..text_column()
    };
    let whole = read(csv(mixed(60)), blocks_of(10), options.clone()).unwrap();
    let mut encoder = Encoder::new(options);
    let mut block = Block::new();
    let mut blocks = Vec::new();
    let mut position = Default::default();
    for _ in 0..6 {
        let mut reader =
            Reader::open(csv(mixed(60)), blocks_of(10), &mut encoder, Mode::Learn).unwrap();
        reader.seek(position).unwrap();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        blocks.push(block.clone());
        position = reader.position();
        encoder.check().unwrap();
        encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
        encoder.check().unwrap();
    }
    assert!(encoder.is_wide());
    assert_eq!(encoder, whole.encoder);
    assert_eq!(rows(&Reading { blocks, encoder }), rows(&whole));
}

#[test]
fn a_refused_block_leaves_no_trace() {
    let options = EncoderOptions { wide: WideRows::Auto, missing: Missing::Mean, ..wide() };
    let levels: String = (0..300).map(|i| format!("1,2,l{i}\n")).collect();
    for (bad, decided) in [(b"1,3,\xff\n".as_slice(), true), (b"1,3,\xff\n", false)] {
        let mut text = b"y,a,c\n".to_vec();
        let first = if decided { &*levels } else { "1,,p\n1,2,q\n" };
        text.extend_from_slice(first.as_bytes());
        text.extend_from_slice(b"1,,new\n");
        text.extend_from_slice(bad);
        let mut encoder = Encoder::new(options.clone());
        let rows_first = first.lines().count();
        let mut reader =
            Reader::open(csv(text), blocks_of(rows_first), &mut encoder, Mode::Learn).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        assert_eq!(encoder.is_wide(), decided);
        let before = encoder.clone();
        let error = reader.next_block(&mut encoder, &mut block).unwrap_err();
        assert!(matches!(error, Error::Row { problem: RowProblem::NotUtf8 { .. }, .. }), "{error}");
        assert_eq!(encoder, before);
    }
    // a declared encoder that a refused first block would have made wide
    let columns = [("c".to_owned(), Kind::Category)];
    let mut encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
    let before = encoder.clone();
    let mut text = b"c,y\n".to_vec();
    (0..300).for_each(|i| text.extend(format!("l{i},{i}\n").bytes()));
    text.extend_from_slice(b"\xff,1\n");
    let mut reader = Reader::open(csv(text), blocks_of(400), &mut encoder, Mode::Learn).unwrap();
    assert!(reader.next_block(&mut encoder, &mut Block::new()).is_err());
    assert_eq!(encoder, before);
}

#[test]
fn options_at_their_defaults_are_stored_as_before() {
    let json = serde_json::to_string(&EncoderOptions::target("y")).unwrap();
    let before = "{\"target\":\"y\",\"positive\":null,\"weight\":null,\"offset\":null,\
        \"features\":null,\"exclude\":[],\"categorical\":[],\"intercept\":true,\
        \"missing\":\"error\",\"max_features\":32768}";
    assert_eq!(json, before);
    let encoder =
        read(csv("y,a\n1,2\n"), blocks_of(4), EncoderOptions::target("y")).unwrap().encoder;
    assert!(!serde_json::to_string(&encoder).unwrap().contains("wide"));
    assert_eq!(
        serde_json::from_str::<EncoderOptions>(before).unwrap(),
        EncoderOptions::target("y")
    );
    let set = EncoderOptions {
        analyzer: Analyzer::characters(2, 4).unwrap(),
        hash_bits: Some(20),
        ..text_column()
    };
    let json = serde_json::to_string(&set).unwrap();
    assert!(json.contains("\"characters:2-4\"") && json.contains("\"always\""), "{json}");
    assert_eq!(serde_json::from_str::<EncoderOptions>(&json).unwrap(), set);
    assert!(serde_json::from_str::<EncoderOptions>(&json.replace("2-4", "4-2")).is_err());
}

#[test]
fn damaged_wide_encoders_are_refused() {
    let options = EncoderOptions { wide: WideRows::Auto, ..text_column() };
    let encoder = read(csv("y,a,review,c,b\n1,2,good,p,3\n1,2,bad,q,4\n"), blocks_of(4), options)
        .unwrap()
        .encoder;
    encoder.check().unwrap();
    let json = serde_json::to_string(&encoder).unwrap();
    for (from, to) in [
        ("\"wide\":\"auto\"", "\"wide\":\"never\""),
        ("\"wide\":\"auto\"", "\"wide\":\"always\""),
        ("\"wide\":true", "\"wide\":false"),
        ("\"kind\":\"text\"", "\"kind\":\"number\""),
        ("\"kind\":\"category\"", "\"kind\":\"text\""),
        ("\"wide\":\"auto\"", "\"wide\":\"auto\",\"hash_bits\":18"),
        ("\"wide\":\"auto\"", "\"wide\":\"auto\",\"hash_bits\":31"),
        ("\"keys\":[]", "\"keys\":[[3,1]]"),
    ] {
        assert!(json.contains(from), "{from} in {json}");
        let damaged: Encoder = serde_json::from_str(&json.replacen(from, to, 1)).unwrap();
        assert!(damaged.check().is_err(), "{to}");
    }
}

#[test]
fn text_can_be_declared_without_rows() {
    let columns = [("review".to_owned(), Kind::Text), ("a".to_owned(), Kind::Number)];
    let of = |wide| {
        let options = EncoderOptions { wide, ..EncoderOptions::target("y") };
        Encoder::from_columns(options, &columns, Coding::Number)
    };
    assert!(matches!(of(WideRows::Never), Err(Error::Setting(SettingProblem::NeedsWide { .. }))));
    let encoder = of(WideRows::Auto).unwrap();
    assert!(encoder.is_wide());
    encoder.check().unwrap();
    assert_eq!((encoder.number_features(), encoder.options().text.len()), (2, 1));
    let input = csv("review,a\nGood plot,3\n");
    let reading = read_with(input, blocks_of(4), encoder, Mode::Predict).unwrap();
    assert_eq!(hashes(&reading), [[152075, 166708]]);
    assert_eq!(rows(&reading)[0][..2], [(0, 1.0), (1, 3.0)]);
}
