//! `legwork graph`: a run's jobs and what joins them, as a picture.

use std::path::PathBuf;

use clap::Args;

use super::base::{Context, Exit, Format, Missing, Stop, load_status, print_bytes, write_whole};
use crate::output::graph::{Graph, dot, mermaid, svg};

/// What `legwork graph` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  legwork graph last --svg --out run.svg\n  legwork graph last --dot | dot -Tpng > run.png"
)]
pub struct GraphArgs {
    /// The run: its id, the beginning of it, or `last`
    #[arg(default_value = "last")]
    run: String,
    #[command(flatten)]
    language: Language,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct Language {
    /// An SVG picture
    #[arg(long)]
    svg: bool,
    /// The language of Graphviz
    #[arg(long)]
    dot: bool,
    /// The language of Mermaid; the default
    #[arg(long)]
    mermaid: bool,
}

/// Prints the graph of a run; states are coloured.
///
/// # Errors
/// [`Stop`] where the run is not known, or the file cannot be written.
pub async fn graph(args: &GraphArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let run = coordinator.find_run(&args.run).await?;
    let graph = Graph::of(&load_status(coordinator.store().as_ref(), run).await?);
    let text = match (&args.language, context.out.format) {
        (Language { svg: true, .. }, _) => svg(&graph),
        (Language { dot: true, .. }, _) => dot(&graph),
        (Language { mermaid: true, .. }, _) | (_, Format::Text) => mermaid(&graph),
        (_, Format::Json) => {
            context.out.view(&graph, mermaid)?;
            return Ok(Exit::Success);
        }
    };
    match &args.out {
        Some(path) => write_whole(path, text.as_bytes())?,
        None => print_bytes(text.as_bytes())?,
    }
    Ok(Exit::Success)
}
