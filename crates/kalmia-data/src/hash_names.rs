//! Names of hashed features: a word or level for people to read in place of a number.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Features that get a name, the first ones to appear: frequent words appear early, and memory
/// stays bounded.
const MAX_NAMES: usize = 1 << 16;
/// Longest name in bytes; a longer word has none.
const MAX_NAME_BYTES: usize = 64;

/// What was hashed to an index first. Another word may share the index later.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u32, String)>", into = "Vec<(u32, String)>")]
pub(crate) struct HashNames {
    /// The indices in the order of their appearance.
    order: Vec<u32>,
    /// All names, one after the other, and where each ends.
    text: String,
    ends: Vec<u32>,
    /// The place of each index in `order`.
    places: HashMap<u32, u32>,
}

impl HashNames {
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    fn name(&self, at: usize) -> &str {
        &self.text[self.start(at)..self.ends[at] as usize]
    }

    /// The name of an index, if it has one.
    pub fn get(&self, index: u32) -> Option<&str> {
        self.places.get(&index).map(|&at| self.name(at as usize))
    }

    /// Names an index `column=token`, unless it has a name or there are enough.
    #[inline]
    pub fn note(&mut self, index: u32, column: &str, token: &[u8]) {
        if self.order.len() >= MAX_NAMES
            || column.len() + token.len() >= MAX_NAME_BYTES
            || self.places.contains_key(&index)
        {
            return;
        }
        // tokens are pieces of a text, cut between characters
        let token = std::str::from_utf8(token).unwrap_or("?");
        self.push(index, &[column, "=", token]);
    }

    fn push(&mut self, index: u32, name: &[&str]) {
        self.places.insert(index, self.order.len() as u32);
        self.order.push(index);
        name.iter().for_each(|part| self.text.push_str(part));
        self.ends.push(self.text.len() as u32);
    }

    /// Forgets the names after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(self.start(len));
        self.ends.truncate(len);
        for index in self.order.drain(len..) {
            self.places.remove(&index);
        }
    }

    /// Whether a stored value is one that rows can give, with indices below `limit`.
    pub fn check(&self, limit: u64) -> Result<(), String> {
        let legal = self.order.len() <= MAX_NAMES
            && self.places.len() == self.order.len()
            && self.order.iter().all(|index| u64::from(*index) < limit)
            && self.text.len() <= MAX_NAMES * 4 * MAX_NAME_BYTES;
        if legal { Ok(()) } else { Err("the names of hashed features do not fit".into()) }
    }
}

impl From<Vec<(u32, String)>> for HashNames {
    fn from(stored: Vec<(u32, String)>) -> Self {
        let mut names = Self::default();
        stored.iter().for_each(|(index, name)| names.push(*index, &[name]));
        names
    }
}

impl From<HashNames> for Vec<(u32, String)> {
    fn from(names: HashNames) -> Self {
        let pair = |(at, index): (usize, &u32)| (*index, names.name(at).to_owned());
        names.order.iter().enumerate().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_stays_and_names_are_bounded() {
        let mut names = HashNames::default();
        names.note(7, "text", b"free");
        names.note(7, "text", b"other");
        names.note(9, "text", &[b'x'; 100]);
        assert_eq!((names.get(7), names.get(9)), (Some("text=free"), None));
        (0..2 * MAX_NAMES as u32).for_each(|i| names.note(1000 + i, "c", b"w"));
        assert_eq!(names.len(), MAX_NAMES);
        names.truncate(1);
        assert_eq!((names.len(), names.get(1000)), (1, None));
        let stored = serde_json::to_string(&names).unwrap();
        assert_eq!(stored, r#"[[7,"text=free"]]"#);
        assert_eq!(serde_json::from_str::<HashNames>(&stored).unwrap(), names);
        assert!(names.check(8).is_ok() && names.check(7).is_err());
        let twice: HashNames = vec![(1, "a".into()), (1, "b".into())].into();
        assert!(twice.check(8).is_err());
    }
}
