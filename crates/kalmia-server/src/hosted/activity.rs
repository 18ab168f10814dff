//! What happened lately: rows per second, and the last refused requests.

use crate::error::{ApiError, Code};
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Instant, SystemTime};
use utoipa::ToSchema;

/// Seconds that the rate is a mean over.
const SECONDS: u64 = 10;
/// Refused requests that are kept.
const ERRORS: usize = 20;

/// A refused request, without the values of its rows.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PastError {
    /// When, in UTC.
    pub time: String,
    /// Its code.
    pub code: Code,
    /// What was wrong.
    pub message: String,
}

/// What happened lately.
#[derive(Debug)]
pub struct Activity {
    start: Instant,
    /// Seconds since the start, with the rows learned in them.
    rows: VecDeque<(u64, u64)>,
    errors: VecDeque<PastError>,
}

impl Default for Activity {
    fn default() -> Self {
        Self { start: Instant::now(), rows: VecDeque::new(), errors: VecDeque::new() }
    }
}

impl Activity {
    /// Counts learned rows.
    pub fn learned(&mut self, rows: u64) {
        let now = self.start.elapsed().as_secs();
        match self.rows.back_mut() {
            Some((second, count)) if *second == now => *count += rows,
            _ => self.rows.push_back((now, rows)),
        }
        while self.rows.front().is_some_and(|(second, _)| second + SECONDS < now) {
            self.rows.pop_front();
        }
    }

    /// Rows per second over the last ten seconds.
    pub fn rate(&self) -> f64 {
        let now = self.start.elapsed();
        let recent = self.rows.iter().filter(|(second, _)| second + SECONDS >= now.as_secs());
        let rows: u64 = recent.map(|(_, rows)| rows).sum();
        rows as f64 / now.as_secs_f64().clamp(1.0, SECONDS as f64)
    }

    /// Keeps a refused request.
    pub fn refused(&mut self, error: &ApiError) {
        self.errors.truncate(ERRORS - 1);
        self.errors.push_front(PastError {
            time: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            code: error.code,
            message: error.without_values(),
        });
    }

    /// The last refused requests, the newest first.
    pub fn errors(&self) -> Vec<PastError> {
        self.errors.iter().cloned().collect()
    }
}
