//! One pass: blocks from the reader go through a learner, with metrics, checkpoints and progress on
//! the way.

mod choose;
mod drive;
mod levels;

pub use choose::{build, choose_family, horizon};
pub use drive::{Next, Pass, learn_block, next};
pub use levels::Levels;
