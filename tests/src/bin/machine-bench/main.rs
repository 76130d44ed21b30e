//! Measures what one machine does with one SQLite file at full durability, beside what an fsync of its disk costs, and
//! what more workers bring with a Redis server.
//!
//! ```text
//! cargo run --release -p legwork-tests --bin machine-bench -- [--folder DIR] [--only NAME]…
//! ```
//!
//! Prints a Markdown table and ends with 1 when a figure misses its bound. The program under test is `LEGWORK_BIN`; build
//! it for release, too.

mod finished;
mod growth;
mod idle;
mod latency;
mod pool;
mod processes;
mod waiting;
mod workers;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};

/// Measures one machine with one SQLite file.
#[derive(Debug, Parser)]
struct Options {
    /// Where the stores are made; the disk that is measured.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    /// Only this part; give it again for more.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Run jobs of this store as another process, and print when each starts.
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// From the submit to the runner's start, on an idle store.
    Latency,
    /// How the time of joins and chains grows with their size.
    Growth,
    /// The memory of a worker with a thousand agents that wait for a model.
    Waiting,
    /// What a worker without work costs.
    Idle,
    /// Whether finished jobs slow anything.
    Finished,
    /// How much faster four workers are than one.
    Workers,
}

/// A figure, and the bound that it has to keep.
#[derive(Debug)]
struct Figure {
    what: String,
    measured: f64,
    unit: &'static str,
    /// The largest value that is good; none for a figure that is only told.
    bound: Option<f64>,
}

impl Figure {
    fn told(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            measured,
            unit,
            bound: None,
        }
    }

    fn bounded(what: impl Into<String>, measured: f64, bound: f64, unit: &'static str) -> Self {
        Self {
            bound: Some(bound),
            ..Self::told(what, measured, unit)
        }
    }

    fn is_good(&self) -> bool {
        self.bound.is_none_or(|bound| self.measured <= bound)
    }

    fn row(&self) -> String {
        let unit = self.unit;
        let bound = self
            .bound
            .map_or("–".to_owned(), |bound| format!("≤ {bound:.2} {unit}"));
        let verdict = if self.is_good() { "" } else { " (missed)" };
        format!("| {} | {:.2} {unit}{verdict} | {bound} |", self.what, self.measured)
    }
}

async fn measure(part: Part, folder: &Path) -> Result<Vec<Figure>> {
    match part {
        Part::Latency => latency::measure(folder).await,
        Part::Growth => growth::measure(folder).await,
        Part::Waiting => waiting::measure().await,
        Part::Idle => idle::measure().await,
        Part::Finished => finished::measure(folder).await,
        Part::Workers => workers::measure().await,
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    if let Some(store) = options.worker {
        return latency::work(&store).await;
    }
    let all = Part::value_variants();
    let parts = if options.only.is_empty() { all } else { &options.only };
    println!("| what | measured | bound |\n|---|---|---|");
    let mut missed = 0;
    for part in parts {
        for figure in measure(*part, &options.folder).await? {
            println!("{}", figure.row());
            missed += usize::from(!figure.is_good());
        }
    }
    if missed > 0 {
        bail!("{missed} figures miss their bounds");
    }
    Ok(())
}

/// The middle one of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
