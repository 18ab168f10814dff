//! The declaration of a closed form: one list of fields yields the typed input, its validation and
//! its place in the registry.

use crate::Variant;
use crate::registry::{Inputs, Kind, Parameter, RegistryError};
use crate::value::Value;
use kalmia::{Error, Result};

/// A type that an input's field can have.
pub(crate) trait Field: Copy {
    /// Its kind, for the registry.
    const KIND: Kind;
    /// What a value must be to be read, as a phrase.
    const EXPECTED: &'static str;
    /// The number whose domain is checked, if there is one.
    fn number(self) -> Option<f64>;
    /// Reads it from a dynamic value.
    fn read(value: &Value) -> Option<Self>;
}

impl Field for f64 {
    const KIND: Kind = Kind::Real;
    const EXPECTED: &'static str = "a number";

    fn number(self) -> Option<f64> {
        Some(self)
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_number()
    }
}

impl Field for u64 {
    const KIND: Kind = Kind::Integer;
    const EXPECTED: &'static str = "a whole number from 0 to 2^53";

    fn number(self) -> Option<f64> {
        Some(self as f64)
    }

    fn read(value: &Value) -> Option<Self> {
        let x = value.as_number()?;
        (x >= 0.0 && x <= (1u64 << 53) as f64 && x.fract() == 0.0).then_some(x as u64)
    }
}

/// A number, or `auto` for one that the closed form chooses.
impl Field for Option<f64> {
    const KIND: Kind = Kind::Real;
    const EXPECTED: &'static str = "a number or `auto`";

    fn number(self) -> Option<f64> {
        self
    }

    fn read(value: &Value) -> Option<Self> {
        if value.as_text() == Some("auto") { Some(None) } else { value.as_number().map(Some) }
    }
}

impl Field for Variant {
    const KIND: Kind = Kind::Variant;
    const EXPECTED: &'static str = "`paper` or `corrected`";

    fn number(self) -> Option<f64> {
        None
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_text()? {
            "paper" => Some(Variant::Paper),
            "corrected" => Some(Variant::Corrected),
            _ => None,
        }
    }
}

/// Requires `ok`, or names the parameter.
pub(crate) fn require(
    ok: bool,
    name: &'static str,
    value: f64,
    expected: &'static str,
) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::Parameter { name, value, expected }) }
}

/// Requires a length, or names the slice.
pub(crate) fn require_len(name: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Length { name, expected, found }) }
}

/// Requires `x` in the domain of its parameter.
pub(crate) fn check(parameter: &Parameter, x: f64) -> Result<()> {
    require(parameter.domain.contains(x), parameter.name, x, parameter.domain.phrase())
}

/// The parameter's value among `inputs`, or its default.
pub(crate) fn read<T: Field>(
    function: &'static str,
    parameter: &Parameter,
    inputs: &Inputs,
) -> std::result::Result<T, RegistryError> {
    let name = parameter.name;
    let typed = parameter.default.map(Value::from);
    let value = inputs
        .get(name)
        .or(typed.as_ref())
        .ok_or_else(|| RegistryError::MissingParameters { function, names: vec![name] })?;
    T::read(value).ok_or_else(|| {
        // A negative count has the right type and is outside its domain.
        match value.as_number() {
            Some(x) if T::KIND == Kind::Integer && x < 0.0 => {
                Error::Parameter { name, value: x, expected: parameter.domain.phrase() }.into()
            }
            _ => {
                RegistryError::Type { function, name, value: value.clone(), expected: T::EXPECTED }
            }
        }
    })
}

/// Whether a statement that holds with at least this probability says anything.
pub(crate) fn says_something(probability: f64) -> bool {
    probability > 0.0
}

/// Requires $\Lambda_{\min}\le D_X^2$, true of every law of $X$ with $\|X\|\le D_X$; the closed
/// forms take logarithms that rely on it.
pub(crate) fn check_design(lambda_min: f64, d_x: f64) -> Result<()> {
    // The slack admits the isotropic case, an equality in exact arithmetic.
    require(lambda_min <= d_x * d_x * (1.0 + 1e-9), "Lmin", lambda_min, "cannot exceed D_X^2")
}

/// Declares the input of a closed form: `field: type, "key", Domain (= "default");`, the doc
/// comment being the description.
///
/// The type's `formula(self) -> Result<Output>` is written beside the declaration and sees checked
/// fields only.
macro_rules! bound {
    (
        $(#[$meta:meta])*
        $name:ident -> $output:ident: $key:literal, $label:literal, $holds:literal;
        $summary:literal
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $ty:ty, $fkey:literal, $domain:ident $(= $default:literal)?;
        )+
    ) => {
        #[doc = $summary]
        #[doc = ""]
        $(#[$meta])*
        #[doc = ""]
        #[doc = concat!("Registry name `", $key, "`.")]
        #[doc = concat!("The statement holds with probability: ", $holds, ".")]
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ #[doc = concat!(" (`", $fkey, "`)")] pub $field: $ty,)+
        }

        impl $name {
            /// The entry in the registry.
            pub const ENTRY: $crate::Entry = $crate::Entry {
                name: $key,
                summary: $summary,
                label: $label,
                holds: $holds,
                parameters: Self::PARAMETERS,
                run: |inputs| Ok(Self::read(inputs)?.evaluate()?.values()),
            };

            const PARAMETERS: &'static [$crate::Parameter] = &[$($crate::Parameter {
                name: $fkey,
                text: concat!($($doc),+),
                default: $crate::bound::bound!(@default $($default)?),
                kind: <$ty as $crate::bound::Field>::KIND,
                domain: $crate::Domain::$domain,
            }),+];

            fn read(inputs: &$crate::Inputs) -> ::std::result::Result<Self, $crate::RegistryError> {
                let mut parameters = Self::PARAMETERS.iter();
                let mut next = || parameters.next().expect("as many parameters as fields");
                Ok(Self { $($field: $crate::bound::read::<$ty>($key, next(), inputs)?),+ })
            }

            /// Checks the parameters and evaluates the closed form.
            pub fn evaluate(self) -> ::kalmia::Result<$output> {
                let numbers = [$($crate::bound::Field::number(self.$field)),+];
                for (parameter, number) in Self::PARAMETERS.iter().zip(numbers) {
                    number.map_or(Ok(()), |x| $crate::bound::check(parameter, x))?;
                }
                self.formula()
            }
        }
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
}

/// Declares the output of a closed form: `field: type, "key";`, or `field: type;` for what the
/// registry leaves out.
macro_rules! output {
    (
        $(#[$meta:meta])*
        $name:ident;
        $($(#[doc = $doc:literal])+ $field:ident: $ty:ty $(, $fkey:literal)?;)+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $ty,)+
        }

        impl $name {
            /// The values by their names in the registry.
            pub fn values(&self) -> $crate::Outputs {
                let mut values = $crate::Outputs::new();
                $($(if let Some(value) = $crate::value::Export::export(self.$field) {
                    values.set($fkey, value);
                })?)+
                values
            }
        }
    };
}

pub(crate) use {bound, output};
