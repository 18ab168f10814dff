//! The first rows, which are kept and re-run while the scale of the features is not known.

use super::Categorical;
use super::observe::ClassObserver;
use crate::error::Result;
use crate::learner::auto::warm_up::{WARM_UP_ROWS, WarmUpRows, is_rerun};
use crate::rows::Rows;

impl Categorical {
    /// Learns row `i` during the warm-up.
    pub(super) fn warm_up(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        // A row of weight 0 is predicted, and nothing else: it leaves the schedule as it is.
        if rows.observation(i).weight == 0.0 {
            self.chunk(rows.slice(i..i + 1), i, observer)?;
            self.count += 1;
            return Ok(());
        }
        let t = self.warm_up.as_ref().map_or(0, WarmUpRows::len) + 1;
        self.scales.add(rows.x(i));
        if is_rerun(t) {
            // an earlier row may be refused at scales that this row changed
            self.rerun().map_err(|error| error.at_row(i))?;
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count += 1;
        if let Some(kept) = &mut self.warm_up {
            kept.push(rows, i);
        }
        if t == WARM_UP_ROWS {
            let kept = self.warm_up.take();
            self.remembered = kept.filter(|_| self.looks_again());
            self.start_watch();
        }
        Ok(())
    }

    /// Takes the scales anew and learns the rows so far from the prior at these scales: once for
    /// the weights of the members, then for their beliefs.
    fn rerun(&mut self) -> Result<()> {
        let kept = self.warm_up.take().unwrap_or_default();
        self.scales.freeze();
        self.rebuild()?;
        let rows = kept.rows(self.dim)?;
        self.chunk(rows, 0, None)?;
        if self.looks_again() {
            self.look_again(rows);
        }
        self.warm_up = Some(kept);
        Ok(())
    }
}
