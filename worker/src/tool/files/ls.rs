//! `ls`: what lies in a folder.

use std::collections::BTreeMap;

use async_trait::async_trait;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree::{self, Entry};
use crate::tool::{Tool, ToolContext, ToolError, arguments};
use crate::workspace::vpath::SOURCES_FOLDER;
use crate::workspace::{Sources, VPath};

/// Lists one folder.
pub struct Ls;

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    path: String,
}

#[async_trait]
impl Tool for Ls {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "ls".to_owned(),
            description:
                "Lists the files and folders of one folder, with sizes in bytes. Folders end with `/`. Without \
                          `path` it lists the root: your workspace, and `sources/`, the given documents, read-only."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"path": {"type": "string", "description": "A folder, relative, such as `sources/api`"}},
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { path } = arguments::take(args)?;
        let folder = VPath::folder(&path)?;
        let files = tree::list(ctx, &folder).await?;
        let is_known = folder.is_root() || folder.as_str() == SOURCES_FOLDER;
        if files.is_empty() && !is_known {
            return Err(tree::missing(ctx, &folder).await);
        }
        let rows = rows(&files, &folder);
        let mut lines: Vec<String> = rows.iter().take(ctx.limits.listed_max).cloned().collect();
        if rows.is_empty() {
            lines.push("[nothing here yet]".to_owned());
        }
        if rows.len() > lines.len() {
            lines.push(format!(
                "[{} more entries: narrow down with `glob`]",
                rows.len() - lines.len()
            ));
        }
        if is_known {
            lines.extend(left_out(&ctx.sources));
        }
        Ok(lines.join("\n"))
    }
}

/// One row for each direct entry of `folder`: its folders with their count of files, then its files.
fn rows(files: &[Entry], folder: &VPath) -> Vec<String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for file in files {
        // The listed path may be a file itself.
        let below = file.path.below(folder).unwrap_or(file.path.name());
        match below.split_once('/') {
            Some((name, _)) => *folders.entry(name).or_default() += 1,
            None => rows.push(file_row(below, file)),
        }
    }
    let folders = folders
        .into_iter()
        .map(|(name, files)| format!("{name}/\t{files} {}", plural(files, "file")));
    folders.chain(rows).collect()
}

fn file_row(name: &str, file: &Entry) -> String {
    let size = file.size;
    match &file.readable_name {
        Some(readable) => format!("{name}\t{size}\t[the name is not plain text: {readable}]"),
        None => format!("{name}\t{size}"),
    }
}

fn left_out(sources: &Sources) -> impl Iterator<Item = String> {
    sources
        .left_out()
        .iter()
        .map(|row| format!("[of {SOURCES_FOLDER}: {row}]"))
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tools;
    use super::*;

    #[tokio::test]
    async fn s33_ls_shows_workspace_and_sources_as_one_tree() {
        let tools = Tools::new(&[("guide.md", b"guide"), ("api/a.md", b""), ("api/deep/b.md", b"")]);
        tools.write("notes/plan.md", b"plan").await;
        tools.write("report.md", b"12").await;
        let ls = async |args| tools.ok("ls", args).await;
        assert_eq!(ls(json!({})).await, "notes/\t1 file\nsources/\t3 files\nreport.md\t2");
        assert_eq!(ls(json!({"path": "sources"})).await, "api/\t2 files\nguide.md\t5");
        assert_eq!(ls(json!({"path": "./sources/api/"})).await, "deep/\t1 file\na.md\t0");
        assert_eq!(ls(json!({"path": "report.md"})).await, "report.md\t2");
        assert_eq!(
            tools.error("ls", json!({"path": "sources/none"})).await,
            "not_found: there is no file `sources/none`: see what there is with `ls` or `glob`"
        );
    }

    #[tokio::test]
    async fn an_empty_tree_is_no_error() {
        let tools = Tools::new(&[]);
        assert_eq!(tools.ok("ls", json!({})).await, "[nothing here yet]");
        assert_eq!(tools.ok("ls", json!({"path": "sources"})).await, "[nothing here yet]");
    }

    #[tokio::test]
    async fn the_listing_is_bounded_and_says_what_is_missing() {
        let mut tools = Tools::new(&[]);
        tools.ctx.limits.listed_max = 2;
        for name in ["a", "b", "c", "d"] {
            tools.write(name, b"").await;
        }
        assert_eq!(
            tools.ok("ls", json!({})).await,
            "a\t0\nb\t0\n[2 more entries: narrow down with `glob`]"
        );
    }

    #[tokio::test]
    async fn what_was_left_out_of_the_sources_is_told() {
        let tools = Tools::with_link("passwd", "/etc/passwd");
        assert_eq!(
            tools.ok("ls", json!({})).await,
            "[nothing here yet]\n[of sources: 1 left out, symbolic link: passwd]"
        );
    }
}
