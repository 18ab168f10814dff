//! Parts of the inputs, each worked on by a thread of its own, with one progress bar for all.

use crate::error::Result;
use crate::plan::SourcePlan;
use crate::progress::Ui;
use kalmia_data::Progress;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// How far one part is, for the bar.
#[derive(Debug, Default)]
pub struct PartProgress {
    bytes: AtomicU64,
    rows: AtomicU64,
}

impl PartProgress {
    /// Reports the bytes and rows done so far.
    pub fn set(&self, progress: Progress, rows: u64) {
        self.bytes.store(progress.done, Ordering::Relaxed);
        self.rows.store(rows, Ordering::Relaxed);
    }
}

/// What the parts gave, in their order, and the time they took.
pub struct PartResults<T> {
    /// One per part.
    pub results: Vec<T>,
    /// From the start of the first to the end of the last.
    pub time: Duration,
}

/// Runs `work` on every part at the same time. The first failure, in the order of the parts, is
/// returned; the others run to their end.
pub fn each_part<T: Send>(
    parts: &[SourcePlan],
    ui: Ui,
    work: impl Fn(&SourcePlan, &PartProgress) -> Result<T> + Sync,
) -> Result<PartResults<T>> {
    let done: Vec<PartProgress> = parts.iter().map(|_| PartProgress::default()).collect();
    let sizes = parts.iter().flat_map(|part| &part.inputs).map(|input| input.size());
    let total: Option<u64> = sizes.sum();
    let mut meter = ui.progress(Progress { done: 0, total });
    let work = &work;
    let results = std::thread::scope(|scope| {
        let (finished, wait) = channel::<()>();
        let threads: Vec<_> = parts
            .iter()
            .zip(&done)
            .map(|(part, progress)| {
                let finished = finished.clone();
                scope.spawn(move || {
                    let result = work(part, progress);
                    // dropped on a panic, too: the loop below then ends, and join tells
                    drop(finished);
                    result
                })
            })
            .collect();
        drop(finished);
        while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let sum = |count: fn(&PartProgress) -> &AtomicU64| -> u64 {
                done.iter().map(|part| count(part).load(Ordering::Relaxed)).sum()
            };
            let bytes = sum(|part| &part.bytes);
            meter.tick(Progress { done: bytes, total }, sum(|part| &part.rows), || None);
        }
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect::<Vec<Result<T>>>()
    });
    let time = meter.finish();
    Ok(PartResults { results: results.into_iter().collect::<Result<_>>()?, time })
}
