//! kalmia as a service: models that learn over HTTP, durably, and predict while they learn.
//!
//! ```text
//! request  ->  decode and check  ->  queue  ->  one transaction for all that wait, fsync
//!          ->  learned in the order of the log  ->  answer
//! ```
//!
//! | question | answer |
//! |---|---|
//! | Which routes are there, for whom? | `routes::ROUTES` |
//! | How do bytes become rows? | `body`, [`kalmia_data::Table`] |
//! | What is durable, and when? | `store`: one thread, one transaction per group of requests |
//! | How is an entry of the log learned? | `hosted::learn_entry`, alike at first and on replay |
//! | What happens at a start? | `recover`: the newest snapshot that can be read, then the log |
//! | When does a snapshot replace the log? | `snapshots` |
//! | Who may do what? | `auth` |
//!
//! The state after a restart is, byte for byte, the state of a service that never stopped: an entry
//! of the log is learned in the same parts, and what was refused stays refused.

mod admission;
mod auth;
mod body;
mod config;
mod declaration;
mod error;
mod hosted;
mod jobs;
mod listener;
mod log;
mod openapi;
mod prediction;
mod recover;
mod routes;
mod serve;
mod service;
mod snapshots;
mod store;
mod telemetry;

pub use auth::{Role, new_token};
pub use config::{Config, Limits, TlsFiles};
pub use openapi::json as openapi_json;
pub use serve::serve;
