//! Whether the machine has the memory that a learner is about to take.

use crate::error::{Error, Result};
use kalmia::{AnyLearner, Family, Learner};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// A learner below this size is built without a look at the machine.
const MIN_BYTES: usize = 256 << 20;
/// A learner may take this share of the free memory: reading, saving and the rest of the program
/// need theirs.
const MAX_SHARE: f64 = 0.5;

/// Bytes that the machine, or the container that the program runs in, has free; `None` if the
/// system does not say.
fn available() -> Option<usize> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let free = system.available_memory();
    let free = system.cgroup_limits().map_or(free, |limits| free.min(limits.free_memory));
    (free > 0).then(|| usize::try_from(free).unwrap_or(usize::MAX))
}

/// Refuses to let `learner` have `dim` coefficients if its matrices would then take more than half
/// of the memory that is free. Call it before a learner grows; [`Method::build`] does so for a new
/// one.
///
/// [`Method::build`]: crate::Method::build
pub fn check_memory<F: Family>(learner: &AnyLearner<F>, dim: usize) -> Result<()> {
    let held = if learner.count() == 0 { 0 } else { learner.memory(learner.dim()) };
    let needed = learner.memory(dim);
    if needed.saturating_sub(held) < MIN_BYTES {
        return Ok(());
    }
    within(needed, held, available(), dim, learner.method())
}

/// Refuses to copy a learner for which there is no room beside itself. Call it before a copy that
/// a failed call returns to.
pub fn check_copy_memory<F: Family>(learner: &AnyLearner<F>) -> Result<()> {
    let dim = learner.dim();
    let needed = learner.memory(dim);
    if needed < MIN_BYTES {
        return Ok(());
    }
    if Vec::<u8>::new().try_reserve_exact(needed).is_err() {
        return Err(kalmia::Error::OutOfMemory { bytes: needed }.into());
    }
    within(needed, 0, available(), dim, learner.method())
}

/// The decision, for memory of a given size.
fn within(
    needed: usize,
    held: usize,
    available: Option<usize>,
    dim: usize,
    method: &'static str,
) -> Result<()> {
    match available {
        Some(available) if (needed - held) as f64 > MAX_SHARE * available as f64 => {
            Err(Error::Memory { method, dim, needed, available })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;
    use kalmia::AnyFamily;

    fn auto(dim: usize) -> AnyLearner {
        let family: AnyFamily = "gaussian".parse().unwrap();
        Method::default().build(family, dim, true).unwrap()
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn half_of_the_free_memory_is_the_limit() {
        let needed = auto(1).memory(10_001);
        assert!(needed > 9_600_000_000 && needed < 9_700_000_000, "{needed}");
        assert!(within(needed, 0, Some(2 * needed), 10_001, "auto").is_ok());
        assert!(within(needed, 0, None, 10_001, "auto").is_ok());
        let refused = within(needed, 0, Some(8_000_000_000), 10_001, "auto").unwrap_err();
        let text = refused.to_string();
        for part in ["10001 coefficients", "9.6 GB", "8.0 GB", "method auto"] {
            assert!(text.contains(part), "{text}");
        }
        // what it holds already is not taken again
        assert!(within(needed, needed / 2, Some(needed + 2), 10_001, "auto").is_ok());
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
        assert!(check_memory(&small, 3).is_ok());
    }
}
