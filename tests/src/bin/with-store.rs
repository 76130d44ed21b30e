//! Starts a store and runs a command that finds its address in `LEGWORK_TEST_STORE`; both end together.
//!
//! ```text
//! cargo run -p legwork-tests --bin with-store -- cluster cargo e2e
//! ```
//!
//! The stores are `redis`, `valkey`, `cluster` and `sentinel`, all of this machine and of this call alone.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use legwork_tests::harness::STORE_VARIABLE;
use legwork_tests::redis_cluster::RedisCluster;
use legwork_tests::redis_sentinels::{MASTER, RedisSentinels};
use legwork_tests::redis_server::RedisServer;

fn main() -> Result<ExitCode> {
    let mut words = std::env::args().skip(1);
    let store = words.next().context("which store?")?;
    let program = words.next().context("which command?")?;
    // Whatever it is, it ends with this value.
    let (address, _ground): (String, Box<dyn std::any::Any>) = match store.as_str() {
        "redis" => {
            let server = RedisServer::start()?;
            (server.address("e2e"), Box::new(server))
        }
        "valkey" => {
            let server = RedisServer::start_program("valkey-server")?;
            (server.address("e2e"), Box::new(server))
        }
        "cluster" => {
            let cluster = RedisCluster::start()?;
            (cluster.address("e2e"), Box::new(cluster))
        }
        "sentinel" => {
            let sentinels = RedisSentinels::start()?;
            (sentinels.address(MASTER, "e2e"), Box::new(sentinels))
        }
        other => bail!("`{other}` is none of redis, valkey, cluster, sentinel"),
    };
    eprintln!("{STORE_VARIABLE}={address}");
    let status = Command::new(program)
        .args(words)
        .env(STORE_VARIABLE, address)
        .status()?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
