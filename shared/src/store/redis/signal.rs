//! How an idle claimer is woken: a job that becomes claimable leaves a token in its queue, and of all claimers that wait
//! for one, the server gives it to the one that waits longest. The others sleep on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use redis::{RedisResult, Value};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::link::{Link, WaitingConnection};
use super::shard::Shard;
use crate::store::WorkSignal;

/// How long the server is asked to wait at a time: a lost connection is noticed that soon.
const WAIT: Duration = Duration::from_secs(2);
/// The pause after a wait that failed: the server is away, and claims say so.
const PAUSE: Duration = Duration::from_millis(100);

/// What one claimer waits with.
pub(super) struct TokenSignal {
    waiter: Arc<Waiter>,
    /// The wait that is under way on the server.
    pending: Option<JoinHandle<()>>,
}

struct Waiter {
    link: Arc<Link>,
    /// The lists of tokens: one to each queue and shard. In a cluster, one command may name only those of one shard.
    tokens: Vec<Vec<u8>>,
    connection: Mutex<Option<WaitingConnection>>,
    /// Whether the claimer waits now. A token that comes when it does not is for somebody else.
    is_wanted: AtomicBool,
}

impl TokenSignal {
    pub fn new(link: Arc<Link>, shards: &[Shard], queues: &[String]) -> Self {
        let tokens = shards
            .iter()
            .flat_map(|shard| queues.iter().map(|queue| shard.key("z", queue.as_bytes())))
            .collect();
        Self {
            waiter: Arc::new(Waiter {
                link,
                tokens,
                connection: Mutex::default(),
                is_wanted: AtomicBool::new(false),
            }),
            pending: None,
        }
    }
}

/// Says that the claimer waits, for as long as it does.
struct Wanted<'a>(&'a AtomicBool);

impl<'a> Wanted<'a> {
    fn new(is_wanted: &'a AtomicBool) -> Self {
        is_wanted.store(true, Ordering::SeqCst);
        Self(is_wanted)
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[async_trait]
impl WorkSignal for TokenSignal {
    /// A token stands until somebody takes it: nothing that came during a claim is lost.
    fn arm(&mut self) {}

    async fn wait(&mut self) {
        let waiter = self.waiter.clone();
        let _wanted = Wanted::new(&waiter.is_wanted);
        let pending = self.pending.get_or_insert_with(|| {
            let waiter = self.waiter.clone();
            self.waiter.link.runtime().spawn(async move { waiter.wait().await })
        });
        // A wait that broke off is a wait in vain.
        let _ = pending.await;
        self.pending = None;
    }
}

impl Waiter {
    async fn wait(&self) {
        if self.token().await.is_err() {
            *self.connection.lock().await = None;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for a token, and puts it back if nobody wants it any more.
    async fn token(&self) -> RedisResult<()> {
        let mut place = self.connection.lock().await;
        let connection = match &mut *place {
            Some(connection) => connection,
            None => place.insert(self.link.waiting(WAIT).await?),
        };
        let mut command = redis::cmd("BLPOP");
        for tokens in &self.tokens {
            command.arg(tokens.as_slice());
        }
        command.arg(WAIT.as_secs());
        let popped = connection.send(&command).await?;
        if let Value::Array(popped) = popped
            && let Some(Value::BulkString(tokens)) = popped.first()
            && !self.is_wanted.load(Ordering::SeqCst)
        {
            let back = redis::cmd("LPUSH").arg(tokens.as_slice()).arg("").take();
            connection.send(&back).await?;
        }
        Ok(())
    }
}
