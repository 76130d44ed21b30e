//! `glob`: files by the pattern of their path.

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pattern::PathPattern;
use super::tree;
use crate::tool::{Tool, ToolContext, ToolError, arguments};
use crate::workspace::VPath;

/// Finds files by pattern.
pub struct Glob;

#[derive(Deserialize)]
struct Args {
    pattern: String,
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "glob".to_owned(),
            description: "Finds files of the workspace and of `sources/` by a pattern: `*` within a folder, `**` over \
                          folders, `?`, `[a-z]`, `{md,txt}`. A pattern without `/` finds names in any folder."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Such as `*.md` or `sources/**/*.{md,txt}`"}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { pattern } = arguments::take(args)?;
        let pattern = PathPattern::parse(&pattern)?;
        let root = VPath::root();
        let files = tree::list(ctx, &root).await?;
        let found: Vec<&str> = files
            .iter()
            .filter(|file| pattern.fits(&file.path, &root))
            .map(|file| file.path.as_str())
            .collect();
        if found.is_empty() {
            return Ok(format!("[none of {} files fits]", files.len()));
        }
        let mut lines: Vec<String> = found
            .iter()
            .take(ctx.limits.listed_max)
            .map(|path| (*path).to_owned())
            .collect();
        if found.len() > lines.len() {
            lines.push(format!(
                "[{} more files: use a narrower pattern]",
                found.len() - lines.len()
            ));
        }
        Ok(lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tools;
    use super::*;

    #[tokio::test]
    async fn s33_glob_finds_files_of_workspace_and_sources() {
        let tools = Tools::new(&[("a.md", b""), ("b/c.md", b""), ("b/d.txt", b"")]);
        tools.write("notes.md", b"").await;
        let glob = async |pattern: &str| tools.ok("glob", json!({"pattern": pattern})).await;
        assert_eq!(glob("*.md").await, "notes.md\nsources/a.md\nsources/b/c.md");
        assert_eq!(glob("sources/*.md").await, "sources/a.md");
        assert_eq!(glob("**/b/*").await, "sources/b/c.md\nsources/b/d.txt");
        assert_eq!(glob("*.rs").await, "[none of 4 files fits]");
    }

    #[tokio::test]
    async fn the_found_files_are_bounded_and_counted() {
        let mut tools = Tools::new(&[("a", b""), ("b", b""), ("c", b"")]);
        tools.ctx.limits.listed_max = 1;
        assert_eq!(
            tools.ok("glob", json!({"pattern": "*"})).await,
            "sources/a\n[2 more files: use a narrower pattern]"
        );
    }
}
