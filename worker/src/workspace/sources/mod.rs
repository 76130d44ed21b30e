//! The read-only folders that a run was given, shown to its agents under `sources/`.

mod beneath;
mod names;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::VPath;
pub use walk::{LeftOut, LeftOutReason};

/// Most folders in one run; each keeps one file descriptor open.
pub const FOLDERS_MAX: usize = 64;

/// How much of the source folders is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceLimits {
    /// Files in all: what can be listed, indexed and searched within a call's time.
    pub files_max: usize,
    /// Bytes in all: an index of more does not fit beside the work of a small machine.
    pub total_bytes_max: u64,
    /// Bytes of one file: a document beyond this is data, not something to read.
    pub file_bytes_max: u64,
    /// Files, folders and other entries that are visited, so that the walk of a whole disk ends.
    pub entries_max: usize,
}

impl Default for SourceLimits {
    fn default() -> Self {
        let mib = 1024 * 1024;
        Self {
            files_max: 20_000,
            total_bytes_max: 256 * mib,
            file_bytes_max: 16 * mib,
            entries_max: 200_000,
        }
    }
}

/// One file of the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path under `sources/`. A name that is not plain text stands here escaped.
    pub path: VPath,
    /// How many bytes it had when the sources were opened.
    pub size: u64,
    /// Its name as a person would read it, with U+FFFD for what is not text, if `path` has an escaped one.
    pub readable_name: Option<String>,
    folder: usize,
    relative: PathBuf,
}

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A source folder or file is not there or cannot be read.
    #[error("the source {} cannot be read: {source}", folder.display())]
    Folder {
        /// The folder as it was given.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// More than [`FOLDERS_MAX`] folders.
    #[error("{count} source folders were given: at most {FOLDERS_MAX} are allowed")]
    TooManyFolders {
        /// How many.
        count: usize,
    },
    /// No such file among the sources.
    #[error("there is no file `{path}` among the sources")]
    Missing {
        /// The path.
        path: VPath,
    },
    /// The file has grown beyond the limit since the sources were opened.
    #[error("`{path}` has more than {limit} bytes by now")]
    TooLarge {
        /// The path.
        path: VPath,
        /// How many bytes a source file may have.
        limit: u64,
    },
    /// The file was removed, replaced by something else, or cannot be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The path.
        path: VPath,
        /// What the system said.
        source: io::Error,
    },
}

/// The sources of a run: the files that were found in its source folders when it was opened.
///
/// Hidden files, what git (inside its repositories) or an `.ignore` file ignores, and links are not among them; what else
/// was left out is told. One folder shows its files directly under `sources/`; several have one folder each there.
/// A file may be given in the place of a folder that holds nothing else.
/// Only what was found can be read, and no path or link leads out of a folder.
#[derive(Debug, Default)]
pub struct Sources {
    /// What opens their files: a path could be replaced by a link, a handle cannot.
    folders: Vec<File>,
    files: Vec<SourceFile>,
    left_out: Vec<LeftOut>,
    limits: SourceLimits,
}

impl Sources {
    /// No sources.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Opens the given folders and finds their files; blocks. A folder that is given twice counts once.
    ///
    /// # Errors
    /// [`SourceError::TooManyFolders`] or [`SourceError::Folder`].
    pub fn open(folders: &[PathBuf], limits: SourceLimits) -> Result<Self, SourceError> {
        if folders.len() > FOLDERS_MAX {
            return Err(SourceError::TooManyFolders { count: folders.len() });
        }
        let mut roots: Vec<Root> = Vec::new();
        for folder in folders {
            let root = Root::open(folder).map_err(|source| SourceError::Folder {
                folder: folder.clone(),
                source,
            })?;
            if roots.iter().all(|known| known.given != root.given) {
                roots.push(root);
            }
        }
        let mut walk = walk::Walk::new(&limits);
        for (index, (root, name)) in roots.iter().zip(root_names(&roots)).enumerate() {
            walk.add_root(index, root, name.as_deref());
        }
        let (mut files, left_out) = walk.finish();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let folders = roots.into_iter().map(|root| root.handle).collect();
        Ok(Self {
            folders,
            files,
            left_out,
            limits,
        })
    }

    /// The files, sorted by path.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// What was left out and why, one row for each reason.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The file at a path under `sources/`.
    #[must_use]
    pub fn find(&self, path: &VPath) -> Option<&SourceFile> {
        self.files
            .binary_search_by(|file| file.path.cmp(path))
            .ok()
            .map(|index| &self.files[index])
    }

    /// Reads a file as it is now; blocks.
    ///
    /// # Errors
    /// [`SourceError::Missing`], [`SourceError::TooLarge`] or [`SourceError::Unreadable`].
    pub fn read(&self, path: &VPath) -> Result<Vec<u8>, SourceError> {
        let file = self
            .find(path)
            .ok_or_else(|| SourceError::Missing { path: path.clone() })?;
        let limit = self.limits.file_bytes_max;
        let bytes = read_bounded(&self.folders[file.folder], &file.relative, limit).map_err(|source| {
            SourceError::Unreadable {
                path: path.clone(),
                source,
            }
        })?;
        if bytes.len() as u64 > limit {
            Err(SourceError::TooLarge {
                path: path.clone(),
                limit,
            })
        } else {
            Ok(bytes)
        }
    }
}

/// A folder or file that was given.
struct Root {
    /// Its canonical path.
    given: PathBuf,
    /// The folder itself, or the one in which the file lies.
    folder: PathBuf,
    /// Opens the files of `folder`.
    handle: File,
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let given = fs::canonicalize(path)?;
        let kind = fs::metadata(&given)?;
        let folder = match given.parent() {
            _ if kind.is_dir() => given.clone(),
            Some(parent) if kind.is_file() => parent.to_owned(),
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is neither a folder nor a file",
                ));
            }
        };
        if kind.is_dir() {
            fs::read_dir(&given)?;
        }
        let handle = File::open(&folder)?;
        Ok(Self { given, folder, handle })
    }
}

/// Reads no more than one byte over the limit.
fn read_bounded(folder: &File, relative: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    beneath::open_beneath(folder.as_fd(), relative)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Names under which several sources stand beside each other; one alone needs none.
fn root_names(roots: &[Root]) -> Vec<Option<String>> {
    if roots.len() < 2 {
        return vec![None; roots.len()];
    }
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for root in roots {
        let name = root.given.file_name().map_or_else(|| "root".to_owned(), names::escape);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|candidate| !taken.contains(candidate));
        taken.extend(free.clone());
        names.push(free);
    }
    names
}
