//! The closed forms of a label against the functions and integrals that they replace.

use super::*;

#[test]
fn one_exponential_gives_all_the_functions() {
    for u in [-700.0, -3.0, -0.0, 0.0, 0.7, 40.0] {
        for y in [0.0, 1.0] {
            let Likelihood { value, first, second } = Bernoulli.likelihood(y, u).unwrap();
            assert!((value / (-Bernoulli.loss(y, u)).exp() - 1.0).abs() < 1e-13);
            assert_eq!((first, second), Bernoulli.derivatives(y, u));
            let Point { mean, loss, slope } = Bernoulli.at(y, u);
            assert_eq!((mean, loss, slope), (Bernoulli.mean(u), Bernoulli.loss(y, u), first));
        }
    }
}

#[test]
fn one_division_gives_the_same_step() {
    for (y, weight, offset) in [(0.0, 1.0, 0.0), (1.0, 1.0, 0.3), (1.0, 7.0, -2.0)] {
        let observation = Observation { y, weight, offset };
        for m in [-700.0, -30.0, -1.2, 0.0, 0.4, 5.0, 40.0] {
            for s in [0.0, 1e-8, 0.3, 20.0, 1e9, 1e200] {
                let (first, curvature) = observation.derivatives(&Bernoulli, m);
                let long = Step::against(first, curvature, s);
                let short = Bernoulli.kalman_step(&observation, m, s);
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-15 * a.abs();
                assert!(
                    close(long.gain, short.gain) && close(long.curvature, short.curvature),
                    "{m} {s}: {long:?} {short:?}"
                );
                assert!(close(long.contraction, short.contraction), "{m} {s}: {long:?} {short:?}");
            }
        }
    }
}

/// Against the integrals, which a weight of 1 + epsilon leads to.
#[test]
fn a_belief_steps_as_the_integral_does() {
    for y in [0.0, 1.0] {
        for u in [
            -narrow::MAX_SURPRISE,
            -9.0,
            -wide::MAX_SURPRISE,
            -3.3,
            -1.0,
            -0.1,
            0.0,
            0.4,
            1.7,
            wide::MAX_SURPRISE,
            12.0,
            narrow::MAX_SURPRISE,
            40.0,
            MAX_LINEAR,
        ] {
            let m = if y > 0.0 { u } else { -u };
            let [very, quite, rather, just] = narrow::MAX_VARIANCES;
            for s in [
                1e-9,
                1e-5,
                very,
                1e-3,
                quite,
                2e-2,
                rather,
                5e-2,
                just,
                0.1,
                0.4,
                1.2,
                1.3,
                2.0,
                wide::MAX_VARIANCE,
            ] {
                let Some(series) = Bernoulli.exact_moments(&Observation::new(y), m, s) else {
                    assert!(s > just && u < -wide::MAX_SURPRISE);
                    continue;
                };
                let other = Observation { y, weight: 1.0 + f64::EPSILON, offset: 0.0 };
                let integral = crate::rule::moments(&Bernoulli, &other, m, s);
                let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
                let same = close(series.step.gain, integral.step.gain)
                    && close(series.step.contraction, integral.step.contraction)
                    && close(series.slope, integral.slope)
                    && (series.evidence.ln() - integral.evidence.ln()).abs()
                        < 1e-10 * integral.evidence.ln().abs() + 1e-15;
                assert!(same, "y {y}, m {m}, s {s}: {series:?} {integral:?}");
            }
        }
    }
}

#[test]
fn a_narrow_belief_moderates_as_the_integral_does() {
    for m in [-30.0, -8.0, -2.3, -1.0, -0.1, 0.0, 0.4, 1.7, 6.0, 20.0] {
        for s in [1e-9, 1e-5, 1e-3, narrow::MAX_MEAN_VARIANCE] {
            let series = Bernoulli.moderated_mean(m, s);
            let integral = gaussian_expectation(m, s, logistic);
            assert!(
                (series / integral - 1.0).abs() < 1e-12,
                "m {m}, s {s}: {series:e} {integral:e}"
            );
            assert!((series + Bernoulli.moderated_mean(-m, s) - 1.0).abs() < 1e-15);
        }
    }
}
