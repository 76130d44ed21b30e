//! Worker of Legwork: runs jobs as isolated subagents.

pub mod attempt;
pub mod model;
pub mod runner;
pub mod tool;
pub mod workspace;
