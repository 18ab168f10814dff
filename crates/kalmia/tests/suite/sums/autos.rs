//! Default learners on shards: their information adds, in any order and for any features, and one
//! polish brings them to the batch fit.

use super::{dot, gap, near, rng, uniform};
use crate::common::centered;
use kalmia::learner::{FeatureMap, FeatureTerm, Information};
use kalmia::sums::{Next, Polish, Polished, PriorPrecision, Sums, polish};
use kalmia::{AnyFamily, Auto, DriftMode, Family, Learner, Predict, Rows};

struct Table {
    dim: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Table {
    /// An intercept and features of other scales and centers, targets drawn from the family.
    fn draw(family: AnyFamily, dim: usize, rows: usize, seed: u64) -> Self {
        let mut rng = rng(seed);
        let truth: Vec<f64> = (0..dim).map(|_| centered(&mut rng)).collect();
        let mut x = Vec::with_capacity(dim * rows);
        let mut y = Vec::with_capacity(rows);
        for _ in 0..rows {
            let first = x.len();
            x.push(1.0);
            x.extend((1..dim).map(|j| 0.5 * centered(&mut rng) + 0.2 * (j % 3) as f64));
            y.push(family.sample(dot(&x[first..], &truth), &mut rng));
        }
        Self { dim, x, y }
    }

    fn sorted(&self, feature: usize) -> Self {
        let mut order: Vec<usize> = (0..self.y.len()).collect();
        let key = |i: usize| self.x[i * self.dim + feature];
        order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        Self {
            dim: self.dim,
            x: order.iter().flat_map(|&i| &self.x[i * self.dim..][..self.dim]).copied().collect(),
            y: order.iter().map(|&i| self.y[i]).collect(),
        }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(self.dim, &self.x, &self.y).unwrap()
    }

    fn part(&self, k: usize, parts: usize) -> Rows<'_> {
        let n = self.y.len();
        self.rows().slice(k * n / parts..(k + 1) * n / parts)
    }

    fn shards(&self, family: AnyFamily, parts: usize) -> Vec<Auto<AnyFamily>> {
        (0..parts).map(|k| learned(family, self.part(k, parts))).collect()
    }
}

fn blank(family: AnyFamily, dim: usize) -> Auto<AnyFamily> {
    Auto::builder(family, dim).intercept().drift(DriftMode::Off).build().unwrap()
}

fn learned(family: AnyFamily, rows: Rows<'_>) -> Auto<AnyFamily> {
    let mut auto = blank(family, rows.dim());
    auto.learn(rows).unwrap();
    auto
}

fn family(name: &str) -> AnyFamily {
    name.parse().unwrap()
}

/// The maximum of the likelihood, from the coefficients of a learner.
fn batch(start: &Auto<AnyFamily>, rows: Rows<'_>) -> Polished {
    let mut newton = Polish::new(PriorPrecision::flat(rows.dim())).with_tolerance(1e-8).unwrap();
    let mut theta = start.coefficients().to_vec();
    loop {
        let mut sums = Sums::new(start.family(), &theta).unwrap();
        sums.add(rows).unwrap();
        match newton.step(&sums).unwrap() {
            Next::Again(next) => theta = next,
            Next::Done(done) => return *done,
        }
    }
}

/// Root mean square of the differences in standard errors.
fn distance(a: &[f64], best: &Polished) -> f64 {
    let errors = best.standard_errors();
    let z = a.iter().zip(best.coefficients()).zip(errors).map(|((a, b), e)| (a - b) / e);
    (z.map(|z| z * z).sum::<f64>() / a.len() as f64).sqrt()
}

/// The sums of an information: the lower triangle of its precision, then the vectors.
fn numbers(information: &Information) -> Vec<f64> {
    let state = serde_json::to_value(information.state()).unwrap();
    let field = |name: &str| state[name].as_array().unwrap().clone();
    let all = ["precision", "weighted", "sums"].into_iter().flat_map(field);
    all.map(|number| number.as_f64().unwrap()).collect()
}

fn same_information(a: &Information, b: &Information) {
    let [a, b] = [numbers(a), numbers(b)];
    // the first of the nine sums at the end depends on how many beliefs there are
    let skipped = a.len() - 9;
    for (i, (a, b)) in a.iter().zip(&b).enumerate().filter(|(i, _)| *i != skipped) {
        assert!((a - b).abs() <= 1e-8 * b.abs().max(1.0), "{i}: {a} {b}");
    }
}

/// However the rows of normal noise are cut, and whatever prior each part has, their information is
/// that of one learner of all rows, and so is the learner built from it.
#[test]
fn the_information_of_normal_rows_is_exact() {
    let table = Table::draw(family("gaussian:0.3"), 5, 3000, 41);
    let pilot = learned(family("gaussian"), table.part(0, 10));
    let reference = pilot.coefficients().to_vec();
    let prior = pilot.mapped(&FeatureMap::identity(5)).unwrap();
    assert_eq!(prior.count(), 0);
    let mut chain = prior.clone();
    chain.learn(table.rows()).unwrap();
    for parts in [1, 4, 15] {
        let mut information = Information::none(reference.clone());
        for shard in table.shards(family("gaussian"), parts).iter().rev() {
            let part = shard.information(reference.clone()).unwrap();
            // shipped
            information.add(&Information::restore(part.state()).unwrap()).unwrap();
        }
        same_information(&information, &chain.information(reference.clone()).unwrap());
        let pooled = prior.clone().with_information(&information).unwrap();
        assert_eq!(pooled.heterogeneity.degrees, 5 * (parts as u64 - 1));
        let pooled = pooled.merged.into_inner();
        same_information(&information, &pooled.information(reference.clone()).unwrap());
        assert_eq!((pooled.count(), information.rows()), (3000, 3000));
        // the chain has dropped members whose weight no longer moved
        let errors = [pooled.standard_errors().unwrap(), chain.standard_errors().unwrap()];
        assert!(gap(&errors[0], &errors[1], 0.0) < 1e-2, "{errors:?}");
        for (j, error) in errors[0].iter().enumerate() {
            let apart = pooled.coefficients()[j] - chain.coefficients()[j];
            assert!(apart.abs() < 0.05 * error, "{j}: {apart} {error}");
        }
        near(pooled.dispersion(), chain.dispersion(), 1e-3, 0.0);
        // the heaviest prior follows from the information alone
        let heaviest = |auto: &Auto<AnyFamily>| {
            let weights = auto.weights();
            let best = weights.iter().max_by(|a, b| a.weight.total_cmp(&b.weight)).unwrap();
            (best.prior_size, best.centered)
        };
        assert_eq!(heaviest(&pooled), heaviest(&chain));
        let x = &table.x[..5];
        let ends = |auto: &Auto<_>| auto.predict(x, 0.0).unwrap().interval(0.95).unwrap();
        near(ends(&pooled).lower, ends(&chain).lower, 1e-2, 1.0);
        near(ends(&pooled).upper, ends(&chain).upper, 1e-2, 1.0);
    }
}

#[test]
fn the_order_of_shards_changes_only_rounding() {
    for name in ["bernoulli", "poisson", "gaussian", "gamma", "negative-binomial", "student"] {
        let table = Table::draw(family(name), 4, 2000, 42);
        let mut shards = table.shards(family(name), 7);
        // one that is still in its warm-up
        shards.push(learned(family(name), table.rows().slice(0..60)));
        let merged = |order: &[usize]| {
            let many: Vec<_> = order.iter().map(|&k| &shards[k]).collect();
            Auto::merge_many(&many).unwrap()
        };
        let one = merged(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let two = merged(&[7, 3, 5, 0, 6, 2, 1, 4]);
        near(one.heterogeneity.q, two.heterogeneity.q, 1e-9, 1.0);
        assert!(!one.merged.is_exact());
        let [one, two] = [one, two].map(|many| many.merged.into_inner());
        assert_eq!(one.count(), 2060);
        assert!(gap(&one.coefficients(), &two.coefficients(), 0.0) < 1e-11, "{name}");
        let errors = [&one, &two].map(|auto| auto.standard_errors().unwrap());
        assert!(gap(&errors[0], &errors[1], 0.0) < 1e-9, "{name}");
    }
}

/// A parameter of the law that rows show is pooled, too.
#[test]
fn the_shape_of_a_law_is_the_mean_over_the_rows() {
    for (name, truth) in [("negative-binomial:0.8", 0.8), ("student", 1.0)] {
        let table = Table::draw(family(name), 4, 16_000, 50);
        let shards = table.shards(family(name), 8);
        let mean = shards.iter().map(|shard| shard.dispersion()).sum::<f64>() / 8.0;
        let many: Vec<_> = shards.iter().collect();
        let merged = Auto::merge_many(&many).unwrap().merged.into_inner();
        near(merged.dispersion(), mean, 1e-9, 0.0);
        let whole = learned(family(name), table.rows());
        near(merged.dispersion(), whole.dispersion(), 0.05, 0.0);
        near(merged.dispersion(), truth, 0.3, 0.0);
        let errors = [merged.standard_errors().unwrap(), whole.standard_errors().unwrap()];
        assert!(gap(&errors[0], &errors[1], 0.0) < 0.05, "{name}: {errors:?}");
    }
}

/// At 128 shards of 400 000 rows the same is printed by `cargo bench -p kalmia --bench shards`.
#[test]
fn one_polish_brings_the_shards_of_every_family_to_the_batch_fit() {
    for (name, seed) in [("bernoulli", 1), ("poisson", 2), ("gamma:0.5", 3)] {
        let table = Table::draw(family(name), 6, 60_000, seed);
        for (order, table) in [("alike", table.sorted(0)), ("sorted", table.sorted(1))] {
            let shards = table.shards(family(name), 48);
            let merged = Auto::merge_many(&shards.iter().collect::<Vec<_>>()).unwrap();
            let merged = merged.merged.into_inner();
            let best = batch(&merged, table.rows());
            let mut sums = Sums::new(merged.family(), &merged.coefficients()).unwrap();
            sums.add(table.rows()).unwrap();
            let flat = polish(&PriorPrecision::flat(6), &sums).unwrap();
            let before = distance(&merged.coefficients(), &best);
            let after = distance(flat.coefficients(), &best);
            println!("{name}, {order}: {before:.4} merged, {after:.5} after one polish");
            assert!(after <= 0.01, "{name} {order}: {after}");
            assert!(after < 0.2 * before, "{name} {order}: {after} {before}");
            // under its own prior, which shrinks a little, the learner goes on from there
            let polished = polish(&merged.polishing_prior().unwrap(), &sums).unwrap();
            assert!(distance(polished.coefficients(), &best) < 0.1, "{name} {order}");
            let mut auto = merged.with_polished(&polished).unwrap();
            assert_eq!(auto.count(), 60_000);
            assert!(gap(&auto.coefficients(), polished.coefficients(), 0.0) < 1e-12);
            let errors = auto.standard_errors().unwrap();
            assert!(gap(&errors, &polished.standard_errors(), 0.0) < 1e-6, "{name}");
            auto.learn(table.rows().slice(0..500)).unwrap();
            assert_eq!(auto.count(), 60_500);
        }
    }
}

/// Under normal noise the polished learner has the information of a learner of all rows.
#[test]
fn a_polished_learner_of_normal_rows_is_exact() {
    let table = Table::draw(family("gaussian:2"), 4, 800, 44);
    let start = learned(family("gaussian"), table.part(0, 4));
    let reference = start.coefficients().to_vec();
    let mut sums = Sums::new(start.family(), &reference).unwrap();
    sums.add(table.rows()).unwrap();
    let polished = polish(&start.polishing_prior().unwrap(), &sums).unwrap();
    let found = start.clone().with_polished(&polished).unwrap();
    let all = learned(family("gaussian"), table.rows());
    same_information(
        &found.information(reference.clone()).unwrap(),
        &all.information(reference.clone()).unwrap(),
    );
    assert_eq!(found.weights().len(), 1);
    assert_eq!(found.degrees_of_freedom(), all.degrees_of_freedom());
    near(found.dispersion(), all.dispersion(), 0.01, 0.0);
}

#[test]
fn a_shard_that_differs_is_found() {
    let table = Table::draw(family("poisson"), 5, 40_000, 45);
    let mut shards = table.shards(family("poisson"), 20);
    let many = |shards: &[Auto<AnyFamily>]| {
        Auto::merge_many(&shards.iter().collect::<Vec<_>>()).unwrap().heterogeneity
    };
    let alike = many(&shards);
    assert_eq!(alike.degrees, 95);
    assert!(alike.p_value > 1e-3, "{alike:?}");
    let other = Table::draw(family("poisson"), 5, 2000, 46);
    shards[7] = learned(family("poisson"), other.rows());
    let odd = many(&shards);
    assert!(odd.p_value < 1e-12 && odd.q > 10.0 * alike.q, "{odd:?}");
}

/// A category with three levels, of which each learner takes its first as the baseline.
#[test]
fn learners_with_other_baselines_merge_through_their_features() {
    let mut rng = rng(47);
    let noise = family("gaussian:0.5");
    let rows: Vec<(usize, f64)> = (0..3000)
        .map(|_| {
            let level = (3.0 * uniform(&mut rng)) as usize;
            (level, noise.sample([1.0, 3.0, -2.0][level], &mut rng))
        })
        .collect();
    // features: the intercept and the two levels after the baseline
    let learn = |rows: &[(usize, f64)], levels: [usize; 2]| {
        let x: Vec<f64> = rows
            .iter()
            .flat_map(|(level, _)| [1.0].into_iter().chain(levels.map(|l| f64::from(l == *level))))
            .collect();
        let y: Vec<f64> = rows.iter().map(|row| row.1).collect();
        learned(family("gaussian"), Rows::new(3, &x, &y).unwrap())
    };
    let first = learn(&rows[..1500], [1, 2]);
    let second = learn(&rows[1500..], [0, 2]);
    let same = learn(&rows[1500..], [1, 2]);
    // x_whole = N x_second: level 1 is the second's baseline
    let term = |feature, factor| FeatureTerm { feature, factor };
    let terms = vec![
        vec![term(0, 1.0)],
        vec![term(0, 1.0), term(1, -1.0), term(2, -1.0)],
        vec![term(2, 1.0)],
    ];
    let map = FeatureMap::new(3, terms).unwrap();
    let reference = first.coefficients().to_vec();
    let mut through = first.information(reference.clone()).unwrap();
    let own = second.information(map.pull_back(&reference).unwrap()).unwrap();
    through.add(&own.mapped(&map, reference.clone()).unwrap()).unwrap();
    let mut direct = first.information(reference.clone()).unwrap();
    direct.add(&same.information(reference.clone()).unwrap()).unwrap();
    let whole = |information: &Information| {
        let prior = first.mapped(&FeatureMap::identity(3)).unwrap();
        prior.with_information(information).unwrap().merged.into_inner()
    };
    assert!(gap(&whole(&through).coefficients(), &whole(&direct).coefficients(), 0.0) < 1e-9);
    // another reference is refused
    assert!(second.information(reference.clone()).unwrap().mapped(&map, reference).is_err());
    // the prior of the second, for the features of the whole, knows the scale of a level
    assert_eq!(second.mapped(&map).unwrap().dim(), 3);
}

#[test]
fn a_prior_without_rows_is_stored_and_learns() {
    let table = Table::draw(family("bernoulli"), 4, 1000, 48);
    let prior = learned(family("bernoulli"), table.part(0, 4));
    let prior = prior.mapped(&FeatureMap::identity(4)).unwrap();
    let mut restored = Auto::restore(prior.state()).unwrap();
    let mut kept = prior.clone();
    assert_eq!(restored.state(), prior.state());
    restored.learn(table.rows()).unwrap();
    kept.learn(table.rows()).unwrap();
    assert_eq!(restored.state(), kept.state());
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let table = Table::draw(family("poisson"), 3, 400, 49);
    let auto = learned(family("poisson"), table.rows());
    assert!(Auto::<AnyFamily>::merge_many(&[]).is_err());
    let other = learned(family("gamma"), Table::draw(family("gamma"), 3, 400, 49).rows());
    assert!(Auto::merge_many(&[&auto, &other]).is_err());
    let builder = Auto::builder(family("poisson"), 3).intercept().drift(DriftMode::Adapt);
    let mut follows = builder.build().unwrap();
    follows.learn(table.rows()).unwrap();
    let refused = follows.information(vec![0.0; 3]).unwrap_err().to_string();
    assert!(refused.contains("drift"), "{refused}");
    let mut information = auto.information(vec![0.0; 3]).unwrap();
    assert!(information.add(&auto.information(vec![1.0; 3]).unwrap()).is_err());
    assert!(auto.information(vec![0.0; 2]).is_err());
    assert!(auto.clone().with_information(&Information::none(vec![0.0; 2])).is_err());
    let mut state = serde_json::to_value(information.state()).unwrap();
    state["weighted"][0] = serde_json::Value::Null;
    assert!(serde_json::from_value::<kalmia::learner::InformationState>(state.clone()).is_err());
    state["weighted"] = serde_json::json!([0.0]);
    let short = serde_json::from_value(state).unwrap();
    assert!(Information::restore(short).is_err());
}
