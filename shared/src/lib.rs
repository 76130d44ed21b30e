//! The domain of Legwork: what a run, a job and an agent are, and every decision about them.
//!
//! Nothing here reads a clock, draws a random number or does I/O, except the storage engines under `store` and the
//! edge helpers in [`clock`]. Without default features the crate is pure and compiles without tokio and `SQLite`.

pub mod agent;
pub mod batch;
pub mod budget;
pub mod clock;
pub mod dag;
pub mod fault;
pub mod id;
pub mod job;
pub mod nearest;
pub mod plan;
pub mod run;
pub mod schedule;
#[cfg(feature = "store")]
pub mod store;
pub mod submit;
pub mod time;
pub mod wire;
