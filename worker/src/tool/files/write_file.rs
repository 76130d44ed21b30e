//! `write_file`: a new file, or a new content for one.

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree;
use crate::tool::{Tool, ToolContext, ToolError, arguments};

/// Writes a whole file into the workspace.
pub struct WriteFile;

#[derive(Deserialize)]
struct Args {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".to_owned(),
            description:
                "Writes a text file into the workspace, replacing the file if there is one. To change a part of \
                          a file use `edit_file`. `sources/` is read-only."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, relative, such as `notes/plan.md`"},
                    "content": {"type": "string", "description": "Its whole new content"}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
            effect: Effect::Local,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { path, content } = arguments::take(args)?;
        let path = tree::writable(&path)?;
        let info = ctx.workspace.write(&path, content.into_bytes()).await?;
        Ok(format!(
            "wrote `{}`: {} bytes, sha256 {}",
            info.path, info.size, info.sha256
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::Tools;
    use super::*;
    use crate::workspace::{MemoryWorkspace, WorkspaceLimits};

    #[tokio::test]
    async fn s33_a_written_file_is_named_with_size_and_hash_and_read_back() {
        let tools = Tools::new(&[]);
        let reply = tools
            .ok("write_file", json!({"path": "notes/a.md", "content": "abc"}))
            .await;
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(reply, format!("wrote `notes/a.md`: 3 bytes, sha256 {hash}"));
        assert_eq!(tools.written("notes/a.md").await, Some(b"abc".to_vec()));
        tools
            .ok("write_file", json!({"path": "notes/a.md", "content": "x\u{0}y"}))
            .await;
        assert_eq!(tools.written("notes/a.md").await, Some(b"x\0y".to_vec()));
    }

    #[tokio::test]
    async fn s33_the_sources_are_read_only() {
        let tools = Tools::new(&[("a.md", b"x")]);
        let error = tools
            .error("write_file", json!({"path": "sources/a.md", "content": ""}))
            .await;
        assert_eq!(
            error,
            "refused: `sources/a.md` is read-only: write beside `sources`, not into it"
        );
        let error = tools
            .error("write_file", json!({"path": "./sources", "content": ""}))
            .await;
        assert_eq!(
            error,
            "refused: `sources` is read-only: write beside `sources`, not into it"
        );
    }

    #[tokio::test]
    async fn a_full_workspace_and_a_file_in_the_way_are_said_to_be_so() {
        let mut tools = Tools::new(&[]);
        let limits = WorkspaceLimits {
            file_bytes_max: 4,
            files_max: 1,
            total_bytes_max: 4,
        };
        tools.ctx.workspace = Arc::new(MemoryWorkspace::with_limits(limits));
        let error = async |path: &str, content: &str| {
            tools
                .error("write_file", json!({"path": path, "content": content}))
                .await
        };
        assert_eq!(
            error("a", "12345").await,
            "too_large: `a` would have 5 bytes: a file may have 4"
        );
        tools.write("a", b"1234").await;
        assert_eq!(
            error("b", "").await,
            "too_large: the workspace is full: it may hold 1 files"
        );
        let in_the_way =
            "conflict: `a/b` cannot be a file beside the file `a`: one would have to be the other's folder";
        assert_eq!(error("a/b", "").await, in_the_way);
    }
}
