//! `edit_file`: one text in a file replaced by another.

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorCode, arguments};
use crate::workspace::{FILE_BYTES_MAX, VPath};

/// How many lines an error names at which a text occurs.
const LINES_NAMED_MAX: usize = 5;

/// Replaces an exact text in a file of the workspace.
pub struct EditFile;

#[derive(Deserialize)]
struct Args {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// Which occurrences an edit means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    TheOnlyOne,
    All,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_file".to_owned(),
            description:
                "Replaces an exact text in a file of the workspace. `old_string` must occur exactly once: give \
                          enough of the lines around it; or set `replace_all` to replace every occurrence. Do not copy \
                          the line numbers that `read_file` shows."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative, such as `notes/plan.md`"},
                    "old_string": {"type": "string", "description": "The text to replace, as it stands in the file"},
                    "new_string": {"type": "string", "description": "The text to put there"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence; false if absent"}
                },
                "required": ["path", "old_string", "new_string"],
                "additionalProperties": false
            }),
            effect: Effect::Local,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args {
            path,
            old_string,
            new_string,
            replace_all,
        } = arguments::take(args)?;
        let path = tree::writable(&path)?;
        let bytes = tree::read(ctx, &path).await?;
        let which = if replace_all { Which::All } else { Which::TheOnlyOne };
        let (edited, count) = edit(&path, &bytes, &old_string, &new_string, which)?;
        let info = ctx.workspace.write(&path, edited).await?;
        let times = if count == 1 {
            "once".to_owned()
        } else {
            format!("{count} times")
        };
        Ok(format!(
            "replaced {times} in `{path}`: now {} bytes, sha256 {}",
            info.size, info.sha256
        ))
    }
}

/// The new content and how often the text was replaced. Works on bytes, so that what is not UTF-8 stays as it is.
fn edit(path: &VPath, bytes: &[u8], old: &str, new: &str, which: Which) -> Result<(Vec<u8>, usize), ToolError> {
    if old.is_empty() {
        let message = "`old_string` is empty: give the text to replace, or write the whole file with `write_file`";
        return Err(ToolError::new(ToolErrorCode::InvalidArguments, message));
    }
    if old == new {
        let message = "`old_string` and `new_string` are equal: there is nothing to change";
        return Err(ToolError::new(ToolErrorCode::InvalidArguments, message));
    }
    // A model is shown lines without `\r` and cannot know of it.
    let with_cr = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let crlf = memmem::find(bytes, old.as_bytes()).is_none() && memmem::find(bytes, b"\r\n").is_some();
    let (old, new) = if crlf {
        (with_cr(old), with_cr(new))
    } else {
        (old.to_owned(), new.to_owned())
    };
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let places = match which {
        Which::All => memmem::find_iter(bytes, old).collect(),
        Which::TheOnlyOne => overlapping(bytes, old),
    };
    match (places.len(), which) {
        (0, _) => Err(not_there(path)),
        (1, _) | (_, Which::All) => {
            check_size(path, bytes.len(), old.len(), new.len(), places.len())?;
            Ok((replace(bytes, &places, old.len(), new), places.len()))
        }
        (_, Which::TheOnlyOne) => Err(ambiguous(path, bytes, &places)),
    }
}

/// Where `old` occurs, also within another occurrence: `aa` stands twice in `aaa`. Ends once an error can name enough.
fn overlapping(bytes: &[u8], old: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    let mut places: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(found) = finder.find(&bytes[from..]) {
        places.push(from + found);
        from += found + 1;
        if places.len() > LINES_NAMED_MAX {
            break;
        }
    }
    places
}

/// Refuses before the memory is taken: thousands of occurrences times a long text.
fn check_size(path: &VPath, size: usize, old: usize, new: usize, count: usize) -> Result<(), ToolError> {
    let edited = (size - old * count) as u64 + (new as u64).saturating_mul(count as u64);
    if edited <= FILE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("`{path}` would have {edited} bytes: a file may have {FILE_BYTES_MAX}");
    Err(ToolError::new(ToolErrorCode::TooLarge, message))
}

fn replace(bytes: &[u8], places: &[usize], old_len: usize, new: &[u8]) -> Vec<u8> {
    let mut edited = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for place in places {
        edited.extend_from_slice(&bytes[from..*place]);
        edited.extend_from_slice(new);
        from = place + old_len;
    }
    edited.extend_from_slice(&bytes[from..]);
    edited
}

fn not_there(path: &VPath) -> ToolError {
    let message = format!(
        "`old_string` does not occur in `{path}`: copy it exactly, with its spaces and line breaks and without line numbers"
    );
    ToolError::new(ToolErrorCode::Conflict, message)
}

fn ambiguous(path: &VPath, bytes: &[u8], places: &[usize]) -> ToolError {
    let line = |place: &usize| 1 + memchr::memchr_iter(b'\n', &bytes[..*place]).count();
    let named: Vec<String> = places
        .iter()
        .take(LINES_NAMED_MAX)
        .map(|place| line(place).to_string())
        .collect();
    let more = if places.len() > LINES_NAMED_MAX {
        " and more"
    } else {
        ""
    };
    let message = format!(
        "`old_string` occurs more than once in `{path}` (lines {}{more}): give more of the text around the one you mean, \
         or set `replace_all`",
        named.join(", ")
    );
    ToolError::new(ToolErrorCode::Conflict, message)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tools;
    use super::*;

    async fn edited(before: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, String> {
        let tools = Tools::new(&[]);
        tools.write("f", before).await;
        let args = json!({"path": "f", "old_string": old, "new_string": new, "replace_all": all});
        let reply = tools.call("edit_file", args).await;
        let after = tools.written("f").await.unwrap();
        if reply.error {
            assert_eq!(after, before, "a refused edit changes nothing");
            return Err(reply.content);
        }
        Ok(after)
    }

    #[tokio::test]
    async fn s33_the_only_occurrence_is_replaced() {
        assert_eq!(
            edited(b"one two three", "two", "2", false).await.unwrap(),
            b"one 2 three"
        );
        assert_eq!(edited(b"one two three", " two", "", false).await.unwrap(), b"one three");
        assert_eq!(
            edited(b"one\ntwo\nthree", "one\ntwo", "1\n2", false).await.unwrap(),
            b"1\n2\nthree"
        );
    }

    #[tokio::test]
    async fn s33_a_text_that_occurs_twice_needs_more_context_or_replace_all() {
        assert_eq!(
            edited(b"a x\nb x\n", "x", "y", false).await.unwrap_err(),
            "conflict: `old_string` occurs more than once in `f` (lines 1, 2): give more of the text around the one you \
             mean, or set `replace_all`"
        );
        assert_eq!(edited(b"a x\nb x\n", "x", "y", true).await.unwrap(), b"a y\nb y\n");
        assert!(
            edited(b"aaa", "aa", "b", false)
                .await
                .unwrap_err()
                .contains("lines 1, 1")
        );
        assert_eq!(edited(b"aaa", "aa", "b", true).await.unwrap(), b"ba");
        let many = "x\n".repeat(1_000);
        assert!(
            edited(many.as_bytes(), "x", "y", false)
                .await
                .unwrap_err()
                .contains("(lines 1, 2, 3, 4, 5 and more)")
        );
    }

    #[tokio::test]
    async fn s33_a_text_that_is_not_there_or_no_change_is_refused() {
        assert_eq!(
            edited(b"one", "two", "2", true).await.unwrap_err(),
            "conflict: `old_string` does not occur in `f`: copy it exactly, with its spaces and line breaks and without \
             line numbers"
        );
        assert!(
            edited(b"one", "", "2", false)
                .await
                .unwrap_err()
                .starts_with("invalid_arguments: `old_string` is empty")
        );
        assert!(
            edited(b"one", "one", "one", false)
                .await
                .unwrap_err()
                .contains("are equal")
        );
    }

    #[tokio::test]
    async fn d29_bytes_that_are_not_utf8_survive_an_edit_beside_them() {
        assert_eq!(
            edited(b"\xf0\x28\xff one", "one", "1", false).await.unwrap(),
            b"\xf0\x28\xff 1"
        );
    }

    #[tokio::test]
    async fn windows_line_ends_are_kept() {
        assert_eq!(
            edited(b"a\r\nb\r\nc\r\n", "a\nb", "1\n2", false).await.unwrap(),
            b"1\r\n2\r\nc\r\n"
        );
    }

    #[tokio::test]
    async fn an_edit_that_would_blow_the_file_up_is_refused_before_it_is_made() {
        let error = edited(&b"x".repeat(100_000), "x", &"y".repeat(100_000), true)
            .await
            .unwrap_err();
        assert_eq!(
            error,
            "too_large: `f` would have 10000000000 bytes: a file may have 33554432"
        );
    }

    #[tokio::test]
    async fn sources_and_missing_files_are_not_edited() {
        let tools = Tools::new(&[("a", b"x")]);
        let error = async |path: &str| {
            tools
                .error("edit_file", json!({"path": path, "old_string": "x", "new_string": "y"}))
                .await
        };
        assert_eq!(
            error("sources/a").await,
            "refused: `sources/a` is read-only: write beside `sources`, not into it"
        );
        assert_eq!(
            error("a").await,
            "not_found: there is no file `a`: did you mean `sources/a`?"
        );
    }
}
