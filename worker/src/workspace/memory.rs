//! A workspace in memory: the reference for what a workspace does, and the one that tests use.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::rules::{Totals, check_place, check_room};
use super::{FileInfo, VPath, Workspace, WorkspaceError, WorkspaceLimits};

/// A workspace that lives as long as its value.
#[derive(Debug, Default)]
pub struct MemoryWorkspace {
    limits: WorkspaceLimits,
    files: Mutex<BTreeMap<VPath, (FileInfo, Vec<u8>)>>,
}

impl MemoryWorkspace {
    /// An empty workspace with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty workspace with limits of its own.
    #[must_use]
    pub fn with_limits(limits: WorkspaceLimits) -> Self {
        Self {
            limits,
            files: Mutex::default(),
        }
    }

    /// A map is whole between any two of its operations, so a panic elsewhere leaves nothing to distrust.
    fn files(&self) -> MutexGuard<'_, BTreeMap<VPath, (FileInfo, Vec<u8>)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Workspace for MemoryWorkspace {
    async fn read(&self, path: &VPath) -> Result<Option<Vec<u8>>, WorkspaceError> {
        Ok(self.files().get(path).map(|(_, bytes)| bytes.clone()))
    }

    async fn write(&self, path: &VPath, bytes: Vec<u8>) -> Result<FileInfo, WorkspaceError> {
        let mut files = self.files();
        check_place(path, files.keys())?;
        let totals = Totals {
            files: files.len(),
            bytes: files.values().map(|(info, _)| info.size).sum(),
            replaced: files.get(path).map(|(info, _)| info.size),
        };
        check_room(path, bytes.len() as u64, totals, &self.limits)?;
        let info = FileInfo::describe(path, &bytes);
        files.insert(path.clone(), (info.clone(), bytes));
        Ok(info)
    }

    async fn list(&self, prefix: &VPath) -> Result<Vec<FileInfo>, WorkspaceError> {
        Ok(self
            .files()
            .values()
            .map(|(info, _)| info)
            .filter(|info| info.path.is_within(prefix))
            .cloned()
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VPath {
        VPath::folder(text).unwrap()
    }

    fn small() -> MemoryWorkspace {
        MemoryWorkspace::with_limits(WorkspaceLimits {
            file_bytes_max: 8,
            files_max: 2,
            total_bytes_max: 12,
        })
    }

    #[tokio::test]
    async fn s34_a_written_file_is_read_back_and_listed_with_hash_and_size() {
        let workspace = MemoryWorkspace::new();
        let info = workspace.write(&path("notes/a.md"), b"abc".to_vec()).await.unwrap();
        let expected = FileInfo {
            path: path("notes/a.md"),
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
                .parse()
                .unwrap(),
            size: 3,
            media_type: "text/markdown".to_owned(),
        };
        assert_eq!(info, expected);
        assert_eq!(workspace.read(&path("notes/a.md")).await, Ok(Some(b"abc".to_vec())));
        assert_eq!(workspace.read(&path("notes")).await, Ok(None));
        workspace.write(&path("notesb"), b"".to_vec()).await.unwrap();
        assert_eq!(workspace.list(&path("notes")).await, Ok(vec![expected]));
        assert_eq!(workspace.list(&VPath::root()).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn nothing_is_written_into_the_sources_or_over_a_folder() {
        let workspace = MemoryWorkspace::new();
        workspace.write(&path("a/b"), vec![]).await.unwrap();
        let refused = async |text: &str| workspace.write(&path(text), vec![]).await.unwrap_err();
        assert_eq!(
            refused("sources/x").await,
            WorkspaceError::ReadOnly {
                path: path("sources/x")
            }
        );
        assert_eq!(refused("").await, WorkspaceError::ReadOnly { path: path("") });
        let conflict = |text: &str| WorkspaceError::PathConflict {
            path: path(text),
            other: path("a/b"),
        };
        assert_eq!(refused("a").await, conflict("a"));
        assert_eq!(refused("a/b/c").await, conflict("a/b/c"));
    }

    #[tokio::test]
    async fn every_bound_of_the_workspace_holds_and_a_refused_write_changes_nothing() {
        let workspace = small();
        let write = async |text: &str, size: usize| {
            workspace
                .write(&path(text), vec![b'x'; size])
                .await
                .map(|info| info.size)
        };
        assert_eq!(
            write("a", 9).await,
            Err(WorkspaceError::TooLarge {
                path: path("a"),
                size: 9,
                limit: 8
            })
        );
        assert_eq!(write("a", 8).await, Ok(8));
        assert_eq!(
            write("b", 5).await,
            Err(WorkspaceError::Full {
                limit: "12 bytes".to_owned()
            })
        );
        assert_eq!(write("b", 4).await, Ok(4));
        assert_eq!(
            write("c", 0).await,
            Err(WorkspaceError::Full {
                limit: "2 files".to_owned()
            })
        );
        assert_eq!(write("a", 7).await, Ok(7), "a replaced file gives its room back");
        assert_eq!(workspace.read(&path("b")).await, Ok(Some(b"xxxx".to_vec())));
    }
}
