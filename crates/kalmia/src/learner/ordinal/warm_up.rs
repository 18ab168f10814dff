//! The first rows, which are kept and re-run while the scale of the features is not known.

use super::{ClassObserver, Ordinal};
use crate::error::Result;
use crate::learner::auto::warm_up::{WARM_UP_ROWS, WarmUpRows, is_rerun};
use crate::rows::Rows;

impl Ordinal {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        // A row of weight 0 is predicted, and nothing else: it leaves the schedule as it is.
        if rows.observation(i).weight == 0.0 {
            self.row(rows, i, observer).map_err(|error| error.at_row(i))?;
            self.count += 1;
            return Ok(());
        }
        let t = self.warm_up.as_ref().map_or(0, WarmUpRows::len) + 1;
        self.scales.add(&self.layout.with_constant(rows.x(i)));
        if is_rerun(t) {
            // an earlier row may be refused at scales that this row changed
            self.rerun().map_err(|error| error.at_row(i))?;
        }
        self.row(rows, i, observer).map_err(|error| error.at_row(i))?;
        self.count += 1;
        match &mut self.warm_up {
            Some(kept) if t < WARM_UP_ROWS => kept.push(rows, i),
            _ => self.warm_up = None,
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
