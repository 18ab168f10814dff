//! A theorem's bound along $n$ beside the replicates: their mean, quantile and worst.

use super::exits::{MeasuredTau, mean_within, upper_quantile};
use super::run::Local;
use super::tau::EventShare;
use super::{BETA, DELTA, DELTAS, Theory};
use crate::error::Result;
use crate::settings::checkpoints;
use crate::statistics::{self, smallest};

/// A theorem's quantity and bound after some steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundPoint {
    /// Steps, from the first one of the theorem's sum; or time, for eigenvalues.
    pub n: u64,
    /// Mean over the replicates.
    pub mean: f64,
    /// The value that at most a share $k\delta$ of the replicates exceeds.
    pub quantile: f64,
    /// Largest value of a replicate.
    pub worst: f64,
    /// The whole right-hand side; `None` if its convergence time was not reached.
    pub bound: Option<f64>,
}

impl BoundPoint {
    fn new(n: u64, values: &[f64], above: f64, bound: Option<f64>) -> Self {
        Self {
            n,
            mean: mean_within(values),
            quantile: upper_quantile(values, above),
            worst: statistics::largest(values.iter().copied()),
            bound,
        }
    }

    /// The bound over the quantile.
    pub fn ratio(&self) -> Option<f64> {
        self.bound.map(|bound| bound / self.quantile)
    }
}

/// A theorem beside the quantity that it bounds, with probability $1-k\delta$ for all $n$ at once.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundCurve {
    /// Number of the theorem.
    pub theorem: u32,
    /// $k$.
    pub multiple: u32,
    /// $\delta$.
    pub delta: f64,
    /// $\varepsilon$, if the theorem has one.
    pub epsilon: Option<f64>,
    /// The measured convergence time that the theorem assumes.
    pub tau: Option<MeasuredTau>,
    /// Whether the sum starts after the convergence time.
    pub local: bool,
    /// For a local theorem, the smallest $\lambda_{\max}(P_{\tau+1}^{-1})$ of a replicate; the
    /// bound of [`BoundPoint::bound`] has it.
    pub precision: Option<f64>,
    /// Replicates that exceed their own bound at some $n$; the theorem allows a share $k\delta$.
    pub exceeding: usize,
    /// Number of replicates.
    pub replicates: usize,
    /// Along $n$.
    pub points: Vec<BoundPoint>,
}

impl BoundCurve {
    /// The probability that the theorem claims.
    pub fn probability(&self) -> f64 {
        1.0 - f64::from(self.multiple) * self.delta
    }

    /// Whether the quantile stays below the bound at every $n$; `None` without a bound.
    pub fn stays_below(&self) -> Option<bool> {
        let mut bounded = self.points.iter().filter(|p| p.bound.is_some()).peekable();
        bounded.peek()?;
        Some(bounded.all(|p| p.bound.is_some_and(|bound| p.quantile <= bound)))
    }

    /// Where the bound is closest: the smallest ratio of bound and quantile over $n$.
    pub fn smallest_ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.points.iter().filter_map(BoundPoint::ratio).collect();
        (!ratios.is_empty()).then(|| smallest(ratios))
    }
}

/// What a theorem is about, before the simulation.
pub(super) struct Statement {
    pub theorem: u32,
    pub multiple: u32,
    pub delta: f64,
    pub epsilon: Option<f64>,
    pub tau: Option<MeasuredTau>,
}

impl Statement {
    fn above(&self) -> f64 {
        f64::from(self.multiple) * self.delta
    }

    fn curve(self, local: bool) -> BoundCurve {
        let Statement { theorem, multiple, delta, epsilon, tau } = self;
        BoundCurve {
            theorem,
            multiple,
            delta,
            epsilon,
            tau,
            local,
            precision: None,
            exceeding: 0,
            replicates: 0,
            points: Vec::new(),
        }
    }

    /// A sum from the first step on: `sums[mark][replicate]`. Points are kept at ten marks per
    /// decade.
    pub fn total(
        self,
        marks: &[u64],
        sums: &[Vec<f64>],
        bound: impl Fn(u64) -> Result<Option<f64>>,
    ) -> Result<BoundCurve> {
        let above = self.above();
        let mut curve = self.curve(false);
        let kept = checkpoints(marks.last().copied().unwrap_or(1));
        let bounds = marks.iter().map(|&n| bound(n)).collect::<Result<Vec<_>>>()?;
        curve.replicates = sums.first().map_or(0, Vec::len);
        curve.exceeding = exceeding(sums, |k, _| bounds[k]);
        for ((&n, values), &bound) in marks.iter().zip(sums).zip(&bounds) {
            if kept.binary_search(&n).is_ok() {
                curve.points.push(BoundPoint::new(n, values, above, bound));
            }
        }
        Ok(curve)
    }

    /// A sum after the convergence time; no points if it was not reached. `bound` takes $n$ and
    /// $\lambda_{\max}(P_{\tau+1}^{-1})$.
    pub fn local(
        self,
        after: Option<&Local>,
        bound: impl Fn(u64, f64) -> Result<f64>,
    ) -> Result<BoundCurve> {
        let above = self.above();
        let mut curve = self.curve(true);
        let Some(Local { n, sums, precision }) = after else { return Ok(curve) };
        let lowest = smallest(precision.iter().copied());
        curve.precision = Some(lowest);
        curve.replicates = precision.len();
        let mut own = Vec::with_capacity(n.len());
        for &n in n {
            own.push(precision.iter().map(|&p| bound(n, p)).collect::<Result<Vec<_>>>()?);
        }
        curve.exceeding = exceeding(sums, |k, r| Some(own[k][r]));
        for (&n, values) in n.iter().zip(sums) {
            curve.points.push(BoundPoint::new(n, values, above, Some(bound(n, lowest)?)));
        }
        Ok(curve)
    }
}

/// Replicates above `bound(mark, replicate)` at some mark; a NaN is above.
fn exceeding(sums: &[Vec<f64>], bound: impl Fn(usize, usize) -> Option<f64>) -> usize {
    let stays_below = |r: usize| {
        let mut at = sums.iter().enumerate();
        at.all(|(k, values)| bound(k, r).is_none_or(|bound| values[r] <= bound))
    };
    (0..sums.first().map_or(0, Vec::len)).filter(|&r| !stays_below(r)).count()
}

/// $\lambda_{\max}(P_t)$ of the truncated filter beside Proposition 11.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenvalues {
    /// Along $t$; $P_t$ is the matrix after $t-1$ rows.
    pub points: Vec<BoundPoint>,
    /// The time from which the proposition applies.
    pub applies_from: f64,
}

impl Eigenvalues {
    /// From `largest[mark][replicate]`.
    pub(super) fn new(theory: &Theory, marks: &[u64], largest: &[Vec<f64>]) -> Result<Self> {
        let kept = checkpoints(marks.last().copied().unwrap_or(1));
        let mut points = Vec::new();
        for (&n, values) in marks.iter().zip(largest).filter(|(n, _)| kept.contains(n)) {
            let bound = theory.proposition_11(n + 1, DELTA)?;
            points.push(BoundPoint::new(n + 1, values, DELTA, Some(bound)));
        }
        Ok(Self { points, applies_from: theory.proposition_11_from(DELTA)? })
    }
}

/// The event $A_{C_\delta}$ for every tabulated $\delta$.
///
/// $\lambda_{\max}(P_t)$ does not grow, so between two marks it is at most its value after the
/// first one, and $t^{1-\beta}$ at most its value at the second one. That decides all times from
/// the marks alone, on the safe side.
pub(super) fn events(
    theory: &Theory,
    marks: &[u64],
    largest: &[Vec<f64>],
) -> Result<Vec<EventShare>> {
    let rows = marks.last().copied().unwrap_or(0);
    let replicates = largest.first().map_or(0, Vec::len);
    let smallest_c: Vec<f64> = (0..replicates).map(|r| event_constant(marks, largest, r)).collect();
    let event = |delta| {
        let c_delta = theory.c_delta(delta)?;
        let holding = smallest_c.iter().filter(|&&c| c <= c_delta).count();
        Ok(EventShare {
            delta,
            c_delta,
            share: holding as f64 / replicates as f64,
            c_measured: upper_quantile(&smallest_c, delta),
            rows,
        })
    };
    DELTAS.into_iter().map(event).collect()
}

/// A $C$ with $\lambda_{\max}(P_t)\le C/t^{1-\beta}$ for all $t$ of the run, from $P_1 = I$ on.
fn event_constant(marks: &[u64], largest: &[Vec<f64>], replicate: usize) -> f64 {
    let needed = largest.iter().enumerate().map(|(k, values)| {
        // After marks[k] rows stands P_t with t = marks[k] + 1; it rules until the next mark.
        let until = marks.get(k + 1).map_or(marks[k] + 1, |&next| next);
        values[replicate] * (until as f64).powf(1.0 - BETA)
    });
    statistics::largest(needed.chain([1.0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement { theorem: 3, multiple: 2, delta: 0.1, epsilon: None, tau: None }
    }

    #[test]
    fn a_bound_that_is_crossed_is_reported() {
        let marks = [1, 2];
        // Ten replicates; two of them, the allowed share, end above 5.
        let sums = |high: usize| -> Vec<Vec<f64>> {
            let end = (0..10).map(|r| if r < high { 9.0 } else { 1.0 }).collect();
            vec![vec![0.5; 10], end]
        };
        let curve = |high| statement().total(&marks, &sums(high), |_| Ok(Some(5.0))).unwrap();
        let allowed = curve(2);
        assert_eq!((allowed.stays_below(), allowed.exceeding), (Some(true), 2));
        assert_eq!(allowed.smallest_ratio(), Some(5.0));
        let crossed = curve(3);
        assert_eq!((crossed.stays_below(), crossed.exceeding), (Some(false), 3));
        assert!(crossed.smallest_ratio().unwrap() < 1.0);
        let open = statement().total(&marks, &sums(3), |_| Ok(None)).unwrap();
        assert_eq!((open.stays_below(), open.smallest_ratio(), open.exceeding), (None, None, 0));
        let lost =
            statement().total(&marks, &[vec![f64::NAN; 10], vec![0.0; 10]], |_| Ok(Some(5.0)));
        let lost = lost.unwrap();
        assert_eq!((lost.stays_below(), lost.exceeding), (Some(false), 10));
    }

    #[test]
    fn a_local_bound_counts_each_replicate_against_its_own() {
        let after = Local {
            n: vec![1],
            sums: vec![vec![3.0, 3.0, 3.0, 3.0, 3.0]],
            precision: vec![2.0, 4.0, 5.0, 6.0, 7.0],
        };
        let curve = statement().local(Some(&after), |_, p| Ok(p)).unwrap();
        assert_eq!((curve.exceeding, curve.precision), (1, Some(2.0)));
        assert_eq!(curve.stays_below(), Some(false), "the drawn bound is the smallest");
        let none = statement().local(None, |_, p| Ok(p)).unwrap();
        assert!(none.points.is_empty() && none.stays_below().is_none());
    }

    /// The constant of the marks holds at every time between them.
    #[test]
    fn the_constant_of_the_event_covers_the_times_between_marks() {
        let marks = [1u64, 2, 3, 10, 30];
        let lambda = |t: u64| 1.0 / (1.0 + 0.2 * t as f64);
        let largest: Vec<Vec<f64>> = marks.iter().map(|&n| vec![lambda(n + 1)]).collect();
        let c = event_constant(&marks, &largest, 0);
        for t in 1..=31u64 {
            assert!(lambda(t) * (t as f64).powf(1.0 - BETA) <= c, "{t}");
        }
        assert!(event_constant(&marks, &[vec![1.0], vec![f64::NAN]], 0).is_nan());
    }
}
