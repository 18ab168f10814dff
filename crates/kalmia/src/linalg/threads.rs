//! How many cores a computation may use, and the division of work among them.

use crate::error::{Result, require};
use std::ops::Range;

/// The number of cores that a learner may use, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// One core.
    pub const ONE: Threads = Threads(1);

    /// This many cores; 0 is refused.
    pub fn new(cores: usize) -> Result<Self> {
        require(cores > 0, "threads", cores as f64, "must be at least 1")?;
        Ok(Self(cores))
    }

    /// All cores that the system grants this process, or 1 if it does not say.
    pub fn all() -> Self {
        Self(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// The number of cores.
    pub fn count(self) -> usize {
        self.0
    }

    /// Runs `work` on every part, each on its own core. On one core it runs here and allocates
    /// nothing.
    pub(crate) fn each<T: Send>(self, parts: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
        if self == Self::ONE {
            return parts.for_each(work);
        }
        let mut parts = parts.peekable();
        std::thread::scope(|scope| {
            while let Some(part) = parts.next() {
                if parts.peek().is_none() {
                    work(part);
                } else {
                    let work = &work;
                    scope.spawn(move || work(part));
                }
            }
        });
    }

    /// Cuts `0..len` at multiples of `unit` into one range per core, for work that grows in
    /// proportion to the index: each range has the same total.
    pub(crate) fn rising(self, len: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
        self.cuts(len, unit, f64::sqrt)
    }

    /// The same for work that falls linearly to 0 at `len`.
    pub(crate) fn falling(self, len: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
        self.cuts(len, unit, |area| 1.0 - (1.0 - area).sqrt())
    }

    /// `place` maps a share of the work to the share of the length that holds it.
    fn cuts(
        self,
        len: usize,
        unit: usize,
        place: fn(f64) -> f64,
    ) -> impl Iterator<Item = Range<usize>> {
        let at = move |k: usize| {
            let cut = (place(k as f64 / self.0 as f64) * len as f64) as usize;
            if k == self.0 { len } else { cut.next_multiple_of(unit).min(len) }
        };
        (0..self.0).map(move |k| at(k)..at(k + 1)).filter(|range| !range.is_empty())
    }
}

/// The parts of `data` that belong to consecutive ranges from 0, `stride` numbers per index.
pub(crate) fn cut(
    mut data: &mut [f64],
    stride: usize,
    ranges: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = (Range<usize>, &mut [f64])> {
    ranges.map(move |range| {
        let (part, rest) = std::mem::take(&mut data).split_at_mut(range.len() * stride);
        data = rest;
        (range, part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn no_cores_are_refused() {
        assert_eq!(Threads::new(1).unwrap(), Threads::ONE);
        assert!(Threads::new(0).unwrap_err().to_string().contains("threads"));
        assert!(Threads::all().count() > 0);
    }

    #[test]
    fn every_part_is_done_once() {
        for threads in [1, 2, 5] {
            let sum = AtomicUsize::new(0);
            Threads(threads).each(1..=10, |part| {
                sum.fetch_add(part, Relaxed);
            });
            assert_eq!(sum.into_inner(), 55);
        }
    }

    #[test]
    fn ranges_cover_and_balance() {
        for threads in [1, 2, 3, 7] {
            for (len, unit) in [(1, 1), (31, 32), (300, 32), (1000, 1), (4096, 8)] {
                let area =
                    |range: &Range<usize>| range.clone().map(|i| i as f64 + 0.5).sum::<f64>();
                let rising: Vec<_> = Threads(threads).rising(len, unit).collect();
                let falling: Vec<_> = Threads(threads).falling(len, unit).collect();
                for ranges in [&rising, &falling] {
                    assert!(ranges.len() <= threads);
                    assert_eq!(
                        ranges.iter().cloned().flatten().collect::<Vec<_>>(),
                        (0..len).collect::<Vec<_>>()
                    );
                }
                if len == 4096 {
                    let fair = area(&(0..len)) / threads as f64;
                    assert!(rising.iter().all(|range| area(range) < 1.2 * fair));
                    let mut mirrored = falling.iter().map(|r| len - r.end..len - r.start);
                    assert!(mirrored.all(|range| area(&range) < 1.2 * fair));
                }
            }
        }
    }

    #[test]
    fn a_cut_follows_its_ranges() {
        let mut data: Vec<f64> = (0..12).map(f64::from).collect();
        let parts: Vec<_> = cut(&mut data, 2, [0..1, 1..4].into_iter())
            .map(|(range, part)| (range, part.to_vec()))
            .collect();
        assert_eq!(parts, [(0..1, vec![0.0, 1.0]), (1..4, vec![2.0, 3.0, 4.0, 5.0, 6.0, 7.0])]);
    }
}
