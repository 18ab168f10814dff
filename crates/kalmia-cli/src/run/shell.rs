//! `kalmia completions` and `kalmia man`: what the one declaration of the arguments yields beside
//! the parser.

use crate::args::{Cli, CompletionsArgs};
use crate::error::{Failure, Result};
use crate::output;
use clap::CommandFactory;

/// Prints a shell's completions.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kalmia", &mut text);
    output::print_bytes(&text)
}

/// Prints the manual page: the command, then each of its commands.
pub fn man() -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(Failure::Stdout)?;
    for sub in
        command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
    {
        let man = clap_mangen::Man::new(sub.clone());
        man.render_name_section(&mut page).map_err(Failure::Stdout)?;
        man.render_synopsis_section(&mut page).map_err(Failure::Stdout)?;
        man.render_options_section(&mut page).map_err(Failure::Stdout)?;
        if sub.get_after_help().is_some() {
            man.render_extra_section(&mut page).map_err(Failure::Stdout)?;
        }
    }
    output::print_bytes(&page)
}
