//! The methods of an experiment file: the library's by name and parameters, and two batch
//! references.

use super::data::{Data, Loss};
use super::population::Population;
use crate::error::{Error, Result};
use crate::number::scientific;
use kalmia_model::{Method, MethodName, Parameter, Parameters};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An entry `[[method]]` of an experiment file.
///
/// Beside the keys below it takes the parameters of [`kalmia_model::Method`] under their own names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodSpec {
    /// A method of the library, `maximum_likelihood` or `ridge`.
    pub method: String,
    /// Name in the CSV and JSON files; by default that of the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name in the legend; by default the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the mean of the iterates gets a curve too, with the key `KEY_averaged`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub average: bool,
    /// For `ons`: the radius of its ball in units of $\|\theta^*\|$, in place of `radius`. It also
    /// fills in what is not given of the exp-concavity constant, $e^{-RD_X}$, and of the bound on
    /// the gradient, $D_X$.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius_of_star: Option<f64>,
    /// For `asgd`: the oracle step, which knows $\|\theta^*\|$.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oracle_step: bool,
    /// Values to try for parameters: one curve per combination.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
    /// The parameters of the method by name.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, toml::Value>,
}

/// A method with all of its constants, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entrant {
    pub key: String,
    pub label: String,
    /// The key without the values of the grid, and these values.
    pub method: String,
    pub grid: Vec<(String, f64)>,
    /// Whether the mean of the iterates gets a curve too.
    pub average: bool,
    pub kind: Kind,
}

/// What an [`Entrant`] runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A learner of the library.
    Online(Method),
    /// Averaged stochastic gradient: its step depends on the horizon, so each checkpoint has a run
    /// of its own (erratum E29).
    PerHorizon(Method),
    /// The maximum of the likelihood of all rows so far.
    MaximumLikelihood,
    /// Ridge regression on all rows so far, with penalty $1/p_1$.
    Ridge { prior: f64 },
}

impl MethodSpec {
    /// A method with its defaults.
    pub fn new(method: &str, label: &str) -> Self {
        Self {
            method: method.into(),
            key: None,
            label: Some(label.into()),
            average: false,
            radius_of_star: None,
            oracle_step: false,
            grid: BTreeMap::new(),
            parameters: BTreeMap::new(),
        }
    }

    /// The same with a parameter.
    pub fn with(mut self, parameter: &str, value: f64) -> Self {
        self.parameters.insert(parameter.into(), toml::Value::Float(value));
        self
    }

    /// The same once for each value of a parameter.
    pub fn with_grid(mut self, parameter: &str, values: &[f64]) -> Self {
        let values = values.iter().copied().map(toml::Value::Float).collect();
        self.grid.insert(parameter.into(), values);
        self
    }

    /// The number of its entrants.
    pub(crate) fn combinations(&self) -> usize {
        self.grid.values().map(Vec::len).product()
    }

    /// One entrant per combination of the grid.
    pub(crate) fn entrants(&self, data: &Data, population: &Population) -> Result<Vec<Entrant>> {
        let mut combinations = vec![Vec::new()];
        for (name, values) in &self.grid {
            if values.is_empty() {
                return Err(self.refuse(name, "the grid has no values".into()));
            }
            combinations = combinations
                .into_iter()
                .flat_map(|chosen| {
                    values.iter().map(move |value| {
                        let mut chosen: Vec<(&str, &toml::Value)> = chosen.clone();
                        chosen.push((name, value));
                        chosen
                    })
                })
                .collect();
        }
        combinations.into_iter().map(|chosen| self.entrant(&chosen, data, population)).collect()
    }

    fn entrant(
        &self,
        chosen: &[(&str, &toml::Value)],
        data: &Data,
        population: &Population,
    ) -> Result<Entrant> {
        let mut table: toml::Table = self.parameters.clone().into_iter().collect();
        let mut key = self.key.clone().unwrap_or_else(|| self.method.clone());
        let method = key.clone();
        let mut label = self.label.clone().unwrap_or_else(|| key.clone());
        let mut grid = Vec::new();
        for (name, value) in chosen {
            table.insert((*name).into(), (*value).clone());
            let number = number(value).ok_or_else(|| {
                self.refuse(&format!("grid.{name}"), format!("{value} is no number"))
            })?;
            let text = match (1e-3..1e5).contains(&number.abs()) {
                true => number.to_string(),
                false => format!("{number:e}"),
            };
            key += &format!("_{name}={text}");
            label += &format!(", {} = {}", symbol(name), spelled(number));
            grid.push(((*name).to_owned(), number));
        }
        let average = self.average;
        let kind = self.kind(table, data, population)?;
        if average && !matches!(kind, Kind::Online(_)) {
            return Err(self.refuse("average", "only an online method has iterates".into()));
        }
        Ok(Entrant { key, label, method, grid, average, kind })
    }

    fn kind(&self, table: toml::Table, data: &Data, population: &Population) -> Result<Kind> {
        let given = self.given(table, data, population)?;
        match (self.method.as_str(), data.loss) {
            ("maximum_likelihood", Loss::Logistic) => {
                self.takes_only(&given, &[])?;
                return Ok(Kind::MaximumLikelihood);
            }
            ("ridge", Loss::Quadratic) => {
                self.takes_only(&given, &[Parameter::Prior])?;
                return Ok(Kind::Ridge { prior: given.prior.unwrap_or(1.0) });
            }
            ("maximum_likelihood" | "ridge", _) => {
                let reason = "ridge is for the quadratic loss, maximum_likelihood for the logistic";
                return Err(self.refuse("method", reason.into()));
            }
            _ => {}
        }
        let name: MethodName = self
            .method
            .parse()
            .map_err(|error: kalmia_model::Error| self.refuse("method", error.to_string()))?;
        let method =
            Method::new(name, &given).map_err(|error| self.refuse("", error.to_string()))?;
        Ok(if method.needs_horizon() { Kind::PerHorizon(method) } else { Kind::Online(method) })
    }

    /// The parameters with those that depend on $\theta^*$.
    fn given(
        &self,
        table: toml::Table,
        data: &Data,
        population: &Population,
    ) -> Result<Parameters> {
        for name in table.keys() {
            if !Parameter::ALL.iter().any(|parameter| parameter.name() == name) {
                let names: Vec<&str> = Parameter::ALL.iter().map(|p| p.name()).collect();
                return Err(self.refuse(name, format!("is not one of {}", names.join(", "))));
            }
        }
        let mut given: Parameters = table
            .try_into()
            .map_err(|error: toml::de::Error| self.refuse("", error.message().into()))?;
        if let Some(factor) = self.radius_of_star {
            if self.method != MethodName::Ons.name() || given.radius.is_some() {
                return Err(self.refuse("radius_of_star", "is for ons, in place of radius".into()));
            }
            let radius = factor * population.norm();
            let bound = data.largest_norm().filter(|_| data.loss == Loss::Logistic);
            given.radius = Some(radius);
            given.gradient_bound = given.gradient_bound.or(bound);
            given.exp_concavity = given.exp_concavity.or(bound.map(|d_x| (-radius * d_x).exp()));
        }
        if self.oracle_step {
            if self.method != MethodName::Asgd.name() {
                return Err(self.refuse("oracle_step", "is for asgd".into()));
            }
            given.oracle = Some(population.norm());
        }
        Ok(given)
    }

    fn takes_only(&self, given: &Parameters, taken: &[Parameter]) -> Result<()> {
        match Parameter::ALL.into_iter().find(|p| given.has(*p) && !taken.contains(p)) {
            Some(parameter) => {
                Err(self.refuse(parameter.name(), "is not a parameter of it".into()))
            }
            None => Ok(()),
        }
    }

    fn refuse(&self, key: &str, reason: String) -> Error {
        let dot = if key.is_empty() { "" } else { "." };
        Error::Experiment { key: format!("method `{}`{dot}{key}", self.method), reason }
    }
}

/// A parameter's usual symbol.
fn symbol(name: &str) -> &str {
    match name {
        "lambda" => "λ",
        "beta" => "β",
        "scale" => "c",
        "prior" => "p₁",
        "exp_concavity" => "α",
        other => other,
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A value of a grid in the legend.
fn spelled(number: f64) -> String {
    if (1e-2..1e4).contains(&number.abs()) { number.to_string() } else { scientific(number, 0) }
}
