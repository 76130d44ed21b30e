//! The run's files: one virtual file system that every worker sees, and the read-only sources beside it.

pub mod artifacts;
pub mod hash;
pub mod media_type;
pub mod memory;
pub mod rules;
pub mod sources;
pub mod vpath;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use artifacts::{ArtifactError, Artifacts};
pub use hash::{ContentHash, ContentHashError};
pub use memory::MemoryWorkspace;
pub use sources::{SourceError, SourceFile, SourceLimits, Sources};
pub use vpath::{SOURCES_FOLDER, VPath, VPathError};

/// Largest file in bytes: a report, a data set, a log; beyond it a file no longer fits comfortably in memory twice.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A file of the workspace, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Where it lies.
    pub path: VPath,
    /// The name of its bytes.
    pub sha256: ContentHash,
    /// How many bytes it has.
    pub size: u64,
    /// What the bytes are, by name and content: `text/markdown`, `application/octet-stream`.
    pub media_type: String,
}

impl FileInfo {
    /// Describes `bytes` lying at `path`.
    #[must_use]
    pub fn describe(path: &VPath, bytes: &[u8]) -> Self {
        Self {
            path: path.clone(),
            sha256: ContentHash::of(bytes),
            size: bytes.len() as u64,
            media_type: media_type::guess(path, bytes).to_owned(),
        }
    }
}

/// What one run may keep in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceLimits {
    /// Bytes of one file.
    pub file_bytes_max: u64,
    /// Files in all. Listing them must stay one cheap answer.
    pub files_max: usize,
    /// Bytes in all.
    pub total_bytes_max: u64,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self {
            file_bytes_max: FILE_BYTES_MAX,
            files_max: 10_000,
            total_bytes_max: 1024 * 1024 * 1024,
        }
    }
}

/// Why the workspace did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is the root or lies in the sources: no file can be written there.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The path.
        path: VPath,
    },
    /// A file stands where the path needs a folder, or the other way round.
    #[error("`{path}` cannot be a file beside the file `{other}`: one would have to be the other's folder")]
    PathConflict {
        /// What should have been written.
        path: VPath,
        /// The file in its way.
        other: VPath,
    },
    /// The file is larger than a file may be.
    #[error("`{path}` would have {size} bytes: a file may have {limit}")]
    TooLarge {
        /// The path.
        path: VPath,
        /// How many bytes it would have.
        size: u64,
        /// How many it may have.
        limit: u64,
    },
    /// The workspace holds as much as it may.
    #[error("the workspace is full: it may hold {limit}")]
    Full {
        /// The bound that was met, for a reader: `10000 files`.
        limit: String,
    },
    /// The place where bytes are kept has no room left.
    #[error("no space left on the disk that holds the workspace")]
    DiskFull,
    /// What is kept is not what was written.
    #[error("the kept bytes of `{path}` are damaged")]
    Corrupt {
        /// The path.
        path: VPath,
    },
    /// The store did not answer; asking again is safe.
    #[error("the workspace is not available: {0}")]
    Unavailable(String),
}

/// The run's virtual file system.
///
/// Files only: a folder is there as long as a file lies in it. A file never has the path of another file's folder.
/// Nothing is ever written under [`SOURCES_FOLDER`]. What was written is read back by the same job at once; other
/// jobs see it when the implementation publishes it.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Reads a file whole; `None` if there is none at `path`.
    ///
    /// # Errors
    /// [`WorkspaceError::Corrupt`] or [`WorkspaceError::Unavailable`].
    async fn read(&self, path: &VPath) -> Result<Option<Vec<u8>>, WorkspaceError>;

    /// Writes a file, replacing what was at `path`.
    ///
    /// # Errors
    /// Any [`WorkspaceError`] but `Corrupt`; nothing has changed then.
    ///
    /// # Cancel safety
    /// Dropped before its end, the file has its old content or its new one, never a part of either.
    async fn write(&self, path: &VPath, bytes: Vec<u8>) -> Result<FileInfo, WorkspaceError>;

    /// Lists the file at `prefix` and all files below it, sorted by path.
    ///
    /// # Errors
    /// [`WorkspaceError::Unavailable`].
    async fn list(&self, prefix: &VPath) -> Result<Vec<FileInfo>, WorkspaceError>;
}
