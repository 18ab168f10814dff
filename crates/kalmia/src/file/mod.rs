//! Model files: any serde state, bit for bit, in a checked, versioned and deterministic container.
//!
//! The container is safetensors: a JSON header and tensors of F64, F32 or U32. [`save`] and
//! [`load`] do it all; [`ModelFile`] is for bytes that do not live in a file, and for readers that
//! accept several kinds. [`ModelFile::new`] turns the state into JSON and moves numbers into
//! tensors where JSON would be large (arrays of 16 numbers or more) or cannot hold them (NaN and
//! infinities). [`ModelFile::state`] puts them back. `docs/model-file.md` describes the bytes for
//! readers in other languages.
//!
//! ```
//! use kalmia::learner::FilterState;
//! use kalmia::rule::AnyRule;
//! use kalmia::{AnyFamily, Filter, Prior, file};
//!
//! # let folder = std::env::temp_dir().join(format!("kalmia-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("model.kalmia");
//! let family: AnyFamily = "poisson".parse()?;
//! let filter = Filter::new(family, AnyRule::Implicit, Prior::isotropic(3, 1.0)?)?;
//! file::save(&path, "filter", &filter.state(), Default::default())?;
//! let state: FilterState<AnyFamily, AnyRule> = file::load(&path, "filter")?.state;
//! assert_eq!(state, filter.state());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod claim;
mod container;
mod error;
mod join;
mod split;
mod temporary;

pub use atomic::{check_writable, replace};
pub use claim::Claim;
pub use error::{FileError, Problem};

use crate::covariance::packed::NumberType;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The latest format that this version reads, and the one that it writes.
pub const FORMAT: u64 = 1;

/// The version of the crate, written into each file.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// JSON about where a model comes from. The file has nothing beyond it: no time, no user name.
pub type Metadata = Map<String, Value>;

/// Numbers kept outside the JSON.
#[derive(Debug, Clone)]
enum Tensor {
    Scalar(f64),
    /// Little-endian bytes, as in the file.
    Array(NumberType, Vec<u8>),
}

impl Tensor {
    fn with_bytes<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Scalar(number) => f(&number.to_le_bytes()),
            Self::Array(_, bytes) => f(bytes),
        }
    }
}

type Tensors = BTreeMap<String, Tensor>;

/// The content of a model file.
#[derive(Debug, Clone)]
pub struct ModelFile {
    kind: String,
    version: String,
    metadata: Metadata,
    state: Value,
    tensors: Tensors,
}

/// A state read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<T> {
    /// The state.
    pub state: T,
    /// What was stored beside it.
    pub metadata: Metadata,
    /// The version of kalmia that wrote the file.
    pub version: String,
}

/// Writes a state under the name of its kind, atomically: at every moment the path holds either the
/// previous file or the whole new one.
pub fn save<T: Serialize + ?Sized>(
    path: impl AsRef<Path>,
    kind: &str,
    state: &T,
    metadata: Metadata,
) -> Result<(), FileError> {
    let path = path.as_ref();
    ModelFile::new(kind, state, metadata).map_err(|problem| problem.at(path))?.write(path)
}

/// Reads a state; refuses a file that was saved as another kind.
pub fn load<T: DeserializeOwned>(
    path: impl AsRef<Path>,
    kind: &str,
) -> Result<Loaded<T>, FileError> {
    let path = path.as_ref();
    let file = ModelFile::read(path)?;
    let state = file.state(kind).map_err(|problem| problem.at(path))?;
    Ok(Loaded { state, metadata: file.metadata, version: file.version })
}

impl ModelFile {
    /// Stores a state under the name of its kind, which readers ask for.
    pub fn new<T: Serialize + ?Sized>(
        kind: &str,
        state: &T,
        metadata: Metadata,
    ) -> Result<Self, Problem> {
        let mut metadata = Value::Object(metadata);
        if split::depth(&metadata) > split::MAX_DEPTH {
            return Err(Problem::Unstorable { at: "metadata".into(), message: split::too_deep() });
        }
        // needed only if another crate turns on serde_json's `preserve_order`
        metadata.sort_all_objects();
        let Value::Object(metadata) = metadata else { unreachable!("made as an object above") };
        let (state, tensors) = split::split(state)?;
        let file = Self { kind: kind.into(), version: VERSION.into(), metadata, state, tensors };
        container::check_header(&file)?;
        Ok(file)
    }

    /// The kind of the state, for readers that accept several.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The version of kalmia that wrote the file.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What was stored beside the state.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The state; refuses a file of another kind.
    pub fn state<T: DeserializeOwned>(&self, kind: &str) -> Result<T, Problem> {
        if self.kind != kind {
            return Err(Problem::Kind { expected: kind.into(), found: self.kind.clone() });
        }
        join::join(&self.state, &self.tensors)
    }

    /// Reads and checks a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let bytes = File::open(path)
            .and_then(read_model)
            .map_err(|reason| FileError::Read { path: path.into(), reason })?;
        Self::from_bytes(&bytes).map_err(|problem| problem.at(path))
    }

    /// Writes the file atomically (see [`replace`]).
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        replace(path, |sink| self.write_to(sink))
            .map_err(|reason| FileError::Write { path: path.into(), reason })
    }

    /// Reads and checks the bytes of a file. No input makes it panic or allocate much more than its
    /// own length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Problem> {
        container::decode(bytes)
    }

    /// The bytes of the file: the same content gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).expect("a vector takes all bytes");
        bytes
    }

    /// Writes the bytes of the file without building them in memory.
    pub fn write_to(&self, sink: &mut dyn Write) -> io::Result<()> {
        container::encode(self, sink)
    }
}

/// All bytes if they start like a model, else the first few: a device or an unrelated large file is
/// not read to its end.
fn read_model(file: File) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&file).take(container::HEAD as u64).read_to_end(&mut bytes)?;
    if container::starts_as_model(&bytes) {
        bytes.reserve_exact(usize::try_from(size).unwrap_or(0).saturating_sub(bytes.len()));
        (&file).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
