//! A convex loss of one number, and the mode of a Gaussian belief tilted by it.

/// A convex loss $\ell(u)$ with its derivatives; implemented by an observation and its family.
pub(crate) trait Potential {
    /// $\ell(u)$.
    fn loss(&self, u: f64) -> f64;

    /// $(\ell'(u),\; \ell''(u))$.
    fn derivatives(&self, u: f64) -> (f64, f64);

    /// $e^{-\ell(u)}$ and the derivatives, if it costs no more than those; integrals then need no
    /// exponential of the loss.
    #[inline(always)]
    fn likelihood(&self, _u: f64) -> Option<Likelihood> {
        None
    }

    /// What is added to `u` before the loss is evaluated: part of the size that `u` is rounded at.
    #[inline(always)]
    fn offset(&self) -> f64 {
        0.0
    }
}

/// $e^{-\ell}$ at a point, with the derivatives of $\ell$ there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likelihood {
    /// $e^{-\ell}$.
    pub value: f64,
    /// $\ell'$.
    pub first: f64,
    /// $\ell''$.
    pub second: f64,
}

/// The mode $m^+$ of $N(u; m, s)\,e^{-\ell(u)}$, and the derivatives of the loss there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// $m^+ - m$, to full relative precision even if it is far below $|m|$.
    pub shift: f64,
    /// $(m^+ - m)/s = -\ell'(m^+)$.
    pub gain: f64,
    /// $\ell'(m^+)$ as the potential returns it.
    pub first: f64,
    /// $\ell''(m^+)$.
    pub second: f64,
}

/// Most steps of a search; never reached, because each bisection at worst halves the logarithm of
/// the distance.
const MAX_STEPS: usize = 400;
/// Largest last move of a search, in units of `u`. Losses bend on the scale 1, so a move of that
/// size is no sign of convergence, however small it is relative to $d$.
const MAX_LAST_MOVE: f64 = 1e-3;
/// Largest end of a bracket; replaces infinity.
const MAX_BRACKET: f64 = 1e300;

/// The solution of $m^+ = m - s\,\ell'(m^+)$, by Newton steps kept inside a shrinking bracket.
///
/// The unknown is the distance $d = |m^+ - m| \in [0, s|\ell'(m)|]$; its residual $d \pm s\,\ell'(m
/// \pm d)$ increases in $d$ and may be infinite.
#[inline]
pub(crate) fn find_mode<P: Potential>(potential: &P, m: f64, s: f64, at_m: (f64, f64)) -> Mode {
    let (mut first, mut second) = at_m;
    let pull = s * first.abs();
    if first == 0.0 || pull == 0.0 {
        return Mode { shift: 0.0, gain: -first, first, second };
    }
    let sign = if first > 0.0 { -1.0 } else { 1.0 };
    let mut low = 0.0;
    let mut high = pull.min(MAX_BRACKET);
    let mut d = pull / (1.0 + s * second);
    if d.is_nan() || d >= high {
        d = if second == 0.0 { high } else { split(low, high) };
    }
    let mut last = d;
    for _ in 0..MAX_STEPS {
        (first, second) = potential.derivatives(m + sign * d);
        let residual = d + sign * s * first;
        if residual < 0.0 {
            low = d;
        } else {
            high = d;
        }
        // not |newton - d|, which is 0 if `d` is too large to change by 1
        let correction = residual / (1.0 + s * second);
        let newton = d - correction;
        let move_by = correction.abs();
        let tolerance = (4.0 * f64::EPSILON * (d + m.abs())).min(MAX_LAST_MOVE);
        if move_by <= tolerance && newton >= low && newton <= high {
            d = newton;
            break;
        }
        // A Newton step that does not halve the last one crawls along an exponential: bisect.
        let next = if newton > low && newton < high && move_by <= 0.5 * last {
            newton
        } else {
            split(low, high)
        };
        if next <= low || next >= high {
            break;
        }
        last = (next - d).abs();
        d = next;
    }
    Mode { shift: sign * d, gain: sign * d / s, first, second }
}

/// A point inside the bracket: the middle, or the geometric middle when the ends differ in order of
/// magnitude.
fn split(low: f64, high: f64) -> f64 {
    if high > 4.0 * low + 4.0 {
        (low + 1.0).sqrt() * (high + 1.0).sqrt() - 1.0
    } else {
        low + 0.5 * (high - low)
    }
}
