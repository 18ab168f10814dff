//! The first rows of a learner, which are kept and re-run while the scale of the features is not
//! known.

use crate::error::Result;
use crate::rows::{Observation, Rows};
use serde::{Deserialize, Serialize};

/// Rows of the warm-up, those of weight 0 not counted.
pub(super) const WARM_UP_ROWS: usize = 128;

/// What a row of the warm-up is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WarmUpTurn {
    /// Whether the row is measured, learned and kept. A row of weight 0 is predicted, and nothing
    /// else: it leaves the schedule as it is.
    pub counts: bool,
    /// Whether the scales are taken anew before the row, and all rows so far re-run: before row 3
    /// and the powers of two. After two rows the spread of `y` is known for the first time.
    pub reruns: bool,
    /// Whether the warm-up ends with the row.
    pub is_last: bool,
}

impl WarmUpTurn {
    /// Of a row of this weight, after `kept` rows.
    pub fn new(kept: usize, weight: f64) -> Self {
        let t = kept + 1;
        let counts = weight != 0.0;
        Self {
            counts,
            reruns: counts && (t.is_power_of_two() || t == 3),
            is_last: counts && t >= WARM_UP_ROWS,
        }
    }
}

/// The rows of the warm-up of a learner of dense rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct WarmUpRows {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    offset: Vec<f64>,
}

impl WarmUpRows {
    pub fn push(&mut self, rows: Rows<'_>, i: usize) {
        let observation = rows.observation(i);
        self.x.extend_from_slice(rows.x(i));
        self.y.push(observation.y);
        self.weight.push(observation.weight);
        self.offset.push(observation.offset);
    }

    pub fn len(&self) -> usize {
        self.y.len()
    }

    pub fn rows(&self, dim: usize) -> Result<Rows<'_>> {
        Rows::new(dim, &self.x, &self.y)?.with_weights(&self.weight)?.with_offsets(&self.offset)
    }

    /// One more feature, zero in every row.
    pub fn grow(&mut self, dim: usize) {
        let rows = self.y.len();
        self.x = (0..rows)
            .flat_map(|i| self.x[i * dim..(i + 1) * dim].iter().copied().chain([0.0]))
            .collect();
    }

    /// Without the last of `dim` features.
    pub fn shrink(&mut self, dim: usize) {
        self.x = self.x.chunks_exact(dim).flat_map(|row| &row[..dim - 1]).copied().collect();
    }

    /// The observations, without features.
    pub fn observations(&self) -> impl Iterator<Item = Observation> + Clone {
        let values = self.y.iter().zip(&self.weight).zip(&self.offset);
        values.map(|((&y, &weight), &offset)| Observation { y, weight, offset })
    }
}
