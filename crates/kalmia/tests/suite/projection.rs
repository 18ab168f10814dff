//! The projection onto a ball: against 120-digit solutions, and by the conditions that single it
//! out.
//!
//! `data/projection_cases.json` was computed independently of this crate at 120 digits, hard cases
//! included; its `meta` gives the tolerances.

use crate::common::{minus, norm, property};
use kalmia::Error;
use kalmia::learner::project;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(rename = "A")]
    a: Vec<Vec<f64>>,
    v: Vec<f64>,
    #[serde(rename = "D")]
    radius: f64,
    w: Vec<f64>,
    mu: f64,
    inside: bool,
    #[serde(rename = "cond_A")]
    condition: f64,
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&minus(a, b))
}

#[test]
fn every_reference_case_is_met() {
    let file: File = serde_json::from_str(include_str!("../data/projection_cases.json")).unwrap();
    assert!(file.cases.len() > 20);
    for case in file.cases {
        let name = &case.name;
        let found = project(&case.v, &case.a.concat(), case.radius).unwrap();
        let tolerance = (1e-15 * case.condition).max(1e-12);
        let error = distance(&found.point, &case.w) / norm(&case.w).max(f64::MIN_POSITIVE);
        println!("{name}: error {error:.1e}, {} factors", found.factors);
        assert!(error <= tolerance, "{name}: {error:e}");
        assert!(
            norm(&found.point) <= case.radius * (1.0 + 1e-14),
            "{name}: {:?}",
            norm(&found.point)
        );
        // the multiplier of a point barely outside is the small difference of two numbers near 1
        assert!(
            (found.multiplier - case.mu).abs() <= tolerance.max(1e-6) * case.mu,
            "{name}: {}",
            found.multiplier
        );
        assert!(found.factors <= 6, "{name}: {} factors", found.factors);
        if case.inside {
            assert_eq!((found.point, found.factors), (case.v, 0), "{name}");
        }
    }
}

#[test]
fn bad_input_is_named() {
    let unit = [1.0, 0.0, 0.0, 1.0];
    assert!(matches!(
        project(&[3.0, 0.0], &unit, 0.0),
        Err(Error::Parameter { name: "radius", .. })
    ));
    assert!(matches!(
        project(&[3.0], &unit, 1.0),
        Err(Error::Length { name: "precision", expected: 1, found: 4 })
    ));
    assert!(matches!(
        project(&[f64::NAN, 0.0], &unit, 1.0),
        Err(Error::Parameter { name: "projection", .. })
    ));
    let indefinite = [1.0, 2.0, 2.0, 1.0];
    assert!(matches!(
        project(&[3.0, 0.0], &indefinite, 1.0),
        Err(Error::NotPositiveDefinite { pivot: 1, .. })
    ));
}

/// $BB^\top$ with columns of sizes $10^{e_j}$, plus a little of the identity: spectra of all
/// widths.
fn matrix(dim: usize, entries: &[f64], sizes: &[f64]) -> Vec<f64> {
    let b = |i: usize, j: usize| entries[i * dim + j] * 10f64.powf(sizes[j]);
    let mut a = vec![0.0; dim * dim];
    for i in 0..dim {
        for j in 0..=i {
            let value: f64 =
                (0..dim).map(|k| b(i, k) * b(j, k)).sum::<f64>() + if i == j { 1e-2 } else { 0.0 };
            a[i * dim + j] = value;
            a[j * dim + i] = value;
        }
    }
    a
}

proptest! {
    #![proptest_config(property(7, 400))]

    /// $A(v-w) = \mu w$ with $\mu \ge 0$ and $\|w\| = R$: by convexity no other point satisfies it.
    #[test]
    fn the_optimality_conditions_hold(
        dim in 1usize..9,
        entries in prop::collection::vec(-1.0..1.0f64, 64),
        sizes in prop::collection::vec(-2.0..2.0f64, 8),
        v in prop::collection::vec(-1.0..1.0f64, 8),
        ln_length in -1.0..40.0f64,
        ln_radius in -3.0..3.0f64,
    ) {
        let a = matrix(dim, &entries, &sizes);
        let radius = ln_radius.exp();
        let v: Vec<f64> = v[..dim].iter().map(|v| v * ln_length.exp()).collect();
        let found = project(&v, &a, radius).unwrap();
        let w = &found.point;
        let mu = found.multiplier;
        if norm(&v) <= radius {
            prop_assert_eq!(w, &v);
            return Ok(());
        }
        prop_assert!(mu >= 0.0 && (norm(w) / radius - 1.0).abs() <= 1e-14);
        prop_assert!(found.factors <= 12, "{} factors", found.factors);
        for i in 0..dim {
            let row = &a[i * dim..][..dim];
            let pull: f64 = (0..dim).map(|j| row[j] * (v[j] - w[j])).sum();
            let terms = (0..dim).map(|j| (row[j] * v[j]).abs() + (row[j] * w[j]).abs());
            let scale = terms.sum::<f64>() + mu * radius;
            prop_assert!((pull - mu * w[i]).abs() <= 1e-11 * scale, "{pull} {} {scale}", mu * w[i]);
        }
    }
}
