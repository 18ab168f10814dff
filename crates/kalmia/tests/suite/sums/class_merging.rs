//! Learners of several classes on shards: their information adds, in any order and for any names
//! of classes, and polishes bring them to the batch fit.

use super::classes::{Draw, learned, polished};
use super::{gap, near};
use crate::common::{largest, minus};
use kalmia::learner::{ClassInformation, ClassInformationState, FeatureMap, FeatureTerm};
use kalmia::sums::{ClassSums, PriorPrecision, polish_classes};
use kalmia::{Auto, Bernoulli, Categorical, DriftMode, Error, Learner, Rows};

fn shards(draw: &Draw, parts: usize) -> Vec<Categorical> {
    (0..parts).map(|k| learned(draw, draw.part(k, parts), DriftMode::Off)).collect()
}

fn merged(shards: &[Categorical]) -> Categorical {
    let many: Vec<_> = shards.iter().collect();
    Categorical::merge_many(&many).unwrap().merged.into_inner()
}

/// Through bytes, as workers send it.
fn shipped(information: &ClassInformation) -> ClassInformation {
    let text = serde_json::to_string(&information.state()).unwrap();
    let state: ClassInformationState = serde_json::from_str(&text).unwrap();
    ClassInformation::restore(state).unwrap()
}

#[test]
fn two_classes_merge_as_labels_do() {
    let draw = Draw::new(2, 4, 3000, 101);
    let classes = shards(&draw, 5);
    let labels: Vec<Auto<Bernoulli>> = (0..5)
        .map(|k| {
            let mut auto = Auto::builder(Bernoulli, 4).intercept().build().unwrap();
            auto.learn(draw.part(k, 5)).unwrap();
            auto
        })
        .collect();
    let many: Vec<_> = classes.iter().collect();
    let found = Categorical::merge_many(&many).unwrap();
    let expected = Auto::merge_many(&labels.iter().collect::<Vec<_>>()).unwrap();
    let [a, b] = [found.heterogeneity, expected.heterogeneity];
    assert_eq!(a.degrees, b.degrees);
    near(a.q, b.q, 1e-5, b.q);
    let found = found.merged.into_inner();
    let expected = expected.merged.into_inner();
    let contrast = found.contrast(1, 0).unwrap();
    assert!(gap(&contrast.coefficients, &expected.coefficients(), 1.0) < 1e-6);
    let weights = |list: Vec<kalmia::learner::MemberWeight>| -> Vec<f64> {
        list.into_iter().map(|member| member.weight).collect()
    };
    assert!(gap(&weights(found.weights()), &weights(expected.weights()), 1.0) < 1e-5);
}

#[test]
fn shards_in_any_order_are_one_learner() {
    let draw = Draw::new(4, 5, 4000, 102);
    let mut parts = shards(&draw, 8);
    let first = merged(&parts);
    assert_eq!((first.count(), first.classes()), (4000, 4));
    parts.rotate_left(3);
    parts.swap(0, 5);
    let other = merged(&parts);
    let coefficients = first.coefficients_against_first();
    assert!(gap(&coefficients, &other.coefficients_against_first(), 1.0) < 1e-11);
    let errors = |learner: &Categorical| learner.contrast(3, 1).unwrap().standard_errors();
    assert!(gap(&errors(&first), &errors(&other), 1.0) < 1e-11);
    // in a tree, each part shipped
    let tree = |parts: &[Categorical]| {
        let mut sum = ClassInformation::none(4, 5);
        parts.iter().for_each(|part| sum.add(&shipped(&part.information().unwrap())).unwrap());
        shipped(&sum)
    };
    let mut whole = tree(&parts[..3]);
    whole.add(&tree(&parts[3..])).unwrap();
    assert_eq!((whole.rows(), whole.parts()), (4000, 8));
    let prior = learned(&draw, draw.rows(), DriftMode::Off);
    let direct = prior.clone().with_information(&tree(&parts)).unwrap().merged.into_inner();
    let found = prior.with_information(&whole).unwrap().merged.into_inner();
    let far = minus(&found.coefficients_against_first(), &direct.coefficients_against_first());
    assert!(largest(far) < 1e-11);
    // it learns on
    let mut found = found;
    found.learn(draw.part(0, 8)).unwrap();
    assert_eq!(found.count(), 4500);
}

#[test]
fn a_short_learner_merges_exactly() {
    let draw = Draw::new(3, 3, 700, 103);
    let rows = draw.rows();
    let long = learned(&draw, rows.slice(0..600), DriftMode::Off);
    let short = learned(&draw, rows.slice(600..700), DriftMode::Off);
    let merged = short.merge(&long).unwrap();
    assert!(merged.is_exact());
    let whole = learned(&draw, rows, DriftMode::Off);
    let found = merged.into_inner().coefficients_against_first();
    assert!(gap(&found, &whole.coefficients_against_first(), 1.0) < 1e-12);
}

#[test]
fn other_names_of_classes_and_features_change_nothing() {
    let draw = Draw::new(3, 3, 3000, 104);
    let whole = merged(&shards(&draw, 2));
    // the second shard met the classes as 2, 0, 1 and has its features in another order
    let second = draw.part(1, 2);
    let x: Vec<f64> =
        (0..second.len()).flat_map(|i| [second.x(i)[0], second.x(i)[2], second.x(i)[1]]).collect();
    let y: Vec<f64> =
        (0..second.len()).map(|i| f64::from((second.observation(i).y as u32 + 1) % 3)).collect();
    let parts = [
        learned(&draw, draw.part(0, 2), DriftMode::Off),
        learned(&draw, Rows::new(3, &x, &y).unwrap(), DriftMode::Off),
    ];
    let term = |feature| vec![FeatureTerm { feature, factor: 1.0 }];
    let map = FeatureMap::new(3, vec![term(0), term(2), term(1)]).unwrap();
    let mut information = parts[0].information().unwrap();
    let other = parts[1].information().unwrap();
    information.add(&other.mapped(&map, &[Some(1), Some(2), Some(0)]).unwrap()).unwrap();
    let prior = parts[0].mapped(&FeatureMap::identity(3), 3).unwrap();
    assert_eq!(prior.count(), 0);
    let found = prior.with_information(&information).unwrap().merged.into_inner();
    let errors = found.contrast(2, 0).unwrap().standard_errors();
    let one = found.contrast(2, 0).unwrap().coefficients;
    let two = whole.contrast(2, 0).unwrap().coefficients;
    for ((a, b), error) in one.iter().zip(&two).zip(errors) {
        // the shards' priors are those of their own first rows
        near(*a, *b, 0.05, error);
    }
    // a class that one part does not know
    let information = parts[0].information().unwrap();
    let wider = information.mapped(&FeatureMap::identity(3), &[Some(0), None, Some(1), Some(2)]);
    let prior = parts[0].mapped(&FeatureMap::identity(3), 4).unwrap();
    let found = prior.with_information(&wider.unwrap()).unwrap().merged.into_inner();
    assert_eq!(found.classes(), 4);
    near(found.predict(&[1.0, 0.2, 0.3]).unwrap().iter().sum(), 1.0, 1e-12, 1.0);
}

/// At 128 shards of 200 000 rows the same is printed by `cargo bench -p kalmia --bench
/// class_shards`.
#[test]
fn polishes_bring_the_shards_to_the_batch_fit() {
    let draw = Draw::new(4, 4, 24_000, 105);
    let whole = merged(&shards(&draw, 1));
    let best = polished(whole, PriorPrecision::flat(12), draw.rows());
    let errors: Vec<f64> =
        (1..4).flat_map(|k| best.contrast(k, 0).unwrap().standard_errors()).collect();
    let best = best.coefficients_against_first();
    let distance = |theta: &[f64]| {
        let z = theta.iter().zip(&best).zip(&errors).map(|((a, b), e)| ((a - b) / e).powi(2));
        (z.sum::<f64>() / 12.0).sqrt()
    };
    for count in [1, 8, 48] {
        let mut theta = merged(&shards(&draw, count)).coefficients_against_first();
        let mut found = vec![distance(&theta)];
        for _ in 0..2 {
            let mut sums = ClassSums::new(4, &theta).unwrap();
            sums.add(draw.rows()).unwrap();
            let fit = polish_classes(&PriorPrecision::flat(12), &sums).unwrap();
            theta = fit.coefficients().to_vec();
            found.push(distance(&theta));
        }
        println!("{count} shards: {found:.5?}");
        assert!(found[1] < 0.3 * found[0] && found[1] < 0.1, "{count}: {found:?}");
        assert!(found[2] < 1e-3, "{count}: {found:?}");
    }
}

/// A belief per class cannot tell chance from a difference if there are three classes or more.
#[test]
fn only_two_classes_have_a_test_of_agreement() {
    let agreement = |classes: usize, other: Option<u64>| {
        let draw = Draw::new(classes, 4, 12_000, 106);
        let mut parts = shards(&draw, 12);
        if let Some(seed) = other {
            let rows = Draw::new(classes, 4, 1000, seed);
            parts[7] = learned(&draw, rows.rows(), DriftMode::Off);
        }
        Categorical::merge_many(&parts.iter().collect::<Vec<_>>()).unwrap().heterogeneity
    };
    let alike = agreement(2, None);
    assert_eq!(alike.degrees, 4 * 11);
    assert!(alike.p_value > 1e-3, "{alike:?}");
    assert!(agreement(2, Some(107)).p_value < 1e-6);
    for other in [None, Some(107)] {
        let found = agreement(3, other);
        assert_eq!((found.q, found.degrees, found.p_value), (0.0, 0, 1.0));
    }
}

#[test]
fn unlike_learners_are_refused() {
    let draw = Draw::new(3, 2, 300, 108);
    let one = learned(&draw, draw.rows(), DriftMode::Off);
    let detecting = learned(&draw, draw.rows(), DriftMode::Detect);
    let four = Categorical::builder(4, 2).intercept().build().unwrap();
    let without = Categorical::builder(3, 2).build().unwrap();
    for other in [&detecting, &four, &without] {
        assert!(matches!(one.merge(other), Err(Error::State(_))));
    }
    let adapting = learned(&draw, draw.rows(), DriftMode::Adapt);
    assert!(adapting.merge(&adapting).is_err() && adapting.information().is_err());
    assert!(Categorical::merge_many(&[]).is_err());
    let mut information = one.information().unwrap();
    let before = information.clone();
    assert!(information.add(&ClassInformation::none(4, 2)).is_err());
    assert!(information.add(&ClassInformation::none(3, 3)).is_err());
    assert_eq!(information, before);
    assert!(information.mapped(&FeatureMap::identity(2), &[Some(5)]).is_err());
    assert!(one.clone().with_information(&ClassInformation::none(4, 2)).is_err());
}
