//! A second look at the first rows, once more of them are known.
//!
//! A row is learned by a normal approximation of what it says, taken at the belief of that time.
//! Early beliefs are vague, so the approximations of early rows are poor, and they stay in the
//! belief for good. The first rows are therefore remembered. At 2, 4, 8, ... rows each member
//! learns all of them again from its prior and then visits each row twice more: what the row said
//! is taken out of the belief, and put back as approximated at what all other rows say. These are
//! sweeps of expectation propagation.
//!
//! What a row said of class $k$ is a normal factor in $u_k = \theta_k^\top x$ of precision $\alpha$
//! and shift $\nu$. The step of gain $g$ and curvature $\alpha$ from $N(m, s)$ leaves
//! $\nu = g + \alpha(m + gs)$. Without it the belief is
//!
//! $$s_- = \frac{s}{1-\alpha s}, \qquad m_- = \frac{m-s\nu}{1-\alpha s}.$$
//!
//! The softmax step at $N(m_-, s_-)$ gives the new $\alpha'$ and $\nu'$, and the belief moves by
//! the difference: a step of curvature $\delta = \alpha'-\alpha$, which may be negative, and gain
//! $(\nu'-\nu-\delta m)/(1+\delta s)$.
//!
//! Predictions are made before a row is learned, as ever; only later ones are better. With two
//! classes nothing is done: the learner is then [`Auto`](crate::Auto) with labels.

use super::Categorical;
use super::member::{Member, check_finite};
use crate::covariance::{FactoredBelief, Kernel, TogetherScratch, learn_together};
use crate::error::{Result, require};
use crate::learner::auto::DriftMode;
use crate::learner::standing::REVIEW_ROWS;
use crate::rows::Rows;
use crate::rule::{LinearRow, Step, softmax_steps};

/// Rows that are remembered at most. With more, the first ones hardly matter.
const MAX_REMEMBERED_ROWS: usize = 4096;
/// Numbers of the remembered rows at most, which take 2 MB.
const MAX_REMEMBERED_NUMBERS: usize = 1 << 18;

/// Visits of each row. The second one lowers the held-out loss of digits by 0.5 %, that of image
/// segments by 2.5 %, a third one by 0.2 % and 1 %.
const SWEEPS: usize = 2;
/// Least share of the precision along a row that is left without the row.
const MIN_LEFT: f64 = 1e-3;
/// Least factor by which the precision along a row changes when its site does.
const MIN_CHANGE: f64 = 0.1;

/// What a row said of the linear predictor of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Site {
    /// $\alpha$.
    precision: f64,
    /// $\nu$, the precision times the value that the row points to.
    shift: f64,
}

impl Site {
    /// What the decided step of a row says.
    fn of(row: &LinearRow) -> Self {
        let Step { gain, curvature, .. } = row.step;
        Self { precision: curvature, shift: gain + curvature * (row.m + gain * row.s) }
    }

    /// The belief about the linear predictor without the site.
    fn taken_out(&self, row: &LinearRow) -> LinearRow {
        let left = (1.0 - self.precision * row.s).max(MIN_LEFT);
        LinearRow::new((row.m - row.s * self.shift) / left, row.s / left)
    }

    /// Becomes `next`, or moves towards it as far as is safe; the step by which the belief follows.
    fn replace(&mut self, next: Self, row: &LinearRow) -> Step {
        let mut precision = next.precision - self.precision;
        let mut shift = next.shift - self.shift;
        let change = 1.0 + precision * row.s;
        if change < MIN_CHANGE {
            let share = (1.0 - MIN_CHANGE) / (1.0 - change);
            precision *= share;
            shift *= share;
        }
        self.precision += precision;
        self.shift += shift;
        let gain = (shift - precision * row.m) / (1.0 + precision * row.s);
        Step::new(gain, precision, row.s)
    }
}

impl Categorical {
    /// Whether rows are looked at again, so that the first ones are remembered.
    pub(super) fn looks_again(&self) -> bool {
        self.classes > 2 && self.drift != DriftMode::Adapt
    }

    /// Remembers rows, or forgets all if there are too many.
    pub(super) fn remember(&mut self, rows: Rows<'_>) {
        let Some(remembered) = &mut self.remembered else { return };
        for i in (0..rows.len()).filter(|&i| rows.observation(i).weight != 0.0) {
            remembered.push(rows, i);
        }
        let count = remembered.len();
        if count * self.dim > MAX_REMEMBERED_NUMBERS {
            self.remembered = None;
        }
    }

    /// Rows learned, without those of weight 0 while rows are remembered: these say nothing, so
    /// reviews must not depend on them.
    pub(super) fn informative_rows(&self) -> u64 {
        self.remembered.as_ref().map_or(self.count, |rows| rows.len() as u64)
    }

    /// Where to cut rows that follow each other from `first` to `end`, so that a review takes place
    /// after as many informative rows as a multiple of [`REVIEW_ROWS`].
    pub(super) fn next_review(&self, rows: Rows<'_>, first: usize, end: usize) -> usize {
        let Some(remembered) = &self.remembered else { return end };
        let missing = REVIEW_ROWS as usize - remembered.len() % REVIEW_ROWS as usize;
        let mut informative = (first..end).filter(|&i| rows.observation(i).weight != 0.0);
        informative.nth(missing - 1).map_or(end, |last| last + 1)
    }

    /// Looks at the remembered rows again, and forgets them if it was the last time.
    pub(super) fn revisit(&mut self) {
        let Some(remembered) = self.remembered.take() else { return };
        if let Ok(rows) = remembered.rows(self.dim) {
            self.look_again(rows);
        }
        // from there on no second look follows
        if remembered.len() < MAX_REMEMBERED_ROWS {
            self.remembered = Some(remembered);
        }
    }

    /// The second look of each member. A member for which it fails keeps its belief.
    pub(super) fn look_again(&mut self, rows: Rows<'_>) {
        let mut scratch = TogetherScratch::default();
        let mut spare = Vec::new();
        for i in 0..self.mixture.members.len() {
            let Member { prior_size, basis, .. } = self.mixture.members[i];
            let Ok(mut blocks) = self.prior_blocks(prior_size, basis, spare) else { return };
            if let Ok(evidence) = second_look(&mut blocks, rows, &mut scratch) {
                let member = &mut self.mixture.members[i];
                std::mem::swap(&mut blocks, &mut member.blocks);
                member.prior_evidence = Some(evidence);
            }
            spare = blocks;
        }
    }
}

/// Learns the rows from the prior beliefs in `blocks`, then visits each again. Returns the
/// log-likelihood of the rows, each predicted by those before it: the evidence for the prior.
fn second_look(
    blocks: &mut [FactoredBelief],
    rows: Rows<'_>,
    scratch: &mut TogetherScratch,
) -> Result<f64> {
    let classes = blocks.len();
    let mut evidence = 0.0;
    let mut sites = vec![Site::default(); rows.len() * classes];
    let mut linear = vec![LinearRow::new(0.0, 0.0); classes];
    let mut probabilities = vec![0.0; classes];
    let mut decide = |i: usize, linear: &mut [LinearRow]| {
        let row = rows.observation(i);
        evidence += softmax_steps(row.y as usize, row.weight, 1.0, linear, &mut probabilities);
        let sites = &mut sites[i * classes..][..classes];
        sites.iter_mut().zip(&*linear).for_each(|(site, row)| *site = Site::of(row));
        check_finite(i, linear)
    };
    learn_together(blocks, &mut linear, rows.features(), 0, scratch, &mut decide)?;

    let mut others = linear.clone();
    let mut visit = |i: usize, linear: &mut [LinearRow]| {
        let row = rows.observation(i);
        let sites = &mut sites[i * classes..][..classes];
        for ((other, row), site) in others.iter_mut().zip(&*linear).zip(&*sites) {
            *other = site.taken_out(row);
        }
        softmax_steps(row.y as usize, row.weight, 1.0, &mut others, &mut probabilities);
        for ((other, row), site) in others.iter().zip(&mut *linear).zip(sites) {
            row.step = site.replace(Site::of(other), row);
        }
        check_finite(i, linear)
    };
    for _ in 0..SWEEPS {
        learn_together(blocks, &mut linear, rows.features(), 0, scratch, &mut visit)?;
    }
    require(evidence.is_finite(), "evidence", evidence, "must be finite")?;
    blocks.iter().try_for_each(check_belief)?;
    Ok(evidence)
}

/// Refuses a belief that is not finite.
fn check_belief(block: &FactoredBelief) -> Result<()> {
    let covariance = block.covariance.parts();
    match block.coefficients().iter().chain(&covariance).find(|value| !value.is_finite()) {
        Some(&value) => require(false, "belief", value, "must be finite"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + b.abs())
    }

    /// The belief about a linear predictor after a step along it.
    fn after(row: &LinearRow) -> LinearRow {
        let Step { gain, contraction, .. } = row.step;
        LinearRow::new(row.m + gain * row.s, row.s - contraction * row.s * row.s)
    }

    #[test]
    fn a_site_taken_out_leaves_the_belief_before_its_step() {
        let mut before = LinearRow::new(0.7, 2.5);
        before.step = Step::new(-0.3, 0.8, before.s);
        let site = Site::of(&before);
        let out = site.taken_out(&after(&before));
        assert!(close(out.m, before.m) && close(out.s, before.s), "{out:?}");
    }

    #[test]
    fn replacing_a_site_leads_where_the_other_one_would_have_led() {
        let mut first = LinearRow::new(0.7, 2.5);
        first.step = Step::new(-0.3, 0.8, first.s);
        let mut second = LinearRow::new(0.7, 2.5);
        // less curvature: the belief becomes wider
        second.step = Step::new(0.4, 0.2, second.s);
        let mut site = Site::of(&first);
        let mut row = after(&first);
        row.step = site.replace(Site::of(&second), &row);
        assert!(row.step.curvature < 0.0);
        let found = after(&row);
        let expected = after(&second);
        assert!(close(found.m, expected.m) && close(found.s, expected.s), "{found:?}");
        assert!(close(site.precision, 0.2));
        let mut same = site;
        let step = same.replace(site, &found);
        assert_eq!((step.gain, step.curvature), (0.0, 0.0));
    }

    #[test]
    fn a_site_that_nearly_all_precision_comes_from_moves_part_of_the_way() {
        let mut prior = LinearRow::new(0.0, 1e8);
        prior.step = Step::new(1e-8, 5.0, prior.s);
        let mut site = Site::of(&prior);
        let row = after(&prior);
        let step = site.replace(Site::default(), &row);
        assert!(close(1.0 + step.curvature * row.s, MIN_CHANGE), "{step:?}");
        assert!(site.precision > 0.0);
        // without it the belief would have no precision left; some is kept
        let out = Site { precision: 10.0, shift: 1.0 }.taken_out(&row);
        assert!(out.s > 0.0 && out.s.is_finite() && out.m.is_finite());
    }

    /// Three clusters on a line, of which two overlap a little.
    fn clusters(seed: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
        const CENTERS: [[f64; 2]; 3] = [[-4.0, -3.0], [0.0, 0.0], [2.0, 1.5]];
        let mut x = Vec::new();
        let mut y = Vec::new();
        for i in 0..count {
            let class = i % CENTERS.len();
            let noise = |factor: f64| 1.5 * (factor * (seed + i as f64).powi(2)).sin();
            let [a, b] = CENTERS[class];
            x.extend([1.0, a + noise(0.737), b + noise(1.319)]);
            y.push(class as f64);
        }
        (x, y)
    }

    fn held_out(learner: &Categorical, x: &[f64], y: &[f64]) -> f64 {
        let loss = |(x, y): (&[f64], &f64)| -learner.predict(x).unwrap()[*y as usize].ln();
        x.chunks_exact(3).zip(y).map(loss).sum::<f64>() / y.len() as f64
    }

    #[test]
    fn looks_during_the_warm_up_lower_held_out_losses() {
        let mut with = 0.0;
        let mut without = 0.0;
        for seed in 0..8 {
            let (x, y) = clusters(1000.0 * f64::from(seed), 564);
            let rows = Rows::new(3, &x, &y).unwrap();
            let mut learner = Categorical::builder(3, 3).intercept().build().unwrap();
            learner.learn(rows.slice(0..64)).unwrap();
            let mut plain = learner.clone();
            plain.rebuild().unwrap();
            plain.chunk(rows.slice(0..64), 0, None).unwrap();
            with += held_out(&learner, &x[3 * 64..], &y[64..]);
            without += held_out(&plain, &x[3 * 64..], &y[64..]);
        }
        println!("held-out loss {:.4}, without looks {:.4}", with / 8.0, without / 8.0);
        assert!(with < 0.99 * without, "{with} {without}");
    }
}
