//! Where the coefficients start: `theta_1` and `P_1`, given beside a method that takes them.

use crate::error::{Error, Result};
use crate::method::MethodName;
use crate::parameters::{Parameter, Parameters};
use kalmia::Prior;
use serde::Deserialize;

/// The coefficients before the first row and their covariance; what is absent has the method's
/// default. Taken by the filters and by `ons`, whose `P_1` it replaces.
///
/// It is no part of [`crate::Method`], which is small and copied freely: a full matrix belongs to a
/// fixed list of coefficients, a method to any. The learner's state keeps the numbers, and
/// [`crate::Settings`] their [digest](Self::digest), so a resumed fit can tell whether it was given
/// the same.
///
/// ```
/// use kalmia_model::Start;
///
/// let text = r#"{"coefficients": ["(intercept)", "x"], "mean": [0.5, -1], "covariance": [4, 1]}"#;
/// let start = Start::from_json(text)?;
/// let prior = start.prior(&["x", "(intercept)"], kalmia::Prior::isotropic(2, 1.0)?)?;
/// assert_eq!((prior.mean(), prior.variance(1)), ([-1.0, 0.5].as_slice(), 4.0));
/// # Ok::<(), kalmia_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The names of the coefficients, in the order of the numbers below; empty if they are in the
    /// model's own order.
    #[serde(default)]
    pub coefficients: Vec<String>,
    /// The coefficients.
    pub mean: Option<Vec<f64>>,
    /// Their covariance.
    pub covariance: Option<Spread>,
}

/// A covariance: one variance for all coefficients, one for each, or a matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Spread {
    /// The same variance for every coefficient.
    Variance(f64),
    /// A variance for each, without correlation.
    Variances(Vec<f64>),
    /// The rows of a symmetric positive definite matrix.
    Matrix(Vec<Vec<f64>>),
}

/// Refuses a start, in words that follow "the start".
fn refuse<T>(problem: impl Into<String>) -> Result<T> {
    Err(Error::Start { problem: problem.into() })
}

impl Start {
    /// From an object with the keys `coefficients`, `mean` and `covariance`, of which the first is
    /// required: a file must say which number belongs to which coefficient.
    pub fn from_json(text: &str) -> Result<Self> {
        let start: Self = match serde_json::from_str(text) {
            Ok(start) => start,
            Err(error) => {
                return refuse(format!(
                    "is no JSON object of coefficients, mean and covariance: {error}"
                ));
            }
        };
        if start.coefficients.is_empty() {
            return refuse("names no coefficients: give their names in \"coefficients\"");
        }
        if start.mean.is_none() && start.covariance.is_none() {
            return refuse("holds neither a mean nor a covariance: give one of them");
        }
        Ok(start)
    }

    /// Refuses a method that takes no start, and a variance that is given twice.
    pub fn check(&self, method: MethodName, given: &Parameters) -> Result<()> {
        let variance = match method {
            MethodName::Auto | MethodName::Wide | MethodName::Asgd => {
                return Err(Error::StartNotTaken { method });
            }
            MethodName::Ons => Parameter::Lambda,
            _ => Parameter::Prior,
        };
        if self.covariance.is_some() && given.has(variance) {
            return refuse(format!(
                "holds a covariance, and {} is given too: give one of them",
                variance.name()
            ));
        }
        Ok(())
    }

    /// The prior of coefficients with these names; what is absent here is that of `default`.
    pub fn prior(&self, names: &[&str], default: Prior) -> Result<Prior> {
        let places = self.places(names)?;
        let dim = names.len();
        let in_order = |values: &[f64]| -> Vec<f64> { places.iter().map(|&k| values[k]).collect() };
        let fits = |what: &str, found: usize| match found == dim {
            true => Ok(()),
            false => {
                refuse(format!("has {found} {what} for {dim} coefficients: give one for each"))
            }
        };
        let prior = match &self.covariance {
            None => default,
            Some(Spread::Variance(variance)) => Prior::isotropic(dim, *variance)?,
            Some(Spread::Variances(variances)) => {
                fits("variances", variances.len())?;
                Prior::diagonal(in_order(variances))?
            }
            Some(Spread::Matrix(rows)) => {
                fits("rows of a covariance", rows.len())?;
                for row in rows {
                    fits("numbers in a row of the covariance", row.len())?;
                }
                let matrix = places.iter().flat_map(|&k| in_order(&rows[k])).collect();
                Prior::full(matrix, dim)?
            }
        };
        match &self.mean {
            None => Ok(prior),
            Some(mean) => {
                fits("means", mean.len())?;
                Ok(prior.with_mean(&in_order(mean))?)
            }
        }
    }

    /// Where the number of each coefficient stands.
    fn places(&self, names: &[&str]) -> Result<Vec<usize>> {
        if self.coefficients.is_empty() {
            return Ok((0..names.len()).collect());
        }
        let place = |name: &str| self.coefficients.iter().position(|known| known == name);
        let known = |name: &String| names.contains(&name.as_str());
        if let Some(name) = self.coefficients.iter().find(|name| !known(name)) {
            return refuse(format!(
                "names `{name}`, but the first rows have the coefficients {}",
                listed(names)
            ));
        }
        if let Some(k) =
            (0..self.coefficients.len()).find(|&k| place(&self.coefficients[k]) != Some(k))
        {
            return refuse(format!("names `{}` twice: keep one", self.coefficients[k]));
        }
        names
            .iter()
            .map(|name| match place(name) {
                Some(place) => Ok(place),
                None => {
                    refuse(format!("does not name `{name}`: add it, every coefficient needs one"))
                }
            })
            .collect()
    }

    /// A short text that differs between different starts, for the settings of a model (FNV-1a).
    pub fn digest(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut feed = |bytes: &[u8]| {
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        self.coefficients.iter().for_each(|name| {
            feed(name.as_bytes());
            feed(&[0]);
        });
        let mut part = |tag: u8, values: &mut dyn Iterator<Item = f64>| {
            feed(&[1, tag]);
            values.for_each(|value| feed(&value.to_bits().to_le_bytes()));
        };
        part(0, &mut self.mean.iter().flatten().copied());
        match &self.covariance {
            None => {}
            Some(Spread::Variance(variance)) => part(1, &mut std::iter::once(*variance)),
            Some(Spread::Variances(variances)) => part(2, &mut variances.iter().copied()),
            Some(Spread::Matrix(rows)) => part(3, &mut rows.iter().flatten().copied()),
        }
        format!("{hash:016x}")
    }
}

/// Some names in a row.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 8;
    let shown: Vec<_> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(MOST);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["(intercept)", "a", "b"];

    fn one(text: &str) -> Result<Prior> {
        Start::from_json(text)?.prior(&NAMES, Prior::isotropic(3, 7.0)?)
    }

    #[test]
    fn numbers_follow_their_names() {
        let text = r#"{"coefficients":["b","(intercept)","a"],"mean":[3,1,2],
                       "covariance":[[9,0.5,0.25],[0.5,4,0.125],[0.25,0.125,1]]}"#;
        let prior = one(text).unwrap();
        assert_eq!(prior.mean(), [1.0, 2.0, 3.0]);
        let expected = [4.0, 0.125, 0.5, 0.125, 1.0, 0.25, 0.5, 0.25, 9.0];
        assert_eq!(prior.matrix(), expected);
        let mean = one(r#"{"coefficients":["a","b","(intercept)"],"mean":[1,2,3]}"#).unwrap();
        assert_eq!((mean.mean(), mean.variance(2)), ([3.0, 1.0, 2.0].as_slice(), 7.0));
        let scalar = one(r#"{"coefficients":["a","b","(intercept)"],"covariance":2}"#).unwrap();
        assert_eq!((scalar.mean(), scalar.variance(0)), ([0.0; 3].as_slice(), 2.0));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |text: &str| one(text).unwrap_err().to_string();
        let names = r#""coefficients":["(intercept)","a","b"]"#;
        for (text, problem) in [
            ("[1]", "is no JSON object"),
            (r#"{"mean":[1,2,3]}"#, "names no coefficients"),
            (&format!("{{{names}}}"), "neither a mean nor a covariance"),
            (r#"{"coefficients":["(intercept)","a","c"],"mean":[1,2,3]}"#, "names `c`, but"),
            (r#"{"coefficients":["(intercept)","a"],"mean":[1,2]}"#, "does not name `b`"),
            (r#"{"coefficients":["(intercept)","a","a","b"],"mean":[1,2,2,3]}"#, "`a` twice"),
            (&format!("{{{names},\"mean\":[1,2]}}"), "has 2 means for 3 coefficients"),
            (&format!("{{{names},\"covariance\":[1,2]}}"), "has 2 variances for 3"),
            (&format!("{{{names},\"covariance\":[[1,0,0],[0,1],[0,0,1]]}}"), "has 2 numbers in"),
            (&format!("{{{names},\"variance\":[1,2,3]}}"), "unknown field"),
        ] {
            let found = refused(text);
            assert!(found.starts_with("the start ") && found.contains(problem), "{found}");
        }
        assert!(refused(&format!("{{{names},\"covariance\":-1}}")).contains("positive definite"));
    }

    #[test]
    fn methods_and_parameters_that_contradict_it_are_refused() {
        let text = r#"{"coefficients":["a"],"covariance":2}"#;
        let start = Start::from_json(text).unwrap();
        let none = Parameters::default();
        for method in MethodName::ALL {
            let taken = !matches!(method, MethodName::Auto | MethodName::Wide | MethodName::Asgd);
            assert_eq!(start.check(method, &none).is_ok(), taken, "{method}");
        }
        let prior = Parameters { prior: Some(2.0), ..none };
        let lambda = Parameters { lambda: Some(2.0), ..none };
        assert!(start.check(MethodName::Ekf, &prior).is_err());
        assert!(start.check(MethodName::Ons, &lambda).is_err());
        let mean = Start { covariance: None, mean: Some(vec![1.0]), ..start };
        assert!(mean.check(MethodName::Ekf, &prior).is_ok());
    }

    #[test]
    fn different_starts_have_different_digests() {
        let texts = [
            r#"{"coefficients":["a","b"],"mean":[1,2]}"#,
            r#"{"coefficients":["a","b"],"mean":[2,1]}"#,
            r#"{"coefficients":["ab"],"mean":[1,2]}"#,
            r#"{"coefficients":["a","b"],"covariance":[1,2]}"#,
            r#"{"coefficients":["a","b"],"covariance":[[1,2]]}"#,
        ];
        let digests: Vec<_> =
            texts.iter().map(|text| Start::from_json(text).unwrap().digest()).collect();
        for (i, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().position(|other| other == digest), Some(i));
            assert_eq!(Start::from_json(texts[i]).unwrap().digest(), *digest);
        }
    }
}
