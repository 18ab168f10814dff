//! Thompson sampling: the choice among candidates by a draw from the belief.

use crate::error::{Error, Result, RowError};
use crate::model::{Model, inputs_of};
use kalmia::learner::Sample;
use kalmia_data::{Block, Table};
use rand::Rng;

/// A row that was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The row of the table.
    pub row: usize,
    /// An estimate of the probability with which it was chosen; never 0.
    pub probability: f64,
}

impl Model {
    /// Chooses among the rows of a table by Thompson sampling: one draw of the coefficients from
    /// the belief decides for the row of the largest mean; of equal ones for the first. Rows that
    /// are left out for a missing value are not chosen.
    ///
    /// The probability of the choice is estimated from `draws` further, independent draws. If `c`
    /// of them decide for the same row of `k` rows, it is `(c + 1) / (draws + k)` (Laplace's rule),
    /// which is never 0 and adds up to 1 over the rows. Its standard error is at most
    /// `0.5 / sqrt(draws)`. With one row it is 1.
    ///
    /// Methods that keep no covariance, and wide models, are refused: they have no draws.
    ///
    /// ```
    /// use kalmia_data::{Coding, Encoder, EncoderOptions, Input, Kind, Mode};
    /// use kalmia_data::{SourceOptions, Table};
    /// use kalmia_model::{LearnScratch, Model, Settings};
    /// use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
    ///
    /// let columns = [("x".into(), Kind::Number)];
    /// let options = EncoderOptions::target("reward");
    /// let encoder = Encoder::from_columns(options, &columns, Coding::Number)?;
    /// let mut model = Model::new(Settings::default(), "gaussian".parse()?, encoder)?;
    /// let schema = model.encoder.table_schema();
    /// let read = |csv: String, mode| {
    ///     let input = Input::memory("rows.csv", csv.into_bytes());
    ///     Table::read(input, &SourceOptions::default(), &schema, mode, 1000)
    /// };
    /// let rows: String = (0..50).map(|i| format!("{i},{}\n", 2 * i + i % 3)).collect();
    /// let rows = read(format!("x,reward\n{rows}"), Mode::Learn)?;
    /// model.learn_table(&rows, &mut LearnScratch::default())?;
    ///
    /// let candidates = read("x\n1\n40\n2\n".into(), Mode::Predict)?;
    /// let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    /// let choice = model.choose_table(&candidates, 100, &mut rng)?;
    /// assert_eq!((choice.row, choice.probability), (1, 101.0 / 103.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose_table(&self, table: &Table, draws: usize, rng: &mut dyn Rng) -> Result<Choice> {
        let mut block = Block::new();
        self.encoder.encode_for_prediction(table, &mut block)?;
        let rows = block.rows();
        if rows == 0 {
            return Err(Error::NoCandidate);
        }
        // first: learners without draws say so, whatever the rows
        let drawn = self.learner.draw(1 + draws, rng)?;
        let locate = |cause| RowError::locate(cause, &block, &self.encoder);
        let means = match block.dim {
            // without features there is no telling how many rows there are
            0 => {
                let offset = |i| block.offset.as_ref().map_or(0.0, |offset: &Vec<f64>| offset[i]);
                (0..(1 + draws) * rows).map(|i| offset(i % rows)).collect()
            }
            _ => inputs_of(&block)
                .and_then(|inputs| self.learner.sample_means(inputs, &drawn, rng))
                .map_err(locate)?,
        };
        let mut chosen = means.chunks_exact(rows).map(first_largest);
        let row = chosen.next().unwrap_or(0);
        let same = chosen.filter(|other| *other == row).count();
        let probability = (same + 1) as f64 / (draws + rows) as f64;
        let row = (block.input_row(row) - block.first_row) as usize;
        Ok(Choice { row, probability })
    }
}

/// The place of the largest number, the first of equal ones.
fn first_largest(means: &[f64]) -> usize {
    let larger = |best: usize, i: usize| if means[i] > means[best] { i } else { best };
    (1..means.len()).fold(0, larger)
}
