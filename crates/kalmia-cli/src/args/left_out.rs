//! The subcommands that this build was made without: what to say of them.

use clap::error::{ContextKind, ContextValue};

/// Each with the feature that adds it.
const LEFT_OUT: &[(&str, &str)] = &[
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
    let ContextValue::String(given) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let (command, feature) = LEFT_OUT.iter().find(|(command, _)| command == given)?;
    Some(format!(
        "this build has no `kalmia {command}`: it was made without the feature `{feature}`\n\
         hint: `cargo install --path crates/kalmia-cli` builds the whole command; with \
         --no-default-features, add --features {feature}"
    ))
}
