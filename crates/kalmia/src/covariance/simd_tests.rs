//! Tests of the row kernels under every instruction set that this machine has.

use super::{Covariance, Factored, Kernel, Learn, LearnTwo};
use crate::error::Result;
use crate::linalg::Buffer;
use crate::rule::Step;
use pulp::{Arch, Scalar, Simd, WithSimd};

/// An instruction set.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    Chosen,
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
}

impl How {
    pub(super) fn run<W: WithSimd>(self, work: W) -> W::Output {
        match self {
            How::Chosen => Arch::new().dispatch(work),
            How::Scalar => Scalar::new().vectorize(Under(Scalar::new(), work)),
            #[cfg(target_arch = "x86_64")]
            How::Avx2(simd) => simd.vectorize(Under(simd, work)),
        }
    }
}

struct Under<S, W>(S, W);

impl<S: Simd, W: WithSimd> pulp::NullaryFnOnce for Under<S, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.1.with_simd(self.0)
    }
}

/// A simple rule that records the predictors it receives.
fn decide(seen: &mut Vec<f64>) -> impl FnMut(usize, f64, f64) -> Result<Step> {
    |i, m, s| {
        seen.extend([m, s]);
        let curvature = 0.1 + (i % 3) as f64 * 0.2;
        Ok(Step::against((m + 2.0 - (i % 5) as f64) * curvature, curvature, s))
    }
}

/// The instruction sets that this machine has besides the one that it chooses.
pub(super) fn others() -> Vec<How> {
    let mut hows = vec![How::Scalar];
    #[cfg(target_arch = "x86_64")]
    hows.extend(pulp::x86::V3::try_new().map(How::Avx2));
    hows
}

fn rows(dim: usize) -> Vec<f64> {
    (0..40 * dim)
        .map(|i| ((i * 7919 % 1009) as f64 / 504.5 - 1.0) * (1.0 + (i % 3) as f64))
        .collect()
}

/// All predictors of the rows, learned in batches of `batch`, and the belief after them.
fn run<C: Covariance>(dim: usize, x: &[f64], batch: usize, noise: &[f64], how: How) -> Vec<f64>
where
    for<'a, 'd> Learn<'a, 'd, C>: WithSimd<Output = Result<()>>,
{
    let mut p = C::from_diagonal(&vec![0.7; dim]).unwrap();
    let mut theta = Buffer::zeros(dim);
    let mut seen = Vec::new();
    for (i, x) in x.chunks(batch * dim).enumerate() {
        how.run(Learn {
            p: &mut p,
            theta: &mut theta,
            x,
            first: i * batch,
            decide: &mut decide(&mut seen),
            noise,
        })
        .unwrap();
    }
    seen.extend(theta[..dim].iter().chain(&p.matrix()));
    seen
}

/// Learns rows of several dimensions under each instruction set, in batches of several sizes, and
/// compares all numbers; `noise` is the process noise per row.
pub(super) fn check<C: Covariance>(noise: impl Fn(usize) -> &'static [f64])
where
    for<'a, 'd> Learn<'a, 'd, C>: WithSimd<Output = Result<()>>,
{
    for dim in [1, 4, 8, 11, 16, 17, 28, 32, 33, 50] {
        let x = rows(dim);
        let whole = run::<C>(dim, &x, 40, noise(dim), How::Chosen);
        for how in others().into_iter().chain([How::Chosen]) {
            for batch in [40, 3, 1] {
                for (a, b) in whole.iter().zip(run::<C>(dim, &x, batch, noise(dim), how)) {
                    assert!(
                        (a - b).abs() <= 1e-11 * (1.0 + a.abs()),
                        "{how:?}, dimension {dim}, {batch} rows per call: {a} {b}"
                    );
                }
            }
        }
    }
}

/// Two interleaved beliefs give the same predictors and end in the same state as each alone.
#[test]
fn two_interleaved_beliefs_are_two_separate_ones() {
    for dim in [1, 8, 11, 16, 17, 28, 32] {
        let x = rows(dim);
        for how in others().into_iter().chain([How::Chosen]) {
            let prior = |variance| Factored::from_diagonal(&vec![variance; dim]).unwrap();
            let mut p = [prior(0.7), prior(3.0)];
            let mut theta = [Buffer::zeros(dim), Buffer::zeros(dim)];
            let mut seen = [vec![], vec![]];
            let ([p0, p1], [t0, t1]) = (&mut p, &mut theta);
            let mut ask = |k: usize, i: usize, m: f64, s: f64| decide(&mut seen[k])(i, m, s);
            how.run(LearnTwo { beliefs: [(p0, t0), (p1, t1)], x: &x, decide: &mut ask }).unwrap();
            for (k, variance) in [0.7, 3.0].into_iter().enumerate() {
                let mut p1 = prior(variance);
                let mut theta1 = Buffer::zeros(dim);
                let mut seen1 = vec![];
                how.run(Learn {
                    p: &mut p1,
                    theta: &mut theta1,
                    x: &x,
                    first: 0,
                    decide: &mut decide(&mut seen1),
                    noise: &[],
                })
                .unwrap();
                assert_eq!(
                    (&seen[k], &theta[k][..], p[k].parts()),
                    (&seen1, &theta1[..], p1.parts()),
                    "{how:?}, dimension {dim}"
                );
            }
        }
    }
}
