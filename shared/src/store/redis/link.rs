//! The way to the server: a connection that comes back by itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use redis::aio::{ConnectionLike, MultiplexedConnection, PubSub};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisResult, Value};
use tokio::runtime::Handle;

use super::address::{Address, Topology};
use super::fault::Trouble;
use super::script::Call;
use crate::store::StoreError;

/// How long a connection may take to come about: several round trips round the world.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take. A script of the largest batch takes about a second; after this the connection counts as
/// broken and the call is made again, which the server recognises.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause before a call is made again: a restart on one machine takes some tens of milliseconds.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest such pause; many clients that come back at once must not keep a server down.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A connection, to one server or to a cluster.
#[derive(Clone)]
enum Connection {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// What is asked of the server.
#[derive(Clone, Copy)]
enum Request<'a> {
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
    Script(&'a Call<'a>),
}

impl Connection {
    async fn answer(&mut self, request: Request<'_>) -> RedisResult<Vec<Value>> {
        match request {
            Request::Command(command) => Ok(vec![self.send(command).await?]),
            Request::Pipeline(pipeline) => match self {
                Self::Single(connection) => pipeline.query_async(connection).await,
                Self::Cluster(connection) => pipeline.query_async(connection).await,
            },
            Request::Script(call) => match self.send(&call.by_hash()).await {
                Err(error) if Trouble::of(&error) == Trouble::NoScript => Ok(vec![self.send(&call.with_text()).await?]),
                answer => Ok(vec![answer?]),
            },
        }
    }

    async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        let value = match self {
            Self::Single(connection) => connection.req_packed_command(command).await,
            Self::Cluster(connection) => connection.req_packed_command(command).await,
        };
        value?.extract_error()
    }
}

/// The way to the server. Calls over it may come from any task of any runtime.
pub(super) struct Link {
    address: Address,
    runtime: Handle,
    patience_ms: AtomicU64,
    current: Mutex<Option<Connection>>,
    /// One connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    /// Whether it was said that the server cannot be reached.
    is_down: AtomicBool,
}

impl Link {
    /// A way that is not gone yet. Connections live on `runtime`; a call is made again for as long as `patience`.
    pub fn new(address: Address, runtime: Handle, patience: Duration) -> Self {
        Self {
            address,
            runtime,
            patience_ms: AtomicU64::new(millis(patience)),
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            is_down: AtomicBool::new(false),
        }
    }

    /// From now on, a call is made again for as long as `patience`.
    pub fn wait_for(&self, patience: Duration) {
        self.patience_ms.store(millis(patience), Ordering::Relaxed);
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// One command that may be repeated.
    pub async fn command(self: &Arc<Self>, command: &Cmd) -> Result<Value, StoreError> {
        let mut answers = self.repeat(Request::Command(command)).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Several commands at once that may be repeated; all of them are about one shard.
    pub async fn pipeline(self: &Arc<Self>, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        if pipeline.is_empty() {
            return Ok(Vec::new());
        }
        self.repeat(Request::Pipeline(pipeline)).await
    }

    /// A script. The server recognises a repeated call.
    pub async fn script(self: &Arc<Self>, call: &Call<'_>) -> Result<Vec<u8>, StoreError> {
        match self.repeat(Request::Script(call)).await?.pop() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(StoreError::Corrupt {
                message: format!("a script answered {other:?}"),
            }),
        }
    }

    async fn repeat(self: &Arc<Self>, request: Request<'_>) -> Result<Vec<Value>, StoreError> {
        let mut pauses = pauses();
        let mut waited = Duration::ZERO;
        loop {
            let answer = match self.connection().await {
                Ok(mut connection) => connection.answer(request).await,
                Err(error) => Err(error),
            };
            let message = match answer {
                Ok(answer) => {
                    self.works();
                    return Ok(answer);
                }
                Err(error) => match Trouble::of(&error) {
                    Trouble::Wait(message) => message,
                    Trouble::Reconnect(message) => {
                        *lock(&self.current) = None;
                        message
                    }
                    Trouble::NoScript => "it forgets its scripts".to_owned(),
                    Trouble::Fatal(error) => return Err(error),
                },
            };
            self.fails(&message);
            if millis(waited) >= self.patience_ms.load(Ordering::Relaxed) {
                return Err(StoreError::Unavailable { message });
            }
            let pause = pauses.next().unwrap_or(PAUSE_MAX);
            waited += pause;
            tokio::time::sleep(pause).await;
        }
    }

    async fn connection(self: &Arc<Self>) -> RedisResult<Connection> {
        if let Some(connection) = &*lock(&self.current) {
            return Ok(connection.clone());
        }
        let _turn = self.connecting.lock().await;
        if let Some(connection) = &*lock(&self.current) {
            return Ok(connection.clone());
        }
        let link = self.clone();
        // The connection is driven by a task of the runtime that makes it, and the caller's may not last.
        let connected = self
            .runtime
            .spawn(async move { link.connect(ANSWER_TIMEOUT).await })
            .await;
        let connection = connected.unwrap_or_else(|_| Err(gone()))?;
        *lock(&self.current) = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self, answer_timeout: Duration) -> RedisResult<Connection> {
        match &self.address.topology {
            Topology::Cluster(nodes) => {
                let client = ClusterClient::builder(nodes.iter().cloned())
                    .connection_timeout(CONNECT_TIMEOUT)
                    .response_timeout(answer_timeout)
                    .build()?;
                client.get_async_connection().await.map(Connection::Cluster)
            }
            Topology::Single(_) | Topology::Sentinel(_) => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(CONNECT_TIMEOUT))
                    .set_response_timeout(Some(answer_timeout));
                let client = self.client().await?;
                let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
                Ok(Connection::Single(connection))
            }
        }
    }

    /// The server to connect to now; of a cluster, any that answers.
    async fn client(&self) -> RedisResult<Client> {
        match &self.address.topology {
            Topology::Single(client) => Ok((**client).clone()),
            Topology::Sentinel(sentinel) => sentinel.lock().await.async_get_client().await,
            Topology::Cluster(nodes) => {
                let mut last = gone();
                for node in nodes {
                    let client = Client::open(node.clone())?;
                    match client.get_multiplexed_async_connection().await {
                        Ok(_) => return Ok(client),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// A connection of its own that listens. To be called on the link's runtime.
    pub async fn listener(&self) -> RedisResult<PubSub> {
        let connected = async { self.client().await?.get_async_pubsub().await };
        tokio::time::timeout(CONNECT_TIMEOUT, connected)
            .await
            .unwrap_or_else(|_| Err(gone()))
    }

    /// A connection of its own for commands that wait. To be called on the link's runtime.
    pub async fn waiting(&self, longest: Duration) -> RedisResult<WaitingConnection> {
        self.connect(longest + ANSWER_TIMEOUT).await.map(WaitingConnection)
    }

    /// Whether the shards are spread over several servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.address.topology, Topology::Cluster(_))
    }

    fn works(&self) {
        if self.is_down.load(Ordering::Relaxed) && self.is_down.swap(false, Ordering::Relaxed) {
            tracing::info!(store = %self.address.shown, "the store at {} answers again", self.address.shown);
        }
    }

    fn fails(&self, message: &str) {
        if !self.is_down.swap(true, Ordering::Relaxed) {
            let shown = &self.address.shown;
            tracing::warn!(store = %shown, "the store at {shown} does not answer, trying again until it does: {message}");
        }
    }
}

/// A connection for commands that wait on the server.
pub(super) struct WaitingConnection(Connection);

impl WaitingConnection {
    /// Waits for the command's answer.
    pub async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.0.send(command).await
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The pauses before a call is made again.
pub(super) fn pauses() -> impl Iterator<Item = Duration> + Send {
    ExponentialBuilder::default()
        .with_min_delay(PAUSE_MIN)
        .with_max_delay(PAUSE_MAX)
        .with_jitter()
        .without_max_times()
        .build()
}

fn gone() -> redis::RedisError {
    redis::RedisError::from((redis::ErrorKind::Io, "the connection could not be made"))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
