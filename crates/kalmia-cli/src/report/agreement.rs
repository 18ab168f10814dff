//! What to say about shards or models that do not agree.

use crate::format::number;
use kalmia::learner::Heterogeneity;

/// Shards whose disagreement chance gives more often than this are not reported.
const MIN_P_VALUE: f64 = 1e-3;

/// A note if the parts disagree; `what` names them, such as "shards".
pub fn heterogeneity_note(what: &str, found: &Heterogeneity) -> Option<String> {
    (found.p_value < MIN_P_VALUE).then(|| {
        format!(
            "note: the {what} disagree more than chance allows (Q = {} on {} degrees of freedom, \
             p = {}): a drift, a bad part of the data, or a model that does not fit everywhere; \
             the result is their weighted mean",
            number(found.q),
            found.degrees,
            number(found.p_value)
        )
    })
}
