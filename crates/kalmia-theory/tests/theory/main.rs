//! The closed forms of `kalmia_theory`: against 60-digit reference values, against independent
//! computations, and on bad input.
//!
//! `data/bounds_cases.json` holds the reference values: the paper's formulas evaluated at 60
//! digits, independently of this crate (`out` as printed in the paper, `out_corrected` with its
//! errata). `data/closed_forms.py` writes many of them, from the text of the paper.

mod identities;
mod inputs;
mod reference;
mod theorems;
