//! The loops over the features of a row, all members at once; the compiler turns a record of `L`
//! means and `L` variances into vectors.

use crate::learner::wide::PerLane;
use crate::learner::wide::row::Entry;

/// Adds $\sum\theta_jz_j$ to `m` and $\sum v_jz_j^2$ to `s` of `L` members.
pub(super) struct AddSums<'a, const L: usize> {
    pub numbers: &'a [f32],
    pub entries: &'a [Entry],
    pub m: &'a mut PerLane,
    pub s: &'a mut PerLane,
}

impl<const L: usize> pulp::WithSimd for AddSums<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let Self { numbers, entries, m, s } = self;
        let mut means = [0.0; L];
        let mut variances = [0.0; L];
        for &Entry { at, z } in entries {
            let record = &numbers[at as usize * 2 * L..][..2 * L];
            for k in 0..L {
                means[k] += f64::from(record[k]) * z;
                variances[k] += f64::from(record[L + k]) * (z * z);
            }
        }
        for k in 0..L {
            m[k] += means[k];
            s[k] += variances[k];
        }
    }
}

/// $\theta_j \mathrel{+}= g\,v_jz_j$ and $v_j \mathrel{-}= c\,(v_jz_j)^2$ for `L` members.
pub(super) struct TakeStep<'a, const L: usize> {
    pub numbers: &'a mut [f32],
    pub entries: &'a [Entry],
    pub gain: &'a PerLane,
    pub contraction: &'a PerLane,
}

impl<const L: usize> pulp::WithSimd for TakeStep<'_, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let Self { numbers, entries, gain, contraction } = self;
        let mut g = [0.0; L];
        let mut c = [0.0; L];
        g.copy_from_slice(&gain[..L]);
        c.copy_from_slice(&contraction[..L]);
        for &Entry { at, z } in entries {
            let record = &mut numbers[at as usize * 2 * L..][..2 * L];
            for k in 0..L {
                let v = f64::from(record[L + k]);
                let px = v * z;
                record[k] = (f64::from(record[k]) + g[k] * px) as f32;
                // c px z < 1 in exact arithmetic
                record[L + k] = (v - c[k] * px * px).max(f64::from(f32::MIN_POSITIVE)) as f32;
            }
        }
    }
}
