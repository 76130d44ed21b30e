//! How an idle claimer is woken: a job that becomes claimable leaves a token in its queue, and of all claimers that wait
//! for one, the server gives it to the one that waits longest. The others sleep on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::select_all;
use redis::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::fault::Trouble;
use super::link::{Link, WaitingConnection, pauses};
use super::shard::Shard;
use crate::store::WorkSignal;

/// How long the server is asked to wait at a time: a lost connection is noticed that soon. And how long a claimer waits at
/// most before it looks for itself.
const WAIT: Duration = Duration::from_secs(2);

/// What one claimer waits with.
pub(super) struct TokenSignal {
    waiters: Vec<Arc<Waiter>>,
    /// The waits that are under way on the servers, one to each waiter.
    pending: Vec<Option<JoinHandle<()>>>,
    /// What the claimer is at.
    claimer: Arc<Claimer>,
}

/// What a claimer is at, as its waiters see it.
#[derive(Default)]
struct Claimer {
    /// Whether it waits now. A token that comes when it does not is for somebody else.
    is_waiting: AtomicBool,
    /// Whether it is gone for good.
    is_gone: AtomicBool,
}

/// One line to a server on which tokens are waited for.
struct Waiter {
    link: Arc<Link>,
    /// The lists of tokens: one to each queue and shard.
    tokens: Vec<Vec<u8>>,
    connection: Mutex<Option<WaitingConnection>>,
    claimer: Arc<Claimer>,
}

impl TokenSignal {
    /// The signal of a claimer of those queues.
    pub fn new(shards: &[Shard], queues: &[String]) -> Self {
        let claimer = Arc::new(Claimer::default());
        // In a cluster, one command may name only lists of one shard.
        let is_cluster = shards.first().is_some_and(|shard| shard.link.is_cluster());
        let together = if is_cluster { 1 } else { shards.len().max(1) };
        let waiter = |shards: &[Shard]| {
            let of_shard = |shard: &Shard| {
                queues
                    .iter()
                    .map(|queue| shard.key("z", queue.as_bytes()))
                    .collect::<Vec<_>>()
            };
            Arc::new(Waiter {
                link: shards[0].link.clone(),
                tokens: shards.iter().flat_map(of_shard).collect(),
                connection: Mutex::default(),
                claimer: claimer.clone(),
            })
        };
        let waiters: Vec<Arc<Waiter>> = shards.chunks(together).map(waiter).collect();
        Self {
            pending: waiters.iter().map(|_| None).collect(),
            waiters,
            claimer,
        }
    }
}

impl Drop for TokenSignal {
    fn drop(&mut self) {
        self.claimer.is_gone.store(true, Ordering::SeqCst);
    }
}

/// Says that the claimer waits, for as long as it does.
struct Wanted<'a>(&'a AtomicBool);

impl<'a> Wanted<'a> {
    fn new(is_waiting: &'a AtomicBool) -> Self {
        is_waiting.store(true, Ordering::SeqCst);
        Self(is_waiting)
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
        let _wanted = Wanted::new(&self.claimer.is_waiting);
        for (waiter, pending) in self.waiters.iter().zip(&mut self.pending) {
            pending.get_or_insert_with(|| {
                let waiter = waiter.clone();
                waiter.link.runtime().clone().spawn(async move { waiter.wait().await })
            });
        }
        let first = select_all(self.pending.iter_mut().flatten());
        // A token that was lost with its worker costs no more than this.
        if let Ok((_, first, _)) = tokio::time::timeout(WAIT, first).await {
            self.pending[first] = None;
        }
    }
}

impl Waiter {
    /// Waits until a token has come, however often the way to it breaks off: claims say so.
    async fn wait(&self) {
        let mut rest = pauses();
        while !self.claimer.is_gone.load(Ordering::SeqCst) {
            match self.token().await {
                Ok(true) => return,
                Ok(false) => rest = pauses(),
                Err(_) => {
                    *self.connection.lock().await = None;
                    tokio::time::sleep(rest.next().unwrap_or(WAIT)).await;
                }
            }
        }
    }

    /// Waits some time for a token, and puts it back if nobody wants it any more.
    async fn token(&self) -> Result<bool, Trouble> {
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
        let Value::Array(popped) = popped else {
            return Ok(false);
        };
        if let Some(Value::BulkString(tokens)) = popped.first()
            && !self.claimer.is_waiting.load(Ordering::SeqCst)
        {
            let back = redis::cmd("LPUSH").arg(tokens.as_slice()).arg("").take();
            connection.send(&back).await?;
        }
        Ok(true)
    }
}
