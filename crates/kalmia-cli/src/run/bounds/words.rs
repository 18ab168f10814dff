//! The words after `kalmia bounds NAME`: parameters, options, and options about the data.

use crate::error::{Failure, Result};
use crate::plan::picture;
use kalmia_theory::{Entry, Inputs};
use std::path::PathBuf;

/// What was asked of one bound.
#[derive(Debug, Default)]
pub struct Request {
    /// Its parameters.
    pub inputs: Inputs,
    /// Whether the answer is JSON.
    pub json: bool,
    /// `--sweep`.
    pub sweep: Option<String>,
    /// `--outputs`, in order.
    pub outputs: Vec<String>,
    /// `--plot`.
    pub plot: Option<PathBuf>,
    /// `--data FILE` and the options of `fit` about files and columns, as `fit` takes them.
    pub data: Vec<String>,
}

impl Request {
    /// Sorts the words. A name may have hyphens for its underscores.
    pub fn new(entry: &Entry, words: &[&str]) -> Result<Self> {
        let mut request = Self::default();
        let mut files = Vec::new();
        // with data, what is no parameter belongs to the data
        let with_data = words.iter().any(|word| *word == "--data" || word.starts_with("--data="));
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if *word == "--json" {
                request.json = true;
                continue;
            }
            if with_data && !is_ours(entry, word) {
                request.data.push((*word).to_owned());
                continue;
            }
            let (name, value) = name_and_value(word, &mut rest)?;
            match name {
                "sweep" => request.sweep = Some(value.to_owned()),
                "outputs" => request.outputs = value.split(',').map(str::to_owned).collect(),
                "plot" => request.plot = Some(value.into()),
                "data" => files.push(value.to_owned()),
                _ => request.inputs = request.inputs.with(name.replace('-', "_"), value.to_owned()),
            }
        }
        request.data.splice(0..0, files);
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<()> {
        let needs_sweep =
            [("--plot", self.plot.is_some()), ("--outputs", !self.outputs.is_empty())];
        for (option, given) in needs_sweep {
            if given && self.sweep.is_none() {
                return Err(Failure::usage(format!(
                    "{option} draws or lists a sweep: add --sweep NAME=FROM:TO:COUNT"
                )));
            }
        }
        self.plot.as_deref().map_or(Ok(()), picture)
    }
}

/// Whether a word starts a parameter of the bound or one of this command's options.
fn is_ours(entry: &Entry, word: &str) -> bool {
    let Some(name) = word.strip_prefix("--") else { return false };
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    let name = name.replace('-', "_");
    matches!(&*name, "sweep" | "outputs" | "plot" | "data")
        || entry.parameters.iter().any(|parameter| parameter.name == name)
}

/// `--name value` or `--name=value`.
fn name_and_value<'a>(
    word: &'a str,
    rest: &mut std::slice::Iter<'_, &'a str>,
) -> Result<(&'a str, &'a str)> {
    let name = word
        .strip_prefix("--")
        .ok_or_else(|| Failure::usage(format!("`{word}`: give parameters as --name value")))?;
    match name.split_once('=') {
        Some(pair) => Ok(pair),
        None => {
            let value = rest.next();
            let value = value.ok_or_else(|| Failure::usage(format!("--{name} has no value")))?;
            Ok((name, value))
        }
    }
}

/// The words as options of `sphere_minimum`, which has no registry entry.
pub fn options<'a>(words: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>> {
    let mut rest = words.iter();
    let mut pairs = Vec::new();
    while let Some(word) = rest.next() {
        pairs.push(name_and_value(word, &mut rest)?);
    }
    Ok(pairs)
}
