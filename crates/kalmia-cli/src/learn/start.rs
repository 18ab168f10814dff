//! The first block of rows, which decides the columns and the family.

use crate::error::{Failure, Result};
use crate::plan::SourcePlan;
use crate::progress::Ui;
use kalmia::AnyFamily;
use kalmia_data::{Block, Encoder, EncoderOptions, Mode, Reader, Target};
use kalmia_model::{FamilyChoice, FamilyHint};

/// A reader after its first block.
pub struct Start {
    /// Where the next blocks come from.
    pub reader: Reader,
    /// What the first block showed about the columns.
    pub encoder: Encoder,
    /// The first block.
    pub block: Block,
}

impl Start {
    /// Reads the first block, which decides the columns.
    pub fn read(source: &SourcePlan, columns: &EncoderOptions) -> Result<Self> {
        Self::begin(source, Encoder::new(columns.clone()))
    }

    /// The same if all rows are read before one is learned: they, not the first block, decide which
    /// labels there are.
    pub fn read_to_shuffle(source: &SourcePlan, columns: &EncoderOptions) -> Result<Self> {
        let mut encoder = Encoder::new(columns.clone());
        encoder.defer_labels();
        Self::begin(source, encoder)
    }

    fn begin(source: &SourcePlan, mut encoder: Encoder) -> Result<Self> {
        let mut reader = source.open(&mut encoder, Mode::Learn)?;
        let mut block = Block::new();
        reader.next_block(&mut encoder, &mut block)?;
        Ok(Self { reader, encoder, block })
    }
}

/// The family asked for, or the one that the target shows, with a note on what may be meant.
pub fn family(choice: &FamilyChoice, target: &Target, ui: Ui) -> Result<AnyFamily> {
    let inferred = choice.resolve(target)?;
    if let Some(hint) = inferred.hint {
        ui.note(&family_note(&target.name, hint));
    }
    Ok(inferred.family)
}

fn family_note(target: &str, hint: FamilyHint) -> String {
    match hint {
        FamilyHint::OneValue(value) => format!(
            "note: target `{target}` is {value} in all of the first rows; for labels give \
             --family bernoulli"
        ),
        FamilyHint::WholeNumbers => format!(
            "note: target `{target}` holds whole numbers, 0 or more; for counts give \
             --family poisson, for classes --family categorical"
        ),
        FamilyHint::Skewed => format!(
            "note: all values of target `{target}` are positive and skewed; --family gamma may \
             predict them better"
        ),
    }
}

/// Counts the data rows by reading the files once; standard input cannot be read twice.
pub fn count_rows(source: &SourcePlan, columns: &EncoderOptions) -> Result<u64> {
    if source.inputs.iter().any(|input| input.size().is_none()) {
        return Err(Failure::usage(
            "--method asgd needs the number of rows, which a stream does not show; give \
             --horizon N",
        ));
    }
    let mut encoder = Encoder::new(columns.clone());
    Ok(source.open(&mut encoder, Mode::Learn)?.skip_rows(u64::MAX)?.max(1))
}
