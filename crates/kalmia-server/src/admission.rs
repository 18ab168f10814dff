//! How much may be under way at once: requests, bytes to be learned, bytes being received.

use crate::config::Limits;
use crate::error::{ApiError, Code, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is under way.
#[derive(Debug, Clone)]
pub struct Admission {
    requests: Meter,
    bytes: Meter,
    receiving: Meter,
}

/// A count with a limit.
#[derive(Debug, Clone)]
struct Meter {
    used: Arc<AtomicUsize>,
    limit: usize,
}

/// Room that is held until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    held: Vec<(Arc<AtomicUsize>, usize)>,
}

impl Meter {
    fn new(limit: usize) -> Self {
        Self { used: Arc::default(), limit }
    }

    /// Takes some room. One request always fits, however large, if nothing else is there.
    fn take(&self, amount: usize, into: &mut Admitted) -> bool {
        let fits = |used: usize| {
            let after = used.saturating_add(amount);
            (used == 0 || after <= self.limit).then_some(after)
        };
        let taken = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok();
        if taken {
            into.held.push((self.used.clone(), amount));
        }
        taken
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        for (used, amount) in self.held.drain(..) {
            used.fetch_sub(amount, Ordering::AcqRel);
        }
    }
}

impl Admission {
    /// Nothing is under way.
    pub fn new(limits: &Limits) -> Self {
        Self {
            requests: Meter::new(limits.queue),
            bytes: Meter::new(limits.queue_bytes),
            receiving: Meter::new(limits.receiving_bytes),
        }
    }

    /// Room for a request that writes so many bytes, until it is answered.
    pub fn admit(&self, bytes: usize) -> Result<Admitted> {
        let mut admitted = Admitted { held: Vec::with_capacity(2) };
        if self.requests.take(1, &mut admitted) && self.bytes.take(bytes, &mut admitted) {
            return Ok(admitted);
        }
        Err(full("requests wait to be learned"))
    }

    /// Room for a body that is received.
    pub fn receive(&self, bytes: usize) -> Result<Admitted> {
        let mut admitted = Admitted { held: Vec::with_capacity(1) };
        if self.receiving.take(bytes, &mut admitted) {
            return Ok(admitted);
        }
        Err(full("bodies are being received"))
    }

    /// Requests that wait for their answer.
    pub fn waiting(&self) -> usize {
        self.requests.used.load(Ordering::Acquire)
    }
}

fn full(what: &str) -> ApiError {
    ApiError::new(Code::QueueFull, format!("too many {what}"))
        .hint("try again after the time in Retry-After, with the same Idempotency-Key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back_and_refused_beyond_the_limit() {
        let limits = Limits { queue: 2, queue_bytes: 100, ..Limits::default() };
        let admission = Admission::new(&limits);
        let first = admission.admit(1000).unwrap();
        assert_eq!(admission.admit(1).unwrap_err().code, Code::QueueFull);
        assert_eq!(admission.waiting(), 1, "a refused request holds nothing");
        drop(first);
        let [_one, _two] = [admission.admit(40).unwrap(), admission.admit(40).unwrap()];
        assert!(admission.admit(1).is_err());
        drop(_one);
        assert!(admission.admit(60).is_ok());
    }
}
