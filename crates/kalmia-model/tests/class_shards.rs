//! Several classes on several workers: any cut and any tree of merges give the model of all rows,
//! classes and levels are matched by name, and what is shipped is checked.

mod workers;

use kalmia::DriftMode;
use kalmia::learner::AnyCategorical;
use kalmia_data::{Block, Encoder, EncoderOptions, Mode, Reader};
use kalmia_model::{
    Algorithm, AnyMerged, AnyModel, AnyPart, AnyTemplate, ClassModel, ClassPart, ClassTemplate,
    Error, MergedClassModel, Part, PolishPrior, Settings, Template,
};
use workers::{Coefficients, assert_near, input, merged, source};

const CLASSES: [&str; 4] = ["pear", "fig", "apple", "kiwi"];

/// Rows as lines of a true softmax. The class `kiwi` and the town `Hof` are not among the first
/// ones.
fn lines(rows: usize) -> Vec<String> {
    let line = |i: usize| {
        let x = (i * 7919 % 1009) as f64 / 250.0 - 2.0;
        let town = i * 31 % if i < rows / 2 { 3 } else { 4 };
        let noise = (i * 104_729 % 9973) as f64 / 9973.0;
        let known = if i < rows / 2 { 3 } else { 4 };
        let linear = [0.0, 0.8 * x + 0.3, -0.5 * x + [0.0, 0.4, -0.5, 0.8][town], 0.4 * x - 0.5];
        let total: f64 = linear[..known].iter().map(|u| u.exp()).sum();
        let mut left = noise * total;
        let mut class = 0;
        while class + 1 < known && left >= linear[class].exp() {
            left -= linear[class].exp();
            class += 1;
        }
        format!("{x},{},{}\n", ["Ulm", "Bonn", "Kiel", "Hof"][town], CLASSES[class])
    };
    (0..rows).map(line).collect()
}

fn settings(drift: DriftMode) -> Settings {
    let mut settings = Settings { family: "categorical".parse().unwrap(), ..Settings::default() };
    if let Algorithm::Auto { drift: mode, .. } = &mut settings.method.algorithm {
        *mode = drift;
    }
    settings
}

fn options() -> EncoderOptions {
    EncoderOptions {
        classes: settings(DriftMode::Off).family.classes(),
        ..EncoderOptions::target("y")
    }
}

/// A model that has learned these lines.
fn model(settings: Settings, lines: &[String]) -> ClassModel {
    let mut encoder = Encoder::new(options());
    let mut reader =
        Reader::open(input("sample", lines), source(), &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    assert!(reader.next_block(&mut encoder, &mut block).unwrap());
    let mut model = ClassModel::new(settings, encoder).unwrap();
    loop {
        let mut metrics = model.metrics.clone();
        model.learn(&block, Some(&mut metrics)).unwrap();
        model.metrics = metrics;
        if !reader.next_block(&mut model.encoder, &mut block).unwrap() {
            return model;
        }
    }
}

fn template(lines: &[String]) -> ClassTemplate {
    ClassTemplate::new(model(settings(DriftMode::Detect), lines)).unwrap()
}

/// What a worker ships.
fn learned(template: &[u8], name: &str, lines: &[String]) -> Result<Vec<u8>, Error> {
    workers::learned::<AnyCategorical>(template, name, lines)
}

/// Coefficients by class and name.
fn coefficients(model: &ClassModel) -> Coefficients {
    let mut found = Coefficients::new();
    for class in model.class_coefficients(0.95).unwrap() {
        for row in class.coefficients {
            let name = format!("{}: {}", class.class, row.name);
            found.insert(name, [row.estimate, row.std_error.unwrap()]);
        }
    }
    found
}

fn assert_same(a: &ClassModel, b: &ClassModel, tolerance: f64) {
    assert_near(&coefficients(a), &coefficients(b), tolerance);
}

/// Of `x` alone: models may have different baseline towns.
fn assert_same_x(a: &ClassModel, b: &ClassModel, tolerance: f64) {
    let of_x = |model: &ClassModel| {
        let mut found = coefficients(model);
        found.retain(|name, _| name.ends_with(": x"));
        found
    };
    assert_eq!(of_x(a).len(), 3);
    assert_near(&of_x(a), &of_x(b), tolerance);
}

/// Lines in parts of about the same length.
fn cut(lines: &[String], parts: usize) -> Vec<&[String]> {
    let end = |k: usize| k * lines.len() / parts;
    (0..parts).map(|k| &lines[end(k)..end(k + 1)]).collect()
}

/// The model after passes over all lines, cut into `parts`.
fn polished(model: ClassModel, lines: &[String], parts: usize, prior: PolishPrior) -> ClassModel {
    workers::polished(model, &cut(lines, parts), prior, true)
}

#[test]
fn parts_in_any_order_are_one_model() {
    let rows = lines(2400);
    let template = template(&rows[..200]);
    let shipped = template.to_bytes().unwrap();
    let parts: Vec<Vec<u8>> =
        (0..6).map(|k| learned(&shipped, "part", &rows[k * 400..(k + 1) * 400]).unwrap()).collect();
    let MergedClassModel { model, shards, exact, heterogeneity } =
        template.model(&merged(&parts, &[0, 1, 2, 3, 4, 5])).unwrap();
    assert_eq!((model.learner.count(), shards, exact), (2400, 6, false));
    let mut classes = model.classes().to_vec();
    classes.sort();
    assert_eq!(classes, ["apple", "fig", "kiwi", "pear"]);
    // three classes or more have no test of agreement
    assert_eq!((heterogeneity.degrees, heterogeneity.p_value), (0, 1.0));
    assert_eq!(model.metrics.rows(), 2400);
    for order in [[5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2]] {
        let other = template.model(&merged(&parts, &order)).unwrap();
        assert_same(&model, &other.model, 1e-9);
        let loss = |model: &ClassModel| model.metrics.loss();
        assert!((loss(&model) - loss(&other.model)).abs() < 1e-12);
    }
    // a repeated task gives the same bytes
    assert_eq!(learned(&shipped, "again", &rows[..400]).unwrap(), parts[0]);
    // a worker without rows adds nothing
    let empty = learned(&shipped, "empty", &[]).unwrap();
    let with_empty = [parts.clone(), vec![empty]].concat();
    let other = template.model(&merged(&with_empty, &[6, 0, 1, 2, 3, 4, 5])).unwrap();
    assert_eq!(other.shards, 6);
    assert_same(&model, &other.model, 1e-9);
}

#[test]
fn passes_over_shards_give_the_fit_of_all_rows() {
    let rows = lines(2400);
    // the new class is a drift
    let whole = model(settings(DriftMode::Off), &rows);
    let batch = polished(whole, &rows, 1, PolishPrior::Flat);
    for shards in [1, 4, 12] {
        let template = template(&rows[..200]);
        let shipped = template.to_bytes().unwrap();
        let parts = cut(&rows, shards).into_iter();
        let parts: Vec<Vec<u8>> =
            parts.map(|own| learned(&shipped, "part", own).unwrap()).collect();
        let order: Vec<usize> = (0..shards).collect();
        let merged = template.model(&merged(&parts, &order)).unwrap().model;
        let fit = polished(merged, &rows, shards, PolishPrior::Flat);
        assert_same(&batch, &fit, 1e-4);
        assert_eq!(fit.settings.method.name(), "auto".parse().unwrap());
    }
}

#[test]
fn models_with_other_classes_and_levels_are_merged_by_name() {
    let rows = lines(2000);
    // `kiwi` and `Hof` are in the second half only, and the halves begin with other classes
    let halves = || {
        let mut second = rows[1000..].to_vec();
        second.rotate_left(7);
        vec![
            model(settings(DriftMode::Off), &rows[..1000]),
            model(settings(DriftMode::Off), &second),
        ]
    };
    let one = ClassModel::merge_many(halves()).unwrap();
    let other = ClassModel::merge_many(halves().into_iter().rev().collect()).unwrap();
    assert_same(&one.model, &other.model, 1e-9);
    assert_eq!((one.model.learner.count(), one.shards), (2000, 2));
    // a polish of the merge is that of one fit
    let whole = model(settings(DriftMode::Off), &rows);
    let expected = polished(whole, &rows, 1, PolishPrior::Flat);
    assert_same_x(&expected, &polished(one.model, &rows, 1, PolishPrior::Flat), 1e-4);
    // different settings are refused
    let unlike =
        vec![model(settings(DriftMode::Off), &rows), model(settings(DriftMode::Detect), &rows)];
    assert!(matches!(ClassModel::merge_many(unlike), Err(Error::UnlikeModels { .. })));
}

#[test]
fn a_polished_file_keeps_its_standard_errors() {
    let rows = lines(600);
    let model = polished(model(settings(DriftMode::Off), &rows), &rows, 1, PolishPrior::Fitted);
    let loaded = ClassModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(coefficients(&loaded), coefficients(&model));
    assert_eq!(loaded.to_bytes().unwrap(), model.to_bytes().unwrap());
}

#[test]
fn what_is_shipped_is_checked() {
    let rows = lines(400);
    let template = template(&rows[..200]);
    let shipped = template.to_bytes().unwrap();
    let part = learned(&shipped, "part", &rows).unwrap();
    assert!(ClassTemplate::from_bytes(&part).is_err() && ClassPart::from_bytes(&shipped).is_err());
    // numbers are no classes
    assert!(Template::from_bytes(&shipped).is_err() && Part::from_bytes(&part).is_err());
    let AnyTemplate::Classes(_) = AnyTemplate::from_bytes(&shipped).unwrap() else {
        panic!("a template of classes")
    };
    let any = AnyTemplate::from_bytes(&shipped).unwrap();
    let part = AnyPart::from_bytes(&part).unwrap();
    assert!(matches!(AnyMerged::new(&any, &part).unwrap(), AnyMerged::Classes(_)));
    assert!(matches!(any.shard().unwrap().into_model(), AnyModel::Classes(_)));
    let adapting = model(settings(DriftMode::Adapt), &rows);
    assert!(matches!(ClassTemplate::new(adapting), Err(Error::ShardsAdapt)));
}
