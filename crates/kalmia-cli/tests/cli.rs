//! The command as a user meets it: every test runs the real binary in a folder of its own.

#[path = "cli/harness.rs"]
mod harness;

#[path = "cli/bounds.rs"]
mod bounds;
#[path = "cli/checkpoint.rs"]
mod checkpoint;
#[path = "cli/class_passes.rs"]
mod class_passes;
#[path = "cli/classes.rs"]
mod classes;
#[path = "cli/conformal.rs"]
mod conformal;
#[path = "cli/examples.rs"]
mod examples;
#[path = "cli/families.rs"]
mod families;
#[path = "cli/fit.rs"]
mod fit;
#[path = "cli/golden.rs"]
mod golden;
#[path = "cli/hostile.rs"]
mod hostile;
#[cfg(unix)]
#[path = "cli/interrupt.rs"]
mod interrupt;
#[path = "cli/methods.rs"]
mod methods;
#[path = "cli/model.rs"]
mod model;
#[path = "cli/ordinal.rs"]
mod ordinal;
#[path = "cli/outliers.rs"]
mod outliers;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/polish.rs"]
mod polish;
#[path = "cli/predicted.rs"]
mod predicted;
#[path = "cli/quantiles.rs"]
mod quantiles;
#[path = "cli/reading.rs"]
mod reading;
#[path = "cli/rows.rs"]
mod rows;
#[path = "cli/shards.rs"]
mod shards;
#[path = "cli/shuffle.rs"]
mod shuffle;
#[path = "cli/small.rs"]
mod small;
#[path = "cli/sparse.rs"]
mod sparse;
#[path = "cli/sparse_classes.rs"]
mod sparse_classes;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/wide.rs"]
mod wide;
