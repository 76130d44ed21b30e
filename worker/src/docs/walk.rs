//! Finds the documents of one or more folders, within bounds, and says what it left out and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Document, Note};

/// How much is read. A corpus beyond it is read as far as it goes, and the report says what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files; 20,000 is a large documentation tree, and a list of more is of no use to a reader.
    pub files_max: usize,
    /// Bytes of one file; only generated files are larger.
    pub file_bytes_max: u64,
    /// Bytes of all files; the index is held in memory at about three times this size.
    pub total_bytes_max: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            files_max: 20_000,
            file_bytes_max: 16 << 20,
            total_bytes_max: 256 << 20,
        }
    }
}

/// Why a file is not in the corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why", content = "detail")]
pub enum Why {
    /// Its bytes are not text.
    Binary,
    /// It is a symbolic link; following one could lead out of the folder.
    Link,
    /// The system refused to read it.
    Unreadable(String),
    /// Its name is not UTF-8, so no citation could name it.
    Name,
    /// The corpus already had as many files as it may have.
    TooMany,
    /// The corpus already had as many bytes as it may have.
    TooLarge,
}

/// A file that is not in the corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its path below its folder, with `/`.
    pub path: String,
    /// Why.
    #[serde(flatten)]
    pub why: Why,
}

/// The documents of the folders, in the order of their paths.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    /// What was read.
    pub documents: Vec<Document>,
    /// What was not, in the order of the paths.
    pub left_out: Vec<LeftOut>,
}

/// A folder that cannot be read at all.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The path does not exist or may not be looked at.
    #[error("the source {} cannot be read: {error}", path.display())]
    Source {
        /// The folder or file that was named.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

/// The folders of a corpus and the names under which their files are cited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// By the first part of a citation's path; the empty name is the only folder.
    folders: BTreeMap<String, PathBuf>,
}

impl Roots {
    /// One folder, whose files are cited by their path below it; or one file, cited by its name.
    #[must_use]
    pub fn one(folder: &Path) -> Self {
        Self {
            folders: BTreeMap::from([(String::new(), folder.to_owned())]),
        }
    }

    /// Several folders, whose files are cited by the folder's name and their path below it.
    ///
    /// A name that occurs twice gets a number, in the order given; a folder that is given twice counts once.
    #[must_use]
    pub fn many(folders: &[PathBuf]) -> Self {
        let mut known = BTreeSet::new();
        let real = |folder: &&PathBuf| known.insert(folder.canonicalize().unwrap_or_else(|_| (*folder).clone()));
        let folders: Vec<&PathBuf> = folders.iter().filter(real).collect();
        if let [folder] = folders.as_slice() {
            return Self::one(folder);
        }
        let mut named = BTreeMap::new();
        for folder in folders {
            let name = folder
                .file_name()
                .map_or("root".into(), |name| name.to_string_lossy().into_owned());
            let mut candidate = name.clone();
            let mut number = 2;
            while named.contains_key(&candidate) {
                candidate = format!("{name}-{number}");
                number += 1;
            }
            named.insert(candidate, folder.clone());
        }
        Self { folders: named }
    }

    /// The file that a citation names; `None` if it would lie outside of the folders.
    #[must_use]
    pub fn resolve(&self, cited: &str) -> Option<PathBuf> {
        let (folder, rest) = if let Some(folder) = self.folders.get("") {
            (folder, cited)
        } else {
            let (name, rest) = cited.split_once('/')?;
            (self.folders.get(name)?, rest)
        };
        let rest = Path::new(rest);
        if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        Some(if folder.is_file() {
            folder.clone()
        } else {
            folder.join(rest)
        })
    }
}

/// Reads every document below the roots.
///
/// Files that git would ignore and hidden files are not looked at. Symbolic links are not followed. The same
/// folders give the same corpus, in the same order.
///
/// # Errors
/// [`LoadError::Source`] if a root itself cannot be read.
pub fn load(roots: &Roots, bounds: &Bounds) -> Result<Corpus, LoadError> {
    let mut files = Vec::new();
    let mut corpus = Corpus::default();
    for (name, folder) in &roots.folders {
        let error = |error| LoadError::Source {
            path: folder.clone(),
            error,
        };
        let is_file = std::fs::metadata(folder).map_err(error)?.is_file();
        if !is_file {
            std::fs::read_dir(folder).map_err(error)?;
        }
        list(name, folder, &mut files, &mut corpus.left_out);
    }
    files.sort();
    let mut left = *bounds;
    for (cited, file) in files {
        match read(&cited, &file, &mut left, bounds) {
            Ok(document) => corpus.documents.push(document),
            Err(why) => corpus.left_out.push(LeftOut { path: cited, why }),
        }
    }
    corpus.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(corpus)
}

fn list(name: &str, folder: &Path, files: &mut Vec<(String, PathBuf)>, left_out: &mut Vec<LeftOut>) {
    // A folder that a person names is read even if a repository around it ignores it: hence no parents.
    let walk = ignore::WalkBuilder::new(folder)
        .follow_links(false)
        .parents(false)
        .git_global(false)
        .build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                left_out.push(LeftOut {
                    path: name.to_owned(),
                    why: Why::Unreadable(error.to_string()),
                });
                continue;
            }
        };
        let Some(kind) = entry
            .file_type()
            .filter(|kind| kind.is_file() || kind.is_symlink() && entry.depth() > 0)
        else {
            continue;
        };
        let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let below = if entry.depth() == 0 {
            Path::new(entry.file_name())
        } else {
            below
        };
        let parts: Vec<_> = below
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        let cited = if name.is_empty() {
            parts.join("/")
        } else {
            format!("{name}/{}", parts.join("/"))
        };
        if kind.is_symlink() {
            left_out.push(LeftOut {
                path: cited,
                why: Why::Link,
            });
        } else if below.to_str().is_none() {
            left_out.push(LeftOut {
                path: cited,
                why: Why::Name,
            });
        } else {
            files.push((cited, entry.into_path()));
        }
    }
}

/// Reads one file and takes it from what is `left` of the bounds.
fn read(cited: &str, path: &Path, left: &mut Bounds, bounds: &Bounds) -> Result<Document, Why> {
    if left.files_max == 0 {
        return Err(Why::TooMany);
    }
    if left.total_bytes_max == 0 {
        return Err(Why::TooLarge);
    }
    let unreadable = |error: std::io::Error| Why::Unreadable(error.to_string());
    let allowed = bounds.file_bytes_max.min(left.total_bytes_max);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(allowed + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    let cut = bytes.len() as u64 > allowed;
    if cut {
        bytes.pop();
    }
    let mut document = Document::read(cited, &bytes).ok_or(Why::Binary)?;
    if cut {
        document.notes.push(Note::Cut { bytes: allowed });
    }
    left.files_max -= 1;
    left.total_bytes_max -= bytes.len() as u64;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary folder");
        for (path, bytes) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, bytes).expect("file");
        }
        folder
    }

    fn paths(corpus: &Corpus) -> Vec<&str> {
        corpus.documents.iter().map(|document| document.path.as_str()).collect()
    }

    #[test]
    fn documents_come_in_the_order_of_their_paths_and_the_rest_is_accounted_for() {
        let folder = folder(&[
            ("b/é.md", b"B."),
            ("a.txt", b"A."),
            ("pic.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ]);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.txt")).expect("link");
        let corpus = load(&Roots::one(folder.path()), &Bounds::default()).expect("corpus");
        assert_eq!(paths(&corpus), ["a.txt", "b/é.md"]);
        let left_out = |path: &str, why| LeftOut {
            path: path.to_owned(),
            why,
        };
        assert_eq!(
            corpus.left_out,
            [left_out("link.txt", Why::Link), left_out("pic.png", Why::Binary)]
        );
    }

    #[test]
    fn each_bound_is_kept_and_said() {
        let folder = folder(&[
            ("a.txt", b"12345"),
            ("b.txt", b"12345"),
            ("c.txt", b"12345"),
            ("d.txt", b"1"),
        ]);
        let bounds = Bounds {
            files_max: 9,
            file_bytes_max: 4,
            total_bytes_max: 9,
        };
        let corpus = load(&Roots::one(folder.path()), &bounds).expect("corpus");
        let notes: Vec<_> = corpus.documents.iter().map(|document| document.notes.clone()).collect();
        let cut = |bytes| vec![Note::Cut { bytes }];
        assert_eq!(notes, [cut(4), cut(4), cut(1)]);
        assert_eq!(
            corpus.left_out,
            [LeftOut {
                path: "d.txt".to_owned(),
                why: Why::TooLarge
            }]
        );

        let bounds = Bounds {
            files_max: 3,
            ..Bounds::default()
        };
        let corpus = load(&Roots::one(folder.path()), &bounds).expect("corpus");
        assert_eq!(
            corpus.left_out,
            [LeftOut {
                path: "d.txt".to_owned(),
                why: Why::TooMany
            }]
        );
    }

    #[test]
    fn a_named_folder_is_read_even_if_its_parent_ignores_it() {
        let folder = folder(&[(".gitignore", b"docs/\n"), ("docs/a.md", b"A.")]);
        std::fs::create_dir(folder.path().join(".git")).expect("folder");
        let corpus = load(&Roots::one(&folder.path().join("docs")), &Bounds::default()).expect("corpus");
        assert_eq!(paths(&corpus), ["a.md"]);
    }

    #[test]
    fn several_folders_and_single_files_are_cited_by_name_and_found_again() {
        let folder = folder(&[("x/n/a.md", b"A."), ("y/n/a.md", b"B.")]);
        let roots = Roots::many(&[folder.path().join("x/n"), folder.path().join("y/n")]);
        let corpus = load(&roots, &Bounds::default()).expect("corpus");
        assert_eq!(paths(&corpus), ["n-2/a.md", "n/a.md"]);
        assert_eq!(roots.resolve("n-2/a.md"), Some(folder.path().join("y/n/a.md")));
        assert_eq!(roots.resolve("n-2/../a.md"), None);

        let file = folder.path().join("x/n/a.md");
        let roots = Roots::one(&file);
        assert_eq!(paths(&load(&roots, &Bounds::default()).expect("corpus")), ["a.md"]);
        assert_eq!(roots.resolve("a.md"), Some(file));
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error_that_names_it() {
        let error = load(&Roots::one(Path::new("/nowhere/at/all")), &Bounds::default()).expect_err("no folder");
        assert!(
            error
                .to_string()
                .starts_with("the source /nowhere/at/all cannot be read: "),
            "{error}"
        );
    }
}
