//! How the first rows are learned.

use super::Categorical;
use super::observe::ClassObserver;
use crate::error::Result;
use crate::learner::warm_up::{WarmUpRows, WarmUpTurn};
use crate::rows::Rows;

impl Categorical {
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
            self.scales.add(rows.x(i));
        }
        if turn.reruns {
            // an earlier row may be refused at scales that this row changed
            self.rerun().map_err(|error| error.at_row(i))?;
        }
        self.chunk(rows.slice(i..i + 1), i, observer)?;
        self.count += 1;
        if turn.counts {
            self.warm_up.iter_mut().for_each(|kept| kept.push(rows, i));
        }
        if turn.is_last {
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
