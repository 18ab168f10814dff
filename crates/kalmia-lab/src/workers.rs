//! Tasks on threads, with results in the order of the tasks, progress and interruption.

use crate::error::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Receives the progress of a computation; every method may be called from any thread.
pub trait Progress: Sync {
    /// A task of `total` units begins.
    fn start(&self, _task: &str, _total: u64) {}
    /// Units done since the last call.
    fn advance(&self, _units: u64) {}
    /// A text to show beside the bar.
    fn note(&self, _text: &str) {}
    /// The task is over.
    fn finish(&self) {}
}

/// Ignores all reports.
impl Progress for () {}

/// The threads of a computation, with its progress and the flag that stops it.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Receives the progress.
    pub progress: &'a dyn Progress,
    /// Set by the caller to stop at the next block of rows.
    pub cancel: &'a AtomicBool,
}

impl Workers<'_> {
    /// [`Error::Cancelled`] once the caller asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// `task(0), ..., task(count - 1)` on the threads; the first error stops the rest.
    pub fn map<T: Send>(
        &self,
        count: usize,
        task: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let slots: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let take_tasks = || {
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
                scope.spawn(take_tasks);
            }
            take_tasks();
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
            let workers = Workers { threads, progress: &(), cancel: &cancel };
            assert_eq!(
                workers.map(50, |i| Ok(i * i)).unwrap(),
                (0..50).map(|i| i * i).collect::<Vec<_>>()
            );
            let stopped = workers.map(50, |i| if i == 7 { Err(Error::Cancelled) } else { Ok(i) });
            assert!(matches!(stopped, Err(Error::Cancelled)));
        }
        cancel.store(true, Ordering::Relaxed);
        let workers = Workers { threads: 2, progress: &(), cancel: &cancel };
        assert!(matches!(workers.map(3, Ok), Err(Error::Cancelled)));
    }
}
