//! `read_file`: a file as numbered lines.

use std::fmt::Write as _;

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{LINE_CHARS_MAX, lines, shown};
use super::tree;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorCode, arguments};
use crate::workspace::{VPath, media_type};

/// Lines shown if the call does not say: most files whole, and no more than a model reads at once.
const LIMIT_DEFAULT: usize = 2_000;
/// Room kept for the notes under the lines.
const NOTES_BYTES: usize = 512;

/// Shows a file, or a range of its lines.
pub struct ReadFile;

#[derive(Deserialize)]
struct Args {
    path: String,
    #[serde(default)]
    offset: usize,
    #[serde(default = "limit_default")]
    limit: usize,
}

fn limit_default() -> usize {
    LIMIT_DEFAULT
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".to_owned(),
            description: format!(
                "Shows a text file of the workspace or of `sources/` with line numbers, as `cat -n` does. Shows {LIMIT_DEFAULT} \
                 lines from the start unless `offset` and `limit` say otherwise."
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative, such as `sources/guide.md`"},
                    "offset": {"type": "integer", "minimum": 0, "description": "The first line to show, counted from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show"}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { path, offset, limit } = arguments::take(args)?;
        let path = VPath::parse(&path)?;
        let bytes = tree::read(ctx, &path).await?;
        if media_type::is_binary(&bytes) {
            let kind = media_type::guess(&path, &bytes);
            let message = format!(
                "`{path}` is not text ({kind}, {} bytes): it cannot be shown",
                bytes.len()
            );
            return Err(ToolError::new(ToolErrorCode::InvalidArguments, message));
        }
        numbered(
            &path,
            &bytes,
            offset.max(1),
            limit,
            ctx.limits.reply_bytes_max.saturating_sub(NOTES_BYTES),
        )
    }
}

/// The lines from `first` on, with notes on what is not shown as it is.
fn numbered(path: &VPath, bytes: &[u8], first: usize, limit: usize, bytes_max: usize) -> Result<String, ToolError> {
    let total = lines(bytes).count();
    if total == 0 {
        return Ok(format!("[`{path}` is empty]"));
    }
    if first > total {
        let message = format!("`{path}` has {total} lines: there is no line {first}");
        return Err(ToolError::new(ToolErrorCode::InvalidArguments, message));
    }
    let mut text = String::new();
    let mut last = first - 1;
    let mut lossy = false;
    for line in lines(bytes).skip(first - 1).take(limit) {
        let row = shown(line, LINE_CHARS_MAX);
        // At least one line is shown, so that reading on always gets ahead.
        if last >= first && text.len() + row.len() + 8 > bytes_max {
            break;
        }
        last += 1;
        lossy |= std::str::from_utf8(line).is_err();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{last:>6}\t{row}");
    }
    if last < total {
        let next = last + 1;
        let _ = writeln!(text, "[lines {first} to {last} of {total}; go on with offset {next}]");
    }
    if lossy {
        text.push_str("[bytes that are not UTF-8 are shown as U+FFFD]\n");
    }
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tools;
    use super::*;

    #[tokio::test]
    async fn s33_a_file_is_shown_with_line_numbers_whole_or_in_a_range() {
        let tools = Tools::new(&[("a.md", b"one\ntwo\r\n\nfour\n")]);
        let read = async |args| tools.ok("read_file", args).await;
        let whole = "     1\tone\n     2\ttwo\n     3\t\n     4\tfour";
        assert_eq!(read(json!({"path": "sources/a.md"})).await, whole);
        assert_eq!(read(json!({"path": "sources/a.md", "offset": 0})).await, whole);
        assert_eq!(
            read(json!({"path": "sources/a.md", "offset": 2, "limit": 1})).await,
            "     2\ttwo\n[lines 2 to 2 of 4; go on with offset 3]"
        );
        assert_eq!(
            read(json!({"path": "sources/a.md", "offset": 4, "limit": 9})).await,
            "     4\tfour"
        );
        assert_eq!(
            tools
                .error("read_file", json!({"path": "sources/a.md", "offset": 5}))
                .await,
            "invalid_arguments: `sources/a.md` has 4 lines: there is no line 5"
        );
    }

    #[tokio::test]
    async fn a_missing_file_is_answered_with_where_it_may_be() {
        let tools = Tools::new(&[("deep/plan.md", b"x")]);
        let error = async |path: &str| tools.error("read_file", json!({"path": path})).await;
        assert_eq!(
            error("plan.md").await,
            "not_found: there is no file `plan.md`: did you mean `sources/deep/plan.md`?"
        );
        assert_eq!(
            error("sources/deep").await,
            "not_found: `sources/deep` is a folder: list it with `ls`"
        );
        assert_eq!(
            error("x").await,
            "not_found: there is no file `x`: see what there is with `ls` or `glob`"
        );
    }

    #[tokio::test]
    async fn d29_bytes_that_are_not_utf8_are_shown_and_noted_and_read_by_an_escaped_name() {
        let tools = Tools::with_raw_names(&[(b"caf\xff.txt", b"ok\n\xf0\x28\xff\n")]);
        assert_eq!(
            tools.ok("ls", json!({"path": "sources"})).await,
            "caf%FF.txt\t7\t[the name is not plain text: caf\u{fffd}.txt]"
        );
        assert_eq!(
            tools.ok("read_file", json!({"path": "sources/caf%FF.txt"})).await,
            "     1\tok\n     2\t\u{fffd}(\u{fffd}\n[bytes that are not UTF-8 are shown as U+FFFD]"
        );
    }

    #[tokio::test]
    async fn empty_and_binary_files_are_said_to_be_so() {
        let tools = Tools::new(&[("empty", b""), ("x.png", b"\x89PNG\0")]);
        assert_eq!(
            tools.ok("read_file", json!({"path": "sources/empty"})).await,
            "[`sources/empty` is empty]"
        );
        assert_eq!(
            tools.error("read_file", json!({"path": "sources/x.png"})).await,
            "invalid_arguments: `sources/x.png` is not text (image/png, 5 bytes): it cannot be shown"
        );
    }

    #[tokio::test]
    async fn d21_a_large_file_is_shown_in_pieces_that_fit_and_can_be_read_on() {
        let text = (1..=50_000)
            .map(|line| format!("line {line}"))
            .collect::<Vec<_>>()
            .join("\n");
        let tools = Tools::new(&[("big", text.as_bytes())]);
        let shown = tools
            .ok("read_file", json!({"path": "sources/big", "limit": 100_000}))
            .await;
        assert!(shown.len() <= tools.ctx.limits.reply_bytes_max, "{}", shown.len());
        let note = shown.lines().last().unwrap();
        let last: usize = note.split(' ').nth(3).unwrap().parse().unwrap();
        assert_eq!(
            note,
            format!("[lines 1 to {last} of 50000; go on with offset {}]", last + 1)
        );
        assert_eq!(
            shown.lines().nth_back(1),
            Some(format!("{last:>6}\tline {last}").as_str())
        );
        let default = tools.ok("read_file", json!({"path": "sources/big"})).await;
        assert!(default.ends_with("[lines 1 to 2000 of 50000; go on with offset 2001]"));
    }

    #[tokio::test]
    async fn d21_a_line_without_end_is_cut() {
        let tools = Tools::new(&[("line", "é".repeat(100_000).as_bytes())]);
        let shown = tools.ok("read_file", json!({"path": "sources/line"})).await;
        assert_eq!(shown, format!("     1\t{}… [98000 more characters]", "é".repeat(2_000)));
    }
}
