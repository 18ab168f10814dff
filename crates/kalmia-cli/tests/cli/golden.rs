//! A model file of every released format is read and learns more rows.

use crate::harness::{Folder, number, repository, table};

/// Written by the fit below with version 0.1.0; never written again.
const GOLDEN: &str = "crates/kalmia-cli/tests/data/golden/model-format-1.kalmia";

#[test]
fn the_golden_model_predicts_updates_and_agrees_with_a_fit_of_today() {
    let folder = Folder::new("golden");
    folder.write("t.csv", table(1500, ["no", "yes"]));
    std::fs::copy(repository(GOLDEN), folder.path("golden.kalmia")).unwrap();
    let old = folder.json("inspect golden.kalmia --json");
    let new = folder.json("fit t.csv -t y -o m.kalmia --json");
    assert_eq!((old["rows"].as_u64(), old["version"].as_str()), (Some(1500), Some("0.1.0")));
    // the default learner's priors have changed since
    for j in 0..4 {
        let [a, b] = [&old, &new].map(|model| number(&model["coefficients"][j], "estimate"));
        let error = number(&new["coefficients"][j], "std_error");
        assert!((a - b).abs() < 0.05 * error, "coefficient {j}: {a} then, {b} now");
    }
    assert_eq!(folder.ok("predict golden.kalmia t.csv").lines().count(), 1501);
    assert_eq!(folder.json("update golden.kalmia t.csv --json")["rows"].as_u64(), Some(3000));
}
