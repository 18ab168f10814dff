//! The levels of several quantiles as a user writes them: `quantile:0.1,0.5,0.9`.

use kalmia::Quantile;

/// Most levels of a model; each costs as much as a model of its own.
const MAX_LEVELS: usize = 20;

/// The name of the family before the colon.
const NAME: &str = "quantile";

/// The levels of a family's text, in ascending order; `None` if it does not name several. The error
/// says which level is wrong.
pub(crate) fn parse_levels(text: &str) -> Option<Result<Vec<f64>, String>> {
    let (name, list) = text.split_once(':')?;
    (name.trim() == NAME && list.contains(',')).then(|| sorted_levels(list))
}

fn sorted_levels(list: &str) -> Result<Vec<f64>, String> {
    let mut levels = list.split(',').map(parse_level).collect::<Result<Vec<f64>, String>>()?;
    if levels.len() > MAX_LEVELS {
        return Err(format!("{} levels are too many: give at most {MAX_LEVELS}", levels.len()));
    }
    levels.sort_by(f64::total_cmp);
    match levels.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("the level {} is given twice", pair[0])),
        None => Ok(levels),
    }
}

fn parse_level(text: &str) -> Result<f64, String> {
    let level: f64 = text.trim().parse().map_err(|_| {
        format!("`{}` is not a level; numbers are expected between commas", text.trim())
    })?;
    match Quantile::new(level) {
        Ok(_) => Ok(level),
        Err(_) => {
            Err(format!("the level {level} must lie between 0 and 1, at least 1e-6 from both"))
        }
    }
}

/// The text of these levels, which [`parse_levels`] reads.
pub(crate) fn levels_text(levels: &[f64]) -> String {
    let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
    format!("{NAME}:{}", levels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FamilyChoice;

    #[test]
    fn levels_are_sorted_and_written_in_one_way() {
        for text in ["quantile:0.1,0.5,0.9", "Quantile: 0.9, .5,1e-1"] {
            let choice: FamilyChoice = text.parse().unwrap();
            assert_eq!(choice.quantiles(), Some(&[0.1, 0.5, 0.9][..]));
            assert_eq!(String::from(choice), "quantile:0.1,0.5,0.9");
        }
        let one: FamilyChoice = "quantile:0.9".parse().unwrap();
        assert!(one.quantiles().is_none() && one.named().is_some());
        assert_eq!(parse_levels("gamma:0.1,0.2"), None);
        let many: Vec<f64> = (1..=MAX_LEVELS).map(|i| i as f64 / 21.0).collect();
        assert_eq!(parse_levels(&levels_text(&many)), Some(Ok(many)));
    }

    #[test]
    fn the_wrong_level_is_named() {
        let too_many: Vec<String> = (1..=21).map(|i| format!("0.{i:02}")).collect();
        let too_many = format!("quantile:{}", too_many.join(","));
        for (text, said) in [
            ("quantile:0.1,1.5", "the level 1.5 must lie between 0 and 1, at least 1e-6 from both"),
            ("quantile:0,0.5", "the level 0 must lie between 0 and 1, at least 1e-6 from both"),
            ("quantile:0.5,nan", "the level NaN must lie between 0 and 1, at least 1e-6 from both"),
            ("quantile:0.5,x", "`x` is not a level; numbers are expected between commas"),
            ("quantile:0.5,", "`` is not a level; numbers are expected between commas"),
            ("quantile:0.5,0.1,0.5", "the level 0.5 is given twice"),
            (&too_many, "21 levels are too many: give at most 20"),
        ] {
            let error = text.parse::<FamilyChoice>().unwrap_err();
            assert_eq!(error.to_string(), format!("family `{text}`: {said}"));
        }
    }
}
