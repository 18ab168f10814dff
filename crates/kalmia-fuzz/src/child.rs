//! The process that fuzzes one target: mutate, write the input down, run.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::mutate::mutate;
use crate::random::Random;
use crate::target::Target;

/// Inputs kept because something new happened.
const MAX_KEPT: usize = 512;

/// Runs mutated inputs until the time is over; how many. Each one stands in `current` while it
/// runs, so a process that dies leaves its culprit there.
pub fn fuzz(target: &Target, seconds: f64, seed: u64, current: &Path) -> Result<u64> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut file = File::create(current)?;
    let mut random = Random::new(seed);
    let mut corpus = (target.seeds)();
    let mut outcomes = HashSet::new();
    let mut executions = 0;
    while executions == 0 || Instant::now() < end {
        let mut bytes = random.pick(&corpus).cloned().unwrap_or_default();
        mutate(&mut random, &mut bytes, &corpus, target.words);
        let input = (target.finish)(&mut random, bytes.clone());
        write(&mut file, &input)?;
        let outcome = (target.run)(&input);
        executions += 1;
        if outcomes.insert(outcome) && corpus.len() < MAX_KEPT {
            corpus.push(bytes);
        }
    }
    Ok(executions)
}

fn write(file: &mut File, bytes: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}
