//! The domain of Legwork: what a run, a job and an agent are, and every decision about them.
//!
//! Nothing here reads a clock, draws a random number or does I/O, except the storage engines under
//! [`store`] and the edge helpers in [`clock`]. Without default features the crate is pure and
//! compiles without tokio and SQLite.

pub mod agent;
pub mod budget;
pub mod clock;
pub mod id;
pub mod time;
