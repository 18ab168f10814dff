//! The step `cluster`: the Python package with the engines and brokers that it works with.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::debian::require;
use crate::python::Environment;
use crate::runner::Outcome::{self, Partly, Passed, Skipped};

const TESTS: &str = "python/tests/cluster";

/// The engines need other versions of packages than the rest of the tests.
const VENV: &str = "target/venv-cluster";

/// Spark is started in `ci` if the other engines are through by then: it takes up to four minutes,
/// and the step is to take at most ten.
const LATEST_START_OF_SPARK: Duration = Duration::from_secs(6 * 60);

/// Everything.
pub fn all(root: &Path) -> Result<Outcome, String> {
    match others(root)? {
        Some(environment) => spark(&environment),
        None => Ok(NOTHING),
    }
}

/// What `ci` runs: DataFusion, Dask, Kafka and NATS always, Spark if there is time.
pub fn bounded(root: &Path) -> Result<Outcome, String> {
    let start = Instant::now();
    let Some(environment) = others(root)? else { return Ok(NOTHING) };
    if start.elapsed() > LATEST_START_OF_SPARK {
        return Ok(Partly("Spark was not run, to stay within ten minutes: cargo xtask cluster"));
    }
    if require("java", "default-jre-headless").is_err() {
        return Ok(Partly("Spark was not run, for lack of java: cargo xtask cluster says more"));
    }
    spark(&environment)
}

const NOTHING: Outcome = Skipped("python/tests/cluster does not exist");

/// DataFusion, Dask, Kafka and NATS.
fn others(root: &Path) -> Result<Option<Environment<'_>>, String> {
    if !root.join(TESTS).is_dir() {
        return Ok(None);
    }
    require("nats-server", "nats-server")?;
    let environment = Environment::new(root, VENV)?;
    install(&environment, "cluster-test")?;
    run_tests(&environment, "not spark")?;
    Ok(Some(environment))
}

fn spark(environment: &Environment<'_>) -> Result<Outcome, String> {
    require("java", "default-jre-headless")?;
    install(environment, "spark")?;
    run_tests(environment, "spark")?;
    Ok(Passed)
}

fn install(environment: &Environment<'_>, extra: &str) -> Result<(), String> {
    let args = ["-q", "--disable-pip-version-check", &format!("./python[{extra}]")];
    environment.run_module("pip", &[&["install"], &args[..]].concat())?;
    Ok(())
}

/// The tests with, or without, the mark `spark`. One that is skipped is a failure here: everything
/// that it needs was installed.
fn run_tests(environment: &Environment<'_>, marks: &str) -> Result<(), String> {
    environment.run_module("pytest", &[TESTS, "-m", marks, "--no-skips"])?;
    Ok(())
}
