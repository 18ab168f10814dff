//! Progressive evaluation and its course over the rows, as stored in model files.

use super::{Cadence, Certificate, Conformal, Order, Progressive, Trace};
use crate::error::{Error, Result};
use crate::family::AnyFamily;
use crate::observe::{Observer, RowView};
use serde::{Deserialize, Serialize};

/// Ratio of rows between two points of the course.
const FACTOR: f64 = 1.05;

/// How good the predictions were, each made before its row was learned: now, and after earlier
/// numbers of rows.
///
/// ```
/// use kalmia::evaluate::Metrics;
/// use kalmia::{AnyFamily, Auto, Learner, Rows};
/// let family: AnyFamily = "gaussian".parse()?;
/// let mut model = Auto::new(family, 1)?;
/// let mut metrics = Metrics::new(family)?;
/// model.learn_observed(Rows::new(1, &[1.0, 2.0, 3.0], &[1.1, 1.9, 3.2])?, Some(&mut metrics))?;
/// let last = *metrics.course().last().unwrap();
/// assert_eq!((last.rows, last.loss), (3, metrics.progressive.loss()));
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// All rows so far.
    pub progressive: Progressive,
    /// The order of the targets.
    #[serde(default)]
    pub order: Order,
    loss: Trace,
    baseline: Trace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<Certificate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conformal: Option<Conformal>,
}

/// The mean losses after some number of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoursePoint {
    /// Rows so far.
    pub rows: u64,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the constant predictor.
    pub constant_loss: f64,
}

impl Metrics {
    /// Without rows.
    pub fn new(family: AnyFamily) -> Result<Self> {
        let trace = || Trace::new(Cadence::Geometric { factor: FACTOR });
        Ok(Self {
            progressive: Progressive::new(family),
            order: Order::default(),
            loss: trace()?,
            baseline: trace()?,
            certificate: None,
            conformal: None,
        })
    }

    /// Of the rows of both, each predicted by its own learner. The course starts anew, with one
    /// point for all rows; the certificate does not add and is dropped. Conformal intervals are
    /// merged if both have them ([`Conformal::merged`]), else dropped. Refuses another family.
    pub fn merged(&self, other: &Self) -> Result<Self> {
        let progressive = self.progressive.merged(&other.progressive)?;
        let conformal = match (&self.conformal, &other.conformal) {
            (Some(one), Some(two)) => Some(one.merged(two)?),
            _ => None,
        };
        Ok(Self { progressive, conformal, ..Self::new(*self.progressive.family())? })
    }

    /// The same, with the terms of the [`Certificate`], for a static filter. Call it before the
    /// first row.
    pub fn with_certificate(self) -> Self {
        Self { certificate: Some(Certificate::default()), ..self }
    }

    /// The terms of the certificate, if they are summed.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// The same, with conformal intervals learned from the rows; call it before the first row.
    /// Refuses a family that has none.
    pub fn with_conformal(self) -> Result<Self> {
        let conformal = Some(Conformal::new(*self.progressive.family())?);
        Ok(Self { conformal, ..self })
    }

    /// The conformal intervals, if they are learned.
    pub fn conformal(&self) -> Option<&Conformal> {
        self.conformal.as_ref()
    }

    /// Refuses a value read from a file that no rows of this family can give.
    pub fn check(&self, family: &AnyFamily) -> Result<()> {
        if std::mem::discriminant(self.progressive.family()) != std::mem::discriminant(family) {
            return Err(Error::State("the scores are those of another family".into()));
        }
        self.progressive.check_restored()?;
        self.order.check()?;
        self.loss.check()?;
        self.certificate.as_ref().map_or(Ok(()), Certificate::check)?;
        self.conformal.as_ref().map_or(Ok(()), |conformal| conformal.check(family))?;
        self.baseline.check()
    }

    /// Whether the rows seem sorted by their target, which one pass must not be given.
    pub fn is_sorted(&self) -> bool {
        self.order.is_sorted(matches!(self.progressive.family(), AnyFamily::Bernoulli(_)))
    }

    /// The mean losses at about 50 points per decade of rows, and now.
    pub fn course(&self) -> Vec<CoursePoint> {
        let pairs = self.loss.points().iter().zip(self.baseline.points());
        let mut course: Vec<_> = pairs
            .map(|(loss, constant)| CoursePoint {
                rows: loss.rows,
                loss: loss.value,
                constant_loss: constant.value,
            })
            .collect();
        let rows = self.progressive.rows();
        if self.progressive.loss().is_finite() && course.last().is_none_or(|last| last.rows < rows)
        {
            course.push(CoursePoint {
                rows,
                loss: self.progressive.loss(),
                constant_loss: self.progressive.constant_loss(),
            });
        }
        course
    }
}

impl Observer for Metrics {
    fn row(&mut self, row: &RowView<'_>) {
        let Self { progressive, order, loss, baseline, certificate, conformal } = self;
        if let Some(certificate) = certificate {
            certificate.row(row);
        }
        if let Some(conformal) = conformal {
            conformal.row(row);
        }
        Observer::row(progressive, row);
        Observer::row(order, row);
        let rows = progressive.rows();
        if progressive.is_judged() {
            loss.record(rows, || progressive.loss());
            baseline.record(rows, || progressive.constant_loss());
        }
    }

    fn uses_loss(&self) -> bool {
        self.certificate.is_some() || self.progressive.uses_loss()
    }
}
