//! A second look at the rows: Newton's method on exact sums, and the model that follows from it.

mod learner;
mod pass;

pub use learner::{PolishLearner, PolishStart};
pub use pass::{Law, PassSums, SumsPass, sums_from_bytes, sums_to_bytes};

use crate::error::{Error, Result};
use crate::model::ModelOf;
use kalmia::sums::{Next, Polish, Polished};
use kalmia::{AnyFamily, Prior};
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

/// A step after which no other is needed, in standard errors.
const CLOSE: f64 = 0.3;
/// Passes after which [`Polishing::is_close`] holds in any case.
const MAX_CLOSE_PASSES: usize = 5;

impl Polishing {
    /// Whether models of a family can be polished: all but those of quantiles.
    pub fn applies_to(family: &AnyFamily) -> bool {
        !matches!(family, AnyFamily::Quantile(_))
    }

    /// Starts from the coefficients of a model. `robust` also sums what
    /// [`Polished::robust_covariance`] needs. Refuses wide models, which have no matrix of all
    /// features, quantiles, models that follow a drift, and several classes with more coefficients
    /// than [`kalmia::sums::MAX_CLASS_COEFFICIENTS`].
    pub fn new<L: PolishLearner>(
        model: &ModelOf<L>,
        prior: PolishPrior,
        robust: bool,
    ) -> Result<Self> {
        let PolishStart { law, theta, precision } = model.learner.polish_start(prior)?;
        Ok(Self {
            newton: Polish::new(precision),
            prior,
            pass: SumsPass {
                encoder: model.encoder.clone(),
                law,
                theta,
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
    pub fn step(&mut self, sums: &PassSums) -> Result<Option<Box<Polished>>> {
        match sums.step(&mut self.newton).map_err(|error| self.named(error))? {
            Next::Done(polished) => Ok(Some(polished)),
            Next::Again(theta) => {
                self.pass.theta = theta;
                Ok(None)
            }
        }
    }

    /// The error in terms of the data: a feature has a name there.
    fn named(&self, error: kalmia::Error) -> Error {
        let name = |feature: usize| self.pass.coefficient_name(feature);
        match error {
            kalmia::Error::Separated { feature } => Error::Separated { feature: name(feature) },
            kalmia::Error::Undetermined { feature, .. } => {
                Error::Undetermined { feature: name(feature) }
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
    /// `auto` keeps its prior and stays `auto`, with that one prior; several classes stay so under
    /// a flat prior too. Other methods, and every other model under a flat prior, become a single
    /// moment-matching filter. Its noise variance and dispersion are the estimated ones; for
    /// counts that vary more than their family allows it has wider standard errors, but not wider
    /// intervals of new counts.
    pub fn apply<L: PolishLearner>(
        &self,
        model: ModelOf<L>,
        polished: &Polished,
    ) -> Result<ModelOf<L>> {
        L::polished(model, self.prior, polished)
    }
}

/// Variances so large beside those of the belief that the prior has no effect on it.
const VAGUE: f64 = 1e12;

/// A proper prior that says as little as a flat one, for a model that may be polished again.
fn vague_prior(polished: &Polished) -> Result<Prior> {
    let vague = |error: f64| (VAGUE * error * error).clamp(1e-100, 1e100);
    Ok(Prior::diagonal(polished.standard_errors().into_iter().map(vague).collect())?)
}
