//! The list of closed forms by name, for callers that choose one at run time.

use strsim::levenshtein;

use crate::value::{Value, Values};
use crate::{
    certificate, convergence, descent, design, local, local_rho, logistic, martingale, ons, order,
    quadratic, ridge, trace, truncated,
};

/// Parameters by name.
pub type Inputs = Values;
/// Values by name.
pub type Outputs = Values;

/// A closed form of the paper: what it is, what it needs, and how to evaluate it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name by which it is called.
    pub name: &'static str,
    /// One line on what it gives.
    pub summary: &'static str,
    /// The paper's LaTeX label, or the section.
    pub label: &'static str,
    /// The probability with which the statement holds, in words.
    pub holds: &'static str,
    /// The parameters in order.
    pub parameters: &'static [Parameter],
    pub(crate) run: fn(&Inputs) -> Result<Outputs, RegistryError>,
}

impl Entry {
    /// Evaluates the closed form. Parameters may be given as numbers or as text (`"1e5"`); those
    /// with a default may be left out.
    pub fn evaluate(&self, inputs: &Inputs) -> Result<Outputs, RegistryError> {
        for (name, _) in inputs.iter() {
            if !self.parameters.iter().any(|p| p.name == name) {
                return Err(RegistryError::UnknownParameter {
                    function: self.name,
                    name: name.to_owned(),
                    nearest: nearest(name, self.parameters.iter().map(|p| p.name)),
                });
            }
        }
        let missing: Vec<_> = self
            .parameters
            .iter()
            .filter(|p| p.default.is_none() && inputs.get(p.name).is_none())
            .map(|p| p.name)
            .collect();
        if !missing.is_empty() {
            return Err(RegistryError::MissingParameters { function: self.name, names: missing });
        }
        (self.run)(inputs)
    }

    /// Evaluates the corrected variant; `None` if the errata change no number of this closed form.
    pub fn evaluate_corrected(&self, inputs: &Inputs) -> Result<Option<Outputs>, RegistryError> {
        if !self.has_variants() {
            return Ok(None);
        }
        self.evaluate(&inputs.clone().with("variant", "corrected")).map(Some)
    }

    /// Whether there are two readings, as printed and corrected.
    pub fn has_variants(&self) -> bool {
        self.parameters.iter().any(|p| p.kind == Kind::Variant)
    }
}

/// A parameter of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The name by which it is given.
    pub name: &'static str,
    pub(crate) text: &'static str,
    /// What is taken when it is not given, as a user would type it.
    pub default: Option<&'static str>,
    /// Whole number, real number or choice.
    pub kind: Kind,
    /// The legal values.
    pub domain: Domain,
}

impl Parameter {
    /// What the parameter is.
    pub fn description(&self) -> &'static str {
        self.text.trim()
    }
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer,
    /// A real number.
    Real,
    /// `paper` or `corrected`.
    Variant,
}

/// The legal values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// $x>0$.
    Positive,
    /// $x\ge0$.
    NonNegative,
    /// $x\ge1$.
    AtLeastOne,
    /// $0<x<1$.
    Probability,
    /// $0<x\le1$.
    Ratio,
    /// $0<x<1/2$.
    BelowHalf,
    /// $0\le x<1$.
    BelowOne,
    /// A finite number, or $-\infty$ for the logarithm of zero.
    Log,
    /// One of the two variants.
    Variant,
}

impl Domain {
    /// Whether `x` is legal.
    pub fn contains(self, x: f64) -> bool {
        match self {
            Domain::Positive => x > 0.0 && x.is_finite(),
            Domain::NonNegative => x >= 0.0 && x.is_finite(),
            Domain::AtLeastOne => x >= 1.0 && x.is_finite(),
            Domain::Probability => x > 0.0 && x < 1.0,
            Domain::Ratio => x > 0.0 && x <= 1.0,
            Domain::BelowHalf => x > 0.0 && x < 0.5,
            Domain::BelowOne => (0.0..1.0).contains(&x),
            Domain::Log => x.is_finite() || x == f64::NEG_INFINITY,
            Domain::Variant => true,
        }
    }

    /// What is legal, as a phrase.
    pub fn phrase(self) -> &'static str {
        match self {
            Domain::Positive => "must be finite and positive",
            Domain::NonNegative => "must be finite and not negative",
            Domain::AtLeastOne => "must be finite and at least 1",
            Domain::Probability => "must lie strictly between 0 and 1",
            Domain::Ratio => "must lie above 0 and be at most 1",
            Domain::BelowHalf => "must lie strictly between 0 and 1/2",
            Domain::BelowOne => "must be at least 0 and below 1",
            Domain::Log => "must be finite, or -inf for the logarithm of zero",
            Domain::Variant => "must be `paper` or `corrected`",
        }
    }
}

/// Why a closed form could not be evaluated by name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No closed form has this name.
    #[error("no bound is called `{name}`; did you mean `{nearest}`?")]
    UnknownFunction {
        /// The name given.
        name: String,
        /// The name in the registry that is closest to it.
        nearest: &'static str,
    },
    /// The closed form has no such parameter.
    #[error("`{function}` has no parameter `{name}`; did you mean `{nearest}`?")]
    UnknownParameter {
        /// The closed form.
        function: &'static str,
        /// The name given.
        name: String,
        /// The legal name that is closest to it.
        nearest: &'static str,
    },
    /// Parameters without default were not given.
    #[error("`{function}` needs the parameter{} {}", plural(.names), listed(.names))]
    MissingParameters {
        /// The closed form.
        function: &'static str,
        /// All that are missing, in order.
        names: Vec<&'static str>,
    },
    /// A parameter was given as something else than what it is.
    #[error("parameter `{name}` of `{function}` is {value}: expected {expected}")]
    Type {
        /// The closed form.
        function: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: Value,
        /// What is expected, as a phrase.
        expected: &'static str,
    },
    /// A parameter is outside its domain.
    #[error(transparent)]
    Bound(#[from] kalmia::Error),
}

fn plural(names: &[&str]) -> &'static str {
    if names.len() == 1 { "" } else { "s" }
}

/// `a`, `b` and `c`, in quotes.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.concat(),
    }
}

static REGISTRY: [Entry; 32] = [
    design::UniformDesign::ENTRY,
    design::LogisticConstants::ENTRY,
    ons::OnsConstants::ENTRY,
    design::AsgdSteps::ENTRY,
    local::LocalizedBounded::ENTRY,
    local_rho::LocalizedBoundedRho::ENTRY,
    local::LocalizedLinear::ENTRY,
    ons::RefinementMahdavi::ENTRY,
    martingale::Corobercu::ENTRY,
    certificate::Certificate::ENTRY,
    martingale::Martingale::ENTRY,
    martingale::SimultaneousSupermartingale::ENTRY,
    trace::SumTrace::ENTRY,
    trace::QuadraticLinear::ENTRY,
    trace::SumTraceLinear::ENTRY,
    local::ProofConstants::ENTRY,
    truncated::BoundP::ENTRY,
    truncated::CDelta::ENTRY,
    truncated::ConcentrationTropp::ENTRY,
    descent::EquivalenceLnorm::ENTRY,
    convergence::ConvergenceThreshold::ENTRY,
    convergence::ConvergenceProb::ENTRY,
    convergence::CoroConvergenceTau::ENTRY,
    logistic::ResultLogistic::ENTRY,
    logistic::TruncationExcess::ENTRY,
    descent::DescentF::ENTRY,
    descent::BoundF::ENTRY,
    quadratic::QuadraticFirst::ENTRY,
    quadratic::ResultLinear::ENTRY,
    ridge::ResultHsu::ENTRY,
    ridge::TauDeltaLinear::ENTRY,
    order::TauOrder::ENTRY,
];

/// The closed forms: bounds, convergence times and constants of the paper, statement by statement.
pub fn registry() -> &'static [Entry] {
    &REGISTRY
}

/// The closed form called `name`.
pub fn find(name: &str) -> Result<&'static Entry, RegistryError> {
    REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| RegistryError::UnknownFunction {
        name: name.to_owned(),
        nearest: nearest(name, REGISTRY.iter().map(|entry| entry.name)),
    })
}

/// The candidate at the smallest edit distance, ignoring case first.
fn nearest(name: &str, candidates: impl Iterator<Item = &'static str>) -> &'static str {
    let folded = |s: &str| s.to_lowercase();
    candidates
        .min_by_key(|c| (levenshtein(&folded(name), &folded(c)), levenshtein(name, c)))
        .unwrap_or("")
}
