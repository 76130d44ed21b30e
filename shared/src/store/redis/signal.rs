//! How an idle claimer is woken: a job that becomes claimable leaves a token in its queue, and of all claimers that wait
//! for one, the server gives it to the one that waits longest. The others sleep on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::select_all;
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
    waiters: Vec<Arc<Waiter>>,
    /// The waits that are under way on the servers, one to each waiter.
    pending: Vec<Option<JoinHandle<()>>>,
    /// Whether the claimer waits now. A token that comes when it does not is for somebody else.
    is_wanted: Arc<AtomicBool>,
}

/// One line to a server on which tokens are waited for.
struct Waiter {
    link: Arc<Link>,
    /// The lists of tokens: one to each queue and shard.
    tokens: Vec<Vec<u8>>,
    connection: Mutex<Option<WaitingConnection>>,
    is_wanted: Arc<AtomicBool>,
}

impl TokenSignal {
    /// The signal of a claimer of those queues.
    pub fn new(link: &Arc<Link>, shards: &[Shard], queues: &[String]) -> Self {
        let is_wanted = Arc::new(AtomicBool::new(false));
        // In a cluster, one command may name only lists of one shard.
        let together = if link.is_cluster() { 1 } else { shards.len().max(1) };
        let waiter = |shards: &[Shard]| {
            let of_shard = |shard: &Shard| {
                queues
                    .iter()
                    .map(|queue| shard.key("z", queue.as_bytes()))
                    .collect::<Vec<_>>()
            };
            Arc::new(Waiter {
                link: link.clone(),
                tokens: shards.iter().flat_map(of_shard).collect(),
                connection: Mutex::default(),
                is_wanted: is_wanted.clone(),
            })
        };
        let waiters: Vec<Arc<Waiter>> = shards.chunks(together).map(waiter).collect();
        Self {
            pending: waiters.iter().map(|_| None).collect(),
            waiters,
            is_wanted,
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
        let _wanted = Wanted::new(&self.is_wanted);
        for (waiter, pending) in self.waiters.iter().zip(&mut self.pending) {
            pending.get_or_insert_with(|| {
                let waiter = waiter.clone();
                waiter.link.runtime().clone().spawn(async move { waiter.wait().await })
            });
        }
        // A wait that broke off is a wait in vain.
        let (_, first, _) = select_all(self.pending.iter_mut().flatten()).await;
        self.pending[first] = None;
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
