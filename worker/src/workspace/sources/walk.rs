//! Finding the files of a source folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::{Root, SourceFile, SourceLimits, names};

/// How many left-out files of a kind are named.
const EXAMPLES_MAX: usize = 3;

/// Why files of a source folder are not among the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// Larger than one source file may be.
    TooLarge,
    /// Beyond the number of files.
    TooManyFiles,
    /// Beyond the bytes in all.
    TooManyBytes,
    /// A symbolic link: it may point anywhere.
    Link,
    /// A pipe, a socket, a device.
    NotAFile,
    /// Its path is longer than a virtual path may be.
    PathTooLong,
    /// The system did not let it be looked at.
    Unreadable,
    /// The walk ended before all folders were seen.
    NotVisited,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLarge => "too large",
            Self::TooManyFiles => "too many files",
            Self::TooManyBytes => "too many bytes in all",
            Self::Link => "symbolic link",
            Self::NotAFile => "not a regular file",
            Self::PathTooLong => "path too long",
            Self::Unreadable => "not readable",
            Self::NotVisited => "too many entries to visit",
        })
    }
}

/// What was left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Why.
    pub reason: LeftOutReason,
    /// How many; for [`LeftOutReason::NotVisited`] at least one.
    pub count: usize,
    /// The first of them, as lossy text.
    pub examples: Vec<String>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = if self.count > self.examples.len() { ", …" } else { "" };
        write!(
            formatter,
            "{} left out, {}: {}{dots}",
            self.count,
            self.reason,
            self.examples.join(", ")
        )
    }
}

/// The files found so far, over all source folders.
pub struct Walk<'a> {
    limits: &'a SourceLimits,
    visited: usize,
    bytes: u64,
    pub files: Vec<SourceFile>,
    left_out: BTreeMap<LeftOutReason, LeftOut>,
}

impl<'a> Walk<'a> {
    pub fn new(limits: &'a SourceLimits) -> Self {
        Self {
            limits,
            visited: 0,
            bytes: 0,
            files: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// The files, and what was left out, one row for each reason.
    pub fn finish(self) -> (Vec<SourceFile>, Vec<LeftOut>) {
        (self.files, self.left_out.into_values().collect())
    }

    /// Adds the files of `root`, the source of that index, under its `name`.
    ///
    /// In the order of their names, so that the same tree at the bounds gives the same files.
    pub fn add_root(&mut self, index: usize, root: &Root, name: Option<&str>) {
        // A folder that a person names is read even if a repository around it ignores it: hence no parents.
        let walker = WalkBuilder::new(&root.given)
            .follow_links(false)
            .hidden(true)
            .parents(false)
            .git_global(false)
            .require_git(true)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .build();
        for entry in walker {
            self.visited += 1;
            if self.visited > self.limits.entries_max {
                self.leave_out(LeftOutReason::NotVisited, &root.given);
                return;
            }
            match entry {
                Ok(entry) => self.add_entry(index, &root.folder, name, &entry),
                Err(error) => self.leave_out(LeftOutReason::Unreadable, path_of(&error).unwrap_or(&root.given)),
            }
        }
    }

    fn add_entry(&mut self, index: usize, folder: &Path, name: Option<&str>, entry: &DirEntry) {
        let Ok(relative) = entry.path().strip_prefix(folder) else {
            return;
        };
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
            return;
        };
        let size = entry.metadata().map(|metadata| metadata.len());
        let path = names::virtual_path(name, relative);
        let reason = match (&size, &path) {
            _ if kind.is_symlink() => LeftOutReason::Link,
            _ if !kind.is_file() => LeftOutReason::NotAFile,
            (Err(_), _) => LeftOutReason::Unreadable,
            (_, Err(_)) => LeftOutReason::PathTooLong,
            (Ok(size), _) if *size > self.limits.file_bytes_max => LeftOutReason::TooLarge,
            _ if self.files.len() >= self.limits.files_max => LeftOutReason::TooManyFiles,
            (Ok(size), _) if self.bytes + size > self.limits.total_bytes_max => LeftOutReason::TooManyBytes,
            (Ok(size), Ok(path)) => {
                self.bytes += size;
                let readable_name = names::readable_name(relative);
                let relative = relative.to_owned();
                self.files.push(SourceFile {
                    path: path.clone(),
                    size: *size,
                    readable_name,
                    folder: index,
                    relative,
                });
                return;
            }
        };
        self.leave_out(reason, relative);
    }

    fn leave_out(&mut self, reason: LeftOutReason, path: &Path) {
        let row = self.left_out.entry(reason).or_insert(LeftOut {
            reason,
            count: 0,
            examples: Vec::new(),
        });
        row.count += 1;
        if row.examples.len() < EXAMPLES_MAX {
            row.examples.push(
                path.to_string_lossy()
                    .chars()
                    .filter(|letter| !letter.is_control())
                    .collect(),
            );
        }
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
