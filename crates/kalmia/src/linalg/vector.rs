//! Vector kernels over padded slices, generic in the SIMD width that is chosen at run time.

use pulp::Simd;

/// $\sum a_i b_i$ of two slices of equal length, a multiple of the SIMD width.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let (a, _) = S::as_simd_f64s(a);
    let (b, _) = S::as_simd_f64s(b);
    let b = &b[..a.len()];
    let mut even = simd.splat_f64s(0.0);
    let mut odd = even;
    let pairs = a.len() / 2;
    for i in 0..pairs {
        even = simd.mul_add_f64s(a[2 * i], b[2 * i], even);
        odd = simd.mul_add_f64s(a[2 * i + 1], b[2 * i + 1], odd);
    }
    if a.len() % 2 == 1 {
        even = simd.mul_add_f64s(a[a.len() - 1], b[a.len() - 1], even);
    }
    simd.reduce_sum_f64s(simd.add_f64s(even, odd))
}

/// Copies an unpadded row into a padded line and fills the last register with zeros. No `memcpy`:
/// the call costs more than a short row.
#[inline(always)]
pub(crate) fn load<S: Simd>(simd: S, row: &[f64], line: &mut [f64]) {
    let (head, tail) = S::as_simd_f64s(row);
    let (line, _) = S::as_mut_simd_f64s(line);
    for (line, row) in line.iter_mut().zip(head) {
        *line = *row;
    }
    if !tail.is_empty() {
        line[head.len()] = simd.partial_load_f64s(tail);
    }
}

/// Zeros a padded line.
#[inline(always)]
pub(crate) fn clear<S: Simd>(simd: S, line: &mut [f64]) {
    let zero = simd.splat_f64s(0.0);
    for value in S::as_mut_simd_f64s(line).0 {
        *value = zero;
    }
}

/// $y \mathrel{+}= a x$ over padded slices of equal length.
#[inline(always)]
pub(crate) fn axpy<S: Simd>(simd: S, a: f64, x: &[f64], y: &mut [f64]) {
    let (x, _) = S::as_simd_f64s(x);
    let (y, _) = S::as_mut_simd_f64s(y);
    let a = simd.splat_f64s(a);
    for (y, x) in y.iter_mut().zip(x) {
        *y = simd.mul_add_f64s(a, *x, *y);
    }
}

/// $y_i \mathrel{+}= a x_i^2$ over padded slices of equal length.
#[inline(always)]
pub(crate) fn add_squares<S: Simd>(simd: S, a: f64, x: &[f64], y: &mut [f64]) {
    let (x, _) = S::as_simd_f64s(x);
    let (y, _) = S::as_mut_simd_f64s(y);
    let a = simd.splat_f64s(a);
    for (y, x) in y.iter_mut().zip(x) {
        *y = simd.mul_add_f64s(simd.mul_f64s(a, *x), *x, *y);
    }
}

// The two helpers below are written out: a closure passed to a library function would be compiled
// without the SIMD features.

/// The first `G` numbers times `a`, each in all lanes.
#[inline(always)]
pub(crate) fn splats<S: Simd, const G: usize>(simd: S, a: f64, v: &[f64]) -> [S::f64s; G] {
    let v = &v[..G];
    let mut splats = [simd.splat_f64s(0.0); G];
    for g in 0..G {
        splats[g] = simd.splat_f64s(a * v[g]);
    }
    splats
}

/// The sums over the lanes of `G` vectors.
#[inline(always)]
pub(crate) fn reduce<S: Simd, const G: usize>(simd: S, sums: [S::f64s; G], out: &mut [f64]) {
    let out = &mut out[..G];
    for g in 0..G {
        out[g] = simd.reduce_sum_f64s(sums[g]);
    }
}

// Vectors of a few registers, held in an array, for small dimensions.

/// A row of at most `N` registers, padded with zeros.
#[inline(always)]
pub(crate) fn registers<S: Simd, const N: usize>(simd: S, row: &[f64]) -> [S::f64s; N] {
    let (head, tail) = S::as_simd_f64s(row);
    let mut registers = [simd.splat_f64s(0.0); N];
    for (register, value) in registers.iter_mut().zip(head) {
        *register = *value;
    }
    if !tail.is_empty() {
        registers[head.len()] = simd.partial_load_f64s(tail);
    }
    registers
}

/// The first row of `rows`. The lanes after its last number may hold numbers of the next row: use
/// it only in products with vectors that have zeros there.
#[inline(always)]
pub(crate) fn head<S: Simd, const N: usize>(simd: S, rows: &[f64], dim: usize) -> [S::f64s; N] {
    if rows.len() < N * S::F64_LANES {
        return registers(simd, &rows[..dim]);
    }
    let mut registers = [simd.splat_f64s(0.0); N];
    registers.copy_from_slice(&S::as_simd_f64s(rows).0[..N]);
    registers
}

/// Writes the registers. No `memcpy`: the call costs more than a few registers.
#[allow(clippy::manual_memcpy)]
#[inline(always)]
pub(crate) fn store_registers<S: Simd, const N: usize>(registers: [S::f64s; N], line: &mut [f64]) {
    let line = &mut S::as_mut_simd_f64s(line).0[..N];
    for r in 0..N {
        line[r] = registers[r];
    }
}

/// $a^\top b$.
#[inline(always)]
pub(crate) fn dot_registers<S: Simd, const N: usize>(
    simd: S,
    a: [S::f64s; N],
    b: [S::f64s; N],
) -> f64 {
    let mut sum = simd.mul_f64s(a[0], b[0]);
    for r in 1..N {
        sum = simd.mul_add_f64s(a[r], b[r], sum);
    }
    simd.reduce_sum_f64s(sum)
}

/// $y \mathrel{+}= ax$.
#[inline(always)]
pub(crate) fn axpy_registers<S: Simd, const N: usize>(
    simd: S,
    a: f64,
    x: [S::f64s; N],
    y: &mut [S::f64s; N],
) {
    let a = simd.splat_f64s(a);
    for r in 0..N {
        y[r] = simd.mul_add_f64s(a, x[r], y[r]);
    }
}

/// $x \leftarrow ax$.
#[inline(always)]
pub(crate) fn scale_registers<S: Simd, const N: usize>(simd: S, a: f64, x: &mut [S::f64s; N]) {
    let a = simd.splat_f64s(a);
    for x in x {
        *x = simd.mul_f64s(a, *x);
    }
}

/// $y_i \mathrel{+}= ax_i^2$.
#[inline(always)]
pub(crate) fn add_squares_registers<S: Simd, const N: usize>(
    simd: S,
    a: f64,
    x: [S::f64s; N],
    y: &mut [S::f64s; N],
) {
    let a = simd.splat_f64s(a);
    for r in 0..N {
        y[r] = simd.mul_add_f64s(simd.mul_f64s(a, x[r]), x[r], y[r]);
    }
}

/// $y_i \mathrel{+}= a_ix_i$.
#[inline(always)]
pub(crate) fn add_product_registers<S: Simd, const N: usize>(
    simd: S,
    a: [S::f64s; N],
    x: [S::f64s; N],
    y: &mut [S::f64s; N],
) {
    for r in 0..N {
        y[r] = simd.mul_add_f64s(a[r], x[r], y[r]);
    }
}

/// The inverse of [`registers`] for a padded line, which may be shorter.
#[inline(always)]
pub(crate) fn write_registers<T: Copy, const N: usize>(registers: [T; N], line: &mut [T]) {
    for (value, register) in line.iter_mut().zip(registers) {
        *value = register;
    }
}
