//! Glob patterns over virtual paths.

use globset::{GlobBuilder, GlobMatcher};

use crate::tool::{ToolError, ToolErrorCode};
use crate::workspace::VPath;

/// A checked glob pattern.
#[derive(Debug)]
pub struct PathPattern {
    matcher: GlobMatcher,
    by_name: bool,
}

impl PathPattern {
    /// Reads a pattern: `*` within a part, `**` over parts, `?`, `[a-z]`, `{one,other}`. It has the bounds of a path
    /// and can no more than a path point outside. One without `/` means file names in any folder.
    ///
    /// # Errors
    /// [`ToolErrorCode::Refused`] or [`ToolErrorCode::InvalidArguments`].
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let pattern = VPath::parse(text)?;
        let glob = GlobBuilder::new(pattern.as_str())
            .literal_separator(true)
            .build()
            .map_err(|error| {
                ToolError::new(
                    ToolErrorCode::InvalidArguments,
                    format!("the pattern cannot be read: {}", error.kind()),
                )
            })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            by_name: !pattern.as_str().contains('/'),
        })
    }

    /// Whether the file at `path` fits, taken from the root or from the folder `base`.
    pub fn fits(&self, path: &VPath, base: &VPath) -> bool {
        if self.by_name {
            return self.matcher.is_match(path.name());
        }
        self.matcher.is_match(path.as_str()) || path.below(base).is_some_and(|below| self.matcher.is_match(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str, base: &str) -> bool {
        PathPattern::parse(pattern)
            .unwrap()
            .fits(&VPath::parse(path).unwrap(), &VPath::folder(base).unwrap())
    }

    #[test]
    fn stars_stay_in_their_part_and_double_stars_do_not() {
        assert!(fits("*.md", "a/b/c.md", ""));
        assert!(fits("a/*.md", "a/c.md", ""));
        assert!(!fits("a/*.md", "a/b/c.md", ""));
        assert!(fits("a/**/*.md", "a/c.md", ""));
        assert!(fits("**/*.{md,txt}", "a/b/c.txt", ""));
        assert!(fits("b/*.md", "a/b/c.md", "a"));
        assert!(!fits("b/*.md", "a/b/c.md", ""));
        assert!(fits("[!x]?.md", "ab.md", ""));
    }

    #[test]
    fn d56_patterns_that_point_outside_and_broken_ones_are_refused() {
        for outside in ["/etc/*", "../*", "a/../../*", "~/*", "C:\\*", "file:///*", "*\0"] {
            assert_eq!(
                PathPattern::parse(outside).unwrap_err().code,
                ToolErrorCode::Refused,
                "{outside}"
            );
        }
        for broken in ["[a", "{a", "a/[z-a]"] {
            assert_eq!(
                PathPattern::parse(broken).unwrap_err().code,
                ToolErrorCode::InvalidArguments,
                "{broken}"
            );
        }
    }
}
