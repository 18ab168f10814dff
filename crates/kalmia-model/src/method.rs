//! The methods: their parameters, the one set of defaults, and how each becomes a learner.

mod algorithm;
mod name;
#[cfg(test)]
mod tests;

pub(crate) use algorithm::MAX_WIDE_NUMBERS;
pub use algorithm::{Algorithm, NewtonConstants};
pub use name::MethodName;

use crate::error::{Error, Result};
use crate::memory::check_several;
use crate::parameters::{Parameter, Parameters};
use kalmia::rule::AnyRule;
use kalmia::{AnyFamily, AnyLearner, DriftMode, Family, Outliers, Prior, Truncated};
use kalmia_data::WideRows;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How to learn: an algorithm with all of its parameters.
///
/// The defaults below hold in the command, in Python and in the service; `d` is the number of
/// coefficients, the constant included.
///
/// | parameter | default | methods | what it is |
/// |---|---|---|---|
/// | `drift` | detect | auto, wide | whether coefficients may move: `off`, `detect` or `adapt` |
/// | `outliers` | keep | auto, ekf, truncated, implicit, moment | `keep` or `downweight` them |
/// | `prior` | 1 | ekf, truncated, implicit, moment | variance of every coefficient before row 1 |
/// | `scale` | 1 | truncated | threshold `scale * t^-beta` of Algorithm 2; `bercu` is 1e-10 |
/// | `beta` | 0.49 | truncated | exponent of that threshold |
/// | `radius` | 10 | ons | radius of the ball |
/// | `exp_concavity` | 1 / (4 radius) | ons | constant alpha of the losses over the ball |
/// | `gradient_bound` | sqrt(d) | ons | bound G on the norm of the gradients |
/// | `lambda` | 1 / (gamma radius)^2 | ons | the first precision matrix is lambda I |
/// | `multiplier` | 1 | ons | the step is multiplier / gamma; Theorem 3 needs 3 |
/// | `diameter` | no | ons | D in gamma is the ball's diameter, as in Theorem 3 |
/// | `horizon` | the number of rows | asgd | rows to come, which the caller must supply |
/// | `step` | 1 / (2 d sqrt(horizon)) | asgd | step size |
/// | `oracle` | none | asgd | norm of the true coefficients: step oracle / sqrt(d horizon) |
/// | `averaged` | no | all but wide and asgd | the model is the mean of the iterates |
///
/// **The constants of `ons`.** `gamma = min(1 / (4 G D), alpha) / 2` as in the paper, `D` being the
/// radius, as in its experiments, or the diameter. Given `radius` alone, the term of `G` decides.
/// Given `exp_concavity` too, the smaller term does. `G = sqrt(d)` is that of the experiments:
/// right for features within [-1, 1] and a loss of slope at most 1, such as that of labels. Give
/// `gradient_bound` for others.
///
/// **Sparse rows.** Text, hashed features and very many columns or levels make rows with millions
/// of features, most of them 0. `auto` takes them as `wide` does, which can also be named; the
/// other methods keep a matrix and refuse them.
///
/// **Averaging.** An averaged model predicts by the mean of the coefficients with which each row
/// was predicted. It has no covariance: no standard errors, and intervals leave out that the
/// coefficients are uncertain. Its progressive loss is that of the iterates, before averaging.
/// `asgd` is averaged already.
///
/// ```
/// use kalmia_model::{Method, MethodName, Parameters};
///
/// let method: Method = "moment".parse()?;
/// assert_eq!(method, Method::new(MethodName::Moment, &Parameters::default())?);
/// let given = Parameters { radius: Some(5.0), ..Parameters::default() };
/// let refused = Method::new(MethodName::Moment, &given).unwrap_err();
/// assert!(refused.to_string().contains("radius"));
/// # Ok::<(), kalmia_model::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Method {
    /// What learns.
    pub algorithm: Algorithm,
    /// Whether the model is the mean of its iterates.
    pub averaged: bool,
}

impl Default for Method {
    fn default() -> Self {
        Algorithm::Auto { drift: DriftMode::Detect, outliers: Outliers::Keep }.into()
    }
}

impl From<Algorithm> for Method {
    /// The algorithm as it is, not averaged.
    fn from(algorithm: Algorithm) -> Self {
        Self { algorithm, averaged: false }
    }
}

impl Method {
    /// A method with the parameters given and its defaults for the others. Refuses a parameter
    /// that the method does not take, and a value outside its domain.
    pub fn new(name: MethodName, given: &Parameters) -> Result<Self> {
        let foreign = Parameter::ALL
            .into_iter()
            .find(|&parameter| given.has(parameter) && !name.takes().contains(&parameter));
        if let Some(parameter) = foreign {
            return Err(Error::ParameterNotTaken { parameter, method: name });
        }
        let prior = given.prior.unwrap_or(1.0);
        let drift = given.drift.unwrap_or(DriftMode::Detect);
        let outliers = given.outliers.unwrap_or_default();
        let algorithm = match name {
            MethodName::Auto => Algorithm::Auto { drift, outliers },
            MethodName::Wide => Algorithm::Wide { drift },
            MethodName::Ekf => Algorithm::Filter { rule: AnyRule::Ekf, prior, outliers },
            MethodName::Implicit => Algorithm::Filter { rule: AnyRule::Implicit, prior, outliers },
            MethodName::Moment => Algorithm::Filter { rule: AnyRule::MomentMatch, prior, outliers },
            MethodName::Truncated => {
                let paper = Truncated::paper();
                let scale = given.scale.unwrap_or(paper.scale());
                let beta = given.beta.unwrap_or(paper.beta());
                let rule = AnyRule::Truncated(Truncated::new(scale, beta)?);
                Algorithm::Filter { rule, prior, outliers }
            }
            MethodName::Ons => Algorithm::OnlineNewton(NewtonConstants::new(given)),
            MethodName::Asgd => {
                let Parameters { horizon, step, oracle, .. } = *given;
                Algorithm::AveragedSgd { horizon, step, oracle }
            }
        };
        algorithm.check()?;
        Ok(Self { algorithm, averaged: given.averaged })
    }

    /// Its name.
    pub fn name(&self) -> MethodName {
        self.algorithm.name()
    }

    /// Its name in words: `ekf`, or `averaged ekf`.
    pub fn title(&self) -> String {
        let name = self.name();
        if self.averaged { format!("averaged {name}") } else { name.to_string() }
    }

    /// Every parameter that it has, defaults included; what depends on the number of rows or of
    /// coefficients is `None`.
    pub fn parameters(&self) -> Parameters {
        Parameters { averaged: self.averaged, ..self.algorithm.parameters() }
    }

    /// Whether [`Method::build`] needs the number of rows, which is not known yet.
    pub fn needs_horizon(&self) -> bool {
        matches!(self.algorithm, Algorithm::AveragedSgd { horizon: None, .. })
    }

    /// The same method for `rows` rows; only a method that [needs](Self::needs_horizon) the number
    /// changes.
    pub fn with_horizon(self, rows: u64) -> Self {
        Self { algorithm: self.algorithm.with_horizon(rows), ..self }
    }

    /// The learner for `dim` coefficients; `intercept` says that the first one is the constant.
    /// Refused if its matrices would take more than half of the memory that is free.
    pub fn build(&self, family: AnyFamily, dim: usize, intercept: bool) -> Result<AnyLearner> {
        self.check_memory(family, dim, intercept, 1)?;
        self.learner(family, dim, intercept)
    }

    /// The learner for sparse rows whose first `numbers` features, the constant included, are
    /// numbers. Only `auto` and `wide`, not averaged, take such rows, and no quantiles and no
    /// Student's noise: if words have no effect, their loss can exceed a constant's by a sixth. The
    /// features seen may take half of the memory that is free.
    pub fn build_wide(
        &self,
        family: AnyFamily,
        numbers: usize,
        intercept: bool,
    ) -> Result<AnyLearner> {
        if self.averaged {
            return Err(Error::NotWide { method: self.name() });
        }
        if matches!(family, AnyFamily::Quantile(_) | AnyFamily::Student(_)) {
            return Err(Error::WideFamily { family: family.name().into() });
        }
        self.algorithm.wide_learner(family, numbers, intercept)
    }

    /// Which rows an encoder should make for this method.
    pub fn rows(&self) -> WideRows {
        match self.algorithm {
            Algorithm::Wide { .. } => WideRows::Always,
            Algorithm::Auto { outliers: Outliers::Keep, .. } if !self.averaged => WideRows::Auto,
            _ => WideRows::Never,
        }
    }

    /// The same from a prior, of as many coefficients as the prior has: a filter's, or `w_1` and
    /// `P_1` of `ons`. [`Start::prior`](crate::Start::prior) makes it from what a user gives.
    pub fn build_from(&self, family: AnyFamily, prior: Prior) -> Result<AnyLearner> {
        self.check_memory(family, prior.dim(), false, 1)?;
        let learner = self.algorithm.learner_from(family, prior)?;
        Ok(if self.averaged { AnyLearner::averaged(learner) } else { learner })
    }

    /// The prior from which [`Method::build`] starts, for `dim` coefficients. Refused for methods
    /// that take no start.
    pub fn prior(&self, dim: usize) -> Result<Prior> {
        self.algorithm.prior(dim)
    }

    /// Refuses `learners` learners that would together take more than half of the memory that is
    /// free. For several classes; [`Method::build`] checks one.
    pub fn check_memory(
        &self,
        family: AnyFamily,
        dim: usize,
        intercept: bool,
        learners: usize,
    ) -> Result<()> {
        check_several(&self.learner(family, dim.min(1), intercept)?, dim, learners)
    }

    fn learner(&self, family: AnyFamily, dim: usize, intercept: bool) -> Result<AnyLearner> {
        let learner = self.algorithm.learner(family, dim, intercept)?;
        Ok(if self.averaged { AnyLearner::averaged(learner) } else { learner })
    }
}

impl FromStr for Method {
    type Err = Error;

    /// The method of this name, with its defaults.
    fn from_str(name: &str) -> Result<Self> {
        Self::new(name.parse()?, &Parameters::default())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title())
    }
}

/// A method in a model file: its name beside its parameters.
#[derive(Serialize, Deserialize)]
struct Stored {
    method: MethodName,
    #[serde(flatten)]
    parameters: Parameters,
}

impl From<Method> for Stored {
    fn from(method: Method) -> Self {
        Self { method: method.name(), parameters: method.parameters() }
    }
}

impl TryFrom<Stored> for Method {
    type Error = Error;

    /// Ignores parameters of other methods: files of earlier versions held a value for each.
    fn try_from(stored: Stored) -> Result<Self> {
        Self::new(stored.method, &stored.parameters.only(stored.method.takes()))
    }
}
