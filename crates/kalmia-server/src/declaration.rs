//! What a client declares about a model, and the model that has learned nothing which follows
//! from it.

mod columns;

use crate::auth::{hex, sha256};
use crate::body::Body;
use crate::error::{ApiError, Code, Result};
use columns::Columns;
use kalmia_data::{
    Analyzer, ClassNames, Classes, Coding, Encoder, EncoderOptions, Kind, Missing, WideRows,
};
use kalmia_model::{
    AnyModel, FamilyChoice, FirstRows, Method, MethodName, Parameters, Settings, WeightKind,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Rows that a family can be inferred from, at least.
const MIN_ROWS_OF_FAMILY: u64 = 50;

/// A model as a client declares it. What is left out has the defaults of `kalmia fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// gaussian, bernoulli, binomial, binomial:TRIALS, poisson, gamma, negative-binomial,
    /// quantile:LEVEL, quantile:LEVEL,LEVEL,..., student, categorical or ordinal; `auto` infers it
    /// from the first request, which must then have at least 50 rows.
    #[schema(value_type = String, example = "bernoulli")]
    pub family: FamilyChoice,
    /// The column to predict.
    #[schema(example = "late")]
    pub target: String,
    /// How to learn: auto, wide, ekf, truncated, implicit, moment or ons.
    #[serde(default = "auto")]
    pub method: String,
    /// The parameters of the method, each by its name: drift, prior, scale, ...
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = Object)]
    pub parameters: Parameters,
    /// Whether coefficients may move over time: off, detect or adapt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<String>,
    /// What a target counts that is far from its prediction: keep or downweight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outliers: Option<String>,
    /// Whether conformal intervals are learned, which hold whatever the model.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conformal: bool,
    /// The classes of a categorical target that are known before the first row, beside `columns`;
    /// others are added at their first row. The levels of an ordinal target, all of them, the
    /// lowest first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub classes: Vec<String>,
    /// The feature columns and their kinds: number, boolean, category or text. Without it the first
    /// learned rows decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"hour": "number"}))]
    pub columns: Option<Columns>,
    /// The feature columns, in order; by default every column without another role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exclude: Vec<String>,
    /// Columns read as categories even if they hold numbers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub categorical: Vec<String>,
    /// Columns of text: each word is a hashed feature.
    #[serde(default, skip_serializing_if = "is_default")]
    pub text: Vec<String>,
    /// The features of a text: words, words:2 or characters:2-4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analyzer: Option<String>,
    /// Bits of the hash of words and levels, 1 to 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<u8>,
    /// A column of row weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// What a weight means: frequency or precision.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = String)]
    pub weight_kind: WeightKind,
    /// A column to add to the linear predictor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// The label that counts as 1, if labels are texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether there is a constant feature.
    #[serde(default = "yes")]
    pub intercept: bool,
    /// What a missing value does: error, skip or mean.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schema(value_type = String)]
    pub missing: Missing,
    /// Further texts that stand for a missing value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub na_values: Vec<String>,
    /// Most features accepted; each category level counts as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_features: Option<usize>,
    /// The SHA-256 of the file, if one was uploaded: another file is another declaration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    file: Option<String>,
}

fn auto() -> String {
    "auto".into()
}

fn yes() -> bool {
    true
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Declaration {
    /// Reads a declaration and refuses what contradicts itself.
    pub fn parse(json: &[u8]) -> Result<Self> {
        let declaration = Self::stored(json)?;
        if declaration.file.is_some() {
            return Err(ApiError::new(Code::BadRequest, "a file is uploaded, not declared")
                .hint("send it as the body, with `Content-Type: application/octet-stream`"));
        }
        declaration.options()?;
        declaration.check_family()?;
        if declaration.columns.is_some() && declaration.family.is_inferred() {
            return Err(ApiError::new(
                Code::BadRequest,
                "family auto is inferred from rows, but the columns are declared without any",
            )
            .hint("name the family, such as gaussian, bernoulli, poisson or categorical"));
        }
        Ok(declaration)
    }

    /// Reads a declaration as the database holds it: it was checked, or describes a file that was
    /// uploaded, which may have been learned by a method that cannot be declared.
    pub fn stored(json: &[u8]) -> Result<Self> {
        serde_json::from_slice(json).map_err(|error| {
            ApiError::new(Code::BadRequest, format!("the declaration is not right: {error}"))
                .hint(r#"the shortest one is {"family": "bernoulli", "target": "late"}"#)
        })
    }

    /// The declaration of a model that was uploaded as a file.
    pub fn of_file(model: &AnyModel, bytes: &[u8]) -> Self {
        let options = model.encoder().options();
        let settings = model.settings();
        Self {
            file: Some(hex(&sha256(bytes))),
            family: settings.family.clone(),
            target: model.target().into(),
            method: settings.method.name().to_string(),
            conformal: settings.conformal,
            exclude: options.exclude.clone(),
            categorical: options.categorical.clone(),
            text: options.text.clone(),
            hash: options.hash_bits,
            weight: options.weight.clone(),
            weight_kind: settings.weight_kind,
            offset: options.offset.clone(),
            classes: options.levels.clone(),
            positive: options.positive.clone(),
            intercept: options.intercept,
            missing: options.missing,
            na_values: options.na_values.clone(),
            max_features: Some(options.max_features),
            ..Self::unknown()
        }
    }

    /// What stands for a declaration that cannot be read.
    pub fn unknown() -> Self {
        Self {
            family: FamilyChoice::INFERRED,
            target: String::new(),
            method: auto(),
            parameters: Parameters::default(),
            drift: None,
            outliers: None,
            conformal: false,
            classes: Vec::new(),
            columns: None,
            features: None,
            exclude: Vec::new(),
            categorical: Vec::new(),
            text: Vec::new(),
            analyzer: None,
            hash: None,
            weight: None,
            weight_kind: WeightKind::default(),
            offset: None,
            positive: None,
            intercept: true,
            missing: Missing::default(),
            na_values: Vec::new(),
            max_features: None,
            file: None,
        }
    }

    /// What is learned and how.
    fn settings(&self) -> Result<Settings> {
        let name: MethodName = self.method.parse()?;
        let mut parameters = self.parameters;
        if let Some(drift) = &self.drift {
            let mode = drift.parse().map_err(|_| {
                let message = format!("drift is off, detect or adapt, not `{drift}`");
                ApiError::new(Code::BadRequest, message)
            })?;
            parameters.drift = Some(mode);
        }
        if let Some(outliers) = &self.outliers {
            let what = outliers.parse().map_err(|_| {
                let message = format!("outliers is keep or downweight, not `{outliers}`");
                ApiError::new(Code::BadRequest, message)
            })?;
            parameters.outliers = Some(what);
        }
        let method = Method::new(name, &parameters)?;
        self.family.check_parameters(&parameters)?;
        if method.needs_horizon() {
            return Err(ApiError::new(
                Code::BadRequest,
                "method asgd needs the number of rows to come, which a service does not know",
            )
            .hint("use auto, or give the horizon: \"parameters\": {\"horizon\": 100000}"));
        }
        let settings = Settings {
            family: self.family.clone(),
            method,
            conformal: self.conformal,
            weight_kind: self.weight_kind,
            ..Settings::default()
        };
        settings.check()?;
        Ok(settings)
    }

    /// What the columns are for.
    fn options(&self) -> Result<EncoderOptions> {
        let max_features = EncoderOptions::default().max_features;
        let method: MethodName = self.method.parse()?;
        let rows = Method::new(method, &Parameters::default())
            .map_or(WideRows::Never, |method| method.rows());
        let analyzer = match &self.analyzer {
            Some(text) => text.parse().map_err(ApiError::from)?,
            None => Analyzer::default(),
        };
        Ok(EncoderOptions {
            target: Some(self.target.clone()),
            positive: self.positive.clone(),
            weight: self.weight.clone(),
            offset: self.offset.clone(),
            features: self.features.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            intercept: self.intercept,
            missing: self.missing,
            na_values: self.na_values.clone(),
            max_features: self.max_features.unwrap_or(max_features),
            text: self.text.clone(),
            analyzer,
            hash_bits: self.hash,
            wide: rows,
            classes: self.family.classes(),
            levels: if self.family.is_ordinal() { self.classes.clone() } else { Vec::new() },
        })
    }

    /// The model before its first row, if the columns are declared.
    pub fn declared_model(&self) -> Result<Option<AnyModel>> {
        let Some(Columns(columns)) = &self.columns else { return Ok(None) };
        let mut options = self.options()?;
        let wide = options.wide == WideRows::Always
            || options.hash_bits.is_some()
            || columns.iter().any(|(_, kind)| *kind == Kind::Text);
        options.wide = if wide { WideRows::Always } else { WideRows::Never };
        let encoder = Encoder::from_columns(options, columns, self.declared_coding())?;
        Ok(Some(AnyModel::new(self.settings()?, encoder)?))
    }

    /// How the target is coded before any row.
    fn declared_coding(&self) -> Coding {
        match &self.positive {
            _ if self.family.classes() == Classes::Always => {
                Coding::Classes { names: ClassNames::from(self.classes.clone()) }
            }
            _ if self.family.is_ordinal() => {
                Coding::Levels { names: ClassNames::from(self.classes.clone()) }
            }
            Some(positive) => Coding::Labels { positive: positive.clone(), negative: None },
            None => Coding::Number,
        }
    }

    /// Refuses settings that contradict each other or that the family does not take, before any
    /// row. A model of one column is built to find out, and dropped.
    fn check_family(&self) -> Result<()> {
        let settings = self.settings()?;
        let ordered = self.family.is_ordinal();
        let several = ordered || self.family.classes() == Classes::Always;
        if ordered && self.classes.is_empty() {
            let message = "the family ordinal needs its levels, because rows do not show them all";
            return Err(ApiError::new(Code::BadRequest, message).hint(
                "declare them as \"classes\", the lowest first: [\"low\", \"medium\", \"high\"]",
            ));
        }
        if !self.classes.is_empty() && !ordered && (!several || self.columns.is_none()) {
            let message = "\"classes\" belongs to the family categorical and declared columns";
            return Err(ApiError::new(Code::BadRequest, message).hint(
                "declare \"columns\" too, or leave \"classes\" out: the first rows show them",
            ));
        }
        if several && self.positive.is_some() {
            let family = if ordered { "ordinal" } else { "categorical" };
            let message =
                format!("\"positive\" names one of two labels, but the family is {family}");
            return Err(ApiError::new(Code::BadRequest, message)
                .hint("leave it out, or declare the family bernoulli"));
        }
        if !several && self.family.quantiles().is_none() && !self.conformal {
            return Ok(());
        }
        if self.family.is_inferred() {
            return Ok(());
        }
        let options = self.options()?;
        let always = options.wide == WideRows::Always;
        let options = EncoderOptions {
            offset: options.offset,
            wide: if always { WideRows::Always } else { WideRows::Never },
            ..EncoderOptions::target(&self.target)
        };
        // a name that no other column has
        let column = format!("{}{}+", self.target, self.offset.as_deref().unwrap_or_default());
        let columns = [(column, Kind::Number)];
        let encoder = Encoder::from_columns(options, &columns, self.declared_coding())?;
        AnyModel::new(settings, encoder)?;
        Ok(())
    }

    /// The model before its first row, with the columns that the rows of a request show. The rows
    /// are learned by a copy first: rows that are refused decide nothing.
    pub fn first_model(&self, body: &Body) -> Result<AnyModel> {
        let first = FirstRows::read(self.options()?, body.input(), body.options())?;
        let rows = first.rows();
        if self.family.is_inferred() && rows < MIN_ROWS_OF_FAMILY {
            return Err(ApiError::new(
                Code::BadRequest,
                format!("family auto cannot be inferred from {rows} rows"),
            )
            .hint(format!(
                "learn at least {MIN_ROWS_OF_FAMILY} rows first, or declare the family"
            )));
        }
        Ok(first.model(self.settings()?)?)
    }
}
