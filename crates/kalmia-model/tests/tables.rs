//! Tables through a model: the bytes of the command's pass, transactions that leave no trace,
//! forecasts, losses and choices.

use kalmia::evaluate::{MetricsThread, Progressive};
use kalmia::predict::Interval;
use kalmia::{Learner, Predict};
use kalmia_data::{
    Block, Coding, Encoder, EncoderOptions, Input, Kind, Missing, Mode, Reader, SourceOptions,
    Table, WideRows,
};
use kalmia_model::{
    Error, IntervalOf, LearnScratch, LearnedRows, Method, Model, Parameters, Settings, WeightKind,
};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Rows per batch.
const BATCH: usize = 9;

fn settings(method: &str, family: &str, weight_kind: WeightKind) -> Settings {
    Settings {
        method: method.parse().unwrap(),
        family: family.parse().unwrap(),
        weight_kind,
        ..Settings::default()
    }
}

/// Data of a test: lines under a header, and how they are read and learned.
struct Case {
    method: &'static str,
    family: &'static str,
    header: &'static str,
    lines: Vec<String>,
    options: EncoderOptions,
    weight_kind: WeightKind,
}

impl Case {
    fn new(method: &'static str, family: &'static str, options: EncoderOptions) -> Self {
        let gaps = options.missing != Missing::Error;
        let header = "x,town,body,w,o,y\n";
        let lines = lines(100, family, gaps);
        Self { method, family, header, lines, options, weight_kind: WeightKind::Frequency }
    }

    fn text(&self, lines: &[String]) -> String {
        format!("{}{}", self.header, lines.concat())
    }

    /// A model and the reader after its first batch, which is in the block.
    fn start(&self) -> (Model, Reader, Block) {
        let mut encoder = Encoder::new(self.options.clone());
        let inputs = vec![Input::memory("t.csv", self.text(&self.lines).into_bytes())];
        let source = SourceOptions { block_rows: BATCH, threaded: false, ..Default::default() };
        let mut reader = Reader::open(inputs, source, &mut encoder, Mode::Learn).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        let settings = settings(self.method, self.family, self.weight_kind);
        let inferred = settings.family.resolve(encoder.target().unwrap()).unwrap();
        (Model::new(settings, inferred.family, encoder).unwrap(), reader, block)
    }

    /// What the command's pass makes of the rows.
    fn by_pass(&self) -> Model {
        let (mut model, mut reader, mut block) = self.start();
        let mut metrics = MetricsThread::start(model.metrics.clone());
        loop {
            if block.rows() > 0 {
                model.learn(&block, Some(&mut metrics)).unwrap();
                metrics.flush();
            }
            if !reader.next_block(&mut model.encoder, &mut block).unwrap() {
                break;
            }
        }
        model.metrics = metrics.finish();
        model
    }

    /// The model after the first batch, and the tables of the others.
    fn tables(&self) -> (Model, Vec<Table>) {
        let (mut model, _, block) = self.start();
        let mut metrics = model.metrics.clone();
        model.learn(&block, Some(&mut metrics)).unwrap();
        model.metrics = metrics;
        let rest = self.lines[BATCH..].chunks(BATCH);
        let tables = rest.map(|lines| self.table(&model, lines, Mode::Learn)).collect();
        (model, tables)
    }

    fn table(&self, model: &Model, lines: &[String], mode: Mode) -> Table {
        read("t.csv", &self.text(lines), model, mode)
    }
}

fn read(name: &str, text: &str, model: &Model, mode: Mode) -> Table {
    let input = Input::memory(name, text.as_bytes());
    let schema = model.encoder.table_schema();
    Table::read(input, &SourceOptions::default(), &schema, mode, 1000).unwrap()
}

/// Lines with new towns throughout, targets of the family, and perhaps missing values.
fn lines(count: usize, family: &str, gaps: bool) -> Vec<String> {
    let line = |i: usize| {
        let x = (i * 37 % 101) as f64 / 50.0 - 1.0;
        let noise = (i * 61 % 17) as f64 / 17.0;
        let y = match family {
            "bernoulli" => f64::from(u8::from(x + noise > 0.5)),
            "poisson" => (2.0 * noise + x + 1.0).floor(),
            "gamma" => 0.3 + noise + x * x,
            _ => 2.0 * x + noise,
        };
        let shown = if gaps && i % 13 == 12 { "NA".into() } else { x.to_string() };
        let y = if gaps && i % 29 == 28 { String::new() } else { y.to_string() };
        let town = i * i % (2 + i / 9);
        format!("{shown},T{town},word w{} w{},{},{},{y}\n", i % 7, i % 11, 1 + i % 3, noise / 4.0)
    };
    (0..count).map(line).collect()
}

fn columns(features: &[&str]) -> EncoderOptions {
    let features = features.iter().map(|name| name.to_string()).collect();
    EncoderOptions { features: Some(features), ..EncoderOptions::target("y") }
}

fn cases() -> Vec<Case> {
    let plain = columns(&["x", "town"]);
    let roles =
        EncoderOptions { weight: Some("w".into()), offset: Some("o".into()), ..plain.clone() };
    let wide = EncoderOptions { wide: WideRows::Auto, ..columns(&["x", "town", "body"]) };
    let text = EncoderOptions { text: vec!["body".into()], ..wide.clone() };
    let mut cases = vec![
        Case::new("auto", "gaussian", plain.clone()),
        Case::new("auto", "bernoulli", plain.clone()),
        Case::new("auto", "gamma", roles.clone()),
        Case::new("ekf", "poisson", roles.clone()),
        Case::new("moment", "bernoulli", roles.clone()),
        Case::new("truncated", "bernoulli", plain.clone()),
        Case::new("implicit", "poisson", plain.clone()),
        Case::new("auto", "bernoulli", text.clone()),
        Case::new("wide", "poisson", EncoderOptions { hash_bits: Some(8), ..text.clone() }),
        Case::new("wide", "gaussian", EncoderOptions { weight: Some("w".into()), ..text }),
    ];
    for missing in [Missing::Mean, Missing::Skip] {
        cases.push(Case::new("auto", "poisson", EncoderOptions { missing, ..roles.clone() }));
        let wide = EncoderOptions { wide: WideRows::Always, missing, ..wide.clone() };
        cases.push(Case::new("wide", "bernoulli", wide));
    }
    let mut precise = Case::new("moment", "gaussian", roles);
    precise.weight_kind = WeightKind::Precision;
    cases.push(precise);
    let mut labelled = Case::new("auto", "bernoulli", plain);
    for line in &mut labelled.lines {
        *line = line.replace(",0\n", ",no\n").replace(",1\n", ",yes\n");
    }
    cases.push(labelled);
    cases
}

#[test]
fn tables_make_the_model_of_the_command_byte_for_byte() {
    for case in cases() {
        let title = format!("{} {} {:?}", case.method, case.family, case.options.missing);
        let (mut model, tables) = case.tables();
        let mut scratch = LearnScratch::default();
        let mut sums = LearnedRows { rows: 0, skipped: 0 };
        for table in &tables {
            let LearnedRows { rows, skipped } = model.learn_table(table, &mut scratch).unwrap();
            assert_eq!(rows + skipped, table.rows());
            sums.rows += rows;
            sums.skipped += skipped;
        }
        assert_eq!(sums.skipped > 0, case.options.missing != Missing::Error, "{title}");
        let expected = case.by_pass();
        assert_eq!(model.learner.count(), expected.learner.count(), "{title}");
        assert_eq!(model.encoder, expected.encoder, "{title}");
        assert!(model.to_bytes().unwrap() == expected.to_bytes().unwrap(), "{title}");
        assert!(model.encoder.dim() > 3 || model.encoder.is_wide(), "{title}: levels appeared");
    }
}

/// The line with another last field.
fn with_target(line: &str, y: &str) -> String {
    format!("{},{y}\n", line.rsplit_once(',').unwrap().0)
}

/// The line with other first fields.
fn with_start(line: &str, x: &str, town: &str) -> String {
    format!("{x},{town},{}", line.splitn(3, ',').last().unwrap())
}

#[test]
fn a_refused_table_leaves_no_trace() {
    for case in cases() {
        let title = format!("{} {} {:?}", case.method, case.family, case.options.missing);
        let (mut model, tables) = case.tables();
        let mut scratch = LearnScratch::default();
        // in the warm-up of the default learner, and after it
        for learned in [0, tables.len()] {
            for table in &tables[..learned] {
                model.learn_table(table, &mut scratch).unwrap();
            }
            let before = model.to_bytes().unwrap();
            let mut bad = case.lines[..5].to_vec();
            let x = if case.options.missing == Missing::Mean { "" } else { "0.5" };
            bad[0] = with_start(&bad[0], x, "Brandnew");
            let huge = with_start(&bad[4], "1e200", "Another");
            let illegal = with_target(&bad[4], if case.family == "bernoulli" { "7" } else { "-1" });
            let refusals = match case.family {
                "gaussian" => vec![huge],
                // the third label is refused by the encoder
                _ => vec![illegal, huge],
            };
            for last in refusals {
                bad[4] = last;
                let table = case.table(&model, &bad, Mode::Learn);
                let error = model.learn_table(&table, &mut scratch).unwrap_err().to_string();
                assert!(error.contains("row 5 (line 6)"), "{title}: {error}");
                assert!(model.to_bytes().unwrap() == before, "{title}: {error}");
            }
            // and it still learns
            let good = case.table(&model, &case.lines[..3], Mode::Learn);
            let mut copy = model.clone();
            copy.learn_table(&good, &mut scratch).unwrap();
        }
    }
}

#[test]
fn a_divergence_leaves_no_trace() {
    for method in ["ekf", "truncated"] {
        let case = Case::new(method, "poisson", columns(&["x", "town"]));
        let (mut model, tables) = case.tables();
        let mut scratch = LearnScratch::default();
        tables.iter().for_each(|table| {
            model.learn_table(table, &mut scratch).unwrap();
        });
        let before = model.to_bytes().unwrap();
        let mut bad = case.lines[..6].to_vec();
        bad[0] = with_start(&bad[0], "0.5", "Brandnew");
        bad[3] = with_target(&with_start(&bad[3], "-1e60", "T0"), "9e15");
        bad[4] = with_target(&with_start(&bad[4], "1e90", "T1"), "9e15");
        bad[5] = with_target(&with_start(&bad[5], "-1e119", "T1"), "9e15");
        let table = case.table(&model, &bad, Mode::Learn);
        let error = model.learn_table(&table, &mut scratch).unwrap_err();
        let Error::Row(error) = error else { panic!("{error}") };
        let by_the_row =
            matches!(error.cause, kalmia::Error::Target { .. } | kalmia::Error::Feature { .. });
        assert!(!by_the_row, "no divergence: {error}");
        assert!(model.to_bytes().unwrap() == before, "{method}: {error}");
    }
}

#[test]
fn forecasts_are_predictions_and_change_nothing() {
    for case in cases() {
        let (mut model, tables) = case.tables();
        let mut scratch = LearnScratch::default();
        for table in &tables {
            model.learn_table(table, &mut scratch).unwrap();
        }
        let before = model.to_bytes().unwrap();
        let mut lines = case.lines[..20].to_vec();
        lines[2] = with_start(&lines[2], "0.25", "Unknown");
        let table = case.table(&model, &lines, Mode::Predict);
        let mut block = Block::new();
        let forecasts = model.forecast_table(&table, 0.8, None, &mut block).unwrap();
        assert!(model.to_bytes().unwrap() == before);
        assert_eq!(forecasts.len(), 20);
        let skipped = forecasts.iter().filter(|forecast| forecast.is_none()).count();
        assert_eq!(skipped > 0, case.options.missing == Missing::Skip);

        // as the reader and the predictions say
        let mut encoder = model.encoder.clone();
        let inputs = vec![Input::memory("t.csv", case.text(&lines).into_bytes())];
        let source = SourceOptions::default();
        let mut reader = Reader::open(inputs, source, &mut encoder, Mode::Predict).unwrap();
        let mut read = Block::new();
        reader.next_block(&mut encoder, &mut read).unwrap();
        let is_label = case.family == "bernoulli";
        model
            .predict(&read, &mut |i, prediction| {
                let forecast = forecasts[read.input_row(i) as usize].as_ref().unwrap();
                let Interval { lower, upper } = match is_label {
                    true => prediction.mean_interval(0.8)?,
                    false => prediction.interval(0.8)?,
                };
                assert_eq!(forecast.mean, prediction.mean);
                assert_eq!((forecast.lower, forecast.upper), (Some(lower), Some(upper)));
                assert_eq!(forecast.linear, prediction.linear);
                assert_eq!(forecast.linear_sd, prediction.linear_deviation());
                assert_eq!(forecast.predicted.is_some(), is_label);
                Ok(())
            })
            .unwrap();
        let none = model.forecast_table(&table, 0.8, Some(IntervalOf::None), &mut block).unwrap();
        assert!(none.iter().flatten().all(|forecast| forecast.lower.is_none()));
        for level in [0.0, 1.0, f64::NAN] {
            let refused = model.forecast_table(&table, level, None, &mut block);
            assert!(matches!(refused, Err(Error::Level { .. })));
        }
    }
}

#[test]
fn labels_are_named_as_in_the_data() {
    let mut case = Case::new("auto", "bernoulli", columns(&["x"]));
    for line in &mut case.lines {
        *line = line.replace(",0\n", ",no\n").replace(",1\n", ",yes\n");
    }
    let (mut model, tables) = case.tables();
    tables.iter().for_each(|table| {
        model.learn_table(table, &mut LearnScratch::default()).unwrap();
    });
    let table = read("t.csv", "x\n-1\n1\n", &model, Mode::Predict);
    let forecasts = model.forecast_table(&table, 0.9, None, &mut Block::new()).unwrap();
    let names: Vec<_> = forecasts.iter().flatten().map(|f| f.predicted.as_deref()).collect();
    assert_eq!(names, [Some("no"), Some("yes")]);
}

/// Rows after which the default learner predicts what it then scores: before, it takes the scales
/// of its features anew.
const WARM_UP: usize = 200;

/// The losses of served means add up to the progressive loss, if each row is served just before it
/// is learned.
#[test]
fn the_loss_of_served_means_is_the_progressive_loss() {
    for family in ["gaussian", "bernoulli", "poisson", "gamma"] {
        let columns = [("x".to_owned(), Kind::Number)];
        let options = columns_of_x();
        let encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
        let settings = settings("auto", family, WeightKind::Frequency);
        let mut model = Model::new(settings, family.parse().unwrap(), encoder).unwrap();
        let mut scratch = LearnScratch::default();
        let mut block = Block::new();
        // the first row of a family without a known size is not judged
        let judged = |model: &Model| {
            let rows = model.metrics.progressive.rows() - u64::from(family != "bernoulli");
            rows as f64 * model.metrics.progressive.loss()
        };
        let all = lines(WARM_UP + 60, family, false);
        let first = format!("x,town,body,w,o,y\n{}", all[..WARM_UP].concat());
        let first = read("t.csv", &first, &model, Mode::Learn);
        model.learn_table(&first, &mut scratch).unwrap();
        let before = judged(&model);
        let mut total = 0.0;
        for line in &all[WARM_UP..] {
            let text = format!("x,town,body,w,o,y\n{line}");
            let table = read("t.csv", &text, &model, Mode::Learn);
            let forecasts = model.forecast_table(&table, 0.9, None, &mut block).unwrap();
            let mean = forecasts[0].as_ref().unwrap().mean;
            let y = model.canonical_target(&block, 0).unwrap();
            let mut one = Progressive::after(&model.metrics.progressive);
            one.row(y, mean, None, 1.0).unwrap();
            assert_eq!(one.report().loss, model.loss_of_mean(y, mean));
            model.learn_table(&table, &mut scratch).unwrap();
            total += model.loss_of_mean(y, mean);
        }
        let expected = judged(&model) - before;
        assert!((total - expected).abs() < 1e-6 * expected, "{family}: {total} {expected}");
    }
}

fn columns_of_x() -> EncoderOptions {
    columns(&["x"])
}

#[test]
fn targets_outside_the_family_have_no_canonical_form() {
    let columns = [("x".to_owned(), Kind::Number)];
    let encoder = Encoder::from_columns(columns_of_x(), &columns, Coding::Number).unwrap();
    let settings = settings("auto", "poisson", WeightKind::Frequency);
    let model = Model::new(settings, "poisson".parse().unwrap(), encoder).unwrap();
    let table = read("t.csv", "x,y\n1,3\n1,-1\n1,\n", &model, Mode::Predict);
    let mut block = Block::new();
    model.encoder.encode_for_prediction(&table, &mut block).unwrap();
    let found = [0, 1, 2, 3].map(|i| model.canonical_target(&block, i));
    assert_eq!(found, [Some(3.0), None, None, None]);
}

/// A model whose belief is a known normal law, without an intercept.
fn gaussian_belief(method: &str, repeats: usize) -> Model {
    let columns = ["a", "b"].map(|name| (name.to_owned(), Kind::Number));
    let options = EncoderOptions { intercept: false, ..EncoderOptions::target("y") };
    let encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
    let settings = Settings { method: method.parse().unwrap(), ..Settings::default() };
    let mut model = Model::new(settings, "gaussian:1".parse().unwrap(), encoder).unwrap();
    let rows = format!("a,b,y\n{}", "1,0,0.7\n0,1,0.2\n1,1,1.4\n1,-1,0.1\n".repeat(repeats));
    let table = read("t.csv", &rows, &model, Mode::Learn);
    model.learn_table(&table, &mut LearnScratch::default()).unwrap();
    model
}

/// The normal distribution function, by Simpson's rule.
fn normal_cdf(z: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let steps = 2000;
    let h = z / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
    0.5 + h / 3.0 * (0..=steps).map(|i| weight(i) * density(f64::from(i) * h)).sum::<f64>()
}

#[test]
fn choices_have_the_exact_probabilities_of_a_normal_belief() {
    let model = gaussian_belief("ekf", 1);
    let table = read("c.csv", "a,b\n1,0.5\n0.2,1\n", &model, Mode::Predict);
    let difference = [0.8, -0.5];
    let mean: f64 = model.learner.coefficients().iter().zip(difference).map(|(t, x)| t * x).sum();
    let entry = |i, j| model.learner.covariance_entry(i, j).unwrap();
    let variance: f64 = (0..2)
        .flat_map(|i| (0..2).map(move |j| (i, j)))
        .map(|(i, j)| difference[i] * entry(i, j) * difference[j])
        .sum();
    let first = normal_cdf(mean / variance.sqrt());
    assert!((0.55..0.9).contains(&first), "an open choice: {first}");

    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let draws = 20_000;
    let choice = model.choose_table(&table, draws, &mut rng).unwrap();
    let expected = if choice.row == 0 { first } else { 1.0 - first };
    let error = (first * (1.0 - first) / draws as f64).sqrt();
    assert!((choice.probability - expected).abs() < 4.0 * error, "{choice:?}, not {expected}");

    let calls = 4000;
    let chosen = (0..calls).filter(|_| {
        let choice = model.choose_table(&table, 0, &mut rng).unwrap();
        assert_eq!(choice.probability, 0.5);
        choice.row == 0
    });
    let share = chosen.count() as f64 / f64::from(calls);
    let error = (first * (1.0 - first) / f64::from(calls)).sqrt();
    assert!((share - first).abs() < 4.0 * error, "{share}, not {first}");
}

#[test]
fn a_choice_is_never_impossible_and_needs_a_belief() {
    let model = gaussian_belief("ekf", 200);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let one = read("c.csv", "a,b\n1,2\n", &model, Mode::Predict);
    let choice = model.choose_table(&one, 10, &mut rng).unwrap();
    assert_eq!((choice.row, choice.probability), (0, 1.0));
    // far apart: the second row wins every draw
    let apart = read("c.csv", "a,b\n0,0\n900,300\n0,0\n", &model, Mode::Predict);
    let choice = model.choose_table(&apart, 50, &mut rng).unwrap();
    assert_eq!((choice.row, choice.probability), (1, 51.0 / 53.0));
    for method in ["ons", "asgd"] {
        let columns = [("a".to_owned(), Kind::Number)];
        let encoder =
            Encoder::from_columns(EncoderOptions::target("y"), &columns, Coding::Number).unwrap();
        let horizon = (method == "asgd").then_some(100);
        let parameters = Parameters { horizon, ..Parameters::default() };
        let method = Method::new(method.parse().unwrap(), &parameters).unwrap();
        let settings = Settings { method, ..Settings::default() };
        let model = Model::new(settings, "gaussian:1".parse().unwrap(), encoder).unwrap();
        let table = read("c.csv", "a\n1\n2\n", &model, Mode::Predict);
        let error = model.choose_table(&table, 10, &mut rng).unwrap_err().to_string();
        assert!(error.contains("keeps no covariance"), "{error}");
    }
    let wide = Case::new(
        "wide",
        "poisson",
        EncoderOptions { wide: WideRows::Always, ..columns(&["x", "town"]) },
    );
    let (model, tables) = wide.tables();
    let error = model.choose_table(&tables[0], 10, &mut rng).unwrap_err().to_string();
    assert!(error.contains("a wide model draws no coefficients"), "{error}");
}

#[test]
fn rows_that_lack_a_value_are_not_chosen() {
    let mut case = Case::new("auto", "gaussian", columns(&["x"]));
    case.options.missing = Missing::Skip;
    let (mut model, tables) = case.tables();
    tables.iter().for_each(|table| {
        model.learn_table(table, &mut LearnScratch::default()).unwrap();
    });
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let table = read("c.csv", "x,y\n,\n-1,\n,\n1,\n", &model, Mode::Predict);
    let choice = model.choose_table(&table, 100, &mut rng).unwrap();
    assert_eq!(choice.row, 3);
    let table = read("c.csv", "x,y\n,\n,\n", &model, Mode::Predict);
    let refused = model.choose_table(&table, 100, &mut rng);
    assert!(matches!(refused, Err(Error::NoCandidate)));
}
