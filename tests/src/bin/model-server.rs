//! A scripted model server as a process of its own, so that it outlives the death of the client under test.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use legwork_tests::model_server::{ModelServer, Script};
use serde_json::json;

/// Answers as the script says on the OpenAI and the Anthropic wire, and prints its address as one line of JSON.
#[derive(Debug, Parser)]
struct Options {
    /// The script: a YAML list of rules.
    script: PathBuf,
    /// Append each request to this file, as a line of JSON.
    #[arg(long)]
    log: Option<PathBuf>,
    /// The port; a free one if absent.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Refuse conversations whose calls and results do not pair, as real providers do.
    #[arg(long)]
    strict: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let shown = options.script.display();
    let text = std::fs::read_to_string(&options.script).with_context(|| format!("cannot read {shown}"))?;
    let script = Script::from_yaml(&text).with_context(|| format!("{shown} is no script"))?;
    let script = if options.strict { script.strict() } else { script };
    let server = ModelServer::start_at(script, options.port, options.log.as_deref())
        .await
        .context("cannot listen")?;
    let address = json!({
        "port": server.port(),
        "openai_base_url": server.openai_base_url(),
        "anthropic_base_url": server.anthropic_base_url(),
    });
    println!("{address}");
    server.serve().await;
    Ok(())
}
