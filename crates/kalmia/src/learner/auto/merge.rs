//! Two default learners made one.
