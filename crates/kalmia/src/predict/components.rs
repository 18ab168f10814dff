//! Quantiles of mixtures of standard laws, each moved and scaled: Newton's method, with the density
//! for free.

use crate::math::{Law, with_laws};

/// Most members; a mixture of more is inverted by the general search. The default learner starts
/// with twelve.
const MAX_COMPONENTS: usize = 16;
/// Smallest weight that is not left out: the distribution function changes by as much.
const MIN_WEIGHT: f64 = 1e-10;
/// Most evaluations of one search.
const MAX_EVALUATIONS: usize = 80;
/// Largest error of the last evaluation, as a share of the smaller tail; the step that follows
/// squares it, up to a factor of some tens.
const MAX_LAST_ERROR: f64 = 1e-5;
/// Half-width in which a normal variable lies, in deviations: the mass outside is $10^{-23}$.
const NORMAL_RANGE: f64 = 10.0;

/// $v = \text{center} + \text{scale}\,T + \sqrt s\,z$ with a standard law of $T$ and a standard
/// normal $z$, in a mixture. `s` is in units of `v`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Component {
    pub weight: f64,
    pub center: f64,
    pub scale: f64,
    pub s: f64,
    pub law: Law,
}

/// Up to [`MAX_COMPONENTS`] of them, without an allocation.
pub(super) struct Components {
    items: [Component; MAX_COMPONENTS],
    len: usize,
}

impl Components {
    /// `None` if there are too many, or if one is `None`.
    pub fn collect(components: impl Iterator<Item = Option<Component>>) -> Option<Self> {
        let law = Law::Student { dof: f64::INFINITY };
        let empty = Component { weight: 0.0, center: 0.0, scale: 0.0, s: 0.0, law };
        let mut found = Self { items: [empty; MAX_COMPONENTS], len: 0 };
        for component in components {
            let component = component?;
            if component.weight < MIN_WEIGHT {
                continue;
            }
            *found.items.get_mut(found.len)? = component;
            found.len += 1;
        }
        (found.len > 0).then_some(found)
    }

    /// Smallest `v` with $P(v' \le v) \ge q$, for $0 < q < 1$; `None` if a component's series does
    /// not reach far enough, or if the search does not end.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let components = &self.items[..self.len];
        let total: f64 = components.iter().map(|c| c.weight).sum();
        with_laws(|laws| {
            let mut low = f64::INFINITY;
            let mut high = f64::NEG_INFINITY;
            let mut v = 0.0;
            let mut densities = 0.0;
            for c in components {
                let own = c.center + c.scale * laws.quantile(c.law, q);
                if self.len == 1 && c.s == 0.0 {
                    return Some(own);
                }
                let range = NORMAL_RANGE * c.s.sqrt();
                low = low.min(own - range);
                high = high.max(own + range);
                // members of one law have densities in proportion to 1/scale at their quantiles, so
                // this is Newton's first step
                let density = c.weight / c.scale;
                v += density * own;
                densities += density;
            }
            v /= densities;
            let tail = q.min(1.0 - q);
            for _ in 0..MAX_EVALUATIONS {
                let mut error = -q;
                let mut density = 0.0;
                for c in components {
                    let weight = c.weight / total;
                    let scaled = c.s / (c.scale * c.scale);
                    let at = laws.cdf(c.law, (v - c.center) / c.scale, scaled)?;
                    error += weight * at.value;
                    density += weight * at.density / c.scale;
                }
                let next = v - error / density;
                let inside = next >= low && next <= high;
                if error.abs() <= MAX_LAST_ERROR * tail && inside {
                    return Some(next);
                }
                if error >= 0.0 {
                    high = v;
                } else {
                    low = v;
                }
                // Outside the bracket, or where the density is 0, halving takes over.
                v = if inside && next > low && next < high { next } else { 0.5 * (low + high) };
                if !(v > low && v < high) {
                    return v.is_finite().then_some(high);
                }
            }
            None
        })
    }
}
