//! What decides what is learned, as it stands in the model file.

use crate::error::{Error, Result};
use crate::family::FamilyChoice;
use crate::method::{Algorithm, Method};
use crate::weights::WeightKind;
use kalmia::{AnyFamily, Family, Outliers};
use kalmia_data::{BadRows, EncoderOptions, Format, SourceOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The choices that decide what is learned. A fit that is resumed must have the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// The family, as asked for.
    pub family: FamilyChoice,
    /// The method and its parameters.
    #[serde(flatten)]
    pub method: Method,
    /// The [digest](crate::Start::digest) of the start of the coefficients, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Whether the terms of the certificate are summed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub certificate: bool,
    /// Whether conformal intervals are learned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conformal: bool,
    /// What weights mean.
    #[serde(default, skip_serializing_if = "WeightKind::is_default")]
    pub weight_kind: WeightKind,
    /// The seed of the random order in which the rows were learned, if they were shuffled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// How files are read.
    #[serde(flatten)]
    pub source: SourceFormat,
}

/// How the bytes of files are read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SourceFormat {
    /// Format, where given.
    pub format: Option<Format>,
    /// Field separator, where given.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Whether numbers have a decimal comma.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decimal_comma: bool,
    /// What rows do that cannot be read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bad_rows: BadRows,
    /// The first rows alone, where given.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limit: Option<u64>,
    /// What starts a line that is no row, where given.
    #[serde(default, skip_serializing_if = "is_default")]
    pub comment: Option<u8>,
    /// Lines before the header.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip_lines: u64,
}

/// Whether a setting need not stand in the file.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for SourceFormat {
    fn default() -> Self {
        Self::from(&SourceOptions::default())
    }
}

impl From<&SourceOptions> for SourceFormat {
    fn from(options: &SourceOptions) -> Self {
        Self {
            format: options.format,
            delimiter: options.delimiter,
            header: options.header,
            decimal_comma: options.decimal_comma,
            bad_rows: options.bad_rows,
            limit: options.limit,
            comment: options.comment,
            skip_lines: options.skip_lines,
        }
    }
}

/// A setting that differs between a checkpoint and the command that resumes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The setting.
    pub name: String,
    /// Its value in the checkpoint.
    pub before: String,
    /// Its value now.
    pub now: String,
}

impl Settings {
    /// Refuses choices that contradict each other: a family with a dispersion, and the method that
    /// learns it; a certificate, and a method that has none. Files of earlier versions may hold
    /// such a pair, so reading does not check.
    pub fn check(&self) -> Result<()> {
        let filter = matches!(self.method.algorithm, Algorithm::Filter { .. });
        if self.certificate && !filter {
            return Err(Error::NoCertificate { method: self.method.name() });
        }
        if self.method.parameters().outliers == Some(Outliers::Downweight)
            && let Some(family @ (AnyFamily::Quantile(_) | AnyFamily::Student(_))) =
                self.family.named()
        {
            return Err(Error::FamilyOutliers { family: family.name().into() });
        }
        match (self.method.algorithm, self.family.fixed_dispersion()) {
            (Algorithm::Auto { .. } | Algorithm::Wide { .. }, Some(family)) => {
                Err(Error::DispersionNotTaken { family: family.into() })
            }
            _ => Ok(()),
        }
    }

    /// The first setting, or choice of columns, that `now` has otherwise; the method first.
    pub fn difference(
        &self,
        columns: &EncoderOptions,
        now: &Self,
        columns_now: &EncoderOptions,
    ) -> Option<Difference> {
        let before = fields(self, columns);
        let now = fields(now, columns_now);
        let names = now.keys().chain(before.keys()).map(String::as_str);
        let names = ["method"].into_iter().chain(names);
        let differs = |name: &&str| before.get(*name) != now.get(*name);
        let show = |value: Option<&Value>| value.map_or("absent".into(), Value::to_string);
        names.into_iter().find(differs).map(|name| Difference {
            name: name.into(),
            before: show(before.get(name)),
            now: show(now.get(name)),
        })
    }
}

/// Every setting by its name.
fn fields(settings: &Settings, columns: &EncoderOptions) -> Map<String, Value> {
    // both are plain structs, which JSON holds as objects
    let object = |value: serde_json::Result<Value>| match value {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let mut all = object(serde_json::to_value(settings));
    all.extend(object(serde_json::to_value(columns)));
    // these follow from method and family, and files of earlier versions have none
    all.remove("wide");
    all.remove("classes");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_the_parameters_of_their_method_alone() {
        let settings = Settings { method: "truncated".parse().unwrap(), ..Settings::default() };
        let json = serde_json::to_string(&settings).unwrap();
        let expected = concat!(
            r#"{"family":"auto","method":"truncated","prior":1.0,"scale":1.0,"beta":0.49,"#,
            r#""format":null,"delimiter":null,"header":true}"#
        );
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
    }

    #[test]
    fn the_first_difference_is_named() {
        let columns = EncoderOptions::target("y");
        let auto = Settings::default();
        assert_eq!(auto.difference(&columns, &auto, &columns), None);
        let filter = Settings { method: "ekf".parse().unwrap(), ..auto.clone() };
        let found = auto.difference(&columns, &filter, &columns).unwrap();
        assert_eq!((&*found.name, &*found.before, &*found.now), ("method", "\"auto\"", "\"ekf\""));
        let source = SourceFormat { limit: Some(5), ..SourceFormat::default() };
        let limited = Settings { source, ..auto.clone() };
        for (one, two) in [(&auto, &limited), (&limited, &auto)] {
            assert_eq!(one.difference(&columns, two, &columns).unwrap().name, "limit");
        }
        let other = EncoderOptions { intercept: false, ..EncoderOptions::target("y") };
        let found = auto.difference(&columns, &auto, &other).unwrap();
        assert_eq!((&*found.name, &*found.before, &*found.now), ("intercept", "true", "false"));
    }
}
