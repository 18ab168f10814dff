//! What encoders have seen, united: targets, counts, means and remarks.

use std::collections::HashMap;
use std::iter::once;

use super::super::agree::{Checked, united_classes, united_coding};
use super::super::{Counts, Encoder};
use crate::looks::Remark;
use crate::schema::{Column, RunningMean};
use crate::target::{Coding, Target};

/// The target with what the first blocks of all parts showed.
pub(super) fn united_target(parts: &[&Encoder]) -> Checked<Option<Target>> {
    let mut targets = parts.iter().filter_map(|part| part.target.as_ref());
    let Some(first) = targets.next() else { return Ok(None) };
    let mut united = first.clone();
    for target in targets.clone() {
        united.coding = match (&united.coding, &target.coding) {
            (Some(own), Some(other)) => Some(united_coding(&target.name, own, other)?),
            (known, None) | (None, known) => known.clone(),
        };
        united.add_first_values(target);
    }
    if united.classes().is_some() && !united.is_ordered() {
        // all at once, so that their order does not depend on that of the parts
        let lists: Vec<_> = once(first).chain(targets).filter_map(Target::classes).collect();
        united.coding = Some(Coding::Classes { names: united_classes(&lists)? });
    }
    Ok(Some(united))
}

/// What all parts counted, with the counts of the template once.
pub(super) fn united_counts(template: Option<&Encoder>, parts: &[&Encoder]) -> Counts {
    let before = template.map(|template| template.counts).unwrap_or_default();
    let new = parts.iter().filter_map(|part| part.counts.since(before));
    new.fold(before, Counts::plus)
}

/// The mean of all values, those of `before` counted once.
pub(super) fn united_mean(
    before: RunningMean,
    parts: impl Iterator<Item = RunningMean>,
) -> RunningMean {
    let mut grown: Vec<RunningMean> = parts.filter(|part| part.count > before.count).collect();
    let [_, _, ..] = &grown[..] else {
        // No rounding if there is nothing to combine.
        return grown.pop().unwrap_or(before);
    };
    let new = grown.iter().map(|part| part.count - before.count);
    let count = new.fold(before.count, u64::saturating_add);
    // Divided first, because sums could overflow; sorted, because sums depend on the order.
    let share = |part: &RunningMean| part.count as f64 / count as f64;
    let moved = |part: &RunningMean| share(part) * part.mean - share(part) * before.mean;
    let mut moves: Vec<f64> = grown.iter().map(moved).collect();
    moves.sort_unstable_by(f64::total_cmp);
    RunningMean { mean: before.mean + moves.iter().sum::<f64>(), count }
}

/// One remark per column, in their order: that with the smallest example.
pub(super) fn united_remarks(parts: &[&Encoder], columns: &[Column]) -> Vec<Remark> {
    let mut smallest: HashMap<&str, &Remark> = HashMap::new();
    for remark in parts.iter().flat_map(|part| &part.remarks) {
        let known = smallest.entry(&remark.column).or_insert(remark);
        if remark.example < known.example {
            *known = remark;
        }
    }
    columns.iter().filter_map(|column| smallest.remove(&*column.name).cloned()).collect()
}
