//! What may be written into a workspace: decisions that every implementation shares.

use super::{VPath, WorkspaceError, WorkspaceLimits};

/// What a workspace holds before a write.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Its files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The size of the file that the write would replace.
    pub replaced: Option<u64>,
}

/// Refuses a path at which no file can stand beside the `present` ones.
///
/// # Errors
/// [`WorkspaceError::ReadOnly`] or [`WorkspaceError::PathConflict`].
pub fn check_place<'a>(path: &VPath, present: impl IntoIterator<Item = &'a VPath>) -> Result<(), WorkspaceError> {
    if path.is_root() || path.is_source() {
        return Err(WorkspaceError::ReadOnly { path: path.clone() });
    }
    let in_the_way = |other: &&VPath| *other != path && (path.is_within(other) || other.is_within(path));
    match present.into_iter().find(in_the_way) {
        Some(other) => Err(WorkspaceError::PathConflict {
            path: path.clone(),
            other: other.clone(),
        }),
        None => Ok(()),
    }
}

/// Refuses a file of `size` bytes that the limits leave no room for.
///
/// # Errors
/// [`WorkspaceError::TooLarge`] or [`WorkspaceError::Full`].
pub fn check_room(path: &VPath, size: u64, totals: Totals, limits: &WorkspaceLimits) -> Result<(), WorkspaceError> {
    if size > limits.file_bytes_max {
        return Err(WorkspaceError::TooLarge {
            path: path.clone(),
            size,
            limit: limits.file_bytes_max,
        });
    }
    if totals.replaced.is_none() && totals.files >= limits.files_max {
        return Err(WorkspaceError::Full {
            limit: format!("{} files", limits.files_max),
        });
    }
    let others = totals.bytes.saturating_sub(totals.replaced.unwrap_or(0));
    if others.saturating_add(size) > limits.total_bytes_max {
        return Err(WorkspaceError::Full {
            limit: format!("{} bytes", limits.total_bytes_max),
        });
    }
    Ok(())
}
