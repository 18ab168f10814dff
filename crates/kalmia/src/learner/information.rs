//! What rows say about the coefficients, free of any prior: it adds over parts of the rows.

use super::{FeatureMap, PriorPrecision, times};
use crate::error::{Error, Result, require, require_count, require_len};
use crate::linalg::{Carried, inverse};
use crate::math::{dot, gamma_pair};
use serde::{Deserialize, Serialize};

/// The share of a coefficient's precision below which a belief knows no more of it than the prior.
pub(crate) const MIN_GAIN: f64 = 1e-9;

/// The rows' part of one or several beliefs, as a normal likelihood around a reference $r$:
///
/// $$\exp\bigl(b^\top(\theta-r) - \tfrac12(\theta-r)^\top A(\theta-r)\bigr).$$
///
/// A belief $N(\theta_s, P_s)$ that started from $N(m, \Lambda^{-1})$ has $A = P_s^{-1} - \Lambda$
/// and $b = P_s^{-1}(\theta_s-r) - \Lambda(m-r)$. Both add over parts of the rows, in any order and
/// in any tree, and take $d^2/2$ numbers whatever the number of parts. Everything is in units of
/// the dispersion.
///
/// The reference is there for precision alone: near the coefficients of all parts, no sum is a
/// small difference of large numbers. Parts with different references are not added.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    reference: Vec<f64>,
    /// $A$, row after row.
    precision: Carried,
    /// $b$.
    weighted: Carried,
    /// $\sum_s A_s(\theta_s-r)$: as $b$, without the pull of the priors.
    pulled: Carried,
    sums: Carried,
    /// Parts that know more of a coefficient than their prior.
    known: Vec<u64>,
    parts: u64,
    rows: u64,
}

/// Places in [`Information::sums`]: $\sum_s(\theta_s-r)^\top A_s(\theta_s-r)$, the loss at the
/// reference, the other residuals, and the rows that the dispersion rests on; then what the parts
/// know of the law's shape: the shape times the rows, and the sums of [`PartShape`].
const SQUARE: usize = 0;
const REFERENCE_LOSS: usize = 1;
const RESIDUAL: usize = 2;
const EFFECTIVE_ROWS: usize = 3;
const SHAPE: usize = 4;
const SHAPE_SUMS: usize = 5;
const SUMS: usize = SHAPE_SUMS + SHAPE_TERMS;

/// Sums that a shape rests on.
pub(super) const SHAPE_TERMS: usize = 4;

/// A belief with its prior, in units of the dispersion, and what its learner counted.
pub(super) struct PartBelief<'a> {
    pub mean: &'a [f64],
    /// Row after row.
    pub covariance: Vec<f64>,
    pub prior: PriorPrecision,
    pub noise: PartNoise,
    /// Rows that the dispersion rests on.
    pub effective_rows: f64,
    pub rows: u64,
    pub shape: Option<PartShape>,
}

/// What a part, or all of them, know of the parameter of a law that does not divide the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PartShape {
    pub shape: f64,
    pub sums: [f64; SHAPE_TERMS],
}

/// What a part knows of the dispersion.
pub(super) enum PartNoise {
    /// $\min_\theta\{\sum w(y-x^\top\theta)^2 + \text{prior}\}$ for normal noise.
    Squares(f64),
    /// Pearson's sum, or 0.
    Pearson(f64),
}

impl Information {
    /// Of no rows.
    pub fn none(reference: Vec<f64>) -> Self {
        let dim = reference.len();
        Self {
            precision: Carried::zeros(dim * dim),
            weighted: Carried::zeros(dim),
            pulled: Carried::zeros(dim),
            sums: Carried::zeros(SUMS),
            known: vec![0; dim],
            reference,
            parts: 0,
            rows: 0,
        }
    }

    /// Of the rows of one belief.
    pub(super) fn of(belief: PartBelief<'_>, reference: Vec<f64>) -> Result<Self> {
        let dim = reference.len();
        require_len("reference", dim, belief.mean.len())?;
        let own = inverse(&belief.covariance, dim, "covariance")?;
        let mut gain: Vec<f64> =
            own.iter().zip(belief.prior.matrix()).map(|(p, l)| p - l).collect();
        let is_known = |j: usize| gain[j * dim + j] > MIN_GAIN * own[j * dim + j];
        let known: Vec<bool> = (0..dim).map(is_known).collect();
        for (ij, entry) in gain.iter_mut().enumerate() {
            // what is left of a coefficient that the rows do not have is rounding
            if !(known[ij / dim] && known[ij % dim]) {
                *entry = 0.0;
            }
        }
        let away: Vec<f64> = belief.mean.iter().zip(&reference).map(|(t, r)| t - r).collect();
        let start: Vec<f64> =
            belief.prior.mean().iter().zip(&reference).map(|(m, r)| m - r).collect();
        let pull = times(belief.prior.matrix(), &start);
        let total = times(&own, &away);
        let weighted = |j: usize| if known[j] { total[j] - pull[j] } else { 0.0 };
        let weighted: Vec<f64> = (0..dim).map(weighted).collect();
        let pulled = times(&gain, &away);
        let (reference_loss, residual) = match belief.noise {
            PartNoise::Squares(least) => (least + dot(&away, &total) - dot(&start, &pull), 0.0),
            PartNoise::Pearson(sum) => (0.0, sum),
        };
        let square = dot(&away, &pulled);
        let mut sums = [0.0; SUMS];
        sums[SQUARE] = square;
        sums[REFERENCE_LOSS] = reference_loss;
        sums[RESIDUAL] = residual;
        sums[EFFECTIVE_ROWS] = belief.effective_rows;
        if let Some(PartShape { shape, sums: own }) = belief.shape {
            sums[SHAPE] = shape * belief.effective_rows;
            sums[SHAPE_SUMS..].copy_from_slice(&own);
        }
        Ok(Self {
            precision: Carried::from_values(&gain),
            weighted: Carried::from_values(&weighted),
            pulled: Carried::from_values(&pulled),
            sums: Carried::from_values(&sums),
            known: known.into_iter().map(u64::from).collect(),
            reference,
            parts: 1,
            rows: belief.rows,
        })
    }

    /// Adds the information of other rows. Refuses another reference.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        if self.reference != other.reference {
            return Err(Error::State(
                "the parts have different references: give all parts one reference".into(),
            ));
        }
        self.precision.absorb(&other.precision);
        self.weighted.absorb(&other.weighted);
        self.pulled.absorb(&other.pulled);
        self.sums.absorb(&other.sums);
        self.known.iter_mut().zip(&other.known).for_each(|(own, known)| *own += known);
        self.parts += other.parts;
        self.rows += other.rows;
        Ok(())
    }

    /// The same information about the features of a whole, around `reference`, which
    /// [pulled back](FeatureMap::pull_back) must be the reference of this part.
    pub fn mapped(&self, map: &FeatureMap, reference: Vec<f64>) -> Result<Self> {
        require_len("features", map.part_dim(), self.dim())?;
        let own = map.pull_back(&reference)?;
        let size = own.iter().chain(&self.reference).fold(1.0_f64, |a, b| a.max(b.abs()));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * size;
        if !own.iter().zip(&self.reference).all(near) {
            return Err(Error::State("the reference of a part is not that of the whole".into()));
        }
        Ok(Self {
            precision: Carried::from_values(&map.matrix(&self.precision.values())),
            weighted: Carried::from_values(&map.vector(&self.weighted.values())),
            pulled: Carried::from_values(&map.vector(&self.pulled.values())),
            sums: self.sums.clone(),
            known: map.select(&self.known),
            reference,
            parts: self.parts,
            rows: self.rows,
        })
    }

    /// Number of coefficients.
    pub fn dim(&self) -> usize {
        self.reference.len()
    }

    /// $r$.
    pub fn reference(&self) -> &[f64] {
        &self.reference
    }

    /// Beliefs that were added.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Rows of all parts.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// $A$, row after row.
    pub(super) fn precision(&self) -> Vec<f64> {
        self.precision.values()
    }

    /// $b$.
    pub(super) fn weighted(&self) -> Vec<f64> {
        self.weighted.values()
    }

    /// $\sum w(y-x^\top r)^2$ for normal noise.
    pub(super) fn reference_loss(&self) -> f64 {
        self.sums.value(REFERENCE_LOSS)
    }

    /// Pearson's sum of the other families.
    pub(super) fn residual(&self) -> f64 {
        self.sums.value(RESIDUAL)
    }

    /// Rows that the dispersion rests on.
    pub(super) fn effective_rows(&self) -> f64 {
        self.sums.value(EFFECTIVE_ROWS)
    }

    /// The shape of the law, the mean over all rows, with the sums that it rests on. 0 without rows
    /// or without a shape.
    pub(super) fn shape(&self) -> PartShape {
        let rows = self.effective_rows();
        let total = self.sums.value(SHAPE);
        PartShape {
            shape: if rows > 0.0 { total / rows } else { 0.0 },
            sums: std::array::from_fn(|i| self.sums.value(SHAPE_SUMS + i)),
        }
    }

    /// Whether the parts agree, given the coefficients of all and the dispersion.
    pub(super) fn heterogeneity(&self, mean: &[f64], dispersion: f64) -> Heterogeneity {
        let shift: Vec<f64> = mean.iter().zip(&self.reference).map(|(t, r)| t - r).collect();
        let square = dot(&shift, &times(&self.precision.values(), &shift));
        let cross = dot(&shift, &self.pulled.values());
        let q = (self.sums.value(SQUARE) - 2.0 * cross + square) / dispersion;
        // a negative one is rounding; NaN stays
        let q = if self.parts <= 1 || q < 0.0 { 0.0 } else { q };
        let degrees = self.known.iter().map(|parts| parts.saturating_sub(1)).sum();
        Heterogeneity::new(q, degrees)
    }

    /// The state, to be stored or shipped; each sum is rounded once.
    pub fn state(&self) -> InformationState {
        let dim = self.dim();
        let matrix = self.precision.values();
        let lower = (0..dim).flat_map(|i| &matrix[i * dim..][..=i]).copied().collect();
        InformationState {
            reference: self.reference.clone(),
            precision: lower,
            weighted: self.weighted.values(),
            pulled: self.pulled.values(),
            sums: self.sums.values(),
            known: self.known.clone(),
            parts: self.parts,
            rows: self.rows,
        }
    }

    /// Continues from a state. Refuses lengths that do not fit and numbers that are not finite.
    pub fn restore(state: InformationState) -> Result<Self> {
        let dim = state.reference.len();
        for (name, found, expected) in [
            ("precision", state.precision.len(), dim * (dim + 1) / 2),
            ("weighted", state.weighted.len(), dim),
            ("pulled", state.pulled.len(), dim),
            ("sums", state.sums.len(), SUMS),
            ("known", state.known.len(), dim),
        ] {
            require_len(name, found, expected)?;
        }
        let vectors = [&state.reference, &state.precision, &state.weighted, &state.pulled];
        for &value in vectors.into_iter().chain([&state.sums]).flatten() {
            require(value.is_finite(), "information", value, "must be finite")?;
        }
        for &count in state.known.iter().chain([&state.parts, &state.rows]) {
            require_count("rows", count)?;
        }
        let mut matrix = vec![0.0; dim * dim];
        let mut lower = state.precision.iter();
        for i in 0..dim {
            for (j, &entry) in (0..=i).zip(&mut lower) {
                matrix[i * dim + j] = entry;
                matrix[j * dim + i] = entry;
            }
        }
        Ok(Self {
            precision: Carried::from_values(&matrix),
            weighted: Carried::from_values(&state.weighted),
            pulled: Carried::from_values(&state.pulled),
            sums: Carried::from_values(&state.sums),
            known: state.known,
            reference: state.reference,
            parts: state.parts,
            rows: state.rows,
        })
    }
}

/// What [`Information`] needs to be added elsewhere: about $d^2/2$ numbers for $d$ coefficients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InformationState {
    reference: Vec<f64>,
    /// The lower triangle, row after row.
    #[serde(with = "crate::covariance::packed")]
    precision: Vec<f64>,
    weighted: Vec<f64>,
    pulled: Vec<f64>,
    sums: Vec<f64>,
    known: Vec<u64>,
    parts: u64,
    rows: u64,
}

/// Whether beliefs agree: Cochran's $Q = \sum_s(\theta_s-\theta)^\top(P_s^{-1}-\Lambda)
/// (\theta_s-\theta)$ and how often chance alone gives as much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Heterogeneity {
    /// $Q$.
    pub q: f64,
    /// Degrees of freedom: $(S-1)d$ for $S$ beliefs of $d$ coefficients. A coefficient that a
    /// belief knows only by the prior (a level that a shard has not seen) does not count.
    pub degrees: u64,
    /// The chance of a larger $Q$ if all beliefs are of the same coefficients; 1 without degrees of
    /// freedom. It is too large under a strong prior, which makes all beliefs alike.
    pub p_value: f64,
}

impl Heterogeneity {
    pub(crate) fn new(q: f64, degrees: u64) -> Self {
        let p_value = if q.is_nan() {
            f64::NAN
        } else if degrees == 0 {
            1.0
        } else {
            gamma_pair(0.5 * degrees as f64, 0.5 * q).1
        };
        Self { q, degrees, p_value }
    }
}
