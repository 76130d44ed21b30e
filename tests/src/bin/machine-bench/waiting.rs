//! A worker whose thousand agents all wait for a slow model.

use anyhow::{Result, ensure};
use legwork_tests::harness::Legwork;
use legwork_tests::model_server::{Gate, ModelServer, Script, Turn, Wire};

use super::Figure;
use super::processes::memory_mb;

const AGENTS: usize = 1_000;
/// The promise, in megabytes.
const MEMORY_MB: f64 = 100.0;

/// The memory of the worker at the moment when every agent's call is in flight.
pub async fn measure() -> Result<Vec<Figure>> {
    let gate = Gate::closed();
    let server = ModelServer::start(Script::always(Turn::text("done").behind(&gate))).await;
    let legwork = Legwork::new().with_model(&server, Wire::OpenAi, "key");
    legwork.submit(&plan()).await;
    let worker = legwork.spawn(&["worker", "--slots", &AGENTS.to_string(), "--once"]);
    server.wait_until(|requests| requests.len() >= AGENTS).await;
    let memory = memory_mb(worker.pid())?;
    gate.open();
    let output = worker.wait().await;
    ensure!(output.code == Some(0), "the worker failed: {output}");
    let asked = server.count();
    ensure!(asked == AGENTS, "{asked} calls for {AGENTS} agents");
    Ok(vec![Figure::bounded(
        format!("a worker with {AGENTS} agents waiting for a model, memory"),
        memory,
        MEMORY_MB,
        "MB",
    )])
}

/// As many jobs of an agent that asks a model once.
fn plan() -> String {
    let jobs: String = (0..AGENTS)
        .map(|number| format!("  - {{id: job-{number}, agent: thinker, description: Think of {number}.}}\n"))
        .collect();
    format!("agents:\n  thinker: {{prompt: Think., tools: []}}\njobs:\n{jobs}")
}
