//! Tasks on threads with results in the order of the tasks, progress and interruption.

use crate::error::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a run tells its caller while it works; every method may be called from any thread.
pub trait Progress: Sync {
    /// A task begins, `total` units long.
    fn start(&self, _task: &str, _total: u64) {}
    /// Units done since the last call.
    fn advance(&self, _units: u64) {}
    /// Something to show beside the bar.
    fn note(&self, _text: &str) {}
    /// The task is over.
    fn finish(&self) {}
}

/// Says nothing.
impl Progress for () {}

/// How a computation runs: threads, who watches, and the flag that stops it.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// Set to stop at the next block of rows.
    pub cancel: &'a AtomicBool,
}

impl Run<'_> {
    /// An error once the caller asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// `task(0), ..., task(count - 1)` on the threads; the first error stops the rest.
    pub fn each<T: Send>(
        &self,
        count: usize,
        task: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let slots: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let work = || {
            while !failed.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = slots.get(index) else { return };
                let result = self.check().and_then(|()| task(index));
                if result.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                *slot.lock().expect("a slot is held for one assignment") = Some(result);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.clamp(1, count.max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let results = slots
            .into_iter()
            .filter_map(|slot| slot.into_inner().expect("no thread holds a slot any more"));
        results.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order_and_errors_stop_the_rest() {
        let cancel = AtomicBool::new(false);
        for threads in [1, 3] {
            let run = Run { threads, progress: &(), cancel: &cancel };
            assert_eq!(
                run.each(50, |i| Ok(i * i)).unwrap(),
                (0..50).map(|i| i * i).collect::<Vec<_>>()
            );
            let stopped = run.each(50, |i| if i == 7 { Err(Error::Cancelled) } else { Ok(i) });
            assert!(matches!(stopped, Err(Error::Cancelled)));
        }
        cancel.store(true, Ordering::Relaxed);
        let run = Run { threads: 2, progress: &(), cancel: &cancel };
        assert!(matches!(run.each(3, Ok), Err(Error::Cancelled)));
    }
}
