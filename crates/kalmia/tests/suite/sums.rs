//! Sums at fixed coefficients against plain loops, however the rows are cut, weighted or stored.

mod autos;
mod class_merging;
mod classes;
mod merging;
mod polishing;

use crate::common::{
    Data, Rng, centered, dot, families, gap, largest, near, property, rng, uniform,
};
use kalmia::evaluate::deviance;
use kalmia::sums::{Sums, SumsState};
use kalmia::{AnyFamily, Error, Family, Gaussian, Poisson, Rows, SparseMatrix, SparseRows};
use proptest::prelude::*;

/// Sums by a plain loop with sizes of terms, for a relative comparison.
struct Plain {
    gradient: Vec<f64>,
    gradient_size: Vec<f64>,
    information: Vec<f64>,
    scores: Vec<f64>,
    deviance: f64,
    pearson: f64,
    weight: f64,
}

fn plain(family: &AnyFamily, theta: &[f64], rows: Rows<'_>) -> Plain {
    let d = theta.len();
    let unit = family.with_dispersion(1.0).unwrap();
    let mut sums = Plain {
        gradient: vec![0.0; d],
        gradient_size: vec![0.0; d],
        information: vec![0.0; d * d],
        scores: vec![0.0; d * d],
        deviance: 0.0,
        pearson: 0.0,
        weight: 0.0,
    };
    for i in 0..rows.len() {
        let x = rows.x(i);
        let row = rows.observation(i);
        let y = family.canonical(row.y).unwrap();
        let u = dot(x, theta) + row.offset;
        let (first, second) = family.derivatives(y, u);
        for j in 0..d {
            sums.gradient[j] += row.weight * first * x[j];
            sums.gradient_size[j] += (row.weight * first * x[j]).abs();
            for k in 0..d {
                sums.information[j * d + k] += row.weight * second * x[j] * x[k];
                sums.scores[j * d + k] += (row.weight * first).powi(2) * x[j] * x[k];
            }
        }
        sums.deviance += row.weight * deviance(family, y, family.mean(u));
        sums.pearson += row.weight * (y - unit.mean(u)).powi(2) / unit.variance(u);
        sums.weight += row.weight;
    }
    sums
}

/// The families that can be polished: the loss has a slope everywhere.
fn smooth_families() -> Vec<AnyFamily> {
    let smooth = |family: &AnyFamily| family.name() != "quantile";
    families().into_iter().filter(smooth).collect()
}

/// Whether the loss is not that of the deviance, and the dispersion is not estimated from sums.
fn has_shape(family: &AnyFamily) -> bool {
    ["negative-binomial", "student"].contains(&family.name())
}

fn theta(rng: &mut Rng, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| centered(rng) / (dim as f64).sqrt()).collect()
}

fn summed(family: &AnyFamily, theta: &[f64], rows: Rows<'_>) -> Sums<AnyFamily> {
    let mut sums = Sums::new(*family, theta).unwrap().with_scores().unwrap().with_threads(1);
    sums.add(rows).unwrap();
    sums
}

/// The largest difference, each sum relative to the sizes of its terms.
fn distance(a: &Sums<AnyFamily>, b: &Sums<AnyFamily>, gradient_size: &[f64]) -> f64 {
    assert_eq!(a.rows(), b.rows());
    let gradient = a.gradient().into_iter().zip(b.gradient()).zip(gradient_size);
    let gradient = gradient.map(|((a, b), size)| (a - b).abs() / size.max(f64::MIN_POSITIVE));
    let scalars =
        [(a.deviance(), b.deviance()), (a.pearson(), b.pearson()), (a.weight(), b.weight())];
    let scalars = scalars.map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() / b.abs() });
    let information = relative(&a.information(), &b.information());
    let scores = relative(&a.squared_scores().unwrap(), &b.squared_scores().unwrap());
    largest(gradient.chain(scalars).chain([information, scores]))
}

/// Differences of the entries of positive matrices, relative to the roots of their diagonals.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    let d = b.len().isqrt();
    largest((0..d * d).map(|ij| {
        let size = (b[ij / d * (d + 1)] * b[ij % d * (d + 1)]).sqrt();
        (a[ij] - b[ij]).abs() / size.max(f64::MIN_POSITIVE)
    }))
}

#[test]
fn sums_are_those_of_a_plain_loop() {
    for family in smooth_families() {
        for (dim, rows) in [(1, 5), (3, 700), (11, 300), (49, 400), (101, 300)] {
            let mut rng = rng(11 + dim as u64);
            let data = Data::draw(&mut rng, &family, dim, rows);
            let theta = theta(&mut rng, dim);
            let sums = summed(&family, &theta, data.rows());
            let book = plain(&family, &theta, data.rows());
            for j in 0..dim {
                near(sums.gradient()[j], book.gradient[j], 1e-12, book.gradient_size[j]);
            }
            assert!(relative(&sums.information(), &book.information) < 1e-12, "{family:?}");
            let scores = sums.squared_scores().unwrap();
            assert!(relative(&scores, &book.scores) < 1e-12, "{family:?}");
            let estimated = family != "bernoulli".parse().unwrap() && !has_shape(&family);
            if !has_shape(&family) {
                near(sums.deviance(), book.deviance, 1e-10, 1e-10);
            }
            near(sums.pearson(), if estimated { book.pearson } else { 0.0 }, 1e-12, 1e-12);
            near(sums.weight(), book.weight, 1e-12, 1e-12);
            assert_eq!(sums.rows(), rows as u64);
        }
    }
}

#[test]
fn a_family_of_the_user_has_a_deviance_too() {
    /// Poisson without closed forms.
    #[derive(Debug, Clone, PartialEq)]
    struct Own;
    impl Family for Own {
        fn name(&self) -> &str {
            "own"
        }
        fn domain(&self) -> &str {
            "a number of 1 or more"
        }
        fn canonical(&self, y: f64) -> Option<f64> {
            (y >= 1.0).then_some(y)
        }
        fn loss(&self, y: f64, u: f64) -> f64 {
            Poisson.loss(y, u)
        }
        fn derivatives(&self, y: f64, u: f64) -> (f64, f64) {
            Poisson.derivatives(y, u)
        }
        fn log_base(&self, y: f64) -> f64 {
            Poisson.log_base(y)
        }
        fn mean(&self, u: f64) -> f64 {
            Poisson.mean(u)
        }
        fn variance(&self, u: f64) -> f64 {
            Poisson.variance(u)
        }
        fn quantile(&self, u: f64, q: f64) -> f64 {
            Poisson.quantile(u, q)
        }
        fn cdf(&self, u: f64, y: f64) -> f64 {
            Poisson.cdf(u, y)
        }
        fn sample<R: rand::Rng + ?Sized>(&self, u: f64, rng: &mut R) -> f64 {
            Poisson.sample(u, rng)
        }
    }
    let x = [1.0, -0.4, 0.3];
    let y = [3.0, 1.0, 250.0];
    let rows = Rows::new(1, &x, &y).unwrap();
    let mut own = Sums::new(Own, &[0.7]).unwrap();
    own.add(rows).unwrap();
    let mut built_in = Sums::new(Poisson, &[0.7]).unwrap();
    built_in.add(rows).unwrap();
    near(own.deviance(), built_in.deviance(), 1e-9, 1.0);
}

proptest! {
    #![proptest_config(property(40, 60))]

    /// Any cut into calls and parts, merged in any order, shipped or not, on any number of cores.
    #[test]
    fn any_split_gives_the_same_sums(
        seed in 0u64..1000,
        family in 0usize..6,
        dim in 1usize..14,
        cuts in proptest::collection::vec(0usize..9000, 1..8),
        order in proptest::collection::vec(0usize..100, 9),
        cores in 1usize..4,
    ) {
        let family = smooth_families()[family];
        let rows = 9000;
        let mut rng = rng(seed);
        let data = Data::draw(&mut rng, &family, dim, rows);
        let theta = theta(&mut rng, dim);
        let whole = summed(&family, &theta, data.rows());
        let mut cuts = cuts;
        cuts.extend([0, rows]);
        cuts.sort_unstable();
        let mut parts: Vec<Sums<AnyFamily>> = cuts
            .windows(2)
            .map(|cut| {
                let mut part = Sums::new(family, &theta)
                    .unwrap()
                    .with_threads(cores)
                    .with_scores()
                    .unwrap();
                let middle = cut[0] + (cut[1] - cut[0]) / 3;
                part.add(data.rows().slice(cut[0]..middle)).unwrap();
                part.add(data.rows().slice(middle..cut[1])).unwrap();
                part
            })
            .collect();
        let mut merged = parts.swap_remove(order[0] % parts.len());
        let mut k = 1;
        while !parts.is_empty() {
            let part = parts.swap_remove(order[k % 9] % parts.len());
            let part = if k % 2 == 0 { part } else { Sums::restore(part.state()).unwrap() };
            prop_assert!(merged.merge(&part).unwrap().is_exact());
            k += 1;
        }
        let size = plain(&family, &theta, data.rows()).gradient_size;
        let off = distance(&merged, &whole, &size);
        prop_assert!(off < 1e-12, "{family:?} d = {dim}: {off:e}");
    }
}

#[test]
fn several_cores_give_the_same_sums() {
    let family: AnyFamily = "poisson".parse().unwrap();
    let mut rng = rng(6);
    let dim = 40;
    let data = Data::draw(&mut rng, &family, dim, 12_000);
    let theta = theta(&mut rng, dim);
    let one = summed(&family, &theta, data.rows());
    let size = plain(&family, &theta, data.rows()).gradient_size;
    for cores in [2, 3] {
        let mut several =
            Sums::new(family, &theta).unwrap().with_scores().unwrap().with_threads(cores);
        several.add(data.rows()).unwrap();
        let off = distance(&several, &one, &size);
        assert!(off < 1e-13, "{cores} cores: {off:e}");
    }
}

#[test]
fn weights_are_repeated_rows_and_offsets_a_known_feature() {
    for family in smooth_families() {
        let mut rng = rng(8);
        let data = Data::draw(&mut rng, &family, 4, 200);
        let theta = theta(&mut rng, 4);
        let weight: Vec<f64> = (0..200).map(|i| f64::from(i % 4)).collect();
        let rows = data.plain().with_offsets(&data.offset).unwrap();
        let weighted = summed(&family, &theta, rows.with_weights(&weight).unwrap());
        let mut repeated = summed(&family, &theta, rows.slice(0..0));
        for (i, &weight) in weight.iter().enumerate() {
            for _ in 0..weight as usize {
                repeated.add(rows.slice(i..i + 1)).unwrap();
            }
        }
        assert!(gap(&weighted.gradient(), &repeated.gradient(), 1.0) < 1e-12);
        assert!(relative(&weighted.information(), &repeated.information()) < 1e-12);
        near(weighted.deviance(), repeated.deviance(), 1e-12, 1e-12);
        near(weighted.pearson(), repeated.pearson(), 1e-12, 1e-12);
        // an offset is a feature of coefficient 1
        let x: Vec<f64> =
            (0..200).flat_map(|i| rows.x(i).iter().copied().chain([data.offset[i]])).collect();
        let wide = Rows::new(5, &x, &data.y).unwrap();
        let known = [&theta[..], &[1.0]].concat();
        let wide = summed(&family, &known, wide);
        let narrow = summed(&family, &theta, rows);
        assert!(gap(&wide.gradient()[..4], &narrow.gradient(), 1.0) < 1e-12);
    }
}

#[test]
fn sparse_rows_are_dense_rows() {
    for family in smooth_families() {
        let mut rng = rng(9);
        let dim = 700;
        let mut data = Data::draw(&mut rng, &family, dim, 1700);
        data.x.iter_mut().enumerate().filter(|(i, _)| i % 7 != 0).for_each(|(_, x)| *x = 0.0);
        let mut starts = vec![0];
        let mut indices = Vec::new();
        let mut values = Vec::new();
        for row in data.x.chunks(dim) {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                indices.push(j as u32);
                values.push(value);
            }
            starts.push(indices.len());
        }
        let theta = theta(&mut rng, dim);
        let matrix = SparseMatrix::new(&starts, &indices, &values).unwrap();
        let rows = SparseRows::new(matrix, &data.y).unwrap();
        let rows = rows.with_weights(&data.weight).unwrap().with_offsets(&data.offset).unwrap();
        // 1700 rows of 700 features are more than one piece
        let mut sparse = Sums::new(family, &theta).unwrap();
        sparse.add_sparse(rows).unwrap();
        let mut dense = Sums::new(family, &theta).unwrap();
        dense.add(data.rows()).unwrap();
        assert_eq!(sparse.rows(), 1700);
        assert!(relative(&sparse.information(), &dense.information()) < 1e-12);
        assert!(gap(&sparse.gradient(), &dense.gradient(), 1e-300) < 1e-12);
        near(sparse.deviance(), dense.deviance(), 1e-12, 1e-12);
    }
    let narrow = SparseMatrix::new(&[0, 1, 2], &[0, 3], &[1.0, 1.0]).unwrap();
    let mut sums = Sums::new(Poisson, &[0.0; 3]).unwrap();
    let refused = sums.add_sparse(SparseRows::new(narrow, &[1.0, 1.0]).unwrap()).unwrap_err();
    assert_eq!(refused.row(), Some(1));
    assert_eq!(sums.rows(), 0);
}

#[test]
fn an_illegal_row_refuses_the_batch_and_is_named() {
    let mut rng = rng(10);
    let family: AnyFamily = "poisson".parse().unwrap();
    let data = Data::draw(&mut rng, &family, 3, 20_000);
    let mut sums = Sums::new(family, &[0.1; 3]).unwrap().with_scores().unwrap();
    sums.add(data.rows().slice(0..1000)).unwrap();
    let before = sums.state();
    let bad_feature = |x: &mut Data| x.x[3 * 15_000 + 1] = f64::NAN;
    let bad_target = |x: &mut Data| x.y[15_000] = -1.0;
    let bad_weight = |x: &mut Data| x.weight[15_000] = f64::NAN;
    let bad_offset = |x: &mut Data| x.offset[15_000] = f64::INFINITY;
    // legal numbers whose squares are not
    let huge = |x: &mut Data| {
        x.x[3 * 15_000..][..3].fill(1e119);
        x.weight[15_000] = 1e30;
    };
    let breaks: [&dyn Fn(&mut Data); 5] =
        [&bad_feature, &bad_target, &bad_weight, &bad_offset, &huge];
    for (k, spoil) in breaks.iter().enumerate() {
        let mut spoiled = data.clone();
        spoil(&mut spoiled);
        let error = sums.add(spoiled.rows()).unwrap_err();
        assert_eq!(error.row(), Some(15_000), "{k}: {error}");
        assert!(error.is_recoverable());
        assert_eq!(sums.state(), before, "{k}");
    }
    assert!(matches!(
        sums.add(Rows::new(2, &[1.0; 2], &[1.0]).unwrap()),
        Err(Error::Length { .. })
    ));
    sums.add(data.rows()).unwrap();
    assert_eq!(sums.rows(), 21_000);
}

#[test]
fn sums_of_another_model_are_not_merged() {
    let sums = |noise: f64, theta: &[f64]| Sums::new(Gaussian::new(noise).unwrap(), theta).unwrap();
    let mut own = sums(1.0, &[0.0, 1.0]);
    own.add(Rows::new(2, &[1.0, 2.0], &[3.0]).unwrap()).unwrap();
    let before = own.state();
    for (other, text) in [
        (sums(1.0, &[0.0, 1.5]), "feature 1 has 1.0 and 1.5"),
        (sums(2.0, &[0.0, 1.0]), "families"),
        (sums(1.0, &[0.0]), "2 and 1 coefficients"),
        (sums(1.0, &[0.0, 1.0]).with_scores().unwrap(), "squared scores"),
    ] {
        let error = own.merge(&other).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(own.state(), before);
    }
    assert!(own.with_scores().is_err(), "rows came before");
    assert!(Sums::new(Poisson, &[f64::NAN]).is_err());
}

#[test]
fn a_state_survives_text_and_bad_ones_are_refused() {
    let mut rng = rng(12);
    let family: AnyFamily = "gamma:0.5".parse().unwrap();
    let data = Data::draw(&mut rng, &family, 5, 300);
    let sums = summed(&family, &[0.1; 5], data.rows());
    let state = sums.state();
    let text = serde_json::to_string(&state).unwrap();
    let back: SumsState<AnyFamily> = serde_json::from_str(&text).unwrap();
    assert_eq!(back, state);
    assert_eq!(Sums::restore(back).unwrap().state(), state);
    let mut spoiled = state.clone();
    spoiled.information[3] = f64::NAN;
    assert!(Sums::restore(spoiled).is_err());
    let mut spoiled = state.clone();
    spoiled.gradient.pop();
    assert!(Sums::restore(spoiled).is_err());
    let mut spoiled = state;
    spoiled.deviance = -1.0;
    assert!(Sums::restore(spoiled).is_err());
}
