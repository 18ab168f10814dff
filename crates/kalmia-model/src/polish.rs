//! A second look at the rows: Newton's method on exact sums, and the model that follows from it.

use crate::error::{Error, Result, RowError};
use crate::method::{Algorithm, Method};
use crate::model::{Model, rows_of, sparse_rows_of};
use crate::weights::WeightKind;
use kalmia::rule::AnyRule;
use kalmia::sums::{Next, Polish, Polished, PriorPrecision, Sums};
use kalmia::{AnyFamily, AnyLearner, Filter, Gamma, Gaussian, Learner, Prior};
use kalmia_data::Block;

/// Polishes a model over several passes. Each pass sums over all rows at fixed coefficients, then
/// takes a Newton step; it ends when a step moves nothing by more than 0.0001 standard errors.
///
/// The prior is that of a single filter; for other methods it is flat, so the result is the maximum
/// likelihood. Sums over parts of the rows, made on several machines, can be merged.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
/// use kalmia_model::{Model, Polishing, Settings};
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
/// let mut polishing = Polishing::new(&model, false)?;
/// let polished = loop {
///     let mut sums = polishing.sums()?;
///     polishing.add(&model, &block, &mut sums)?;
///     if let Some(polished) = polishing.step(&sums)? {
///         break polished;
///     }
/// };
/// let model = model.polished(&polished)?;
/// let table = model.coefficients(0.95)?;
/// assert!((table[1].estimate - 1.9).abs() < 1e-9); // least squares
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Polishing {
    newton: Polish,
    family: AnyFamily,
    theta: Vec<f64>,
    robust: bool,
    /// The names of the features, for errors.
    names: Vec<String>,
}

impl Polishing {
    /// Starts from the coefficients of a model. `robust` also sums what
    /// [`Polished::robust_covariance`] needs. Refuses wide models, which have no matrix of all
    /// features.
    pub fn new(model: &Model, robust: bool) -> Result<Self> {
        let learner = &model.learner;
        let prior = match learner {
            AnyLearner::Wide(_) => return Err(Error::NotPolished),
            AnyLearner::Filter(filter) => PriorPrecision::of(filter.prior())?,
            _ => PriorPrecision::flat(learner.dim()),
        };
        Ok(Self {
            newton: Polish::new(prior),
            family: model.family(),
            theta: learner.coefficients().into_owned(),
            robust,
            names: model.encoder.features().iter().map(|feature| feature.name.clone()).collect(),
        })
    }

    /// Empty sums for the next pass.
    pub fn sums(&self) -> Result<Sums<AnyFamily>> {
        let sums = Sums::new(self.family, &self.theta)?;
        Ok(if self.robust { sums.with_scores()? } else { sums })
    }

    /// Adds a block that the model's encoder encoded, its targets included. An error names the row.
    pub fn add(&self, model: &Model, block: &Block, sums: &mut Sums<AnyFamily>) -> Result<()> {
        let scaled = block.weight.as_ref().and_then(|given| match model.settings.weight_kind {
            WeightKind::Frequency => None,
            // the mean over all rows is known by now
            WeightKind::Precision => {
                let mean = model.weights.mean().unwrap_or(1.0);
                Some(given.iter().map(|weight| weight / mean).collect::<Vec<f64>>())
            }
        });
        let weight = scaled.as_ref().or(block.weight.as_ref());
        let added = match &block.sparse {
            Some(sparse) => {
                sparse_rows_of(sparse, block, weight).and_then(|rows| sums.add_sparse(rows))
            }
            None => rows_of(block, weight).and_then(|rows| sums.add(rows)),
        };
        added.map_err(|cause| RowError::locate(cause, block, &model.encoder))
    }

    /// Takes the sums of a pass over all rows; the result, once nothing moves any more.
    pub fn step(&mut self, sums: &Sums<AnyFamily>) -> Result<Option<Box<Polished>>> {
        match self.newton.step(sums).map_err(|error| self.named(error))? {
            Next::Done(polished) => Ok(Some(polished)),
            Next::Again(theta) => {
                self.theta = theta;
                Ok(None)
            }
        }
    }

    /// The error in terms of the data: a feature has a name there.
    fn named(&self, error: kalmia::Error) -> Error {
        let name = |feature: usize| self.names.get(feature).cloned().unwrap_or_default();
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

    /// The result of the last step, for a caller with a fixed number of passes.
    pub fn latest(&self) -> Option<&Polished> {
        self.newton.latest()
    }
}

impl Model {
    /// The model with polished coefficients: a single moment-matching filter from here on, which
    /// predicts, explains itself and learns more rows. Its scores stay those of the first pass.
    ///
    /// Noise variance and dispersion are the estimated ones. For counts that vary more than their
    /// family allows, the standard errors are widened, but not the intervals of new counts.
    pub fn polished(mut self, polished: &Polished) -> Result<Self> {
        let family = match self.family() {
            AnyFamily::Gaussian(_) => AnyFamily::Gaussian(Gaussian::new(polished.dispersion())?),
            AnyFamily::Gamma(_) => AnyFamily::Gamma(Gamma::new(polished.dispersion())?),
            other => other,
        };
        let prior = Prior::isotropic(polished.coefficients().len(), 1.0)?;
        let filter = Filter::new(family, AnyRule::MomentMatch, prior)?.with_polished(polished)?;
        self.learner = AnyLearner::Filter(filter);
        let prior = 1.0;
        self.settings.method =
            Method::from(Algorithm::Filter { rule: AnyRule::MomentMatch, prior });
        Ok(self)
    }
}
