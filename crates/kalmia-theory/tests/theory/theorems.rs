//! Theorems and corollaries against plain arithmetic, and against each other.

use super::reference::close;
use kalmia_theory::*;

#[test]
fn theorem_12_agrees_with_plain_arithmetic() {
    let d_x = 0.9f64;
    let lambda_min = 0.8f64;
    let norm_star = 0.1;
    let eps = 0.9f64;
    let beta = 0.12;
    let c = 0.05f64;
    let k1 = 1.0 + (d_x * (norm_star + eps)).exp();
    let rest = 1.0 - 2.0 * beta;
    let c1 =
        lambda_min.powi(6) * rest * eps.powi(4) / (65536.0 * d_x.powi(12) * c * c * k1.powi(6));
    let c2 = lambda_min.powi(2) * rest * eps.powi(4) / (2048.0 * d_x.powi(4) * c * c * k1 * k1);
    for t in [1.0f64, 2.0, 50.0, 1e4, 1e8, 1e11] {
        let out = ConvergenceProb { ln_t: t.ln(), d_x, lambda_min, norm_star, eps, beta, c }
            .evaluate()
            .unwrap();
        let term1 = (t.sqrt() + 1.0) * (-c1 * t.ln().powi(2)).exp();
        let ln_term2 = t.ln() - c2 * (t.sqrt() - 1.0).powf(rest);
        assert!(close(out.ln_term1.exp(), term1, 1e-11), "t={t}");
        assert!((out.ln_term2 - ln_term2).abs() <= 1e-10 * (1.0 + ln_term2.abs()), "t={t}");
        assert!(close(out.ln_bound.exp(), term1 + ln_term2.exp(), 1e-9), "t={t}");
        assert_eq!(out.ln_minus_ln_term2.is_some(), ln_term2 < 0.0, "t={t}");
        assert!(out.ln_minus_ln_term2.is_none_or(|x| close(-x.exp(), ln_term2, 1e-9)), "t={t}");
    }
}

#[test]
fn corollary_13_follows_from_theorem_12() {
    let base = CoroConvergenceTau {
        d: 3,
        d_x: 1.3,
        lambda_min: 0.4,
        norm_star: 0.7,
        eps: 0.5,
        delta: 0.02,
        beta: 0.2,
        lmax_p1: 2.0,
        variant: Variant::Paper,
    };
    for beta in [0.05, 0.2, 0.31, 0.33, 0.49] {
        let tau = CoroConvergenceTau { beta, ..base }.evaluate().unwrap();
        let CoroConvergenceTau { d_x, lambda_min, norm_star, eps, .. } = base;
        let prob = ConvergenceProb {
            ln_t: 1.0,
            d_x,
            lambda_min,
            norm_star,
            eps,
            beta,
            c: tau.c_half_delta,
        };
        let ln_c1 = prob.evaluate().unwrap().ln_c1;
        let rest = 1.0 - 2.0 * beta;
        assert!(close(tau.ln_ln_tau_b, 1.5f64.ln() - ln_c1 - 0.5 * rest.ln(), 1e-12));
        // From tau_a on the truncation is below the least curvature of the local region.
        let kappa = LogisticConstants { d_x, norm_star, eps }.evaluate().unwrap().kappa;
        assert!(close((-beta * tau.ln_tau_a).exp(), 0.5 / (1.0 + kappa), 1e-12));
        // Corrected, the step of the proof that needs ln tau >= 5/(2 C_1) is covered.
        let corrected =
            CoroConvergenceTau { beta, variant: Variant::Corrected, ..base }.evaluate().unwrap();
        assert!(corrected.ln_ln_tau_b >= 2.5f64.ln() - ln_c1 - 1e-9);
        assert_eq!(corrected == tau, beta > 0.32);
        let threshold =
            ConvergenceThreshold { d_x, lambda_min, norm_star, eps, beta, c: tau.c_half_delta };
        assert!(threshold.evaluate().unwrap().ln_ln_t_min <= tau.ln_ln_tau_b && tau.applies);
    }
    assert!(!CoroConvergenceTau { eps: 0.8, ..base }.evaluate().unwrap().applies);
}

#[test]
fn theorem_10_agrees_with_plain_arithmetic_and_contains_theorem_1() {
    let bound = ResultLogistic {
        d: 3,
        n: 500,
        delta: 0.01,
        d_x: 1.5,
        norm_star: 0.9,
        dist1: 1.1,
        lmax_p1: 2.0,
        lmax_p1_inv: 0.5,
        ln_tau: 40f64.ln(),
        beta: 0.49,
        variant: Variant::Paper,
    };
    let out = bound.evaluate().unwrap();
    let tau = 40.0;
    let scale = (1.5f64 * 0.9).exp();
    let local = 9.0 * scale * (500.0f64 * 2.0 * 2.25 / 12.0).ln_1p()
        + 0.5 / (75.0 * 2.25)
        + 64.0 * scale * (1.0f64 / 0.01).ln();
    let total = local + tau * (1.0 / 300.0 + 1.5 * 1.1) + tau * tau * 2.25;
    assert!(close(out.ln_local.exp(), local, 1e-12) && close(out.ln_total.exp(), total, 1e-12));
    let constants =
        LogisticConstants { d_x: 1.5, norm_star: 0.9, eps: out.eps }.evaluate().unwrap();
    let theorem1 = LocalizedBounded {
        d: 3,
        n: 500,
        eps: out.eps,
        delta: 0.01,
        kappa: constants.kappa,
        h: constants.h,
        rho: constants.rho,
        d_x: 1.5,
        lmax_p1: 2.0,
        lmax_p_inv: 0.5,
    };
    let theorem1 = theorem1.evaluate().unwrap();
    assert!(theorem1.applies && theorem1.total <= local);
    let extra = TruncationExcess { beta: 0.49, tau }.evaluate().unwrap().extra_bound;
    let corrected = ResultLogistic { variant: Variant::Corrected, ..bound }.evaluate().unwrap();
    assert!(close(corrected.ln_total.exp(), total + extra, 1e-12));
    assert!(close(corrected.ln_excess_term.exp(), extra, 1e-12));
    assert_eq!(out.ln_excess_term, f64::NEG_INFINITY);
}

const LINEAR: ResultLinear = ResultLinear {
    d: 4,
    n: 1000,
    eps: 0.2,
    delta: 0.01,
    sigma: 0.7,
    d_app: 0.1,
    d_x: 1.8,
    lmax_p1: 3.0,
    lmax_p1_inv: 0.5,
    dist1: 1.4,
    tau: 25.0,
    cond_p1: 1.0,
    variant: Variant::Corrected,
};

#[test]
fn theorem_14_sums_lemma_22_and_theorem_2() {
    let ResultLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p1_inv,
        dist1,
        tau,
        cond_p1,
        variant,
    } = LINEAR;
    let out = LINEAR.evaluate().unwrap();
    // The first tau risks by Lemma 22, the others by Theorem 2 with the matrix grown by tau rows.
    let first: f64 = (1..=tau as u64)
        .map(|t| {
            QuadraticFirst { t, delta, sigma, d_app, d_x, lmax_p1, dist1, cond_p1 }
                .evaluate()
                .unwrap()
                .bound
        })
        .map(|distance| (d_x * distance).powi(2))
        .sum();
    let grown = lmax_p1_inv + tau * d_x * d_x;
    let local = LocalizedLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p_inv: grown,
        variant,
    };
    let local = local.evaluate().unwrap();
    assert!(first + local.total <= out.total);
    assert!(close(out.init_term + 5.0 * eps * eps * tau * d_x * d_x, local.init_term, 1e-13));
    // Without a convergence phase it is Theorem 2.
    let at_zero = ResultLinear { tau: 0.0, ..LINEAR }.evaluate().unwrap();
    let theorem2 = LocalizedLinear {
        d,
        n,
        eps,
        delta,
        sigma,
        d_app,
        d_x,
        lmax_p1,
        lmax_p_inv: lmax_p1_inv,
        variant,
    };
    assert_eq!(at_zero.total, theorem2.evaluate().unwrap().total);
    // The variants differ by their constants alone.
    let printed = ResultLinear { variant: Variant::Paper, ..LINEAR }.evaluate().unwrap();
    assert!(close(printed.dev_term * 140.0, out.dev_term * 115.0, 1e-14));
    let unit =
        |variant| ResultLinear { dist1: 1.0, variant, ..LINEAR }.evaluate().unwrap().tau_term;
    assert_eq!(unit(Variant::Paper), unit(Variant::Corrected));
}

#[test]
fn lemma_22_needs_the_condition_number() {
    // P_1 = diag(1, 100), x = (1, 1) again and again, no noise, theta_1 - theta* = (1, 0): the
    // printed bound is 1.
    let a = 1.0;
    let c = 100.0;
    let bound = QuadraticFirst {
        t: 1001,
        delta: 0.1,
        sigma: 0.0,
        d_app: 0.0,
        d_x: 2f64.sqrt(),
        lmax_p1: 100.0,
        dist1: 1.0,
        cond_p1: c / a,
    };
    // theta_t - theta* = P_t P_1^{-1} (1, 0), with P_t = P_1 - k P_1 x x' P_1.
    let n = 1000.0;
    let shrink = n / (1.0 + n * (a + c));
    let distance = f64::hypot(1.0 - shrink * a, shrink * c);
    assert!(distance > 1.4 && distance <= bound.evaluate().unwrap().bound);
    assert!(distance > QuadraticFirst { cond_p1: 1.0, ..bound }.evaluate().unwrap().bound);
}

#[test]
fn corollary_24_delivers_what_it_promises() {
    let base = TauDeltaLinear {
        d: 4,
        eps: 0.1,
        delta: 0.05,
        sigma: 0.8,
        d_app: 0.2,
        d_x: 1.7,
        lambda_min: 0.4,
        dist1: 0.6,
        norm_star: 2.0,
        p1: 5.0,
        variant: Variant::Corrected,
    };
    for eps in [0.01, 0.1, 1.0] {
        let out = TauDeltaLinear { eps, ..base }.evaluate().unwrap();
        assert!(out.applies);
        let TauDeltaLinear {
            d,
            delta,
            sigma,
            d_app,
            d_x,
            lambda_min,
            dist1,
            norm_star,
            p1,
            variant,
            ..
        } = base;
        assert!(out.tau.fract() == 0.0 && out.tau >= out.tau1.max(out.tau2).max(out.tau3));
        for t in [out.tau, 3.0 * out.tau, 1e3 * out.tau] {
            // The union bound of the proof takes Lemma 23 at delta / t^2.
            let delta = delta / (t * t);
            let t = t as u64;
            let lemma = ResultHsu {
                d,
                t,
                delta,
                sigma,
                d_app,
                d_x,
                lambda_min,
                dist1,
                norm_star,
                p1,
                variant,
            };
            let lemma = lemma.evaluate().unwrap();
            assert!(lemma.applies && lemma.delta_is_small && lemma.t_is_large);
            assert!((lemma.bound / lambda_min).sqrt() <= eps, "eps={eps} t={t}");
        }
    }
    // Nothing to learn, nothing to wait for but the design.
    let still = TauDeltaLinear { sigma: 0.0, d_app: 0.0, dist1: 0.0, norm_star: 0.0, ..base }
        .evaluate()
        .unwrap();
    assert_eq!((still.tau2, still.tau3, still.tau), (0.0, 0.0, still.tau1.ceil()));
}
