//! Sparse rows give what the same rows give in dense form, for every learner.

use crate::common::{Data, centered, gap, rng, uniform};
use crate::core_tail::rules;
use kalmia::covariance::Covariance;
use kalmia::learner::Averaged;
use kalmia::predict::Predictive;
use kalmia::rule::AnyRule;
use kalmia::{
    AnyFamily, AnyLearner, Auto, AveragedSgd, CoreTail, Dense, Factored, Filter, Inputs, Learner,
    OnlineNewtonSettings, OnlineNewtonStep, Predict, Prior, RowView, SparseInputs, SparseMatrix,
    SparseRows, Wide,
};

/// Sparse rows that own their numbers.
pub struct Sparse {
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl Sparse {
    /// The numbers of dense rows that are not 0, and every fifth that is.
    fn of(data: &Data) -> Self {
        let mut sparse = Self { starts: vec![0], indices: Vec::new(), values: Vec::new() };
        for (i, row) in data.x.chunks(data.dim).enumerate() {
            for (j, &x) in row.iter().enumerate() {
                if x != 0.0 || (i + j) % 5 == 0 {
                    sparse.indices.push(j as u32);
                    sparse.values.push(x);
                }
            }
            sparse.starts.push(sparse.indices.len());
        }
        sparse
    }

    fn matrix(&self) -> SparseMatrix<'_> {
        SparseMatrix::new(&self.starts, &self.indices, &self.values).unwrap()
    }

    /// The starts of some rows, from 0, and where their entries begin.
    fn range(&self, from: usize, to: usize) -> (Vec<usize>, std::ops::Range<usize>) {
        let first = self.starts[from];
        let starts = self.starts[from..=to].iter().map(|start| start - first).collect();
        (starts, first..self.starts[to])
    }
}

fn thinned(family: &AnyFamily, dim: usize, rows: usize) -> Data {
    let mut rng = rng((dim * rows) as u64);
    let mut data = Data::draw(&mut rng, family, dim, rows);
    for row in data.x.chunks_mut(dim) {
        for (j, x) in row.iter_mut().enumerate() {
            if uniform(&mut rng) > 2.0 / (1.0 + j as f64) {
                *x = 0.0;
            }
        }
    }
    data
}

/// What an observer saw of a row, without its features.
fn view(row: &RowView<'_>) -> Vec<f64> {
    let observation = row.observation;
    vec![
        row.index as f64,
        observation.y,
        observation.weight,
        observation.offset,
        row.linear,
        row.variance,
        row.dispersion,
        row.mean,
        row.loss,
        row.gradient,
        row.step.gain,
        row.step.curvature,
        row.step.contraction,
    ]
}

/// The features that coefficients belong to, if the learner chooses their order.
type Order<'a, L> = Option<&'a dyn Fn(&L) -> Vec<u32>>;

/// Dense rows against sparse rows, both in calls of 1, 7 and all rows.
fn check<L: Predict + Clone>(label: &str, learner: L, data: &Data, order: Order<'_, L>) {
    let sparse = Sparse::of(data);
    let n = data.y.len();
    for cut in [1, 7, n] {
        let label = format!("{label}, {cut} rows");
        let mut dense = learner.clone();
        let mut other = learner.clone();
        for from in (0..n).step_by(cut) {
            let to = (from + cut).min(n);
            let mut seen = Vec::new();
            let mut also = Vec::new();
            dense
                .learn_observed(
                    data.rows().slice(from..to),
                    Some(&mut |row: &RowView<'_>| seen.push(view(row))),
                )
                .unwrap();
            let (starts, entries) = sparse.range(from, to);
            let x = SparseMatrix::new(
                &starts,
                &sparse.indices[entries.clone()],
                &sparse.values[entries],
            )
            .unwrap();
            let rows = SparseRows::new(x, &data.y[from..to]).unwrap();
            let rows = rows.with_weights(&data.weight[from..to]).unwrap();
            let rows = rows.with_offsets(&data.offset[from..to]).unwrap();
            other
                .learn_sparse_observed(rows, Some(&mut |row: &RowView<'_>| also.push(view(row))))
                .unwrap();
            assert_eq!(seen.len(), also.len(), "{label}");
            for (a, b) in seen.iter().zip(&also) {
                assert!(gap(a, b, 1.0) < 1e-9, "{label}: {a:?} {b:?}");
            }
        }
        assert_eq!(dense.count(), other.count());
        if let Some(order) = order {
            assert_eq!(order(&dense), order(&other), "{label}");
        }
        assert!(gap(&dense.coefficients(), &other.coefficients(), 1e-3) < 1e-9, "{label}");
        predictions(&label, &dense, &other, data, &sparse);
    }
}

fn predictions<L: Predict>(label: &str, dense: &L, other: &L, data: &Data, sparse: &Sparse) {
    let unseen: Vec<u32> = (0..data.y.len() as u32).map(|i| u32::from(i % 4 == 0)).collect();
    let inputs = Inputs::new(data.dim, &data.x).unwrap();
    let inputs = inputs.with_offsets(&data.offset).unwrap().with_unseen(&unseen).unwrap();
    let mut means = Vec::new();
    let mut also = Vec::new();
    dense
        .predict_many(inputs, &mut |_, prediction| {
            means.push(prediction.mean());
            Ok(())
        })
        .unwrap();
    let inputs = SparseInputs::new(sparse.matrix());
    let inputs = inputs.with_offsets(&data.offset).unwrap().with_unseen(&unseen).unwrap();
    other
        .predict_sparse(inputs, &mut |i, prediction| {
            assert_eq!(i, also.len());
            also.push(prediction.mean());
            Ok(())
        })
        .unwrap();
    assert!(gap(&also, &means, 1e-3) < 1e-9, "{label}: predictions");
}

#[test]
fn every_filter_takes_sparse_rows() {
    fn each<C: Covariance>(family: AnyFamily, rule: AnyRule, data: &Data) {
        let prior = Prior::isotropic(data.dim, 0.3).unwrap();
        let filter: Filter<_, _, C> = Filter::with_covariance(family, rule, prior).unwrap();
        check(&format!("{} {family:?} {rule:?}", C::NAME), filter, data, None);
    }
    for family in crate::common::families() {
        let data = thinned(&family, 14, 60);
        for rule in rules() {
            each::<Dense>(family, rule, &data);
            each::<Factored>(family, rule, &data);
            each::<CoreTail<0>>(family, rule, &data);
            each::<CoreTail<8>>(family, rule, &data);
            each::<CoreTail<64>>(family, rule, &data);
        }
    }
}

#[test]
fn every_other_learner_takes_sparse_rows() {
    for family in crate::common::families() {
        let data = thinned(&family, 6, 150);
        let label = |name: &str| format!("{name} {family:?}");
        check(&label("auto"), Auto::new(family, 6).unwrap(), &data, None);
        let wide = Wide::builder(family).numbers(2).build().unwrap();
        check(&label("wide"), wide.clone(), &data, Some(&|wide| wide.features()));
        check(&label("any wide"), AnyLearner::Wide(Box::new(wide)), &data, None);
        let settings = OnlineNewtonSettings::new(1.0, 0.5).unwrap().with_gamma(0.05).unwrap();
        let newton: OnlineNewtonStep<_> = OnlineNewtonStep::new(family, 6, settings).unwrap();
        check(&label("ons"), newton, &data, None);
        let sgd = AveragedSgd::new(family, 6, 150, 0.01).unwrap();
        check(&label("asgd"), sgd, &data, None);
        let prior = Prior::isotropic(6, 0.3).unwrap();
        let filter = Filter::new(family, AnyRule::Implicit, prior).unwrap();
        check(&label("averaged"), Averaged::new(filter.clone()), &data, None);
        check(&label("any"), AnyLearner::averaged(AnyLearner::Filter(filter)), &data, None);
    }
}

/// Cuts give the same answer, too: each learner against itself in another cut.
#[test]
fn how_sparse_rows_are_cut_into_calls_does_not_matter() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let data = thinned(&family, 30, 200);
    let sparse = Sparse::of(&data);
    let prior = Prior::isotropic(30, 0.3).unwrap();
    let start: Filter<_, _, CoreTail<8>> =
        Filter::with_covariance(family, AnyRule::MomentMatch, prior).unwrap();
    let states: Vec<_> = [1, 7, 200]
        .into_iter()
        .map(|cut| {
            let mut filter = start.clone();
            for from in (0..200).step_by(cut) {
                let to = (from + cut).min(200);
                let (starts, entries) = sparse.range(from, to);
                let x = SparseMatrix::new(
                    &starts,
                    &sparse.indices[entries.clone()],
                    &sparse.values[entries],
                )
                .unwrap();
                filter.learn_sparse(SparseRows::new(x, &data.y[from..to]).unwrap()).unwrap();
            }
            filter.state()
        })
        .collect();
    assert!(states[0] == states[1] && states[0] == states[2]);
}

#[test]
fn the_mean_of_iterates_refuses_a_learner_that_takes_new_features_by_itself() {
    let family: AnyFamily = "bernoulli".parse().unwrap();
    let mut wide = Wide::new(family).unwrap();
    let x = SparseMatrix::new(&[0, 2], &[7, 9], &[1.0, 1.0]).unwrap();
    wide.learn_sparse(SparseRows::new(x, &[1.0]).unwrap()).unwrap();
    let mut averaged = Averaged::new(wide);
    let row = [centered(&mut rng(1)), 1.0];
    for _ in 0..3 {
        // columns 0 and 1 are features that no row had
        let x = SparseMatrix::new(&[0, 2], &[0, 1], &row).unwrap();
        assert!(averaged.learn_sparse(SparseRows::new(x, &[1.0]).unwrap()).is_err());
        assert_eq!((averaged.dim(), averaged.count()), (2, 1));
    }
}
