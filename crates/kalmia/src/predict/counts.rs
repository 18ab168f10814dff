//! Quantiles of small counts: the probabilities of 0, 1, 2, ... by their recurrence, at a few nodes
//! of every belief at once.

use super::transition::Part;
use crate::family::{Counts, Family, FastPaths};
use crate::math::quadrature::{Node, smooth_nodes};

/// Most nodes of all members together.
const MAX_NODES: usize = 128;
/// Largest guess of a quantile for which counting from 0 is worth it.
const MAX_GUESS: f64 = 48.0;
/// Most counts that are visited.
const MAX_COUNT: f64 = 160.0;
/// Largest mean at a node: $e^{-500}$ is far above the smallest number.
const MAX_MEAN: f64 = 500.0;

/// Smallest count with $\sum_k w_k P_k(Y \le y) \ge q$, near `guess`; `None` if the family has no
/// recurrence, the counts are large, or a belief is wide beside the transition.
pub(super) fn quantile<'a, F: Family + 'a>(
    parts: impl Iterator<Item = Part<'a, F>>,
    guess: f64,
    q: f64,
) -> Option<f64> {
    // NaN is not small
    let small = guess <= MAX_GUESS;
    if !small {
        return None;
    }
    // the weighted probability of the count so far, and what the recurrence multiplies it with
    let mut masses = [0.0; MAX_NODES];
    let mut factors = [0.0; MAX_NODES];
    let mut len = 0;
    let mut add = |mass: f64, factor: f64| {
        *masses.get_mut(len)? = mass;
        factors[len] = factor;
        len += 1;
        Some(())
    };
    let mut kind = Counts::Unbounded;
    for part in parts {
        kind = part.family.fast().counts()?;
        let at = |u: f64| (part.weight * part.family.log_density(0.0, u).exp(), u.exp());
        let largest = part.family.mean(part.m + 8.0 * part.s.sqrt());
        let moderate = largest <= MAX_MEAN;
        if !moderate {
            return None;
        }
        if part.s == 0.0 {
            let (mass, factor) = at(part.m);
            add(mass, factor)?;
            continue;
        }
        // the narrowest transition of the counts that matter
        let narrowest = match kind {
            Counts::Unbounded => guess.floor(),
            Counts::OfTrials(trials) => (0.5 * (trials - 1.0)).floor(),
        };
        let width = part.family.fast().cdf_transition(narrowest)?.width;
        let deviation = part.s.sqrt();
        for Node { z, weight } in smooth_nodes(width.min(1.0) / deviation)? {
            let (mass, factor) = at(part.m + deviation * z);
            add(weight * mass, factor)?;
        }
    }
    let masses = &mut masses[..len];
    let factors = &factors[..len];
    let mut y = 0.0;
    let mut below: f64 = masses.iter().sum();
    while below < q {
        let ways = match kind {
            Counts::Unbounded => 1.0 / (y + 1.0),
            Counts::OfTrials(trials) if y + 1.0 < trials => (trials - y) / (y + 1.0),
            Counts::OfTrials(trials) => return Some(trials),
        };
        y += 1.0;
        if y > MAX_COUNT {
            return None;
        }
        for (mass, factor) in masses.iter_mut().zip(factors) {
            *mass *= factor * ways;
        }
        below += masses.iter().sum::<f64>();
    }
    Some(y)
}
