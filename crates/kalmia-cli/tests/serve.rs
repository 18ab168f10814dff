//! The service as its clients meet it: every test runs the real command and speaks HTTP to it.

#![cfg(all(unix, feature = "serve"))]

#[path = "serve/formats.rs"]
mod formats;
#[path = "cli/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of the command")]
mod harness;
#[path = "serve/server.rs"]
mod server;

#[path = "serve/access.rs"]
mod access;
#[path = "serve/bodies.rs"]
mod bodies;
#[path = "serve/classes.rs"]
mod classes;
#[path = "serve/conformal.rs"]
mod conformal;
#[path = "serve/crash.rs"]
mod crash;
#[path = "serve/damage.rs"]
mod damage;
#[path = "serve/declared.rs"]
mod declared;
#[path = "serve/delayed.rs"]
mod delayed;
#[path = "serve/fuzz.rs"]
mod fuzz;
#[path = "serve/inference.rs"]
mod inference;
#[path = "serve/keys.rs"]
mod keys;
#[path = "serve/life.rs"]
mod life;
#[path = "serve/limits.rs"]
mod limits;
#[path = "serve/ordinal.rs"]
mod ordinal;
#[path = "serve/quantiles.rs"]
mod quantiles;
#[path = "serve/several.rs"]
mod several;
#[path = "serve/watching.rs"]
mod watching;
