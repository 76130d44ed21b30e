//! Chaos with real processes, as long and as large as wanted.
//!
//! ```text
//! cargo run --release -p legwork-tests --bin chaos -- --minutes 15 --jobs 20000 --workers 4 --seed 7
//! ```
//!
//! Prints what the checker has counted, and ends with 1 when it complains, or when it overlooks that the same history was
//! tampered with. A seed decides the plans and the order of the faults, not the moments.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use legwork_tests::chaos::{Fault, Story, worker_program};
use legwork_tests::checker::{History, Tampering, check};

/// Lives through chaos, and checks what is left.
#[derive(Debug, Parser)]
struct Options {
    /// How long faults happen.
    #[arg(long, default_value_t = 15.0)]
    minutes: f64,
    /// About how many jobs are submitted in that time.
    #[arg(long, default_value_t = 20_000)]
    jobs: usize,
    /// How many workers there are.
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Decides the plans, and the order of the faults.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// In how many shards the store is laid out.
    #[arg(long, default_value_t = 1)]
    shards: u8,
    /// Only SIGTERM: nothing may be done twice then.
    #[arg(long)]
    rolling: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let rolling = [Fault::Roll, Fault::RollAll];
    let story = Story {
        seed: options.seed,
        jobs: options.jobs,
        workers: options.workers,
        shards: options.shards,
        lasts: Duration::from_secs_f64(options.minutes * 60.0),
        pause: Duration::from_millis(1_500),
        faults: if options.rolling {
            rolling.into()
        } else {
            Fault::ALL.into()
        },
        one_round: false,
        // With nothing but SIGTERM, no lease may lapse, however busy the machine is.
        lease_ms: if options.rolling { 30_000 } else { 2_500 },
        ms_max: 6_000,
        program: worker_program()?,
    };
    println!(
        "chaos with seed {}: {} jobs, {} workers",
        story.seed, story.jobs, story.workers
    );
    let outcome = story.live().await?;
    for (fault, why) in &outcome.impossible {
        println!("skipped: {fault:?}, because {why}");
    }
    let faults: Vec<String> = outcome
        .faults
        .iter()
        .map(|(fault, count)| format!("{count} {fault:?}"))
        .collect();
    let total: usize = outcome.faults.values().sum();
    println!("{total} faults: {}", faults.join(", "));
    println!("{} answers were lost after the server had acted", outcome.lost_answers);
    let report = check(&outcome.history);
    println!("{}", report.counts);
    let (repeated, fenced) = (report.counts.repeated, report.counts.fenced);
    let twice = options.rolling && (repeated, fenced) != (0, 0);
    if twice || !report.complaints.is_empty() {
        for complaint in report.complaints.iter().take(50) {
            println!("COMPLAINT {complaint}");
        }
        println!(
            "what the workers did and said is in {}",
            outcome.folder.keep().display()
        );
        bail!(
            "{} complaints, {repeated} attempts begun again, {fenced} fenced",
            report.complaints.len()
        );
    }
    println!("the checker complains of nothing; now of what was tampered with:");
    refuse_tampered(&outcome.history)?;
    println!("every tampering was refused");
    Ok(())
}

/// The checker has to complain of each tampering by its own name.
fn refuse_tampered(history: &History) -> Result<()> {
    for tampering in Tampering::ALL {
        let Some(tampered) = tampering.of(history) else {
            println!("  {tampering:?}: no place for it");
            continue;
        };
        let report = check(&tampered);
        let complaint = report
            .complaints
            .iter()
            .find(|complaint| complaint.promise == tampering.breaks());
        let Some(complaint) = complaint else {
            bail!("{tampering:?} was overlooked");
        };
        println!("  {tampering:?}: {complaint}");
    }
    Ok(())
}
