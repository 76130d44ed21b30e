//! A proxy before a server's socket that is a bad network: slow, cut, silent, or cut at the worst moment, which is after
//! the server has done what it was asked and before its answer has passed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Where proxies for this machine listen.
pub const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What the network does to all that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Fair,
    /// Each piece takes this much longer.
    Slow(Duration),
    /// Nothing passes, and nobody is told; what was under way arrives when it is over, even from those who gave up.
    Silent,
}

/// The proxy; it ends when it is dropped.
pub struct CutProxy {
    address: SocketAddr,
    plan: Arc<Plan>,
    serving: JoinHandle<()>,
}

struct Plan {
    /// How many answers are still to be lost.
    cuts: AtomicUsize,
    /// How many were.
    lost: AtomicUsize,
    weather: watch::Sender<Weather>,
    /// Grows when all connections are to break.
    breaks: watch::Sender<u64>,
}

impl CutProxy {
    /// Starts a proxy before the server at the socket `server`, on a free port of `host`.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn before(server: &Path, host: IpAddr) -> Result<Self> {
        let listener = TcpListener::bind((host, 0)).await?;
        let address = listener.local_addr()?;
        let plan = Arc::new(Plan {
            cuts: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            weather: watch::Sender::new(Weather::Fair),
            breaks: watch::Sender::new(0),
        });
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
        Ok(Self { address, plan, serving })
    }

    /// The address of a store behind it; another prefix is another store.
    #[must_use]
    pub fn address(&self, prefix: &str) -> String {
        format!("redis://{}?prefix={prefix}", self.address)
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

    /// Breaks all connections; new ones are let through.
    pub fn break_all(&self) {
        self.plan.breaks.send_modify(|breaks| *breaks += 1);
    }

    /// From now on the network does that.
    pub fn turn(&self, weather: Weather) {
        self.plan.weather.send_replace(weather);
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

    /// Waits for as long as the network takes for a piece.
    async fn travel(&self) {
        let mut weather = self.weather.subscribe();
        let now = *weather.borrow();
        if let Weather::Slow(longer) = now {
            tokio::time::sleep(longer).await;
        }
        // The sender lives as long as the plan.
        let _ = weather.wait_for(|weather| *weather != Weather::Silent).await;
    }
}

async fn pass(mut client: TcpStream, server: &Path, plan: &Plan) -> std::io::Result<()> {
    let mut breaks = plan.breaks.subscribe();
    let mut server = UnixStream::connect(server).await?;
    client.set_nodelay(true)?;
    let (mut request, mut answer) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        tokio::select! {
            _ = breaks.changed() => return Ok(()),
            read = client.read(&mut request) => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                plan.travel().await;
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
                plan.travel().await;
                client.write_all(&answer[..read]).await?;
            }
        }
    }
}
