//! The settings of this call and the store they name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use legwork_orchestrator::coordinator::Coordinator;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::run::DEFAULT_TENANT;
use legwork_shared::store::Store;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};

use super::Out;
use crate::config::{Key, Layers, Settings, StorePlace, parse_file};

/// The name of our folder among the user's folders.
const FOLDER: &str = "legwork";
/// How long a command waits for another process that writes. A transaction takes milliseconds; a person who waits longer
/// than this wants to know why.
const BUSY_TIMEOUT_MS: u64 = 10_000;

/// What the caller wants to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// What to do where the store is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Make it.
    Create,
    /// Say so: nothing can be in it.
    Refuse,
}

/// The settings of this call.
#[derive(Debug, Clone)]
pub struct Context {
    /// The effective configuration.
    pub settings: Settings,
    /// The configuration file, whether it is there or not.
    pub config_file: PathBuf,
    /// Our folder among the user's data.
    data_dir: PathBuf,
    /// The way to stdout.
    pub out: Out,
}

impl Context {
    /// The context of a call with these flags.
    ///
    /// # Errors
    /// [`Fault`] if the configuration cannot be used.
    pub fn new(flags: &[(Key, String)], config_file: Option<&Path>, format: Format) -> Result<Self, Fault> {
        let folders = etcetera::choose_base_strategy().map_err(|error| {
            let message = format!("there is no home folder: {error}");
            Fault::new(Code::Unreadable, message, "set HOME, or name the store with --store")
        })?;
        let usual = folders.config_dir().join(FOLDER).join("config.toml");
        let wanted = config_file.is_some();
        let path = config_file.map_or(usual, Path::to_path_buf);
        let file = if wanted || path.exists() {
            parse_file(&super::read_text(&path)?, &path.display().to_string())?
        } else {
            Vec::new()
        };
        let data_dir = folders.data_dir().join(FOLDER);
        let layers = Layers {
            flags,
            env: &|name| std::env::var(name).ok(),
            file: &file,
            data_dir: &data_dir,
        };
        Ok(Self {
            settings: Settings::resolve(&layers)?,
            config_file: path,
            data_dir,
            out: Out { format },
        })
    }

    /// The folder of artifacts: beside the store's file, or with the user's data if it is on a server.
    #[must_use]
    pub fn artifacts_folder(&self) -> PathBuf {
        match &self.settings.store {
            StorePlace::File(path) => beside(path, "artifacts"),
            StorePlace::Server(_) => self.data_dir.join("artifacts"),
        }
    }

    /// The folder of the workers' lock files, beside the store's file. Workers on a server have none: two of one machine
    /// may have two data folders, and would take each other for dead.
    #[must_use]
    pub fn presence_folder(&self) -> Option<PathBuf> {
        match &self.settings.store {
            StorePlace::File(path) => Some(beside(path, "workers")),
            StorePlace::Server(_) => None,
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`Fault`] with the store's path.
    pub async fn store(&self, missing: Missing) -> Result<Arc<dyn Store>, Fault> {
        let path = match &self.settings.store {
            StorePlace::File(path) => path,
            StorePlace::Server(address) => return Ok(Arc::new(self.redis(address).await?)),
        };
        if missing == Missing::Refuse && !path.exists() {
            let help = "start a run with `legwork run`, or name another store with --store";
            return Err(Fault::new(Code::Unreadable, "there is no store yet", help).at(path.display().to_string()));
        }
        Ok(Arc::new(self.sqlite(path).await?))
    }

    /// Opens the store on a server.
    ///
    /// # Errors
    /// [`Fault`] with the store's address.
    pub async fn redis(&self, address: &str) -> Result<RedisStore, Fault> {
        let opened = RedisStore::open(address, RedisOptions::default()).await;
        opened.map_err(|error| Fault::from(error).at(self.settings.store.to_string()))
    }

    /// Opens the store's file.
    ///
    /// # Errors
    /// [`Fault`] with the store's path.
    pub async fn sqlite(&self, path: &Path) -> Result<SqliteStore, Fault> {
        let path = path.to_path_buf();
        let opened = tokio::task::spawn_blocking(move || open(&path)).await;
        opened.unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic()))
    }

    /// A coordinator over the store.
    ///
    /// # Errors
    /// [`Fault`] with the store's path.
    pub async fn coordinator(&self, missing: Missing) -> Result<Coordinator, Fault> {
        Ok(Coordinator::new(self.store(missing).await?, DEFAULT_TENANT))
    }

    /// A fault of the store with the store's path, where it has no place yet.
    #[must_use]
    pub fn placed(&self, fault: Fault) -> Fault {
        let of_store = matches!(
            fault.code,
            Code::StoreBusy
                | Code::StoreCorrupt
                | Code::StoreReadOnly
                | Code::StoreNewer
                | Code::StoreFull
                | Code::StoreUnfit
        );
        if of_store && fault.place.is_none() {
            fault.at(self.settings.store.to_string())
        } else {
            fault
        }
    }
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".");
    path.push(extension);
    path.into()
}

fn open(path: &Path) -> Result<SqliteStore, Fault> {
    if path.is_dir() {
        let help = format!("name a file, such as {}", path.join("legwork.db").display());
        return Err(Fault::new(Code::WrongValue, "the store is a folder", help).at(path.display().to_string()));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_private_folder(folder).map_err(|error| unusable(&error).at(folder.display().to_string()))?;
    }
    let options = SqliteOptions {
        busy_timeout_ms: BUSY_TIMEOUT_MS,
        ..SqliteOptions::default()
    };
    SqliteStore::open(path, options).map_err(|error| Fault::from(error).at(path.display().to_string()))
}

/// Makes a folder that only its owner may read: prompts and results are private.
fn make_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn unusable(error: &io::Error) -> Fault {
    let message = format!("the folder of the store cannot be made: {error}");
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::StoreFull,
        _ => Code::StoreReadOnly,
    };
    Fault::new(code, message, "make the folder, or choose another --store")
}
