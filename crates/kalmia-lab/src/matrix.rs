//! Sums over rows that several estimators take: $a^\top b$ and $A + w\,xx^\top$.

/// $a^\top b$.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $A \mathrel{+}= w\,xx^\top$, by columns. Whole columns: the compiler vectorizes a full length
/// better than a triangle, inside [`crate::lanes::dispatch`] for the vectors of the machine.
#[inline(always)]
pub(crate) fn add_square(a: &mut [f64], x: &[f64], w: f64) {
    for (column, xj) in a.chunks_exact_mut(x.len()).zip(x) {
        let weight = w * xj;
        column.iter_mut().zip(x).for_each(|(a, xi)| *a += weight * xi);
    }
}
