//! Everything that requests share: the models, the store, who may do what, and how much is under
//! way.

use crate::admission::Admission;
use crate::auth::{Access, TokenFile};
use crate::config::Config;
use crate::declaration::Declaration;
use crate::error::{ApiError, Code, Result};
use crate::hosted::{Hosted, Live};
use crate::recover::{self, Recovered};
use crate::snapshots::Snapshots;
use crate::store::{Store, sql};
use crate::telemetry::Telemetry;
use kalmia_model::AnyModel;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Characters of a model's name at most.
const MAX_NAME: usize = 64;
/// Entries of the log that one job removes at most; others wait that long.
const TRIM: usize = 2000;

/// The service without its routes.
pub struct Service {
    /// What the operator set.
    pub config: Config,
    /// Who may do what.
    pub access: Access,
    /// The database.
    pub store: Arc<Store>,
    /// How much is under way.
    pub admission: Admission,
    /// What an operator can watch.
    pub telemetry: Arc<Telemetry>,
    /// The files beside the database.
    pub snapshots: Snapshots,
    /// Where entries are learned.
    pub runtime: Handle,
    /// True once the service stops.
    pub stopping: watch::Sender<bool>,
    models: RwLock<BTreeMap<String, Arc<Hosted>>>,
    /// Held while a model is created or deleted.
    changing: tokio::sync::Mutex<()>,
    /// Locked as long as the process runs: a folder belongs to one service.
    _folder_lock: File,
}

/// Seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A time in the future, in seconds since 1970.
pub fn after(time: Duration) -> i64 {
    now().saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

impl Service {
    /// Reads tokens and models, and learns again what the log holds since their snapshots. Call it
    /// in a runtime, where it blocks.
    pub fn open(config: Config) -> std::result::Result<Arc<Self>, String> {
        let access = match &config.token_file {
            Some(path) => Access::Tokens(TokenFile::open(path)?),
            None if config.listen.ip().is_loopback() => Access::Open,
            None => {
                return Err(format!(
                    "without tokens the service listens on the loopback interface only, not on {}; \
                     give --token-file, or put a proxy before it",
                    config.listen
                ));
            }
        };
        let telemetry = Arc::new(Telemetry::default());
        let Recovered { models, connection, sequences, snapshots, folder_lock } =
            recover::recover(&config.data)?;
        let commits = telemetry.clone();
        let on_commit = Box::new(move |jobs, time| commits.committed(jobs, time));
        let store = Arc::new(Store::start(connection, sequences, on_commit));
        Ok(Arc::new(Self {
            access,
            store,
            admission: Admission::new(&config.limits),
            telemetry,
            snapshots,
            runtime: Handle::current(),
            stopping: watch::Sender::new(false),
            models: RwLock::new(
                models.into_iter().map(|model| (model.name.clone(), Arc::new(model))).collect(),
            ),
            changing: tokio::sync::Mutex::default(),
            config,
            _folder_lock: folder_lock,
        }))
    }

    /// All models, in the order of their names.
    pub fn models(&self) -> Vec<Arc<Hosted>> {
        self.models.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// A model by name.
    pub fn model(&self, name: &str) -> Result<Arc<Hosted>> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.get(name).cloned().ok_or_else(|| ApiError::unknown_model(name))
    }

    /// Whether a stop was asked for.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Creates a model. Whether it is new: the same declaration again changes nothing.
    pub async fn create(
        &self,
        name: &str,
        declaration: Declaration,
        model: Option<AnyModel>,
    ) -> Result<(Arc<Hosted>, bool)> {
        check_name(name)?;
        let _changing = self.changing.lock().await;
        if let Ok(known) = self.model(name) {
            if known.declaration == declaration && known.damage().is_none() {
                return Ok((known, false));
            }
            return Err(ApiError::new(
                Code::ModelExists,
                format!("there is a model `{name}`, declared otherwise"),
            )
            .hint("choose another name, or DELETE the model first"));
        }
        self.check_room()?;
        self.check_memory(model.as_ref()).await?;
        let json = serde_json::to_string(&declaration).map_err(ApiError::internal)?;
        let live = model.map(Live::new);
        let stored_name = name.to_owned();
        let id = self
            .store
            .call(move |writing| {
                let id = sql::insert_model(writing.transaction, &stored_name, &json, now())?;
                writing.sequences.set(id, 0);
                Ok(id)
            })
            .await?;
        let hosted = Arc::new(Hosted::new(id, name.into(), declaration, None));
        if let Some(live) = live
            && let Err(error) = self.give_state(&hosted, live).await
        {
            self.remove(&hosted).await?;
            return Err(error);
        }
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        models.insert(name.into(), hosted.clone());
        drop(models);
        crate::log::info(&format!("model `{name}` was created"));
        Ok((hosted, true))
    }

    /// Gives an empty model its state before the first entry, durably.
    async fn give_state(&self, hosted: &Arc<Hosted>, live: Live) -> Result<()> {
        let live = self.snapshots.write_first(&self.store, hosted.id, live).await?;
        hosted.fill(live).await;
        Ok(())
    }

    /// Gives a model that was declared without columns its state, unless it was deleted meanwhile.
    pub async fn give_first_state(&self, hosted: &Arc<Hosted>, live: Live) -> Result<()> {
        let _changing = self.changing.lock().await;
        if hosted.is_deleted() {
            return Err(ApiError::unknown_model(&hosted.name));
        }
        self.give_state(hosted, live).await
    }

    /// Refuses a model beyond their number.
    fn check_room(&self) -> Result<()> {
        let count = self.models().len();
        if count < self.config.limits.models {
            return Ok(());
        }
        let message = format!("there are {count} models, which is the limit");
        Err(ApiError::new(Code::Limit, message)
            .hint("DELETE a model, or start the service with a larger --max-models"))
    }

    /// Refuses a model beyond the limit of memory.
    pub async fn check_memory(&self, model: Option<&AnyModel>) -> Result<()> {
        let limits = &self.config.limits;
        let mut bytes = model.map_or(0, AnyModel::memory);
        for hosted in self.models() {
            bytes += hosted.live.read().await.as_ref().map_or(0, |live| live.model.memory());
        }
        if bytes > limits.model_bytes {
            let text = kalmia::memory::text(limits.model_bytes);
            let message = format!("the models would take more than {text} of memory");
            return Err(ApiError::new(Code::Limit, message)
                .hint("DELETE a model, or start the service with a larger --max-memory"));
        }
        Ok(())
    }

    /// Deletes a model and all that belongs to it.
    pub async fn delete(&self, name: &str) -> Result<()> {
        let _changing = self.changing.lock().await;
        let hosted = self.model(name)?;
        self.remove(&hosted).await?;
        self.models.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        crate::log::info(&format!("model `{name}` was deleted"));
        Ok(())
    }

    async fn remove(&self, hosted: &Arc<Hosted>) -> Result<()> {
        let id = hosted.id;
        self.store
            .call(move |writing| {
                writing.sequences.remove(id);
                sql::delete_model(writing.transaction, id)
            })
            .await?;
        hosted.deleted.store(true, Ordering::Release);
        hosted.changed();
        self.snapshots.remove_files(id);
        self.trim(id, u64::MAX).await
    }

    /// Removes entries up to `sequence` from a model's log, some at a time.
    pub async fn trim(&self, model: i64, sequence: u64) -> Result<()> {
        let last = i64::try_from(sequence).unwrap_or(i64::MAX) as u64;
        loop {
            let trim = move |writing: &mut crate::store::Writing<'_>| {
                sql::trim_log(writing.transaction, model, last, TRIM)
            };
            if self.store.call(trim).await? < TRIM {
                return Ok(());
            }
        }
    }
}

/// Names become parts of addresses and of files.
fn check_name(name: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.len() <= MAX_NAME && name.chars().all(legal) {
        return Ok(());
    }
    Err(ApiError::new(Code::BadRequest, "a model cannot have this name").hint(format!(
        "use up to {MAX_NAME} letters, digits, `-`, `_` and `.`, a letter or digit first"
    )))
}
