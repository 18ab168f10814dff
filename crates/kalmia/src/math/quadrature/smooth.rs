//! Averages of a function that is smooth beside the standard normal law, from few nodes.

use super::tables::*;

/// Smallest scale of the function, in deviations, for which each rule is accurate to $10^{-11}$.
/// They follow from the error of a rule of $n$ nodes, $n!\,c_{2n}$ with the Taylor coefficient
/// $c_{2n}$, for $e^{-e^u}$, whose coefficients are the largest of all distribution functions here.
const MIN_SCALE_5: f64 = 15.0;
const MIN_SCALE_7: f64 = 7.5;
const MIN_SCALE_10: f64 = 4.5;
const MIN_SCALE_15: f64 = 3.2;
const MIN_SCALE_21: f64 = 2.7;

/// A node of a rule for the standard normal law.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub z: f64,
    pub weight: f64,
}

/// The nodes that average a function which varies on this scale; `None` if it varies too fast for
/// the rules.
pub(crate) fn smooth_nodes(scale: f64) -> Option<impl ExactSizeIterator<Item = Node>> {
    let rule: &[(f64, f64)] = match scale {
        MIN_SCALE_5.. => &HERMITE_5,
        MIN_SCALE_7.. => &HERMITE_7,
        MIN_SCALE_10.. => &HERMITE_10,
        MIN_SCALE_15.. => &HERMITE_15,
        MIN_SCALE_21.. => &HERMITE_21,
        _ => return None,
    };
    let n = rule.len() as f64;
    Some(rule.iter().map(move |(z, q)| Node { z: *z, weight: n * q * q }))
}

/// $E[f(z)]$ for a standard normal $z$ and an `f` that varies on this scale; `None` as above.
pub(crate) fn smooth_average(scale: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    Some(smooth_nodes(scale)?.map(|Node { z, weight }| weight * f(z)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn every_rule_is_accurate_at_its_smallest_scale() {
        let limits = [MIN_SCALE_5, MIN_SCALE_7, MIN_SCALE_10, MIN_SCALE_15, MIN_SCALE_21];
        for scale in limits.into_iter().flat_map(|limit| [limit, 1.3 * limit]) {
            for k in -30..=20 {
                let m = 0.1 * f64::from(k);
                let f = |z: f64| (-(m + z / scale).exp()).exp();
                let node = |k: i32| (-0.005 * f64::from(k * k)).exp() * f(0.1 * f64::from(k));
                let long = (-90..=90).map(node).sum::<f64>() * 0.1 / TAU.sqrt();
                let short = smooth_average(scale, f).unwrap();
                assert!((short - long).abs() < 2e-11, "{scale} {m}: {short} {long}");
            }
        }
        assert!(smooth_average(1.0, |z| z).is_none());
        assert!(smooth_average(f64::NAN, |z| z).is_none());
    }
}
