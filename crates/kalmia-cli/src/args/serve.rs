//! Arguments of the service.

use clap::Args;
use kalmia_server::{Config, Limits, Role, TlsFiles};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVE_EXAMPLES: &str = "\
Examples:
  kalmia serve --data ./models
  curl -X PUT  localhost:8642/v1/models/late -d '{\"family\":\"bernoulli\",\"target\":\"late\"}'
  curl -X POST localhost:8642/v1/models/late/learn -H 'Idempotency-Key: 7' \\
       -d '[{\"hour\":9,\"dist\":1400,\"late\":1}]'
  curl -X POST localhost:8642/v1/models/late/predict -d '[{\"hour\":18,\"dist\":300}]'
  open http://localhost:8642/                       (the page)
  kalmia serve --print-token admin                  (a token, and its line in a token file)
  kalmia serve --data /var/lib/kalmia --listen 0.0.0.0:8642 --token-file tokens

What is acknowledged is on the disk: a row is learned once, whatever happens, if its request is
repeated with the same Idempotency-Key. SIGTERM stops the service within a second, with snapshots;
SIGHUP reads the tokens again. GET /openapi.json describes all routes. docs/service.md explains
backup, upgrades and proxies.

Exit codes: 0 success; 1 or 2 it could not start.";

/// `kalmia serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct ServeArgs {
    /// The folder of the database and the models; made if it does not exist
    #[arg(long, value_name = "FOLDER", required_unless_present = "print_token")]
    pub data: Option<PathBuf>,
    /// Where to listen. Without tokens only the loopback interface is allowed; port 0 chooses one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8642")]
    pub listen: SocketAddr,
    /// Who may use the service: per line a role (read, learn, admin) and the SHA-256 of a token
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    pub token_file: Option<PathBuf>,
    /// Print a new token of this role and its line for the token file, then end
    #[arg(long, value_name = "ROLE", help_heading = "Security")]
    pub print_token: Option<Role>,
    /// The certificate chain of HTTPS, as a PEM file
    #[arg(long, value_name = "PEM", requires = "tls_key", help_heading = "Security")]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of that certificate, as a PEM file
    #[arg(long, value_name = "PEM", requires = "tls_certificate", help_heading = "Security")]
    pub tls_key: Option<PathBuf>,
    /// Time between two snapshots of a model that learns; the log is kept since the older of two
    #[arg(long, value_name = "SECONDS", default_value_t = 60, help_heading = "Storage")]
    pub snapshot_every: u64,
    /// How long a predicted or chosen row waits for its label, in hours
    #[arg(long, value_name = "HOURS", default_value_t = 168, help_heading = "Storage")]
    pub label_hours: u64,
    /// How long an Idempotency-Key is remembered, in hours
    #[arg(long, value_name = "HOURS", default_value_t = 168, help_heading = "Storage")]
    pub key_hours: u64,
    /// How long requests may go on after SIGTERM, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 800, help_heading = "Storage")]
    pub drain: u64,
    /// Largest body of a request, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 64, help_heading = "Limits")]
    pub max_body: usize,
    /// Most rows of a request
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Limits")]
    #[arg(value_parser = rows)]
    pub max_rows: usize,
    /// Most columns of a request
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Limits")]
    pub max_columns: usize,
    /// Most models
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Limits")]
    pub max_models: usize,
    /// Most memory of all models together, in megabytes, checked when a model gets its columns; by
    /// default each model may take up to half of what is free
    #[arg(long, value_name = "MB", help_heading = "Limits")]
    pub max_memory: Option<usize>,
    /// Most learn requests that wait for their answer; further ones get the status 429
    #[arg(long, value_name = "N", default_value_t = 4096, help_heading = "Limits")]
    pub max_queue: usize,
}

/// A number of rows that a table can have.
fn rows(text: &str) -> std::result::Result<usize, String> {
    let rows: usize = text.parse().map_err(|_| "give a whole number".to_owned())?;
    match rows {
        1..=16_777_216 => Ok(rows),
        _ => Err("give 1 to 16777216 rows".into()),
    }
}

impl ServeArgs {
    /// As the service takes them.
    pub fn config(&self, data: PathBuf) -> Config {
        let hours = |hours: u64| Duration::from_secs(hours.saturating_mul(3600));
        let files = self.tls_certificate.clone().zip(self.tls_key.clone());
        let default = Limits::default();
        let body_bytes = self.max_body.saturating_mul(1 << 20);
        Config {
            listen: self.listen,
            token_file: self.token_file.clone(),
            tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
            snapshot_every: Duration::from_secs(self.snapshot_every),
            label_ttl: hours(self.label_hours),
            key_ttl: hours(self.key_hours),
            drain: Duration::from_millis(self.drain),
            limits: Limits {
                body_bytes,
                rows: self.max_rows,
                columns: self.max_columns,
                models: self.max_models,
                queue: self.max_queue,
                receiving_bytes: default.receiving_bytes.max(body_bytes),
                model_bytes: self.max_memory.map_or(default.model_bytes, |mb| mb << 20),
                ..default
            },
            ..Config::new(data)
        }
    }
}
