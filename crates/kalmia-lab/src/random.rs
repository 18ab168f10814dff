//! Random streams: one xoshiro256++ per replicate, eight of them in the lanes of a [`Streams`].

use crate::lanes::{LANES, V};

/// SplitMix64 (Steele, Lea and Flood), the seeding generator that the authors of xoshiro advise.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The first state of a replicate's stream. It depends on these three numbers only, so a
/// replicate's data change with neither the threads nor the number of replicates.
pub fn replicate_state(seed: u64, experiment: u64, replicate: u64) -> [u64; 4] {
    let mut mixer = SplitMix(seed);
    let base =
        mixer.next_u64() ^ SplitMix(experiment.wrapping_mul(0xA076_1D64_78BD_642F)).next_u64();
    let mut stream =
        SplitMix(base ^ SplitMix(replicate.wrapping_mul(0xE703_7ED1_A0B4_28DB)).next_u64());
    std::array::from_fn(|_| stream.next_u64())
}

/// Eight xoshiro256++ generators (Blackman and Vigna), one per lane.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Streams([[u64; LANES]; 4]);

impl Streams {
    /// The streams of replicates `8 * group .. 8 * group + 8`.
    pub fn new(seed: u64, experiment: u64, group: usize) -> Self {
        let mut state = [[0; LANES]; 4];
        for lane in 0..LANES {
            let words = replicate_state(seed, experiment, (group * LANES + lane) as u64);
            for (row, word) in state.iter_mut().zip(words) {
                row[lane] = word;
            }
        }
        Self(state)
    }

    /// 64 bits per lane.
    #[inline(always)]
    pub fn bits(&mut self) -> [u64; LANES] {
        let [a, b, c, d] = &mut self.0;
        let mut out = [0; LANES];
        for l in 0..LANES {
            out[l] = a[l].wrapping_add(d[l]).rotate_left(23).wrapping_add(a[l]);
            let t = b[l] << 17;
            c[l] ^= a[l];
            d[l] ^= b[l];
            b[l] ^= c[l];
            a[l] ^= d[l];
            c[l] ^= t;
            d[l] = d[l].rotate_left(45);
        }
        out
    }

    /// Uniform on $[0,1)$, a multiple of $2^{-52}$.
    #[inline(always)]
    pub fn uniform(&mut self) -> V {
        V(self.bits().map(|bits| f64::from_bits((bits >> 12) | 0x3FF0_0000_0000_0000) - 1.0))
    }

    /// Standard normal numbers by Box and Muller's transform.
    pub fn normal(&mut self) -> V {
        let radius = self.uniform();
        let angle = self.uniform();
        radius.zip(angle, |r, a| (-2.0 * (1.0 - r).ln()).sqrt() * (std::f64::consts::TAU * a).cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn lanes_are_the_published_generator() {
        let mut lanes = Streams::new(7, 3, 2);
        for lane in 0..LANES {
            let words = replicate_state(7, 3, (2 * LANES + lane) as u64);
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let mut reference = Xoshiro256PlusPlus::from_seed(bytes.try_into().unwrap());
            let mut ours = lanes.clone();
            for _ in 0..100 {
                assert_eq!(ours.bits()[lane], reference.next_u64());
            }
        }
        assert_ne!(lanes.bits()[0], lanes.bits()[1]);
    }

    #[test]
    fn uniform_and_normal_have_their_moments() {
        let mut streams = Streams::new(1, 0, 0);
        let mut u1 = 0.0;
        let mut u2 = 0.0;
        let mut n1 = 0.0;
        let mut n2 = 0.0;
        let mut n4 = 0.0;
        let count = 40_000;
        for _ in 0..count {
            for (u, n) in streams.uniform().0.into_iter().zip(streams.normal().0) {
                assert!((0.0..1.0).contains(&u));
                u1 += u;
                u2 += u * u;
                n1 += n;
                n2 += n * n;
                n4 += n * n * n * n;
            }
        }
        let total = (count * LANES) as f64;
        let close = |sum: f64, mean: f64, variance: f64| {
            (sum / total - mean).abs() < 4.5 * (variance / total).sqrt()
        };
        assert!(close(u1, 0.5, 1.0 / 12.0) && close(u2, 1.0 / 3.0, 4.0 / 45.0));
        assert!(close(n1, 0.0, 1.0) && close(n2, 1.0, 2.0) && close(n4, 3.0, 96.0));
    }
}
