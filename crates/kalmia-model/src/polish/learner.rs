//! What a polish asks of a learner: where it starts, and what becomes of the result.

use super::pass::Law;
use super::{PolishPrior, vague_prior};
use crate::error::{Error, Result};
use crate::method::{Algorithm, Method};
use crate::model::ModelOf;
use crate::model_learner::ModelLearner;
use kalmia::learner::AnyCategorical;
use kalmia::rule::AnyRule;
use kalmia::sums::{MAX_CLASS_COEFFICIENTS, Polished, PriorPrecision};
use kalmia::{AnyFamily, AnyLearner, Filter, Gamma, Gaussian, Learner, Outliers};

/// Where a polish starts.
#[derive(Debug, Clone)]
pub struct PolishStart {
    /// What the targets follow.
    pub law: Law,
    /// The coefficients.
    pub theta: Vec<f64>,
    /// The prior.
    pub precision: PriorPrecision,
}

/// A learner that can be polished.
pub trait PolishLearner: ModelLearner {
    /// Whether it can be polished at all: not a quantile, and not too many coefficients of several
    /// classes.
    fn has_polish(&self) -> bool;
    /// Where a polish of this learner starts. Refuses what cannot be polished.
    fn polish_start(&self, prior: PolishPrior) -> Result<PolishStart>;
    /// The model with polished coefficients.
    fn polished(
        model: ModelOf<Self>,
        prior: PolishPrior,
        polished: &Polished,
    ) -> Result<ModelOf<Self>>;
}

impl PolishLearner for AnyLearner {
    fn has_polish(&self) -> bool {
        !matches!(kalmia::Predict::family(self), AnyFamily::Quantile(_))
    }

    fn polish_start(&self, prior: PolishPrior) -> Result<PolishStart> {
        if !self.has_polish() {
            return Err(Error::QuantilePolished);
        }
        let flat = || PriorPrecision::flat(self.dim());
        let precision = match self {
            Self::Wide(_) => return Err(Error::NotPolished),
            Self::Auto(auto) if auto.is_following() => return Err(Error::PolishedDrift),
            _ if prior == PolishPrior::Flat => flat(),
            Self::Auto(auto) => auto.polishing_prior()?,
            Self::Filter(filter) => PriorPrecision::of(filter.prior())?,
            _ => flat(),
        };
        Ok(PolishStart {
            law: Law::Family(kalmia::Predict::family(self)),
            theta: self.coefficients().into_owned(),
            precision,
        })
    }

    fn polished(
        mut model: ModelOf<Self>,
        prior: PolishPrior,
        polished: &Polished,
    ) -> Result<ModelOf<Self>> {
        if let (AnyLearner::Auto(auto), PolishPrior::Fitted) = (&model.learner, prior) {
            model.learner = AnyLearner::Auto(auto.clone().with_polished(polished)?);
            return Ok(model);
        }
        let family = match model.family() {
            AnyFamily::Gaussian(_) => AnyFamily::Gaussian(Gaussian::new(polished.dispersion())?),
            AnyFamily::Gamma(_) => AnyFamily::Gamma(Gamma::new(polished.dispersion())?),
            other => other,
        };
        let prior = match (&model.learner, prior) {
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

impl PolishLearner for AnyCategorical {
    fn has_polish(&self) -> bool {
        let others = self.classes().saturating_sub(1);
        let few = others.saturating_mul(self.dim()) <= MAX_CLASS_COEFFICIENTS;
        others > 0 && few && self.dense().is_some()
    }

    fn polish_start(&self, prior: PolishPrior) -> Result<PolishStart> {
        if self.ordinal().is_some() {
            let problem = "cannot be polished: use the model as it is";
            return Err(Error::Ordinal { problem });
        }
        let dense = self.dense().ok_or(Error::NotPolished)?;
        if dense.is_following() {
            return Err(Error::PolishedDrift);
        }
        let fitted = dense.polishing_prior()?;
        let precision = match prior {
            PolishPrior::Fitted => fitted,
            PolishPrior::Flat => PriorPrecision::flat(fitted.dim()),
        };
        Ok(PolishStart {
            law: Law::Classes(self.classes()),
            theta: dense.polishing_start(),
            precision,
        })
    }

    fn polished(
        mut model: ModelOf<Self>,
        _: PolishPrior,
        polished: &Polished,
    ) -> Result<ModelOf<Self>> {
        let AnyCategorical::Dense(dense) = model.learner else {
            return Err(Error::NotPolished);
        };
        model.learner = dense.with_polished(polished)?.into();
        Ok(model)
    }
}
