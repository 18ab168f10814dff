//! The compiled half of the Python package: translates arguments, checks them at the edge and calls
//! the library.

mod any;
mod arguments;
mod arrow;
mod blocks;
mod bounds;
mod class_file;
mod class_learner;
mod cluster;
mod cluster_fit;
mod columns;
mod declaration;
mod encode;
mod error;
mod export;
mod family;
mod file;
mod hash;
mod json;
mod kinds;
mod learner;
mod learning;
mod method;
mod metrics;
mod polish;
mod prediction;
mod quantile_file;
mod quantile_scores;
mod querying;
mod river;
mod rows;
mod schema;
mod shared;
mod state;
mod store;
mod table;
mod table_model;
mod wide;

use pyo3::prelude::*;

/// Learners, predictions, bounds and Arrow streams; the package `kalmia` is what users import.
#[pymodule]
mod _kalmia {
    #[pymodule_export]
    use super::arrow::ArrowBlocks;
    #[pymodule_export]
    use super::bounds::{bound_evaluate, bound_list, design_estimate, sphere_minima};
    #[pymodule_export]
    use super::class_file::{export_classes, merge_classes, restore_classes, save_classes};
    #[pymodule_export]
    use super::class_learner::ClassLearner;
    #[pymodule_export]
    use super::cluster::{Shard, Template, merge_shards};
    #[pymodule_export]
    use super::cluster_fit::{Fit, SumsPass, merge_sums};
    #[pymodule_export]
    use super::export::export_model;
    #[pymodule_export]
    use super::family::Family;
    #[pymodule_export]
    use super::file::{load_model, save_model};
    #[pymodule_export]
    use super::hash::{hash_features, hash_texts};
    #[pymodule_export]
    use super::kinds::{Auto, Averaged, AveragedSGD, Filter, OnlineNewtonStep};
    #[pymodule_export]
    use super::learner::Learner;
    #[pymodule_export]
    use super::method::{default_texts, method_defaults, model};
    #[pymodule_export]
    use super::polish::{polish_classes, polish_learner};
    #[pymodule_export]
    use super::prediction::Prediction;
    #[pymodule_export]
    use super::quantile_file::{export_quantiles, save_quantiles};
    #[pymodule_export]
    use super::quantile_scores::{QuantileScores, restore_quantile_scores};
    #[pymodule_export]
    use super::river::{predict_mean, river_row, shrink, wide_row};
    #[pymodule_export]
    use super::schema::Schema;
    #[pymodule_export]
    use super::store::{merge, restore};
    #[pymodule_export]
    use super::table_model::{Claim, TableModel};
    #[pymodule_export]
    use super::wide::WideRows;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", kalmia::file::VERSION)
    }
}
