//! The excess risk $L(\hat\theta_t)-L(\theta^*)$ of one step, in every lane.

use crate::lanes::{V, dot};
use crate::quadrature::logistic_hessian;
use crate::world::{D, World};

/// How the excess risk of a step is measured.
#[derive(Debug, Clone)]
pub(super) enum Excess {
    /// Quadratic loss: $\frac12 e^\top\Sigma e$ with $\Sigma = E[XX^\top]$, exact.
    Quadratic,
    /// Logistic loss near $\theta^*$: $\frac12 e^\top He$ with $H = E[\sigma'(\theta^{*\top}X)
    /// XX^\top]$, whose upper triangle this is. In the ball of radius $\varepsilon$ the relative
    /// error is below [`local_error`].
    Local(Box<[[V; D]; D]>),
    /// Logistic loss anywhere: $E[\ell(y,m)-\ell(y,m^*)\mid X_t]$ at the step's own $X_t$. It is
    /// independent of $\hat\theta_t$, so the mean is $L(\hat\theta_t)-L(\theta^*)$, and the
    /// cumulative sums differ from those of the excess risk by a martingale.
    Fresh,
}

impl Excess {
    /// The second-order form at the generator of `world`.
    pub fn local(world: World) -> Self {
        let h = logistic_hessian(&world.generator());
        Excess::Local(Box::new(h.map(|row| row.map(V::splat))))
    }

    /// At one step: `error` is $\hat\theta_t-\theta^*$, `m` is $\hat\theta_t^\top X_t$.
    #[inline(always)]
    pub fn at(&self, error: &[V; D], m: V, x: &[V; D], star: &[V; D]) -> V {
        match self {
            Excess::Quadratic => quadratic(error),
            Excess::Local(h) => local(error, h),
            Excess::Fresh => divergence(m, dot(star, x)),
        }
    }
}

/// The relative error of `Excess::Local` in the ball of radius $\varepsilon$.
///
/// The excess is $E[\Delta^2\int_0^1(1-s)\sigma'(m^*+s\Delta)ds]$ with $|\Delta|\le\varepsilon
/// D_X$, and $\sigma'(m^*+s\Delta)/\sigma'(m^*)$ lies between $e^{\pm s|\Delta|}$. So the excess is
/// between $\frac12e^\top He$ times $2\int_0^1(1-s)e^{\pm s\varepsilon D_X}ds$.
pub fn local_error(epsilon: f64, d_x: f64) -> f64 {
    let shift = epsilon * d_x;
    // 2 (e^z - 1 - z)/z² - 1 = z/3 + z²/12 + z³/60 + ..., the larger of the two sides.
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 3..30 {
        term *= shift / f64::from(k);
        sum += term;
    }
    sum
}

#[inline(always)]
fn quadratic(error: &[V; D]) -> V {
    let mut line = error[0];
    let mut squares = V::ZERO;
    for e in &error[1..] {
        line = e.mul_add(V::splat(0.5), line);
        squares = e.mul_add(*e, squares);
    }
    (line * line + squares * V::splat(1.0 / 12.0)) * V::splat(0.5)
}

#[inline(always)]
fn local(error: &[V; D], h: &[[V; D]; D]) -> V {
    let mut total = V::ZERO;
    for i in 0..D {
        let mut row = h[i][i] * error[i] * V::splat(0.5);
        for j in i + 1..D {
            row = h[i][j].mul_add(error[j], row);
        }
        total = row.mul_add(error[i], total);
    }
    total
}

/// $p^*(m^*-m)+\ln(1+e^m)-\ln(1+e^{m^*})$, $p^*=\sigma(m^*)$: the divergence of two Bernoulli laws,
/// to $10^{-15}$.
#[inline(always)]
pub(super) fn divergence(m: V, m_star: V) -> V {
    let e = (-m.map(f64::abs)).exp_negative();
    let e_star = (-m_star.map(f64::abs)).exp_negative();
    let gap = m.max(V::ZERO) - m_star.max(V::ZERO) + log_ratio(e, e_star);
    let r = (V::ONE + e_star).recip();
    let p_star = m_star.select(r, e_star * r);
    p_star.mul_add(m_star - m, gap)
}

/// Terms of the series of [`log_ratio`]: the rest is below $(1/3)^{33}$.
const TERMS: usize = 16;

/// $\ln\frac{1+a}{1+b} = 2\operatorname{artanh}z$ with $z=\frac{a-b}{2+a+b}$, for $a$, $b$ in
/// $[0,1]$: then $|z|\le\frac13$, and a few terms of the series suffice. A call of the standard
/// logarithm per lane would take most of the time of a step.
#[inline(always)]
fn log_ratio(a: V, b: V) -> V {
    let z = (a - b) * (V::splat(2.0) + a + b).recip();
    let z2 = z * z;
    let mut sum = V::splat(1.0 / (2 * TERMS - 1) as f64);
    for k in (0..TERMS - 1).rev() {
        sum = sum.mul_add(z2, V::splat(1.0 / (2 * k + 1) as f64));
    }
    (z + z) * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::dispatch;
    use crate::world::{Block, second_moment};

    #[test]
    fn logarithm_and_divergence_agree_with_the_standard_library() {
        let steps = 200;
        for i in 0..=steps {
            for j in 0..=steps {
                let a = f64::from(i) / f64::from(steps);
                let b = f64::from(j) / f64::from(steps);
                let got = dispatch(|| log_ratio(V::splat(a), V::splat(b))).0[2];
                let expected = a.ln_1p() - b.ln_1p();
                assert!((got - expected).abs() < 3e-16, "{a} {b}: {got} against {expected}");
            }
        }
        for i in -40..=40 {
            for j in -40..=40 {
                let m = f64::from(i) * 0.5;
                let star = f64::from(j) * 0.5 + 1e-3;
                let softplus = |u: f64| u.max(0.0) + (-u.abs()).exp().ln_1p();
                let p = 1.0 / (1.0 + (-star).exp());
                let expected = p * (star - m) + softplus(m) - softplus(star);
                let got = dispatch(|| divergence(V::splat(m), V::splat(star))).0[7];
                assert!((got - expected).abs() < 1e-14, "{m} {star}: {got} against {expected}");
                assert!(got > -1e-15);
            }
        }
    }

    /// The quadratic form against the mean of the divergence over many draws of X, for an error on
    /// the edge of the ball of Theorem 1, within the stated error and four standard errors.
    #[test]
    fn second_order_form_is_the_excess_risk_in_the_ball() {
        let world = World::Weak;
        let star = world.generator();
        let d_x = (D as f64).sqrt();
        let epsilon = 1.0 / (20.0 * d_x);
        let allowed = local_error(epsilon, d_x);
        assert!((allowed - 0.016878).abs() < 1e-6, "{allowed}");
        let mut streams = world.streams(9, 0);
        let mut block = Block::new(20_000);
        block.fill(world, &mut streams);
        // Along a sum of signs the shift is far from the mean of X.
        for direction in [0u32, 0b101_0101_0101, 0b111_0000_1111] {
            let sign = |j: usize| if direction >> j & 1 == 1 { -1.0 } else { 1.0 };
            let error: [f64; D] = std::array::from_fn(|j| sign(j) * epsilon / d_x);
            let mut sum = 0.0;
            let mut squares = 0.0;
            let mut count = 0.0;
            for x in &block.x {
                let m_star = dot(&star.map(V::splat), x);
                let m = m_star + dot(&error.map(V::splat), x);
                for value in divergence(m, m_star).0 {
                    sum += value;
                    squares += value * value;
                    count += 1.0;
                }
            }
            let mean = sum / count;
            let spread = ((squares / count - mean * mean) / count).sqrt();
            let form = Excess::local(world).at(
                &error.map(V::splat),
                V::ZERO,
                &block.x[0],
                &error.map(V::splat),
            );
            let gap = (form.0[0] - mean).abs();
            assert!(gap < allowed * mean + 4.0 * spread, "{} against {mean} ± {spread}", form.0[0]);
        }
    }

    #[test]
    fn quadratic_form_is_half_the_second_moment() {
        let error: [f64; D] = std::array::from_fn(|j| 0.3 * j as f64 - 1.0);
        let image = second_moment().map(|row| row.iter().zip(error).map(|(a, e)| a * e).sum());
        let expected: f64 = error.iter().zip(image).map(|(e, v): (_, f64)| 0.5 * e * v).sum();
        assert!((quadratic(&error.map(V::splat)).0[1] - expected).abs() < 1e-13);
    }
}
