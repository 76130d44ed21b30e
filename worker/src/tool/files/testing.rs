//! A tool box over a small tree, for the tests of the file tools.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use legwork_shared::agent::{ToolCall, ToolReply};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::tool::{ToolBox, ToolContext, ToolLimits};
use crate::workspace::{MemoryWorkspace, SourceLimits, Sources, VPath};

/// The standard tools, an empty workspace and a folder of sources.
pub struct Tools {
    _folder: tempfile::TempDir,
    toolbox: ToolBox,
    pub ctx: ToolContext,
}

impl Tools {
    /// With these files as sources.
    pub fn new(sources: &[(&str, &[u8])]) -> Self {
        let named: Vec<_> = sources.iter().map(|(path, bytes)| (path.as_bytes(), *bytes)).collect();
        Self::with_raw_names(&named)
    }

    /// With files whose names may be any bytes.
    pub fn with_raw_names(sources: &[(&[u8], &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in sources {
            let path = folder.path().join(OsStr::from_bytes(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self::over(folder)
    }

    /// With one symbolic link as sources.
    pub fn with_link(name: &str, target: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
        Self::over(folder)
    }

    fn over(folder: tempfile::TempDir) -> Self {
        let sources = Sources::open(&[folder.path().to_owned()], SourceLimits::default()).unwrap();
        let ctx = ToolContext {
            workspace: Arc::new(MemoryWorkspace::new()),
            sources: Arc::new(sources),
            docs: None,
            call_key: "job_1/1/call_1".to_owned(),
            cancel: CancellationToken::new(),
            limits: ToolLimits::default(),
        };
        Self {
            _folder: folder,
            toolbox: ToolBox::standard(),
            ctx,
        }
    }

    /// Puts a file into the workspace.
    pub async fn write(&self, path: &str, bytes: &[u8]) {
        self.ctx
            .workspace
            .write(&VPath::parse(path).unwrap(), bytes.to_vec())
            .await
            .unwrap();
    }

    /// The bytes of a file of the workspace.
    pub async fn written(&self, path: &str) -> Option<Vec<u8>> {
        self.ctx.workspace.read(&VPath::parse(path).unwrap()).await.unwrap()
    }

    /// The reply to a call.
    pub async fn call(&self, name: &str, arguments: Value) -> ToolReply {
        let call = ToolCall {
            id: "call_1".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        };
        self.toolbox.dispatch(&call, &self.ctx).await
    }

    /// The content of the reply to a call that must succeed.
    pub async fn ok(&self, name: &str, arguments: Value) -> String {
        let reply = self.call(name, arguments).await;
        assert!(!reply.error, "{}", reply.content);
        reply.content
    }

    /// The content of the reply to a call that must fail.
    pub async fn error(&self, name: &str, arguments: Value) -> String {
        let reply = self.call(name, arguments).await;
        assert!(reply.error, "{}", reply.content);
        reply.content
    }
}
