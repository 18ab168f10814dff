//! Encoders from declared columns, refused calls, and the remedies of errors.

use crate::common::{blocks_of, csv};
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Error, Input, Kind, Mode, Reader, Remedy,
    SettingProblem,
};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

#[test]
fn a_refused_first_block_or_header_leaves_a_new_encoder_new() {
    let mut block = Block::new();
    let mut encoder = Encoder::new(EncoderOptions { positive: Some("no".into()), ..y() });
    let new = encoder.clone();
    let unknown = vec![Input::memory("t.csv", *b"y,x\na,1\nb,2\n")];
    let mut reader = Reader::open(unknown, blocks_of(4), &mut encoder, Mode::Learn).unwrap();
    let opened = encoder.clone();
    assert!(reader.next_block(&mut encoder, &mut block).is_err());
    assert_eq!(encoder, opened);

    let mut encoder = new.clone();
    let other = vec![Input::memory("t.csv", *b"a,b\n1,2\n")];
    assert!(Reader::open(other, blocks_of(4), &mut encoder, Mode::Learn).is_err());
    assert_eq!(encoder, new);
}

#[test]
fn a_block_for_another_encoder_is_refused() {
    let input = |text: &str| vec![Input::memory("t.csv", text.as_bytes())];
    let mut block = Block::new();
    let mut encoder = Encoder::new(y());
    let mut reader =
        Reader::open(input("y,x\n1,2\n"), blocks_of(4), &mut encoder, Mode::Learn).unwrap();
    let mut other = csv("y,x\n1,a\n2,b\n", y()).unwrap().encoder;
    let error = reader.next_block(&mut other, &mut block).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::OtherEncoder)), "{error}");
    assert!(!reader.next_block(&mut encoder, &mut block).unwrap());
}

#[test]
fn declared_columns_make_the_encoder_that_a_table_makes() {
    let labels = |negative: &str, positive: &str| Coding::Labels {
        positive: positive.into(),
        negative: Some(negative.into()),
    };
    for intercept in [true, false] {
        for (coding, positive, values) in [
            (Coding::Number, None, ["0", "1"]),
            (Coding::Boolean, None, ["false", "true"]),
            (labels("no", "yes"), Some("yes"), ["no", "yes"]),
            (labels("2", "1"), Some("1"), ["2", "1"]),
        ] {
            let options = EncoderOptions { intercept, ..y() };
            let declared = ["a", "b c"].map(|name| (name.to_owned(), Kind::Number));
            let got = Encoder::from_columns(options.clone(), &declared, coding).unwrap();
            let table = format!("a,b c,y\n0.5,0.5,{}\n0.5,0.5,{}\n", values[0], values[1]);
            let options = EncoderOptions { positive: positive.map(str::to_owned), ..options };
            let mut expected = csv(&table, options).unwrap().encoder;
            expected.reset_counts();
            assert_eq!(got, expected);
        }
    }
    let columns = |names: &[&str]| -> Vec<(String, Kind)> {
        names.iter().map(|name| (name.to_string(), Kind::Number)).collect()
    };
    let of = |names: &[&str], coding| Encoder::from_columns(y(), &columns(names), coding);
    for (negative, positive) in [("a", "a"), ("1", "1.0"), ("NA", "x"), ("x", " ")] {
        let error = of(&["x"], labels(negative, positive)).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::Labels { .. })), "{error}");
    }
    assert!(of(&["x", "x"], Coding::Number).is_err());
    assert!(of(&["x", "y"], Coding::Number).is_err());
    assert_eq!(of(&["", " b"], Coding::Number).unwrap().columns()[0].name, "c1");
    assert_eq!(of(&["", " b"], Coding::Number).unwrap().columns()[1].name, "b");
    let town = [("town".to_owned(), Kind::Category)];
    let mut encoder = Encoder::from_columns(y(), &town, Coding::Number).unwrap();
    let input = vec![Input::memory("t.csv", *b"town,y\nRome,1.5\nOslo,2\n")];
    let mut reader = Reader::open(input, blocks_of(4), &mut encoder, Mode::Learn).unwrap();
    assert!(reader.next_block(&mut encoder, &mut Block::new()).unwrap());
    assert_eq!(encoder.features()[1].name, "town=Oslo");
}

#[test]
fn errors_name_their_remedy() {
    let remedy = |text: &str, options| csv(text, options).unwrap_err().remedy().map(owned);
    fn owned(remedy: Remedy<'_>) -> String {
        format!("{remedy:?}")
    }
    let of = |text: &str| remedy(text, y()).unwrap_or_default();
    assert_eq!(of("y,a\n1,\n"), "MissingPolicy");
    assert_eq!(of("y,when\n1,2024-01-31\n"), "Categorical { column: \"when\" }");
    let numbers = "1,2\n".repeat(4);
    assert_eq!(of(&format!("y,a\n{numbers}1,x\n")), "Categorical { column: \"a\" }");
    let truths = "1,true\n".repeat(4);
    assert_eq!(of(&format!("y,a\n{truths}1,x\n")), "Categorical { column: \"a\" }");
    assert_eq!(of("y,a\np,1\nq,1\nr,1\n"), "SeveralClasses { column: \"y\" }");
    assert_eq!(of("y,a\np,1\np,1\n"), "SingleLabel { column: \"y\" }");
    assert_eq!(of("a,b\n1,1\n"), "DescribeFormat");
    assert_eq!(remedy("y,a\n1,1\n", EncoderOptions::default()).unwrap(), "NameTarget");
    assert_eq!(of("y,a\n1,inf\n"), "MissingNumber { value: \"inf\" }");
    let few = EncoderOptions { max_features: 2, ..y() };
    let levels = remedy("y,a\n1,p\n1,q\n1,r\n", few).unwrap();
    assert_eq!(levels, "FewerFeatures { column: \"a\" }");
}
