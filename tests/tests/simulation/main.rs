//! A simulation of workers, people and maintenance over the real store, in one thread and driven by one seed.
//!
//! Actors crash at any of their calls, before or after the store has acted; replies are lost, calls are repeated, clocks
//! jump, workers are paused beyond their leases. After each step an onlooker compares the records and the log with what
//! was promised. `SIM_SEEDS` asks for more histories, `SIM_SEED` replays the one of a failure.

#![expect(
    clippy::unwrap_used,
    reason = "a test that meets a surprise should stop there and say so"
)]

mod faulty;
mod flaws;
mod onlooker;
mod paused_worker;
mod people;
mod scheduler;
mod worker;

use std::sync::Arc;

use legwork_shared::clock::SimClock;
use legwork_shared::store::memory::MemoryStore;
use legwork_tests::engine::{Engine, Opened, START};

use flaws::{Flaw, Flawed};
use scheduler::{Simulation, Tally};

/// Histories on an engine when nobody asks for more: some seconds for each.
const SEEDS_MEMORY: u64 = 120;
const SEEDS_SQLITE: u64 = 6;
const SEEDS_REDIS: u64 = 6;
const SEEDS_CLUSTER: u64 = 3;
/// A flaw must show within so many histories.
const SEEDS_FLAW: u64 = 200;

fn number_from(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} should be a number")))
}

async fn live_through(engine: Engine, seeds: u64) {
    let seeds = match number_from("SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_from("SIM_SEEDS").unwrap_or(seeds),
    };
    let (mut opened, mut total) = (Opened::on(engine).await.unwrap(), Tally::default());
    let count = seeds.end - seeds.start;
    for seed in seeds {
        opened.another(&format!("seed-{seed}")).await.unwrap();
        match Simulation::live(opened.store.clone(), opened.clock.clone(), seed).await {
            Ok(tally) => total += tally,
            Err(broken) => panic!("SIM_SEED={seed} on {engine:?}: {broken}"),
        }
    }
    println!("{count} seeds on {engine:?}: {total:?}");
}

#[tokio::test]
async fn every_promise_holds_in_every_history_in_memory() {
    live_through(Engine::Memory, SEEDS_MEMORY).await;
}

#[tokio::test]
async fn every_promise_holds_in_every_history_in_a_file() {
    live_through(Engine::Sqlite, SEEDS_SQLITE).await;
}

#[tokio::test]
async fn every_promise_holds_in_every_history_on_a_server() {
    live_through(Engine::Redis, SEEDS_REDIS).await;
}

#[tokio::test]
async fn every_promise_holds_in_every_history_on_a_cluster() {
    live_through(Engine::Cluster, SEEDS_CLUSTER).await;
}

#[tokio::test]
async fn the_same_seed_is_the_same_history() {
    let mut tallies = Vec::new();
    for _ in 0..2 {
        let clock = Arc::new(SimClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let tally = Simulation::live(store, clock, 7).await.unwrap();
        tallies.push(format!("{tally:?}"));
    }
    assert_eq!(tallies[0], tallies[1]);
}

/// An onlooker that overlooks a flaw would prove nothing.
#[tokio::test]
async fn each_flaw_of_a_store_is_found_out() {
    for flaw in Flaw::ALL {
        let mut found = None;
        for seed in 0..SEEDS_FLAW {
            let clock = Arc::new(SimClock::at(START));
            let inner = Arc::new(MemoryStore::new(clock.clone()));
            let store = Arc::new(Flawed { inner, flaw });
            if let Err(broken) = Simulation::live(store, clock, seed).await {
                found = Some(broken);
                break;
            }
        }
        let found = found.unwrap_or_else(|| panic!("{flaw:?} was overlooked"));
        println!("{flaw:?}: {}", found.chars().take(160).collect::<String>());
    }
}
