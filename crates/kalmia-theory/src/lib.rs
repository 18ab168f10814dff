//! The closed forms of the paper: its bounds, convergence times and constants, evaluated on your
//! own numbers.
//!
//! Theorems 1, 2, 3, 10, 12 and 14, Corollaries 13 and 24, Proposition 11 and Lemmas 4, 6, 9 and 15
//! to 23 are here. Propositions 5, 7 and 8 compare functions of the data and have no closed form.
//!
//! Each statement is a struct whose fields are its parameters and whose `evaluate` checks them and
//! returns the value, the probability with which the statement holds and its numerical side
//! conditions. A quantity that overflows is given by its natural logarithm. If the paper's text and
//! proof differ, [`Variant`] chooses between the two. [`registry()`] lists the closed forms by
//! name, and [`errata()`] the misprints and open readings of the paper.
//!
//! ```
//! use kalmia_theory::{LocalizedLinear, UniformDesign, Variant};
//!
//! let design = UniformDesign { m: 10 }.evaluate()?;
//! let bound = LocalizedLinear {
//!     d: 11, n: 10_000, eps: 0.1, delta: 0.05, sigma: 1.0, d_app: 0.0, d_x: design.d_x,
//!     lmax_p1: 1.0, lmax_p_inv: 1.0, variant: Variant::Corrected,
//! }
//! .evaluate()?;
//! assert!(bound.total > bound.log_term && bound.probability == 0.75);
//! # Ok::<(), kalmia::Error>(())
//! ```
//!
//! Throughout, $D_X=\sup\|X\|$ (the paper's Assumption 1 says diameter; every proof uses the norm),
//! $\Lambda_{\min}$ is the smallest eigenvalue of $\mathbb E\,XX^T$, and a probability may be
//! vacuous, that is, not positive.

mod bound;
pub mod certificate;
pub mod convergence;
pub mod descent;
pub mod design;
mod errata;
pub mod exp_concavity;
pub mod local;
pub mod local_rho;
pub mod logistic;
pub mod martingale;
mod moments;
pub mod ons;
pub mod order;
pub mod quadratic;
mod registry;
pub mod ridge;
mod special;
mod sphere;
pub mod trace;
pub mod truncated;
mod value;

pub use certificate::Certificate;
pub use convergence::{ConvergenceProb, ConvergenceThreshold, CoroConvergenceTau};
pub use descent::{BoundF, DescentF, EquivalenceLnorm};
pub use design::{AsgdSteps, LogisticConstants, UniformDesign};
pub use errata::{Effect, Erratum, errata, errata_of, erratum};
pub use local::{LocalizedBounded, LocalizedLinear, ProofConstants};
pub use local_rho::LocalizedBoundedRho;
pub use logistic::{ResultLogistic, TruncationExcess};
pub use martingale::{Corobercu, Martingale, SimultaneousSupermartingale};
pub use moments::{DesignEstimate, DesignMoments};
pub use ons::{OnsConstants, RefinementMahdavi};
pub use order::TauOrder;
pub use quadratic::{QuadraticFirst, ResultLinear};
pub use registry::{
    Domain, Entry, Inputs, Kind, Outputs, Parameter, RegistryError, find, registry,
};
pub use ridge::{ResultHsu, TauDeltaLinear};
pub use sphere::{SphereMinima, SphereStudy};
pub use trace::{QuadraticLinear, SumTrace, SumTraceLinear};
pub use truncated::{BoundP, CDelta, ConcentrationTropp};
pub use value::{Value, Values};

/// Which reading of a statement to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// As printed in the paper.
    #[default]
    Paper,
    /// With the misprints corrected, so that the proof covers it.
    Corrected,
}
