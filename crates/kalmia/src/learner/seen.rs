//! What a row looks like to an observer, and the target as the family codes it.

use super::{Observer, Seen};
use crate::family::{Family, FastPaths};
use crate::rows::{Observation, Rows};
use crate::rule::Step;

/// The observation of row `i` of validated rows.
#[inline(always)]
pub(super) fn observation<F: Family>(family: &F, rows: &Rows<'_>, i: usize) -> Observation {
    let mut observation = rows.observation(i);
    // legal by `Rows::validate`
    observation.y = family.fast().code(observation.y);
    observation
}

/// The belief about one row before it is learned, and the step that it will cause.
pub(super) struct Look {
    pub observation: Observation,
    pub linear: f64,
    pub variance: f64,
    pub gradient: f64,
    pub step: Step,
}

impl Look {
    /// Tells the observer.
    pub fn show<F: Family>(
        self,
        family: &F,
        rows: &Rows<'_>,
        index: usize,
        observer: &mut dyn Observer,
    ) {
        let Self { observation, linear, variance, gradient, step } = self;
        let u = linear + observation.offset;
        let (mean, loss) = (family.mean(u), family.loss(observation.y, u));
        let (x, dispersion) = (rows.x(index), family.dispersion().unwrap_or(1.0));
        observer.row(&Seen {
            index,
            x,
            observation,
            linear,
            variance,
            dispersion,
            mean,
            loss,
            gradient,
            step,
        });
    }
}
