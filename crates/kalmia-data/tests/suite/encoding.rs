//! What columns become: kinds, levels, missing values, roles and targets.

use crate::common::{blocks_of, csv, read, read_with};
use kalmia_data::{
    Block, Classes, Coding, Encoder, EncoderOptions, Error, Input, Kind, Meaning, Missing, Mode,
    Reader, Remedy, SourceOptions, Table,
};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn with_missing(missing: Missing) -> EncoderOptions {
    EncoderOptions { missing, ..y() }
}

#[test]
fn kinds_are_inferred_from_the_first_block() {
    let text = "y,n,b,t,mix\n1,1.5,true,red,A1\n2,-2e3,False,blue,2\n3,3,TRUE,red,B\n";
    let reading = csv(text, y()).unwrap();
    let kinds: Vec<_> = reading.encoder.columns().iter().map(|c| c.kind.unwrap()).collect();
    assert_eq!(kinds, [Kind::Number, Kind::Boolean, Kind::Category, Kind::Category]);
    assert_eq!(reading.names(), ["(intercept)", "n", "b", "t=blue", "mix=2", "mix=B"]);
    assert_eq!(
        reading.rows(),
        [
            [1.0, 1.5, 1.0, 0.0, 0.0, 0.0],
            [1.0, -2000.0, 0.0, 1.0, 1.0, 0.0],
            [1.0, 3.0, 1.0, 0.0, 0.0, 1.0]
        ]
    );
    assert_eq!(reading.y(), [1.0, 2.0, 3.0]);
}

#[test]
fn later_levels_are_appended_and_leave_earlier_features_alone() {
    let text = "y,c,d\n1,a,u\n1,b,u\n1,a,u\n1,a,u\n1,c,u\n1,a,v\n1,d,u\n1,c,w\n1,e,u\n";
    let reading = csv(text, y()).unwrap();
    assert_eq!(reading.blocks.iter().map(|b| b.dim).collect::<Vec<_>>(), [2, 6, 7]);
    assert_eq!(reading.names(), ["(intercept)", "c=b", "c=c", "d=v", "c=d", "d=w", "c=e"]);
    assert_eq!(reading.blocks[1].row(3), [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(reading.encoder.features()[3].meaning, Meaning::Level("v".into()));
    assert_eq!(
        reading.encoder.columns()[0].levels.as_slice()[0].feature,
        None,
        "the first level is the baseline"
    );
}

#[test]
fn unseen_levels_at_prediction_are_zero_and_counted() {
    let encoder = csv("y,c\n1,a\n2,b\n", y()).unwrap().encoder;
    let input = Input::memory("p.csv", *b"c\nb\nnew\na\nnew\n");
    let reading = read_with(vec![input], blocks_of(4), encoder.clone(), Mode::Predict).unwrap();
    assert_eq!(reading.rows(), [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(reading.encoder.counts().unseen, 2);
    assert_eq!(reading.encoder.dim(), encoder.dim());
    assert!(!reading.blocks[0].has_targets());
}

#[test]
fn a_number_column_can_be_read_as_a_category() {
    let options = EncoderOptions { categorical: vec!["zip".into()], intercept: false, ..y() };
    let reading = csv("zip,y\n01,1\n2,1\n01,1\n", options).unwrap();
    assert_eq!(reading.names(), ["zip=2"]);
    assert_eq!(reading.rows(), [[0.0], [1.0], [0.0]]);
}

#[test]
fn missing_values_are_an_error_that_names_the_place() {
    let error = csv("y,a,b\n1,2,x\n2,NA,y\n", y()).unwrap_err();
    assert!(matches!(error, Error::MissingValue { .. }));
    assert!(
        error.to_string().starts_with("t.csv, row 2 (line 3), column `a`: missing value"),
        "{error}"
    );
}

#[test]
fn rows_with_missing_values_can_be_skipped() {
    let text = "y,a,c\n1,1,p\n2,,q\n,3,q\n4,4,\n5,5,p\n6,nan,q\n7,7,r\n";
    let reading = csv(text, with_missing(Missing::Skip)).unwrap();
    assert_eq!(reading.y(), [1.0, 5.0, 7.0]);
    assert_eq!(
        reading.names(),
        ["(intercept)", "a", "c=r"],
        "a level seen only in skipped rows is no feature"
    );
    let counts = reading.encoder.counts();
    assert_eq!((counts.rows, counts.skipped), (7, 4));
    assert_eq!(
        reading.blocks.iter().map(|b| (b.rows_read, b.rows())).collect::<Vec<_>>(),
        [(4, 1), (3, 2)]
    );
    assert_eq!(reading.blocks[1].location(1).row, 7);
    assert_eq!(reading.blocks[1].input_row(1), 6);
}

#[test]
fn missing_values_can_be_the_mean_of_the_rows_before() {
    let text = "y,a,c\n1,,p\n2,4,q\n3,8,\n,100,p\n5,NA,q\n6,3,q\n7,,p\n";
    let reading = csv(text, with_missing(Missing::Mean)).unwrap();
    assert_eq!(reading.names(), ["(intercept)", "a", "a:missing", "c=q", "c:missing"]);
    let a: Vec<f64> = reading.rows().iter().map(|row| row[1]).collect();
    assert_eq!(
        a,
        [0.0, 4.0, 8.0, 6.0, 3.0, 5.0],
        "the row without a target is left out of the mean too"
    );
    assert_eq!(
        reading.rows().iter().map(|row| row[2]).collect::<Vec<_>>(),
        [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    );
    assert_eq!(reading.rows()[2][3..], [0.0, 1.0]);
    assert_eq!((reading.encoder.counts().skipped, reading.encoder.counts().imputed), (1, 4));
}

#[test]
fn weights_offsets_and_choices_of_columns() {
    let text = "y,a,b,w,o,d\n1,2,3,0.5,7,9\n2,4,6,1.5,8,9\n";
    let weight = Some("w".into());
    let offset = Some("o".into());
    let options = EncoderOptions {
        weight: weight.clone(),
        offset: offset.clone(),
        exclude: vec!["d".into()],
        ..y()
    };
    let reading = csv(text, options).unwrap();
    assert_eq!(reading.names(), ["(intercept)", "a", "b"]);
    assert_eq!(reading.blocks[0].weight.as_deref(), Some(&[0.5, 1.5][..]));
    assert_eq!(reading.blocks[0].offset.as_deref(), Some(&[7.0, 8.0][..]));
    let options = EncoderOptions { features: Some(vec!["d".into(), "a".into()]), ..y() };
    assert_eq!(
        csv(text, options).unwrap().rows(),
        [[1.0, 9.0, 2.0], [1.0, 9.0, 4.0]],
        "in the order of the list"
    );
    let twice = EncoderOptions { weight, features: Some(vec!["w".into()]), ..y() };
    assert!(matches!(csv(text, twice), Err(Error::Setting(_))));
}

#[test]
fn two_labels_make_a_target() {
    let text = "y,x\nno,1\nyes,2\nno,3\n";
    let reading = csv(text, y()).unwrap();
    assert_eq!(reading.y(), [0.0, 1.0, 0.0]);
    assert!(reading.encoder.target().unwrap().is_two_valued());
    let options = EncoderOptions { positive: Some("no".into()), ..y() };
    assert_eq!(csv(text, options.clone()).unwrap().y(), [1.0, 0.0, 1.0]);
    let late =
        csv("y,x\nno,1\nno,1\nno,1\nno,1\nmaybe,1\nno,2\nyes,1\n", options.clone()).unwrap_err();
    assert!(
        late.to_string().contains("row 7 (line 8), column `y`: `yes` is a third value"),
        "{late}"
    );
    assert!(matches!(csv("y,x\na,1\nb,2\nc,3\n", y()), Err(Error::Column { .. })));
    assert!(matches!(csv("y,x\na,1\na,2\n", y()), Err(Error::Column { .. })));
    assert!(matches!(csv("y,x\na,1\nb,2\n", options), Err(Error::Column { .. })));
    let numeric = EncoderOptions { positive: Some("2".into()), ..y() };
    assert_eq!(csv("y,x\n1,1\n2.0,2\n", numeric).unwrap().y(), [0.0, 1.0]);
}

#[test]
fn several_labels_make_classes_in_the_order_of_their_appearance() {
    let text = "y,x\npear,1\nfig,2\npear,3\napple,\nplum,5\n";
    let auto = EncoderOptions { classes: Classes::Auto, missing: Missing::Skip, ..y() };
    let reading = csv(text, auto.clone()).unwrap();
    assert_eq!(reading.y(), [0.0, 1.0, 0.0, 2.0], "a row that is left out brings no class");
    let names = reading.encoder.target().unwrap().classes().unwrap();
    assert_eq!(names.as_slice(), ["pear", "fig", "plum"]);
    assert_eq!(names.sorted(), [1, 0, 2]);
    let stored = serde_json::to_string(&reading.encoder).unwrap();
    let again: Encoder = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, reading.encoder);
    again.check().unwrap();
    // two labels stay labels, and numbers stay numbers, unless classes are asked for
    assert!(
        csv("y,x\na,1\nb,2\n", auto.clone()).unwrap().encoder.target().unwrap().is_two_valued()
    );
    let numbers = "y,x\n3,1\n3.0,2\n1e1,3\n";
    assert_eq!(csv(numbers, auto.clone()).unwrap().y(), [3.0, 3.0, 10.0]);
    let always = EncoderOptions { classes: Classes::Always, ..y() };
    assert_eq!(csv(numbers, always.clone()).unwrap().y(), [0.0, 0.0, 1.0]);
    assert_eq!(csv("y,x\na,1\nb,2\n", always).unwrap().y(), [0.0, 1.0]);
    let positive = EncoderOptions { positive: Some("fig".into()), ..auto };
    assert!(matches!(csv(text, positive), Err(Error::Column { .. })));
}

#[test]
fn ordered_levels_are_coded_by_their_place_in_the_order() {
    let by_size = EncoderOptions { classes: Classes::Ordered, ..y() };
    let reading = csv("y,x\n10,1\n2,2\n3,3\n2.0,4\n", by_size.clone()).unwrap();
    assert_eq!(reading.y(), [2.0, 0.0, 1.0, 0.0]);
    let target = reading.encoder.target().unwrap();
    assert!(target.is_ordered());
    assert_eq!(target.classes().unwrap().as_slice(), ["2", "3", "10"]);
    let stored = serde_json::to_string(&reading.encoder).unwrap();
    let again: Encoder = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, reading.encoder);
    again.check().unwrap();

    let levels = ["low", "medium", "high"].map(String::from).to_vec();
    let given = EncoderOptions { levels: levels.clone(), ..by_size.clone() };
    let reading = csv("y,x\nhigh,1\nlow,2\nhigh,3\n", given.clone()).unwrap();
    assert_eq!(reading.y(), [2.0, 0.0, 2.0]);
    assert_eq!(reading.encoder.target().unwrap().classes().unwrap().as_slice(), levels);
    let error = csv("y,x\nhigh,1\nlarge,2\n", given).unwrap_err();
    assert!(matches!(error.remedy(), Some(Remedy::Levels { column: "y" })), "{error}");
    assert!(error.to_string().contains("is not among the levels of the target"), "{error}");

    // texts have no order by themselves, and one level has none
    for text in ["y,x\nlow,1\nhigh,2\n", "y,x\n1,1\n1,2\n", "y,x\n1,1\nhigh,2\n"] {
        let error = csv(text, by_size.clone()).unwrap_err();
        assert!(matches!(error.remedy(), Some(Remedy::Levels { .. })), "{error}");
        assert!(error.to_string().contains("give all levels, the lowest first"), "{error}");
    }
    for levels in [vec!["a"], vec!["a", "a"], vec!["a", " b"]] {
        let levels = levels.into_iter().map(String::from).collect();
        let options = EncoderOptions { levels, ..by_size.clone() };
        assert!(matches!(csv("y,x\na,1\n", options), Err(Error::Setting(_))));
    }
}

#[test]
fn a_refused_block_brings_no_class_and_a_stored_repetition_is_found() {
    let options = EncoderOptions { classes: Classes::Always, ..y() };
    let mut encoder = csv("y,x\na,1\nb,2\nc,3\n", options).unwrap().encoder;
    let before = encoder.clone();
    let source = SourceOptions::default();
    let read = |text: &'static str, schema, mode| {
        Table::read(Input::memory("t.csv", text.as_bytes()), &source, schema, mode, 100)
    };
    let table = read("y,x\nd,1\n", &encoder.table_schema(), Mode::Learn).unwrap();
    let mark = encoder.mark();
    encoder.encode_table(&table, &mut Block::new()).unwrap();
    assert_eq!(encoder.target().unwrap().classes().unwrap().len(), 4);
    encoder.undo(mark);
    assert_eq!(encoder, before);
    let stored =
        serde_json::to_string(&encoder).unwrap().replace(r#"["a","b","c"]"#, r#"["a","b","a"]"#);
    let forged: Encoder = serde_json::from_str(&stored).unwrap();
    assert!(forged.check().unwrap_err().contains("class of the target `y` occurs twice"));
}

#[test]
fn the_first_block_says_what_the_target_is_like() {
    let of = |text: &str| csv(text, y()).unwrap().encoder.target().unwrap().clone();
    let counts = of("y,x\n3,1\n0,1\n3,1\n12,1\n-7,1\n");
    assert_eq!(
        (counts.distinct.clone(), counts.whole, counts.is_two_valued()),
        (vec![0.0, 3.0, 12.0], true, false)
    );
    assert!(!of("y,x\n3.5,1\n0,1\n").whole);
    assert!(!of("y,x\n-3,1\n0,1\n").whole);
    assert_eq!(of("y,x\ntrue,1\nfalse,1\n").coding, Some(Coding::Boolean));
}

#[test]
fn constant_and_duplicated_columns_pass() {
    let reading = csv("y,k,a,a2\n1,5,1,1\n2,5,2,2\n", y()).unwrap();
    assert_eq!(reading.rows(), [[1.0, 5.0, 1.0, 1.0], [1.0, 5.0, 2.0, 2.0]]);
}

#[test]
fn dates_and_slips_are_refused_with_advice() {
    let dates = csv("y,when\n1,2024-01-31\n2,2024-02-01\n", y()).unwrap_err();
    assert!(matches!(&dates, Error::Column { column, .. } if column == "when"), "{dates}");
    let options = EncoderOptions { categorical: vec!["when".into()], ..y() };
    assert_eq!(
        csv("y,when\n1,2024-01-31\n2,2024-02-01\n", options).unwrap().names()[1],
        "when=2024-02-01"
    );
    let mut text = "y,a\n".to_owned();
    (0..20).for_each(|i| text += &format!("1,{i}\n"));
    let slip = read(
        vec![Input::memory("t.csv", (text + "1,twelve\n").into_bytes())],
        SourceOptions::default(),
        y(),
    )
    .unwrap_err();
    assert!(
        slip.to_string().contains("row 21 (line 22), column `a`: `twelve` is not a number"),
        "{slip}"
    );
    let infinite = csv("y,a\n1,1\n1,-inf\n", y()).unwrap_err();
    assert!(
        infinite.to_string().contains("row 2 (line 3), column `a`: `-inf` is not a finite number"),
        "{infinite}"
    );
}

#[test]
fn wrong_names_are_met_with_the_nearest() {
    let of = |target: &str, text: &str| {
        csv(text, EncoderOptions::target(target)).unwrap_err().to_string()
    };
    assert!(of("lte", "late,x\n1,2\n").ends_with("did you mean `late`?"));
    assert!(of("y", "y;x|z\n1;2|3\n").contains("is the delimiter right?"));
    assert!(of("price", "late,x\n1,2\n").contains("it has `late`, `x`"));
    let exclude = EncoderOptions { exclude: vec!["nothing".into()], ..y() };
    assert!(matches!(csv("y,x\n1,2\n", exclude), Err(Error::NoColumn { .. })));
    assert!(matches!(csv("y,x\n1,2\n", EncoderOptions::default()), Err(Error::Setting(_))));
}

#[test]
fn an_error_leaves_the_encoder_as_it_was() {
    let text = "y,c,a\n1,p,1\n1,q,2\n1,new,3\n1,r,oops\n";
    let options = EncoderOptions { missing: Missing::Mean, ..y() };
    let source = SourceOptions { threaded: false, ..blocks_of(2) };
    let input = || vec![Input::memory("t.csv", text.as_bytes())];
    let mut encoder = Encoder::new(options);
    let mut reader = Reader::open(input(), source, &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    assert!(reader.next_block(&mut encoder, &mut block).unwrap());
    let before = encoder.clone();
    assert!(reader.next_block(&mut encoder, &mut block).is_err());
    assert_eq!(encoder, before);
    assert_eq!(reader.position().rows, 2);
    let more = reader.next_block(&mut encoder, &mut block).unwrap();
    assert!(!more, "after an error the reader is at its end");

    let limited = EncoderOptions { max_features: 3, ..y() };
    let mut encoder = Encoder::new(limited);
    let input = vec![Input::memory("t.csv", *b"y,c\n1,a\n1,b\n1,c\n1,d\n")];
    let mut reader = Reader::open(input, blocks_of(2), &mut encoder, Mode::Learn).unwrap();
    assert!(reader.next_block(&mut encoder, &mut block).unwrap());
    let before = encoder.clone();
    let error = reader.next_block(&mut encoder, &mut block).unwrap_err();
    assert!(
        matches!(&error, Error::TooManyFeatures { at, limit: 3, .. } if at.row == 4),
        "{error}"
    );
    assert_eq!(encoder, before);
}

#[test]
fn libsvm_rows_are_dense_with_indices_as_they_appear() {
    let text = "+1 3:0.5 7:2 # comment\n-1 1:4 3:1\n\n+1 qid:5 7:1\n-1 2:1\n-1 9:1\n";
    let input = || vec![Input::memory("t.svm", text.as_bytes())];
    let reading = read(input(), blocks_of(4), EncoderOptions::default()).unwrap();
    assert_eq!(reading.names(), ["(intercept)", "3", "7", "1", "2", "9"]);
    assert_eq!(reading.y(), [1.0, -1.0, 1.0, -1.0, -1.0]);
    assert_eq!(reading.rows()[1], [1.0, 1.0, 0.0, 4.0, 0.0, 0.0]);
    assert_eq!(reading.blocks[0].dim, 5);
    let options = EncoderOptions { exclude: vec!["7".into()], ..EncoderOptions::default() };
    assert_eq!(
        read(input(), blocks_of(4), options).unwrap().names(),
        ["(intercept)", "3", "1", "2", "9"]
    );
    let bad = read(
        vec![Input::memory("t.svm", *b"1 3:1 2:1\n")],
        blocks_of(4),
        EncoderOptions::default(),
    )
    .unwrap_err();
    assert!(bad.to_string().contains("`2:1` is out of order"), "{bad}");
}

#[test]
fn huge_values_of_both_signs_have_a_finite_mean() {
    let text = "y,a\n1,1e308\n1,-1.7e308\n1,-1.7e308\n1,NA\n";
    let reading = csv(text, with_missing(Missing::Mean)).unwrap();
    let mean = reading.rows()[3][1];
    assert!((mean / 1e308 + 0.8).abs() < 1e-12, "{mean}");
}

#[test]
fn a_target_can_be_coded_anew() {
    let mut encoder = csv("y,c\n1,a\n2,b\n", y()).unwrap().encoder;
    let before = encoder.clone();
    let labels = |negative: &str, positive: &str| Coding::Labels {
        positive: positive.into(),
        negative: Some(negative.into()),
    };
    assert!(encoder.declare_target(labels("no", "no")).is_err());
    assert_eq!(encoder, before);
    encoder.declare_target(labels("no", "yes")).unwrap();
    assert_eq!(encoder.features(), before.features());
    let input = Input::memory("p.csv", *b"y,c\nyes,b\nno,a\n");
    let reading = read_with(vec![input], blocks_of(4), encoder.clone(), Mode::Evaluate).unwrap();
    assert_eq!(reading.y(), [1.0, 0.0]);
    encoder.declare_target(Coding::Number).unwrap();
    assert_eq!(encoder.options().positive, None);
}
