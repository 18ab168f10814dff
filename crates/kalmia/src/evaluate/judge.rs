//! Metrics on a thread of their own: the learner hands over what it predicted and goes on.
//!
//! Rows are judged in their order whatever the threads do, so that the sums do not depend on
//! timing.

use super::Metrics;
use crate::learner::{Observer, Seen};
use crate::rows::Observation;
use crate::rule::Step;
use std::panic::resume_unwind;
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

/// [`Metrics`] at work on a thread of their own; an observer that gathers rows until they are
/// handed over.
///
/// ```
/// use kalmia::evaluate::{Judge, Metrics};
/// use kalmia::{AnyFamily, Auto, Learner, Rows};
/// let family: AnyFamily = "gaussian".parse()?;
/// let (mut model, mut judge) = (Auto::new(family, 1)?, Judge::start(Metrics::new(family)?));
/// for (x, y) in [([1.0, 2.0], [1.1, 1.9]), ([3.0, 4.0], [3.2, 3.9])] {
///     model.learn_observed(Rows::new(1, &x, &y)?, Some(&mut judge))?;
///     judge.hand_over();
/// }
/// assert_eq!(judge.finish().progressive.rows(), 4);
/// # Ok::<(), kalmia::Error>(())
/// ```
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
                        rows.iter()
                            .enumerate()
                            .for_each(|(index, row)| metrics.row(&row.seen(index)));
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
    pub fn hand_over(&mut self) {
        let mut next = self.spare.try_recv().unwrap_or_default();
        next.clear();
        let rows = std::mem::replace(&mut self.rows, next);
        self.send(Message::Rows(rows));
    }

    /// A thread that is gone has panicked; [`Judge::finish`] passes that on.
    fn send(&self, message: Message) {
        if let Some(sender) = &self.sender {
            let _ = sender.send(message);
        }
    }

    /// The metrics after all rows handed over.
    pub fn look(&mut self) -> Metrics {
        let (answer, metrics) = channel();
        self.send(Message::Look(answer));
        metrics.recv().unwrap_or_else(|_| self.end())
    }

    /// The mean loss at about this time, for people.
    pub fn loss(&self) -> Option<f64> {
        Some(f64::from_bits(self.loss.load(Ordering::Relaxed))).filter(|loss| loss.is_finite())
    }

    /// The metrics after all rows handed over, and the end of the thread.
    pub fn finish(mut self) -> Metrics {
        self.end()
    }

    fn end(&mut self) -> Metrics {
        self.sender = None;
        let thread = self.thread.take().expect("a judge ends once");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Predicted {
    fn seen(&self, index: usize) -> Seen<'_> {
        let Self { observation, linear, variance, dispersion, mean, loss } = *self;
        Seen {
            index,
            x: &[],
            observation,
            linear,
            variance,
            dispersion,
            mean,
            loss,
            gradient: 0.0,
            step: Step::NONE,
        }
    }
}

impl Observer for Judge {
    fn row(&mut self, seen: &Seen<'_>) {
        let Seen { observation, linear, variance, dispersion, mean, loss, .. } = *seen;
        self.rows.push(Predicted { observation, linear, variance, dispersion, mean, loss });
    }
}
