//! A worker of the chaos, with its store's maintenance: `chaos-worker STORE FOLDER LEASE_MS SLOTS`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_tests::chaos::work;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, folder, lease_ms, slots] = &words[..] else {
        bail!("usage: chaos-worker STORE FOLDER LEASE_MS SLOTS");
    };
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    let store = Arc::new(RedisStore::open(store, RedisOptions::default()).await?);
    work(store, Path::new(folder), lease_ms.parse()?, slots.parse()?).await
}
