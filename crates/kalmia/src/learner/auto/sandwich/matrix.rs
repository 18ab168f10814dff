//! Symmetric matrices of the sandwich, column by column.

/// Adds $w\,xx^\top$.
pub(super) fn add_square(matrix: &mut [f64], x: &[f64], weight: f64) {
    for (column, &left) in matrix.chunks_exact_mut(x.len().max(1)).zip(x) {
        let factor = weight * left;
        column.iter_mut().zip(x).for_each(|(entry, right)| *entry += factor * right);
    }
}

/// $ABA$ of two symmetric matrices, exactly symmetric.
pub(super) fn symmetric_product(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    let times = |a: &[f64], b: &[f64]| {
        let mut product = vec![0.0; dim * dim];
        for (to, column) in product.chunks_exact_mut(dim).zip(b.chunks_exact(dim)) {
            for (left, &factor) in a.chunks_exact(dim).zip(column) {
                to.iter_mut().zip(left).for_each(|(to, left)| *to += factor * left);
            }
        }
        product
    };
    let mut found = times(&times(a, b), a);
    for j in 0..dim {
        for i in 0..j {
            let mean = 0.5 * (found[j * dim + i] + found[i * dim + j]);
            found[j * dim + i] = mean;
            found[i * dim + j] = mean;
        }
    }
    found
}

/// A matrix of another dimension, with zeros in new places.
pub(super) fn resized(matrix: &[f64], from: usize, to: usize) -> Vec<f64> {
    let mut found = vec![0.0; to * to];
    let columns = found.chunks_exact_mut(to.max(1)).zip(matrix.chunks_exact(from.max(1)));
    for (column, old) in columns {
        let kept = from.min(to);
        column[..kept].copy_from_slice(&old[..kept]);
    }
    found
}
