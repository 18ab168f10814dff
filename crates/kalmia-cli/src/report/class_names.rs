//! Classes whose names look like slips: another spelling of a frequent class, or an identifier.

use crate::visible::visible_line;
use kalmia_data::nearest;

/// A slip is rarer than this share of the class that was meant.
const MAX_SLIP_SHARE: f64 = 0.02;
/// Slips that are listed.
const LISTED: usize = 3;
/// Above this many classes the rarest are not compared with the others.
const MAX_COMPARED: usize = 200;
/// From this many classes on it is asked whether they identify rows.
const MIN_IDENTIFIERS: usize = 10;

/// What to look at in the names of classes, given the weight of the rows of each, which is mostly
/// their number. A slip in a label of two values makes a third class, and nothing else shows it.
pub fn class_name_notes(target: &str, names: &[String], weights: &[f64]) -> Vec<String> {
    // classes that are known and have no row yet have no weight either
    let weight = |class: usize| weights.get(class).copied().unwrap_or(0.0);
    let weights: Vec<f64> = (0..names.len()).map(weight).collect();
    let single = weights.iter().filter(|&&weight| weight <= 1.0).count();
    if names.len() >= MIN_IDENTIFIERS && 2 * single > names.len() {
        return vec![format!(
            "note: {single} of the {} classes of `{}` have a single row; if the column identifies \
             rows, give another --target",
            names.len(),
            visible_line(target)
        )];
    }
    if names.len() > MAX_COMPARED {
        return Vec::new();
    }
    let slips: Vec<_> = (0..names.len()).filter_map(|slip| meant(slip, names, &weights)).collect();
    let notes = slips.iter().take(LISTED).map(|&(slip, meant)| {
        let [one, other] = [&names[slip], &names[meant]].map(|name| visible_line(name));
        format!(
            "note: class `{one}` may be a slip for `{other}`: each spelling is a class of its \
             own; correct the column, or leave it if the two are different"
        )
    });
    notes.collect()
}

/// A slip and the class that was probably meant.
fn meant(slip: usize, names: &[String], weights: &[f64]) -> Option<(usize, usize)> {
    let own = &names[slip];
    if weights[slip] <= 0.0 {
        return None;
    }
    let is_rarer = |other: usize| match weights[slip].partial_cmp(&weights[other]) {
        Some(std::cmp::Ordering::Less) => true,
        Some(std::cmp::Ordering::Equal) => slip > other,
        _ => false,
    };
    let same_letters = |other: &usize| own.to_lowercase() == names[*other].to_lowercase();
    let others = || (0..names.len()).filter(|&other| other != slip && is_rarer(other));
    if let Some(other) = others().find(same_letters) {
        return Some((slip, other));
    }
    // codes such as `404` and `grade 2` differ by a digit and mean it
    let frequent = others().filter(|&other| {
        weights[slip] <= MAX_SLIP_SHARE * weights[other] && digits(own) == digits(&names[other])
    });
    let near = nearest(own, frequent.map(|other| &*names[other]))?;
    let other = names.iter().position(|name| name == near)?;
    Some((slip, other))
}

fn digits(name: &str) -> String {
    name.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(classes: &[(&str, f64)]) -> Vec<String> {
        let names: Vec<_> = classes.iter().map(|(name, _)| (*name).to_owned()).collect();
        let weights: Vec<_> = classes.iter().map(|(_, weight)| *weight).collect();
        class_name_notes("y", &names, &weights)
    }

    #[test]
    fn slips_are_named_with_what_was_meant() {
        let found = notes(&[("no", 150.0), ("yes", 149.0), ("yess", 1.0)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("class `yess` may be a slip for `yes`"), "{}", found[0]);
        // another case is a slip however frequent it is
        let found = notes(&[("No", 150.0), ("yes", 80.0), ("Yes", 80.0)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`Yes` may be a slip for `yes`"), "{}", found[0]);
    }

    #[test]
    fn classes_that_differ_are_left_alone() {
        assert!(notes(&[("setosa", 50.0), ("versicolor", 50.0), ("virginica", 1.0)]).is_empty());
        assert!(notes(&[("code 403", 500.0), ("code 404", 1.0), ("ok", 900.0)]).is_empty());
        assert!(notes(&[("cat", 50.0), ("car", 40.0), ("dog", 60.0)]).is_empty(), "both frequent");
        assert!(notes(&[("1", 500.0), ("2", 1.0), ("3", 400.0)]).is_empty());
    }

    #[test]
    fn identifiers_are_one_note() {
        let names: Vec<String> = (0..40).map(|i| format!("id{i}")).collect();
        let found = class_name_notes("y", &names, &[1.0; 40]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("40 of the 40 classes of `y`"), "{}", found[0]);
    }
}
