//! The workspace and the sources as one tree.

use std::sync::Arc;

use crate::tool::{ToolContext, ToolError, ToolErrorCode};
use crate::workspace::vpath::SOURCES_FOLDER;
use crate::workspace::{SourceError, VPath, VPathError, WorkspaceError};

/// One file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: VPath,
    pub size: u64,
    /// Its name as a person would read it, if `path` has an escaped one.
    pub readable_name: Option<String>,
}

/// Lists the file at `within` and all files below it, sorted by path.
pub async fn list(ctx: &ToolContext, within: &VPath) -> Result<Vec<Entry>, ToolError> {
    let sources = ctx.sources.files().iter().filter(|file| file.path.is_within(within));
    let mut entries: Vec<Entry> = sources
        .map(|file| Entry {
            path: file.path.clone(),
            size: file.size,
            readable_name: file.readable_name.clone(),
        })
        .collect();
    if !within.is_source() {
        let written = ctx.workspace.list(within).await?;
        entries.extend(written.into_iter().map(|file| Entry {
            path: file.path,
            size: file.size,
            readable_name: None,
        }));
        entries.sort_by(|one, other| one.path.cmp(&other.path));
    }
    Ok(entries)
}

/// Reads a file of the tree whole.
pub async fn read(ctx: &ToolContext, path: &VPath) -> Result<Vec<u8>, ToolError> {
    let found = if path.is_source() {
        read_source(ctx, path).await?
    } else {
        ctx.workspace.read(path).await?
    };
    match found {
        Some(bytes) => Ok(bytes),
        None => Err(missing(ctx, path).await),
    }
}

async fn read_source(ctx: &ToolContext, path: &VPath) -> Result<Option<Vec<u8>>, ToolError> {
    if ctx.sources.find(path).is_none() {
        return Ok(None);
    }
    let (sources, path) = (Arc::clone(&ctx.sources), path.clone());
    let read = tokio::task::spawn_blocking(move || sources.read(&path))
        .await
        .map_err(|_| ToolError::broken())?;
    Ok(Some(read?))
}

/// What to answer for a path at which there is nothing: it is a folder, or the file lies elsewhere.
pub async fn missing(ctx: &ToolContext, path: &VPath) -> ToolError {
    let files = list(ctx, &VPath::root()).await.unwrap_or_default();
    if files.iter().any(|file| file.path.is_within(path)) {
        return ToolError::new(
            ToolErrorCode::NotFound,
            format!("`{path}` is a folder: list it with `ls`"),
        );
    }
    let namesake = files.iter().find(|file| file.path.name() == path.name());
    let hint = match namesake {
        Some(file) => format!("did you mean `{}`?", file.path),
        None => "see what there is with `ls` or `glob`".to_owned(),
    };
    ToolError::new(ToolErrorCode::NotFound, format!("there is no file `{path}`: {hint}"))
}

/// The path of a file to write: not in the sources.
pub fn writable(text: &str) -> Result<VPath, ToolError> {
    let path = VPath::parse(text)?;
    if path.is_source() {
        let message = format!("`{path}` is read-only: write beside `{SOURCES_FOLDER}`, not into it");
        return Err(ToolError::new(ToolErrorCode::Refused, message));
    }
    Ok(path)
}

impl From<VPathError> for ToolError {
    fn from(error: VPathError) -> Self {
        Self::new(ToolErrorCode::Refused, error.to_string())
    }
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        let code = match error {
            WorkspaceError::ReadOnly { .. } => ToolErrorCode::Refused,
            WorkspaceError::PathConflict { .. } => ToolErrorCode::Conflict,
            WorkspaceError::TooLarge { .. } | WorkspaceError::Full { .. } => ToolErrorCode::TooLarge,
            WorkspaceError::DiskFull | WorkspaceError::Corrupt { .. } | WorkspaceError::Unavailable(_) => {
                ToolErrorCode::Failed
            }
        };
        Self::new(code, error.to_string())
    }
}

impl From<SourceError> for ToolError {
    fn from(error: SourceError) -> Self {
        let code = match error {
            SourceError::Missing { .. } => ToolErrorCode::NotFound,
            SourceError::TooLarge { .. } => ToolErrorCode::TooLarge,
            SourceError::Folder { .. } | SourceError::TooManyFolders { .. } | SourceError::Unreadable { .. } => {
                ToolErrorCode::Failed
            }
        };
        Self::new(code, error.to_string())
    }
}
