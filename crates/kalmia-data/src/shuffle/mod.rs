//! Rows in random order, in bounded memory: more rows than fit go to temporary files.

mod spill;

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use crate::block::Block;
use crate::sparse::{SparseBlock, SparseRow};
use crate::target::Target;
use spill::Spill;

/// Buckets that rows are dealt to. Rows beyond the memory given may be 64 times as many, if the
/// memory is to hold each bucket when it is read back.
const BUCKETS: usize = 64;
/// Numbers of a record before its features: file, row, line, target, weight, offset, and the count
/// of the numbers that follow. These are the features of a dense row, or an index and a value per
/// entry of a sparse one; numbers of 64 bits hold every index.
const HEAD: usize = 7;
/// Rows of a block.
const BLOCK_ROWS: usize = 1024;

/// Blocks go in, and blocks of the same rows in random order come out.
///
/// Each row is dealt to a random bucket, and the rows of a bucket are shuffled when it is read
/// back. So every order of the rows is equally likely, as if all of them were in memory. The same
/// rows with the same seed come out in the same order, whatever the memory.
///
/// ```
/// use kalmia_data::{Block, Encoder, EncoderOptions, Input, Mode, Reader, Shuffle, SourceOptions};
///
/// let input = Input::memory("t.csv", *b"x,y\n1,10\n2,20\n3,30\n");
/// let mut encoder = Encoder::new(EncoderOptions::target("y"));
/// let mut reader =
///     Reader::open(vec![input], SourceOptions::default(), &mut encoder, Mode::Learn)?;
/// let mut block = Block::new();
/// let mut shuffle = Shuffle::new(7, 1 << 20);
/// while reader.next_block(&mut encoder, &mut block)? {
///     shuffle.add(&block).unwrap();
/// }
/// let mut shuffled = shuffle.finish();
/// assert!(shuffled.next_block(&mut block).unwrap());
/// let mut targets = block.y.clone();
/// targets.sort_by(f64::total_cmp);
/// assert_eq!(targets, [10.0, 20.0, 30.0]);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
pub struct Shuffle {
    random: SplitMix,
    /// Numbers that may be held in memory.
    capacity: usize,
    held: usize,
    buckets: Vec<Bucket>,
    frame: Frame,
    rows: u64,
}

/// Distinct targets that are kept: enough to tell two labels from more values.
const MAX_DISTINCT: usize = 3;

/// What all rows share.
#[derive(Default)]
struct Frame {
    /// Some distinct targets, ascending.
    distinct: Vec<f64>,
    /// Whether a target is not a whole number, 0 or more.
    other_numbers: bool,
    dim: usize,
    /// Whether the rows are sparse, once there was one.
    sparse: Option<bool>,
    weight: bool,
    offset: bool,
    files: Arc<Vec<String>>,
}

#[derive(Default)]
struct Bucket {
    /// Records, one behind the other.
    numbers: Vec<f64>,
    spilled: Option<Spill>,
}

impl Shuffle {
    /// Without rows; holds up to `bytes` of them in memory.
    pub fn new(seed: u64, bytes: usize) -> Self {
        Self {
            random: SplitMix(seed),
            capacity: bytes / size_of::<f64>(),
            held: 0,
            buckets: (0..BUCKETS).map(|_| Bucket::default()).collect(),
            frame: Frame::default(),
            rows: 0,
        }
    }

    /// Takes the rows of a block. Fails if a temporary file cannot be written, or if some rows are
    /// sparse and others dense, which one encoder never gives.
    pub fn add(&mut self, block: &Block) -> io::Result<()> {
        if block.rows() > 0 {
            let sparse = block.sparse.is_some();
            if *self.frame.sparse.get_or_insert(sparse) != sparse {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, MIXED));
            }
        }
        self.frame.dim = self.frame.dim.max(block.dim);
        self.frame.weight = block.weight.is_some();
        self.frame.offset = block.offset.is_some();
        self.frame.files = block.origin.files.clone();
        block.y.iter().for_each(|&y| self.frame.see(y));
        for i in 0..block.rows() {
            let bucket = &mut self.buckets[self.random.below(BUCKETS)];
            let place = block.origin.place(block.index[i] as usize);
            bucket.numbers.extend([
                place.file as f64,
                place.row as f64,
                place.line as f64,
                block.y[i],
                block.weight.as_ref().map_or(1.0, |weight| weight[i]),
                block.offset.as_ref().map_or(0.0, |offset| offset[i]),
                0.0,
            ]);
            let start = bucket.numbers.len();
            match &block.sparse {
                None => bucket.numbers.extend_from_slice(block.row(i)),
                Some(rows) => {
                    let SparseRow { indices, values } = rows.row(i);
                    let pairs = indices.iter().zip(values);
                    bucket.numbers.extend(pairs.flat_map(|(i, value)| [f64::from(*i), *value]));
                }
            }
            let count = bucket.numbers.len() - start;
            bucket.numbers[start - 1] = count as f64;
            self.held += HEAD + count;
            if self.held > self.capacity {
                self.buckets.iter_mut().try_for_each(Bucket::spill)?;
                self.held = 0;
            }
        }
        self.rows += block.rows() as u64;
        Ok(())
    }

    /// Ends the reading; the rows can then be taken in random order.
    pub fn finish(self) -> Shuffled {
        Shuffled {
            random: self.random,
            buckets: self.buckets.into_iter(),
            frame: self.frame,
            numbers: Vec::new(),
            starts: Vec::new(),
            codes: None,
            rows: self.rows,
            taken: 0,
        }
    }
}

/// The error for rows of both forms.
const MIXED: &str = "sparse and dense rows cannot be shuffled together; use one encoder for all";

impl Frame {
    fn see(&mut self, y: f64) {
        self.other_numbers |= y < 0.0 || y.fract() != 0.0;
        if self.distinct.len() < MAX_DISTINCT
            && let Err(place) = self.distinct.binary_search_by(|known| known.total_cmp(&y))
        {
            self.distinct.insert(place, y);
        }
    }
}

/// The rows of a [`Shuffle`], in random order.
pub struct Shuffled {
    random: SplitMix,
    buckets: std::vec::IntoIter<Bucket>,
    frame: Frame,
    /// The records of the present bucket, and where those begin that were not taken yet.
    numbers: Vec<f64>,
    starts: Vec<usize>,
    /// What stands for each target, if they are coded otherwise than when they were read.
    codes: Option<Vec<f64>>,
    rows: u64,
    taken: u64,
}

impl Shuffled {
    /// The target as all rows show it, at most three of its distinct values; an encoder knows it
    /// from the first block only.
    pub fn target(&self, known: &Target) -> Target {
        let Frame { distinct, other_numbers, .. } = &self.frame;
        Target { distinct: distinct.clone(), whole: !other_numbers, ..known.clone() }
    }

    /// Gives the targets, which are codes 0, 1, 2, ..., those of [`crate::Encoder::settle_labels`].
    pub fn recode(&mut self, codes: Vec<f64>) {
        self.frame.distinct = codes.clone();
        self.frame.distinct.sort_by(f64::total_cmp);
        self.frame.distinct.truncate(MAX_DISTINCT);
        self.codes = Some(codes);
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next rows; false at the end. Fails if a temporary file cannot be read.
    pub fn next_block(&mut self, block: &mut Block) -> io::Result<bool> {
        let Frame { dim, sparse, weight, offset, files, .. } = &self.frame;
        let dim = *dim;
        block.dim = dim;
        block.x.clear();
        block.sparse = sparse.unwrap_or(false).then(|| block.sparse.take().unwrap_or_default());
        block.sparse.iter_mut().for_each(SparseBlock::clear);
        block.y.clear();
        block.unseen.clear();
        block.index.clear();
        block.weight = weight.then(Vec::new);
        block.offset = offset.then(Vec::new);
        block.origin.clear();
        block.origin.files = files.clone();
        block.first_row = self.taken;
        while block.y.len() < BLOCK_ROWS {
            let Some(start) = self.starts.pop() else {
                let Some(bucket) = self.buckets.next() else { break };
                self.numbers = bucket.into_numbers()?;
                self.starts = starts(&self.numbers);
                self.random.shuffle(&mut self.starts);
                continue;
            };
            let record = &self.numbers[start..];
            let row = block.y.len();
            block.origin.open(row, record[0] as usize, record[1] as u64);
            block.origin.lines.push(record[2] as u64);
            let code = |codes: &Vec<f64>| codes.get(record[3] as usize).copied();
            block.y.push(self.codes.as_ref().and_then(code).unwrap_or(record[3]));
            block.weight.iter_mut().for_each(|weight| weight.push(record[4]));
            block.offset.iter_mut().for_each(|offset| offset.push(record[5]));
            let features = &record[HEAD..HEAD + record[6] as usize];
            if let Some(rows) = &mut block.sparse {
                let (pairs, _) = features.as_chunks::<2>();
                pairs.iter().for_each(|&[index, value]| rows.push(index as u32, value));
                rows.end_row();
            } else {
                block.x.extend_from_slice(features);
                // features that appeared later were 0 here
                block.x.resize((row + 1) * dim, 0.0);
            }
            block.index.push(row as u32);
        }
        block.rows_read = block.y.len();
        self.taken += block.y.len() as u64;
        Ok(!block.y.is_empty())
    }
}

/// Where the records begin.
fn starts(numbers: &[f64]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < numbers.len() {
        starts.push(at);
        at += HEAD + numbers[at + 6] as usize;
    }
    starts
}

impl Bucket {
    /// Moves the records to the bucket's file.
    fn spill(&mut self) -> io::Result<()> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let spill = match &mut self.spilled {
            Some(spill) => spill,
            none => none.insert(Spill::create()?),
        };
        let bytes: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        spill.file.write_all(&bytes)?;
        self.numbers = Vec::new();
        Ok(())
    }

    /// All records in the order in which they came.
    fn into_numbers(self) -> io::Result<Vec<f64>> {
        let Some(mut spill) = self.spilled else { return Ok(self.numbers) };
        let mut bytes = Vec::new();
        spill.file.seek(SeekFrom::Start(0))?;
        spill.file.read_to_end(&mut bytes)?;
        let words = bytes.chunks_exact(size_of::<f64>());
        // chunks have the size asked for
        let stored = words.map(|word| f64::from_le_bytes(word.try_into().unwrap_or_default()));
        Ok(stored.chain(self.numbers).collect())
    }
}

/// The generator SplitMix64 of Steele, Lea and Flood, whose numbers are the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; the bias of at most `n / 2^64` cannot be seen.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Fisher and Yates.
    fn shuffle(&mut self, items: &mut [usize]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, EncoderOptions, Input, Mode, Reader, SourceOptions};

    /// The rows of a file with a new level in its last row, shuffled.
    fn shuffled(rows: usize, seed: u64, bytes: usize) -> Vec<Block> {
        let mut text = String::from("x,g,w,y\n");
        for i in 0..rows {
            let level = if i + 1 == rows { "late" } else { ["a", "b"][i % 2] };
            text.push_str(&format!("{i},{level},{},{}\n", i % 5, 10 * i));
        }
        let mut encoder = Encoder::new(EncoderOptions {
            weight: Some("w".into()),
            ..EncoderOptions::target("y")
        });
        let inputs = vec![Input::memory("t.csv", text.into_bytes())];
        let mut reader =
            Reader::open(inputs, SourceOptions::default(), &mut encoder, Mode::Learn).unwrap();
        let mut shuffle = Shuffle::new(seed, bytes);
        let mut block = Block::new();
        while reader.next_block(&mut encoder, &mut block).unwrap() {
            shuffle.add(&block).unwrap();
        }
        let mut out = shuffle.finish();
        assert_eq!(out.rows(), rows as u64);
        let mut blocks = Vec::new();
        while out.next_block(&mut block).unwrap() {
            blocks.push(block.clone());
        }
        assert_eq!(out.taken(), rows as u64);
        blocks
    }

    #[test]
    fn every_row_comes_out_once_whole_and_with_its_place() {
        for bytes in [usize::MAX, 50_000, 0] {
            let blocks = shuffled(3000, 1, bytes);
            let mut seen = vec![false; 3000];
            for block in &blocks {
                assert_eq!(block.dim, 4);
                for i in 0..block.rows() {
                    let row = block.row(i);
                    let x = row[1] as usize;
                    assert!(!std::mem::replace(&mut seen[x], true));
                    let late = f64::from(x == 2999);
                    let odd = f64::from(x % 2 == 1 && x != 2999);
                    assert_eq!(row, [1.0, x as f64, odd, late]);
                    assert_eq!(block.y[i], 10.0 * x as f64);
                    assert_eq!(block.weight.as_ref().unwrap()[i], (x % 5) as f64);
                    let place = block.location(i);
                    assert_eq!((&*place.file, place.row), ("t.csv", x as u64 + 1));
                    assert_eq!(place.line, Some(x as u64 + 2));
                }
            }
            assert!(seen.iter().all(|&seen| seen));
        }
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let order = |seed, bytes| -> Vec<f64> {
            shuffled(500, seed, bytes).into_iter().flat_map(|block| block.y).collect()
        };
        assert_eq!(order(3, usize::MAX), order(3, 1000));
        assert_ne!(order(3, usize::MAX), order(4, usize::MAX));
    }

    #[test]
    fn places_are_uniform() {
        // where rows 0 and 99 of 100 go: mean 49.5, deviation 28.9, over 400 seeds 1.44
        for row in [0usize, 99] {
            let place = |seed| {
                let order: Vec<f64> =
                    shuffled(100, seed, usize::MAX).into_iter().flat_map(|b| b.y).collect();
                order.iter().position(|&y| y == 10.0 * row as f64).unwrap() as f64
            };
            let places: Vec<f64> = (0..400).map(place).collect();
            let mean = places.iter().sum::<f64>() / 400.0;
            assert!((mean - 49.5).abs() < 6.0, "row {row}: {mean}");
        }
    }
}
