//! Models of any kind: tables as transactions, forecasts, what was served, the first rows.

use kalmia_data::{Block, EncoderOptions, Input, Mode, SourceOptions, Table};
use kalmia_model::{AnyModel, Error, FirstRows, Forecasts, IntervalOf, LearnScratch, Settings};

fn number(i: usize) -> f64 {
    ((i * 7919 + 104_729) % 1000) as f64 / 100.0
}

/// Rows whose class, or number, follows two features.
fn csv(family: &str, rows: std::ops::Range<usize>) -> String {
    let row = |i: usize| {
        let x = number(i);
        let noise = number(31 * i + 7);
        let y = match family {
            "categorical" => ["low", "middle", "high"][((x + 0.3 * noise) / 4.5) as usize].into(),
            "ordinal" => (((x + 0.3 * noise) / 4.5) as usize + 1).to_string(),
            _ => format!("{:.2}", 2.0 * x + noise),
        };
        format!("{x},{},{y}\n", ["a", "b"][i % 2])
    };
    format!("x,place,y\n{}", rows.map(row).collect::<String>())
}

fn input(text: String) -> Input {
    Input::memory("rows.csv", text.into_bytes())
}

fn settings(family: &str) -> Settings {
    Settings { family: family.parse().unwrap(), ..Settings::default() }
}

/// A model before its first row, with the columns of these rows.
fn first(family: &str, rows: std::ops::Range<usize>) -> AnyModel {
    let settings = settings(family);
    let classes = settings.family.classes();
    let options = EncoderOptions { classes, ..EncoderOptions::target("y") };
    let shown =
        FirstRows::read(options, input(csv(family, rows)), SourceOptions::default()).unwrap();
    shown.model(settings).unwrap()
}

fn table(model: &AnyModel, text: String) -> Table {
    let schema = model.encoder().table_schema();
    Table::read(input(text), &SourceOptions::default(), &schema, Mode::Learn, 10_000).unwrap()
}

fn learn(model: &mut AnyModel, text: String) -> Result<usize, Error> {
    let table = table(model, text);
    model.learn_table(&table, &mut LearnScratch::default()).map(|learned| learned.rows)
}

const FAMILIES: [&str; 4] = ["categorical", "ordinal", "quantile:0.1,0.5,0.9", "gaussian"];

#[test]
fn a_table_gives_the_bytes_of_a_pass_with_observing_metrics() {
    for family in FAMILIES {
        let mut model = first(family, 0..400);
        let mut observed = model.clone();
        let mut text = csv(family, 0..400);
        if family == "categorical" {
            // a class that the first rows did not show
            text.push_str("9,a,other\n1,b,low\n");
        }
        let table = table(&model, text);
        model.learn_table(&table, &mut LearnScratch::default()).unwrap();
        let mut block = Block::new();
        match &mut observed {
            AnyModel::Numbers(model) => {
                model.encoder.encode_table(&table, &mut block).unwrap();
                let mut metrics = model.metrics.clone();
                model.learn(&block, Some(&mut metrics)).unwrap();
                model.metrics = metrics;
            }
            AnyModel::Classes(model) => {
                model.encoder.encode_table(&table, &mut block).unwrap();
                let mut metrics = model.metrics.clone();
                model.learn(&block, Some(&mut metrics)).unwrap();
                model.metrics = metrics;
            }
            AnyModel::Quantiles(model) => {
                model.encoder.encode_table(&table, &mut block).unwrap();
                let mut metrics = model.metrics.clone();
                model.learn(&block, Some(&mut metrics)).unwrap();
                model.metrics = metrics;
            }
        }
        assert!(model.to_bytes().unwrap() == observed.to_bytes().unwrap(), "{family}");
        assert!(model.loss() < 0.8 * model.constant_loss(), "{family}: {}", model.loss());
        let again = AnyModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert!(again.to_bytes().unwrap() == model.to_bytes().unwrap(), "{family}");
    }
}

#[test]
fn a_refused_table_leaves_no_trace() {
    for family in FAMILIES {
        let mut model = first(family, 0..200);
        learn(&mut model, csv(family, 0..200)).unwrap();
        let before = model.to_bytes().unwrap();
        // a new level, and for classes a new class, before the row that is refused
        let good = if family == "categorical" { "1,c,new" } else { "1,c,3" };
        let wrong = if family == "categorical" { "1e300,a,low" } else { "1e300,a,3" };
        let error = learn(&mut model, format!("x,place,y\n{good}\n{wrong}\n")).unwrap_err();
        assert!(matches!(error, Error::Row(_)), "{family}: {error}");
        assert!(model.to_bytes().unwrap() == before, "{family}");
        assert_eq!(learn(&mut model, format!("x,place,y\n{good}\n")).unwrap(), 1);
        assert_eq!(model.rows(), 201);
    }
}

/// The sum of the losses so far. The first row of numbers shows their level and is not judged.
fn total_loss(model: &AnyModel) -> f64 {
    let unjudged = if matches!(model, AnyModel::Classes(_)) { 0 } else { 1 };
    model.loss() * (model.rows() - unjudged) as f64
}

#[test]
fn the_loss_as_served_is_the_progressive_loss_of_the_row() {
    for family in FAMILIES {
        let mut model = first(family, 0..300);
        learn(&mut model, csv(family, 0..300)).unwrap();
        let mut scratch = LearnScratch::default();
        for i in 300..330 {
            let table = table(&model, csv(family, i..i + 1));
            let forecasts = model.forecast_table(&table, 0.95, None, &mut Block::new()).unwrap();
            assert_eq!(forecasts.rows(), 1);
            let served = forecasts.served(0).unwrap();
            let before = total_loss(&model);
            model.learn_table(&table, &mut scratch).unwrap();
            let counted = total_loss(&model) - before;
            let loss = model.loss_of_served(&scratch.block, 0, &served).unwrap();
            assert!((loss - counted).abs() < 1e-6 * (1.0 + loss), "{family}: {loss} {counted}");
        }
        // a class that was not known when the forecast was made has no loss
        assert_eq!(model.loss_of_served(&scratch.block, 0, &[]), None);
    }
}

#[test]
fn forecasts_name_classes_and_levels() {
    let mut model = first("categorical", 0..300);
    learn(&mut model, csv("categorical", 0..300)).unwrap();
    let new = table(&model, "x,place,y\n0.1,a,low\n9.9,b,low\n".into());
    let made = |interval| model.forecast_table(&new, 0.9, interval, &mut Block::new());
    let Forecasts::Classes(classes) = made(None).unwrap() else { panic!("no classes") };
    assert_eq!(
        classes.names().iter().map(|name| &**name).collect::<Vec<_>>(),
        ["high", "low", "middle"]
    );
    assert_eq!([0, 1].map(|i| &**classes.predicted(i).unwrap()), ["low", "high"]);
    for row in 0..2 {
        let probabilities: Vec<f64> = classes.probabilities(row).unwrap().collect();
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let largest = probabilities.iter().copied().fold(0.0, f64::max);
        let place = classes.names().iter().position(|name| Some(name) == classes.predicted(row));
        assert_eq!(probabilities[place.unwrap()], largest);
    }
    assert!(classes.probabilities(2).is_none());
    assert!(matches!(made(Some(IntervalOf::Mean)), Err(Error::NoInterval { .. })));
    assert!(made(Some(IntervalOf::None)).is_ok());
    assert!(matches!(model.numbers("cannot choose"), Err(Error::NumbersOnly { .. })));
    // quantiles never cross
    let mut model = first("quantile:0.1,0.5,0.9", 0..300);
    learn(&mut model, csv("quantile:0.1,0.5,0.9", 0..300)).unwrap();
    let forecasts =
        model.forecast_table(&table(&model, csv("", 0..20)), 0.9, None, &mut Block::new());
    let Forecasts::Quantiles(quantiles) = forecasts.unwrap() else { panic!("no quantiles") };
    assert_eq!(quantiles.levels(), [0.1, 0.5, 0.9]);
    for row in 0..20 {
        let values = quantiles.quantiles(row).unwrap();
        assert!(values[0] <= values[1] && values[1] <= values[2], "{values:?}");
    }
}

#[test]
fn a_model_without_a_class_says_so() {
    let mut declared = EncoderOptions::target("y");
    declared.classes = kalmia_data::Classes::Always;
    let names = kalmia_data::ClassNames::default();
    let columns = [("x".into(), kalmia_data::Kind::Number)];
    let coding = kalmia_data::Coding::Classes { names };
    let encoder = kalmia_data::Encoder::from_columns(declared, &columns, coding).unwrap();
    let model = AnyModel::new(settings("categorical"), encoder).unwrap();
    let new = table(&model, "x,y\n1,a\n".into());
    let forecasts = model.forecast_table(&new, 0.9, None, &mut Block::new());
    assert!(matches!(forecasts, Err(Error::NoClasses)));
    // and is stored all the same
    let bytes = model.to_bytes().unwrap();
    let mut again = AnyModel::from_bytes(&bytes).unwrap();
    assert_eq!(learn(&mut again, "x,y\n1,a\n2,b\n".into()).unwrap(), 2);
    assert_eq!(again.predictors(), 2);
}
