//! A second look at the rows: Newton's method on exact sums, and the model that follows from it.

use crate::error::{Error, Result, RowError};
use crate::method::{Algorithm, Method};
use crate::model::{Model, rows_of, sparse_rows_of};
use crate::shards::{bytes, damaged, from_bytes};
use crate::weights::{WeightKind, Weights};
use kalmia::rule::AnyRule;
use kalmia::sums::{Next, Polish, Polished, PriorPrecision, Sums, SumsState};
use kalmia::{AnyFamily, AnyLearner, Filter, Gamma, Gaussian, Learner, Outliers, Prior};
use kalmia_data::{Block, Encoder};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::str::FromStr;

/// What a polish takes as known before the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolishPrior {
    /// What the model was fitted with: the prior of a filter, or the one of `auto` that predicted
    /// the rows best. There is always a maximum, also for labels that a feature separates. Methods
    /// without a covariance have no prior; it is flat for them.
    #[default]
    Fitted,
    /// Nothing: the result is the maximum likelihood, as of a batch fit without a penalty.
    Flat,
}

impl PolishPrior {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Fitted, Self::Flat];

    /// The name as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Flat => "flat",
        }
    }
}

impl FromStr for PolishPrior {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|prior| prior.name() == name);
        found.ok_or_else(|| Error::UnknownPolishPrior { name: name.into() })
    }
}

/// Polishes a model over several passes. Each pass sums over all rows at fixed coefficients, then
/// takes a Newton step; it ends when a step moves nothing by more than 0.0001 standard errors.
///
/// Sums over parts of the rows, made on several machines by a [`SumsPass`] each, can be merged.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
/// use kalmia_model::{Model, PolishPrior, Polishing, Settings};
///
/// let csv = b"x,y\n0,1\n1,3\n2,5.5\n3,6.5\n";
/// let read = |encoder: &mut Encoder, mode| -> kalmia_data::Result<Block> {
///     let input = Input::memory("t.csv", *csv);
///     let mut reader = Reader::open(vec![input], SourceOptions::default(), encoder, mode)?;
///     let mut block = Block::new();
///     reader.next_block(encoder, &mut block)?;
///     Ok(block)
/// };
/// let mut encoder = Encoder::new(EncoderOptions::target("y"));
/// let block = read(&mut encoder, Mode::Learn)?;
/// let mut model = Model::new(Settings::default(), "gaussian".parse()?, encoder)?;
/// model.learn(&block, None)?;
///
/// let mut polishing = Polishing::new(&model, PolishPrior::Flat, false)?;
/// let polished = loop {
///     let pass = polishing.pass();
///     let mut sums = pass.sums()?;
///     pass.add(&block, &mut sums)?;
///     if let Some(polished) = polishing.step(&sums)? {
///         break polished;
///     }
/// };
/// let model = polishing.apply(model, &polished)?;
/// let table = model.coefficients(0.95)?;
/// assert!((table[1].estimate - 1.9).abs() < 1e-9); // least squares
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Polishing {
    newton: Polish,
    prior: PolishPrior,
    pass: SumsPass,
}

/// One pass of a polish: what a worker needs to sum over its rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SumsPass {
    encoder: Encoder,
    family: AnyFamily,
    theta: Vec<f64>,
    robust: bool,
    weight_kind: WeightKind,
    weights: Weights,
}

/// A step after which no other is needed, in standard errors.
const CLOSE: f64 = 0.3;
/// Passes after which [`Polishing::is_close`] holds in any case.
const MAX_CLOSE_PASSES: usize = 5;

/// The kind of the bytes of a [`SumsPass`].
const PASS: &str = "sums-pass";
/// The kind of the bytes of sums.
const SUMS: &str = "sums";

impl SumsPass {
    /// What the columns mean. A reader encodes rows with a copy of it, in
    /// [`kalmia_data::Mode::Evaluate`].
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Empty sums.
    pub fn sums(&self) -> Result<Sums<AnyFamily>> {
        let sums = Sums::new(self.family, &self.theta)?;
        Ok(if self.robust { sums.with_scores()? } else { sums })
    }

    /// The weights of rows as the sums take them: precision weights are divided by the mean over
    /// all rows, which is known by now.
    pub fn scaled_weights<'a>(&self, given: &'a [f64]) -> Cow<'a, [f64]> {
        match (self.weight_kind, self.weights.mean()) {
            (WeightKind::Precision, Some(mean)) => {
                given.iter().map(|weight| weight / mean).collect()
            }
            _ => Cow::Borrowed(given),
        }
    }

    /// Adds a block that a copy of [`SumsPass::encoder`] encoded, its targets included. An error
    /// names the row.
    pub fn add(&self, block: &Block, sums: &mut Sums<AnyFamily>) -> Result<()> {
        let weight = block.weight.as_ref().map(|given| self.scaled_weights(given));
        let weight = weight.as_deref();
        let added = match &block.sparse {
            Some(sparse) => {
                sparse_rows_of(sparse, block, weight).and_then(|rows| sums.add_sparse(rows))
            }
            None => rows_of(block, weight).and_then(|rows| sums.add(rows)),
        };
        added.map_err(|cause| RowError::locate(cause, block, &self.encoder))
    }

    /// The bytes, to be shipped to workers.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        bytes(PASS, self)
    }

    /// The pass of [`SumsPass::to_bytes`]. Refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let pass: Self = from_bytes(PASS, bytes)?;
        pass.encoder.check().map_err(damaged)?;
        pass.weights.check().map_err(damaged)?;
        match pass.theta.len() == pass.encoder.dim() {
            true => Ok(pass),
            false => Err(damaged("the coefficients are not those of the columns".into())),
        }
    }
}

/// Sums as bytes, to be shipped from workers.
pub fn sums_to_bytes(sums: &Sums<AnyFamily>) -> Result<Vec<u8>> {
    bytes(SUMS, &sums.state())
}

/// The sums of [`sums_to_bytes`]. Refuses anything else.
pub fn sums_from_bytes(bytes: &[u8]) -> Result<Sums<AnyFamily>> {
    Ok(Sums::restore(from_bytes::<SumsState<AnyFamily>>(SUMS, bytes)?)?)
}

impl Polishing {
    /// Whether models of a family can be polished: all but those of quantiles.
    pub fn applies_to(family: &AnyFamily) -> bool {
        !matches!(family, AnyFamily::Quantile(_))
    }

    /// Starts from the coefficients of a model. `robust` also sums what
    /// [`Polished::robust_covariance`] needs. Refuses wide models, which have no matrix of all
    /// features, quantiles, and models that follow a drift.
    pub fn new(model: &Model, prior: PolishPrior, robust: bool) -> Result<Self> {
        if !Self::applies_to(&model.family()) {
            return Err(Error::QuantilePolished);
        }
        let learner = &model.learner;
        let flat = || PriorPrecision::flat(learner.dim());
        let precision = match learner {
            AnyLearner::Wide(_) => return Err(Error::NotPolished),
            AnyLearner::Auto(auto) if auto.is_following() => return Err(Error::PolishedDrift),
            _ if prior == PolishPrior::Flat => flat(),
            AnyLearner::Auto(auto) => auto.polishing_prior()?,
            AnyLearner::Filter(filter) => PriorPrecision::of(filter.prior())?,
            _ => flat(),
        };
        Ok(Self {
            newton: Polish::new(precision),
            prior,
            pass: SumsPass {
                encoder: model.encoder.clone(),
                family: model.family(),
                theta: learner.coefficients().into_owned(),
                robust,
                weight_kind: model.settings.weight_kind,
                weights: model.weights,
            },
        })
    }

    /// The next pass.
    pub fn pass(&self) -> &SumsPass {
        &self.pass
    }

    /// Takes the sums of a pass over all rows; the result, once nothing moves any more.
    pub fn step(&mut self, sums: &Sums<AnyFamily>) -> Result<Option<Box<Polished>>> {
        match self.newton.step(sums).map_err(|error| self.named(error))? {
            Next::Done(polished) => Ok(Some(polished)),
            Next::Again(theta) => {
                self.pass.theta = theta;
                Ok(None)
            }
        }
    }

    /// The error in terms of the data: a feature has a name there.
    fn named(&self, error: kalmia::Error) -> Error {
        let features = self.pass.encoder.features();
        let name = |feature: usize| features.get(feature).map(|f| f.name.clone());
        match error {
            kalmia::Error::Separated { feature } => {
                Error::Separated { feature: name(feature).unwrap_or_default() }
            }
            kalmia::Error::Undetermined { feature, .. } => {
                Error::Undetermined { feature: name(feature).unwrap_or_default() }
            }
            other => other.into(),
        }
    }

    /// Passes so far.
    pub fn passes(&self) -> usize {
        self.newton.passes()
    }

    /// Whether more passes would change nothing that matters: the last step was at most 0.3
    /// standard errors, root mean square, so the next one would be some thousandths. Also after
    /// five passes, because rows that need more have no clear maximum. False before the first
    /// step.
    pub fn is_close(&self) -> bool {
        let moved = self.latest().map(|latest| latest.moved().rms);
        moved.is_some_and(|rms| rms <= CLOSE || self.passes() >= MAX_CLOSE_PASSES)
    }

    /// The result of the last step, for a caller with a fixed number of passes.
    pub fn latest(&self) -> Option<&Polished> {
        self.newton.latest()
    }

    /// The model with polished coefficients. Its scores stay those of the first pass.
    ///
    /// `auto` keeps its prior and stays `auto`, with that one prior. Other methods, and every model
    /// under a flat prior, become a single moment-matching filter. Its noise variance and
    /// dispersion are the estimated ones; for counts that vary more than their family allows it
    /// has wider standard errors, but not wider intervals of new counts.
    pub fn apply(&self, mut model: Model, polished: &Polished) -> Result<Model> {
        if let (AnyLearner::Auto(auto), PolishPrior::Fitted) = (&model.learner, self.prior) {
            model.learner = AnyLearner::Auto(auto.clone().with_polished(polished)?);
            return Ok(model);
        }
        let family = match model.family() {
            AnyFamily::Gaussian(_) => AnyFamily::Gaussian(Gaussian::new(polished.dispersion())?),
            AnyFamily::Gamma(_) => AnyFamily::Gamma(Gamma::new(polished.dispersion())?),
            other => other,
        };
        let prior = match (&model.learner, self.prior) {
            (AnyLearner::Filter(filter), PolishPrior::Fitted) => filter.prior().clone(),
            _ => vague_prior(polished)?,
        };
        let size = prior.variance(0);
        let filter = Filter::new(family, AnyRule::MomentMatch, prior)?.with_polished(polished)?;
        model.learner = AnyLearner::Filter(filter);
        model.settings.method = Method::from(Algorithm::Filter {
            rule: AnyRule::MomentMatch,
            prior: size,
            outliers: Outliers::Keep,
        });
        Ok(model)
    }
}

/// Variances so large beside those of the belief that the prior has no effect on it.
const VAGUE: f64 = 1e12;

/// A proper prior that says as little as a flat one, for a model that may be polished again.
fn vague_prior(polished: &Polished) -> Result<Prior> {
    let vague = |error: f64| (VAGUE * error * error).clamp(1e-100, 1e100);
    Ok(Prior::diagonal(polished.standard_errors().into_iter().map(vague).collect())?)
}
