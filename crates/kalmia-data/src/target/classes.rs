//! The names of several classes, in the order of their first appearance.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::scalar;

/// The names of the classes of a target. A class is coded by its place, from 0. Two ways to write
/// one number, such as `1` and `1.0`, are one class, under the name that came first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct ClassNames {
    names: Vec<String>,
    /// The place of each name, numbers in their shortest form.
    places: HashMap<Box<[u8]>, u32>,
}

impl ClassNames {
    /// All names, by place.
    pub fn as_slice(&self) -> &[String] {
        &self.names
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The places in the order in which people expect the names: numbers by size, before texts.
    pub fn sorted(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.len()).collect();
        places.sort_by(|&a, &b| by_name(&self.names[a], &self.names[b]));
        places
    }

    /// The place of a name; `None` if it is none of these.
    ///
    /// ```
    /// use kalmia_data::ClassNames;
    ///
    /// let names = ClassNames::from(vec!["pear".to_owned(), "1.0".to_owned()]);
    /// assert_eq!((names.place("1"), names.place("apple")), (Some(1), None));
    /// ```
    pub fn place(&self, name: &str) -> Option<usize> {
        self.find(name.as_bytes()).map(|place| place as usize)
    }

    /// The names of several lists. Those that all lists have at the same places come first, the
    /// others follow in the order in which people expect them. Of two ways to write one number the
    /// smaller text stays. The order of the lists does not matter.
    pub(crate) fn union(lists: &[&Self]) -> Self {
        let mut spelled: HashMap<Box<[u8]>, &str> = HashMap::new();
        for name in lists.iter().flat_map(|list| &list.names) {
            let known = spelled.entry(key(name)).or_insert(name);
            *known = (*known).min(name.as_str());
        }
        let Some((first, others)) = lists.split_first() else { return Self::default() };
        let shared = |place: &usize, name: &String| {
            others.iter().all(|other| other.place(name) == Some(*place))
        };
        let prefix = first.names.iter().enumerate().take_while(|(place, name)| shared(place, name));
        let mut united = Self::default();
        prefix
            .filter_map(|(_, name)| spelled.remove(&key(name)))
            .for_each(|name| united.push(name));
        let mut rest: Vec<&str> = spelled.into_values().collect();
        rest.sort_by(|a, b| by_name(a, b));
        rest.into_iter().for_each(|name| united.push(name));
        united
    }

    /// The place of a name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        // most names stand as they were first seen
        let exact = self.places.get(name);
        exact.or_else(|| self.places.get(&*shortest(name)?)).copied()
    }

    /// Adds a name that is not there.
    pub(crate) fn push(&mut self, name: &str) {
        let place = self.names.len() as u32;
        self.places.insert(key(name), place);
        self.names.push(name.into());
    }

    /// Forgets the names after the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        for name in self.names.drain(len..) {
            self.places.remove(&key(&name));
        }
    }

    /// A name that stands for the same class as another.
    pub(crate) fn repeated(&self) -> Option<&String> {
        // the last of several is the one that is found
        let other =
            |(place, name): &(usize, &String)| self.find(name.as_bytes()) != Some(*place as u32);
        self.names.iter().enumerate().find(other).map(|(_, name)| name)
    }
}

impl From<Vec<String>> for ClassNames {
    fn from(names: Vec<String>) -> Self {
        let places = names.iter().enumerate().map(|(i, name)| (key(name), i as u32)).collect();
        Self { names, places }
    }
}

impl From<ClassNames> for Vec<String> {
    fn from(classes: ClassNames) -> Self {
        classes.names
    }
}

/// What a name is found by.
fn key(name: &str) -> Box<[u8]> {
    shortest(name.as_bytes()).unwrap_or_else(|| name.as_bytes().into())
}

/// The shortest form of a number.
fn shortest(name: &[u8]) -> Option<Box<[u8]>> {
    let number = scalar::number(name).filter(|number| number.is_finite())?;
    let mut text = Vec::new();
    scalar::write_number(number, &mut text);
    Some(text.into())
}

fn by_name(a: &str, b: &str) -> Ordering {
    match (scalar::number(a.as_bytes()), scalar::number(b.as_bytes())) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(names: &[&str]) -> ClassNames {
        names.iter().map(|name| name.to_string()).collect::<Vec<_>>().into()
    }

    #[test]
    fn one_number_is_one_class_however_it_is_written() {
        let mut names = classes(&["1.0", "ten"]);
        assert_eq!((names.find(b"1"), names.find(b"1.00"), names.find(b"ten")), {
            (Some(0), Some(0), Some(1))
        });
        assert_eq!((names.find(b"10"), names.find(b"Ten")), (None, None));
        names.push("10");
        assert_eq!(names.find(b"1e1"), Some(2));
        names.truncate(1);
        assert_eq!((names.find(b"ten"), names.find(b"10"), names.len()), (None, None, 1));
        assert_eq!(classes(&["1", "1.0"]).repeated().unwrap(), "1");
        assert_eq!(classes(&["1", "2"]).repeated(), None);
    }

    #[test]
    fn lists_are_united_in_any_order() {
        let lists = [
            classes(&["b", "1", "z", "c"]),
            classes(&["b", "1.0", "c", "a"]),
            classes(&["b", "1", "10", "9"]),
        ];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let united = ClassNames::union(&order.map(|i| &lists[i]));
            assert_eq!(united.as_slice(), ["b", "1", "9", "10", "a", "c", "z"]);
            assert_eq!(united.repeated(), None);
        }
        assert_eq!(ClassNames::union(&[&lists[0]]), lists[0]);
        assert!(ClassNames::union(&[]).is_empty());
    }

    #[test]
    fn people_expect_numbers_by_size_and_texts_by_letter() {
        let names = classes(&["pear", "10", "9", "apple", "-1"]);
        let sorted: Vec<_> = names.sorted().into_iter().map(|i| &*names.as_slice()[i]).collect();
        assert_eq!(sorted, ["-1", "9", "10", "apple", "pear"]);
    }
}
