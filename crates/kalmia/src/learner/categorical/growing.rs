//! Rows that may bring new classes.

use super::observe::{ClassObserver, reborrow};
use super::{Categorical, Checkpoint};
use crate::error::Result;
use crate::rows::Rows;

impl Categorical {
    /// As [`learn_observed`](Self::learn_observed), but a class above those known is added just
    /// before its first row ([`grow_class`](Self::grow_class)), with all classes below it. The
    /// result does not depend on how rows are cut into calls. At most `limit` classes are taken;
    /// a larger index is refused as an illegal target.
    ///
    /// ```
    /// use kalmia::{Categorical, Rows};
    ///
    /// let mut learner = Categorical::builder(1, 1).intercept().build()?;
    /// learner.learn_growing(Rows::new(1, &[1.0; 4], &[0.0, 1.0, 0.0, 2.0])?, 10, None)?;
    /// assert_eq!(learner.classes(), 3);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn learn_growing(
        &mut self,
        rows: Rows<'_>,
        limit: usize,
        observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let is_new = |y: &f64| *y >= self.classes as f64 && *y < limit as f64;
        if !rows.targets().iter().any(is_new) {
            return self.learn_observed(rows, observer);
        }
        self.check_below(&rows, limit.max(self.classes))?;
        Checkpoint::default().transaction(self, |learner| learner.run_growing(rows, observer))
    }

    /// Stretches without new classes, each after the class that it starts with was added.
    fn run_growing(
        &mut self,
        rows: Rows<'_>,
        mut observer: Option<&mut dyn ClassObserver>,
    ) -> Result<()> {
        let mut start = 0;
        while start < rows.len() {
            while rows.targets()[start] >= self.classes as f64 {
                self.grow_class()?;
            }
            let known = rows.targets()[start..].iter().take_while(|&&y| y < self.classes as f64);
            let end = start + known.count();
            self.run(rows.slice(start..end), reborrow(&mut observer))
                .map_err(|error| error.after_rows(start))?;
            start = end;
        }
        Ok(())
    }
}
