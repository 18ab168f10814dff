//! One pass: blocks from the reader go through a model, with metrics, checkpoints and progress on
//! the way.

mod columns;
mod feed;
mod levels;
mod pass;
mod start;

pub use columns::{report_columns, report_left_out};
pub use feed::Feed;
pub use levels::Levels;
pub use pass::{Next, Pass, next};
pub use start::{Start, count_rows, family};
