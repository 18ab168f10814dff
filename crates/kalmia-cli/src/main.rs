//! The `kalmia` command: arguments become a plan, a plan is run, and what goes wrong becomes one
//! message and an exit code.

mod args;
mod error;
mod format;
mod interrupt;
mod learn;
mod output;
mod plan;
mod progress;
mod report;
mod run;
mod visible;

use args::{Cli, Command};
use clap::Parser;
use error::Failure;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => refuse(&error),
    };
    match dispatch(&cli).map_err(Failure::or_stop) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            print_error(&failure.render(&cli.command));
            ExitCode::from(failure.code())
        }
    }
}

fn print_error(text: &str) {
    let colored = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let label = if colored { "\x1b[1;31merror:\x1b[0m" } else { "error:" };
    // if standard error is closed, nobody reads the message
    let _ = writeln!(std::io::stderr(), "{label} {text}");
}

/// Prints what the parser says, which may repeat arguments, and ends.
fn refuse(error: &clap::Error) -> ! {
    if let Some(text) = args::left_out(error) {
        print_error(&text);
        std::process::exit(error.exit_code());
    }
    let plain = error.render().to_string();
    let shown = visible::visible(&plain);
    if shown != plain {
        let _ = write!(std::io::stderr(), "{shown}");
        std::process::exit(error.exit_code());
    }
    error.exit()
}

fn dispatch(cli: &Cli) -> error::Result<()> {
    let ui = progress::Ui::new(cli.quiet);
    match &cli.command {
        Command::Fit(args) => run::fit::run(args, ui),
        Command::Predict(args) => run::predict::run(args, ui),
        Command::Evaluate(args) => run::evaluate::run(args, ui),
        Command::Update(args) => run::update::run(args, ui),
        Command::Inspect(args) => run::inspect::run(args),
        Command::Merge(args) => run::merge::run(args, ui),
        Command::Polish(args) => run::polish::run(args, ui),
        Command::Prune(args) => run::prune::run(args, ui),
        Command::Compare(args) => run::compare::run(args, ui),
        Command::Export(args) => run::export::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => run::serve::run(args),
        #[cfg(feature = "lab")]
        Command::Reproduce(args) => run::reproduce::run(args, ui),
        #[cfg(feature = "lab")]
        Command::Bounds(args) => run::bounds::run(args, ui),
        Command::Completions(args) => run::shell::completions(args),
        Command::Man(args) => run::shell::man(args, ui),
    }
}
