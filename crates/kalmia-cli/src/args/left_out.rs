//! The subcommands that this build was made without: what to say of them.

use clap::error::{ContextKind, ContextValue};

/// Commands, each with the feature that adds it.
type Features = [(&'static str, &'static str)];

const LEFT_OUT: &Features = &[
    #[cfg(not(feature = "serve"))]
    ("serve", "serve"),
    #[cfg(not(feature = "lab"))]
    ("reproduce", "lab"),
    #[cfg(not(feature = "lab"))]
    ("bounds", "lab"),
];

/// What the overview says of them.
pub fn note() -> Option<String> {
    let names: Vec<_> = LEFT_OUT.iter().map(|(command, _)| *command).collect();
    (!names.is_empty()).then(|| {
        format!(
            "This build leaves out: {}. `cargo install --path crates/kalmia-cli` builds the whole \
             command.",
            names.join(", ")
        )
    })
}

/// What to say if the parser met one of them.
pub fn left_out(error: &clap::Error) -> Option<String> {
    message(error, LEFT_OUT)
}

fn message(error: &clap::Error, left_out: &Features) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let (command, feature) = left_out.iter().find(|(command, _)| command == given)?;
    Some(format!(
        "this build has no `kalmia {command}`: it was made without the feature `{feature}`\n\
         hint: `cargo install --path crates/kalmia-cli` builds the whole command; with \
         --no-default-features, add --features {feature}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn a_command_that_was_left_out_is_named_with_its_feature() {
        let left_out: &Features = &[("paint", "brushes")];
        for words in [&["kalmia", "paint", "--red", "x"][..], &["kalmia", "help", "paint"]] {
            let error = Cli::try_parse_from(words).unwrap_err();
            let text = message(&error, left_out).unwrap();
            assert!(text.contains("no `kalmia paint`") && text.contains("--features brushes"));
        }
        let typo = Cli::try_parse_from(["kalmia", "fitt"]).unwrap_err();
        assert_eq!(message(&typo, left_out), None);
    }
}
