//! Standard laws whose distribution functions are evaluated again and again, as Taylor series
//! around the points of a grid.
//!
//! A law of `auto` (its degrees of freedom, its dispersion) is the same for every row of a batch
//! and nearly the same for all members. Each thread therefore keeps the series of the last laws,
//! and a value costs a short polynomial instead of an incomplete beta or gamma function. What is
//! kept changes no result.

use super::special::{gamma_density, gamma_pair};
use super::student::{student_cdf, student_log_density, student_quantile};
use super::{invert::smallest, normal_quantile};
use std::cell::RefCell;

/// Order of the series.
const ORDER: usize = 24;
/// Orders at which a series may end, near its center.
const ORDERS: [usize; 4] = [8, 12, 16, ORDER];
/// Largest last term of a series.
const MAX_LAST_TERM: f64 = 1e-12;
/// $(E|z|^{24})^{1/24}$ of a standard normal $z$, rounded up: the reach of a series within which a
/// normal argument of that deviation must stay.
const NORMAL_REACH: f64 = 3.1;
/// Grid points on each side of 0 that may be kept; further out the law itself is evaluated.
const MAX_GRID: i32 = 320;
/// Laws that a thread keeps: members times the two laws of a prediction.
const MAX_LAWS: usize = 16;
/// Quantiles that are kept of a law.
const MAX_QUANTILES: usize = 8;
/// Most steps of Newton's method for a quantile.
const MAX_STEPS: usize = 60;

/// A standard law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Law {
    /// Student's, or the normal law if `dof` is infinite.
    Student { dof: f64 },
    /// That of $\ln G$ for a gamma variable of this shape and mean 1.
    LogGamma { shape: f64 },
}

/// A distribution function and its derivative at a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CdfAt {
    pub value: f64,
    pub density: f64,
}

impl Law {
    fn cdf(self, t: f64) -> f64 {
        match self {
            Self::Student { dof } => student_cdf(t, dof),
            Self::LogGamma { shape } => gamma_pair(shape, shape * t.exp()).0,
        }
    }

    fn density(self, t: f64) -> f64 {
        match self {
            Self::Student { dof } => student_log_density(t, dof).exp(),
            // x^a e^-x / Gamma(a) with x = a e^t
            Self::LogGamma { shape } => gamma_density(shape, shape * t.exp()),
        }
    }

    /// Distance of the grid points: at most half the reach of their series.
    fn spacing(self) -> f64 {
        match self {
            Self::Student { .. } => 0.5,
            Self::LogGamma { shape } => 0.2 / shape.max(1.0).sqrt(),
        }
    }

    fn quantile(self, q: f64) -> f64 {
        match self {
            Self::Student { dof } => student_quantile(q, dof),
            Self::LogGamma { shape } => log_gamma_quantile(q, shape),
        }
    }

    /// Writes the Taylor coefficients of the density after the first.
    fn density_series(self, t: f64, a: &mut [f64; ORDER]) {
        match self {
            // (nu + t^2) f' = -(nu + 1) t f, divided by nu
            Self::Student { dof } => {
                let r = 1.0 / dof;
                for j in 0..ORDER - 1 {
                    let n = j as f64;
                    let before = if j > 0 { a[j - 1] } else { 0.0 };
                    let first = (2.0 * r * n + 1.0 + r) * t * a[j];
                    let second = (1.0 + r * n) * before;
                    a[j + 1] = -(first + second) / ((1.0 + r * t * t) * (n + 1.0));
                }
            }
            // f' = a (1 - e^t) f
            Self::LogGamma { shape } => {
                let scale = shape * t.exp();
                for j in 0..ORDER - 1 {
                    let mut sum = 0.0;
                    let mut factorial = 1.0;
                    for (i, a) in a[..=j].iter().rev().enumerate() {
                        sum += a / factorial;
                        factorial *= (i + 1) as f64;
                    }
                    a[j + 1] = (shape * a[j] - scale * sum) / (j + 1) as f64;
                }
            }
        }
    }
}

/// Newton's method on the logarithm of the smaller tail, in which the law is nearly straight.
fn log_gamma_quantile(q: f64, shape: f64) -> f64 {
    let law = Law::LogGamma { shape };
    // Wilson and Hilferty: the cube root of a gamma variable is nearly normal
    let ninth = 1.0 / (9.0 * shape);
    let root = 1.0 - ninth + normal_quantile(q) * ninth.sqrt();
    let mut v = if root > 0.1 { 3.0 * root.ln() } else { (q.ln() + shape.ln()) / shape };
    for _ in 0..MAX_STEPS {
        let (p, upper) = gamma_pair(shape, shape * v.exp());
        let density = law.density(v);
        let step = if q < 0.5 {
            (p / q).ln() * p / density
        } else {
            -(upper / (1.0 - q)).ln() * upper / density
        };
        if !step.is_finite() {
            break;
        }
        v -= step.clamp(-4.0 / shape.min(1.0), 4.0 / shape.min(1.0));
        if step.abs() <= 1e-9 * v.abs().max(1e-2) {
            return v;
        }
    }
    smallest(|v| law.cdf(v), q, -1.0, 1.0, -745.0, false)
}

/// The series of a distribution function around a point.
#[derive(Debug, Clone)]
struct Series {
    center: f64,
    /// Largest distance from the center at which each of [`ORDERS`] is enough.
    reaches: [f64; ORDERS.len()],
    /// Of the distribution function, and of its density.
    coefficients: [f64; ORDER + 2],
    densities: [f64; ORDER + 2],
}

impl Series {
    fn new(law: Law, center: f64) -> Self {
        let mut series = [0.0; ORDER];
        series[0] = law.density(center);
        law.density_series(center, &mut series);
        let mut coefficients = [0.0; ORDER + 2];
        let mut densities = [0.0; ORDER + 2];
        coefficients[0] = law.cdf(center);
        for (j, density) in series.into_iter().enumerate() {
            densities[j] = density;
            coefficients[j + 1] = density / (j + 1) as f64;
        }
        let bound = |j: usize| (MAX_LAST_TERM / coefficients[j].abs()).powf(1.0 / j as f64);
        // three terms, because one coefficient may vanish
        let reaches =
            ORDERS.map(|order| (order - 2..=order).map(bound).fold(f64::INFINITY, f64::min));
        Self { center, reaches, coefficients, densities }
    }

    /// $E[F(c + \delta - \sqrt s z)]$ for a standard normal $z$ and its derivative in $\delta$,
    /// from the moments $M_j = \delta M_{j-1} + (j-1) s M_{j-2}$.
    #[inline]
    fn at(&self, t: f64, s: f64) -> Option<CdfAt> {
        let delta = t - self.center;
        let range = delta.abs() + if s == 0.0 { 0.0 } else { NORMAL_REACH * s.sqrt() };
        // NaN is beyond every reach
        let order = ORDERS[self.reaches.iter().position(|reach| range <= *reach)?];
        if s == 0.0 {
            return Some(CdfAt {
                value: polynomial(&self.coefficients[..order + 2], delta),
                density: polynomial(&self.densities[..order], delta),
            });
        }
        let mut before = 0.0;
        let mut moment = 1.0;
        let mut value = self.coefficients[0];
        let mut density = 0.0;
        for j in 1..=order {
            density += self.densities[j - 1] * moment;
            let next = delta * moment + (j - 1) as f64 * s * before;
            before = moment;
            moment = next;
            value += self.coefficients[j] * moment;
        }
        Some(CdfAt { value, density })
    }
}

/// $\sum_j c_j x^j$ for an even number of coefficients, in two independent sums.
#[inline(always)]
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    let square = x * x;
    let mut even = 0.0;
    let mut odd = 0.0;
    for pair in coefficients.chunks_exact(2).rev() {
        even = even * square + pair[0];
        odd = odd * square + pair[1];
    }
    even + x * odd
}

/// What is kept of a law.
struct Table {
    law: Law,
    spacing: f64,
    /// Grid points from `-MAX_GRID` to `MAX_GRID`.
    series: Vec<Option<Box<Series>>>,
    quantiles: Vec<(f64, f64)>,
    /// The quantile that is replaced next.
    oldest: usize,
}

/// The laws that a thread keeps.
#[derive(Default)]
pub(crate) struct Laws {
    tables: Vec<Table>,
    /// The law that is replaced next.
    oldest: usize,
}

thread_local! {
    static LAWS: RefCell<Laws> = RefCell::default();
}

/// Runs `work` with the laws of this thread.
pub(crate) fn with_laws<T>(work: impl FnOnce(&mut Laws) -> T) -> T {
    LAWS.with_borrow_mut(work)
}

impl Laws {
    /// The place of a law, which holds until the next law is asked for.
    fn place(&mut self, law: Law) -> usize {
        if let Some(place) = self.tables.iter().position(|table| table.law == law) {
            return place;
        }
        let spacing = law.spacing();
        let table = Table { law, spacing, series: Vec::new(), quantiles: Vec::new(), oldest: 0 };
        if self.tables.len() < MAX_LAWS {
            self.tables.push(table);
            return self.tables.len() - 1;
        }
        let place = self.oldest;
        self.oldest = (place + 1) % MAX_LAWS;
        self.tables[place] = table;
        place
    }

    /// The quantile of a law for $0 < q < 1$.
    pub fn quantile(&mut self, law: Law, q: f64) -> f64 {
        let place = self.place(law);
        let Table { quantiles, oldest, .. } = &mut self.tables[place];
        if let Some((_, found)) = quantiles.iter().find(|(known, _)| *known == q) {
            return *found;
        }
        let found = law.quantile(q);
        if quantiles.len() < MAX_QUANTILES {
            quantiles.push((q, found));
        } else {
            quantiles[*oldest] = (q, found);
            *oldest = (*oldest + 1) % MAX_QUANTILES;
        }
        found
    }

    /// $P(T + \sqrt s z \le t)$ for a standard normal $z$, and its density; `None` if `s` is too
    /// large beside the law, or if `t` is far out and `s` is not 0.
    pub fn cdf(&mut self, law: Law, t: f64, s: f64) -> Option<CdfAt> {
        // Student's law by symmetry in its lower tail, where it keeps its precision
        if matches!(law, Law::Student { .. }) && t > 0.0 {
            let CdfAt { value, density } = self.cdf(law, -t, s)?;
            return Some(CdfAt { value: 1.0 - value, density });
        }
        let place = self.place(law);
        let Table { spacing, series, .. } = &mut self.tables[place];
        let point = (t / *spacing).round();
        // NaN is not on the grid
        let on_grid = point.abs() <= f64::from(MAX_GRID);
        if !on_grid {
            return (s == 0.0).then(|| CdfAt { value: law.cdf(t), density: law.density(t) });
        }
        if series.is_empty() {
            series.resize(2 * MAX_GRID as usize + 1, None);
        }
        let found = series[(point as i32 + MAX_GRID) as usize]
            .get_or_insert_with(|| Box::new(Series::new(law, point * *spacing)))
            .at(t, s);
        match found {
            None if s == 0.0 => Some(CdfAt { value: law.cdf(t), density: law.density(t) }),
            found => found,
        }
    }
}

#[cfg(test)]
mod tests;
