//! What an operator can set.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How the service runs. [`Config::new`] has the defaults that the command documents.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of the database and the snapshots; made if it does not exist.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Roles and hashed tokens; without it only the loopback interface is allowed.
    pub token_file: Option<PathBuf>,
    /// Certificate and key of HTTPS, as PEM files.
    pub tls: Option<TlsFiles>,
    /// Time between two snapshots of a model that learns.
    pub snapshot_every: Duration,
    /// How long a row waits for its label.
    pub label_ttl: Duration,
    /// How long an idempotency key is remembered.
    pub key_ttl: Duration,
    /// How long requests may go on after a stop was asked for.
    pub drain: Duration,
    /// What a client may ask for.
    pub limits: Limits,
}

/// The files of HTTPS.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// What a client may ask for; more is refused with an error that names the limit.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Rows of a request.
    pub rows: usize,
    /// Columns of a request.
    pub columns: usize,
    /// Models.
    pub models: usize,
    /// Learn requests that wait, each with its answer outstanding.
    pub queue: usize,
    /// Bytes of rows that wait to be learned.
    pub queue_bytes: usize,
    /// Bytes of all bodies that are being received.
    pub receiving_bytes: usize,
    /// Bytes of all models together.
    pub model_bytes: usize,
}

impl Config {
    /// The defaults.
    pub fn new(data: PathBuf) -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], 8642)),
            token_file: None,
            tls: None,
            snapshot_every: Duration::from_secs(60),
            label_ttl: 7 * day,
            key_ttl: 7 * day,
            drain: Duration::from_millis(800),
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            rows: 100_000,
            columns: 10_000,
            models: 1000,
            queue: 4096,
            queue_bytes: 256 << 20,
            receiving_bytes: 512 << 20,
            model_bytes: usize::MAX,
        }
    }
}
