//! The run's workspace as one attempt sees it: what is published, and its own writes that are not yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use legwork_shared::batch::FileRecord;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::store::StoreError;
use legwork_shared::time::Timestamp;

use super::host::Host;
use crate::workspace::rules::{Totals, check_place, check_room};
use crate::workspace::{
    ArtifactError, Artifacts, ContentHash, FILE_BYTES_MAX, FileInfo, VPath, Workspace, WorkspaceError, WorkspaceLimits,
};

/// A workspace whose files are records in the store and whose bytes are artifacts.
///
/// A write puts the bytes into the folder of artifacts and notes the file here; the attempt's next commit publishes it.
/// So an attempt that has lost its lease can fill the folder with bytes that nobody names, and nothing else.
pub struct StoreWorkspace {
    host: Arc<Host>,
    run: RunId,
    job: JobId,
    limits: WorkspaceLimits,
    staged: Mutex<BTreeMap<VPath, FileInfo>>,
}

impl StoreWorkspace {
    pub(super) fn new(host: Arc<Host>, run: RunId, job: JobId) -> Self {
        Self {
            host,
            run,
            job,
            limits: WorkspaceLimits::default(),
            staged: Mutex::default(),
        }
    }

    /// The records that publish what is staged.
    pub(super) fn unpublished(&self, now: Timestamp) -> Vec<FileRecord> {
        let record = |info: &FileInfo| FileRecord {
            run: self.run,
            path: info.path.as_str().to_owned(),
            sha256: info.sha256.to_string(),
            size: info.size,
            media_type: info.media_type.clone(),
            by: self.job,
            at: now,
        };
        self.staged().values().map(record).collect()
    }

    /// Forgets what `records` have published, unless it was written again in the meantime.
    pub(super) fn published(&self, records: &[FileRecord]) {
        let mut staged = self.staged();
        for record in records {
            staged.retain(|path, info| path.as_str() != record.path || info.sha256.to_string() != record.sha256);
        }
    }

    fn staged(&self) -> MutexGuard<'_, BTreeMap<VPath, FileInfo>> {
        // A map is whole between any two of its operations, so a panic elsewhere leaves nothing to distrust.
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All files that this attempt sees, by path.
    async fn visible(&self, prefix: &str) -> Result<BTreeMap<VPath, FileInfo>, WorkspaceError> {
        let records = self
            .host
            .store
            .files(self.run, prefix)
            .await
            .map_err(|error| unavailable(&error))?;
        let mut files = BTreeMap::new();
        for record in &records {
            let info = described(record)?;
            files.insert(info.path.clone(), info);
        }
        files.extend(self.staged().iter().map(|(path, info)| (path.clone(), info.clone())));
        Ok(files)
    }

    /// Runs blocking work on the folder of artifacts away from the tasks.
    async fn with_artifacts<T: Send + 'static>(
        &self,
        path: &VPath,
        work: impl FnOnce(&Artifacts) -> Result<T, ArtifactError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let artifacts = self.host.artifacts.clone();
        let result = tokio::task::spawn_blocking(move || work(&artifacts)).await;
        match result {
            Ok(done) => done.map_err(|error| of_artifact(path, &error)),
            Err(lost) => Err(WorkspaceError::Unavailable(lost.to_string())),
        }
    }
}

#[async_trait]
impl Workspace for StoreWorkspace {
    async fn read(&self, path: &VPath) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let staged = self.staged().get(path).map(|info| info.sha256);
        let hash = match staged {
            Some(hash) => hash,
            None => match self
                .host
                .store
                .file(self.run, path.as_str())
                .await
                .map_err(|error| unavailable(&error))?
            {
                Some(record) => described(&record)?.sha256,
                None => return Ok(None),
            },
        };
        self.with_artifacts(path, move |artifacts| artifacts.get(hash))
            .await
            .map(Some)
    }

    async fn write(&self, path: &VPath, bytes: Vec<u8>) -> Result<FileInfo, WorkspaceError> {
        let files = self.visible("").await?;
        check_place(path, files.keys())?;
        let totals = Totals {
            files: files.len(),
            bytes: files.values().map(|info| info.size).sum(),
            replaced: files.get(path).map(|info| info.size),
        };
        check_room(path, bytes.len() as u64, totals, &self.limits)?;
        let place = path.clone();
        let info = self
            .with_artifacts(path, move |artifacts| {
                let info = FileInfo::describe(&place, &bytes);
                artifacts.put(&bytes).map(|_: ContentHash| info)
            })
            .await?;
        self.staged().insert(path.clone(), info.clone());
        Ok(info)
    }

    async fn list(&self, prefix: &VPath) -> Result<Vec<FileInfo>, WorkspaceError> {
        let files = self.visible(prefix.as_str()).await?;
        Ok(files.into_values().filter(|info| info.path.is_within(prefix)).collect())
    }
}

fn described(record: &FileRecord) -> Result<FileInfo, WorkspaceError> {
    let damaged = || WorkspaceError::Unavailable(format!("the record of the file `{}` is damaged", record.path));
    Ok(FileInfo {
        path: VPath::parse(&record.path).map_err(|_| damaged())?,
        sha256: record.sha256.parse().map_err(|_| damaged())?,
        size: record.size,
        media_type: record.media_type.clone(),
    })
}

fn unavailable(error: &StoreError) -> WorkspaceError {
    WorkspaceError::Unavailable(error.to_string())
}

fn of_artifact(path: &VPath, error: &ArtifactError) -> WorkspaceError {
    match error {
        ArtifactError::TooLarge { size } => WorkspaceError::TooLarge {
            path: path.clone(),
            size: *size,
            limit: FILE_BYTES_MAX,
        },
        ArtifactError::Missing { .. } | ArtifactError::Corrupt { .. } => WorkspaceError::Corrupt { path: path.clone() },
        ArtifactError::DiskFull { .. } => WorkspaceError::DiskFull,
        ArtifactError::Io { .. } => WorkspaceError::Unavailable(error.to_string()),
    }
}
