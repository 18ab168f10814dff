//! Borrowed rows that list only the features that are not zero.

use crate::error::{Error, Result, require_len};
use crate::rows::{Inputs, MAX_FEATURE, MAX_MODERATE, Observation, Rows, first_beyond};

/// Features of several rows in compressed form (CSR): the entries of row `i` are those from
/// `starts[i]` to before `starts[i + 1]` in `indices` and `values`. Features that a row does not
/// list are 0.
///
/// Indices ascend strictly within a row. A repeated index is refused, because summing it or taking
/// the last value would both be a guess; sum repeated entries before.
///
/// ```
/// use kalmia::SparseMatrix;
///
/// // (0, 2.5, 0) and (1, 0, -1)
/// let x = SparseMatrix::new(&[0, 1, 3], &[1, 0, 2], &[2.5, 1.0, -1.0])?;
/// assert_eq!(x.row(1).indices, [0, 2]);
/// assert!(SparseMatrix::new(&[0, 2], &[4, 4], &[1.0, 1.0]).is_err());
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SparseMatrix<'a> {
    starts: &'a [usize],
    indices: &'a [u32],
    values: &'a [f64],
}

/// The features of one row that are not zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRow<'a> {
    /// Which features, in ascending order.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [f64],
}

impl<'a> SparseRow<'a> {
    /// The features with their values.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

impl<'a> SparseMatrix<'a> {
    /// From the parts of a CSR matrix. Refuses starts that do not fit and indices that do not
    /// ascend strictly within a row.
    pub fn new(starts: &'a [usize], indices: &'a [u32], values: &'a [f64]) -> Result<Self> {
        require_len("values", values.len(), indices.len())?;
        let ascending = starts.is_sorted() && starts.first() == Some(&0);
        if !ascending || starts.last() != Some(&indices.len()) {
            return Err(Error::State(format!(
                "the starts of sparse rows must ascend from 0 to the number of entries, {}",
                indices.len()
            )));
        }
        let matrix = Self { starts, indices, values };
        for row in 0..matrix.len() {
            let found = matrix.row(row).indices;
            if let Some(at) = found.windows(2).position(|pair| pair[0] >= pair[1]) {
                let index = found[at + 1];
                let problem = if found[at] == index {
                    "is repeated; sum the values of repeated indices"
                } else {
                    "is out of order; sort the indices of each row"
                };
                return Err(Error::SparseIndex { row, index, problem });
            }
        }
        Ok(matrix)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices of all rows.
    pub(crate) fn indices(&self) -> &'a [u32] {
        self.indices
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// How many different indices there are among those that `counts`.
    pub(crate) fn distinct(&self, counts: impl Fn(u32) -> bool) -> usize {
        let counted = self.indices.iter().copied().filter(|&index| counts(index));
        counted.collect::<std::collections::HashSet<_>>().len()
    }

    /// Row `i`. Panics if there are fewer rows.
    #[inline(always)]
    pub fn row(&self, i: usize) -> SparseRow<'a> {
        let entries = self.starts[i]..self.starts[i + 1];
        SparseRow { indices: &self.indices[entries.clone()], values: &self.values[entries] }
    }

    /// Refuses illegal values, and indices that are not below `width`. Returns whether all values
    /// are at most [`MAX_MODERATE`] in size.
    pub(crate) fn check(&self, width: u64) -> Result<bool> {
        let moderate = first_beyond(MAX_MODERATE, self.values).is_none();
        let illegal = if moderate { None } else { first_beyond(MAX_FEATURE, self.values) };
        if let Some(at) = illegal {
            let row = self.starts.partition_point(|&start| start <= at) - 1;
            let column = self.indices[at] as usize;
            return Err(Error::Feature { row, column, value: self.values[at] });
        }
        if width > u64::from(u32::MAX) {
            return Ok(moderate);
        }
        for row in 0..self.len() {
            // the last index of a row is the largest
            match self.row(row).indices.last() {
                Some(&index) if u64::from(index) >= width => {
                    let problem = "is not below the number of features of the learner";
                    return Err(Error::SparseIndex { row, index, problem });
                }
                _ => {}
            }
        }
        Ok(moderate)
    }

    /// Writes the rows one after the other as `dim` numbers each.
    fn densify(&self, dim: usize) -> Result<Vec<f64>> {
        let len = self.len().saturating_mul(dim);
        let mut dense = Vec::new();
        let bytes = len.saturating_mul(size_of::<f64>());
        dense.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
        dense.resize(len, 0.0);
        for (i, row) in dense.chunks_exact_mut(dim.max(1)).enumerate() {
            self.row(i).iter().for_each(|(j, value)| row[j as usize] = value);
        }
        Ok(dense)
    }
}

/// Borrowed sparse rows with their targets, beside [`Rows`].
///
/// ```
/// use kalmia::{Bernoulli, Learner, SparseMatrix, SparseRows, Wide};
///
/// let mut wide = Wide::new(Bernoulli)?;
/// let x = SparseMatrix::new(&[0, 2, 3], &[7, 4_000_000_000, 7], &[1.0, 1.0, 2.0])?;
/// wide.learn_sparse(SparseRows::new(x, &[1.0, 0.0])?)?;
/// assert_eq!(wide.features(), [7, 4_000_000_000]); // memory grows with the features seen
/// # Ok::<(), kalmia::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SparseRows<'a> {
    features: SparseMatrix<'a>,
    /// Targets, weights and offsets, as rows without features.
    observations: Rows<'a>,
}

impl<'a> SparseRows<'a> {
    /// Features with a target per row.
    pub fn new(features: SparseMatrix<'a>, y: &'a [f64]) -> Result<Self> {
        require_len("y", y.len(), features.len())?;
        Ok(Self { features, observations: Rows::new(0, &[], y)? })
    }

    /// Features with the targets, weights and offsets of as many other rows.
    pub(crate) fn with_observations(features: SparseMatrix<'a>, rows: Rows<'a>) -> Self {
        debug_assert_eq!(features.len(), rows.len());
        Self { features, observations: rows.without_features() }
    }

    /// With a weight per row (multiplies the loss).
    pub fn with_weights(mut self, weight: &'a [f64]) -> Result<Self> {
        self.observations = self.observations.with_weights(weight)?;
        Ok(self)
    }

    /// With an offset per row (added to the linear predictor).
    pub fn with_offsets(mut self, offset: &'a [f64]) -> Result<Self> {
        self.observations = self.observations.with_offsets(offset)?;
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }

    /// The features.
    pub fn features(&self) -> SparseMatrix<'a> {
        self.features
    }

    /// The features of row `i`.
    #[inline(always)]
    pub fn x(&self, i: usize) -> SparseRow<'a> {
        self.features.row(i)
    }

    /// Targets, weights and offsets as rows without features.
    #[inline(always)]
    pub(crate) fn observations(&self) -> Rows<'a> {
        self.observations
    }

    /// Target, weight and offset of row `i`, the target as given.
    #[inline(always)]
    pub fn observation(&self, i: usize) -> Observation {
        self.observations.observation(i)
    }

    /// Calls `take` with the same rows in dense form, for learners with a dense covariance. An
    /// index that is not below `dim` is refused; so is a batch that does not fit into memory.
    pub(crate) fn densified<T>(
        &self,
        dim: usize,
        take: impl FnOnce(Rows<'_>) -> Result<T>,
    ) -> Result<T> {
        self.features.check(dim as u64)?;
        let dense = self.features.densify(dim)?;
        take(self.observations.with_dense(dim, &dense)?)
    }
}

/// Borrowed sparse rows to predict, beside [`Inputs`].
#[derive(Debug, Clone, Copy)]
pub struct SparseInputs<'a> {
    features: SparseMatrix<'a>,
    /// Offsets and unseen levels, as inputs without features.
    extras: Inputs<'a>,
}

impl<'a> SparseInputs<'a> {
    /// Features of the rows to predict.
    pub fn new(features: SparseMatrix<'a>) -> Self {
        Self { features, extras: Inputs::of_len(0, &[], features.len()) }
    }

    /// Features with the offsets and unseen levels of as many dense rows.
    pub(crate) fn with_extras(features: SparseMatrix<'a>, inputs: Inputs<'a>) -> Self {
        debug_assert_eq!(features.len(), inputs.len());
        Self { features, extras: inputs.with_dense(0, &[]) }
    }

    /// With an offset per row (added to the linear predictor).
    pub fn with_offsets(mut self, offset: &'a [f64]) -> Result<Self> {
        self.extras = self.extras.with_offsets(offset)?;
        Ok(self)
    }

    /// With the number of levels per row that no row had; see [`Inputs::with_unseen`].
    pub fn with_unseen(mut self, unseen: &'a [u32]) -> Result<Self> {
        self.extras = self.extras.with_unseen(unseen)?;
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The features of row `i`.
    pub fn x(&self, i: usize) -> SparseRow<'a> {
        self.features.row(i)
    }

    /// The offset of row `i`.
    pub fn offset(&self, i: usize) -> f64 {
        self.extras.offset(i)
    }

    /// The number of unseen levels of row `i`.
    pub fn unseen(&self, i: usize) -> u32 {
        self.extras.unseen(i)
    }

    /// Refuses illegal features and offsets for a learner of `width` features.
    pub(crate) fn check(&self, width: u64) -> Result<()> {
        self.features.check(width)?;
        self.extras.check(0)
    }

    /// Calls `take` with the rows of a range in dense form.
    pub(crate) fn densified(
        &self,
        dim: usize,
        rows: std::ops::Range<usize>,
        take: impl FnOnce(Inputs<'_>) -> Result<()>,
    ) -> Result<()> {
        let features =
            SparseMatrix { starts: &self.features.starts[rows.start..=rows.end], ..self.features };
        let dense = features.densify(dim)?;
        take(self.extras.slice(rows).with_dense(dim, &dense))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_no_sparse_matrix_are_refused() {
        let starts = |starts: &[usize]| SparseMatrix::new(starts, &[0, 5], &[1.0, 2.0]).is_ok();
        assert!(starts(&[0, 2]) && starts(&[0, 0, 1, 1, 2]));
        assert!(!starts(&[]) && !starts(&[0]) && !starts(&[1, 2]) && !starts(&[0, 3]));
        assert!(!starts(&[0, 2, 1, 2]));
        let order = SparseMatrix::new(&[0, 1, 3], &[9, 5, 4], &[1.0; 3]).unwrap_err();
        assert!(order.to_string().starts_with("row 1, index 4: is out of order"), "{order}");
        let twice = SparseMatrix::new(&[0, 2], &[5, 5], &[1.0; 2]).unwrap_err();
        assert!(twice.to_string().starts_with("row 0, index 5: is repeated"), "{twice}");
        assert!(SparseMatrix::new(&[0, 1], &[5], &[]).is_err());
    }

    #[test]
    fn illegal_values_and_indices_name_their_row() {
        let x = SparseMatrix::new(&[0, 1, 1, 3], &[4, 1, 3], &[1.0, f64::NAN, 1e31]).unwrap();
        assert!(matches!(x.check(9), Err(Error::Feature { row: 2, column: 1, .. })));
        let x = SparseMatrix::new(&[0, 1, 1, 3], &[4, 1, 3], &[1.0, 1e3, 1e31]).unwrap();
        assert_eq!(x.check(5), Ok(false));
        assert!(matches!(x.check(4), Err(Error::SparseIndex { row: 0, index: 4, .. })));
    }

    #[test]
    fn dense_rows_have_the_same_numbers() {
        let x = SparseMatrix::new(&[0, 1, 1, 3], &[2, 0, 1], &[3.0, 1.0, 2.0]).unwrap();
        let rows = SparseRows::new(x, &[1.0, 2.0, 3.0]).unwrap();
        rows.densified(3, |dense| {
            assert_eq!(dense.features(), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0]);
            assert_eq!(dense.observation(2).y, 3.0);
            Ok(())
        })
        .unwrap();
        SparseInputs::new(x)
            .densified(3, 1..3, |dense| {
                assert_eq!(dense.features(), [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]);
                Ok(())
            })
            .unwrap();
    }
}
