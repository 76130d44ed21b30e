//! The files of the repository, and what a rule has to say about them.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One file: its path from the root of the repository, with `/` between its parts, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path from the root.
    pub path: String,
    /// The content; empty if it is not UTF-8.
    pub text: String,
}

impl File {
    /// The lines of the text with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the name ends in one of `extensions`, given without their dots.
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| extensions.iter().any(|wanted| found.eq_ignore_ascii_case(wanted)))
    }
}

/// The files that a commit of the working tree would hold.
#[derive(Debug, Default)]
pub struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// This repository: what git tracks or would track, else every file outside `target` and `.git`.
    pub fn of_this_repository() -> Self {
        let root = root();
        let paths = listed_by_git(&root).unwrap_or_else(|| walked(&root));
        let files = paths
            .into_iter()
            .filter_map(|path| {
                let bytes = std::fs::read(root.join(&path)).ok()?;
                Some(File {
                    path,
                    text: String::from_utf8(bytes).unwrap_or_default(),
                })
            })
            .collect::<Vec<_>>();
        assert!(!files.is_empty(), "no files under {}", root.display());
        Self { files }
    }

    /// A made-up tree of paths and texts.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).into(),
                text: (*text).into(),
            })
            .collect();
        Self { files }
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files.
    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.has_extension(&["rs"]))
    }
}

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// Something about the file at `path` as a whole.
    pub fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }

    /// Something about a line of it.
    pub fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Fails with one line for each finding and the sentence that explains the rule.
#[track_caller]
pub fn assert_clean(rule: &str, findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "{rule}\n  {}\n", list.join("\n  "));
}

/// The findings as a person reads them, for tests of the rules.
pub fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the package of the tests lies in the repository")
        .to_path_buf()
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let names = String::from_utf8(output.stdout).ok()?;
    let paths: BTreeSet<String> = names
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(Into::into)
        .collect();
    (output.status.success() && !paths.is_empty()).then(|| paths.into_iter().collect())
}

fn walked(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !["target", ".git"].map(Path::new).contains(&path.as_path()) {
                folders.push(path);
            } else if !is_folder {
                paths.push(path.to_string_lossy().into_owned());
            }
        }
    }
    paths.sort();
    paths
}

#[test]
fn walking_the_folders_finds_what_git_lists() {
    let root = root();
    let walked = walked(&root);
    for path in listed_by_git(&root).unwrap_or_default() {
        assert!(
            !root.join(&path).is_file() || walked.contains(&path),
            "{path} was not found by walking"
        );
    }
    assert!(walked.contains(&"tests/tests/tidy/tree.rs".to_owned()));
    assert!(
        walked
            .iter()
            .all(|path| !path.starts_with("target/") && !path.starts_with(".git/"))
    );
}

#[test]
fn a_finding_names_its_place() {
    let findings = [Finding::in_file("a.rs", "is odd"), Finding::at("b.rs", 7, "is odder")];
    assert_eq!(shown(&findings), ["a.rs: is odd", "b.rs:7: is odder"]);
}
