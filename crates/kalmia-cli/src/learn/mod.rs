//! One pass: blocks from the reader go through a model, with metrics, checkpoints and progress on
//! the way. Further passes, and passes over several parts at the same time.

mod columns;
mod command_learner;
mod feed;
mod levels;
mod parts;
mod pass;
mod polish;
mod shards;
mod start;

pub use columns::{report_columns, report_left_out};
pub use command_learner::{CommandLearner, Watch};
pub use feed::{Feed, shuffle};
pub use levels::Levels;
pub use parts::{PartProgress, each_part};
pub use pass::{Next, Pass, next};
pub use polish::{Passes, PolishOptions, PolishedModel, polish};
pub use shards::{CutFiles, ShardedFit, fit_shards};
pub use start::{Start, count_rows, family};
