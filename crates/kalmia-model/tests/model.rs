//! The model as front ends use it: learning from blocks, refusals that name the row, model files
//! and sets, the coefficient table.

use kalmia::Learner;
use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
use kalmia_model::{
    Algorithm, AnyModel, Error, FamilyChoice, FileContent, Model, RowError, Settings, save_set,
};
use std::path::{Path, PathBuf};

/// Rows per block in these tests.
const BLOCK_ROWS: usize = 4;

/// A model and the reader of its rows.
struct Stream {
    model: Model,
    reader: Reader,
    block: Block,
}

impl Stream {
    /// Reads the first block of a CSV, which is `t.csv` in messages.
    fn start(method: &str, family: &str, csv: &str) -> Self {
        let settings = Settings {
            method: method.parse().unwrap(),
            family: family.parse().unwrap(),
            ..Settings::default()
        };
        let mut encoder = Encoder::new(EncoderOptions::target("y"));
        let inputs = vec![Input::memory("t.csv", csv.as_bytes())];
        let options = SourceOptions { block_rows: BLOCK_ROWS, ..SourceOptions::default() };
        let mut reader = Reader::open(inputs, options, &mut encoder, Mode::Learn).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        let inferred = settings.family.resolve(encoder.target().unwrap()).unwrap();
        let model = Model::new(settings, inferred.family, encoder).unwrap();
        Self { model, reader, block }
    }

    /// Learns the block at hand and reads the next one; `false` at the end.
    fn step(&mut self) -> Result<bool, Error> {
        self.model.learn(&self.block, None)?;
        Ok(self.reader.next_block(&mut self.model.encoder, &mut self.block)?)
    }

    fn finish(mut self) -> Model {
        while self.step().unwrap() {}
        self.model
    }
}

/// Twelve rows with counts as targets.
fn counts() -> String {
    (0..12).fold("x,c,y\n".into(), |csv, i| {
        format!("{csv}{},{},{}\n", f64::from(i % 5) / 4.0 - 0.5, ["a", "b"][i as usize % 2], i % 4)
    })
}

fn row_error(error: Error) -> RowError {
    match error {
        Error::Row(row) => *row,
        other => panic!("no row is named: {other}"),
    }
}

#[test]
fn a_refused_block_names_its_place_and_leaves_the_learner_as_it_was() {
    let bad_target = counts().replacen("\n0.5,a,0\n", "\n0.5,a,-1\n", 1);
    let bad_feature = counts().replacen("\n0.5,a,0\n", "\n1e200,a,0\n", 1);
    for (csv, feature, said) in
        [(bad_target, None, "target `y` is -1"), (bad_feature, Some("x"), "feature `x` is 1e200")]
    {
        let mut stream = Stream::start("moment", "poisson", &csv);
        assert!(stream.step().unwrap());
        let before = stream.model.learner.state();
        let error = row_error(stream.step().unwrap_err());
        assert_eq!(error.at.to_string(), "t.csv, row 5 (line 6)");
        assert_eq!(error.feature.as_deref(), feature);
        assert_eq!(error.target, "y");
        let text = error.to_string();
        assert!(text.starts_with("t.csv, row 5 (line 6): ") && text.contains(said), "{text}");
        assert_eq!(stream.model.learner.state(), before);
        assert_eq!(stream.model.learner.count(), BLOCK_ROWS as u64);
    }
}

#[test]
fn a_late_feature_grows_the_learner_or_is_refused_by_name() {
    let csv = counts().replacen(",b,", ",z,", 9).replacen(",z,", ",b,", 3);
    let model = Stream::start("auto", "poisson", &csv).finish();
    let names: Vec<_> = model.encoder.features().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["(intercept)", "x", "c=b", "c=z"]);
    assert_eq!(model.learner.dim(), 4);
    assert_eq!(model.coefficients(0.95).unwrap()[3].name, "c=z");

    let mut stream = Stream::start("ons", "gaussian", &csv);
    let error = loop {
        match stream.step() {
            Ok(more) => assert!(more, "the late feature was accepted"),
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, Error::LateFeature { feature, .. } if feature == "c=z"), "{error}");
    assert_eq!(stream.model.learner.dim(), 3);
}

#[test]
fn a_refused_block_with_new_features_takes_the_growth_back() {
    let csv = counts().replacen("\n0.5,a,0\n", "\n0.5,new,-1\n", 1);
    for method in ["auto", "ekf", "truncated", "implicit", "moment"] {
        let mut stream = Stream::start(method, "poisson", &csv);
        assert!(stream.step().unwrap());
        assert_eq!((stream.model.learner.dim(), stream.block.dim), (3, 4), "{method}");
        let before = stream.model.learner.state();
        row_error(stream.step().unwrap_err());
        assert_eq!(stream.model.learner.dim(), 3, "{method}");
        assert_eq!(stream.model.learner.state(), before, "{method}");
    }
}

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kalmia-model-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn a_model_comes_back_and_is_written_again_byte_for_byte() {
    let folder = Folder::new("round");
    for method in ["auto", "ekf", "truncated", "implicit", "moment", "ons"] {
        let mut stream = Stream::start(method, "poisson", &counts());
        assert!(stream.step().unwrap());
        stream.model.metadata.insert("note".into(), "from another program".into());
        let first = folder.path("first.kalmia");
        stream.model.save(&first).unwrap();
        let loaded = Model::load(&first).unwrap();
        assert_eq!(loaded.version, kalmia::file::VERSION);
        let mut model = loaded.content;
        assert_eq!(model.settings, stream.model.settings);
        assert_eq!(model.encoder, stream.model.encoder);
        assert_eq!(model.history, stream.model.history);
        assert_eq!(model.metadata["note"], "from another program");
        let again = folder.path("again.kalmia");
        model.save(&again).unwrap();
        assert!(bytes(&first) == bytes(&again), "{method}: the bytes differ");

        // both continue alike
        model.learn(&stream.block, None).unwrap();
        stream.model.learn(&stream.block, None).unwrap();
        assert_eq!(model.learner.state(), stream.model.learner.state(), "{method}");
    }
}

/// Files of version 0.1.0 held a value for every parameter, whatever the method.
#[test]
fn a_file_with_flat_settings_loads() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../kalmia-cli/tests/data/golden/model-format-1.kalmia");
    let loaded = Model::load(&golden).unwrap();
    assert_eq!(loaded.version, "0.1.0");
    let model = loaded.content;
    assert!(
        matches!(model.settings.method.algorithm, Algorithm::Auto { .. }),
        "{:?}",
        model.settings
    );
    assert_eq!(model.settings.family, FamilyChoice::INFERRED);
    assert_eq!((model.learner.count(), model.target()), (1500, "y"));
    assert_eq!(model.coefficients(0.95).unwrap().len(), 4);

    let folder = Folder::new("flat");
    let path = folder.path("new.kalmia");
    model.save(&path).unwrap();
    let again = Model::load(&path).unwrap().content;
    assert_eq!(again.settings, model.settings);
    assert_eq!(again.learner.state(), model.learner.state());
}

#[test]
fn a_set_keeps_its_models_in_order() {
    let folder = Folder::new("set");
    let path = folder.path("set.kalmia");
    let models: Vec<Model> = ["ekf", "moment", "auto"]
        .map(|method| Stream::start(method, "poisson", &counts()).finish())
        .into();
    save_set(&path, &models).unwrap();
    let FileContent::Set(loaded) = FileContent::load(&path).unwrap().content else {
        panic!("one model in place of several");
    };
    let methods: Vec<_> = loaded.iter().map(|model| model.settings.method.to_string()).collect();
    assert_eq!(methods, ["ekf", "moment", "auto"]);
    for (a, b) in models.iter().zip(&loaded) {
        assert_eq!(a.learner.state(), b.learner.state());
        assert_eq!(a.encoder, b.encoder);
    }
    let again = folder.path("again.kalmia");
    save_set(&again, &loaded).unwrap();
    assert!(bytes(&path) == bytes(&again), "the bytes differ");
    assert!(matches!(Model::load(&path), Err(Error::File(_))));
}

#[test]
fn a_set_of_one_is_an_ordinary_file_and_an_empty_set_is_refused() {
    let folder = Folder::new("one");
    let one = folder.path("one.kalmia");
    let model = Stream::start("moment", "poisson", &counts()).finish();
    save_set(&one, std::slice::from_ref(&model)).unwrap();
    let ordinary = folder.path("model.kalmia");
    model.save(&ordinary).unwrap();
    assert!(bytes(&one) == bytes(&ordinary), "the bytes differ");
    let content = FileContent::load(&one).unwrap().content;
    assert!(matches!(content, FileContent::One(AnyModel::Numbers(_))));
    let none = folder.path("none.kalmia");
    assert!(matches!(save_set(&none, &[]), Err(Error::NoModel)));
    assert!(!none.exists());
}

/// With known noise, prior variance 1 and one feature, the posterior has a closed form.
#[test]
fn the_coefficient_table_is_the_posterior() {
    let mut encoder =
        Encoder::new(EncoderOptions { intercept: false, ..EncoderOptions::target("y") });
    let csv = "x,y\n1,1.5\n1,1.2\n1,1.22\n";
    let inputs = vec![Input::memory("t.csv", csv.as_bytes())];
    let mut reader =
        Reader::open(inputs, SourceOptions::default(), &mut encoder, Mode::Learn).unwrap();
    let mut block = Block::new();
    reader.next_block(&mut encoder, &mut block).unwrap();
    let settings = Settings { method: "ekf".parse().unwrap(), ..Settings::default() };
    let mut model = Model::new(settings, "gaussian:1".parse().unwrap(), encoder).unwrap();
    model.learn(&block, None).unwrap();
    let [line] = &model.coefficients(0.95).unwrap()[..] else { panic!("one coefficient") };
    // precision 1 + 3, mean 3.92 / 4
    for (found, expected) in [
        (Some(line.estimate), 0.98),
        (line.std_error, 0.5),
        (line.z, 1.96),
        (line.p, 0.049_995_790_296_440_87),
        (line.lower, 0.98 - 0.979_981_992_270_027),
        (line.upper, 0.98 + 0.979_981_992_270_027),
    ] {
        let found = found.unwrap();
        assert!((found - expected).abs() <= 1e-9, "{found}, not {expected}");
    }
}

#[test]
fn a_method_without_covariance_has_estimates_only() {
    let model = Stream::start("ons", "poisson", &counts()).finish();
    for line in model.coefficients(0.95).unwrap() {
        assert!(line.estimate.is_finite());
        assert_eq!((line.std_error, line.p, line.lower), (None, None, None));
    }
}
