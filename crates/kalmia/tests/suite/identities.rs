//! Identities and inequalities of the recursion that hold for every data sequence, numbered as in
//! the paper's companion list.

use crate::common;

use common::{Matrix, Rng, centered, dot, gap, minus, near, norm, property, rng, spread_matrix};
use kalmia::covariance::Covariance;
use kalmia::evaluate::Certificate;
use kalmia::rule::{AnyRule, Step};
use kalmia::{
    AnyFamily, Dense, Factored, Family, Filter, Gaussian, Learner, Prior, RowView, Rows, Truncated,
};
use proptest::prelude::*;
use rand::RngExt;

type Any<C> = Filter<AnyFamily, AnyRule, C>;

/// The three algorithms of the paper's analysis.
const PLAIN: (&str, &str) = ("bernoulli", "ekf");
const TRUNCATED: (&str, &str) = ("bernoulli", "truncated");
const KALMAN: (&str, &str) = ("gaussian", "ekf");

/// A start and rows: anisotropic $P_1$ of condition up to 100, repeated rows, unseen directions.
#[derive(Debug, Clone)]
struct Case {
    dim: usize,
    prior: Prior,
    x: Vec<f64>,
    y: Vec<f64>,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..=6, 1usize..=39, any::<u64>())
        .prop_map(|(dim, rows, seed)| Case::draw(dim, rows, seed))
}

impl Case {
    fn draw(dim: usize, rows: usize, seed: u64) -> Self {
        let mut rng = rng(seed);
        let scale = 10f64.powf(centered(&mut rng));
        let condition = 100f64.powf(rng.random());
        let p = spread_matrix(&mut rng, dim, scale, scale * condition);
        let start: Vec<f64> = (0..dim).map(|_| centered(&mut rng)).collect();
        let blind = dim > 1 && rng.random_range(0..3) == 0;
        let mut x: Vec<f64> = Vec::new();
        for i in 0..rows {
            if i > 0 && rng.random_range(0..5) == 0 {
                let from = rng.random_range(0..i);
                x.extend_from_within(from * dim..(from + 1) * dim);
            } else {
                x.extend(
                    (0..dim).map(|j| {
                        if blind && j == dim - 1 { 0.0 } else { 1.5 * centered(&mut rng) }
                    }),
                );
            }
        }
        let y = (0..rows).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
        Self { dim, prior: Prior::full(p.a, dim).unwrap().with_mean(&start).unwrap(), x, y, seed }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::new(self.dim, &self.x, &self.y).unwrap()
    }

    fn start(&self) -> Matrix {
        Matrix::new(self.prior.matrix())
    }

    fn vector(&self, salt: u64) -> Vec<f64> {
        let mut rng = rng(self.seed ^ salt);
        (0..self.dim).map(|_| 2.0 * centered(&mut rng)).collect()
    }

    fn run<C: Covariance>(&self, (family, rule): (&str, &str)) -> Path {
        let filter = Filter::with_covariance::<C>(
            family.parse().unwrap(),
            rule.parse().unwrap(),
            self.prior.clone(),
        )
        .unwrap();
        Path::of::<C>(filter, self.rows())
    }
}

/// What a filter went through: beliefs before every row and after the last, and what it saw.
struct Path {
    theta: Vec<Vec<f64>>,
    p: Vec<Matrix>,
    x: Vec<Vec<f64>>,
    seen: Vec<Look>,
    certificate: Certificate,
    log_det: f64,
}

#[derive(Clone, Copy)]
struct Look {
    m: f64,
    s: f64,
    gradient: f64,
    step: Step,
}

impl Path {
    fn of<C: Covariance>(mut filter: Any<C>, rows: Rows<'_>) -> Self {
        let mut theta = vec![filter.coefficients().to_vec()];
        let mut p = vec![];
        let mut seen = vec![];
        p.push(Matrix::new(filter.covariance().matrix()));
        let mut certificate = Certificate::default();
        for i in 0..rows.len() {
            let record = |s: &RowView<'_>| {
                seen.push(Look { m: s.linear, s: s.variance, gradient: s.gradient, step: s.step })
            };
            let mut both = (record, |s: &RowView<'_>| kalmia::Observer::row(&mut certificate, s));
            filter.learn_observed(rows.slice(i..i + 1), Some(&mut both)).unwrap();
            theta.push(filter.coefficients().to_vec());
            p.push(Matrix::new(filter.covariance().matrix()));
        }
        let x = (0..rows.len()).map(|i| rows.x(i).to_vec()).collect();
        Self { theta, p, x, seen, certificate, log_det: filter.covariance().log_det().unwrap() }
    }

    fn len(&self) -> usize {
        self.seen.len()
    }

    fn alpha(&self, t: usize) -> f64 {
        self.seen[t].step.curvature
    }

    fn longest(&self) -> f64 {
        self.x.iter().map(|x| norm(x)).fold(0.0, f64::max)
    }
}

fn each(case: &Case, algorithms: &[(&str, &str)], check: impl Fn(&Path, &str)) {
    for &algorithm in algorithms {
        check(&case.run::<Dense>(algorithm), algorithm.1);
        check(&case.run::<Factored>(algorithm), algorithm.1);
    }
}

const ALL: [(&str, &str); 4] = [PLAIN, TRUNCATED, KALMAN, ("bernoulli", "moment")];

proptest! {
    #![proptest_config(property(20, 150))]

    #[test]
    fn i1_i2_i3_information_form_and_gain(case in case()) {
        each(&case, &ALL, |path, _| {
            let mut total = case.start().inverse();
            for t in 0..path.len() {
                let x = &path.x[t];
                let row = &path.seen[t];
                near(row.m, dot(&path.theta[t], x), 1e-12, 1.0);
                near(row.s, path.p[t].quadratic(x), 1e-11, 1e-3);
                total = total.plus_outer(row.step.curvature, x);
                assert!(gap(&path.p[t + 1].inverse().a, &total.a, 0.0) < 1e-10, "I1");
                let spread = 1.0 + row.step.curvature * row.s;
                let shrunk: Vec<f64> = path.p[t].times(x).iter().map(|v| v / spread).collect();
                assert!(gap(&path.p[t + 1].times(x), &shrunk, 1e-3) < 1e-10, "I2");
                near(path.p[t + 1].quadratic(x), row.s / spread, 1e-10, 1e-3);
                // (I - alpha P_{t+1} x x') P_t
                let left = path.p[t + 1].times(x);
                let right = path.p[t].times(x);
                let d = case.dim;
                let alpha = row.step.curvature;
                let i3: Vec<f64> = (0..d * d)
                    .map(|ij| path.p[t].a[ij] - alpha * left[ij / d] * right[ij % d])
                    .collect();
                assert!(gap(&i3, &path.p[t + 1].a, 0.0) < 1e-10, "I3");
            }
        });
    }

    #[test]
    fn i4_i5_kalman_is_ridge(case in case()) {
        each(&case, &[KALMAN], |path, _| {
            let inverse = case.start().inverse();
            let star = case.vector(5);
            let mut toward = vec![0.0; case.dim];
            let mut around = inverse.times(&minus(case.prior.mean(), &star));
            for t in 0..=path.len() {
                let p = &path.p[t];
                let moved = p.times(&toward);
                let direct: Vec<f64> =
                    moved.iter().zip(case.prior.mean()).map(|(a, b)| a + b).collect();
                assert!(gap(&path.theta[t], &direct, 1.0) < 1e-10, "I4");
                assert!(gap(&minus(&path.theta[t], &star), &p.times(&around), 1.0) < 1e-10, "I5");
                // the gradient of 1/2 sum (y - theta'x)^2 + 1/2 |theta - theta_1|^2 vanishes
                let mut slope = inverse.times(&minus(&path.theta[t], case.prior.mean()));
                for r in 0..t {
                    let residual = dot(&path.theta[t], &path.x[r]) - case.y[r];
                    slope.iter_mut().zip(&path.x[r]).for_each(|(g, x)| *g += residual * x);
                }
                assert!(norm(&slope) < 1e-10 * (1.0 + inverse.largest()), "argmin");
                if t < path.len() {
                    let before = case.y[t] - dot(case.prior.mean(), &path.x[t]);
                    let after = case.y[t] - dot(&star, &path.x[t]);
                    for j in 0..case.dim {
                        toward[j] += before * path.x[t][j];
                        around[j] += after * path.x[t][j];
                    }
                }
            }
        });
    }

    #[test]
    fn i5_distance_under_an_isotropic_start(mut case in case()) {
        let variance = 0.1 + rng(case.seed).random::<f64>();
        let prior = Prior::isotropic(case.dim, variance).unwrap();
        case.prior = prior.with_mean(case.prior.mean()).unwrap();
        each(&case, &[KALMAN], |path, _| {
            let star = case.vector(6);
            let mut bound = norm(&minus(&path.theta[0], &star));
            for t in 0..path.len() {
                bound += variance * path.longest() * (case.y[t] - dot(&star, &path.x[t])).abs();
                assert!(norm(&minus(&path.theta[t + 1], &star)) <= bound * (1.0 + 1e-12));
            }
        });
    }

    #[test]
    fn i6_lemma_recursive_bound(case in case()) {
        each(&case, &ALL, |path, rule| {
            let star = case.vector(7);
            let distance = |t: usize| {
                let e = minus(&path.theta[t], &star);
                0.5 * dot(&e, &path.p[t].inverse().times(&e))
            };
            for from in [0, path.len() / 2] {
                let mut left = 0.0;
                let mut right = 0.0;
                for t in from..path.len() {
                    let row = &path.seen[t];
                    let along = dot(&path.x[t], &minus(&path.theta[t], &star));
                    let slope = -row.step.gain * (1.0 + row.step.curvature * row.s);
                    if rule != "moment" {
                        near(slope, row.gradient, 1e-12, 1e-300);
                    }
                    left += slope * along - 0.5 * row.step.curvature * along * along;
                    right += 0.5 * slope * slope * path.p[t + 1].quadratic(&path.x[t]);
                }
                let whole = right + distance(from);
                near(left, whole - distance(path.len()), 1e-10, whole);
                assert!(left <= whole);
                if from == 0 {
                    near(path.certificate.movement(), right, 1e-10, 1e-9);
                    let sharp = path.certificate.sharp_bound(&case.prior, &star).unwrap();
                    let printed = path.certificate.printed_bound(&case.prior, &star).unwrap();
                    near(sharp, whole, 1e-10, 0.0);
                    let e = norm(&minus(&path.theta[0], &star));
                    near(printed, right + e * e / case.start().eigenvalues()[0], 1e-10, 0.0);
                    assert!(left <= sharp * (1.0 + 1e-12) && sharp <= printed);
                }
            }
        });
    }

    #[test]
    fn i7_lemma_sumtrace(case in case()) {
        each(&case, &ALL, |path, _| {
            let d = case.dim as f64;
            let log_det = |p: &Matrix| p.eigenvalues().iter().map(|v| v.ln()).sum::<f64>();
            for from in [0, path.len() / 2] {
                let mut traces = 0.0;
                let mut logs = 0.0;
                let mut sum = 0.0;
                let mut h = 0.0_f64;
                for t in from..path.len() {
                    let alpha = path.alpha(t);
                    let s = path.seen[t].s;
                    let before = path.p[t + 1].product(&path.p[t].inverse());
                    let trace = d - before.trace();
                    near(trace, alpha * s / (1.0 + alpha * s), 1e-10, 1e-2);
                    let shrinkage = path.p[t + 1].determinant() / path.p[t].determinant();
                    near(trace, 1.0 - shrinkage, 1e-10, 1e-2);
                    traces += trace;
                    logs += (alpha * s).ln_1p();
                    sum += alpha * path.p[from].quadratic(&path.x[t]);
                    h = h.max(alpha);
                }
                let drop = log_det(&path.p[from]) - log_det(&path.p[path.len()]);
                near(logs, drop, 1e-10, 1.0);
                let largest = *path.p[from].eigenvalues().last().unwrap();
                let middle = d * (sum / d).ln_1p();
                let rows = (path.len() - from) as f64;
                let last = d * (rows * h * largest * path.longest().powi(2) / d).ln_1p();
                assert!(traces <= drop + 1e-10 && drop <= middle + 1e-10 && middle <= last + 1e-10);
                if from == 0 {
                    near(path.certificate.log_det_growth(), drop, 1e-10, 1.0);
                    near(path.log_det, log_det(&path.p[path.len()]), 1e-10, 1.0);
                }
            }
        });
    }

    #[test]
    fn i8_i9_eigenvalues(case in case()) {
        each(&case, &ALL, |path, rule| {
            let floor = 1.0 / case.start().eigenvalues()[0];
            let mut sum = 0.0;
            let mut before = path.p[0].eigenvalues();
            let slack = 1e-12 * before.last().unwrap();
            let wide = 1.0 / floor >= 1.0 / path.longest().powi(2) && rule != "moment";
            for t in 0..path.len() {
                let drop = Matrix::new(minus(&path.p[t].a, &path.p[t + 1].a));
                assert!(drop.eigenvalues()[0] >= -slack, "I8: P decreases");
                let after = path.p[t + 1].eigenvalues();
                assert!(after[0] > 0.0);
                for i in 0..case.dim {
                    assert!(after[i] <= before[i] + slack, "I8: interlacing");
                    assert!(i == 0 || after[i] >= before[i - 1] - slack, "I8: interlacing");
                }
                sum += path.alpha(t) * dot(&path.x[t], &path.x[t]);
                assert!(after[0] >= 1.0 / (floor + sum) * (1.0 - 1e-10), "I9");
                if wide {
                    let least = 1.0 / ((t + 2) as f64 * path.longest().powi(2));
                    assert!(after[0] >= least * (1.0 - 1e-10), "I9: P_s >= I/(s D^2)");
                }
                before = after;
            }
        });
    }

    #[test]
    fn i9b_i24_truncation(case in case()) {
        let beta = 0.49;
        each(&case, &[TRUNCATED], |path, _| {
            let largest = *case.start().eigenvalues().last().unwrap();
            let mut floor = Matrix::new(vec![0.0; case.dim * case.dim]);
            for t in 0..path.len() {
                let threshold = ((t + 1) as f64).powf(-beta);
                let alpha = path.alpha(t);
                assert!(threshold <= alpha && alpha <= threshold.max(0.25), "I24");
                floor = floor.plus_outer(threshold, &path.x[t]);
                let bound = 1.0 / (1.0 / largest + floor.eigenvalues()[0]);
                let top = *path.p[t + 1].eigenvalues().last().unwrap();
                assert!(top <= bound * (1.0 + 1e-10), "I9b");
            }
            assert_eq!(path.alpha(0), 1.0);
        });
    }

    #[test]
    fn i24_a_threshold_never_met_changes_no_bit(case in case()) {
        fn check<C: Covariance>(case: &Case) {
            let family: AnyFamily = "bernoulli".parse().unwrap();
            let filter = |rule: AnyRule| {
                Filter::with_covariance::<C>(family, rule, case.prior.clone()).unwrap()
            };
            let mut low = filter(AnyRule::Truncated(Truncated::new(1e-300, 0.3).unwrap()));
            let mut plain = filter(AnyRule::Ekf);
            low.learn(case.rows()).unwrap();
            plain.learn(case.rows()).unwrap();
            assert_eq!(low.state().theta, plain.state().theta);
            assert_eq!(low.state().covariance, plain.state().covariance);
        }
        check::<Dense>(&case);
        check::<Factored>(&case);
    }

    #[test]
    fn i10_i11_sizes_of_the_steps(case in case()) {
        each(&case, &[PLAIN, TRUNCATED, KALMAN], |path, rule| {
            let kalman = path.seen.iter().all(|l| l.step.curvature == 1.0) && rule == "ekf";
            let largest = *case.start().eigenvalues().last().unwrap();
            for t in 0..path.len() {
                let row = &path.seen[t];
                let x = &path.x[t];
                let moved = norm(&minus(&path.theta[t + 1], &path.theta[t]));
                let spread = 1.0 + row.step.curvature * row.s;
                let exact = row.gradient.abs() * norm(&path.p[t].times(x)) / spread;
                near(moved, exact, 1e-9, 1e-3);
                let top = *path.p[t + 1].eigenvalues().last().unwrap();
                assert!(moved <= top * norm(x) * row.gradient.abs() * (1.0 + 1e-9) + 1e-12, "I10");
                if !kalman {
                    // 1 - e^-40 rounds to 1
                    assert!(row.gradient.abs() <= 1.0);
                    assert!(moved <= largest * path.longest() + 1e-12);
                    let far = norm(&minus(&path.theta[t + 1], &path.theta[0]));
                    assert!(far <= (t + 1) as f64 * largest * path.longest() + 1e-12, "I11");
                }
            }
        });
    }

    #[test]
    fn i20_order_does_not_matter_to_kalman(case in case()) {
        let mut rng = rng(case.seed ^ 20);
        let mut order: Vec<usize> = (0..case.y.len()).collect();
        (1..order.len()).for_each(|i| order.swap(i, rng.random_range(0..=i)));
        let mut shuffled = case.clone();
        let row = |&i: &usize| case.x[i * case.dim..][..case.dim].to_vec();
        shuffled.x = order.iter().flat_map(row).collect();
        shuffled.y = order.iter().map(|&i| case.y[i]).collect();
        for (a, b) in [
            (case.run::<Dense>(KALMAN), shuffled.run::<Dense>(KALMAN)),
            (case.run::<Factored>(KALMAN), shuffled.run::<Factored>(KALMAN)),
        ] {
            prop_assert!(gap(a.theta.last().unwrap(), b.theta.last().unwrap(), 1.0) < 1e-10);
            prop_assert!(gap(&a.p.last().unwrap().a, &b.p.last().unwrap().a, 0.0) < 1e-10);
        }
    }

    #[test]
    fn i21_equivariance(case in case()) {
        let d = case.dim;
        let mut rng = rng(case.seed ^ 21);
        let skew: Vec<f64> = (0..d * d).map(|_| 0.3 * centered(&mut rng)).collect();
        let map = Matrix::new(minus(&spread_matrix(&mut rng, d, 0.5, 4.0).a, &skew));
        prop_assume!(map.product(&map.transposed()).eigenvalues()[0] > 1e-3);
        let back = map.inverse().transposed();
        let start = map.product(&case.start()).product(&map.transposed());
        let turned = start.transposed();
        let symmetric = (0..d * d).map(|ij| 0.5 * (start.a[ij] + turned.a[ij])).collect();
        let mut moved = case.clone();
        let mean = map.times(case.prior.mean());
        moved.prior = Prior::full(symmetric, d).unwrap().with_mean(&mean).unwrap();
        moved.x = case.x.chunks(d).flat_map(|x| back.times(x)).collect();
        for algorithm in ALL {
            for (a, b) in [
                (case.run::<Dense>(algorithm), moved.run::<Dense>(algorithm)),
                (case.run::<Factored>(algorithm), moved.run::<Factored>(algorithm)),
            ] {
                let theta = map.times(a.theta.last().unwrap());
                prop_assert!(gap(b.theta.last().unwrap(), &theta, 1.0) < 1e-8);
                let p = map.product(a.p.last().unwrap()).product(&map.transposed());
                prop_assert!(gap(&b.p.last().unwrap().a, &p.a, 0.0) < 1e-8);
            }
        }
    }

    #[test]
    fn i22_signs_change_no_bit(case in case()) {
        fn check<C: Covariance>(case: &Case, algorithm: (&str, &str)) {
            let negated = |v: &[f64]| v.iter().map(|v| -v).collect::<Vec<f64>>();
            let both = Case { x: negated(&case.x), y: negated(&case.y), ..case.clone() };
            let prior = case.prior.clone().with_mean(&negated(case.prior.mean())).unwrap();
            let mirrored = Case { y: negated(&case.y), prior, ..case.clone() };
            let a = case.run::<C>(algorithm);
            let b = both.run::<C>(algorithm);
            let c = mirrored.run::<C>(algorithm);
            assert!(a.theta == b.theta && a.p == b.p, "(x, y) -> (-x, -y)");
            let back: Vec<Vec<f64>> = c.theta.iter().map(|t| negated(t)).collect();
            assert!(a.theta == back && a.p == c.p, "(y, theta_1) -> (-y, -theta_1)");
        }
        for algorithm in [PLAIN, TRUNCATED] {
            check::<Dense>(&case, algorithm);
            check::<Factored>(&case, algorithm);
        }
    }

    #[test]
    fn the_certificate_knows_the_best_regularized_predictor(case in case()) {
        fn check<C: Covariance>(case: &Case) {
            let mut rng = rng(case.seed ^ 30);
            let noise = 2.5;
            let n = case.y.len();
            let weight: Vec<f64> = (0..n)
                .map(|i| if i % 7 == 3 { 0.0 } else { 3.0 * rng.random::<f64>() })
                .collect();
            let offset: Vec<f64> = (0..n).map(|_| centered(&mut rng)).collect();
            let rows = case.rows().with_weights(&weight).unwrap().with_offsets(&offset).unwrap();
            let family: AnyFamily = Gaussian::new(noise).unwrap().into();
            for rule in [AnyRule::Ekf, AnyRule::Implicit, AnyRule::MomentMatch] {
                let mut filter =
                    Filter::with_covariance::<C>(family, rule, case.prior.clone()).unwrap();
                let mut certificate = Certificate::default();
                filter.learn_observed(rows, Some(&mut certificate)).unwrap();
                // the normal equations, solved at once
                let inverse = case.start().inverse();
                let mut a = inverse.clone();
                let mut b = inverse.times(case.prior.mean());
                for i in 0..n {
                    a = a.plus_outer(weight[i] / noise, rows.x(i));
                    let residual = weight[i] / noise * (case.y[i] - offset[i]);
                    b.iter_mut().zip(rows.x(i)).for_each(|(b, x)| *b += residual * x);
                }
                let best = a.inverse().times(&b);
                let e = minus(&best, case.prior.mean());
                let mut least = 0.5 * dot(&e, &inverse.times(&e));
                for i in 0..n {
                    least += weight[i] * family.loss(case.y[i], dot(&best, rows.x(i)) + offset[i]);
                }
                near(certificate.hindsight(&family).unwrap(), least, 1e-9, 1e-3);
                let loss = certificate.loss();
                near(certificate.regret(&family).unwrap(), loss - least, 1e-9, loss);
                assert_eq!(certificate.rows(), n as u64);
            }
            assert_eq!(Certificate::default().regret(&kalmia::Bernoulli), None);
        }
        check::<Dense>(&case);
        check::<Factored>(&case);
    }
}

/// The logistic loss averaged over a finite sample: value, gradient and Hessian.
fn average(x: &[f64], y: &[f64], dim: usize, theta: &[f64]) -> (f64, Vec<f64>, Matrix) {
    let n = y.len() as f64;
    let mut value = 0.0;
    let mut slope = vec![0.0; dim];
    let mut hessian = Matrix::new(vec![0.0; dim * dim]);
    for (x, y) in x.chunks(dim).zip(y) {
        let (first, second) = kalmia::Bernoulli.derivatives(*y, dot(x, theta));
        value += kalmia::Bernoulli.loss(*y, dot(x, theta)) / n;
        slope.iter_mut().zip(x).for_each(|(g, x)| *g += first * x / n);
        hessian = hessian.plus_outer(second / n, x);
    }
    (value, slope, hessian)
}

/// The minimizer of [`average`] by Newton's method, if it exists and is not far.
fn minimizer(x: &[f64], y: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut theta = vec![0.0; dim];
    for _ in 0..50 {
        let (_, slope, hessian) = average(x, y, dim, &theta);
        if norm(&slope) < 1e-13 {
            return (norm(&theta) < 5.0).then_some(theta);
        }
        theta = minus(&theta, &hessian.inverse().times(&slope));
    }
    None
}

fn sample(rng: &mut Rng, dim: usize, rows: usize) -> (Vec<f64>, Vec<f64>, f64) {
    let x: Vec<f64> = (0..dim * rows).map(|_| centered(rng)).collect();
    let y = (0..rows).map(|_| f64::from(rng.random::<bool>())).collect();
    let longest = x.chunks(dim).map(norm).fold(0.0, f64::max);
    (x, y, longest)
}

proptest! {
    #![proptest_config(property(20, 200))]

    #[test]
    fn i15_i19_population_inequalities_on_a_sample(dim in 1usize..=4, seed in any::<u64>()) {
        let mut rng = rng(seed);
        let (x, y, longest) = sample(&mut rng, dim, 40);
        let Some(star) = minimizer(&x, &y, dim) else { return Ok(()) };
        let least = average(&x, &y, dim, &star).0;
        let zero = Matrix::new(vec![0.0; dim * dim]);
        let second = x.chunks(dim).fold(zero, |m, x| m.plus_outer(1.0 / 40.0, x));
        let theta: Vec<f64> = star.iter().map(|v| v + 1.5 * centered(&mut rng)).collect();
        let (value, slope, hessian) = average(&x, &y, dim, &theta);
        let e = minus(&theta, &star);
        let r = norm(&e);
        let along = dot(&slope, &e);
        let curve = hessian.quadratic(&e);
        let excess = value - least;
        let rho = (-r * longest).exp();
        prop_assert!(along >= rho * curve - 1e-12, "comparison12");
        for share in [0.1, 0.5, 0.9] {
            let c = share * rho;
            prop_assert!(excess <= rho / (rho - c) * (along - c * curve) + 1e-12, "secondorder");
        }
        let edge = (longest * (norm(&star) + r)).exp();
        let low = second.eigenvalues()[0] * r * r / (4.0 * (1.0 + edge));
        let high = longest * longest * r * r / 8.0;
        prop_assert!(low <= excess + 1e-12 && excess <= high + 1e-12, "equivalence_Lnorm");

        // I19: the quadratic loss, exactly
        let target: Vec<f64> = y.iter().map(|y| 3.0 * y - 1.0).collect();
        let mut moment = vec![0.0; dim];
        for (x, y) in x.chunks(dim).zip(&target) {
            moment.iter_mut().zip(x).for_each(|(m, x)| *m += y * x / 40.0);
        }
        let best = second.inverse().times(&moment);
        let family = Gaussian::default();
        let loss = |theta: &[f64]| {
            let rows = x.chunks(dim).zip(&target);
            rows.map(|(x, y)| family.loss(*y, dot(x, theta)) / 40.0).sum::<f64>()
        };
        let e = minus(&theta, &best);
        near(loss(&theta) - loss(&best), 0.5 * second.quadratic(&e), 1e-9, 1e-2);
        near(dot(&minus(&second.times(&theta), &moment), &e), second.quadratic(&e), 1e-9, 1e-2);
    }

    #[test]
    fn i27_one_step_hardly_hurts_the_risk(case in case()) {
        let mut rng = rng(case.seed ^ 27);
        let (x, y, longest) = sample(&mut rng, case.dim, 30);
        let longest = longest.max(case.x.chunks(case.dim).map(norm).fold(0.0, f64::max));
        each(&case, &[PLAIN, TRUNCATED], |path, _| {
            for t in 0..path.len() {
                let (value, slope, _) = average(&x, &y, case.dim, &path.theta[t]);
                let after = average(&x, &y, case.dim, &path.theta[t + 1]).0;
                // -l' = y/(1+e^{yu})
                let step = -path.seen[t].gradient * dot(&slope, &path.p[t].times(&path.x[t]));
                let largest = *path.p[t].eigenvalues().last().unwrap();
                assert!(after <= value + step + 2.0 * longest.powi(4) * largest * largest + 1e-12);
            }
        });
    }
}
