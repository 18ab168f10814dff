//! Metrics on a thread of their own: the learner hands over what it predicted and goes on.
//!
//! Rows are judged in their order whatever the threads do, so that the sums do not depend on timing.

use crate::error::{Failure, Result};
use kalmia::Observation;
use kalmia::evaluate::Metrics;
use kalmia::learner::{Observer, Seen};
use kalmia::rule::Step;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Blocks that may wait to be judged.
const WAITING: usize = 8;

/// What the metrics need of a row.
#[derive(Debug, Clone, Copy)]
struct Predicted {
    observation: Observation,
    linear: f64,
    variance: f64,
    dispersion: f64,
    mean: f64,
    loss: f64,
}

enum Message {
    Rows(Vec<Predicted>),
    /// Asks for the metrics after all rows sent before.
    Look(Sender<Metrics>),
}

/// The metrics at work elsewhere; an observer that gathers the rows of a block.
pub struct Judge {
    rows: Vec<Predicted>,
    sender: Option<SyncSender<Message>>,
    spare: Receiver<Vec<Predicted>>,
    /// The mean loss so far, as bits.
    loss: Arc<AtomicU64>,
    thread: Option<JoinHandle<Metrics>>,
}

impl Judge {
    /// Takes the metrics over.
    pub fn start(mut metrics: Metrics) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let (spare_sender, spare) = channel();
        let loss = Arc::new(AtomicU64::new(f64::NAN.to_bits()));
        let shown = loss.clone();
        let thread = std::thread::spawn(move || {
            for message in receiver {
                match message {
                    Message::Rows(rows) => {
                        rows.iter().enumerate().for_each(|(index, row)| metrics.row(&row.seen(index)));
                        shown.store(metrics.progressive.loss().to_bits(), Ordering::Relaxed);
                        // nobody takes spares after the end
                        let _ = spare_sender.send(rows);
                    }
                    Message::Look(answer) => {
                        let _ = answer.send(metrics.clone());
                    }
                }
            }
            metrics
        });
        Self { rows: Vec::new(), sender: Some(sender), spare, loss, thread: Some(thread) }
    }

    /// Hands the gathered rows over.
    pub fn hand_over(&mut self) -> Result<()> {
        let mut next = self.spare.try_recv().unwrap_or_default();
        next.clear();
        let rows = std::mem::replace(&mut self.rows, next);
        self.send(Message::Rows(rows))
    }

    fn send(&self, message: Message) -> Result<()> {
        let sent = self.sender.as_ref().map(|sender| sender.send(message));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(gone()) }
    }

    /// The metrics after all rows handed over.
    pub fn look(&self) -> Result<Metrics> {
        let (answer, metrics) = channel();
        self.send(Message::Look(answer))?;
        metrics.recv().map_err(|_| gone())
    }

    /// The mean loss at about this time, for people.
    pub fn loss(&self) -> Option<f64> {
        Some(f64::from_bits(self.loss.load(Ordering::Relaxed))).filter(|loss| loss.is_finite())
    }

    /// The metrics back.
    pub fn finish(mut self) -> Result<Metrics> {
        self.sender = None;
        self.thread.take().and_then(|thread| thread.join().ok()).ok_or_else(gone)
    }
}

fn gone() -> Failure {
    Failure::Other("the thread of the metrics ended early".into())
}

impl Predicted {
    fn seen(&self, index: usize) -> Seen<'_> {
        let Self { observation, linear, variance, dispersion, mean, loss } = *self;
        let step = Step { gain: 0.0, curvature: 0.0 };
        Seen { index, x: &[], observation, linear, variance, dispersion, mean, loss, gradient: 0.0, step }
    }
}

impl Observer for Judge {
    fn row(&mut self, seen: &Seen<'_>) {
        let Seen { observation, linear, variance, dispersion, mean, loss, .. } = *seen;
        self.rows.push(Predicted { observation, linear, variance, dispersion, mean, loss });
    }
}
