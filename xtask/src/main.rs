//! The one command that tests everything: `cargo xtask ci`.

fn main() {}
