//! Help for a message: the nearest known name, and values cut to a readable length.

use std::fmt;

/// The likely reason why a column is not in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameHint {
    /// The header is a single column that contains another separator.
    Delimiter,
    /// The name of a column that is one typing error away.
    Nearest(String),
    /// The first columns that there are.
    Known {
        /// At most eight names.
        names: Vec<String>,
        /// Whether there are more.
        more: bool,
    },
}

/// Names listed in a message.
const LISTED: usize = 8;
/// Names compared with a wrong one; a hostile header of a million names stays cheap.
const COMPARED: usize = 10_000;
/// Characters compared per name.
const COMPARED_CHARS: usize = 64;

impl NameHint {
    /// Finds the likely reason why `name` is not among `names`.
    pub(crate) fn new(name: &str, names: &[String]) -> Self {
        if let [only] = names
            && only.contains([';', '\t', '|', ','])
        {
            return Self::Delimiter;
        }
        if let Some(near) = nearest(name, names.iter().map(|known| &**known)) {
            return Self::Nearest(near.into());
        }
        let first = names.iter().take(LISTED);
        let names_listed = first.map(|known| excerpt(known.as_bytes())).collect();
        Self::Known { names: names_listed, more: names.len() > LISTED }
    }
}

impl fmt::Display for NameHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delimiter => {
                write!(f, "its header is a single column: is the delimiter right?")
            }
            Self::Nearest(name) => write!(f, "did you mean `{name}`?"),
            Self::Known { names, more } => {
                let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let rest = if *more { ", ..." } else { "" };
                write!(f, "it has {}{rest}", listed.join(", "))
            }
        }
    }
}

/// The candidate that differs least from `name`, or `None` when none is close.
///
/// The distance is the number of edits; a swap of neighbors counts as one and case does not
/// matter. A third of the characters (at least one) may differ. Only the first 10 000 candidates
/// are compared.
///
/// ```
/// let known = ["late", "distance"];
/// assert_eq!(kalmia_data::nearest("Distnace", known), Some("distance"));
/// assert_eq!(kalmia_data::nearest("price", known), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    let folded = folded(name);
    candidates
        .into_iter()
        .take(COMPARED)
        .filter(|known| known.len() <= 4 * name.len() + 8)
        .map(|known| (strsim::osa_distance(&folded, &self::folded(known)), known))
        // A name of one letter is one edit away from every other.
        .filter(|&(edits, known)| {
            edits <= allowed && edits < name.chars().count().max(known.chars().count())
        })
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, known)| known)
}

fn folded(name: &str) -> String {
    name.to_lowercase().chars().take(COMPARED_CHARS).collect()
}

/// `value` as text fit for a message: lossy, cut after 60 characters.
pub(crate) fn excerpt(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(256)]);
    let mut cut: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().count() > 60 || value.len() > 256 {
        cut.push_str("...");
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_the_typo_and_refuses_strangers() {
        let names = ["late", "distance", "origin"];
        assert_eq!(nearest("lat", names), Some("late"));
        assert_eq!(nearest("Distnace", names), Some("distance"));
        assert_eq!(nearest("price", names), None);
        assert_eq!(nearest("z", ["x", "y"]), None);
        assert_eq!(nearest("Y", ["x", "y"]), Some("y"));
        assert_eq!(nearest("yy", ["x", "y"]), Some("y"));
    }

    #[test]
    fn excerpts_are_cut_and_escaped() {
        assert_eq!(excerpt(b"a\0b"), "a\\0b");
        assert_eq!(excerpt(&[b'x'; 500]).len(), 63);
    }
}
