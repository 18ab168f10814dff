//! Cuts inputs into parts that several readers read at the same time.

use std::sync::Arc;

use crate::error::{Result, SettingProblem};
use crate::input::Input;
use crate::options::SourceOptions;
use crate::part::{Before, Part};
use crate::source::{Cut, Cuts, cuts};

/// A part may be longer or shorter by this fraction of its size if that saves cutting a file.
const TOLERANCE: u64 = 10;
/// Most parts that are planned, however many are asked for.
const MAX_PARTS: u64 = 1 << 16;

/// Cuts inputs into at most `parts` lists of about equal bytes, each for a [`crate::Reader`] of its
/// own.
///
/// The lists one after the other hold all rows in their order, each row once. Read them with the
/// same options. Ends of files are preferred; a file is cut only if its end is more than a tenth
/// of a part away. CSV, TSV, JSON Lines and libsvm are cut between records, Parquet between row
/// groups. CSV after the first cut has the columns of the file's header; a newline in quotes ends
/// no record. Errors name the file and the row and line in the whole file. [`crate::Position`] and
/// [`crate::Progress`] are those of the part; the totals of all parts add up to the size of the
/// inputs.
///
/// Some inputs stay whole: compressed files, Arrow, standard input and record batches, and text
/// whose lines end with carriage returns alone. Inputs of unknown size count as empty. Fewer lists
/// come back if there are fewer rows or inputs to deal out. 0 parts are 1; more than 65 536 are
/// never made.
///
/// An encoder that has seen no rows takes columns and kinds from its own part. Let one encoder
/// learn the first rows, and give each reader a copy of it.
///
/// Files are read up to the last cut. Errors found on the way, such as a quote that is never
/// closed, are those of a [`crate::Reader`]. A [`SourceOptions::limit`] is refused, because it
/// counts rows over all inputs.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};
/// use kalmia_data::split_inputs;
///
/// let input = Input::memory("t.csv", *b"y,x\n1,2\n3,4\n5,6\n7,8\n");
/// let options = SourceOptions::default();
/// let parts = split_inputs(&[input], &options, 2)?;
/// let mut targets = Vec::new();
/// for part in parts {
///     let mut encoder = Encoder::new(EncoderOptions::target("y"));
///     let mut reader = Reader::open(part, options.clone(), &mut encoder, Mode::Learn)?;
///     let mut block = Block::new();
///     while reader.next_block(&mut encoder, &mut block)? {
///         targets.push(block.y.clone());
///     }
/// }
/// assert_eq!(targets, [[1.0, 3.0], [5.0, 7.0]]);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
pub fn split_inputs(
    inputs: &[Input],
    options: &SourceOptions,
    parts: usize,
) -> Result<Vec<Vec<Input>>> {
    if parts > 1 && options.limit.is_some() {
        return Err(SettingProblem::LimitOfParts.into());
    }
    let mut plan = Plan::new(inputs, parts);
    let mut lists = Vec::new();
    let mut list = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let pieces = match plan.targets[i].is_empty() {
            true => vec![input.clone()],
            false => match cuts(input, options, &plan.targets[i])? {
                Some(cuts) => pieces(input, cuts),
                None => {
                    plan.keep_whole(i);
                    vec![input.clone()]
                }
            },
        };
        if plan.starts_part[i] && !list.is_empty() {
            lists.push(std::mem::take(&mut list));
        }
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 {
                lists.push(std::mem::take(&mut list));
            }
            list.push(piece);
        }
    }
    lists.push(list);
    lists.retain(|list| !list.is_empty());
    Ok(lists)
}

/// Where parts begin.
struct Plan {
    sizes: Vec<u64>,
    /// Whether a part begins with an input, or after the last.
    starts_part: Vec<bool>,
    /// Where parts should begin within each input, in bytes.
    targets: Vec<Vec<u64>>,
}

impl Plan {
    fn new(inputs: &[Input], parts: usize) -> Self {
        let sizes: Vec<u64> = inputs.iter().map(|input| input.size().unwrap_or(0)).collect();
        let total = sizes.iter().fold(0, |sum: u64, &size| sum.saturating_add(size));
        let mut plan = Self {
            starts_part: vec![false; sizes.len() + 1],
            targets: vec![Vec::new(); sizes.len()],
            sizes,
        };
        let parts = (parts.max(1) as u64).min(total.max(1)).min(MAX_PARTS);
        let tolerance = total / parts / TOLERANCE;
        let mut input = 0;
        let mut start = 0;
        for part in 1..parts {
            let target = (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
            while target - start >= plan.sizes[input] {
                start += plan.sizes[input];
                input += 1;
            }
            plan.add(input, target - start, tolerance);
        }
        plan
    }

    /// Begins a part at a place of an input, or at its nearer end if that is close.
    fn add(&mut self, input: usize, at: u64, tolerance: u64) {
        let rest = self.sizes[input] - at;
        if at.min(rest) > tolerance {
            self.targets[input].push(at);
        } else {
            self.starts_part[input + usize::from(rest < at)] = true;
        }
    }

    /// Moves the places within an input that cannot be cut to its nearer end.
    fn keep_whole(&mut self, input: usize) {
        for at in std::mem::take(&mut self.targets[input]) {
            self.add(input, at, u64::MAX);
        }
    }
}

/// The parts of an input between its cuts.
fn pieces(input: &Input, cuts: Cuts) -> Vec<Input> {
    let Cuts { format, header, places, end } = cuts;
    let starts = std::iter::once(Cut { before: Before::default(), group: 0 }).chain(places.clone());
    let ends = places.iter().copied().chain([end]);
    let piece = |(start, end): (Cut, Cut)| {
        input.with_part(Arc::new(Part {
            format,
            before: start.before,
            bytes: end.before.bytes - start.before.bytes,
            header: header.clone(),
            groups: start.group..end.group,
        }))
    };
    if places.is_empty() { vec![input.clone()] } else { starts.zip(ends).map(piece).collect() }
}
