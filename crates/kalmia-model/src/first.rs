//! The first rows of a stream, which decide the columns, the coding of the target and the family.

use crate::any_model::AnyModel;
use crate::error::{Error, Result};
use crate::settings::Settings;
use kalmia_data::{
    Block, Coding, Column, Encoder, EncoderOptions, Input, Kind, Mode, Reader, SourceOptions,
    WideRows,
};

/// What the first rows of a stream show about its columns. The rows are looked at, not learned, so
/// rows that are refused later decide nothing.
///
/// ```
/// use kalmia_data::{EncoderOptions, Input, SourceOptions};
/// use kalmia_model::{AnyModel, FirstRows, Settings};
///
/// let rows = Input::memory("rows.csv", *b"x,town,y\n1,Ulm,2.5\n2,Bonn,4\n");
/// let options = EncoderOptions::target("y");
/// let first = FirstRows::read(options, rows, SourceOptions::default())?;
/// let settings = Settings { family: "gaussian".parse()?, ..Settings::default() };
/// let model = first.model(settings)?;
/// assert_eq!((first.rows(), model.rows()), (2, 0));
/// // levels of a category become features when they are learned
/// assert_eq!(model.encoder().features().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FirstRows {
    options: EncoderOptions,
    shown: Encoder,
}

impl FirstRows {
    /// Reads the first block of some rows; `options` says what columns are for.
    pub fn read(options: EncoderOptions, rows: Input, source: SourceOptions) -> Result<Self> {
        let mut shown = Encoder::new(options.clone());
        let mut reader = Reader::open(vec![rows], source, &mut shown, Mode::Learn)?;
        reader.next_block(&mut shown, &mut Block::new())?;
        Ok(Self { options, shown })
    }

    /// Rows read.
    pub fn rows(&self) -> u64 {
        self.shown.counts().rows
    }

    /// The model before its first row, with these columns and of the kind that `settings.family`
    /// and the target ask for. Classes of the rows are known to it, levels of categories are not.
    pub fn model(&self, settings: Settings) -> Result<AnyModel> {
        let target = self.shown.target().ok_or(Error::NoTarget)?;
        // before the coding is declared, which takes the values so far to be 0 and 1
        let family = match (target.classes(), settings.family.quantiles()) {
            (None, None) => Some(settings.family.resolve(target)?.family),
            _ => None,
        };
        let options = EncoderOptions {
            wide: if self.shown.is_wide() { WideRows::Always } else { WideRows::Never },
            // they are not among the columns that are left
            exclude: Vec::new(),
            ..self.options.clone()
        };
        let kind = |column: &Column| (column.name.clone(), column.kind.unwrap_or(Kind::Number));
        let columns: Vec<_> = self.shown.columns().iter().map(kind).collect();
        let coding = target.coding.clone().unwrap_or(Coding::Number);
        let encoder = Encoder::from_columns(options, &columns, coding)?;
        match family {
            Some(family) => AnyModel::of_family(settings, family, encoder),
            None => AnyModel::new(settings, encoder),
        }
    }
}
