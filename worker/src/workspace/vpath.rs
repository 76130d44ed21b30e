//! Paths inside a run's virtual file system, checked once and safe from then on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest path in bytes. Long enough for any sane tree; short enough to stand in every record and event.
pub const PATH_BYTES_MAX: usize = 512;
/// How much of a refused path an error repeats.
const SHOWN_CHARS: usize = 60;
/// The folder under which the run's read-only sources appear.
pub const SOURCES_FOLDER: &str = "sources";

/// A path of the virtual file system: relative, `/` between its parts, unable to name anything outside.
///
/// `.` parts and doubled slashes are dropped on the way in, so that one file has one path. The empty path is
/// the root folder; only [`VPath::root`] and [`VPath::folder`] make it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VPath(String);

/// Why a text is not a path of the virtual file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VPathError {
    /// Nothing is left of the path.
    #[error("the path is empty: name a file, such as `notes/plan.md`")]
    Empty,
    /// More than [`PATH_BYTES_MAX`] bytes.
    #[error("the path has {bytes} bytes: at most {PATH_BYTES_MAX} are allowed")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// It starts at a file system's root.
    #[error("`{path}` is absolute: paths are relative to the run's workspace, such as `notes/plan.md`")]
    Absolute {
        /// What was given, cut to a printable length.
        path: String,
    },
    /// It has a `..` part.
    #[error("`{path}` has a `..` part: a path cannot leave the run's workspace")]
    Parent {
        /// What was given, cut to a printable length.
        path: String,
    },
    /// It starts with `~`.
    #[error("`{path}` starts with `~`: there is no home folder here, give a path relative to the run's workspace")]
    Home {
        /// What was given, cut to a printable length.
        path: String,
    },
    /// It starts with a drive letter or the scheme of an address.
    #[error("`{path}` is a drive or an address: give a path relative to the run's workspace")]
    Scheme {
        /// What was given, cut to a printable length.
        path: String,
    },
    /// It has a `\`.
    #[error("`{path}` has a backslash: separate the parts of a path with `/`")]
    Backslash {
        /// What was given, cut to a printable length.
        path: String,
    },
    /// It has NUL, a line break or another control character.
    #[error("`{path}` has the control character U+{code:04X}: a path is one line of printable text")]
    Control {
        /// What was given, cut to a printable length, with its control characters escaped.
        path: String,
        /// The first such character.
        code: u32,
    },
}

impl VPath {
    /// The root folder: workspace files and `sources` lie in it.
    #[must_use]
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Checks a text as the path of a file.
    ///
    /// # Errors
    /// [`VPathError`] says what is wrong and how a right path looks.
    pub fn parse(text: &str) -> Result<Self, VPathError> {
        let path = Self::folder(text)?;
        if path.is_root() {
            Err(VPathError::Empty)
        } else {
            Ok(path)
        }
    }

    /// Checks a text as the path of a folder: as [`VPath::parse`], but the empty text and `.` name the root.
    ///
    /// # Errors
    /// [`VPathError`] says what is wrong and how a right path looks.
    pub fn folder(text: &str) -> Result<Self, VPathError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(VPathError::TooLong { bytes: text.len() });
        }
        if let Some(control) = text.chars().find(|letter| letter.is_control()) {
            return Err(VPathError::Control {
                path: shown(text),
                code: u32::from(control),
            });
        }
        if text.starts_with('/') || text.starts_with("\\\\") {
            return Err(VPathError::Absolute { path: shown(text) });
        }
        if has_scheme(text) {
            return Err(VPathError::Scheme { path: shown(text) });
        }
        if text.contains('\\') {
            return Err(VPathError::Backslash { path: shown(text) });
        }
        if text.starts_with('~') {
            return Err(VPathError::Home { path: shown(text) });
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(VPathError::Parent { path: shown(text) }),
                other => parts.push(other),
            }
        }
        // A first part that the dropped ones had hidden, as in `./~x`, is read like any other first part.
        let path = parts.join("/");
        if path.len() < text.len() {
            Self::folder(&path)
        } else {
            Ok(Self(path))
        }
    }

    /// The path as text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root folder.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last part: a file's own name; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is `folder` or lies below it, part by part: `ab/c` does not lie in `a`.
    #[must_use]
    pub fn is_within(&self, folder: &VPath) -> bool {
        folder.is_root()
            || self
                .0
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// What stands behind `folder`, without a slash at its start; `None` if this does not lie below it.
    #[must_use]
    pub fn below(&self, folder: &VPath) -> Option<&str> {
        if folder.is_root() {
            return (!self.is_root()).then_some(self.as_str());
        }
        self.0.strip_prefix(folder.as_str())?.strip_prefix('/')
    }

    /// Whether this is the sources folder or lies in it, and so is read-only.
    #[must_use]
    pub fn is_source(&self) -> bool {
        self.0.split('/').next() == Some(SOURCES_FOLDER)
    }
}

impl fmt::Display for VPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for VPath {
    type Err = VPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl TryFrom<String> for VPath {
    type Error = VPathError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::folder(&text)
    }
}

impl From<VPath> for String {
    fn from(path: VPath) -> Self {
        path.0
    }
}

/// A drive letter (`C:`), an address (`https://…`, also `https:/…`), or the two schemes that name local data.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    let named = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
    named
        && (scheme.len() == 1
            || rest.starts_with(['/', '\\'])
            || ["file", "data"].contains(&scheme.to_ascii_lowercase().as_str()))
}

fn shown(text: &str) -> String {
    let mut letters = text.chars();
    let mut start: String = letters.by_ref().take(SHOWN_CHARS).flat_map(printable).collect();
    if letters.next().is_some() {
        start.push('…');
    }
    start
}

fn printable(letter: char) -> Vec<char> {
    if letter.is_control() {
        letter.escape_default().collect()
    } else {
        vec![letter]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(text: &str) -> String {
        VPath::parse(text).expect_err("should be refused").to_string()
    }

    #[test]
    fn d56_paths_that_point_outside_are_refused_each_with_its_reason() {
        let hint = "relative to the run's workspace";
        assert_eq!(
            refusal("/etc/passwd"),
            format!("`/etc/passwd` is absolute: paths are {hint}, such as `notes/plan.md`")
        );
        assert_eq!(
            refusal("../../x"),
            "`../../x` has a `..` part: a path cannot leave the run's workspace"
        );
        assert_eq!(
            refusal("a/../../x"),
            "`a/../../x` has a `..` part: a path cannot leave the run's workspace"
        );
        assert_eq!(
            refusal("a/.."),
            "`a/..` has a `..` part: a path cannot leave the run's workspace"
        );
        assert_eq!(
            refusal("~/x"),
            format!("`~/x` starts with `~`: there is no home folder here, give a path {hint}")
        );
        assert_eq!(
            refusal("~root/x"),
            format!("`~root/x` starts with `~`: there is no home folder here, give a path {hint}")
        );
        for address in [
            "C:\\x",
            "c:x",
            "C:/x",
            "file:///x",
            "FILE:x",
            "https://a.example/x",
            "s3:/b",
            "data:,x",
        ] {
            assert_eq!(
                refusal(address),
                format!("`{address}` is a drive or an address: give a path {hint}")
            );
        }
        assert_eq!(
            refusal("a\\..\\x"),
            "`a\\..\\x` has a backslash: separate the parts of a path with `/`"
        );
        assert_eq!(
            refusal("\\\\host\\share"),
            format!("`\\\\host\\share` is absolute: paths are {hint}, such as `notes/plan.md`")
        );
        assert_eq!(
            refusal("a\0b"),
            "`a\\u{0}b` has the control character U+0000: a path is one line of printable text"
        );
        assert_eq!(
            refusal("a\nb"),
            "`a\\nb` has the control character U+000A: a path is one line of printable text"
        );
        assert_eq!(
            refusal(&"x".repeat(5_000)),
            "the path has 5000 bytes: at most 512 are allowed"
        );
    }

    #[test]
    fn d56_a_dropped_part_hides_nothing_from_the_checks() {
        assert!(matches!(VPath::parse("./~/x"), Err(VPathError::Home { .. })));
        assert!(matches!(VPath::parse("././C:/x"), Err(VPathError::Scheme { .. })));
        assert!(matches!(VPath::parse("./../x"), Err(VPathError::Parent { .. })));
    }

    #[test]
    fn a_path_of_512_bytes_is_accepted_and_of_513_refused() {
        assert_eq!(VPath::parse(&"x".repeat(512)).map(|path| path.as_str().len()), Ok(512));
        assert_eq!(VPath::parse(&"x".repeat(513)), Err(VPathError::TooLong { bytes: 513 }));
    }

    #[test]
    fn one_file_has_one_path() {
        for text in [
            "notes/plan.md",
            "./notes/plan.md",
            "notes//plan.md",
            "notes/./plan.md",
            "notes/plan.md/",
        ] {
            assert_eq!(VPath::parse(text).map(String::from), Ok("notes/plan.md".to_owned()));
        }
        for text in ["", ".", "./", "././"] {
            assert_eq!(VPath::folder(text), Ok(VPath::root()));
            assert_eq!(VPath::parse(text), Err(VPathError::Empty));
        }
    }

    #[test]
    fn names_that_only_look_odd_are_accepted() {
        for text in [
            "a..b",
            "...",
            "x~",
            "a/~b",
            "notes: draft.md",
            "π/日本.md",
            "a b",
            "-rf",
        ] {
            assert_eq!(VPath::parse(text).map(String::from), Ok(text.to_owned()));
        }
    }

    #[test]
    fn within_goes_part_by_part() {
        let path = |text: &str| VPath::folder(text).unwrap();
        assert!(path("a/b").is_within(&path("a")));
        assert!(path("a").is_within(&path("a")));
        assert!(path("a").is_within(&VPath::root()));
        assert!(!path("ab/c").is_within(&path("a")));
        assert_eq!(path("a/b/c").below(&path("a")), Some("b/c"));
        assert_eq!(path("a").below(&path("a")), None);
        assert_eq!(path("a/b").below(&VPath::root()), Some("a/b"));
        assert!(path("sources/x").is_source() && path("sources").is_source() && !path("sources2").is_source());
    }

    #[test]
    fn a_stored_path_is_checked_when_it_is_read_back() {
        assert_eq!(
            serde_json::from_str::<VPath>("\"a/b\"").unwrap(),
            VPath::parse("a/b").unwrap()
        );
        assert!(serde_json::from_str::<VPath>("\"../b\"").is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_inside(text in "[a-zA-Z0-9.~:/\\\\ \\x00-\\x1f-]{0,40}") {
            if let Ok(path) = VPath::parse(&text) {
                let inside = path.as_str().split('/').all(|part| !part.is_empty() && part != "." && part != "..");
                prop_assert!(inside);
                prop_assert!(!path.as_str().starts_with('~'));
                prop_assert!(!path.as_str().contains(|letter: char| letter == '\\' || letter.is_control()));
                prop_assert_eq!(VPath::parse(path.as_str()), Ok(path.clone()));
            }
        }
    }
}
