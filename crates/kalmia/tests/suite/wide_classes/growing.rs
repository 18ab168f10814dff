//! New classes in a stream.

use super::data::{learned, learner, probabilities, text};
use crate::common::sparse_batch::SparseBatch;
use kalmia::WideCategorical;

/// Rows in which class 4 appears first at row 700, and class 5 at row 1500.
fn late() -> SparseBatch {
    let whole = text(6, 200, 4000, 21);
    let mut batch = SparseBatch::default();
    for i in 0..whole.len() {
        let class = whole.y[i] as usize;
        if (class == 4 && batch.len() < 700) || (class == 5 && batch.len() < 1500) {
            continue;
        }
        let row = whole.matrix().row(i);
        batch.push(&row.iter().collect::<Vec<_>>(), whole.y[i]);
    }
    batch
}

#[test]
fn new_classes_do_not_depend_on_the_cuts() {
    let batch = late();
    let mut whole = learner(1);
    whole.learn_growing(batch.rows(), 10, None).unwrap();
    assert_eq!(whole.classes(), 6);
    let mut parts = learner(1);
    for first in (0..batch.len()).step_by(321) {
        let part = batch.slice(first, batch.len().min(first + 321));
        parts.learn_growing(part.rows(), 10, None).unwrap();
        parts = WideCategorical::restore(parts.state()).unwrap();
    }
    assert_eq!(parts.state(), whole.state());
}

#[test]
fn classes_of_the_warm_up_are_known_from_the_start() {
    let batch = text(5, 100, 1000, 22);
    let mut growing = learner(1);
    growing.learn_growing(batch.rows(), 5, None).unwrap();
    assert_eq!(growing.state(), learned(5, &batch).state());
}

#[test]
fn a_new_class_is_rare_and_then_learned() {
    let batch = late();
    let first = batch.slice(0, 700);
    let mut growing = learner(1);
    growing.learn_growing(first.rows(), 10, None).unwrap();
    let known = growing.classes();
    let before = probabilities(&growing, &first.slice(0, 50));
    growing.grow_class().unwrap();
    let after = probabilities(&growing, &first.slice(0, 50));
    let rare: f64 = after.iter().map(|p| p[known]).sum::<f64>() / 50.0;
    assert!(rare > 1e-5 && rare < 0.03, "{rare}");
    for (a, b) in after.iter().zip(&before) {
        let rest = 1.0 - a[known];
        let gap = a.iter().zip(b).map(|(a, b)| (a / rest - b).abs()).fold(0.0, f64::max);
        assert!(gap < 0.02, "{a:?} {b:?}");
    }
    let mut whole = learner(1);
    whole.learn_growing(batch.rows(), 10, None).unwrap();
    let test = text(6, 200, 2000, 23);
    let of_late: Vec<f64> = probabilities(&whole, &test)
        .iter()
        .zip(&test.y)
        .filter(|(_, y)| **y == 5.0)
        .map(|(p, _)| p[5])
        .collect();
    let mean = of_late.iter().sum::<f64>() / of_late.len() as f64;
    assert!(mean > 0.3, "{mean}");
}

#[test]
fn classes_above_the_limit_are_refused() {
    let batch = text(5, 100, 300, 24);
    let mut learner = learner(2);
    let before = learner.state();
    let error = learner.learn_growing(batch.rows(), 4, None).unwrap_err();
    assert!(error.to_string().contains("from 0 to 3"), "{error}");
    assert_eq!(learner.state(), before);
}

#[test]
fn so_many_classes_that_members_leave() {
    let mut learner = learner(1);
    let batch = text(3, 50, 400, 25);
    // 150 classes: 8 members become 4, then 2
    let rows = batch.with_classes(|class| class as f64);
    let mut many = rows.clone();
    many.y.iter_mut().enumerate().for_each(|(i, y)| *y = (i % 150) as f64);
    learner.learn_growing(rows.rows(), 3, None).unwrap();
    assert_eq!(learner.weights().len(), 8);
    learner.learn_growing(many.slice(0, 100).rows(), 1000, None).unwrap();
    assert_eq!((learner.classes(), learner.weights().len()), (100, 4));
    learner.learn_growing(many.slice(100, 400).rows(), 1000, None).unwrap();
    assert_eq!((learner.classes(), learner.weights().len()), (150, 2));
    let total: f64 = learner.weights().iter().map(|member| member.weight).sum();
    assert!((total - 1.0).abs() < 1e-12);
    let restored = WideCategorical::restore(learner.state()).unwrap();
    assert_eq!(restored.state(), learner.state());
}
