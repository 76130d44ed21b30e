//! Worker of Legwork: runs jobs as isolated subagents.

pub mod agents;
pub mod attempt;
pub mod docs;
pub mod extract;
mod layers;
pub mod model;
mod pump;
pub mod runner;
#[cfg(test)]
mod testing;
pub mod tool;
mod worker;
pub mod workspace;

pub use pump::Shutdown;
pub use worker::{DEFAULT_SLOTS, DRAIN, GRACE, SLOTS_MAX, Worker, WorkerBuilder, WorkerError};
