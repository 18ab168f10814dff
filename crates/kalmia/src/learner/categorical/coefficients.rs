//! Coefficients of a class against a reference class, and their covariance.

use super::Categorical;
use super::member::Member;
use crate::covariance::Covariance;
use crate::error::{Result, require};
use crate::learner::sample::{add_normal, place_of_share};
use rand::{Rng, RngExt};

/// Coefficients of one class, or of several, against another: by how much a unit of each feature
/// raises the logarithm of the odds between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// $E[\theta_k - \theta_r]$, one per feature, class after class.
    pub coefficients: Vec<f64>,
    /// Their covariance, dense and symmetric, the square of as many numbers.
    pub covariance: Vec<f64>,
}

impl Contrast {
    /// Standard errors of the coefficients.
    pub fn standard_errors(&self) -> Vec<f64> {
        let dim = self.coefficients.len();
        (0..dim).map(|j| self.covariance[j * dim + j].sqrt()).collect()
    }
}

impl Categorical {
    /// The coefficients of `class` against those of `reference`, within the members and between
    /// them. Rows determine such differences only, not the coefficients of one class alone. After
    /// [`with_polished`](Self::with_polished) the covariance is that of the joint information of
    /// all classes, until the next row.
    ///
    /// ```
    /// use kalmia::{Categorical, Rows};
    ///
    /// let mut learner = Categorical::builder(3, 2).intercept().build()?;
    /// let x = [1.0, -2.1, 1.0, 0.1, 1.0, 1.9, 1.0, -1.8, 1.0, -0.1, 1.0, 2.2];
    /// learner.learn(Rows::new(2, &x, &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0])?)?;
    /// let contrast = learner.contrast(2, 0)?;
    /// assert!(contrast.coefficients[1] > 0.0 && contrast.standard_errors()[1] > 0.0);
    /// # Ok::<(), kalmia::Error>(())
    /// ```
    pub fn contrast(&self, class: usize, reference: usize) -> Result<Contrast> {
        self.contrasts(&[class], reference)
    }

    /// As [`contrast`](Self::contrast), for several classes against one: their coefficients one
    /// class after the other, with the covariance of all of them.
    pub fn contrasts(&self, classes: &[usize], reference: usize) -> Result<Contrast> {
        for &index in classes.iter().chain([&reference]) {
            require(index < self.classes, "class", index as f64, "must be below classes()")?;
        }
        let dim = self.dim;
        let size = dim * classes.len();
        let members = &self.mixture.members;
        let difference = |member: &Member, at: usize| {
            let theta = |class: usize| member.blocks[class].theta[at % dim];
            theta(classes[at / dim]) - theta(reference)
        };
        let mean = |at: usize| members.iter().map(|m| m.standing.weight * difference(m, at)).sum();
        let coefficients: Vec<f64> = (0..size).map(mean).collect();
        if let Some(joint) = &self.joint {
            let covariance = joint.of_differences(classes, reference);
            return Ok(Contrast { coefficients, covariance });
        }
        let mut covariance = vec![0.0; size * size];
        for member in members {
            let of_class = |class: usize| member.blocks[class].covariance.matrix();
            let shared = of_class(reference);
            let own: Vec<Vec<f64>> = classes.iter().map(|&class| of_class(class)).collect();
            let away: Vec<f64> =
                (0..size).map(|at| difference(member, at) - coefficients[at]).collect();
            for (at, entry) in covariance.iter_mut().enumerate() {
                let (row, column) = (at / size, at % size);
                let (k, l) = (classes[row / dim], classes[column / dim]);
                // a class against itself differs by nothing
                if k == reference || l == reference {
                    continue;
                }
                let place = row % dim * dim + column % dim;
                let within = if k == l { own[row / dim][place] } else { 0.0 } + shared[place];
                *entry += member.standing.weight * (within + away[row] * away[column]);
            }
        }
        Ok(Contrast { coefficients, covariance })
    }

    /// Draws the coefficients of all classes, `draws` times: class after class, `dim` numbers each.
    /// A draw chooses a member by its weight, then the coefficients from its normal laws. Only
    /// differences between classes have a meaning.
    pub fn sample_coefficients(&self, draws: usize, rng: &mut dyn Rng) -> Result<Vec<Vec<f64>>> {
        if let Some(joint) = &self.joint {
            let root = joint.root(self.classes)?;
            return Ok((0..draws).map(|_| self.joint_draw(&root, rng)).collect());
        }
        let members = &self.mixture.members;
        let weights: Vec<f64> = members.iter().map(|member| member.standing.weight).collect();
        let chosen: Vec<usize> =
            (0..draws).map(|_| place_of_share(&weights, rng.random())).collect();
        let mut found = vec![Vec::new(); draws];
        for (k, member) in members.iter().enumerate().filter(|(k, _)| chosen.contains(k)) {
            let roots = member.blocks.iter().map(|block| block.covariance.square_root());
            let roots = roots.collect::<Result<Vec<_>>>()?;
            let own = found.iter_mut().zip(&chosen).filter(|(_, chosen)| **chosen == k);
            for (draw, _) in own {
                for (block, root) in member.blocks.iter().zip(&roots) {
                    let mut coefficients = block.coefficients().to_vec();
                    add_normal(&mut coefficients, root, 1.0, rng);
                    draw.append(&mut coefficients);
                }
            }
        }
        Ok(found)
    }

    /// One draw from the joint belief, with the coefficients of class 0 at their mean.
    fn joint_draw(&self, root: &[f64], rng: &mut dyn Rng) -> Vec<f64> {
        let blocks = self.best().blocks.iter();
        let mut draw: Vec<f64> = blocks.flat_map(|block| block.coefficients()).copied().collect();
        add_normal(&mut draw[self.dim..], root, 1.0, rng);
        draw
    }
}
