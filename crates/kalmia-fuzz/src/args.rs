//! The arguments of the fuzzer.

use std::path::PathBuf;

use crate::target::{TARGETS, Target, named};

/// Seconds for all targets together, unless others are given.
const DEFAULT_SECONDS: u64 = 60;

/// What the arguments ask for.
pub enum Request {
    /// Fuzz these targets, one after the other.
    Fuzz {
        /// The targets.
        targets: Vec<&'static Target>,
        /// Seconds for each of them.
        seconds: f64,
        /// The seed of the mutations.
        seed: u64,
    },
    /// Fuzz one target in this very process.
    Child {
        /// The target.
        target: &'static Target,
        /// For how long.
        seconds: f64,
        /// The seed of the mutations.
        seed: u64,
    },
    /// Run one target on one file.
    Replay {
        /// The target.
        target: &'static Target,
        /// The file.
        file: PathBuf,
    },
}

/// How the fuzzer is called.
pub fn usage() -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    format!(
        "usage: kalmia-fuzz [TARGET] [--seconds N] [--seed N] [--file FILE]\n\n  \
         TARGET     one of {}; all by default\n  \
         --seconds  for all targets together, {DEFAULT_SECONDS} by default\n  \
         --seed     other inputs, 1 by default; a seed always gives the same ones\n  \
         --file     runs TARGET on this file alone, for example on one that failed",
        names.join(", ")
    )
}

/// Reads the arguments; the error says which one is wrong.
pub fn parse(args: &[String]) -> Result<Request, String> {
    let mut target = None;
    let mut seconds = DEFAULT_SECONDS as f64;
    let mut seed = 1;
    let mut file = None;
    let mut child = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{arg} needs a value"));
        match &**arg {
            "--seconds" => seconds = number(arg, value()?)?,
            "--seed" => seed = number(arg, value()?)?,
            "--file" => file = Some(PathBuf::from(value()?)),
            "--child" => child = true,
            name if target.is_none() => {
                let found = named(name).ok_or_else(|| format!("unknown argument `{name}`"));
                target = Some(found?);
            }
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    match (target, file) {
        (Some(target), Some(file)) => Ok(Request::Replay { target, file }),
        (None, Some(_)) => Err("--file needs a TARGET".into()),
        (Some(target), None) if child => Ok(Request::Child { target, seconds, seed }),
        (Some(target), None) => Ok(Request::Fuzz { targets: vec![target], seconds, seed }),
        (None, None) => {
            let seconds = seconds / TARGETS.len() as f64;
            Ok(Request::Fuzz { targets: TARGETS.iter().collect(), seconds, seed })
        }
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: `{value}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        parse(&args)
    }

    #[test]
    fn all_targets_share_the_seconds() {
        let Ok(Request::Fuzz { targets, seconds, seed: 7 }) = parsed("--seconds 30 --seed 7")
        else {
            panic!("not understood");
        };
        assert_eq!(targets.len(), TARGETS.len());
        assert_eq!(seconds, 30.0 / TARGETS.len() as f64);
        let one = parsed("csv --seconds 30");
        assert!(
            matches!(one, Ok(Request::Fuzz { targets, seconds: 30.0, .. }) if targets.len() == 1)
        );
        assert!(matches!(parsed("csv --file f"), Ok(Request::Replay { .. })));
    }

    #[test]
    fn wrong_arguments_are_named() {
        let refused = |line: &str| parsed(line).err().unwrap_or_default();
        assert_eq!(refused("cvs"), "unknown argument `cvs`");
        assert_eq!(refused("csv --seconds x"), "--seconds: `x` is not a number");
        assert_eq!(refused("--seed"), "--seed needs a value");
        assert_eq!(refused("--file f"), "--file needs a TARGET");
    }
}
