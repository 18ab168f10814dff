//! Streams whose class boundaries move, and streams where they do not.

use super::data::{Rows4, losses};
use crate::common::rng;
use kalmia::learner::CategoricalState;
use kalmia::{Categorical, DriftMode, Rows};

fn learner(drift: DriftMode) -> Categorical {
    Categorical::builder(3, 4).intercept().drift(drift).build().unwrap()
}

/// Rows whose classes change places in the middle.
fn flipped(rows: usize) -> Rows4 {
    let mut data = Rows4::draw(&mut rng(41), 3, rows);
    data.y[rows / 2..].iter_mut().for_each(|y| *y = (*y + 1.0) % 3.0);
    data
}

fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

#[test]
fn a_flip_is_detected_and_followed_nearly_as_by_a_fresh_start() {
    let data = flipped(6000);
    let mut fresh = learner(DriftMode::Off);
    let fresh = losses(&mut fresh, data.rows().slice(3000..6000));
    let fresh_last = mean(&fresh[1500..]);
    let fresh = mean(&fresh);
    let mut still = learner(DriftMode::Off);
    let still = mean(&losses(&mut still, data.rows())[3000..]);
    println!("second half, its second half: fresh {fresh:.4}, {fresh_last:.4}; static {still:.4}");
    for mode in [DriftMode::Detect, DriftMode::Adapt] {
        let mut learner = learner(mode);
        let found = losses(&mut learner, data.rows());
        let second = mean(&found[3000..]);
        let last = mean(&found[4500..]);
        println!("{mode}: {second:.4}, {last:.4}");
        // the rows until the flip is noticed cost about 3 nats each
        assert!(second < 1.35 * fresh && still > 1.7 * fresh, "{mode}: {second} {fresh} {still}");
        assert!(last < 1.03 * fresh_last, "{mode}: {last} {fresh_last}");
        let from = learner.follows_from().unwrap();
        match mode {
            DriftMode::Detect => assert!(from > 3000 && from < 3600, "{from}"),
            _ => assert_eq!(from, 128),
        }
        assert!(learner.weights().iter().any(|m| m.process_noise > 0.0 && m.weight > 0.0));
    }
}

#[test]
fn a_static_stream_loses_next_to_nothing() {
    let data = Rows4::draw(&mut rng(42), 4, 6000);
    let run = |mode: DriftMode| {
        let mut learner = Categorical::builder(4, 4).intercept().drift(mode).build().unwrap();
        let loss = mean(&losses(&mut learner, data.rows()));
        (loss, learner)
    };
    let (off, _) = run(DriftMode::Off);
    let (detect, learner) = run(DriftMode::Detect);
    let (adapt, following) = run(DriftMode::Adapt);
    println!("static stream: off {off:.5}, detect {detect:.5}, adapt {adapt:.5}");
    assert!(!learner.is_following() && following.is_following());
    assert!((detect - off).abs() < 1e-9, "{detect} {off}");
    assert!(adapt < off + 0.01, "{adapt} {off}");
}

#[test]
fn no_static_stream_of_many_classes_raises_an_alarm() {
    for seed in 0..10 {
        let data = Rows4::draw(&mut rng(300 + seed), 4, 3000);
        let mut learner =
            Categorical::builder(4, 4).intercept().drift(DriftMode::Detect).build().unwrap();
        learner.learn(data.rows()).unwrap();
        assert_eq!(learner.follows_from(), None, "seed {seed}");
    }
}

#[test]
fn a_stored_state_continues_while_watching_and_while_following() {
    let data = flipped(2400);
    let rows = data.rows();
    for mode in DriftMode::ALL {
        let mut whole = learner(mode);
        let expected = losses(&mut whole, rows);
        assert_eq!(whole.is_following(), mode != DriftMode::Off, "{mode}");
        let mut pieces = learner(mode);
        let mut found = Vec::new();
        let mut i = 0;
        for size in [100, 37, 500, 600, 1, 470, 333, 359] {
            let text = serde_json::to_string(&pieces.state()).unwrap();
            let state: CategoricalState = serde_json::from_str(&text).unwrap();
            assert_eq!(state, pieces.state());
            pieces = Categorical::restore(state).unwrap();
            assert_eq!(pieces.drift_mode(), mode);
            found.extend(losses(&mut pieces, rows.slice(i..i + size)));
            i += size;
        }
        assert_eq!(i, 2400);
        assert_eq!(found, expected, "{mode}");
        assert_eq!(pieces.state(), whole.state(), "{mode}");
    }
}

#[test]
fn a_state_from_before_drifts_were_followed_still_loads() {
    let data = Rows4::draw(&mut rng(43), 3, 300);
    let mut static_learner = learner(DriftMode::Off);
    static_learner.learn(data.rows()).unwrap();
    let mut value = serde_json::to_value(static_learner.state()).unwrap();
    let state = value.as_object_mut().unwrap();
    for name in ["drift", "follows_from", "watch"] {
        assert!(state.remove(name).is_some(), "{name}");
    }
    for member in state["members"].as_array_mut().unwrap() {
        assert!(member.as_object_mut().unwrap().remove("process_noise").is_some());
    }
    let old: CategoricalState = serde_json::from_value(value).unwrap();
    assert_eq!(Categorical::restore(old).unwrap().state(), static_learner.state());
}

#[test]
fn features_and_classes_may_come_while_a_drift_is_followed() {
    let data = flipped(3000);
    let mut learner = learner(DriftMode::Detect);
    learner.learn(data.rows()).unwrap();
    assert!(learner.is_following());
    learner.grow_class().unwrap();
    learner.grow().unwrap();
    let more = Rows4::draw(&mut rng(44), 4, 1000);
    let x: Vec<f64> = more
        .x
        .chunks_exact(4)
        .enumerate()
        .flat_map(|(i, x)| x.iter().copied().chain([if i < 200 { 0.0 } else { x[1] + 5.0 }]))
        .collect();
    learner.learn(Rows::new(5, &x, &more.y).unwrap()).unwrap();
    assert!(learner.predict(&[1.0, 1.0, 1.0, 1.0, 6.0]).unwrap()[3] > 0.1);
    // far from 0: process noise of a slope does not move the level at the center
    let mut far = data.x.clone();
    far.chunks_exact_mut(4).for_each(|x| x[2] += 1e6);
    let mut shifted =
        Categorical::builder(3, 4).intercept().drift(DriftMode::Adapt).build().unwrap();
    let mut near = Categorical::builder(3, 4).intercept().drift(DriftMode::Adapt).build().unwrap();
    let a = mean(&losses(&mut shifted, Rows::new(4, &far, &data.y).unwrap())[200..]);
    let b = mean(&losses(&mut near, data.rows())[200..]);
    assert!((a - b).abs() < 0.01, "{a} {b}");
}
