//! `grep`: lines by a regular expression.

use std::collections::VecDeque;
use std::fmt::Write as _;

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pattern::PathPattern;
use super::text::{lines, shown};
use super::tree;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorCode, arguments};
use crate::workspace::{VPath, media_type};

/// Longest expression: what a person could still read.
const PATTERN_CHARS_MAX: usize = 1_000;
/// Memory of a compiled expression, so that `(a{1000}){1000}` is refused and not compiled.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Matching lines shown; all are counted.
const MATCHES_SHOWN_MAX: usize = 200;
/// Longest shown line: shorter than in `read_file`, because many are shown.
const LINE_CHARS_MAX: usize = 300;
/// Room kept for the note under the lines.
const NOTES_BYTES: usize = 512;
/// Files below this size are searched where they are; larger ones on a thread that may block.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Finds lines of files.
pub struct Grep;

#[derive(Deserialize)]
struct Args {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    context: usize,
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description: "Finds the lines that a regular expression (Rust's syntax; start with `(?i)` to ignore case) \
                          matches, in all text files or those that `path` and `glob` name. Shows `path:line:text`, and \
                          `path-line-text` for the lines around."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": PATTERN_CHARS_MAX},
                    "path": {"type": "string", "description": "A folder or file to search in; all if absent"},
                    "glob": {"type": "string", "description": "Only files whose path fits, such as `*.md`"},
                    "context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "Lines to show around each match"}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args {
            pattern,
            path,
            glob,
            context,
        } = arguments::take(args)?;
        let regex = compile(&pattern)?;
        let base = VPath::folder(&path)?;
        let glob = glob.as_deref().map(PathPattern::parse).transpose()?;
        let mut files = tree::list(ctx, &base).await?;
        if files.is_empty() && !base.is_root() {
            return Err(tree::missing(ctx, &base).await);
        }
        files.retain(|file| glob.as_ref().is_none_or(|glob| glob.fits(&file.path, &base)));
        let mut found = Found {
            bytes_max: ctx.limits.reply_bytes_max,
            ..Found::default()
        };
        for file in files {
            match tree::read(ctx, &file.path).await {
                Ok(bytes) if media_type::is_binary(&bytes) => found.binary += 1,
                Ok(bytes) => found = search(found, file.path, bytes, &regex, context).await?,
                // A file that went away meanwhile is told, and does not hide what the others hold.
                Err(_) => found.unreadable += 1,
            }
        }
        Ok(found.report())
    }
}

fn compile(pattern: &str) -> Result<Regex, ToolError> {
    let built = RegexBuilder::new(pattern)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build();
    built.map_err(|error| {
        ToolError::new(
            ToolErrorCode::InvalidArguments,
            format!("the expression cannot be used: {error}"),
        )
    })
}

async fn search(
    mut found: Found,
    path: VPath,
    bytes: Vec<u8>,
    regex: &Regex,
    context: usize,
) -> Result<Found, ToolError> {
    if bytes.len() <= INLINE_BYTES_MAX {
        found.add_file(&path, &bytes, regex, context);
        return Ok(found);
    }
    let regex = regex.clone();
    let searched = tokio::task::spawn_blocking(move || {
        found.add_file(&path, &bytes, &regex, context);
        found
    });
    searched.await.map_err(|_| ToolError::broken())
}

/// What was found so far.
#[derive(Debug, Default)]
struct Found {
    text: String,
    bytes_max: usize,
    /// Set at the first line for which there is no room, so that what is shown has no gaps.
    is_full: bool,
    files: usize,
    matching_files: usize,
    matches: usize,
    shown: usize,
    binary: usize,
    unreadable: usize,
}

impl Found {
    /// Goes through a file once and keeps only the lines around, so that a file of nothing but line ends costs no more.
    fn add_file(&mut self, path: &VPath, bytes: &[u8], regex: &Regex, context: usize) {
        let mut before: VecDeque<(usize, &[u8])> = VecDeque::with_capacity(context);
        let mut after = 0;
        let mut matches = 0;
        // The line behind the last shown one.
        let mut next = None;
        for (number, line) in (1..).zip(lines(bytes)) {
            if regex.is_match(line) {
                matches += 1;
                let first = before.front().map_or(number, |(number, _)| *number);
                if context > 0 && next != Some(first) {
                    self.separate();
                }
                before
                    .drain(..)
                    .for_each(|(number, line)| self.show(path, number, '-', line));
                self.show(path, number, ':', line);
                after = context;
                next = Some(number + 1);
            } else if after > 0 {
                self.show(path, number, '-', line);
                after -= 1;
                next = Some(number + 1);
            } else if context > 0 {
                if before.len() == context {
                    before.pop_front();
                }
                before.push_back((number, line));
            }
        }
        self.files += 1;
        self.matches += matches;
        self.matching_files += usize::from(matches > 0);
    }

    fn separate(&mut self) {
        if !self.text.is_empty() && !self.is_full {
            self.text.push_str("--\n");
        }
    }

    /// Shows a line unless the reply is full; `mark` tells a matching line from one around it.
    fn show(&mut self, path: &VPath, number: usize, mark: char, line: &[u8]) {
        if self.is_full {
            return;
        }
        let row = format!("{path}{mark}{number}{mark}{}\n", shown(line, LINE_CHARS_MAX));
        let has_room = self.text.len() + row.len() + NOTES_BYTES <= self.bytes_max && self.shown < MATCHES_SHOWN_MAX;
        if !has_room {
            self.is_full = true;
            return;
        }
        self.shown += usize::from(mark == ':');
        self.text.push_str(&row);
    }

    fn report(mut self) -> String {
        let searched = self.files;
        let mut notes = match (self.matches, self.shown) {
            (0, _) => format!("no match in {searched} files"),
            (all, shown) if shown < all => format!(
                "the first {shown} of {all} matching lines, which are in {} of {searched} files; narrow the search",
                self.matching_files
            ),
            (all, _) => format!("{all} matching lines in {} of {searched} files", self.matching_files),
        };
        for (count, why) in [(self.binary, "are not text"), (self.unreadable, "could not be read")] {
            if count > 0 {
                let _ = write!(notes, "; {count} more {why}");
            }
        }
        let _ = write!(self.text, "[{notes}]");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tools;
    use super::*;

    #[tokio::test]
    async fn s33_grep_shows_matching_lines_of_workspace_and_sources() {
        let tools = Tools::new(&[("a.md", b"one\ntwo\nThree\n"), ("b.txt", b"two\r\n")]);
        tools.write("notes.md", b"two").await;
        let grep = async |args| tools.ok("grep", args).await;
        assert_eq!(
            grep(json!({"pattern": "^two$"})).await,
            "notes.md:1:two\nsources/a.md:2:two\nsources/b.txt:1:two\n[3 matching lines in 3 of 3 files]"
        );
        assert_eq!(
            grep(json!({"pattern": "(?i)^t", "path": "sources", "glob": "*.md"})).await,
            "sources/a.md:2:two\nsources/a.md:3:Three\n[2 matching lines in 1 of 1 files]"
        );
        assert_eq!(
            grep(json!({"pattern": "two", "path": "sources/b.txt"})).await,
            "sources/b.txt:1:two\n[1 matching lines in 1 of 1 files]"
        );
        assert_eq!(grep(json!({"pattern": "four"})).await, "[no match in 3 files]");
        assert_eq!(
            tools
                .error("grep", json!({"pattern": "two", "path": "sources/none"}))
                .await,
            "not_found: there is no file `sources/none`: see what there is with `ls` or `glob`"
        );
    }

    #[tokio::test]
    async fn lines_around_a_match_are_shown_once_and_blocks_are_parted() {
        let tools = Tools::new(&[("a", b"1\nx\n3\nx\n5\n6\n7\nx\n"), ("b", b"x\n2\n")]);
        assert_eq!(
            tools.ok("grep", json!({"pattern": "x", "context": 1})).await,
            "sources/a-1-1\nsources/a:2:x\nsources/a-3-3\nsources/a:4:x\nsources/a-5-5\n--\nsources/a-7-7\nsources/a:8:x\n\
             --\nsources/b:1:x\nsources/b-2-2\n[4 matching lines in 2 of 2 files]"
        );
    }

    #[tokio::test]
    async fn d21_matches_are_bounded_and_counted() {
        let many = "x\n".repeat(100_000);
        let tools = Tools::new(&[("a", many.as_bytes()), ("b", b"x\n")]);
        let shown = tools.ok("grep", json!({"pattern": "x"})).await;
        assert_eq!(shown.lines().count(), 201);
        assert!(
            shown.ends_with("[the first 200 of 100001 matching lines, which are in 2 of 2 files; narrow the search]")
        );
        let wide = format!("x{}\n", "é".repeat(5_000)).repeat(200);
        let tools = Tools::new(&[("a", wide.as_bytes())]);
        let shown = tools.ok("grep", json!({"pattern": "x"})).await;
        assert!(shown.len() <= tools.ctx.limits.reply_bytes_max, "{}", shown.len());
        assert!(
            shown.ends_with(" of 200 matching lines, which are in 1 of 1 files; narrow the search]"),
            "{shown}"
        );
        assert!(shown.starts_with(&format!("sources/a:1:x{}… [4701 more characters]\n", "é".repeat(299))));
    }

    #[tokio::test]
    async fn d29_bytes_that_are_not_utf8_are_searched_and_binary_files_told() {
        let tools = Tools::new(&[("latin", b"caf\xe9 one\n"), ("x.png", b"\x89PNG\0one")]);
        assert_eq!(
            tools.ok("grep", json!({"pattern": "one"})).await,
            "sources/latin:1:caf\u{fffd} one\n[1 matching lines in 1 of 1 files; 1 more are not text]"
        );
    }

    #[tokio::test]
    async fn expressions_that_are_broken_or_too_large_are_refused() {
        let tools = Tools::new(&[]);
        let error = async |pattern: &str| tools.error("grep", json!({"pattern": pattern})).await;
        assert!(
            error("(")
                .await
                .starts_with("invalid_arguments: the expression cannot be used: regex parse error")
        );
        assert!(
            error("((a{1000}){1000}){1000}")
                .await
                .starts_with("invalid_arguments: the expression cannot be used: ")
        );
        assert!(
            error(&"a".repeat(1_001))
                .await
                .starts_with("invalid_arguments: at /pattern: ")
        );
    }
}
