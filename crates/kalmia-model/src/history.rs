//! Where a model's rows came from.

use kalmia_data::{Fingerprint, Position};
use serde::{Deserialize, Serialize};

/// Where the rows came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// The fit, then each update.
    pub runs: Vec<Run>,
    /// The models that a merged one was made of.
    pub merged: Option<Merge>,
}

/// One pass over files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The files in order, as they were.
    pub files: Vec<Fingerprint>,
    /// Rows learned before this pass.
    pub before: u64,
    /// How far it got.
    pub position: Position,
    /// Whether it got to the end.
    pub finished: bool,
}

/// How several models became one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merge {
    /// Whether nothing was lost.
    pub exact: bool,
    /// Their histories.
    pub parts: Vec<History>,
}

/// A file whose rows were learned before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat<'a> {
    /// The file.
    pub file: &'a Fingerprint,
    /// The file of the same content that was learned first.
    pub earlier: &'a Fingerprint,
}

impl History {
    /// The history of a fit that is about to read these files.
    pub fn starting(files: Vec<Fingerprint>) -> Self {
        let mut history = Self::default();
        history.begin(files, 0);
        history
    }

    /// Adds a pass over more files, after `before` rows.
    pub fn begin(&mut self, files: Vec<Fingerprint>, before: u64) {
        self.runs.push(Run { files, before, position: Position::default(), finished: false });
    }

    /// Refuses a history read from a file whose counts would overflow.
    pub(crate) fn check(&self) -> Result<(), String> {
        for run in &self.runs {
            let Position { rows, row, file } = run.position;
            let most = rows.max(row).max(file as u64).max(run.before);
            if most > u64::MAX / 2 {
                return Err(format!("a pass over {most} rows is too long"));
            }
        }
        self.merged.iter().flat_map(|merge| &merge.parts).try_for_each(Self::check)
    }

    /// The last pass, if it did not get to the end of its files.
    pub fn unfinished(&self) -> Option<&Run> {
        self.runs.last().filter(|run| !run.finished)
    }

    /// Every file that was learned from.
    pub fn files(&self) -> Vec<&Fingerprint> {
        let parts = self.merged.iter().flat_map(|merge| &merge.parts).flat_map(History::files);
        parts.chain(self.runs.iter().flat_map(|run| &run.files)).collect()
    }

    /// The files of the last pass whose rows count twice, by their content: an earlier pass
    /// learned them, or they come twice in this one.
    pub fn repeats(&self) -> Vec<Repeat<'_>> {
        let files = self.files();
        let last = self.runs.last().map_or(0, |run| run.files.len());
        let first = files.len() - last;
        let repeat = |i: usize| {
            let file = files[i];
            let same = |earlier: &&&Fingerprint| earlier.content == file.content;
            let earlier = files[..i].iter().find(same).filter(|_| file.content.is_some())?;
            Some(Repeat { file, earlier })
        };
        (first..files.len()).filter_map(repeat).collect()
    }

    /// The files that both models learned from, by their content; rows in them count twice after
    /// a merge.
    pub fn files_in_both<'a>(&'a self, other: &Self) -> Vec<&'a Fingerprint> {
        let theirs = other.files();
        let shared = |file: &&Fingerprint| {
            file.content.is_some() && theirs.iter().any(|other| other.content == file.content)
        };
        self.files().into_iter().filter(shared).collect()
    }
}
