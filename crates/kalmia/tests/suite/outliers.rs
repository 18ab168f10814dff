//! Outliers that count less: one of a million deviations, shares of wrong targets, clean rows, rare
//! events, a jump of the level, and storing.

use crate::common::{Matrix, dot, families, rng, uniform};
use kalmia::rule::{AnyRule, Rule};
use kalmia::{
    AnyFamily, Auto, DriftMode, Family, Filter, Gaussian, Learner, Outliers, Predict, Prior,
    Quantile, Rows, SparseMatrix, SparseRows, Student, Wide,
};
use rand_distr::{Distribution, StandardNormal};

const DIM: usize = 4;
const THETA: [f64; DIM] = [0.5, 0.4, -0.3, 0.2];

fn learned<F: Family>(family: F, x: &[f64], y: &[f64], outliers: Outliers) -> Auto<F> {
    let dim = x.len() / y.len();
    let mut auto = Auto::builder(family, dim).intercept().outliers(outliers).build().unwrap();
    auto.learn(Rows::new(dim, x, y).unwrap()).unwrap();
    auto
}

/// Rows `(1, x)` with normal features, and their linear predictors.
fn features(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut x = Vec::new();
    for _ in 0..n {
        x.push(1.0);
        x.extend((1..DIM).map(|_| -> f64 { StandardNormal.sample(&mut rng) }));
    }
    let linear = x.chunks(DIM).map(|row| dot(row, &THETA)).collect();
    (x, linear)
}

fn draws(law: &AnyFamily, linear: &[f64], seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    linear.iter().map(|&u| law.sample(u, &mut rng)).collect()
}

/// Largest distance of two learners' coefficients, in standard errors of the first.
fn moved(one: &Auto<AnyFamily>, other: &Auto<AnyFamily>) -> f64 {
    let errors = one.standard_errors().unwrap();
    let gap = |j: usize| (one.coefficients()[j] - other.coefficients()[j]).abs() / errors[j];
    let gaps = (0..errors.len()).map(gap);
    gaps.fold(0.0, |most, gap| if gap > most || gap.is_nan() { gap } else { most })
}

/// The family that learns, and the law of its targets.
fn laws() -> [(AnyFamily, AnyFamily); 4] {
    [
        ("gaussian", "gaussian"),
        ("poisson", "poisson"),
        ("gamma", "gamma:0.5"),
        ("negative-binomial", "negative-binomial:0.5"),
    ]
    .map(|(name, law)| (name.parse().unwrap(), law.parse().unwrap()))
}

#[test]
fn one_wrong_target_moves_nothing_wherever_it_stands() {
    let (x, linear) = features(2000, 1);
    for (family, law) in laws() {
        let clean = draws(&law, &linear, 2);
        let before = learned(family, &x, &clean, Outliers::Downweight);
        let plain = learned(family, &x, &clean, Outliers::Keep);
        for at in [0, 1, 3, 60, 127, 500, 1999] {
            let mut y = clean.clone();
            y[at] = 1e6;
            let after = learned(family, &x, &y, Outliers::Downweight);
            let shift = moved(&before, &after);
            let noise = after.dispersion() / before.dispersion();
            let harm = moved(&plain, &learned(family, &x, &y, Outliers::Keep));
            println!(
                "{}, row {at}: {shift:.3} standard errors, plain {harm:.1}, noise {noise:.4}",
                family.name()
            );
            assert!(shift < 0.2, "{}, row {at}: {shift}", family.name());
            assert!((noise - 1.0).abs() < 0.03, "{}, row {at}: {noise}", family.name());
        }
    }
}

/// Largest distance of coefficients, in standard errors.
fn distance(errors: &[f64], one: &[f64], other: &[f64]) -> f64 {
    let pairs = one.iter().zip(other).zip(errors);
    let gaps = pairs.map(|((one, other), error)| (one - other).abs() / error);
    gaps.fold(0.0, |most, gap| if gap > most || gap.is_nan() { gap } else { most })
}

/// A single filter does not learn its dispersion, so it has the right one.
#[test]
fn one_wrong_target_moves_no_single_filter() {
    let (x, linear) = features(2000, 1);
    for (_, law) in laws() {
        let clean = draws(&law, &linear, 2);
        for rule in ["ekf", "truncated", "implicit", "moment"] {
            let rule: AnyRule = rule.parse().unwrap();
            let learned = |y: &[f64], outliers: Outliers| {
                let prior = Prior::isotropic(DIM, 1.0).unwrap();
                let filter = Filter::new(law, rule, prior).unwrap();
                let mut filter = filter.with_outliers(outliers).unwrap();
                filter.learn(Rows::new(DIM, &x, y).unwrap()).map(|()| filter)
            };
            let before = learned(&clean, Outliers::Downweight).unwrap();
            let plain = learned(&clean, Outliers::Keep).unwrap();
            let errors = before.standard_errors().unwrap();
            let cost = distance(&errors, &before.coefficients(), &plain.coefficients());
            assert!(cost < 0.6, "{} {}: {cost} on clean rows", law.name(), rule.name());
            for at in [40, 500, 1999] {
                let mut y = clean.clone();
                y[at] = 1e6;
                let after = learned(&y, Outliers::Downweight).unwrap();
                let shift = distance(&errors, &before.coefficients(), &after.coefficients());
                println!("{} {}, row {at}: {shift:.4}", law.name(), rule.name());
                assert!(shift < 0.1, "{} {}, row {at}: {shift}", law.name(), rule.name());
                // without the option it does harm, or the filter diverges
                let harm = learned(&y, Outliers::Keep).map_or(f64::INFINITY, |filter| {
                    distance(&errors, &plain.coefficients(), &filter.coefficients())
                });
                assert!(harm > 1.0, "{} {}, row {at}: {harm}", law.name(), rule.name());
            }
        }
    }
}

/// Batches, storing and a refused call leave a filter that judges its rows as it was.
#[test]
fn a_filter_that_judges_rows_goes_on_bit_for_bit() {
    let (x, linear) = features(300, 5);
    let law: AnyFamily = "gaussian".parse().unwrap();
    let mut y = draws(&law, &linear, 6);
    // a jump, after which the reach must grow
    y[150..].iter_mut().for_each(|y| *y += 50.0);
    let prior = Prior::isotropic(DIM, 10.0).unwrap();
    let filter = Filter::new(law, AnyRule::Ekf, prior).unwrap();
    let mut whole = filter.with_outliers(Outliers::Downweight).unwrap();
    let mut parts = whole.clone();
    let mut from = 0;
    for size in [1, 30, 64, 100, 105] {
        let rows = Rows::new(DIM, &x[DIM * from..][..DIM * size], &y[from..from + size]).unwrap();
        parts.learn(rows).unwrap();
        let before = parts.state();
        let bad = [1.0, f64::NAN];
        assert!(parts.learn(Rows::new(DIM, &x[..2 * DIM], &bad).unwrap()).is_err());
        assert_eq!(parts.state(), before);
        let text = serde_json::to_string(&before).unwrap();
        parts = Filter::restore(serde_json::from_str(&text).unwrap()).unwrap();
        from += size;
    }
    whole.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
    assert_eq!(whole.state().downweighting, parts.state().downweighting);
    let close = |a: &f64, b: &f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
    assert!(whole.coefficients().iter().zip(&*parts.coefficients()).all(|(a, b)| close(a, b)));
    // the level has been followed: more than half of the rows cannot be outliers
    assert!(whole.coefficients()[0] > 5.0, "{:?}", whole.coefficients());
    let families = ["bernoulli", "quantile:0.5", "student"];
    for family in families.map(|family| family.parse::<AnyFamily>().unwrap()) {
        let prior = Prior::isotropic(DIM, 10.0).unwrap();
        let filter = Filter::new(family, AnyRule::MomentMatch, prior).unwrap();
        assert!(filter.with_outliers(Outliers::Downweight).is_err(), "{}", family.name());
    }
    assert!(parts.with_outliers(Outliers::Keep).is_err());
}

/// Rows of a constant and three of 300 words, whose coefficients are drawn once.
fn words(n: usize, seed: u64) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let mut rng = rng(seed);
    let mut starts = vec![0];
    let mut indices = Vec::new();
    let mut linear = Vec::new();
    let effect = |word: u32| 0.3 * f64::sin(f64::from(word) * 12.9898);
    for _ in 0..n {
        let mut row: Vec<u32> =
            (0..3).map(|_| 1 + (300.0 * uniform(&mut rng).powi(3)) as u32).collect();
        row.sort_unstable();
        row.dedup();
        linear.push(0.5 + row.iter().map(|word| effect(*word)).sum::<f64>());
        indices.push(0);
        indices.extend(row);
        starts.push(indices.len());
    }
    (starts, indices, linear)
}

#[test]
fn one_wrong_target_moves_no_wide_learner() {
    let (starts, indices, linear) = words(3000, 8);
    let ones = vec![1.0; indices.len()];
    let x = SparseMatrix::new(&starts, &indices, &ones).unwrap();
    // amounts move by several of these standard errors if rows count less, wrong or not
    let known = |family: &AnyFamily| ["gaussian", "poisson"].contains(&family.name());
    for (family, law) in laws().into_iter().filter(|(family, _)| known(family)) {
        let clean = draws(&law, &linear, 9);
        let learned = |y: &[f64], outliers: Outliers| {
            let builder = Wide::builder(family).intercept().outliers(outliers);
            let mut wide = builder.build().unwrap();
            wide.learn_sparse(SparseRows::new(x, y).unwrap()).unwrap();
            wide
        };
        let before = learned(&clean, Outliers::Downweight);
        let plain = learned(&clean, Outliers::Keep);
        let errors = before.standard_errors().unwrap();
        let cost = distance(&errors, &before.coefficients(), &plain.coefficients());
        println!("{}: {cost:.3} standard errors on clean rows", family.name());
        // Standard errors of features that are taken as independent are too small: downweighting
        // alone moves coefficients by 0.2 of them.
        for at in [500, 2999] {
            let mut y = clean.clone();
            y[at] = 1e6;
            let after = learned(&y, Outliers::Downweight);
            let shift = distance(&errors, &before.coefficients(), &after.coefficients());
            let noise = after.dispersion() / before.dispersion();
            println!("{}, row {at}: {shift:.4}, noise {noise:.4}", family.name());
            assert!(shift < 0.5, "{}, row {at}: {shift}", family.name());
            assert!((noise - 1.0).abs() < 0.03, "{}, row {at}: {noise}", family.name());
            let harm = learned(&y, Outliers::Keep);
            let harm = distance(&errors, &plain.coefficients(), &harm.coefficients());
            assert!(harm > 1.0, "{}, row {at}: {harm}", family.name());
        }
    }
    assert!(Wide::builder(Student::default()).outliers(Outliers::Downweight).build().is_err());
}

#[test]
fn a_wrong_label_moves_half_as_much() {
    let (x, linear) = features(2000, 3);
    let steep: Vec<f64> = linear.iter().map(|u| 5.0 * u).collect();
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let clean = draws(&family, &steep, 4);
    let at = (0..2000).max_by(|&a, &b| steep[a].total_cmp(&steep[b])).unwrap();
    let mut y = clean.clone();
    y[at] = 0.0;
    let fit = |y: &[f64], outliers| learned(family, &x, y, outliers);
    let shift = moved(&fit(&clean, Outliers::Downweight), &fit(&y, Outliers::Downweight));
    let plain = moved(&fit(&clean, Outliers::Keep), &fit(&y, Outliers::Keep));
    println!("label: {shift:.3} standard errors, plain {plain:.3}");
    assert!(shift < 0.3 && shift < 0.6 * plain, "{shift} {plain}");
}

/// Least squares with Huber's weights, by repeated fits.
fn huber(dim: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut theta = vec![0.0; dim];
    let mut weights = vec![1.0; y.len()];
    for _ in 0..40 {
        let mut gram = Matrix::new(vec![0.0; dim * dim]);
        let mut right = vec![0.0; dim];
        for ((x, y), w) in x.chunks(dim).zip(y).zip(&weights) {
            for i in 0..dim {
                right[i] += w * x[i] * y;
                (0..dim).for_each(|j| gram.a[i * dim + j] += w * x[i] * x[j]);
            }
        }
        theta = gram.inverse().times(&right);
        let distance = |(x, y): (&[f64], &f64)| (y - dot(x, &theta)).abs();
        let distances: Vec<f64> = x.chunks(dim).zip(y).map(distance).collect();
        let mut sorted = distances.clone();
        sorted.sort_by(f64::total_cmp);
        let reach = 1.345 * 1.4826 * sorted[sorted.len() / 2];
        weights = distances.iter().map(|r| (reach / r).min(1.0)).collect();
    }
    theta
}

/// Root mean square error of the coefficients, with a share of targets `low` to `high` deviations
/// too large: of plain normal noise, outliers downweighted, Student's law and Huber's estimate.
fn errors(share: f64, low: f64, high: f64) -> [f64; 4] {
    const RUNS: u64 = 12;
    let mut totals = [0.0; 4];
    for seed in 0..RUNS {
        let (x, linear) = features(2000, 100 + seed);
        let mut rng = rng(200 + seed);
        let mut y = Vec::new();
        for u in linear {
            let noise: f64 = StandardNormal.sample(&mut rng);
            let wrong = uniform(&mut rng) < share;
            let size = low + (high - low) * uniform(&mut rng);
            y.push(u + noise + if wrong { size } else { 0.0 });
        }
        let normal = Gaussian::default();
        let fits = [
            learned(normal, &x, &y, Outliers::Keep).coefficients().to_vec(),
            learned(normal, &x, &y, Outliers::Downweight).coefficients().to_vec(),
            learned(Student::default(), &x, &y, Outliers::Keep).coefficients().to_vec(),
            huber(DIM, &x, &y),
        ];
        for (total, theta) in totals.iter_mut().zip(fits) {
            let squares = theta.iter().zip(THETA).map(|(a, b)| (a - b) * (a - b));
            *total += squares.sum::<f64>();
        }
    }
    totals.map(|total| (total / RUNS as f64).sqrt())
}

#[test]
fn wrong_targets_cost_little_and_clean_ones_next_to_nothing() {
    let clean = errors(0.0, 0.0, 0.0);
    let few = errors(0.01, 30.0, 60.0);
    let many = errors(0.1, 30.0, 60.0);
    let near = errors(0.1, 5.0, 10.0);
    for (name, found) in [("clean", clean), ("1 %", few), ("10 %", many), ("10 % near", near)] {
        let [plain, down, student, huber] = found;
        println!(
            "{name}: plain {plain:.4}, down {down:.4}, Student {student:.4}, Huber {huber:.4}"
        );
    }
    assert!(clean[1] < 1.02 * clean[0], "{clean:?}");
    assert!(few[1] < 0.3 * few[0] && few[1] < 1.1 * few[3], "{few:?}");
    assert!(many[1] < 0.05 * many[0] && many[1] < many[3], "{many:?}");
    assert!(near[1] < 0.5 * near[0], "{near:?}");
}

#[test]
fn clean_rows_give_the_plain_answer() {
    let (x, linear) = features(4000, 5);
    for (family, law) in
        laws().into_iter().chain([("bernoulli".parse().unwrap(), "bernoulli".parse().unwrap())])
    {
        let y = draws(&law, &linear, 6);
        let plain = learned(family, &x, &y, Outliers::Keep);
        let down = learned(family, &x, &y, Outliers::Downweight);
        let shift = moved(&plain, &down);
        let ratio = down.standard_errors().unwrap()[1] / plain.standard_errors().unwrap()[1];
        println!("{}: {shift:.3} standard errors apart, their ratio {ratio:.4}", family.name());
        assert!(shift < 0.4, "{}: {shift}", family.name());
        assert!((ratio - 1.0).abs() < 0.04, "{}: {ratio}", family.name());
    }
}

/// Rare labels and counts are no outliers: their probability stays what it is.
#[test]
fn rare_events_keep_their_probability() {
    let x = vec![1.0; 30_000];
    for name in ["bernoulli", "poisson"] {
        let family: AnyFamily = name.parse().unwrap();
        let mut rng = rng(7);
        let y: Vec<f64> = (0..x.len()).map(|_| f64::from(uniform(&mut rng) < 0.002)).collect();
        let share = y.iter().sum::<f64>() / y.len() as f64;
        let down = learned(family, &x, &y, Outliers::Downweight);
        let mean = down.predict(&[1.0], 0.0).unwrap().mean;
        println!("{name}: {mean:.6} of {share:.6}");
        assert!((mean / share - 1.0).abs() < 0.06, "{name}: {mean} {share}");
    }
}

#[test]
fn a_jump_of_the_level_is_learned_in_the_end() {
    let mut rng = rng(8);
    let y: Vec<f64> = (0..4000)
        .map(|i| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            noise + if i < 500 { 0.0 } else { 50.0 }
        })
        .collect();
    let down = learned(Gaussian::default(), &vec![1.0; 4000], &y, Outliers::Downweight);
    let mean = down.predict(&[1.0], 0.0).unwrap().mean;
    println!("after a jump by 50 deviations: {mean}");
    assert!(mean > 40.0, "{mean}");
}

#[test]
fn keeping_outliers_is_the_default_to_the_last_bit() {
    let (x, linear) = features(700, 9);
    for (family, law) in laws() {
        let mut y = draws(&law, &linear, 10);
        y[300] = 1e4;
        let mut plain = Auto::builder(family, DIM).intercept().build().unwrap();
        plain.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
        let kept = learned(family, &x, &y, Outliers::Keep);
        assert!(plain.state() == kept.state());
        let text = serde_json::to_string(&kept.state()).unwrap();
        assert!(!text.contains("downweighting"));
        assert_eq!(kept.outliers(), Outliers::Keep);
    }
}

#[test]
fn cuts_do_not_matter_and_a_stored_state_goes_on_bit_for_bit() {
    for family in families() {
        let law = family;
        let Ok(builder) = Auto::builder(family, DIM)
            .intercept()
            .drift(DriftMode::Adapt)
            .outliers(Outliers::Downweight)
            .build()
        else {
            continue;
        };
        let (x, linear) = features(900, 11);
        let mut y = draws(&law, &linear, 12);
        if !matches!(family, AnyFamily::Bernoulli(_) | AnyFamily::Binomial(_)) {
            y[77] = 1e5;
            y[600] = 1e5;
        }
        let mut whole = builder.clone();
        whole.learn(Rows::new(DIM, &x, &y).unwrap()).unwrap();
        let mut pieces = builder.clone();
        let mut stored = builder;
        for (x, y) in x.chunks(37 * DIM).zip(y.chunks(37)) {
            let rows = Rows::new(DIM, x, y).unwrap();
            pieces.learn(rows).unwrap();
            stored.learn(rows).unwrap();
            let text = serde_json::to_string(&stored.state()).unwrap();
            stored = Auto::restore(serde_json::from_str(&text).unwrap()).unwrap();
        }
        assert_eq!(stored.outliers(), Outliers::Downweight);
        assert!(pieces.state() == stored.state(), "{}", family.name());
        let gap = moved(&whole, &pieces);
        assert!(gap < 1e-6, "{}: {gap}", family.name());
    }
}

#[test]
fn what_cannot_be_combined_is_refused() {
    let quantile: AnyFamily = Quantile::new(0.5).unwrap().into();
    for family in [quantile, Student::default().into()] {
        let built = Auto::builder(family, 2).outliers(Outliers::Downweight).build();
        let message = built.unwrap_err().to_string();
        assert!(message.contains("outliers") && message.contains("hardly"), "{message}");
    }
    let (x, linear) = features(300, 13);
    let down = learned(Gaussian::default(), &x, &linear, Outliers::Downweight);
    let message = down.polishing_prior().unwrap_err().to_string();
    assert!(message.contains("outliers"), "{message}");
    assert_eq!("downweight".parse::<Outliers>().unwrap(), Outliers::Downweight);
    assert!("drop".parse::<Outliers>().is_err());
}

#[test]
fn damaged_states_are_refused() {
    let (x, linear) = features(300, 14);
    let down = learned(Gaussian::default(), &x, &linear, Outliers::Downweight);
    let state = serde_json::to_value(down.state()).unwrap();
    for (field, value) in [("noise", -1.0), ("noise", 0.0), ("widening", 0.5), ("shares", -2.0)] {
        let mut damaged = state.clone();
        damaged["dispersion"]["downweighting"][field] = value.into();
        let restored = Auto::<Gaussian>::restore(serde_json::from_value(damaged).unwrap());
        assert!(restored.is_err(), "{field} {value}");
    }
}

/// A row of a tiny weight says next to nothing, whatever its target is.
#[test]
fn tiny_weights_do_not_end_students_recursion() {
    let mut auto = Auto::builder(Student::default(), 1).intercept().build().unwrap();
    for (y, weight) in [(1.0, 1.0), (1e6, 1e-12), (2.0, 1.0), (-1e9, 1e-300), (1.5, 1.0)] {
        let rows = Rows::new(1, &[1.0], std::slice::from_ref(&y)).unwrap();
        auto.learn(rows.with_weights(&[weight]).unwrap()).unwrap();
    }
    let mean = auto.predict(&[1.0], 0.0).unwrap().mean;
    assert!((1.0..2.0).contains(&mean), "{mean}");
}
