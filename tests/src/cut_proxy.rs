//! A proxy before a server's socket that cuts connections at the worst moment: after the server has done what it was
//! asked, and before its answer has passed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

/// The proxy; it ends when it is dropped.
pub struct CutProxy {
    folder: TempDir,
    plan: Arc<Plan>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Plan {
    /// How many answers are still to be lost.
    cuts: AtomicUsize,
    /// How many were.
    lost: AtomicUsize,
}

impl CutProxy {
    /// Starts a proxy before the server at `server`.
    ///
    /// # Errors
    /// No socket can be made.
    pub fn before(server: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("legwork-proxy-").tempdir()?;
        let listener = UnixListener::bind(folder.path().join("proxy.sock"))?;
        let plan = Arc::new(Plan::default());
        let (server, shared) = (server.to_path_buf(), plan.clone());
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, plan) = (server.clone(), shared.clone());
                tokio::spawn(async move {
                    // A broken connection is what this is about.
                    let _ = pass(client, &server, &plan).await;
                });
            }
        });
        Ok(Self { folder, plan, serving })
    }

    /// The socket to connect to.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("proxy.sock")
    }

    /// Loses the answers to the next `count` calls of scripts, each with its connection.
    pub fn cut(&self, count: usize) {
        self.plan.cuts.store(count, Ordering::SeqCst);
    }

    /// How many answers were lost so far.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.plan.lost.load(Ordering::SeqCst)
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Plan {
    fn takes(&self, request: &[u8]) -> bool {
        let calls_script = request.windows(7).any(|word| word == b"EVALSHA");
        let one_less = |left: usize| left.checked_sub(1);
        calls_script
            && self
                .cuts
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
                .is_ok()
    }
}

async fn pass(mut client: UnixStream, server: &Path, plan: &Plan) -> std::io::Result<()> {
    let mut server = UnixStream::connect(server).await?;
    let (mut request, mut answer) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                server.write_all(&request[..read]).await?;
                if plan.takes(&request[..read]) {
                    // The answer says that it was done; nobody else learns of it.
                    let _answered = server.read(&mut answer).await?;
                    plan.lost.fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
            }
            read = server.read(&mut answer) => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                client.write_all(&answer[..read]).await?;
            }
        }
    }
}
