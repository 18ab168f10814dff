//! Which coordinate of a belief is what, and the scalar observations of a row.
//!
//! A belief is about $(\theta_0, \delta_1, \dots, \delta_{K-2}, \theta)$: a location, the gaps
//! between neighboring cutpoints, and the slopes. With $o_{ki} = \pm\frac12$, positive for the gaps
//! below cutpoint $k$,
//!
//! $$c_k = -\theta_0 + \sum_i o_{ki}\delta_i, \qquad q_k = \theta_0 - \sum_i o_{ki}\delta_i +
//!   \theta^\top x.$$
//!
//! So all cutpoints have the same prior variance, the order of the levels can be reversed, a gap is
//! a coordinate, and $\theta_0$ is the intercept that features are centered with. New features come
//! last.

/// Numbers of levels and features, from which all places follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub levels: usize,
    /// Features of a row.
    pub dim: usize,
    /// Whether feature 0 is the constant 1.
    pub constant: bool,
}

/// What a scalar observation of a row is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    /// The belief about $q_k$ before the row; nothing is learned. `cut` is $k - 1$.
    Probe { cut: usize },
    /// The same, and then whether the level is at least $k$.
    First { cut: usize, label: f64 },
    /// Whether the level is at least $k$.
    Label { label: f64 },
    /// The gap between the cutpoints of the level.
    Gap,
}

/// The scalar observations of a row, in order, and their features.
#[derive(Debug, Clone, Default)]
pub(super) struct Scalars {
    pub kinds: Vec<Scalar>,
    /// One after the other.
    pub z: Vec<f64>,
}

impl Layout {
    /// Features with a coefficient.
    pub fn slopes(&self) -> usize {
        self.dim - usize::from(self.constant)
    }

    /// Gaps between neighboring cutpoints.
    pub fn gaps(&self) -> usize {
        self.levels - 2
    }

    /// Cutpoints.
    pub fn cuts(&self) -> usize {
        self.levels - 1
    }

    /// Coordinates of a belief.
    pub fn size(&self) -> usize {
        1 + self.gaps() + self.slopes()
    }

    /// The coordinate of a number of a row with its constant.
    pub fn coordinate(&self, j: usize) -> usize {
        if j == 0 { 0 } else { self.gaps() + j }
    }

    /// The coordinates of the gaps.
    pub fn gap_places(&self) -> std::ops::Range<usize> {
        1..1 + self.gaps()
    }

    /// The features that have a coefficient.
    pub fn slopes_of<'a>(&self, x: &'a [f64]) -> &'a [f64] {
        &x[usize::from(self.constant)..]
    }

    /// A row with the constant 1 in front, as scales count it.
    pub fn with_constant(&self, x: &[f64]) -> Vec<f64> {
        std::iter::once(1.0).chain(self.slopes_of(x).iter().copied()).collect()
    }

    /// The same with a constant 0, which never waits for a scale.
    pub fn without_constant(&self, x: &[f64]) -> Vec<f64> {
        std::iter::once(0.0).chain(self.slopes_of(x).iter().copied()).collect()
    }

    /// Writes $-o_{ki}$ for all gaps; `cut` is $k - 1$.
    fn push_gaps(&self, cut: usize, z: &mut Vec<f64>) {
        z.extend((0..self.gaps()).map(|gap| if gap < cut { -0.5 } else { 0.5 }));
    }

    /// Appends the features of $q_k$ for a row with slopes' features `x`.
    pub fn push_cut(&self, cut: usize, x: &[f64], z: &mut Vec<f64>) {
        z.push(1.0);
        self.push_gaps(cut, z);
        z.extend_from_slice(x);
    }

    /// The coefficients of cutpoint `cut + 1` in all coordinates.
    pub fn cutpoint(&self, cut: usize) -> Vec<f64> {
        let mut z = Vec::with_capacity(self.size());
        z.push(1.0);
        self.push_gaps(cut, &mut z);
        z.iter_mut().for_each(|z| *z = -*z);
        z.resize(self.size(), 0.0);
        z
    }

    /// The scalar observations of a row of level `level`. Beliefs about all $q_k$ come first; the
    /// first label has the last of them.
    pub fn scalars(&self, x: &[f64], level: usize, scalars: &mut Scalars) {
        let Scalars { kinds, z } = scalars;
        kinds.clear();
        z.clear();
        let x = self.slopes_of(x);
        // the level is at least that of its lower cutpoint, and below that of its upper one
        let lower = level.checked_sub(1);
        let upper = (level < self.cuts()).then_some(level);
        let first = lower.or(upper).unwrap_or(0);
        for cut in (0..self.cuts()).filter(|&cut| cut != first) {
            kinds.push(Scalar::Probe { cut });
            self.push_cut(cut, x, z);
        }
        kinds.push(Scalar::First { cut: first, label: f64::from(lower.is_some()) });
        self.push_cut(first, x, z);
        let (Some(lower), Some(upper)) = (lower, upper) else { return };
        kinds.push(Scalar::Label { label: 0.0 });
        self.push_cut(upper, x, z);
        kinds.push(Scalar::Gap);
        let start = z.len();
        z.resize(start + self.size(), 0.0);
        z[start + 1 + lower] = 1.0;
    }
}
