//! `kalmia completions` and `kalmia man`: what the one declaration of the arguments yields beside
//! the parser.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Failure, Result};
use crate::output;
use crate::progress::Ui;
use clap::{Command, CommandFactory};

/// Prints a shell's completions.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kalmia", &mut text);
    output::print_bytes(&text)
}

/// Prints the manual page of a command, or writes all pages to a folder.
pub fn man(args: &ManArgs, ui: Ui) -> Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.output_dir else {
        let asked = args.command.as_deref().and_then(|name| command.find_subcommand(name));
        return output::print_bytes(&page(asked.unwrap_or(&command))?.text);
    };
    std::fs::create_dir_all(folder).map_err(Failure::output(folder))?;
    let mut written = 0;
    for described in std::iter::once(&command).chain(command.get_subcommands()) {
        let Page { file_name, text } = page(described)?;
        output::write_file(&folder.join(file_name), &text)?;
        written += 1;
    }
    ui.note(&format!("{written} manual pages are in {}", folder.display()));
    Ok(())
}

/// A manual page.
struct Page {
    file_name: String,
    text: Vec<u8>,
}

fn page(command: &Command) -> Result<Page> {
    let man = clap_mangen::Man::new(command.clone())
        .source(concat!("kalmia ", env!("CARGO_PKG_VERSION")))
        .manual("kalmia");
    let mut text = Vec::new();
    man.render(&mut text).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(Page { file_name: man.get_filename(), text })
}
