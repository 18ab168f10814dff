//! The coefficient table as text.

use super::Table;
use crate::format::{counted, number};
use kalmia_model::Coefficient;

/// Most lines of the table of a wide model; `--json` and `export` have more.
const LISTED: usize = 25;

/// The table, or of a model with more coefficients than were listed the first lines of it.
pub fn main_coefficients(coefficients: &[Coefficient], features: usize) -> String {
    if coefficients.len() == features {
        return coefficient_table(coefficients);
    }
    let shown = &coefficients[..coefficients.len().min(LISTED)];
    let text = coefficient_table(shown);
    let features = counted(features as u64, "feature");
    format!("{text}the strongest of {features}; `kalmia export MODEL` writes all\n")
}

/// The table; methods without a covariance have estimates only.
pub fn coefficient_table(coefficients: &[Coefficient]) -> String {
    if coefficients.iter().all(|c| c.std_error.is_none()) {
        let mut table = Table::new(["coefficient", "estimate"]);
        coefficients.iter().for_each(|c| table.row([c.name.clone(), number(c.estimate)]));
        return table.render();
    }
    let mut table = Table::new(["coefficient", "estimate", "std error", "z", "95 % from", "to"]);
    let show = |value: Option<f64>| value.map_or(String::new(), number);
    for c in coefficients {
        let z = c
            .z
            .map_or(String::new(), |z| if z.abs() < 1e6 { format!("{z:.2}") } else { number(z) });
        table.row([
            c.name.clone(),
            number(c.estimate),
            show(c.std_error),
            z,
            show(c.lower),
            show(c.upper),
        ]);
    }
    table.render()
}
