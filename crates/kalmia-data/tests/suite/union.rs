//! One encoder of several, and how their rows become its rows.

use proptest::prelude::*;

use crate::common::{Reading, blocks_of, cases, csv, read, read_with};
use kalmia_data::{
    Alignment, Classes, Coding, Encoder, EncoderOptions, Error, Input, Kind, Meaning, Missing,
    Mode, Term, UnionProblem, WideRows,
};

fn y() -> EncoderOptions {
    EncoderOptions::target("y")
}

fn learned(text: &str) -> Encoder {
    csv(text, y()).unwrap().encoder
}

fn names(encoder: &Encoder) -> Vec<&str> {
    encoder.features().iter().map(|feature| &*feature.name).collect()
}

fn problem<T: std::fmt::Debug>(outcome: Result<T, Error>) -> UnionProblem {
    match outcome {
        Err(Error::Union(problem)) => problem,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// The values of one random row; `None` is missing.
#[derive(Debug, Clone)]
struct Row {
    number: Option<i32>,
    truth: Option<bool>,
    town: Option<u8>,
    color: Option<u8>,
}

fn row() -> impl Strategy<Value = Row> {
    let often = |value: std::ops::Range<u8>| proptest::option::weighted(0.8, value);
    let number = proptest::option::weighted(0.8, -9..9i32);
    let truth = proptest::option::weighted(0.8, any::<bool>());
    (number, truth, often(0..5), often(0..3)).prop_map(|(number, truth, town, color)| Row {
        number,
        truth,
        town,
        color,
    })
}

/// The same rows; values are put in place of missing ones if these are errors.
fn allowed(mut rows: Vec<Row>, missing: Missing) -> Vec<Row> {
    for row in rows.iter_mut().filter(|_| missing == Missing::Error) {
        row.number.get_or_insert(4);
        row.truth.get_or_insert(true);
        row.town.get_or_insert(1);
        row.color.get_or_insert(2);
    }
    rows
}

fn text(rows: &[Row]) -> String {
    fn field<T: ToString>(value: Option<T>) -> String {
        value.map_or("NA".into(), |value| value.to_string())
    }
    let letter = |value: Option<u8>| value.map(|value| char::from(b'a' + value));
    let line = |row: &Row| {
        let number = field(row.number);
        let truth = field(row.truth);
        format!("1,{number},{truth},{},{}\n", field(letter(row.town)), field(letter(row.color)))
    };
    "y,n,b,t,c\n".to_owned() + &rows.iter().map(line).collect::<String>()
}

fn encode(rows: &[Row], encoder: &Encoder, mode: Mode) -> Reading {
    let input = vec![Input::memory("t.csv", text(rows).into_bytes())];
    read_with(input, blocks_of(3), encoder.clone(), mode).unwrap()
}

fn new_encoder(missing: Missing) -> Encoder {
    let kinds = [Kind::Number, Kind::Boolean, Kind::Category, Kind::Category];
    let columns: Vec<_> = ["n", "b", "t", "c"].map(String::from).into_iter().zip(kinds).collect();
    Encoder::from_columns(EncoderOptions { missing, ..y() }, &columns, Coding::Number).unwrap()
}

/// Whether a feature is a number that is missing in this row: means differ between encoders.
fn is_imputed(whole: &Encoder, feature: usize, row: &[f64]) -> bool {
    let column = whole.features()[feature].column.map(|column| &whole.columns()[column]);
    let indicator = column.and_then(|column| column.missing);
    whole.features()[feature].meaning == Meaning::Value && indicator.is_some_and(|i| row[i] == 1.0)
}

fn check_rows(alignment: &Alignment, part: &Reading, whole: &Encoder, rows: &[Row]) {
    let expected = encode(rows, whole, Mode::Evaluate);
    assert_eq!(expected.encoder.counts().unseen, whole.counts().unseen, "all levels are known");
    assert_eq!(part.rows().len(), expected.rows().len());
    let mut aligned = vec![f64::NAN; alignment.rows()];
    for (own, expected) in part.rows().iter().zip(expected.rows()) {
        alignment.apply(own, &mut aligned);
        for (feature, (found, wanted)) in aligned.iter().zip(&expected).enumerate() {
            assert!(
                found == wanted || is_imputed(whole, feature, &expected),
                "feature {feature}: {found}, not {wanted}"
            );
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rows_of_parts_become_rows_of_the_whole(
        template_rows in prop::collection::vec(row(), 0..4),
        parts in prop::collection::vec(prop::collection::vec(row(), 1..8), 1..4),
        missing in prop::sample::select(Missing::ALL.to_vec()),
    ) {
        let template_rows = allowed(template_rows, missing);
        let parts: Vec<_> = parts.into_iter().map(|rows| allowed(rows, missing)).collect();
        let template = encode(&template_rows, &new_encoder(missing), Mode::Learn).encoder;
        let readings: Vec<Reading> =
            parts.iter().map(|rows| encode(rows, &template, Mode::Learn)).collect();
        let encoders: Vec<&Encoder> = readings.iter().map(|reading| &reading.encoder).collect();
        let whole = Encoder::union_since(&template, &encoders).unwrap();
        prop_assert_eq!(whole.check(), Ok(()));
        prop_assert!(whole.features().starts_with(template.features()));
        for (reading, rows) in readings.iter().zip(&parts) {
            check_rows(&reading.encoder.alignment(&whole).unwrap(), reading, &whole, rows);
        }

        let mut reversed = encoders.clone();
        reversed.reverse();
        prop_assert_eq!(&Encoder::union_since(&template, &reversed).unwrap(), &whole);
        prop_assert_eq!(&Encoder::union(&encoders[..1]).unwrap(), encoders[0]);
        prop_assert_eq!(&Encoder::union_since(&template, &encoders[..1]).unwrap(), encoders[0]);
        prop_assert_eq!(whole.alignment(&whole).unwrap().is_identity(), true);

        // Every row is counted once, and so is every value in a mean.
        let all: Vec<Row> = template_rows.iter().chain(parts.iter().flatten()).cloned().collect();
        let once = encode(&all, &new_encoder(missing), Mode::Learn).encoder;
        prop_assert_eq!(whole.counts(), once.counts());
        for (column, expected) in whole.columns().iter().zip(once.columns()) {
            prop_assert_eq!(column.count, expected.count);
            prop_assert!((column.mean - expected.mean).abs() <= 1e-12, "{}", column.name);
        }
    }

    #[test]
    fn parts_without_a_template_may_have_other_baselines(
        parts in prop::collection::vec(prop::collection::vec(row(), 1..8), 2..4),
        missing in prop::sample::select(Missing::ALL.to_vec()),
    ) {
        let parts: Vec<_> = parts.into_iter().map(|rows| allowed(rows, missing)).collect();
        let new = new_encoder(missing);
        let readings: Vec<Reading> =
            parts.iter().map(|rows| encode(rows, &new, Mode::Learn)).collect();
        let mut encoders: Vec<&Encoder> = readings.iter().map(|reading| &reading.encoder).collect();
        let whole = Encoder::union(&encoders).unwrap();
        prop_assert_eq!(whole.check(), Ok(()));
        for (reading, rows) in readings.iter().zip(&parts) {
            let alignment = reading.encoder.alignment(&whole).unwrap();
            check_rows(&alignment, reading, &whole, rows);
            let has_same_baselines = reading.encoder.columns().iter().zip(whole.columns()).all(
                |(own, whole)| {
                    let levels = own.levels.as_slice();
                    levels.is_empty() || levels[0] == whole.levels.as_slice()[0]
                },
            );
            prop_assert_eq!(alignment.is_injection(), has_same_baselines);
        }
        encoders.rotate_left(1);
        prop_assert_eq!(&Encoder::union(&encoders).unwrap(), &whole);
    }
}

#[test]
fn shared_features_stay_and_others_are_sorted() {
    let template = learned("y,t,c\n1,a,u\n1,z,u\n");
    let grown = |text: &str| {
        let input = vec![Input::memory("t.csv", text.as_bytes())];
        read_with(input, blocks_of(4), template.clone(), Mode::Learn).unwrap().encoder
    };
    let first = grown("y,t,c\n1,q,v\n1,b,u\n");
    let second = grown("y,t,c\n1,a,w\n1,b,v\n");
    let whole = Encoder::union_since(&template, &[&first, &second]).unwrap();
    assert_eq!(names(&whole), ["(intercept)", "t=z", "t=b", "t=q", "c=v", "c=w"]);
    assert_eq!(whole.counts().rows, 6, "the rows of the template count once");
    assert_eq!(Encoder::union(&[&first, &second]).unwrap().counts().rows, 8);
    let alignment = second.alignment(&whole).unwrap();
    assert!(alignment.is_injection() && !alignment.is_identity());
    assert_eq!(alignment.terms(3), [], "the second part never saw `q`");
    assert_eq!((alignment.rows(), alignment.part_dim()), (6, second.dim()));
}

#[test]
fn another_baseline_is_the_intercept_minus_the_other_indicators() {
    let options = || EncoderOptions { missing: Missing::Mean, ..y() };
    let first = csv("y,t\n1,b\n1,c\n1,NA\n", options()).unwrap().encoder;
    let second = csv("y,t\n1,a\n1,b\n", options()).unwrap().encoder;
    let whole = Encoder::union(&[&first, &second]).unwrap();
    assert_eq!(names(&whole), ["(intercept)", "t:missing", "t=b", "t=c"]);
    let term = |feature, factor| Term { feature, factor };
    let alignment = first.alignment(&whole).unwrap();
    assert_eq!(names(&first), ["(intercept)", "t=c", "t:missing"]);
    assert_eq!(alignment.terms(2), [term(0, 1.0), term(1, -1.0), term(2, -1.0)]);
    assert_eq!(alignment.terms(3), [term(1, 1.0)]);
    assert!(!alignment.is_injection());
}

#[test]
fn columns_may_stand_in_another_order() {
    let first = learned("y,a,b,t\n1,2,3,u\n1,4,5,v\n");
    let second = learned("y,b,t,a\n1,3,v,2\n1,5,u,4\n");
    let whole = Encoder::union(&[&first, &second]).unwrap();
    assert_eq!(whole, Encoder::union(&[&second, &first]).unwrap());
    assert_eq!(names(&whole), ["(intercept)", "a", "b", "t=v"]);
    let mut row = [0.0; 4];
    second.alignment(&whole).unwrap().apply(&[1.0, 3.0, 2.0, 0.0], &mut row);
    assert_eq!(row, [1.0, 2.0, 3.0, 1.0]);
}

#[test]
fn libsvm_indices_are_united_in_their_order() {
    let learned = |text: &str| {
        let input = vec![Input::memory("t.svm", text.as_bytes())];
        read(input, blocks_of(4), EncoderOptions::default()).unwrap().encoder
    };
    let first = learned("1 9:1\n0 3:2\n");
    let second = learned("1 9:1\n0 20:2\n1 1:4\n");
    let whole = Encoder::union(&[&first, &second]).unwrap();
    assert_eq!(names(&whole), ["(intercept)", "9", "1", "3", "20"]);
    assert_eq!(whole.check(), Ok(()));
    let found = problem(Encoder::union(&[&first, &self::learned("y,x\n1,2\n0,3\n")]));
    assert!(matches!(found, UnionProblem::Option { .. }), "{found}");
}

#[test]
fn an_open_negative_label_is_filled() {
    let options = || EncoderOptions { positive: Some("yes".into()), ..y() };
    let open = csv("y,x\nyes,1\n", options()).unwrap().encoder;
    let known = csv("y,x\nyes,1\nno,2\n", options()).unwrap().encoder;
    let other = csv("y,x\nyes,1\nnever,2\n", options()).unwrap().encoder;
    let whole = Encoder::union(&[&open, &known]).unwrap();
    let coding = Coding::Labels { positive: "yes".into(), negative: Some("no".into()) };
    assert_eq!(whole.target().unwrap().coding, Some(coding));
    assert_eq!(whole, Encoder::union(&[&known, &open]).unwrap());
    assert!(open.alignment(&whole).unwrap().is_identity());
    let found = problem(Encoder::union(&[&open, &known, &other])).to_string();
    assert_eq!(
        found,
        "target `y` is coded as 1 for `yes` and 0 for `no` by one encoder and as 1 for `yes` and 0 \
         for `never` by another; declare the same labels for all parts"
    );
}

#[test]
fn classes_are_united_by_name() {
    let part = |values: &str| {
        let rows: String = values.split(',').map(|class| format!("{class},1\n")).collect();
        let options = EncoderOptions { classes: Classes::Auto, ..y() };
        csv(&format!("y,x\n{rows}"), options).unwrap().encoder
    };
    let parts = [part("pear,fig,kiwi"), part("pear,kiwi,apple,fig"), part("pear,lime,fig")];
    let classes = |encoder: &Encoder| -> Vec<String> {
        encoder.target().unwrap().classes().unwrap().as_slice().to_vec()
    };
    let whole = Encoder::union(&[&parts[0], &parts[1], &parts[2]]).unwrap();
    assert_eq!(classes(&whole), ["pear", "apple", "fig", "kiwi", "lime"]);
    assert_eq!(whole, Encoder::union(&[&parts[2], &parts[0], &parts[1]]).unwrap());
    assert!(parts.iter().all(|part| part.alignment(&whole).unwrap().is_identity()));
    // several classes are no amounts
    let options = EncoderOptions { classes: Classes::Auto, ..y() };
    let number = csv("y,x\n1,2\n3,4\n", options).unwrap().encoder;
    let found = problem(Encoder::union(&[&parts[0], &number])).to_string();
    assert!(found.contains("one of 3 classes") && found.contains("a number"), "{found}");
    let many = |first: usize| {
        let classes: Vec<_> = (first..first + 600).map(|i| format!("c{i}")).collect();
        part(&classes.join(","))
    };
    assert_eq!(
        problem(Encoder::union(&[&many(0), &many(500)])),
        UnionProblem::TooManyClasses { found: 1100, limit: 1000 }
    );
}

#[test]
fn parts_that_differ_are_refused_with_both_values() {
    let base = learned("y,x,t\n1,2,a\n3,4,b\n");
    let refused = |other: &Encoder| problem(Encoder::union(&[&base, other])).to_string();
    let with = |options| csv("y,x,t\n1,2,a\n3,4,b\n", options).unwrap().encoder;
    let message = refused(&with(EncoderOptions { missing: Missing::Skip, ..y() }));
    assert!(message.starts_with("the option `missing` is `error` in one"), "{message}");
    let message = refused(&with(EncoderOptions { na_values: vec!["?".into()], ..y() }));
    assert!(message.starts_with("the option `na_values` is its default in one"), "{message}");
    let message = refused(&learned("y,x\n1,2\n3,4\n"));
    assert!(message.starts_with("column `t` is a feature column of one encoder only"), "{message}");
    let message = refused(&learned("y,x,t\n1,true,a\n3,false,b\n"));
    assert!(message.starts_with("column `x` is read as number by one encoder and as boolean"));
    let message = refused(&learned("y,x,t\ntrue,2,a\nfalse,4,b\n"));
    assert!(message.starts_with("target `y` is coded as a number by one"), "{message}");
    assert_eq!(problem(Encoder::union(&[])), UnionProblem::Nothing);
    let unread = Encoder::new(y());
    assert_eq!(problem(Encoder::union(&[&base, &unread])), UnionProblem::NotSettled);
    let wide = with(EncoderOptions { wide: WideRows::Always, ..y() });
    assert_eq!(problem(Encoder::union(&[&wide, &wide])), UnionProblem::Wide);
}

#[test]
fn without_an_intercept_baselines_must_agree() {
    let options = || EncoderOptions { intercept: false, ..y() };
    let first = csv("y,x,t\n1,2,b\n3,4,a\n", options()).unwrap().encoder;
    let second = csv("y,x,t\n1,2,a\n3,4,b\n", options()).unwrap().encoder;
    let third = csv("y,x,t\n1,2,a\n3,4,c\n", options()).unwrap().encoder;
    let expected =
        UnionProblem::Baseline { column: "t".into(), first: "a".into(), other: "b".into() };
    assert_eq!(problem(Encoder::union(&[&first, &second])), expected);
    assert!(matches!(problem(first.alignment(&second)), UnionProblem::Baseline { .. }));
    let whole = Encoder::union(&[&second, &third]).unwrap();
    assert_eq!(names(&whole), ["x", "t=b", "t=c"]);
}

#[test]
fn too_many_features_and_strangers_are_refused() {
    let options = || EncoderOptions { max_features: 3, ..y() };
    let first = csv("y,t\n1,a\n3,b\n1,c\n", options()).unwrap().encoder;
    let second = csv("y,t\n1,a\n3,d\n", options()).unwrap().encoder;
    let found = problem(Encoder::union(&[&first, &second]));
    assert_eq!(found, UnionProblem::TooManyFeatures { found: 4, limit: 3 });
    let found = problem(second.alignment(&first));
    assert_eq!(found, UnionProblem::NotInWhole { name: "t=d".into() });
    let found = problem(Encoder::union_since(&first, &[&second]));
    assert_eq!(found, UnionProblem::OtherTemplate { what: "features" });
    let mut reset = first.clone();
    reset.reset_counts();
    let found = problem(Encoder::union_since(&first, &[&reset]));
    assert_eq!(found, UnionProblem::OtherTemplate { what: "counts" });
    assert_eq!(Encoder::union_since(&first, &[]).unwrap(), first);
}
