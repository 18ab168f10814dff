//! Work dealt out to cores, a few large parts at a time.

use std::ops::Range;

/// How many cores a learner may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(pub usize);

impl Threads {
    /// One core.
    pub const ONE: Threads = Threads(1);

    /// All cores of the machine.
    pub fn all() -> Self {
        Self(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// Does the work of every part, each on a core of its own; a single part is done here, and
    /// allocates nothing.
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

    /// Cuts `0..len` at multiples of `unit` into a range a core, of equal area under a line that
    /// rises from 0.
    pub(crate) fn rising(self, len: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
        self.cuts(len, unit, f64::sqrt)
    }

    /// The same for a line that falls to 0.
    pub(crate) fn falling(self, len: usize, unit: usize) -> impl Iterator<Item = Range<usize>> {
        self.cuts(len, unit, |area| 1.0 - (1.0 - area).sqrt())
    }

    /// `place` is the share of the length up to which a share of the area lies.
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

/// The parts of `data` over consecutive ranges from 0, `stride` numbers a step.
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
                    let largest = |areas: Vec<f64>| areas.into_iter().fold(0.0, f64::max);
                    assert!(largest(rising.iter().map(area).collect()) < 1.2 * fair);
                    let mirrored = falling.iter().map(|r| len - r.end..len - r.start);
                    assert!(largest(mirrored.map(|r| area(&r)).collect()) < 1.2 * fair);
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
