//! How the first rows are learned.

use super::{ClassObserver, Ordinal};
use crate::error::Result;
use crate::learner::warm_up::{WarmUpRows, WarmUpTurn};
use crate::rows::Rows;

impl Ordinal {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let kept = self.warm_up.as_ref().map_or(0, WarmUpRows::len);
        let turn = WarmUpTurn::new(kept, rows.observation(i).weight);
        if turn.counts {
            self.scales.add(&self.layout.with_constant(rows.x(i)));
        }
        if turn.reruns {
            // an earlier row may be refused at scales that this row changed
            self.rerun().map_err(|error| error.at_row(i))?;
        }
        self.row(rows, i, observer).map_err(|error| error.at_row(i))?;
        self.count += 1;
        if turn.counts {
            self.warm_up.iter_mut().for_each(|kept| kept.push(rows, i));
        }
        if turn.is_last {
            self.warm_up = None;
        }
        Ok(())
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        self.scales.freeze();
        self.rebuild()?;
        let rows = kept.rows(self.layout.dim)?;
        for i in 0..rows.len() {
            self.row(rows, i, None)?;
        }
        self.warm_up = Some(kept);
        Ok(())
    }
}
