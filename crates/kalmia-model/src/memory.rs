//! Whether the machine has the memory that a learner is about to take.

use crate::error::{Error, Result};
use kalmia::learner::AnyCategorical;
use kalmia::{AnyLearner, Family, Learner, Wide, WideCategorical};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// A learner below this size is built without a look at the machine.
const MIN_BYTES: usize = 256 << 20;
/// A learner may take this share of the free memory: reading, saving and the rest of the program
/// need theirs.
const MAX_SHARE: f64 = 0.5;

/// How large a learner is, and would be.
pub trait Footprint {
    /// Number of features.
    fn dim(&self) -> usize;
    /// Rows learned so far.
    fn count(&self) -> u64;
    /// The method in words for messages.
    fn title(&self) -> String;
    /// Bytes that its matrices take with `dim` features, at most.
    fn memory(&self, dim: usize) -> usize;
    /// Refuses if the allocator has no room for a copy.
    fn require_copy(&self) -> kalmia::Result<()>;
}

impl<F: Family> Footprint for AnyLearner<F> {
    fn dim(&self) -> usize {
        Learner::dim(self)
    }

    fn count(&self) -> u64 {
        Learner::count(self)
    }

    fn title(&self) -> String {
        AnyLearner::title(self)
    }

    fn memory(&self, dim: usize) -> usize {
        AnyLearner::memory(self, dim)
    }

    fn require_copy(&self) -> kalmia::Result<()> {
        AnyLearner::require_copy(self)
    }
}

impl Footprint for AnyCategorical {
    fn dim(&self) -> usize {
        AnyCategorical::dim(self)
    }

    fn count(&self) -> u64 {
        AnyCategorical::count(self)
    }

    fn title(&self) -> String {
        let kind = if self.ordinal().is_some() { "ordered levels" } else { "classes" };
        format!("{} with {} {kind}", self.method(), self.classes())
    }

    fn memory(&self, dim: usize) -> usize {
        AnyCategorical::memory(self, dim)
    }

    fn require_copy(&self) -> kalmia::Result<()> {
        AnyCategorical::require_copy(self)
    }
}

/// Bytes that the machine, or the container that the program runs in, has free; `None` if the
/// system does not say.
fn available() -> Option<usize> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let free = system.available_memory();
    let free = system.cgroup_limits().map_or(free, |limits| free.min(limits.free_memory));
    (free > 0).then(|| usize::try_from(free).unwrap_or(usize::MAX))
}

/// Limits the features of a wide learner to those that fit into half of the memory that is free.
pub(crate) fn with_feature_limit<F: Family>(learner: Wide<F>) -> Wide<F> {
    let limit = feature_limit(learner.memory(1 << 20), learner.dim()).min(learner.limit());
    learner.with_limit(limit)
}

/// The same for several classes, which each know every feature.
pub(crate) fn limit_class_features(learner: &mut WideCategorical) {
    let limit = feature_limit(learner.memory(1 << 20), learner.dim()).min(learner.limit());
    learner.set_limit(limit);
}

/// Features that fit, for a learner of `dim` that takes `bytes` with $2^{20}$ of them.
fn feature_limit(bytes: usize, dim: usize) -> usize {
    let Some(free) = available() else { return usize::MAX };
    // a growing table needs room for the old one and the new one
    let each = bytes.div_ceil(1 << 20).max(1);
    let more = (MAX_SHARE * free as f64) as usize / (2 * each);
    dim.saturating_add(more)
}

/// Refuses to let `learner` have `dim` coefficients if its matrices would then take more than half
/// of the memory that is free. Call it before a learner grows; [`Method::build`] does so for a new
/// one.
///
/// [`Method::build`]: crate::Method::build
pub fn check_memory(learner: &impl Footprint, dim: usize) -> Result<()> {
    let held = if learner.count() == 0 { 0 } else { learner.memory(learner.dim()) };
    Need::of(learner, dim, 1).check(held)
}

/// The same for a learner of `known` classes that is about to have `classes` of them.
pub(crate) fn check_class_memory(
    learner: &impl Footprint,
    known: usize,
    classes: usize,
) -> Result<()> {
    if classes <= known {
        return Ok(());
    }
    let held = learner.memory(learner.dim());
    Need { bytes: with_classes(held, known, classes), ..Need::of(learner, learner.dim(), 1) }
        .check(held)
}

/// Bytes of `classes` classes, if `known` of them take `bytes`.
fn with_classes(bytes: usize, known: usize, classes: usize) -> usize {
    (bytes / known.max(1)).saturating_mul(classes)
}

/// The same for so many learners like this untrained one.
pub(crate) fn check_several(learner: &impl Footprint, dim: usize, learners: usize) -> Result<()> {
    Need::of(learner, dim, learners).check(0)
}

/// Refuses to copy a learner for which there is no room beside itself. Call it before a copy that
/// a failed call returns to.
pub fn check_copy_memory(learner: &impl Footprint) -> Result<()> {
    learner.require_copy()?;
    Need::of(learner, learner.dim(), 1).check(0)
}

/// Learners that would be there.
struct Need {
    method: String,
    dim: usize,
    learners: usize,
    bytes: usize,
}

impl Need {
    fn of(learner: &impl Footprint, dim: usize, learners: usize) -> Self {
        let bytes = learner.memory(dim).saturating_mul(learners);
        Self { method: learner.title(), dim, learners, bytes }
    }

    /// Refuses what does not fit beside the bytes that are held already.
    fn check(&self, held: usize) -> Result<()> {
        if self.bytes.saturating_sub(held) < MIN_BYTES {
            return Ok(());
        }
        self.within(held, available())
    }

    /// The decision, for memory of a given size.
    fn within(&self, held: usize, available: Option<usize>) -> Result<()> {
        let Self { ref method, dim, learners, bytes } = *self;
        let method = method.clone();
        match available {
            Some(available) if (bytes - held) as f64 > MAX_SHARE * available as f64 => {
                Err(Error::Memory { method, dim, learners, needed: bytes, available })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;
    use kalmia::{AnyFamily, Categorical};

    fn auto(dim: usize) -> AnyLearner {
        let family: AnyFamily = "gaussian".parse().unwrap();
        Method::default().build(family, dim, true).unwrap()
    }

    #[test]
    fn classes_count_their_matrices() {
        let learner = Categorical::builder(30, 1).intercept().build().unwrap();
        let learner = AnyCategorical::from(learner);
        // 6 members and 30 classes, of which a small learner has padded matrices
        let expected = 6 * 30 * 8 * 1000 * 1000;
        assert_eq!(Footprint::memory(&learner, 1000), expected);
        assert!(check_memory(&learner, 130).is_ok());
    }

    /// A learner of two classes that no machine has the memory to repeat.
    struct Huge;

    impl Footprint for Huge {
        fn dim(&self) -> usize {
            7
        }

        fn count(&self) -> u64 {
            1
        }

        fn title(&self) -> String {
            "auto with 2 classes".into()
        }

        fn memory(&self, _: usize) -> usize {
            1 << 60
        }

        fn require_copy(&self) -> kalmia::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn classes_that_no_memory_holds_are_refused_before_they_are_added() {
        assert!(check_class_memory(&Huge, 2, 2).is_ok());
        let refused = check_class_memory(&Huge, 2, 3).unwrap_err();
        assert!(matches!(refused, Error::Memory { dim: 7, .. }), "{refused}");
        assert_eq!(with_classes(80, 2, 3), 120);
        assert_eq!(with_classes(80, 0, 3), 240);
    }

    #[test]
    fn features_of_many_classes_are_limited_sooner() {
        let limit = |classes: usize| {
            let mut learner = WideCategorical::builder(classes).build().unwrap();
            limit_class_features(&mut learner);
            learner.limit() as f64
        };
        // 8 members of 3 classes, 2 of 1000: 250 bytes per feature, and 16 kB
        let ratio = limit(3) / limit(1000);
        assert!(ratio > 40.0 && ratio < 100.0, "{ratio}");
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn half_of_the_free_memory_is_the_limit() {
        let need = Need::of(&auto(1), 10_001, 1);
        let needed = need.bytes;
        assert!(needed > 9_600_000_000 && needed < 9_700_000_000, "{needed}");
        assert!(need.within(0, Some(2 * needed)).is_ok());
        assert!(need.within(0, None).is_ok());
        let refused = need.within(0, Some(8_000_000_000)).unwrap_err();
        let text = refused.to_string();
        for part in ["10001 coefficients", "9.6 GB", "8.0 GB", "method auto"] {
            assert!(text.contains(part), "{text}");
        }
        // what it holds already is not taken again
        assert!(need.within(needed / 2, Some(needed + 2)).is_ok());
        // three classes take three times as much
        let three = Need::of(&auto(1), 10_001, 3);
        assert_eq!(three.bytes, 3 * needed);
        let text = three.within(0, Some(2 * needed)).unwrap_err().to_string();
        assert!(text.contains("10001 coefficients and 3 classes needs 28.8 GB"), "{text}");
    }

    #[test]
    fn a_size_that_no_machine_has_is_refused_before_it_is_allocated() {
        let family: AnyFamily = "gaussian".parse().unwrap();
        let refused = Method::default().build(family, 3_000_000, true).unwrap_err();
        assert!(matches!(refused, Error::Memory { dim: 3_000_000, .. }), "{refused}");
        let mut small = auto(2);
        let row = kalmia::Rows::new(2, &[1.0, 2.0], &[1.0]).unwrap();
        small.learn(row).unwrap();
        assert!(matches!(check_memory(&small, 3_000_000), Err(Error::Memory { .. })));
        assert!(check_memory(&small, 3).is_ok() && check_copy_memory(&small).is_ok());
    }
}
