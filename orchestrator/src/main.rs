//! The `legwork` binary.

mod cli;
mod config;
mod output;

use std::process::ExitCode;

/// Threads of the runtime. Jobs wait for models and for disks that have threads of their own; four are enough to keep
/// leases renewed while some of them search or parse.
const THREADS: usize = 4;

fn main() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("legwork")
        .enable_all()
        .build()?;
    let code = runtime.block_on(cli::main());
    // A read of stdin or a search that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    Ok(code)
}
