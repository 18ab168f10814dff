//! Identities between closed forms, and inequalities that runs and samples must satisfy.

use kalmia_theory::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn close(a: f64, b: f64, rtol: f64) -> bool {
    (a - b).abs() <= rtol * a.abs().max(b.abs())
}

const THEOREM_1: LocalizedBounded = LocalizedBounded {
    d: 5,
    n: 300,
    eps: 0.02,
    delta: 0.05,
    kappa: 7.0,
    h: 0.25,
    rho: 0.96,
    d_x: 2.0,
    lmax_p1: 3.0,
    lmax_p_inv: 40.0,
};

fn at(rho: f64, c: Option<f64>, s: Option<f64>) -> LocalizedBoundedRho {
    let LocalizedBounded { d, n, eps, delta, kappa, h, d_x, lmax_p1, lmax_p_inv, .. } = THEOREM_1;
    LocalizedBoundedRho { d, n, eps, delta, kappa, h, rho, d_x, lmax_p1, lmax_p_inv, c, s }
}

#[test]
fn theorem_1_follows_from_its_general_form() {
    let printed = THEOREM_1.evaluate().unwrap();
    let general = at(0.95, Some(0.75), Some(0.1)).evaluate().unwrap();
    let constants = ProofConstants { sigma: 1.0, d_app: 0.0, eps: 0.1, d_x: 1.0 };
    let constants = constants.evaluate().unwrap();
    assert!(close(general.lambda_kappa, constants.th1_lambda_kappa, 1e-14));
    // The paper rounds 4.75 up to 5, 11.4 to 12 and 0.59 to 0.6.
    assert!(close(general.factor, 4.75, 1e-12));
    assert!(close(general.log_term / printed.log_term, 0.95, 1e-12));
    assert!(close(general.init_term / printed.init_term, 0.95, 1e-12));
    assert!(general.dev_term < printed.dev_term && general.dev_term > 0.85 * printed.dev_term);
}

#[test]
fn every_ratio_above_one_half_has_constants_and_the_bound_grows_towards_it() {
    let mut last = 0.0;
    for i in (1..=49).rev() {
        let rho = 0.5 + f64::from(i) / 100.0;
        let out = at(rho, None, None).evaluate().unwrap();
        assert!(out.lambda_kappa > 0.0 && out.c > 0.5 && out.c < rho && out.applies, "{rho}");
        assert!(out.total > last, "{rho}");
        last = out.total;
    }
    for (rho, c, s, name) in [
        (0.5, None, None, "rho"),
        (0.7, Some(0.7), None, "c"),
        (0.7, Some(0.5), None, "c"),
        (0.7, Some(0.6), Some(1.0), "s"),
    ] {
        let error = at(rho, c, s).evaluate().unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn averages_are_totals_over_n() {
    for n in [1, 7, 1_000_000] {
        let out = LocalizedBounded { n, ..THEOREM_1 }.evaluate().unwrap();
        assert_eq!(out.average, out.total / n as f64);
        let ons = RefinementMahdavi {
            d: 3,
            n,
            lambda: 1.0,
            g: 2.0,
            diameter: 4.0,
            alpha: 0.1,
            delta: 0.1,
        }
        .evaluate()
        .unwrap();
        assert_eq!(ons.average, ons.total / n as f64);
    }
}

/// A probability that is not positive is never reported as one that applies.
#[test]
fn nothing_applies_with_a_vacuous_probability() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("data/bounds_cases.json")).unwrap();
    let mut vacuous = 0;
    for entry in registry() {
        let has_delta = entry.parameters.iter().any(|p| p.name == "delta");
        if !has_delta {
            continue;
        }
        let inputs: Inputs =
            serde_json::from_value(file["functions"][entry.name]["cases"][0]["in"].clone())
                .unwrap();
        for delta in [0.1, 0.2, 0.3, 0.4, 0.6, 0.9] {
            let out = entry.evaluate(&inputs.clone().with("delta", delta)).unwrap();
            let Some(prob) = out.get("prob").and_then(Value::as_number) else { continue };
            if prob <= 0.0 {
                vacuous += 1;
                assert_eq!(out.get("applies"), Some(&Value::Bool(false)), "{} {delta}", entry.name);
            }
        }
    }
    assert!(vacuous > 10, "{vacuous}");
}

#[test]
fn theorem_12_says_when_it_applies() {
    let base = ConvergenceProb {
        ln_t: 5.0,
        d_x: 1.0,
        lambda_min: 0.5,
        norm_star: 0.2,
        eps: 0.9,
        beta: 0.1,
        c: 8.0,
    };
    let ConvergenceProb { d_x, lambda_min, norm_star, eps, beta, c, .. } = base;
    let threshold = ConvergenceThreshold { d_x, lambda_min, norm_star, eps, beta, c };
    let ln_t_min = threshold.evaluate().unwrap().ln_t_min;
    let applies = |ln_t: f64| ConvergenceProb { ln_t, ..base }.evaluate().unwrap();
    assert!(!applies(5.0).applies && !applies(0.99 * ln_t_min).applies);
    // Beyond the threshold the bound may still exceed 1.
    let just_beyond = applies(1.01 * ln_t_min);
    assert_eq!(just_beyond.applies, just_beyond.ln_bound < 0.0);
    assert!(applies(1e14).applies);
}

#[test]
fn theorem_14_takes_the_condition_number_where_it_is_proved() {
    let base = ResultLinear {
        d: 2,
        n: 100,
        eps: 0.1,
        delta: 0.01,
        sigma: 0.0,
        d_app: 0.0,
        d_x: 2f64.sqrt(),
        lmax_p1: 100.0,
        lmax_p1_inv: 1.0,
        dist1: 1.0,
        tau: 10.0,
        cond_p1: 100.0,
        variant: Variant::Corrected,
    };
    let corrected = base.evaluate().unwrap();
    // without noise the first phase is tau D^2 (5 eps^2 + 2 dist1^2 cond)
    assert!(close(corrected.tau_term, 20.0 * (0.05 + 200.0), 1e-12));
    let scaled = ResultLinear { cond_p1: 1.0, dist1: 10.0, ..base }.evaluate().unwrap();
    assert_eq!(scaled.tau_term, corrected.tau_term);
    let printed = ResultLinear { variant: Variant::Paper, ..base };
    let plain = ResultLinear { cond_p1: 1.0, ..printed };
    assert_eq!(printed.evaluate(), plain.evaluate());
}

/// Identity I17: with the squares subtracted, the exponential of a centred variable has mean at
/// most 1, which is what Lemma 4 needs, and the level of Lemma 15 is Markov's.
#[test]
fn the_supermartingale_of_lemma_4_is_one() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..300 {
        let k = rng.random_range(2..6);
        let mut weights: Vec<f64> = (0..k).map(|_| rng.random::<f64>() + 1e-3).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let mut values: Vec<f64> = (0..k).map(|_| 6.0 * rng.random::<f64>() - 3.0).collect();
        let mean: f64 = weights.iter().zip(&values).map(|(w, v)| w * v).sum();
        values.iter_mut().for_each(|v| *v -= mean);
        let square: f64 = weights.iter().zip(&values).map(|(w, v)| w * v * v).sum();
        let lambda = 3.0 * rng.random::<f64>();
        let moment: f64 = weights
            .iter()
            .zip(&values)
            .map(|(w, v)| w * (lambda * v - 0.5 * lambda * lambda * (v * v + square)).exp())
            .sum();
        assert!(moment <= 1.0 + 1e-14, "{moment}");
    }
    for delta in [0.5, 0.05, 1e-9] {
        let level = SimultaneousSupermartingale { delta, outside: 0.0 }.evaluate().unwrap();
        let lemma4 = Corobercu { lambda: 2.0, delta, quad: 0.0 }.evaluate().unwrap();
        assert!(close((2.0 * lemma4.bound).exp(), level.level, 1e-12));
        assert_eq!(level.probability, lemma4.probability);
    }
}

/// Random walks of signs exceed the bound of Lemma 4 at some time in at most the promised share.
#[test]
fn lemma_4_holds_for_random_walks() {
    let delta = 0.1;
    let lambda = 0.2;
    let bound = Corobercu { lambda, delta, quad: 0.0 }.evaluate().unwrap().bound;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let runs = 2000;
    let exceeded = (0..runs).filter(|_| walk_exceeds(&mut rng, lambda, bound)).count();
    assert!(exceeded > 0, "the bound is never reached: the test sees nothing");
    let share = exceeded as f64 / f64::from(runs);
    assert!(share <= delta, "{share}");
}

/// Whether the compensated walk of 400 signs passes `bound` at some time.
fn walk_exceeds<R: Rng>(rng: &mut R, lambda: f64, bound: f64) -> bool {
    let mut sum = 0.0;
    (0..400).any(|_| {
        let step = if rng.random::<bool>() { 1.0 } else { -1.0 };
        // the square and its expectation are both 1
        sum += step - 0.5 * lambda * 2.0;
        sum > bound
    })
}

/// Identity I16 gives Lemma 9 from Lemma 4: twice the weight, and 2 and 3 as factors.
#[test]
fn lemma_9_is_lemma_4_with_the_quadratic_forms() {
    for (lambda, delta, quad) in [(0.3, 0.05, 12.0), (5.0, 0.5, 0.25)] {
        let nine = Martingale { lambda, delta, quad }.evaluate().unwrap();
        let four = Corobercu { lambda, delta, quad: 2.0 * quad }.evaluate().unwrap();
        assert_eq!((nine.bound, nine.sum_bound), (four.bound, four.sum_bound));
    }
}

/// Lemma 6 on a run in one dimension, where both sides are plain sums.
#[test]
fn lemma_6_bounds_a_run_and_its_sharp_form_is_attained() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for p1 in [0.3, 4.0] {
        let star = 1.7;
        let mut theta = 0.4;
        let mut p = p1;
        let dist1 = theta - star;
        let mut left = 0.0;
        let mut quad = 0.0;
        for _ in 0..200 {
            let x = 2.0 * rng.random::<f64>() - 1.0;
            let y = star * x + rng.random::<f64>() - 0.5;
            let slope = theta * x - y;
            let error = x * (theta - star);
            left += slope * error - 0.5 * error * error;
            p /= 1.0 + p * x * x;
            quad += x * x * p * slope * slope;
            theta -= p * x * slope;
        }
        let lemma = Certificate { quad, dist1: dist1.abs(), lmin_p1: p1, variant: Variant::Paper };
        let printed = lemma.evaluate().unwrap();
        let sharp = Certificate { variant: Variant::Corrected, ..lemma }.evaluate().unwrap();
        // Equality short of the last distance (identity I6).
        let rest = 0.5 * (theta - star).powi(2) / p;
        assert!(close(left, sharp.bound - rest, 1e-11), "{left}");
        assert!(left <= sharp.bound && sharp.bound < printed.bound);
        assert!(close(printed.init_term, 2.0 * sharp.init_term, 1e-15));
    }
}

/// Beyond its thresholds Lemma 21 lies below the exact functions.
#[test]
fn lemma_21_bounds_the_descent_functions() {
    let mut checked = 0;
    for (eta, d_eta, c, beta, l1_gap) in
        [(0.5, 2.0, 0.3, 0.2, 0.1), (0.2, 1.5, 0.1, 0.4, 0.7), (2.0, 0.9, 0.2, 0.05, 0.0)]
    {
        let d_x = 0.8;
        for t in [10u64, 100, 10_000, 1_000_000] {
            let ln_t = (t as f64).ln();
            let lemma = BoundF { ln_t, eta, d_eta, d_x, c, beta, l1_gap }.evaluate().unwrap();
            let root = (t as f64).sqrt().ceil() as u64;
            for k in [1, 2, root - 1, root, root + 1, t - 1] {
                if k == 0 || k >= t {
                    continue;
                }
                let exact = DescentF { k, t, eta, d_eta, d_x, c, beta, l1_gap }.evaluate().unwrap();
                let early = (k * k) < t;
                if lemma.applies_f {
                    checked += 1;
                    let lower = if early { lemma.f_early } else { lemma.f_late };
                    assert!(exact.f >= lower, "f({k}, {t}) = {} < {lower}", exact.f);
                }
                if lemma.applies_f0 {
                    checked += 1;
                    assert!(exact.f0 >= lemma.f0, "f_0({t}) = {} < {}", exact.f0, lemma.f0);
                }
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

/// Lemma 17 with Lemma 18: the same factors, for a sum of $Q_t$ instead of traces.
#[test]
fn lemma_17_has_the_factors_of_lemma_18() {
    let noise =
        QuadraticLinear { eps: 0.3, delta: 0.02, sigma: 0.7, d_app: 0.4, d_x: 1.9, sum_q: 5.0 };
    let out = noise.evaluate().unwrap();
    let lemma18 = SumTraceLinear {
        d: 1,
        n: 1,
        eps: 0.3,
        delta: 0.02,
        sigma: 0.7,
        d_app: 0.4,
        d_x: 1.9,
        lmax_p1: 1.0,
        lmax_pk1: 1.0,
    };
    let lemma18 = lemma18.evaluate().unwrap();
    assert!(close(out.slope, lemma18.log_term / (1.9f64 * 1.9).ln_1p(), 1e-13));
    // eps^2 in place of lambda_max(P_1)
    assert!(close(out.dev_term, 0.09 * lemma18.dev_term, 1e-13));
    assert!(close(out.bound, 5.0 * out.slope + out.dev_term, 1e-15));
    assert!(close(out.slope - out.conditional_slope, 21.0 * 0.49, 1e-13));
}

/// The order moves as the corrected convergence time does: by powers of eps and of Lmin.
#[test]
fn the_order_follows_the_convergence_time() {
    let order = |eps: f64, variant| {
        TauOrder {
            d: 4,
            eps,
            delta: 0.05,
            sigma: 0.8,
            d_app: 0.2,
            d_x: 1.7,
            lambda_min: 0.4,
            dist1: 0.6,
            norm_star: 0.6,
            p1: 5.0,
            variant,
        }
        .evaluate()
        .unwrap()
    };
    let ratio = |variant| order(0.01, variant).a / order(0.1, variant).a;
    assert!(close(ratio(Variant::Paper), 10.0, 1e-12));
    assert!(close(ratio(Variant::Corrected), 100.0, 1e-12));
    let out = order(0.1, Variant::Paper);
    assert!(close(out.order, out.a * out.a.ln(), 1e-15) && out.applies);
    assert!(!order(10.0, Variant::Paper).applies);
}

/// The moments of draws approach those of the paper's design, and a late feature counts as 0.
#[test]
fn moments_of_rows_estimate_the_design() {
    let design = UniformDesign { m: 10 }.evaluate().unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut moments = DesignMoments::default();
    assert!(moments.estimate().is_none());
    let mut x = [1.0; 11];
    let mut largest: f64 = 0.0;
    for _ in 0..20_000 {
        x[1..].iter_mut().for_each(|slot| *slot = rng.random());
        largest = largest.max(x.iter().map(|v| v * v).sum::<f64>());
        moments.add(&x);
    }
    let found = moments.estimate().unwrap();
    assert_eq!((found.rows, found.d), (20_000, 11));
    assert!((found.lambda_min / design.lambda_min - 1.0).abs() < 0.03, "{}", found.lambda_min);
    assert!(found.d_x <= design.d_x && close(found.d_x, largest.sqrt(), 1e-15));

    let mut late = DesignMoments::default();
    late.add(&[2.0]);
    late.add(&[0.0, 4.0]);
    let late = late.estimate().unwrap();
    // the mean of xx' is diag(2, 8)
    assert_eq!((late.d, late.d_x, late.lambda_min), (2, 4.0, 2.0));
    let mut collinear = DesignMoments::default();
    [1.0, 2.0, 3.0].iter().for_each(|&v| collinear.add(&[v, 2.0 * v]));
    assert!(collinear.estimate().unwrap().lambda_min.abs() < 1e-14);
}

/// The published constant for theta*/10 is an ordinary draw, and the study is reproducible.
#[test]
fn the_sphere_study_is_reproducible_and_covers_the_published_constant() {
    let theta = [-0.9, 0.0, 0.3, -0.9, 0.4, -0.9, 1.5, 0.0, -0.7, 0.1, 0.0].to_vec();
    let study = SphereStudy { draws: 500, repeats: 4, ..SphereStudy::new(theta) };
    let minima = study.run().unwrap();
    assert_eq!(minima, study.run().unwrap());
    assert_ne!(minima, SphereStudy { seed: 2, ..study.clone() }.run().unwrap());
    assert!(close(minima.radius, 1.1 * 5.43f64.sqrt(), 1e-12));
    assert!(close(minima.ln_proved, -minima.radius * 11f64.sqrt(), 1e-12));
    assert!(minima.ln_minima.iter().all(|&ln| ln > minima.ln_proved && ln < 0.0));
    assert!(minima.ln_minima.contains(&minima.ln_median()));
    // ln(2.5e-2) = -3.69; the 5 and 95 % quantiles are -3.77 and -3.08
    assert!((-4.4..-2.8).contains(&minima.ln_median()), "{minima:?}");
    let wider = SphereStudy { radius: Some(2.0 * minima.radius), ..study.clone() };
    assert!(wider.run().unwrap().ln_median() < minima.ln_median());
    for (bad, name) in [
        (SphereStudy { theta: vec![], ..study.clone() }, "theta"),
        (SphereStudy { theta: vec![0.0, f64::NAN], ..study.clone() }, "theta"),
        (SphereStudy { theta: vec![0.0, 0.0], ..study.clone() }, "radius"),
        (SphereStudy { draws: 10, ..study.clone() }, "draws"),
        (SphereStudy { repeats: 0, ..study.clone() }, "repeats"),
        (SphereStudy { points: 0, ..study }, "points"),
    ] {
        let error = bad.run().unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn values_are_shown_with_an_exponent_where_digits_would_fill_a_line() {
    let shown = [6.37e248, 1e15, 123456.0, 0.25, 0.0, -2.5e-7].map(|x| Value::from(x).to_string());
    assert_eq!(shown, ["6.37e248", "1e15", "123456", "0.25", "0", "-2.5e-7"]);
    assert_eq!(serde_json::to_string(&Value::from(6.37e248)).unwrap(), "6.37e+248");
}
