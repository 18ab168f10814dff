//! What a caller declares about a model that learns tables by the names of their columns.

use crate::error::{data, input, model as refuse};
use crate::method::translate;
use kalmia::DriftMode;
use kalmia_data::{Block, Encoder, EncoderOptions, Input, Missing, Mode, Reader, SourceOptions};
use kalmia_model::{
    Algorithm, AnyModel, ClassModel, FamilyChoice, FirstRows, Method, MethodName, Model,
    ModelLearner, ModelOf, Parameters, Settings, WeightKind,
};
use pyo3::prelude::*;
use serde::Deserialize;

/// Columns and method by name. `kalmia._declaration` makes it from the keywords of public
/// functions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    target: String,
    family: FamilyChoice,
    method: String,
    parameters: Parameters,
    features: Option<Vec<String>>,
    exclude: Vec<String>,
    categorical: Vec<String>,
    weight: Option<String>,
    weights: WeightKind,
    offset: Option<String>,
    positive: Option<String>,
    intercept: bool,
    missing: Missing,
}

impl Declaration {
    /// Reads a declaration from a dictionary.
    pub fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = crate::json::to_json(given)?;
        serde_json::from_value(value)
            .map_err(|error| input(format!("the model is not declared right: {error}")))
    }

    fn method(&self) -> PyResult<Method> {
        let name: MethodName = self.method.parse().map_err(translate)?;
        Method::new(name, &self.parameters).map_err(translate)
    }

    /// How to learn.
    pub fn settings(&self) -> PyResult<Settings> {
        let method = self.method()?;
        self.family.check_parameters(&self.parameters).map_err(translate)?;
        if method.needs_horizon() {
            return Err(input(
                "method 'asgd' needs horizon, the number of rows to come: give it, or use 'auto'",
            ));
        }
        let settings = Settings {
            family: self.family.clone(),
            method,
            weight_kind: self.weights,
            ..Settings::default()
        };
        settings.check().map_err(translate)?;
        Ok(settings)
    }

    /// What the columns are for.
    pub fn options(&self) -> PyResult<EncoderOptions> {
        Ok(EncoderOptions {
            positive: self.positive.clone(),
            weight: self.weight.clone(),
            offset: self.offset.clone(),
            features: self.features.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            intercept: self.intercept,
            missing: self.missing,
            wide: self.method()?.rows(),
            ..EncoderOptions::target(&self.target)
        })
    }

    /// The model before its first row, with the columns that these rows show. The rows decide the
    /// kinds of the columns, the coding of the target and the family, and are not learned.
    pub fn first_model(&self, rows: Input, source: SourceOptions) -> PyResult<AnyModel> {
        let options = EncoderOptions { classes: self.family.classes(), ..self.options()? };
        let first = FirstRows::read(options, rows, source).map_err(refuse)?;
        first.model(self.settings()?).map_err(translate)
    }

    /// The model of a sample of rows, which are learned without looking for a drift: they come from
    /// many places.
    pub fn sample_model(&self, rows: Input, source: SourceOptions) -> PyResult<AnyModel> {
        let asked = self.settings()?;
        let mut settings = asked.clone();
        if let Algorithm::Auto { drift, .. } = &mut settings.method.algorithm {
            *drift = DriftMode::Off;
        }
        let options = EncoderOptions { classes: self.family.classes(), ..self.options()? };
        let mut encoder = Encoder::new(options);
        let mut block = Block::new();
        let mut reader =
            Reader::open(vec![rows], source, &mut encoder, Mode::Learn).map_err(data)?;
        reader.next_block(&mut encoder, &mut block).map_err(data)?;
        let target = encoder.target().ok_or_else(|| input("the sample has no target"))?;
        if target.classes().is_some() {
            let mut model = ClassModel::new(settings, encoder).map_err(translate)?;
            learn_sample(&mut model, reader, block)?;
            model.settings = asked;
            return Ok(AnyModel::Classes(Box::new(model)));
        }
        let family = self.family.resolve(target).map_err(translate)?.family;
        let mut model = Model::new(settings, family, encoder).map_err(translate)?;
        learn_sample(&mut model, reader, block)?;
        model.settings = asked;
        Ok(AnyModel::Numbers(Box::new(model)))
    }
}

/// Learns a block and everything after it.
fn learn_sample<L: ModelLearner>(
    model: &mut ModelOf<L>,
    mut reader: Reader,
    mut block: Block,
) -> PyResult<()> {
    let mut more = block.rows() > 0;
    while more {
        model.learn(&block, None).map_err(refuse)?;
        more = reader.next_block(&mut model.encoder, &mut block).map_err(data)?;
    }
    Ok(())
}
