//! One fit on several workers: any cut and any tree of merges give the model of all rows, levels
//! are matched by name, and what is shipped is checked.

mod workers;

use kalmia::{AnyFamily, AnyLearner, DriftMode, Learner};
use kalmia_data::{Block, Encoder, EncoderOptions, Missing, Mode, Reader, WideRows};
use kalmia_model::{
    Algorithm, Error, Model, Part, PolishPrior, Settings, SumsPass, Template, sums_from_bytes,
};
use workers::{Coefficients, assert_near, input, merged, source};

/// Rows as lines; the town `Hof` is not among the first ones.
fn lines(family: &str, rows: usize) -> Vec<String> {
    let line = |i: usize| {
        let x = (i * 7919 % 1009) as f64 / 500.0 + 3.0;
        let town = i * 31 % if i < rows / 2 { 3 } else { 4 };
        let noise = (i * 104_729 % 997) as f64 / 997.0;
        let u = 0.3 * (x - 4.0) + [0.0, 0.4, -0.5, 0.8][town];
        let y = match family {
            "bernoulli" => f64::from(noise < 1.0 / (1.0 + f64::exp(-u))),
            "poisson" => (u.exp() * 2.0 * noise).round(),
            _ => u + noise,
        };
        format!("{x},{},{y}\n", ["Ulm", "Bonn", "Kiel", "Hof"][town])
    };
    (0..rows).map(line).collect()
}

fn settings(method: &str, family: &str) -> Settings {
    let method = method.parse().unwrap();
    Settings { method, family: family.parse().unwrap(), ..Settings::default() }
}

/// A model that has learned these lines.
fn model(settings: Settings, options: EncoderOptions, lines: &[String]) -> Model {
    let mut encoder = Encoder::new(options);
    let inputs = input("sample", lines);
    let mut reader = Reader::open(inputs, source(), &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    assert!(reader.next_block(&mut encoder, &mut block).unwrap());
    let family = settings.family.resolve(encoder.target().unwrap()).unwrap().family;
    let mut model = Model::new(settings, family, encoder).unwrap();
    loop {
        model.learn(&block, None).unwrap();
        if !reader.next_block(&mut model.encoder, &mut block).unwrap() {
            return model;
        }
    }
}

fn template(method: &str, family: &str, lines: &[String]) -> Template {
    let sample = model(settings(method, family), EncoderOptions::target("y"), lines);
    Template::new(sample).unwrap()
}

/// What a worker ships.
fn learned(template: &[u8], name: &str, lines: &[String]) -> Result<Vec<u8>, Error> {
    workers::learned::<AnyLearner>(template, name, lines)
}

/// Coefficients by name.
fn coefficients(model: &Model) -> Coefficients {
    let table = model.coefficients(0.95).unwrap();
    let row = |row: kalmia_model::Coefficient| {
        (row.name, [row.estimate, row.std_error.unwrap_or(f64::NAN)])
    };
    table.into_iter().map(row).collect()
}

fn assert_same(a: &Model, b: &Model, tolerance: f64) {
    assert_near(&coefficients(a), &coefficients(b), tolerance);
}

#[test]
fn any_cut_and_any_tree_give_the_same_model() {
    for (method, family) in [("auto", "bernoulli"), ("auto", "poisson"), ("moment", "gaussian")] {
        let rows = lines(family, 1200);
        let template = template(method, family, &rows[..150]);
        let bytes = template.to_bytes().unwrap();
        let part = |k: usize| learned(&bytes, &format!("part {k}"), &rows[200 * k..200 * (k + 1)]);
        let parts: Vec<Vec<u8>> = (0..6).map(|k| part(k).unwrap()).collect();
        // a task that runs again gives the same bytes
        assert_eq!(part(4).unwrap(), parts[4]);
        let chain = merged(&parts, &[0, 1, 2, 3, 4, 5]);
        assert_eq!((chain.rows(), chain.shards()), (1200, 6));
        let chain = template.model(&chain).unwrap();
        assert_eq!((chain.shards, chain.model.learner.count()), (6, 1200));
        assert_eq!(chain.exact, family == "gaussian");
        assert_eq!(chain.model.encoder.counts().rows, 1200);
        assert!(coefficients(&chain.model).contains_key("town=Hof"));
        // a tree, with an empty partition
        let mut left = merged(&parts, &[5, 0, 3]);
        left.merge(&Part::from_bytes(&learned(&bytes, "empty", &[]).unwrap()).unwrap()).unwrap();
        let mut right = merged(&parts, &[4, 2, 1]);
        right.merge(&left).unwrap();
        let tree = template.model(&right).unwrap();
        assert_eq!(tree.shards, 6);
        assert_same(&chain.model, &tree.model, 1e-8);
        let q = [chain.heterogeneity.q, tree.heterogeneity.q];
        assert!((q[0] - q[1]).abs() < 1e-6 * q[0].max(1.0), "{q:?}");
        let loss = |model: &Model| model.metrics.progressive.loss();
        assert!((loss(&chain.model) / loss(&tree.model) - 1.0).abs() < 1e-12);
        assert_eq!(chain.model.metrics.progressive.rows(), 1200);
        // one worker with all rows: the same for normal noise, close otherwise
        let all = Part::from_bytes(&learned(&bytes, "all", &rows).unwrap()).unwrap();
        let all = template.model(&all).unwrap().model;
        let tolerance = if family == "gaussian" { 1e-8 } else { 0.5 };
        assert_same(&all, &chain.model, tolerance);
        // the model is a model: it is kept, predicts and learns on
        let kept = Model::from_bytes(&chain.model.to_bytes().unwrap()).unwrap();
        assert_same(&kept, &chain.model, 0.0);
    }
}

#[test]
fn passes_are_shipped_and_their_sums_merge() {
    let rows = lines("bernoulli", 1500);
    let template = template("auto", "bernoulli", &rows[..100]);
    let bytes = template.to_bytes().unwrap();
    let parts: Vec<Vec<u8>> =
        rows.chunks(500).map(|part| learned(&bytes, "part", part).unwrap()).collect();
    let start = template.model(&merged(&parts, &[2, 0, 1])).unwrap().model;
    let polished = |cut: usize, prior: PolishPrior| {
        let parts: Vec<&[String]> = rows.chunks(cut).rev().collect();
        workers::polished(start.clone(), &parts, prior, false)
    };
    let whole = polished(1500, PolishPrior::Fitted);
    assert_same(&whole, &polished(500, PolishPrior::Fitted), 1e-8);
    assert_same(&whole, &polished(107, PolishPrior::Fitted), 1e-8);
    assert_eq!((whole.learner.method(), whole.learner.count()), ("auto", 1500));
    let flat = polished(500, PolishPrior::Flat);
    assert_eq!(flat.learner.method(), "moment");
    assert_same(&flat, &polished(1500, PolishPrior::Flat), 1e-8);
}

#[test]
fn a_bad_row_names_its_part_row_and_column() {
    let mut rows = lines("gaussian", 400);
    let template = template("auto", "gaussian", &rows[..100]);
    let bytes = template.to_bytes().unwrap();
    rows[217] = "many,Ulm,1\n".into();
    let error = learned(&bytes, "partition 3", &rows[100..]).unwrap_err().to_string();
    for words in ["partition 3", "row 118", "`x`", "`many`"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    rows[217] = "1e200,Ulm,1\n".into();
    let error = learned(&bytes, "partition 3", &rows[100..]).unwrap_err().to_string();
    assert!(error.contains("partition 3") && error.contains("row 118"), "{error}");
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let rows = lines("bernoulli", 300);
    for method in ["ons", "ekf"] {
        let mut settings = settings(method, "bernoulli");
        settings.method.averaged = method == "ekf";
        let sample = model(settings, EncoderOptions::target("y"), &rows[..40]);
        let refused = Template::new(sample).unwrap_err();
        assert!(matches!(refused, Error::NotMergeable { .. }), "{refused}");
    }
    let mut adapts = settings("auto", "bernoulli");
    adapts.method.algorithm =
        Algorithm::Auto { drift: DriftMode::Adapt, outliers: Default::default() };
    let sample = model(adapts, EncoderOptions::target("y"), &rows);
    assert!(matches!(Template::new(sample), Err(Error::ShardsAdapt)));
    let wide = EncoderOptions { wide: WideRows::Always, ..EncoderOptions::target("y") };
    let sample = model(settings("wide", "bernoulli"), wide, &rows);
    assert!(matches!(Template::new(sample), Err(Error::NotMergeable { .. })));
    // a part of another template
    let one = template("auto", "bernoulli", &rows[..100]).to_bytes().unwrap();
    let options = EncoderOptions { missing: Missing::Skip, ..EncoderOptions::target("y") };
    let other = Template::new(model(settings("auto", "bernoulli"), options, &rows)).unwrap();
    let part = learned(&one, "part", &rows[..200]).unwrap();
    let mut whole = Part::from_bytes(&part).unwrap();
    let before = whole.to_bytes().unwrap();
    let foreign = learned(&other.to_bytes().unwrap(), "part", &rows[..200]).unwrap();
    assert!(whole.merge(&Part::from_bytes(&foreign).unwrap()).is_err());
    assert_eq!(whole.to_bytes().unwrap(), before, "a refused merge changes nothing");
    // bytes of another kind, cut or changed
    assert!(Template::from_bytes(&part).is_err() && Part::from_bytes(&one).is_err());
    assert!(SumsPass::from_bytes(&part).is_err() && sums_from_bytes(&part).is_err());
    for place in (0..part.len()).step_by(part.len() / 37 + 1) {
        let mut changed = part.clone();
        changed[place] ^= 0x55;
        assert!(Part::from_bytes(&changed).is_err(), "byte {place}");
        assert!(Part::from_bytes(&part[..place]).is_err());
    }
    assert!(matches!(Model::merge_many(Vec::new()), Err(Error::NoModel)));
    let poisson = model(settings("auto", "poisson"), EncoderOptions::target("y"), &rows);
    let bernoulli = model(settings("auto", "bernoulli"), EncoderOptions::target("y"), &rows);
    assert_ne!(poisson.family(), AnyFamily::from(kalmia::Bernoulli));
    let refused = Model::merge_many(vec![poisson, bernoulli]).unwrap_err();
    assert!(matches!(refused, Error::UnlikeModels { what: "families", .. }), "{refused}");
    let said = "the families of models 1 and 2 differ, poisson and bernoulli; fit all";
    assert!(refused.to_string().contains(said), "{refused}");
    let narrow = model(settings("ekf", "gaussian"), EncoderOptions::target("y"), &rows);
    let wide = model(settings("ekf", "gaussian:4"), EncoderOptions::target("y"), &rows);
    let refused = Model::merge_many(vec![narrow.clone(), narrow, wide]).unwrap_err().to_string();
    assert!(refused.contains("models 1 and 3 differ, gaussian and gaussian:4"), "{refused}");
}
