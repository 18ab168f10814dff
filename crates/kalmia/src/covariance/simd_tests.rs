//! The row kernels under each instruction set that this machine has, whatever the one it would choose.

use super::{Covariance, Learn};
use crate::error::Result;
use crate::linalg::Buffer;
use crate::rule::Step;
use pulp::{Arch, Scalar, Simd, WithSimd};

/// An instruction set.
#[derive(Debug, Clone, Copy)]
enum How {
    Chosen,
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
}

impl How {
    fn run<W: WithSimd>(self, work: W) -> W::Output {
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

/// A rule of sorts that keeps what it was asked.
fn decide(seen: &mut Vec<f64>) -> impl FnMut(usize, f64, f64) -> Result<Step> {
    |i, m, s| {
        seen.extend([m, s]);
        let curvature = 0.1 + (i % 3) as f64 * 0.2;
        Ok(Step::against((m + 2.0 - (i % 5) as f64) * curvature, curvature, s))
    }
}

/// Everything that a form says of the rows and holds after them.
fn run<C: Covariance>(dim: usize, x: &[f64], walk: &[f64], how: How) -> Vec<f64>
where
    for<'a, 'd> Learn<'a, 'd, C>: WithSimd<Output = Result<()>>,
{
    let mut p = C::from_diagonal(&vec![0.7; dim]).unwrap();
    let mut theta = Buffer::zeros(dim);
    let mut seen = Vec::new();
    how.run(Learn { p: &mut p, theta: &mut theta, x, first: 0, decide: &mut decide(&mut seen), walk }).unwrap();
    seen.extend(theta[..dim].iter().chain(&p.matrix()));
    seen
}

/// Runs rows of several dimensions under each instruction set and compares all numbers; `walk` is what is added to a diagonal a row.
pub(super) fn check<C: Covariance>(walk: impl Fn(usize) -> &'static [f64])
where
    for<'a, 'd> Learn<'a, 'd, C>: WithSimd<Output = Result<()>>,
{
    let mut hows = vec![How::Scalar];
    #[cfg(target_arch = "x86_64")]
    hows.extend(pulp::x86::V3::try_new().map(How::Avx2));
    for dim in [1, 4, 8, 11, 16, 17, 28, 32, 33, 50] {
        let x: Vec<f64> = (0..40 * dim).map(|i| ((i * 7919 % 1009) as f64 / 504.5 - 1.0) * (1.0 + (i % 3) as f64)).collect();
        let chosen = run::<C>(dim, &x, walk(dim), How::Chosen);
        for how in &hows {
            for (a, b) in chosen.iter().zip(run::<C>(dim, &x, walk(dim), *how)) {
                assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{how:?}, dimension {dim}: {a} {b}");
            }
        }
    }
}
