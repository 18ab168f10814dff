//! The arguments of `kalmia bounds`.

use super::names::described;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use kalmia_theory::registry;
use std::ffi::OsStr;

/// `kalmia bounds`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  kalmia bounds list
  kalmia bounds result_logistic --help
  kalmia bounds uniform_design --m 10
  kalmia bounds asgd_steps --d 11 --nstar 2.3 --sweep N=1:1e6:25 --plot steps.svg
  kalmia bounds tau_delta_linear --data rows.csv --target y --eps 0.1 --delta 0.01 --Dapp 0 --p1 1
  kalmia bounds sphere_minimum --theta=-0.9,0,0.3 --points 1000 --seed 1
  kalmia bounds evaluate cases.json

`--sweep NAME=FROM:TO:COUNT` varies one parameter, by factors if TO is above 10 FROM (a fourth part,
:lin or :log, decides otherwise); `--sweep NAME=A,B,C` takes a list. `--outputs A,B` chooses what is
listed and drawn. `--data FILE --target COLUMN`, with the options of fit about files and columns,
estimates d, n, D_X, Lmin, nstar, dist1 and sigma from rows, unless they are given.

A file of cases is one JSON object. It lists the cases of each bound under `functions`; `in` has the
parameters, which are numbers or texts such as \"1e5\", and `name` may be left out:
  {\"functions\": {\"uniform_design\": {\"cases\": [{\"name\": \"ten\", \"in\": {\"m\": 10}}]}}}
`evaluate` prints the same object with the values in `out` of every case and, if the errata change
the bound, the corrected ones in `out_corrected`. Everything else in the file is kept.")]
pub struct BoundsArgs {
    /// What to do, or a bound and its parameters as `--name value`
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WHAT",
        value_parser = bounds()
    )]
    pub words: Vec<String>,
}

/// The first words by name, with a line of help each.
fn bounds() -> Suggested {
    let actions = [
        described("list", "List the bounds"),
        described("evaluate", "Evaluate a file of cases: `evaluate FILE.json`"),
        described("sphere_minimum", "The optimistic exp-concavity constant, a random minimum"),
    ];
    let entries =
        registry().iter().map(|entry| described(entry.name, entry.summary.trim_end_matches('.')));
    Suggested(actions.into_iter().chain(entries).collect())
}

/// A parser of any text, whose usual values the help and the completions show.
#[derive(Debug, Clone)]
struct Suggested(Vec<PossibleValue>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}
