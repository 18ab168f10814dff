//! $\theta^*$ of the misspecified setting by Gauss-Legendre quadrature and Newton's method.

use crate::world::{D, SECOND_INTERCEPT, World};
use kalmia::{Bernoulli, Family};

/// Coordinates with a nonzero coefficient, besides the intercept. The three others are independent
/// of the rest of the row and of $y$, so their coefficients in $\theta^*$ are 0.
const ACTIVE: [usize; 7] = [2, 3, 4, 5, 6, 8, 9];

/// Nodes per coordinate: the integrand is so smooth that the error is near $10^{-13}$.
const NODES: usize = 7;

/// Size of the Newton system: the intercept and the active coordinates.
const K: usize = ACTIVE.len() + 1;

/// A node of a quadrature rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Its place.
    pub x: f64,
    /// Its weight.
    pub weight: f64,
}

/// Gauss-Legendre quadrature between 0 and 1: exact for polynomials up to degree $2N-1$.
pub fn gauss_legendre<const N: usize>() -> [Node; N] {
    std::array::from_fn(|i| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (N as f64 + 0.5)).cos();
        let mut slope = 0.0;
        for _ in 0..100 {
            let mut before = 0.0;
            let mut p = 1.0;
            for k in 0..N {
                let k = k as f64;
                (before, p) = (p, ((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0));
            }
            slope = N as f64 * (x * p - before) / (x * x - 1.0);
            let step = p / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        Node { x: (1.0 + x) / 2.0, weight: 1.0 / ((1.0 - x * x) * slope * slope) }
    })
}

/// $\arg\min_\theta E[\ell(y,\theta^\top X)]$ in the misspecified setting, to at least 10
/// significant digits.
///
/// ```
/// let theta = kalmia_lab::misspecified_star();
/// assert!((theta[0] - 0.221284226335).abs() < 1e-10);
/// assert_eq!(theta[1], 0.0);
/// ```
pub fn misspecified_star() -> [f64; D] {
    let rule = gauss_legendre::<NODES>();
    let generator = World::Misspecified.generator();
    let shift = SECOND_INTERCEPT - generator[0];
    let mean = |x: &[f64; K]| {
        let u = generator[0] + (1..K).map(|k| generator[ACTIVE[k - 1]] * x[k]).sum::<f64>();
        0.5 * (Bernoulli.mean(u) + Bernoulli.mean(u + shift))
    };
    let targets: Vec<f64> = nodes(&rule).map(|(x, _)| mean(&x)).collect();
    let mut theta = [0.0; K];
    for _ in 0..50 {
        let step = newton_step(&theta, &rule, &targets);
        (0..K).for_each(|k| theta[k] -= step[k]);
        if step.iter().all(|s| s.abs() < 1e-14) {
            break;
        }
    }
    let mut full = [0.0; D];
    full[0] = theta[0];
    ACTIVE.iter().enumerate().for_each(|(k, &j)| full[j] = theta[k + 1]);
    full
}

/// $E[\sigma'(\theta^\top X)XX^\top]$ for a $\theta$ whose coefficients vanish outside the active
/// coordinates, such as $\theta^*$ and $\theta^*/10$.
///
/// The trace of the inverse is right to 4 digits for $\theta^*/10$, and to 2 % for $\theta^*$,
/// whose weights are peaked.
pub fn logistic_hessian(theta: &[f64; D]) -> [[f64; D]; D] {
    let rule = gauss_legendre::<NODES>();
    // Place of an active coordinate among the nodes; the others have moments of their own.
    let mut place = [None; D];
    place[0] = Some(0);
    ACTIVE.iter().enumerate().for_each(|(k, &j)| place[j] = Some(k + 1));
    debug_assert!((0..D).all(|j| place[j].is_some() || theta[j] == 0.0));
    let mut moments = [[0.0; K]; K];
    for (x, weight) in nodes(&rule) {
        let u = theta[0] + (1..K).map(|k| theta[ACTIVE[k - 1]] * x[k]).sum::<f64>();
        let p = Bernoulli.mean(u);
        let second = weight * p * (1.0 - p);
        for i in 0..K {
            for j in 0..K {
                moments[i][j] += second * x[i] * x[j];
            }
        }
    }
    // A coordinate of its own is uniform and independent: mean 1/2, mean square 1/3.
    std::array::from_fn(|i| {
        std::array::from_fn(|j| match (place[i], place[j]) {
            (Some(i), Some(j)) => moments[i][j],
            (Some(k), None) | (None, Some(k)) => 0.5 * moments[0][k],
            (None, None) => moments[0][0] * if i == j { 1.0 / 3.0 } else { 0.25 },
        })
    })
}

/// Every node of the product rule: $(1, z)$ and its weight.
fn nodes(rule: &[Node; NODES]) -> impl Iterator<Item = ([f64; K], f64)> {
    (0..NODES.pow(ACTIVE.len() as u32)).map(move |mut index| {
        let mut x = [1.0; K];
        let mut weight = 1.0;
        for xk in x.iter_mut().skip(1) {
            let node = rule[index % NODES];
            *xk = node.x;
            weight *= node.weight;
            index /= NODES;
        }
        (x, weight)
    })
}

/// $H^{-1}\nabla L$ at `theta`.
fn newton_step(theta: &[f64; K], rule: &[Node; NODES], targets: &[f64]) -> [f64; K] {
    let mut gradient = [0.0; K];
    let mut hessian = [[0.0; K]; K];
    for ((x, weight), target) in nodes(rule).zip(targets) {
        let p = Bernoulli.mean((0..K).map(|k| theta[k] * x[k]).sum());
        let first = weight * (p - target);
        let second = weight * p * (1.0 - p);
        for i in 0..K {
            gradient[i] += first * x[i];
            for j in 0..=i {
                hessian[i][j] += second * x[i] * x[j];
            }
        }
    }
    solve(hessian, gradient)
}

/// Solves $Hs = b$ by Cholesky's method; `h` holds the lower triangle. NaN if $H$ is not positive
/// definite.
pub(crate) fn solve<const N: usize>(mut h: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for i in 0..N {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| h[i][k] * h[j][k]).sum();
            h[i][j] = if i == j { (h[i][i] - inner).sqrt() } else { (h[i][j] - inner) / h[j][j] };
        }
        b[i] = (b[i] - (0..i).map(|k| h[i][k] * b[k]).sum::<f64>()) / h[i][i];
    }
    for i in (0..N).rev() {
        b[i] = (b[i] - (i + 1..N).map(|k| h[k][i] * b[k]).sum::<f64>()) / h[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::second_moment;

    #[test]
    fn rule_integrates_polynomials_of_degree_13() {
        let rule = gauss_legendre::<7>();
        for degree in 0..14 {
            let integral: f64 = rule.iter().map(|node| node.weight * node.x.powi(degree)).sum();
            assert!((integral - 1.0 / f64::from(degree + 1)).abs() < 1e-14, "degree {degree}");
        }
    }

    /// $\operatorname{tr}H^{-1}$ against values by quadrature with more nodes and by many draws.
    #[test]
    fn hessian_has_its_trace_and_its_moments() {
        for (world, expected, tolerance) in
            [(World::Weak, 803.5, 1e-4), (World::Strong, 16_550.0, 0.02)]
        {
            let h = logistic_hessian(&world.generator());
            let trace: f64 = (0..D)
                .map(|j| solve(h, std::array::from_fn(|i| f64::from(u8::from(i == j))))[j])
                .sum();
            assert!((trace / expected - 1.0).abs() < tolerance, "{world:?}: {trace}");
        }
        // At 0 the weight is 1/4 and the matrix a quarter of E[XX'].
        let h = logistic_hessian(&[0.0; D]);
        for (got, moment) in h.iter().flatten().zip(second_moment().iter().flatten()) {
            assert!((got - moment / 4.0).abs() < 1e-12, "{got} against {moment}/4");
        }
    }

    /// Reference values by 7-dimensional quadrature at higher precision.
    #[test]
    fn star_agrees_with_the_reference_values() {
        let reference = [
            0.221284226335,
            0.0,
            0.220141728456,
            -0.659619333094,
            0.293489080892,
            -0.659619333094,
            1.096147181090,
            0.0,
            -0.513323962738,
            0.073389971718,
            0.0,
        ];
        let got = misspecified_star();
        for (j, (a, b)) in got.iter().zip(reference).enumerate() {
            assert!((a - b).abs() < 2e-11, "coordinate {j}: {a} against {b}");
        }
        assert!((got.iter().map(|v| v * v).sum::<f64>().sqrt() - 1.588768856851).abs() < 1e-11);
    }
}
