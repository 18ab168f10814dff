//! Sums that carry their rounding errors along: a high part, and a low part of what it lost.

/// Numbers summed with Neumaier's compensation: the error of each addition is kept in `low`, so the
/// sum of any number of terms is off by about one rounding of the sum of their sizes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Carried {
    high: Vec<f64>,
    low: Vec<f64>,
}

/// Adds each value to its sum, and the rounding error of that to the low part.
#[inline]
pub(crate) fn carry(high: &mut [f64], low: &mut [f64], values: &[f64]) {
    for ((high, low), value) in high.iter_mut().zip(low).zip(values) {
        let sum = *high + value;
        let added = sum - *high;
        *low += (*high - (sum - added)) + (value - added);
        *high = sum;
    }
}

impl Carried {
    pub fn zeros(len: usize) -> Self {
        Self { high: vec![0.0; len], low: vec![0.0; len] }
    }

    pub fn from_values(values: &[f64]) -> Self {
        Self { high: values.to_vec(), low: vec![0.0; values.len()] }
    }

    /// Adds values to the sums from index `first` on.
    #[inline]
    pub fn add(&mut self, first: usize, values: &[f64]) {
        let places = first..first + values.len();
        carry(&mut self.high[places.clone()], &mut self.low[places], values);
    }

    /// Adds the sums of another of the same length, with what they carry.
    pub fn absorb(&mut self, other: &Self) {
        self.add(0, &other.high);
        self.add(0, &other.low);
    }

    /// Number of sums.
    pub fn len(&self) -> usize {
        self.high.len()
    }

    /// Sum `i`, rounded once.
    #[inline]
    pub fn value(&self, i: usize) -> f64 {
        self.high[i] + self.low[i]
    }

    /// All sums, each rounded once.
    pub fn values(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.value(i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plain_sum_loses_is_kept() {
        let mut sums = Carried::zeros(3);
        for _ in 0..1000 {
            sums.add(1, &[1e16, 0.1]);
            sums.add(1, &[1.0, 1e10]);
            sums.add(1, &[-1e16, -1e10]);
        }
        // 0.1 is not a number of the machine, so a thousand of them round once
        assert_eq!(sums.values(), [0.0, 1000.0, 1000.0 * 0.1]);
        let mut twice = Carried::from_values(&sums.values());
        twice.absorb(&sums);
        assert_eq!(twice.values(), [0.0, 2000.0, 200.0]);
        assert_eq!(twice.len(), 3);
    }
}
