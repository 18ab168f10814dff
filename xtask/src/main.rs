//! The one command that tests everything: `cargo xtask ci`.

mod api;
mod cluster;
mod crash;
mod debian;
mod fuzz;
mod page;
mod python;
mod runner;
mod steps;
mod style;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use runner::Step;
use steps::{STEPS, TOOLS, WHOLE};

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
enum Request {
    Help,
    Run(Vec<&'static Step>),
    /// The fuzzer with these arguments.
    Fuzz(Vec<String>),
    Unknown(String),
}

fn parse(args: &[String]) -> Request {
    match args {
        [] => Request::Help,
        [one] if ["help", "--help", "-h"].contains(&one.as_str()) => Request::Help,
        [one] if one == "ci" => Request::Run(STEPS.iter().collect()),
        [one] => match WHOLE.iter().chain(STEPS).chain(TOOLS).find(|step| step.name == one) {
            Some(step) => Request::Run(vec![step]),
            None => Request::Unknown(one.clone()),
        },
        [fuzz, rest @ ..] if fuzz == "fuzz" => Request::Fuzz(rest.to_vec()),
        many => Request::Unknown(many.join(" ")),
    }
}

fn help() -> String {
    let line = |step: &Step| format!("  {:<9} {}\n", step.name, step.about);
    let steps: String = STEPS.iter().map(line).collect();
    let tools: String = TOOLS.iter().map(line).collect();
    format!(
        "usage: cargo xtask <command>\n\n  \
         ci        every step below, in this order, up to the first failure\n{steps}\n\
         not part of ci:\n{tools}  \
         fuzz [TARGET] [--seconds N] [--seed N] [--file FILE]\n            \
         the fuzzer for longer, or on one target or file\n  \
         help      this text"
    )
}

/// The workspace's folder. Cargo sets the variable at run time too, so a moved clone needs no
/// rebuild.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map(Path::to_path_buf).unwrap_or(manifest)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args) {
        Request::Help => {
            println!("{}", help());
            ExitCode::SUCCESS
        }
        Request::Unknown(what) => {
            eprintln!("xtask: unknown command `{what}`\n\n{}", help());
            ExitCode::from(2)
        }
        Request::Fuzz(args) => match fuzz::fuzz(&root(), &args) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("xtask: {error}");
                ExitCode::FAILURE
            }
        },
        Request::Run(steps) => {
            let records = runner::run(&steps, &root());
            println!("\n{}", runner::summary(&records));
            if runner::all_good(&records) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Request {
        parse(&args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn ci_runs_every_step_and_a_name_runs_one() {
        assert_eq!(parsed(&["ci"]), Request::Run(STEPS.iter().collect()));
        for step in STEPS.iter().chain(TOOLS) {
            assert_eq!(parsed(&[step.name]), Request::Run(vec![step]));
        }
    }

    #[test]
    fn a_name_runs_the_whole_of_a_step() {
        for step in WHOLE {
            let Request::Run(found) = parsed(&[step.name]) else { panic!("{}", step.name) };
            assert_eq!(found[0].about, step.about);
            assert!(STEPS.iter().any(|other| other == step && other.about != step.about));
        }
    }

    #[test]
    fn anything_else_is_help_or_refused() {
        assert_eq!(parsed(&[]), Request::Help);
        assert_eq!(parsed(&["--help"]), Request::Help);
        assert_eq!(parsed(&["tset"]), Request::Unknown("tset".into()));
        assert_eq!(parsed(&["fmt", "lint"]), Request::Unknown("fmt lint".into()));
        let args = ["csv".to_string(), "--seconds".into(), "600".into()];
        assert_eq!(parsed(&["fuzz", "csv", "--seconds", "600"]), Request::Fuzz(args.into()));
    }

    #[test]
    fn help_names_every_step() {
        for step in STEPS.iter().chain(TOOLS) {
            assert!(
                help().contains(&format!("\n  {} ", step.name)),
                "{} is missing from the help",
                step.name
            );
        }
    }
}
