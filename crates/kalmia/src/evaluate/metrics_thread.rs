//! Metrics on a thread of their own, so that the learner does not wait for them.
//!
//! Rows are counted in their order, so the sums do not depend on timing.

use super::{Metrics, RowBuffer};
use crate::observe::{Observer, RowView};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Blocks that may wait for the thread; a learner further ahead waits.
const MAX_WAITING_BLOCKS: usize = 8;

enum Message {
    Rows(RowBuffer),
    /// Asks for the metrics after all rows sent before.
    Snapshot(Sender<Metrics>),
}

/// [`Metrics`] on a thread of their own. An observer that collects rows until
/// [`flush`](Self::flush) sends them to the thread.
///
/// ```
/// use kalmia::evaluate::{MetricsThread, Metrics};
/// use kalmia::{AnyFamily, Auto, Learner, Rows};
/// let family: AnyFamily = "gaussian".parse()?;
/// let mut model = Auto::new(family, 1)?;
/// let mut thread = MetricsThread::start(Metrics::new(family)?);
/// for (x, y) in [([1.0, 2.0], [1.1, 1.9]), ([3.0, 4.0], [3.2, 3.9])] {
///     model.learn_observed(Rows::new(1, &x, &y)?, Some(&mut thread))?;
///     thread.flush();
/// }
/// assert_eq!(thread.finish().progressive.rows(), 4);
/// # Ok::<(), kalmia::Error>(())
/// ```
pub struct MetricsThread {
    rows: RowBuffer,
    sender: Option<SyncSender<Message>>,
    spare: Receiver<RowBuffer>,
    /// The mean loss so far, as bits.
    loss: Arc<AtomicU64>,
    thread: Option<JoinHandle<Metrics>>,
    uses_loss: bool,
}

impl MetricsThread {
    /// Starts the thread, which continues these metrics.
    pub fn start(mut metrics: Metrics) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING_BLOCKS);
        let (spare_sender, spare) = channel();
        let loss = Arc::new(AtomicU64::new(f64::NAN.to_bits()));
        let shown = loss.clone();
        let uses_loss = metrics.uses_loss();
        let thread = std::thread::spawn(move || {
            for message in receiver {
                match message {
                    Message::Rows(mut rows) => {
                        rows.apply_to(&mut metrics);
                        shown.store(metrics.progressive.loss().to_bits(), Ordering::Relaxed);
                        // nobody takes spares after the end
                        let _ = spare_sender.send(rows);
                    }
                    Message::Snapshot(answer) => {
                        let _ = answer.send(metrics.clone());
                    }
                }
            }
            metrics
        });
        let sender = Some(sender);
        let rows = RowBuffer::default();
        Self { rows, sender, spare, loss, thread: Some(thread), uses_loss }
    }

    /// Sends the collected rows to the thread.
    pub fn flush(&mut self) {
        let next = self.spare.try_recv().unwrap_or_default();
        let rows = std::mem::replace(&mut self.rows, next);
        self.send(Message::Rows(rows));
    }

    /// If the thread has panicked, [`MetricsThread::finish`] resumes the panic.
    fn send(&self, message: Message) {
        if let Some(sender) = &self.sender {
            let _ = sender.send(message);
        }
    }

    /// A copy of the metrics after all flushed rows; waits for them.
    pub fn snapshot(&mut self) -> Metrics {
        let (answer, metrics) = channel();
        self.send(Message::Snapshot(answer));
        metrics.recv().unwrap_or_else(|_| self.end())
    }

    /// The mean loss after some of the flushed rows, for progress displays; `None` before any.
    pub fn loss(&self) -> Option<f64> {
        Some(f64::from_bits(self.loss.load(Ordering::Relaxed))).filter(|loss| loss.is_finite())
    }

    /// The metrics after all flushed rows; ends the thread.
    pub fn finish(mut self) -> Metrics {
        self.end()
    }

    fn end(&mut self) -> Metrics {
        self.sender = None;
        let thread = self.thread.take().expect("the thread ends once");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Observer for MetricsThread {
    fn row(&mut self, row: &RowView<'_>) {
        self.rows.row(row);
    }

    fn uses_loss(&self) -> bool {
        self.uses_loss
    }
}
