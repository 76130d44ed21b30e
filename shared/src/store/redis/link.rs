//! The way to the server that has a shard: a connection that comes back by itself.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use redis::aio::{ConnectionLike, MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisResult, Value};
use tokio::runtime::Handle;

use super::address::{Address, Topology};
use super::fault::Trouble;
use super::find::{self, CONNECT_TIMEOUT, Finder};
use super::script::Call;
use crate::clock::ticks_us;
use crate::store::StoreError;

/// How long an answer may take. A script of the largest batch takes about a second; after this the connection counts as
/// broken and the call is made again, which the server recognises.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server waits for its replicas at a time, in milliseconds; then the call is made again, as it would be
/// after a lost answer.
const REPLICAS_TIMEOUT_MS: u64 = 1_000;
/// How long one server of several may hold up a call that is about all of them.
const QUICK_PATIENCE: Duration = Duration::from_secs(1);
/// The first pause before a call is made again: a restart on one machine takes some tens of milliseconds.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest such pause; many clients that come back at once must not keep a server down.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What is asked of the server.
#[derive(Clone, Copy)]
enum Request<'a> {
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
    Script(&'a Call<'a>),
    /// A script whose effect so many replicas must have before it counts as done.
    Replicated(&'a Call<'a>, u8),
}

impl Request<'_> {
    /// Who waits for replicas keeps all others of the same connection waiting.
    fn line(self) -> usize {
        match self {
            Self::Command(_) | Self::Pipeline(_) | Self::Script(_) => 0,
            Self::Replicated(..) => 1,
        }
    }

    async fn send(self, connection: &mut MultiplexedConnection) -> Result<Vec<Value>, Trouble> {
        let answer = match self {
            Self::Command(command) => one(connection, command).await.map(|answer| vec![answer]),
            Self::Pipeline(pipeline) => pipeline.query_async(connection).await,
            Self::Script(call) => match one(connection, &call.by_hash()).await {
                Err(error) if Trouble::of(&error) == Trouble::NoScript => one(connection, &call.with_text()).await,
                answer => answer,
            }
            .map(|answer| vec![answer]),
            Self::Replicated(call, replicas) => return replicated(connection, call, replicas).await,
        };
        answer.map_err(|error| Trouble::of(&error))
    }
}

async fn one(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Value> {
    connection.req_packed_command(command).await?.extract_error()
}

/// A script and the wait for replicas, which the server takes as one: on another connection the wait would be for nothing.
async fn replicated(
    connection: &mut MultiplexedConnection,
    call: &Call<'_>,
    replicas: u8,
) -> Result<Vec<Value>, Trouble> {
    let of = |script: Cmd| {
        let mut pipeline = Pipeline::with_capacity(3);
        pipeline.add_command(script);
        // A repeated call writes nothing; this does, so that the wait is for the first call's writes too.
        pipeline.add_command(call.touch());
        pipeline.cmd("WAIT").arg(replicas).arg(REPLICAS_TIMEOUT_MS);
        pipeline
    };
    let mut answers: RedisResult<Vec<Value>> = of(call.by_hash()).query_async(connection).await;
    if let Err(error) = &answers
        && Trouble::of(error) == Trouble::NoScript
    {
        answers = of(call.with_text()).query_async(connection).await;
    }
    let mut answers = answers.map_err(|error| Trouble::of(&error))?;
    match answers.pop() {
        Some(Value::Int(reached)) if reached >= i64::from(replicas) => {
            answers.truncate(1);
            Ok(answers)
        }
        Some(Value::Int(reached)) => Err(Trouble::Wait(format!(
            "{reached} replicas have the change, and its address asks for {replicas}: nothing is acknowledged until then"
        ))),
        other => Err(Trouble::Fatal(StoreError::Corrupt {
            message: format!("the wait for replicas was answered with {other:?}"),
        })),
    }
}

/// What all ways to the servers of a store share.
struct Ground {
    finder: Finder,
    runtime: Handle,
    patience_ms: AtomicU64,
    /// Whether the store was open once: what is refused from then on is an outage and no mistake.
    is_open: AtomicBool,
    /// How many ways lead to nobody now.
    lost_ways: AtomicUsize,
}

/// The way to a server. Calls over it may come from any task of any runtime.
pub(super) struct Link {
    ground: Arc<Ground>,
    /// The slot whose server is at its end.
    slot: u16,
    /// The longest that a call is made again over this way, however long the store's patience.
    patience_max: Duration,
    /// One connection for most calls, and one for those that wait for replicas.
    current: [Mutex<Option<MultiplexedConnection>>; 2],
    /// One connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    /// Whether it leads to nobody now.
    is_down: AtomicBool,
}

impl Link {
    /// A way that is not gone yet, to the server that has the keys of the prefix itself. Connections live on `runtime`; a
    /// call is made again for as long as `patience`.
    pub fn new(address: Address, runtime: Handle, patience: Duration) -> Arc<Self> {
        let slot = find::slot_of(address.prefix.as_bytes());
        let ground = Ground {
            finder: Finder::new(address),
            runtime,
            patience_ms: AtomicU64::new(millis(patience)),
            is_open: AtomicBool::new(false),
            lost_ways: AtomicUsize::new(0),
        };
        Self::to(Arc::new(ground), slot, Duration::MAX)
    }

    fn to(ground: Arc<Ground>, slot: u16, patience_max: Duration) -> Arc<Self> {
        Arc::new(Self {
            ground,
            slot,
            patience_max,
            current: [const { Mutex::new(None) }; 2],
            connecting: tokio::sync::Mutex::default(),
            is_down: AtomicBool::new(false),
        })
    }

    /// The way to the server that has the keys with that hash tag: in a cluster one of its own, which leads to the server
    /// that has them whenever it connects; else the same.
    pub fn for_tag(self: &Arc<Self>, tag: &str) -> Arc<Self> {
        if self.is_cluster() {
            Self::to(self.ground.clone(), find::slot_of(tag.as_bytes()), Duration::MAX)
        } else {
            self.clone()
        }
    }

    /// A way to the same server for calls that must not hold up what other servers could do meanwhile; the same way where
    /// there are no others.
    pub fn quick(self: &Arc<Self>) -> Arc<Self> {
        if self.is_cluster() {
            Self::to(self.ground.clone(), self.slot, QUICK_PATIENCE)
        } else {
            self.clone()
        }
    }

    /// Whether it leads to nobody now, as far as is known.
    pub fn is_down(&self) -> bool {
        self.is_down.load(Ordering::Relaxed)
    }

    fn patience(&self) -> Duration {
        let patience = Duration::from_millis(self.ground.patience_ms.load(Ordering::Relaxed));
        patience.min(self.patience_max)
    }

    /// The store is open: from now on, a call is made again for as long as `patience`, whatever stands in its way.
    pub fn opened(&self, patience: Duration) {
        self.ground.patience_ms.store(millis(patience), Ordering::Relaxed);
        self.ground.is_open.store(true, Ordering::Relaxed);
    }

    pub fn address(&self) -> &Address {
        self.ground.finder.address()
    }

    pub fn runtime(&self) -> &Handle {
        &self.ground.runtime
    }

    /// Whether the shards are spread over several servers.
    pub fn is_cluster(&self) -> bool {
        self.address().topology == Topology::Cluster
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

    /// A script that may be repeated.
    pub async fn script(self: &Arc<Self>, call: &Call<'_>) -> Result<Vec<u8>, StoreError> {
        self.answer_of(Request::Script(call)).await
    }

    /// A script whose repeated call the server recognises, and whose effect as many replicas have as the address asks for.
    pub async fn numbered_script(self: &Arc<Self>, call: &Call<'_>) -> Result<Vec<u8>, StoreError> {
        let request = match self.address().min_replicas {
            0 => Request::Script(call),
            replicas => Request::Replicated(call, replicas),
        };
        self.answer_of(request).await
    }

    async fn answer_of(self: &Arc<Self>, request: Request<'_>) -> Result<Vec<u8>, StoreError> {
        match self.repeat(request).await?.pop() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(StoreError::Corrupt {
                message: format!("a script answered {other:?}"),
            }),
        }
    }

    async fn repeat(self: &Arc<Self>, request: Request<'_>) -> Result<Vec<Value>, StoreError> {
        let mut pauses = pauses();
        let began_us = ticks_us();
        let mut is_first = true;
        loop {
            let message = match self.once(request).await {
                Ok(answer) => {
                    self.works();
                    return Ok(answer);
                }
                Err(Trouble::Fatal(error)) => return Err(error),
                Err(Trouble::Reconnect(message)) => {
                    *lock(&self.current[request.line()]) = None;
                    message
                }
                Err(trouble) => trouble.to_string(),
            };
            // A connection that broke off while nobody used it is replaced without a word.
            if !std::mem::take(&mut is_first) {
                self.fails(&message);
            }
            if Duration::from_micros(ticks_us() - began_us) >= self.patience() {
                return Err(self.away(&message));
            }
            tokio::time::sleep(pauses.next().unwrap_or(PAUSE_MAX)).await;
        }
    }

    /// That the server does not answer; with what the address may have wrong, as long as nobody has answered.
    fn away(&self, message: &str) -> StoreError {
        let of = |words: &[&str]| words.iter().any(|words| message.contains(words));
        let hint = match self.address().is_secure() {
            _ if self.ground.is_open.load(Ordering::Relaxed) => "",
            // A plain server waits for the end of what it takes for a command.
            true if of(&["timed out"]) => "; if it speaks no TLS at that port, its address begins with `redis://`",
            false if of(&["reset by peer", "broken pipe", "unexpected end", "none of the protocol"]) => {
                "; if it speaks TLS at that port, its address begins with `rediss://`"
            }
            _ => "",
        };
        StoreError::Unavailable {
            message: format!("{message}{hint}"),
        }
    }

    async fn once(self: &Arc<Self>, request: Request<'_>) -> Result<Vec<Value>, Trouble> {
        let answer = match self.connection(request.line()).await {
            Ok(mut connection) => request.send(&mut connection).await,
            Err(trouble) => Err(trouble),
        };
        match answer {
            // It let us in before: a password that is being changed, a server that is being set up again.
            Err(Trouble::Fatal(StoreError::Unfit { message })) if self.ground.is_open.load(Ordering::Relaxed) => {
                Err(Trouble::Reconnect(message))
            }
            answer => answer,
        }
    }

    async fn connection(self: &Arc<Self>, line: usize) -> Result<MultiplexedConnection, Trouble> {
        if let Some(connection) = &*lock(&self.current[line]) {
            return Ok(connection.clone());
        }
        let _turn = self.connecting.lock().await;
        if let Some(connection) = &*lock(&self.current[line]) {
            return Ok(connection.clone());
        }
        let way = self.clone();
        // The connection is driven by a task of the runtime that makes it, and the caller's may not last.
        let connected = self
            .runtime()
            .spawn(async move { way.connect(ANSWER_TIMEOUT).await })
            .await;
        let connection = connected.unwrap_or_else(|_| Err(gone()))?;
        *lock(&self.current[line]) = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self, answer_timeout: Duration) -> Result<MultiplexedConnection, Trouble> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(answer_timeout));
        let client = self.server().await?;
        let connected = client.get_multiplexed_async_connection_with_config(&config).await;
        connected.map_err(|error| Trouble::of(&error))
    }

    /// The server to connect to now.
    async fn server(&self) -> Result<Client, Trouble> {
        self.ground.finder.server(self.slot).await
    }

    /// A connection of its own that listens. To be called on the link's runtime.
    pub async fn listener(&self) -> Result<PubSub, Trouble> {
        let connected = async {
            let client = self.server().await?;
            client.get_async_pubsub().await.map_err(|error| Trouble::of(&error))
        };
        tokio::time::timeout(CONNECT_TIMEOUT, connected)
            .await
            .unwrap_or_else(|_| Err(gone()))
    }

    /// A connection of its own for commands that wait. To be called on the link's runtime.
    pub async fn waiting(&self, longest: Duration) -> Result<WaitingConnection, Trouble> {
        self.connect(longest + ANSWER_TIMEOUT).await.map(WaitingConnection)
    }

    fn works(&self) {
        if self.is_down.load(Ordering::Relaxed)
            && self.is_down.swap(false, Ordering::Relaxed)
            && self.ground.lost_ways.fetch_sub(1, Ordering::Relaxed) == 1
        {
            let shown = &self.address().shown;
            tracing::info!(store = %shown, "the store at {shown} answers again");
        }
    }

    fn fails(&self, message: &str) {
        if !self.is_down.swap(true, Ordering::Relaxed) && self.ground.lost_ways.fetch_add(1, Ordering::Relaxed) == 0 {
            let shown = &self.address().shown;
            tracing::warn!(store = %shown, "the store at {shown} does not answer, trying again until it does: {message}");
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if *self.is_down.get_mut() {
            self.ground.lost_ways.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A connection for commands that wait on the server.
pub(super) struct WaitingConnection(MultiplexedConnection);

impl WaitingConnection {
    /// Waits for the command's answer.
    pub async fn send(&mut self, command: &Cmd) -> Result<Value, Trouble> {
        one(&mut self.0, command).await.map_err(|error| Trouble::of(&error))
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

fn gone() -> Trouble {
    Trouble::Reconnect("the connection could not be made".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
