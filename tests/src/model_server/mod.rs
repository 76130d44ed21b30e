//! Scripted model servers: one process that speaks the OpenAI and the Anthropic wire on a free loopback port.
//!
//! A [`Script`] says what the model answers and how the wire misbehaves; the server records each request. It stops
//! when it is dropped. The program `model-server` is the same server as a process of its own.

mod answer;
mod anthropic;
mod asked;
mod frame;
mod gate;
mod openai;
mod recorded;
mod script;
mod strict;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

pub use asked::{Asked, Role, Said, Wire};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
pub use gate::Gate;
use recorded::Record;
pub use recorded::{Outcome, Recorded};
pub use script::{CallTurn, Cut, Fault, Rule, Script, Turn, UsageTurn, When};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running server.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    record: Arc<Record>,
    stopping: CancellationToken,
    serving: JoinHandle<()>,
}

/// What every answer needs.
#[derive(Debug, Clone)]
struct Shared {
    script: Arc<Script>,
    record: Arc<Record>,
    stopping: CancellationToken,
}

impl ModelServer {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// When this machine has no free loopback port.
    pub async fn start(script: Script) -> Self {
        Self::start_at(script, 0, None).await.expect("a free loopback port")
    }

    /// Starts a server on `port`, or a free one for zero, which also writes each request to `log` as a line of JSON.
    ///
    /// # Errors
    /// When the port is taken or the log cannot be opened.
    pub async fn start_at(script: Script, port: u16, log: Option<&Path>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let shared = Shared {
            script: Arc::new(script),
            record: Arc::new(Record::new(log)?),
            stopping: CancellationToken::new(),
        };
        let (record, stopping) = (shared.record.clone(), shared.stopping.clone());
        let app = Router::new()
            .route("/v1/chat/completions", post(answer::chat_completions))
            .route("/v1/messages", post(answer::messages))
            // A long conversation is a large request.
            .layer(DefaultBodyLimit::disable())
            .with_state(shared)
            .into_make_service_with_connect_info::<answer::Socket>();
        let stop = stopping.clone().cancelled_owned();
        let serving = tokio::spawn(async move {
            // Fails only on accepting, and then the test sees a refused connection.
            let _ = axum::serve(listener, app).with_graceful_shutdown(stop).await;
        });
        Ok(Self {
            address,
            record,
            stopping,
            serving,
        })
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The value for `OPENAI_BASE_URL`.
    #[must_use]
    pub fn openai_base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The value for `ANTHROPIC_BASE_URL`.
    #[must_use]
    pub fn anthropic_base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.record.requests()
    }

    /// The number of requests so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.record.requests().len()
    }

    /// Waits until the requests so far are as `wanted` says, and returns them.
    pub async fn wait_until(&self, wanted: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        self.record.wait_until(wanted).await
    }

    /// Closes the port and every connection.
    ///
    /// # Panics
    /// When the server itself did.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        // A panic of the server is the test's to see.
        (&mut self.serving).await.expect("the server ends in order");
    }

    /// Serves until the process ends.
    pub async fn serve(mut self) {
        let _ = (&mut self.serving).await;
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}
