//! The numbers of a core + tail covariance that a saved state holds.

use super::row::Scratch;
use super::{CORE, CoreTail, SEEN_BEFORE_CORE};
use crate::covariance::{Factored, Kernel, check_variances};
use crate::error::{Result, require, require_len};

impl<const M: usize> CoreTail<M> {
    /// The number of features in the core, these features, the core's numbers, then the variances
    /// of the tail and the rows that had each of its features.
    pub(super) fn to_parts(&self) -> Vec<f64> {
        let mut parts = vec![self.members.len() as f64];
        parts.extend(self.members.iter().map(|&j| f64::from(j)));
        parts.extend(self.core.parts());
        parts.extend(self.tail().map(|j| self.variances[j]));
        parts.extend(self.tail().map(|j| f64::from(self.places[j])));
        parts
    }

    /// The inverse of [`to_parts`](Self::to_parts). `M` may differ if the core fits.
    pub(super) fn of_parts(parts: &[f64], dim: usize) -> Result<Self> {
        let (&size, rest) = parts.split_first().unwrap_or((&0.0, &[]));
        let fits = size >= 0.0 && size.fract() == 0.0 && size <= dim.min(M) as f64;
        require(fits, "core", size, "must be a number of features that fits into the core")?;
        let size = size as usize;
        let core_numbers = size * (size + 1) / 2;
        require_len("covariance", rest.len(), size + core_numbers + 2 * (dim - size))?;
        let (members, rest) = rest.split_at(size);
        let (core, rest) = rest.split_at(core_numbers);
        let (variances, seen) = rest.split_at(dim - size);
        check_variances(variances)?;
        let mut tail = Self {
            places: vec![0; dim],
            variances: vec![0.0; dim],
            members: Vec::with_capacity(size),
            core: Factored::from_parts(core, size)?,
            whole: false,
            scratch: Scratch::new(size),
        };
        for &j in members {
            let legal = j >= 0.0 && j.fract() == 0.0 && j < dim as f64;
            let legal = legal && tail.places[j as usize] & CORE == 0;
            require(legal, "core feature", j, "must be a feature, once")?;
            tail.places[j as usize] = tail.members.len() as u32 | CORE;
            tail.members.push(j as u32);
        }
        let most = f64::from(SEEN_BEFORE_CORE + 1);
        let of_tail: Vec<usize> = tail.tail().collect();
        for ((j, &variance), &seen) in of_tail.into_iter().zip(variances).zip(seen) {
            let legal = seen >= 0.0 && seen.fract() == 0.0 && seen <= most;
            require(legal, "rows of a feature", seen, "must be a whole number from 0 to 17")?;
            tail.variances[j] = variance;
            tail.places[j] = seen as u32;
        }
        tail.settle();
        Ok(tail)
    }
}
