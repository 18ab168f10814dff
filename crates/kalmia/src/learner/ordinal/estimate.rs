//! Slopes and cutpoints, and their covariance.

use super::Ordinal;
use super::member::Member;
use crate::covariance::Covariance;
use crate::math::dot;

/// What an [`Ordinal`] knows of its coefficients and cutpoints.
#[derive(Debug, Clone, PartialEq)]
pub struct OrdinalEstimate {
    /// The coefficients, then the cutpoints.
    values: Vec<f64>,
    covariance: Vec<f64>,
    slopes: usize,
}

impl OrdinalEstimate {
    /// $E\theta$, one per feature without the constant: by how much a unit of the feature raises
    /// the logarithm of the odds of a higher level.
    pub fn coefficients(&self) -> &[f64] {
        &self.values[..self.slopes]
    }

    /// $E c_k$, one less than there are levels, ascending: at $\theta^\top x = c_k$ a level below
    /// $k$ and one from $k$ on are equally likely.
    pub fn cutpoints(&self) -> &[f64] {
        &self.values[self.slopes..]
    }

    /// The covariance of the coefficients, then the cutpoints: dense and symmetric.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// Standard errors of the coefficients.
    pub fn coefficient_errors(&self) -> Vec<f64> {
        (0..self.slopes).map(|j| self.standard_error(j)).collect()
    }

    /// Standard errors of the cutpoints.
    pub fn cutpoint_errors(&self) -> Vec<f64> {
        (self.slopes..self.values.len()).map(|j| self.standard_error(j)).collect()
    }

    fn standard_error(&self, j: usize) -> f64 {
        self.covariance[j * self.values.len() + j].sqrt()
    }
}

impl Ordinal {
    /// Coefficients and cutpoints with their covariance, within the members and between them.
    pub fn estimate(&self) -> OrdinalEstimate {
        let slopes = self.layout.slopes();
        let size = self.layout.size();
        let rows: Vec<Vec<f64>> = (0..slopes)
            .map(|j| {
                let mut row = vec![0.0; size];
                row[self.layout.coordinate(j + 1)] = 1.0;
                row
            })
            .chain((0..self.layout.cuts()).map(|cut| self.layout.cutpoint(cut)))
            .collect();
        let members = &self.mixture.members;
        let of_member = |member: &Member| -> Vec<f64> {
            rows.iter().map(|row| dot(row, member.belief.coefficients())).collect()
        };
        let own: Vec<Vec<f64>> = members.iter().map(of_member).collect();
        let count = rows.len();
        let mut values = vec![0.0; count];
        for (member, own) in members.iter().zip(&own) {
            values.iter_mut().zip(own).for_each(|(sum, own)| *sum += member.standing.weight * own);
        }
        let mut covariance = vec![0.0; count * count];
        for (member, own) in members.iter().zip(&own) {
            let matrix = member.belief.covariance.matrix();
            for (i, row) in rows.iter().enumerate() {
                let product: Vec<f64> = matrix.chunks_exact(size).map(|p| dot(p, row)).collect();
                for j in 0..=i {
                    let within = dot(&product, &rows[j]);
                    let between = (own[i] - values[i]) * (own[j] - values[j]);
                    covariance[i * count + j] += member.standing.weight * (within + between);
                }
            }
        }
        for i in 0..count {
            for j in 0..i {
                covariance[j * count + i] = covariance[i * count + j];
            }
        }
        OrdinalEstimate { values, covariance, slopes }
    }
}
