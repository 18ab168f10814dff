//! A bounded mutation fuzzer: good inputs are mutated and read, and neither a panic nor an abort
//! may follow. Inputs are deterministic by their seed.

mod allocator;
mod args;
mod child;
mod mutate;
mod parent;
mod random;
mod target;

use std::process::ExitCode;
use std::time::Instant;

use args::Request;

#[global_allocator]
static ALLOCATOR: allocator::Ceiling = allocator::Ceiling::new();

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args::parse(&args) {
        Ok(request) => run(request),
        Err(error) => Err(format!("{error}\n\n{}", args::usage())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(request: Request) -> Result<(), String> {
    match request {
        Request::Fuzz { targets, seconds, seed } => {
            // All targets run, so that one report has all failures.
            let outcomes = targets.into_iter().map(|target| parent::fuzz(target, seconds, seed));
            let failures: Vec<String> = outcomes.filter_map(Result::err).collect();
            if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
        }
        Request::Child { target, seconds, seed } => {
            let current = parent::folder(target).join("current");
            let start = Instant::now();
            let executions = child::fuzz(target, seconds, seed, &current)
                .map_err(|error| format!("cannot write {}: {error}", current.display()))?;
            let took = start.elapsed().as_secs_f64();
            println!("fuzz {:<8} {executions:>9} executions in {took:.1} s", target.name);
            Ok(())
        }
        Request::Replay { target, file } => {
            let bytes = std::fs::read(&file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            (target.run)(&bytes);
            println!("fuzz {}: {} is read without a failure", target.name, file.display());
            Ok(())
        }
    }
}
