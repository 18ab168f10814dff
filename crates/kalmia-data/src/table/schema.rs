//! The columns that a table has, taken from an encoder once for many tables.

use std::sync::Arc;

use crate::batch::{Slot, Want};
use crate::encoder::Encoder;
use crate::notation::Notation;
use crate::options::{EncoderOptions, Missing, Mode};
use crate::source::jsonl::JsonRows;

/// Which columns the rows of a [`crate::Table`] have, and as what they are read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TableSchema(Arc<Columns>);

#[derive(Debug)]
struct Columns {
    /// The columns of the encoder, then that of the key; [`Slot::required`] as for learning.
    json: JsonRows,
    has_key: bool,
    target: usize,
    weight: Option<usize>,
    /// Whether rows bring libsvm entries.
    sparse: bool,
    missing: Missing,
    options: EncoderOptions,
    notation: Option<Arc<Notation>>,
}

impl TableSchema {
    pub(super) fn new(encoder: &Encoder) -> Self {
        let options = encoder.options().clone();
        let target = encoder.columns().len();
        Self(Arc::new(Columns {
            json: JsonRows::new(encoder.slots(Mode::Learn)),
            has_key: false,
            target,
            weight: options.weight.as_ref().map(|_| target + 1),
            sparse: encoder.sparse,
            missing: encoder.missing(),
            notation: Notation::new(options.na_values.iter(), false).map(Arc::new),
            options,
        }))
    }

    /// The same with one more column, which is no feature: a text that identifies the row, read by
    /// [`crate::Table::key`]. Rows may lack it. If the model has a column of that name, for
    /// whatever use, or the rows are libsvm, the schema stays as it is.
    pub fn with_key(self, name: &str) -> Self {
        if self.0.sparse || self.0.has_key || self.slots().iter().any(|slot| slot.name == name) {
            return self;
        }
        let mut slots = self.slots().to_vec();
        slots.push(Slot::new(name, Want::Key, false));
        let Columns { target, weight, sparse, .. } = *self.0;
        self.with_slots(slots, target, weight, sparse)
    }

    /// The columns of labels that come later: the column `key`, which identifies the row, and the
    /// target under the name `target` or its own. Both are required. If the model's target has the
    /// name of the key, it is read under the name `target` alone.
    pub fn labels(&self, key: &str, target: &str) -> Self {
        let own = &self.slots()[self.0.target];
        let mut slot = Slot::new(target, own.want, true);
        slot.alias = Some(own.name.clone()).filter(|own| own != key && own != target);
        let slots = vec![slot, Slot::new(key, Want::Key, true)];
        self.with_slots(slots, 0, None, false)
    }

    /// The same with other columns, the key last.
    fn with_slots(
        &self,
        slots: Vec<Slot>,
        target: usize,
        weight: Option<usize>,
        sparse: bool,
    ) -> Self {
        Self(Arc::new(Columns {
            json: JsonRows::new(slots),
            has_key: true,
            target,
            weight,
            sparse,
            missing: self.0.missing,
            options: self.0.options.clone(),
            notation: self.0.notation.clone(),
        }))
    }

    /// The name of the target.
    pub fn target(&self) -> &str {
        &self.slots()[self.0.target].name
    }

    /// The columns of the encoder, without the key.
    pub(super) fn slots(&self) -> &[Slot] {
        let all = self.0.json.slots();
        &all[..all.len() - usize::from(self.0.has_key)]
    }

    /// The columns to be read for this purpose, that of the key last.
    pub(super) fn slots_to_read(&self, mode: Mode) -> Vec<Slot> {
        let slots = self.0.json.slots().iter().cloned().enumerate();
        let slot = |(i, slot): (usize, Slot)| {
            let required = slot.required && !self.is_unused(i, mode);
            Slot { required, ..slot }
        };
        slots.map(slot).collect()
    }

    /// Whether a column may be absent, because rows are not learned: the target and the weight.
    pub(super) fn is_unused(&self, slot: usize, mode: Mode) -> bool {
        match mode {
            Mode::Learn => false,
            Mode::Evaluate => Some(slot) == self.0.weight,
            Mode::Predict => Some(slot) == self.0.weight || slot == self.0.target,
        }
    }

    /// The reader of objects in memory.
    pub(super) fn json(&self) -> &JsonRows {
        &self.0.json
    }

    pub(super) fn has_key(&self) -> bool {
        self.0.has_key
    }

    /// The name of the column that identifies rows; empty without one.
    pub(super) fn key(&self) -> &str {
        let key = self.0.json.slots().last().filter(|_| self.0.has_key);
        key.map_or("", |slot| &slot.name)
    }

    pub(super) fn target_slot(&self) -> usize {
        self.0.target
    }

    pub(super) fn weight_slot(&self) -> Option<usize> {
        self.0.weight
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.0.sparse
    }

    /// What a missing feature does.
    pub(super) fn missing(&self) -> Missing {
        self.0.missing
    }

    pub(super) fn options(&self) -> &EncoderOptions {
        &self.0.options
    }

    /// How texts write missing values, unless a reading has others.
    pub(super) fn notation(&self) -> &Option<Arc<Notation>> {
        &self.0.notation
    }

    /// Whether tables of both have the same columns, the key aside.
    pub(super) fn has_columns_of(&self, other: &Self) -> bool {
        let pair = |slot: &Slot| (slot.name.clone(), slot.want);
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.sparse == other.0.sparse
                && self.slots().iter().map(pair).eq(other.slots().iter().map(pair)))
    }
}
